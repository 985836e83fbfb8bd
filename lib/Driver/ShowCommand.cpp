// ShowCommand.cpp - `shardtype show`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RulesFile.h"
#include "RunProgram.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

/// `placed`: the mesh whose devices are meant, if it has the type's axes.
/// `inside`: what a region sees of it, if it was asked for by that.
static int printShown(const Options &options, Streams streams,
                      const Context &context, TypeId type,
                      MeshId placed = MeshId(), TypeId inside = TypeId()) {
  ShardTable table = shardTable(context, type, placed);
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
              << " bytes/device\n";
  if (inside.valid())
    streams.out << "each device sees its block of it as "
                << str(context, inside, TypeForm::Long) << '\n';
  streams.out << '\n';
  printPicture(streams.out, context, table, picture);
  streams.out << '\n';
  printShardTable(streams.out, context, table);
  return 0;
}

static bool givesArrays(const Options &options) {
  return !options.inputs.empty() || !options.random.empty() ||
         !options.fill.empty();
}

static int showType(const Options &options, Streams streams) {
  Context context;
  MeshId mesh;
  if (!options.mesh.empty()) {
    TextResult<MeshId> parsed = parseAskedMesh(context, options.mesh);
    if (!parsed) {
      printUsageError(streams.err, "--mesh", parsed.error, options.mesh,
                      "write it as X=4,Y=2 or X=4,Y=2:Auto");
      return 2;
    }
    mesh = *parsed;
  }
  TextResult<TypeId> type = parseType(context, options.value, mesh);
  if (type && !context.type(*type).isArray())
    type = {std::nullopt, {"this is no array type", 0}};
  else if (!type)
    type.error.message = "this is no type: " + type.error.message;
  if (!type) {
    std::string hint = "write a type such as 'f32[8@X,4]', or PROGRAM:VALUE";
    if (StringRef(options.value).contains('@') && !mesh.valid())
      hint = "give the mesh with --mesh X=4,Y=2";
    printUsageError(streams.err, "show", type.error, options.value, hint);
    return 2;
  }
  if (!options.in.empty() || !options.out.empty() || !options.choose.empty() ||
      !options.config.empty() || givesArrays(options)) {
    streams.err << "shardtype show: --in, --out, --choose, --config and arrays "
                   "are for PROGRAM:VALUE; a type says all by itself\n";
    return 2;
  }
  return printShown(options, streams, context, *type);
}

namespace {
/// A value of a program and the names it might have gone by.
struct FoundValue {
  TypeId type;   // Invalid: no such value, or one without a type.
  Atom atom;     // Of the jaxpr around the regions.
  TypeId inside; // Of a value in a region: its own; `type` is what it is of.
  VarId inner;   // Likewise.
  std::vector<std::string> names;
};
} // namespace

/// A value that enters or leaves a region: the array outside that its blocks
/// make, which the specs say. Of other values in it nothing says that.
static void findInRegions(const CheckedProgram &checked, const VarNames &names,
                          StringRef value, InstanceId around,
                          llvm::DenseSet<InstanceId> &seen, FoundValue &found) {
  if (!seen.insert(around).second)
    return;
  const Program &program = *checked.program;
  for (const Instance::Held &held : checked.instances[around.index()].bodies) {
    const Eqn &eqn = program.eqn(held.eqn);
    const Jaxpr &body = program.jaxpr(held.body);
    auto look = [&](Atom inner, Atom outer) {
      if (inner.isLiteral())
        return;
      std::string name = names.name(inner.var());
      found.names.push_back(name);
      if (name != value || found.type.valid())
        return;
      found.type = checked.type(around, outer);
      found.atom = outer;
      found.inner = inner.var();
      found.inside = checked.type(held.instance, inner);
    };
    if (program.name(eqn) == "shard_map") {
      for (unsigned i = 0; i < body.numInputs && i < eqn.numOperands; ++i)
        look(body.input(i), program.operandsOf(eqn)[i]);
      for (unsigned i = 0; i < body.outs.size() && i < eqn.numResults; ++i)
        look(body.outs[i], program.result(eqn, i));
    }
    findInRegions(checked, names, value, held.instance, seen, found);
  }
}

/// The type of a value by argument path, result path or variable name.
static FoundValue findValue(const CheckedProgram &checked, StringRef value) {
  const Program &program = *checked.program;
  VarNames names(program);
  FoundValue found;
  auto look = [&](const std::string &name, TypeId type, Atom atom) {
    if (name == value && !found.type.valid()) {
      found.type = type;
      found.atom = atom;
    }
    found.names.push_back(name);
  };
  auto name = [&](VarId var) { return names.name(var); };
  const Instance &entry = checked.instances[checked.entryInstance.index()];
  const Jaxpr &jaxpr = program.jaxpr(entry.jaxpr);
  for (auto [i, path] : llvm::enumerate(argumentPaths(program, name)))
    look(path, checked.argumentTypes[i], jaxpr.input(i));
  for (auto [i, path] : llvm::enumerate(resultPaths(program)))
    look(path, checked.resultTypes[i], jaxpr.outs[i]);
  for (uint32_t i = 0; i < jaxpr.numVars; ++i)
    look(names.name(jaxpr.var(i)), entry.types[i], jaxpr.var(i));
  llvm::DenseSet<InstanceId> seen;
  if (!found.type.valid())
    findInRegions(checked, names, value, checked.entryInstance, seen, found);
  return found;
}

