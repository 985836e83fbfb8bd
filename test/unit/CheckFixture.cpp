// CheckFixture.cpp - checking programs in tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

Checked::Checked(StringRef text) {
  std::optional<ParsedText> parsed = parseText(
      cx, text, "test.jaxpr",
      [&](StringRef name) { return primitives.info(name); }, inputErrors);
  for (const Diagnostic &d : inputErrors.all())
    UNSCOPED_INFO(d.line << ":" << d.column << ": " << d.message);
  REQUIRE(parsed);
  program = std::move(parsed->program);
}

Checked &Checked::mesh(StringRef text) {
  TextResult<MeshId> parsed = parseMesh(cx, text);
  REQUIRE(parsed);
  options.mesh = *parsed;
  return *this;
}

PartitionSpec Checked::spec(StringRef text) {
  TextResult<PartitionSpec> parsed = parseSpec(cx, text);
  INFO(text.str() << ": " << parsed.error.message);
  REQUIRE(parsed);
  return *parsed;
}

Checked &Checked::in(StringRef text) {
  int position = 0;
  for (const ArgumentSpec &known : options.in)
    position += known.pattern.empty();
  options.in.push_back({"", position, spec(text), {}, {}, {}});
  return *this;
}
Checked &Checked::in(StringRef pattern, StringRef text) {
  options.in.push_back({pattern.str(), -1, spec(text), {}, {}, {}});
  return *this;
}
Checked &Checked::out(StringRef pattern, StringRef text) {
  options.out.push_back({pattern.str(), -1, spec(text), {}, {}, {}});
  return *this;
}
Checked &Checked::choose(StringRef place, StringRef text, int operand) {
  options.choices.push_back({place.str(), operand, spec(text), {}, {}});
  return *this;
}
Checked &Checked::run() {
  result.emplace(check(*program, primitives, options));
  return *this;
}

std::string Checked::codes() {
  std::string text;
  for (const Diagnostic &d : found())
    text += (text.empty() ? "" : " ") + info(d.code).code.str();
  return text;
}

const Diagnostic &Checked::finding(StringRef code) {
  const Diagnostic *one = nullptr;
  for (const Diagnostic &d : found())
    if (info(d.code).code == code && !one)
      one = &d;
  INFO("no " << code.str() << " in: " << codes());
  REQUIRE(one);
  return *one;
}

std::string Checked::resultType(unsigned i) {
  REQUIRE(i < result->resultTypes.size());
  return typeText(result->resultTypes[i]);
}
std::string Checked::argumentType(unsigned i) {
  REQUIRE(i < result->argumentTypes.size());
  return typeText(result->argumentTypes[i]);
}
std::string Checked::type(unsigned n, unsigned i) {
  const Jaxpr &jaxpr = program->jaxpr(program->entry.jaxpr);
  REQUIRE(n < jaxpr.numEqns);
  VarId var = program->result(program->eqn(jaxpr.eqn(n)), i);
  return typeText(result->type(result->entryInstance, var));
}

std::vector<std::string> Checked::fixes(const Diagnostic &d) {
  std::vector<std::string> texts;
  for (const Fix &fix : d.fixes) {
    std::string text;
    if (fix.operand >= 0)
      text = "in" + std::to_string(fix.operand) + " ";
    text += typeText(fix.type) + ":";
    for (const CommStep &step : fix.communication) {
      text += " " + str(step.kind).str();
      for (const std::string &axis : step.axes)
        text += " " + axis;
      text += " " + std::to_string(step.payloadBytes) + "/" +
              std::to_string(step.sentBytes);
    }
    if (fix.times != 1)
      text += " x" + std::to_string(fix.times);
    texts.push_back(text + (fix.assumed ? " (assumed)" : ""));
  }
  return texts;
}

bool Checked::hasNote(const Diagnostic &d, StringRef part) {
  for (const DiagNote &note : d.notes)
    if (StringRef(note.message).contains(part))
      return true;
  for (const DiagNote &note : d.notes)
    UNSCOPED_INFO("note: " << note.message);
  return false;
}

std::string Checked::fixedCodes(std::vector<MadeChoice> *made) {
  std::vector<MadeChoice> choices;
  Program fixed = applyFixes(*result, primitives, made ? *made : choices);
  CheckedProgram again = check(fixed, primitives);
  std::string text;
  for (const Diagnostic &d : again.diagnostics.all())
    text += (text.empty() ? "" : " ") + info(d.code).code.str() + ": " +
            d.message + " at " + d.path;
  if (!text.empty()) {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    printProgram(os, fixed);
    UNSCOPED_INFO(printed);
  }
  return text;
}
