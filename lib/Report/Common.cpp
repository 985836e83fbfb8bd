// Common.cpp - shared by the forms a report takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/IR/Paths.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

const Frame *shardtype::innermost(const Program &program, StackId stack) {
  return ownFrame(program, stack);
}

const Frame *shardtype::libraryFrame(const Program &program, StackId stack) {
  ArrayRef<FrameId> frames = program.stack(stack);
  const Frame *own = ownFrame(program, stack);
  const Frame *first =
      frames.empty() ? nullptr : &program.frames[frames.front().index()];
  return first == own ? nullptr : first;
}

std::string shardtype::place(const Program &program, StackId stack,
                             StringRef path) {
  const Frame *frame = innermost(program, stack);
  if (!frame)
    return path.str();
  return program.context().str(frame->file).str() + ":" +
         std::to_string(frame->line) + ":" + std::to_string(frame->column + 1);
}

std::string shardtype::place(const Program &program,
                             const Diagnostic &diagnostic) {
  return place(program, diagnostic.stack, diagnostic.path);
}

std::string shardtype::meshText(const CheckedProgram &checked) {
  const Context &cx = checked.program->context();
  const Mesh &mesh = cx.meshOrEmpty(checked.mesh);
  return mesh.empty() ? "no mesh" : "mesh " + shortMesh(cx, mesh);
}

bool shardtype::leavesPartial(const Context &cx, TypeId type) {
  const Type &t = cx.type(type);
  return !t.sharding.unreduced.empty() || !t.manual.unreduced.empty();
}

static std::string operandName(const Program &program, const VarNames &names,
                               const Diagnostic &diagnostic, int operand) {
  if (!diagnostic.eqn.valid())
    return "x";
  ArrayRef<Atom> operands = program.operandsOf(diagnostic.eqn);
  if (operand < 0 || static_cast<size_t>(operand) >= operands.size())
    return "x";
  Atom atom = operands[operand];
  if (!atom.isLiteral())
    return names.name(atom.var());
  const Literal &literal = program.literal(atom.literal());
  return literal.repr.valid() ? program.context().str(literal.repr).str() : "x";
}

std::string shardtype::fixCode(const Program &program, const VarNames &names,
                               const Diagnostic &diagnostic, const Fix &fix) {
  if (fix.code.empty())
    return "out_sharding=" + fix.spec;
  size_t at = fix.code.find("{0}");
  if (at == std::string::npos)
    return fix.code;
  return fix.code.substr(0, at) +
         operandName(program, names, diagnostic, fix.operand) +
         fix.code.substr(at + 3);
}

std::string shardtype::editText(Edits &edits, const Program &program,
                                const VarNames &names,
                                const Diagnostic &diagnostic, const Fix &fix) {
  if (std::optional<SourceEdit> edit = edits.edit(diagnostic, fix))
    return edit->oneLine();
  return fixCode(program, names, diagnostic, fix);
}

Counts shardtype::count(const DiagnosticList &diagnostics) {
  Counts counts;
  for (const Diagnostic &diagnostic : diagnostics.all()) {
    counts.errors += diagnostic.level == Level::Error;
    counts.warnings += diagnostic.level == Level::Warning;
  }
  return counts;
}

StringRef shardtype::levelWord(Level level) {
  constexpr StringRef Words[] = {"ignored", "note", "warning", "error"};
  return Words[static_cast<unsigned>(level)];
}

std::string shardtype::plural(uint64_t n, StringRef word) {
  return std::to_string(n) + " " + word.str() + (n == 1 ? "" : "s");
}

/// What stands for an amount without a number; empty: it has one.
static StringRef uncounted(uint64_t amount) {
  return amount == UnknownBytes   ? "unknown"
         : amount == TooManyBytes ? "too many"
                                  : "";
}

std::string shardtype::groupedDigits(uint64_t number) {
  if (!isCounted(number))
    return uncounted(number).str();
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, " ");
  return digits;
}

std::string shardtype::humanBytes(uint64_t bytes) {
  if (!isCounted(bytes))
    return bytes == UnknownBytes ? "an unknown amount (a size is symbolic)"
                                 : "more bytes than can be counted";
  constexpr StringRef Units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double amount = static_cast<double>(bytes) / 1024;
  unsigned unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(Units)) {
    amount /= 1024;
    ++unit;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(amount < 100 ? "%.1f" : "%.0f", amount);
  StringRef shown = text;
  shown.consume_back(".0");
  return (shown + " " + Units[unit]).str();
}

std::string shardtype::describe(ArrayRef<CommStep> steps, bool partial) {
  if (steps.empty())
    return partial ? "no communication here, leaves partial sums"
                   : "no communication";
  std::string text;
  uint64_t sent = 0;
  for (const CommStep &step : steps) {
    text += text.empty() ? "one " : ", then one ";
    text += str(step.kind).str() + " over " + llvm::join(step.axes, ", ");
    sent = addAmounts(sent, step.sentBytes);
  }
  return text + ", " + humanBytes(sent) + " sent per device" +
         (partial ? ", leaves partial sums" : "");
}

std::string shardtype::utf8(StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

void shardtype::writeAmount(llvm::json::OStream &json, StringRef key,
                            uint64_t amount) {
  if (isCounted(amount))
    return json.attribute(key, amount);
  // `"bytes_per_device": null, "bytes_per_device_is": "unknown"`
  json.attribute(key, nullptr);
  json.attribute((key + "_is").str(), uncounted(amount));
}

void shardtype::writeMesh(llvm::json::OStream &json, const Context &cx,
                          const Mesh &mesh) {
  json.attributeArray("mesh", [&] {
    for (const MeshAxis &axis : mesh.axes)
      json.object([&] {
        json.attribute("name", utf8(cx.str(axis.name)));
        json.attribute("size", axis.size);
        json.attribute("type", str(axis.type));
      });
  });
}

void shardtype::writeHead(llvm::json::OStream &json, StringRef schema,
                          const CheckedProgram &checked,
                          const ReportOptions &options) {
  const Context &cx = checked.program->context();
  json.attribute("schema", schema);
  json.attribute("program", utf8(options.program));
  json.attribute("ok", checked.ok());
  json.attribute("basis", str(checked.basis));
  json.attribute("rules", str(checked.options.jax));
  writeMesh(json, cx, cx.meshOrEmpty(checked.mesh));
  json.attribute("equations", checked.equations);
}
