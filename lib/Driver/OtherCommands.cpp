// OtherCommands.cpp - convert, explain, primitives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Report/Explain.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shardtype;

namespace {
/// Programs that become one output.
class Conversion {
public:
  Conversion(const Options &options, Streams streams)
      : options_(options), streams_(streams), primitives_(allPrimitives()) {}
  int run();

private:
  bool add(StringRef path);
  void write(const Program &program);
  std::string textOf(const Program &program);
  bool isReadAlike(const Program &program, StringRef text);
  int fail(const std::string &message) {
    streams_.err << "shardtype convert: " << message << '\n';
    return 2;
  }

  const Options &options_;
  Streams streams_;
  Context context_;
  PrimitiveSet primitives_;
  std::string bytes_;
  unsigned count_ = 0;
  bool anyText_ = false, anyJson_ = false; // Formats of the inputs.
};
} // namespace

/// Does a reader of the text find the mesh that the program is on?
bool Conversion::isReadAlike(const Program &program, StringRef text) {
  DiagnosticList errors;
  std::optional<Program> again =
      loadProgram(context_, text, "", primitives_, errors, limitsOf(options_));
  auto meshOf = [](const Program &p) { return p.jaxpr(p.entry.jaxpr).mesh; };
  return again && context_.forTypes(meshOf(*again)) ==
                      context_.forTypes(meshOf(program));
}

/// JAX prints the mesh only where an equation names one. Where that does not
/// tell a reader which it was, a line in front does.
std::string Conversion::textOf(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  PrintOptions print;
  print.source = options_.source;
  printProgram(os, program, nullptr, print);
  const Mesh &mesh =
      context_.meshOrEmpty(program.jaxpr(program.entry.jaxpr).mesh);
  if (mesh.empty() || isReadAlike(program, text))
    return text;
  return "#! mesh " + shortMesh(context_, mesh) + "\n" + text;
}

void Conversion::write(const Program &program) {
  llvm::raw_string_ostream os(bytes_);
  if (count_++ && options_.to == "text")
    os << "# -----\n";
  (program.fromText ? anyText_ : anyJson_) = true;
  if (options_.to == "json")
    writeJson(os, program);
  else
    os << textOf(program);
  os << '\n';
}

/// False: the file or one of its programs cannot be read, and that is said.
bool Conversion::add(StringRef path) {
  DiagnosticList errors;
  ReportOptions report;
  report.program = path == "-" ? "<stdin>" : path.str();
  std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path, errors);
  if (buffer)
    for (const InputText &input :
         splitSections(report.program, buffer->getBuffer(), options_.split))
      if (std::optional<Program> program =
              loadProgram(context_, input.bytes, input.name, primitives_,
                          errors, limitsOf(options_)))
        write(*program);
  if (errors.empty())
    return true;
  printInputErrors(streams_.err, errors, report);
  return !errors.hasErrors();
}

int Conversion::run() {
  if (options_.to.empty())
    return fail("say what to write: --to json or --to text");
  if (options_.source && options_.to == "json")
    return fail("--source is for --to text");
  bool allRead = true;
  for (const std::string &path : options_.programs)
    allRead &= add(path);
  if (!allRead)
    return 2;
  // A JSON file holds one program, and is read as such.
  if (count_ > 1 && options_.to == "json")
    return fail("a JSON file holds one program, and these are " +
                std::to_string(count_));
  if (isOutputAnInput(options_) &&
      (options_.to == "json" ? anyText_ : anyJson_))
    return fail("'" + options_.output +
                "' is read, and would be replaced by the other format");
  return succeeded(writeOutput(options_.output, bytes_, streams_)) ? 0 : 2;
}

int shardtype::convertCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "convert", streams.err))
    return 2;
  return Conversion(options, streams).run();
}

/// Breaks text at blanks into lines of at most 78 columns.
static void printWrapped(raw_ostream &os, StringRef text) {
  size_t column = 0;
  while (!text.empty()) {
    auto [word, rest] = text.split(' ');
    if (column && column + 1 + word.size() > 78) {
      os << '\n';
      column = 0;
    }
    os << (column ? " " : "") << word;
    column += word.size() + (column ? 1 : 0);
    text = rest;
  }
  os << '\n';
}

