// CheckText.cpp - the report for people.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/IR/Paths.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"
#include <algorithm>

using namespace shardtype;

namespace {
/// How many arguments a report shows unless all are asked for.
constexpr unsigned ShownArguments = 12;

class TextReport {
public:
  TextReport(raw_ostream &os, const CheckedProgram &checked,
             const ReportOptions &options)
      : os_(os), checked_(checked), program_(*checked.program),
        cx_(program_.context()), options_(options), names_(program_),
        edits_(checked, options.sources) {}

  void print();

private:
  void diagnostic(const Diagnostic &d);
  void location(const Diagnostic &d);
  void sourceLine(const Frame &frame);
  void equation(const Diagnostic &d);
  void note(const DiagNote &note);
  void fix(const Diagnostic &d, const Fix &fix);
  void signature();
  void summary();
  void inSpecs();
  raw_ostream &colored(raw_ostream::Colors color, bool bold = true) {
    return options_.color ? os_.changeColor(color, bold) : os_;
  }
  void plain() {
    if (options_.color)
      os_.resetColor();
  }

  raw_ostream &os_;
  const CheckedProgram &checked_;
  const Program &program_;
  const Context &cx_;
  const ReportOptions &options_;
  VarNames names_;
  Edits edits_;
  unsigned gutter_ = 4; // Columns before the bar.
};
} // namespace

static raw_ostream::Colors colorOf(Level level) {
  if (level == Level::Error)
    return raw_ostream::RED;
  return level == Level::Warning ? raw_ostream::YELLOW : raw_ostream::CYAN;
}

/// What the verdict rests on, where that is not the newest rules alone.
static std::string basisText(const CheckedProgram &checked) {
  std::string rules;
  if (checked.options.jax != JaxVersion::V0_12)
    rules = (", rules of JAX " + str(checked.options.jax)).str();
  bool derivatives =
      llvm::any_of(checked.diagnostics.all(), [](const Diagnostic &d) {
        return d.code == diag::DerivativeUnchecked;
      });
  if (!derivatives && checked.basis == Basis::Derived)
    return rules;
  return (", basis " + str(checked.basis)).str() + rules;
}

void TextReport::location(const Diagnostic &d) {
  std::string where = place(program_, d);
  if (where.empty())
    return;
  colored(raw_ostream::BLUE);
  os_.indent(gutter_ - 2) << "--> ";
  plain();
  os_ << where;
  if (const Frame *frame = innermost(program_, d.stack))
    if (frame->function.valid() && !cx_.str(frame->function).empty())
      os_ << " in " << cx_.str(frame->function);
  os_ << '\n';
  if (const Frame *frame = innermost(program_, d.stack))
    sourceLine(*frame);
}

void TextReport::sourceLine(const Frame &frame) {
  if (!options_.sources)
    return;
  std::optional<StringRef> line =
      options_.sources->line(cx_.str(frame.file), frame.line);
  if (!line)
    return;
  os_.indent(gutter_ + 1) << "|\n";
  os_ << llvm::format("%*u", gutter_, frame.line) << " | ";
  std::string shown = line->str();
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  os_ << shown << '\n';
  size_t end = frame.endLine == frame.line ? frame.endColumn : line->size();
  end = std::min(end, line->size());
  if (frame.column >= end)
    return;
  // Columns are bytes; a caret stands under each character shown.
  auto width = [&](StringRef text) {
    int columns = llvm::sys::unicode::columnWidthUTF8(text);
    return columns < 0 ? text.size() : static_cast<size_t>(columns);
  };
  os_.indent(gutter_ + 1) << "| ";
  os_.indent(width(line->take_front(frame.column)));
  colored(raw_ostream::RED);
  os_ << std::string(width(line->slice(frame.column, end)), '^');
  plain();
  os_ << '\n';
}

