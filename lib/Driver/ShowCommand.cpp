// ShowCommand.cpp - `shardtype show`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Report/Picture.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

static int printShown(const Options &options, Streams streams,
                      const Context &context, TypeId type) {
  ShardTable table = shardTable(context, type);
  PictureOptions picture;
  picture.ascii = options.ascii;
  if (options.format == OutputFormat::Json) {
    llvm::json::OStream json(streams.out, 1);
    writeShardJson(json, context, table, picture);
    json.flush();
    streams.out << '\n';
    return 0;
  }
  streams.out << str(context, type, TypeForm::Long) << "  "
              << groupedDigits(bytesPerDevice(context, type))
              << " bytes/device\n\n";
  printPicture(streams.out, context, table, picture);
  streams.out << '\n';
  printShardTable(streams.out, context, table);
  return 0;
}

static int showType(const Options &options, Streams streams) {
  Context context;
  MeshId mesh;
  if (!options.mesh.empty()) {
    TextResult<MeshId> parsed = parseMesh(context, options.mesh);
    if (!parsed) {
      streams.err << "shardtype: --mesh '" << options.mesh
                  << "': " << parsed.error.message << '\n';
      return 2;
    }
    mesh = *parsed;
  }
  TextResult<TypeId> type = parseType(context, options.value, mesh);
  if (!type) {
    streams.err << "shardtype: '" << options.value
                << "' is no type: " << type.error.message << '\n'
                << "  " << options.value << '\n'
                << "  " << std::string(type.error.offset, ' ') << "^\n";
    if (!mesh.valid())
      streams.err << "give the mesh with --mesh X=4,Y=2\n";
    return 2;
  }
  if (!context.type(*type).isArray()) {
    streams.err << "shardtype: '" << options.value << "' is not an array\n";
    return 2;
  }
  return printShown(options, streams, context, *type);
}

/// The type of a value by argument path, result path or variable name.
static TypeId findValue(const CheckedProgram &checked, StringRef value) {
  const Program &program = *checked.program;
  VarNames names(program);
  auto name = [&](VarId var) { return names.name(var); };
  std::vector<std::string> paths = argumentPaths(program, name);
  for (size_t i = 0; i < paths.size(); ++i)
    if (paths[i] == value)
      return checked.argumentTypes[i];
  paths = resultPaths(program);
  for (size_t i = 0; i < paths.size(); ++i)
    if (paths[i] == value)
      return checked.resultTypes[i];
  const Instance &entry = checked.instances[checked.entryInstance.index()];
  const Jaxpr &jaxpr = program.jaxpr(entry.jaxpr);
  for (uint32_t i = 0; i < jaxpr.numVars; ++i)
    if (names.name(jaxpr.var(i)) == value)
      return entry.types[i];
  return TypeId();
}

static int showValue(const Options &options, Streams streams, StringRef path,
                     StringRef value) {
  Context context;
  CheckOptions check;
  LevelOptions levels;
  if (failed(resolveOptions(context, options, check, levels, streams.err)))
    return 2;
  DiagnosticList errors;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program;
  if (auto buffer = readInput(path, errors))
    program = loadProgram(context, buffer->getBuffer(), path, primitives,
                          errors, limitsOf(options));
  if (!program) {
    ReportOptions report;
    report.program = path.str();
    printInputErrors(streams.err, errors, report);
    return 2;
  }
  CheckedProgram checked = shardtype::check(*program, primitives, check);
  TypeId type = findValue(checked, value);
  if (!type.valid() || !context.type(type).isArray()) {
    streams.err << "shardtype: " << path << " has no array '" << value
                << "'; name an argument (as `shardtype check --all` lists "
                   "them), a result or a variable of the outermost jaxpr\n";
    return 2;
  }
  return printShown(options, streams, context, type);
}

int shardtype::showCommand(const Options &options, Streams streams) {
  if (options.format != OutputFormat::Text &&
      options.format != OutputFormat::Json) {
    streams.err << "shardtype: show writes text or json\n";
    return 2;
  }
  // A file's name decides, for a path in it may look like anything.
  auto [path, value] = StringRef(options.value).rsplit(':');
  if (!value.empty() && (path == "-" || llvm::sys::fs::exists(path)))
    return showValue(options, streams, path, value);
  return showType(options, streams);
}