/// The class of a tag in the table of kinds; empty: JAX has no such error.
static StringRef className(StringRef tag) {
  constexpr std::pair<StringRef, StringRef> Names[] = {
      {"STE", "ShardingTypeError"},
      {"DSE", "DuplicateSpecError"},
      {"VE", "ValueError"},
      {"TE", "TypeError"},
      {"NIE", "NotImplementedError"},
      {"AE", "AssertionError"},
      {"IE", "IndexError"},
      {"JTE", "JaxprTypeError"},
      {"NE", "NameError"}};
  for (auto [known, name] : Names)
    if (known == tag)
      return name;
  return "";
}

int shardtype::explainCommand(const Options &options, Streams streams) {
  if (options.code.empty()) {
    for (unsigned i = 0; i < diag::NumCodes; ++i)
      streams.out << info(static_cast<diag::Code>(i)).code << '\n';
    return 0;
  }
  std::optional<diag::Code> code = findCode(options.code);
  if (!code) {
    streams.err << "shardtype: no diagnostic has the code '" << options.code
                << "'";
    SmallVector<StringRef, 3> near = nearestCodes(options.code);
    for (size_t i = 0; i < near.size(); ++i)
      streams.err << (i ? ", " : "; near it: ") << near[i];
    streams.err << '\n';
    return 2;
  }
  const DiagInfo &kind = info(*code);
  const Explanation &text = explain(*code);
  constexpr StringRef LevelWords[] = {"ignored", "a note", "a warning",
                                      "an error"};
  streams.out << kind.code << " (" << LevelWords[unsigned(kind.level)]
              << " by default";
  if (StringRef name = className(kind.jaxClass); !name.empty())
    streams.out << "; JAX raises " << name;
  streams.out << ")\n\n";
  printWrapped(streams.out, text.rule);
  if (!text.example.empty()) {
    streams.out << "\nExample";
    if (!text.options.empty())
      streams.out << " (checked with " << text.options << ")";
    streams.out << ":\n\n";
    for (StringRef rest = text.example; !rest.empty();) {
      auto [line, tail] = rest.split('\n');
      streams.out << "  " << line << '\n';
      rest = tail;
    }
  }
  streams.out << "\nWhat to do:\n\n";
  printWrapped(streams.out, text.fix);
  return 0;
}

static std::string linearText(Linearity linearity) {
  if (linearity.kind == Linearity::None)
    return "";
  return (linearity.kind == Linearity::Jointly ? "jointly in " : "each of ") +
         std::to_string(linearity.count);
}

static std::string paramText(const PrimitiveInfo &info) {
  std::string text;
  for (const ParamField &field : info.params.fields)
    text += (text.empty() ? "" : ", ") + field.key.str();
  return text;
}

static StringRef reductionText(const Primitive &row) {
  const auto *standard = std::get_if<Standard>(&row.type);
  if (!standard)
    return "own rule";
  return standard->reduction ? "rule" : "none";
}

int shardtype::primitivesCommand(const Options &options, Streams streams) {
  PrimitiveSet set = allPrimitives();
  if (options.markdown) {
    streams.out << "# Primitives\n\nPrinted by `shardtype primitives "
                   "--markdown`; a test compares.\n\n"
                   "| primitive | linear | unreduced and reduced | parameters "
                   "|\n| --- | --- | --- | --- |\n";
    for (const Primitive *row : set.rows())
      streams.out << "| `" << row->info.name << "` | "
                  << linearText(row->linearity) << " | " << reductionText(*row)
                  << " | " << paramText(row->info) << " |\n";
    return 0;
  }
  streams.out << llvm::formatv("{0,-28} {1,-16} {2,-10} {3}\n", "primitive",
                               "linear", "U and R", "parameters");
  for (const Primitive *row : set.rows())
    streams.out << llvm::formatv("{0,-28} {1,-16} {2,-10} {3}\n",
                                 row->info.name, linearText(row->linearity),
                                 reductionText(*row), paramText(row->info));
  return 0;
}