void TextReport::equation(const Diagnostic &d) {
  if (!d.eqn.valid())
    return;
  PrintedEqn eqn = printEqn(program_, names_, d.eqn, d.operandTypes);
  os_.indent(gutter_ + 1) << "= in: " << eqn.text << '\n';
  std::string marks(eqn.text.size(), ' ');
  for (const Mark &mark : d.marks) {
    if (mark.kind != Mark::Operand ||
        static_cast<size_t>(mark.index) >= eqn.operands.size())
      continue;
    PrintedEqn::Span span = eqn.operands[mark.index];
    const auto &dims = eqn.dims[mark.index];
    if (mark.dim >= 0 && static_cast<size_t>(mark.dim) < dims.size())
      span = dims[mark.dim];
    std::fill(marks.begin() + span.begin, marks.begin() + span.end, '~');
  }
  StringRef shown = StringRef(marks).rtrim();
  if (shown.empty())
    return;
  os_.indent(gutter_ + 1) << "|     ";
  colored(raw_ostream::RED);
  os_ << shown;
  plain();
  os_ << '\n';
}

void TextReport::note(const DiagNote &note) {
  os_.indent(gutter_ + 1) << "= note: " << note.message;
  if (const Frame *frame = innermost(program_, note.stack))
    os_ << " (" << cx_.str(frame->file) << ':' << frame->line << ')';
  os_ << '\n';
}

/// Has the next fix to be made together with this one?
static bool hasNextInGroup(const Diagnostic &d, const Fix &fix) {
  const Fix *next = &fix + 1;
  return fix.group && next != d.fixes.data() + d.fixes.size() &&
         next->group == fix.group;
}

void TextReport::fix(const Diagnostic &d, const Fix &fix) {
  os_.indent(gutter_ + 1) << "= help: ";
  if (fix.type.valid()) {
    os_ << (fix.operand >= 0 ? "operand " + std::to_string(fix.operand) + " as "
                             : std::string("result "))
        << str(cx_, fix.type) << ": "
        << describe(fix.communication, leavesPartial(cx_, fix.type));
  } else {
    os_ << describe(fix.communication, false);
  }
  if (fix.perTrip && !fix.communication.empty())
    os_ << " per trip";
  if (hasNextInGroup(d, fix))
    os_ << ", with the next";
  os_ << (fix.chosen    ? " (chosen)\n"
          : fix.assumed ? " (assumed from here on)\n"
                        : "\n");
  os_.indent(gutter_ + 1) << "|       ";
  colored(raw_ostream::GREEN, false);
  os_ << editText(edits_, program_, names_, d, fix);
  plain();
  os_ << '\n';
}

void TextReport::diagnostic(const Diagnostic &d) {
  gutter_ = 4;
  if (const Frame *frame = innermost(program_, d.stack))
    gutter_ = std::max<size_t>(4, std::to_string(frame->line).size() + 1);
  colored(colorOf(d.level));
  os_ << levelWord(d.level) << '[' << info(d.code).code << ']';
  plain();
  os_ << ": " << d.message << '\n';
  location(d);
  os_.indent(gutter_ + 1) << "|\n";
  equation(d);
  if (const Frame *inside = libraryFrame(program_, d.stack))
    os_.indent(gutter_ + 1)
        << "= note: made by "
        << (inside->function.valid() ? cx_.str(inside->function) : "a library")
        << " (" << cx_.str(inside->file) << ':' << inside->line << ")\n";
  for (const DiagNote &n : d.notes)
    note(n);
  for (const Fix &f : d.fixes)
    fix(d, f);
  os_.indent(gutter_ + 1) << "= help: shardtype explain " << info(d.code).code
                          << "\n\n";
}

