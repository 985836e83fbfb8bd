// RuleFixture.cpp - runs the row of one primitive on operands given as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleFixture.h"
#include "../oracle/ReadValue.h"
#include "shardtype/Rules/NoBodies.h"
#include "llvm/ADT/StringExtras.h"
#include <stdexcept>

using namespace shardtype;
using namespace shardtype::test;

std::string RuleOutcome::marks() const {
  std::vector<std::string> texts;
  for (const Mark &mark : diagnostics.at(0).marks)
    texts.push_back(
        mark.kind == Mark::Param
            ? "p." + mark.param
            : std::to_string(mark.index) +
                  (mark.dim < 0 ? "" : ":" + std::to_string(mark.dim)));
  return llvm::join(texts, " ");
}

std::string RuleOutcome::fixes() const {
  std::string text;
  for (const Fix &fix : diagnostics.at(0).fixes) {
    text += fix.operand < 0 ? "-> " : std::to_string(fix.operand) + " ";
    text += fix.spec;
    for (const CommStep &step : fix.communication)
      text += " " + str(step.kind).str() + " " + llvm::join(step.axes, ",") +
              " " + std::to_string(step.sentBytes);
    text += fix.assumed ? " *\n" : "\n";
  }
  return text;
}

RuleFixture::RuleFixture(StringRef meshText) {
  if (meshText.empty())
    return;
  TextResult<MeshId> parsed = parseMesh(context, meshText);
  if (!parsed)
    throw std::runtime_error(parsed.error.message);
  mesh = paramMesh = *parsed;
}

TypeId RuleFixture::type(StringRef text) {
  MeshId own = text.consume_front("np:") ? MeshId() : mesh;
  bool weak = text.consume_front("~");
  TextResult<TypeId> parsed = parseType(context, text, own);
  if (!parsed)
    throw std::runtime_error(text.str() + ": " + parsed.error.message);
  return weak ? context.withWeak(*parsed, true) : *parsed;
}

std::string RuleFixture::text(TypeId id) {
  if (!id.valid())
    return "-";
  const Type &t = context.type(id);
  bool np = t.isArray() && !t.sharding.hasMesh() && mesh.valid();
  return std::string(np ? "np:" : "") + (t.weak ? "~" : "") + str(context, id);
}

RuleOutcome RuleFixture::run(StringRef primitive,
                             std::vector<std::string> operandTexts,
                             const std::map<std::string, std::string> &params,
                             unsigned numResults) {
  const Primitive *row = rows.find(primitive);
  if (!row)
    throw std::runtime_error("no row for " + primitive.str());
  Program program(context);
  std::vector<Param> list;
  Value hidden;
  hidden.kind = Value::Hidden;
  for (const auto &[key, text] : params) {
    std::string error;
    std::optional<ValueId> value =
        text == "<hidden>" ? program.intern(hidden)
                           : oracle::readValue(program, text, paramMesh, error);
    if (!value)
      throw std::runtime_error(key + "=" + text + ": " + error);
    list.push_back({context.intern(key), *value});
  }
  std::vector<Typed> operands;
  for (const std::string &operand : operandTexts)
    operands.push_back({type(operand)});
  NoBodies host;
  TypingContext cx(context, program, *row, program.internParams(list), operands,
                   mesh, numResults, options, host);
  cx.setRecordedResults(recorded);
  RuleOutcome outcome;
  outcome.accepted = succeeded(cx.run());
  std::vector<std::string> results;
  for (const Typed &result : cx.results())
    results.push_back(text(result.type));
  outcome.results = llvm::join(results, ", ");
  outcome.diagnostics = std::move(cx.diagnostics());
  return outcome;
}
