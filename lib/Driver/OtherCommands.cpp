// OtherCommands.cpp - convert, explain, primitives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Report/Explain.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shardtype;

int shardtype::convertCommand(const Options &options, Streams streams) {
  Context context;
  PrimitiveSet primitives = allPrimitives();
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  for (const std::string &path : options.programs) {
    DiagnosticList errors;
    ReportOptions report;
    report.program = path == "-" ? "<stdin>" : path;
    std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path, errors);
    bool isFirst = true;
    for (const InputText &input :
         buffer
             ? splitSections(report.program, buffer->getBuffer(), options.split)
             : std::vector<InputText>()) {
      std::optional<Program> program =
          loadProgram(context, input.bytes, input.name, primitives, errors,
                      limitsOf(options));
      if (!program)
        continue;
      if (!isFirst && options.to == "text")
        os << "# -----\n";
      isFirst = false;
      PrintOptions print;
      print.source = options.source;
      if (options.to == "json")
        writeJson(os, *program);
      else
        printProgram(os, *program, nullptr, print);
      os << '\n';
    }
    if (!errors.empty()) {
      printInputErrors(streams.err, errors, report);
      return 2;
    }
  }
  return succeeded(writeOutput(options.output, bytes, streams)) ? 0 : 2;
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
      {"STE", "ShardingTypeError"},   {"DSE", "DuplicateSpecError"},
      {"VE", "ValueError"},           {"TE", "TypeError"},
      {"NIE", "NotImplementedError"}, {"AE", "AssertionError"},
      {"IE", "IndexError"},           {"JTE", "JaxprTypeError"}};
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