/// Runs the program for the blocks of one value; the exit code.
static int showNumbers(const Options &options, Streams streams,
                       const CheckedProgram &checked,
                       const PrimitiveSet &primitives, const FoundValue &found,
                       StringRef path, StringRef value) {
  const Context &cx = checked.program->context();
  if (found.atom.isLiteral()) {
    streams.err << "shardtype show: '" << value << "' is a literal\n";
    return 2;
  }
  RunOptions run;
  run.eval.keepSums = isUnreduced(cx, found.type);
  run.eval.flushDenormals = options.flushDenormals;
  run.eval.jaxNumbers = options.jaxNumbers;
  run.traced.push_back(found.atom.var());
  if (found.inner.valid())
    run.traced.push_back(found.inner);
  PreparedRun prepared(checked, primitives, options, "show", path);
  if (int code = prepared.prepare(run, streams.err))
    return code;
  auto print = [&](const Tensor &array, const PartialSumsRef &sums) {
    streams.out << '\n';
    printBlocks(streams.out, cx, found.type, array, sums,
                checked.program->concreteMesh);
    return 0;
  };
  const Jaxpr &entry = checked.program->jaxpr(checked.program->entry.jaxpr);
  for (auto [i, argument] : llvm::enumerate(prepared.arguments()))
    if (entry.input(i) == found.atom.var())
      return print(argument, sumsOfArgument(cx, found.type, argument));
  RunResult result = prepared.run();
  for (const RunError &note : result.notes)
    printRunError(streams.err, *checked.program, path, "warning", note);
  bool isInner = false; // Computed in a region: each device has its own.
  for (const Traced &traced : result.traced)
    if (traced.var == found.inner && traced.value) {
      streams.out << (isInner ? "" : "\n") << value << " on " << traced.device
                  << '\n'
                  << numPyStr(traced.value) << '\n';
      isInner = true;
    }
  if (isInner)
    return 0;
  if (result.traced.empty()) {
    if (result.error)
      printRunError(streams.err, *checked.program, path, "error",
                    *result.error);
    else
      streams.err << "shardtype show: the run does not come to '" << value
                  << "'\n";
    return 1;
  }
  return print(result.traced.front().value, result.traced.front().sums);
}

/// What kept a program from being checked; exit 2.
static int reportUnusable(const Options &options, Streams streams,
                          const DiagnosticList &errors, StringRef path) {
  ReportOptions report;
  report.program = path == "-" ? "<stdin>" : path.str();
  if (options.format == OutputFormat::Json) {
    llvm::json::OStream json(streams.out, 1);
    writeInputErrorsJson(json, errors, report);
    json.flush();
    streams.out << '\n';
  } else {
    printInputErrors(streams.err, errors, report);
  }
  return 2;
}

static int showValue(const Options &options, Streams streams, StringRef path,
                     StringRef value) {
  Context context;
  CheckOptions check;
  LevelOptions levels;
  if (failed(resolveOptions(context, options, check, levels, streams.err)))
    return 2;
  DiagnosticList errors;
  OwnPrimitives own;
  PrimitiveSet primitives = allPrimitives();
  if (failed(addOwnRules(options, own, primitives, streams.err)))
    return 2;
  std::optional<Program> program;
  if (auto buffer = readInput(path, errors))
    program = loadProgram(context, buffer->getBuffer(), path, primitives,
                          errors, limitsOf(options));
  if (!program)
    return reportUnusable(options, streams, errors, path);
  CheckedProgram checked = shardtype::check(*program, primitives, check);
  for (const Diagnostic &d : checked.diagnostics.all())
    if (d.code == diag::OptionInvalid)
      errors.add(d);
  if (!checked.entryInstance.valid() || errors.hasErrors())
    return reportUnusable(options, streams,
                          errors.hasErrors() ? errors : checked.diagnostics,
                          path);
  FoundValue found = findValue(checked, value);
  if (!found.type.valid() || !context.type(found.type).isArray()) {
    bool isThere = llvm::is_contained(found.names, value);
    streams.err << "shardtype show: " << path << " has no array "
                << (isThere ? "'" + value.str() + "'"
                            : wordWithNearest(value, found.names))
                << "\n  name an argument (as `shardtype check --all` lists "
                   "them), a result, a variable of the outermost jaxpr, or an "
                   "input or result of a shard_map's body\n";
    return 2;
  }
  int code = printShown(options, streams, context, found.type,
                        program->concreteMesh, found.inside);
  if (code == 0 && givesArrays(options) && checked.ok())
    return showNumbers(options, streams, checked, primitives, found, path,
                       value);
  if (code == 0 && !checked.ok()) {
    streams.err
        << "shardtype show: the program has errors (`shardtype check`); "
           "this is the type that checking went on with\n";
    return 1;
  }
  return code;
}

int shardtype::showCommand(const Options &options, Streams streams) {
  if (StringRef(options.value).trim().empty()) {
    streams.err << "shardtype show: name a type such as 'f32[8@X,4]', or "
                   "PROGRAM:VALUE\n";
    return 2;
  }
  // A file's name decides, for a path in it may look like anything.
  auto [path, value] = StringRef(options.value).rsplit(':');
  if (givesArrays(options) && options.format == OutputFormat::Json) {
    streams.err << "shardtype show: numbers are printed as text\n";
    return 2;
  }
  if (!value.empty() && path == "-" && options.config == "-") {
    streams.err << "shardtype show: standard input (-) can be read only once\n";
    return 2;
  }
  if (!value.empty() && (path == "-" || llvm::sys::fs::exists(path)))
    return showValue(options, streams, path, value);
  return showType(options, streams);
}