void TextReport::signature() {
  std::vector<std::string> paths =
      argumentPaths(program_, [&](VarId var) { return names_.name(var); });
  std::vector<std::string> results = resultPaths(program_);
  struct Row {
    std::string path, type, bytes;
  };
  std::vector<Row> rows;
  size_t hidden = 0;
  auto add = [&](const std::string &path, TypeId type) {
    if (type.valid())
      rows.push_back(
          {path, str(cx_, type), groupedDigits(bytesPerDevice(cx_, type))});
    else
      rows.push_back({path, "?", "?"});
  };
  for (size_t i = 0; i < checked_.argumentTypes.size(); ++i) {
    if (!options_.all && checked_.argumentTypes.size() > ShownArguments + 2 &&
        i >= ShownArguments) {
      hidden = checked_.argumentTypes.size() - i;
      break;
    }
    add(paths[i], checked_.argumentTypes[i]);
  }
  size_t numArguments = rows.size();
  for (size_t i = 0; i < checked_.resultTypes.size(); ++i)
    add(results[i], checked_.resultTypes[i]);
  size_t widths[3] = {8, 4, 12};
  for (const Row &row : rows) {
    widths[0] = std::max(widths[0], row.path.size());
    widths[1] = std::max(widths[1], row.type.size());
    widths[2] = std::max(widths[2], row.bytes.size());
  }
  auto line = [&](const Row &row) {
    os_ << "  " << llvm::left_justify(row.path, widths[0]) << "  "
        << llvm::left_justify(row.type, widths[1]) << "  "
        << llvm::right_justify(row.bytes, widths[2]) << '\n';
  };
  line({"argument", "type", "bytes/device"});
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == numArguments && hidden)
      os_ << "  ...  (" << hidden << " more; --all)\n";
    line(rows[i]);
  }
}

void TextReport::summary() {
  Counts counts = count(checked_.diagnostics);
  os_ << options_.program << ": ";
  os_ << plural(counts.errors, "error");
  if (counts.warnings)
    os_ << ", " << plural(counts.warnings, "warning");
  os_ << " in " << plural(checked_.equations, "equation") << ", "
      << meshText(checked_) << basisText(checked_) << '\n';
  if (checked_.notChecked)
    os_ << "  " << plural(checked_.notChecked, "equation")
        << " not checked, for an operand has no type\n";
}

/// What a second export needs of regions that were recorded without in_specs.
void TextReport::inSpecs() {
  bool unchecked =
      llvm::any_of(checked_.diagnostics.all(), [](const Diagnostic &d) {
        return d.code == diag::RegionUnchecked;
      });
  std::string known;
  for (const auto &[number, specs] : checked_.inSpecs) {
    if (specs.empty())
      continue;
    known +=
        (known.empty() ? "{\"" : ", \"") + std::to_string(number) + "\": [";
    for (const std::string &spec : specs)
      known += (&spec == &specs.front() ? "\"" : ", \"") + spec + "\"";
    known += "]";
  }
  if (unchecked && !known.empty())
    os_ << "  in_specs found, for a second export with --infer FILE: " << known
        << "}\n";
}

void TextReport::print() {
  unsigned shown = 0, left = 0;
  for (const Diagnostic &d : checked_.diagnostics.all()) {
    if (shown == options_.maxErrors) {
      ++left;
      continue;
    }
    ++shown;
    diagnostic(d);
  }
  if (left)
    os_ << "... and " << left << " more (--max-errors)\n\n";
  if (!checked_.ok()) {
    summary();
    return inSpecs();
  }
  colored(raw_ostream::GREEN);
  os_ << "ok";
  plain();
  os_ << "  ";
  Counts counts = count(checked_.diagnostics);
  if (counts.errors + counts.warnings == 0)
    os_ << options_.program << ": " << plural(checked_.equations, "equation")
        << ", " << meshText(checked_) << basisText(checked_) << '\n';
  else
    summary();
  os_ << '\n';
  signature();
}

void shardtype::printCheck(raw_ostream &os, const CheckedProgram &checked,
                           const ReportOptions &options) {
  TextReport(os, checked, options).print();
}

void shardtype::printInputErrors(raw_ostream &os,
                                 const DiagnosticList &diagnostics,
                                 const ReportOptions &options) {
  for (const Diagnostic &d : diagnostics.all()) {
    os << options.program;
    if (d.line)
      os << ':' << d.line << ':' << d.column;
    os << ": " << levelWord(d.level) << '[' << info(d.code).code
       << "]: " << d.message;
    if (!d.path.empty())
      os << " (at " << d.path << ')';
    os << '\n';
  }
}
