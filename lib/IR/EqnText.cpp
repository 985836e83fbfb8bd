// EqnText.cpp - names of variables and single equations, for messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PrintPlan.h"
#include "RefAccess.h"
#include "ValueText.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

static void takeNames(const Program &program, const PrintPlan &plan,
                      std::vector<uint32_t> &names) {
  for (unsigned unit = 0; unit < plan.numUnits(); ++unit) {
    const Jaxpr &jaxpr = program.jaxpr(plan.unit(unit).jaxpr);
    for (uint32_t i = 0; i < jaxpr.numVars; ++i)
      if (uint32_t &name = names[jaxpr.var(i).index()]; !name)
        name = plan.name(unit, jaxpr.var(i)).raw();
  }
}

VarNames::VarNames(const Program &program)
    : program_(program), names_(program.vars.size()) {
  PrintPlan plan(program, nullptr, {program.entry.jaxpr, {}}, true);
  takeNames(program, plan, names_);
  // What prints inside a value is a program of its own. Outer ones come first
  // among the units, and name those inside them.
  for (unsigned unit = 1; unit < plan.numUnits(); ++unit) {
    const Jaxpr &jaxpr = program.jaxpr(plan.unit(unit).jaxpr);
    if (jaxpr.numVars && !names_[jaxpr.var(0).index()])
      takeNames(program,
                PrintPlan(program, nullptr, {plan.unit(unit).jaxpr, {}}, true),
                names_);
  }
}

std::string VarNames::name(VarId var) const {
  SmallVector<char, 16> buffer;
  return VarName::ofRaw(names_[var.index()])
      .str(program_.context(), buffer)
      .str();
}

namespace {

class EqnPrinter {
public:
  EqnPrinter(const Program &program, const VarNames &names, const Eqn &eqn,
             ArrayRef<TypeId> types)
      : program_(program), names_(names), eqn_(eqn), types_(types) {}
  PrintedEqn print();

private:
  void params(const std::vector<PrintedParam> &params);
  void param(const PrintedParam &param);
  void value(const PrintedParam &param);
  void operand(unsigned index);
  void type(TypeId type);
  void addDims(size_t begin, StringRef text);

  const Program &program_;
  const VarNames &names_;
  const Eqn &eqn_;
  ArrayRef<TypeId> types_;
  EqnParams params_{program_};
  PrintedEqn out_;
};

} // namespace

static unsigned at(const std::string &text) {
  return static_cast<unsigned>(text.size());
}

/// Notes where each dim stands in the type's text, which begins at `begin`.
void EqnPrinter::addDims(size_t begin, StringRef text) {
  auto &dims = out_.dims.back();
  size_t start = text.find('[') + 1;
  int depth = 0;
  for (size_t i = start; i < text.size(); ++i) {
    char c = text[i];
    if (depth == 0 && (c == ',' || c == ']')) {
      if (i > start)
        dims.push_back({static_cast<unsigned>(begin + start),
                        static_cast<unsigned>(begin + i)});
      start = i + 1;
      if (c == ']')
        return;
    }
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
  }
}

void EqnPrinter::type(TypeId id) {
  out_.text += ':';
  unsigned begin = at(out_.text);
  out_.text += str(program_.context(), id);
  out_.operands.back() = {begin, at(out_.text)};
  if (program_.context().type(id).isArray())
    addDims(begin, StringRef(out_.text).drop_front(begin));
}

void EqnPrinter::operand(unsigned index) {
  Atom atom = program_.operandsOf(eqn_)[index];
  unsigned begin = at(out_.text);
  if (!atom.isLiteral()) {
    out_.text += names_.name(atom.var());
  } else if (StringId repr = program_.literal(atom.literal()).repr;
             repr.valid()) {
    out_.text += program_.context().str(repr);
  }
  out_.operands.push_back({begin, at(out_.text)});
  out_.dims.emplace_back();
  TypeId known = index < types_.size() && types_[index].valid()
                     ? types_[index]
                     : program_.recordedType(atom);
  if (known.valid())
    type(known);
}

/// A parameter that is longer (a kernel's grid, a table) says nothing to
/// people.
static constexpr size_t MaxParamBytes = 400;

/// Without the names of Python's classes and what is empty in them:
/// `GatherDimensionNumbers(offset_dims=(1,), start_index_map=())` is
/// `(offset_dims=(1,))`, `GatherScatterMode.CLIP` is `clip`. Specs keep their
/// P.
static std::string readable(StringRef text) {
  std::string out;
  while (!text.empty()) {
    if (text.front() == '\'' || text.front() == '"') {
      size_t end = text.find(text.front(), 1);
      end = end == StringRef::npos ? text.size() : end + 1;
      out += text.take_front(end);
      text = text.drop_front(end);
      continue;
    }
    StringRef word =
        text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    StringRef rest = text.drop_front(word.size());
    bool isClass = word.size() > 1 && word.front() >= 'A' &&
                   word.front() <= 'Z' &&
                   llvm::any_of(word, [](char c) { return c >= 'a'; });
    StringRef member =
        rest.drop_front(rest.starts_with(".")).take_while([](char c) {
          return llvm::isAlnum(c) || c == '_';
        });
    if (word.empty()) {
      out += text.front();
      text = text.drop_front();
    } else if (isClass && rest.starts_with("(")) {
      text = rest;
    } else if (isClass && rest.starts_with(".") && !member.empty()) {
      out += member.lower();
      text = rest.drop_front(1 + member.size());
    } else if (rest.starts_with("=()") && !out.empty()) {
      text = rest.drop_front(3);
      if (StringRef(out).ends_with(", "))
        out.resize(out.size() - 2);
      else
        text.consume_front(", ");
    } else {
      out += word;
      text = rest;
    }
  }
  return out;
}

/// Does a parameter say nothing where it has this value?
static bool isUsual(const PrintedParam &param) {
  bool isFlag =
      param.key == "indices_are_sorted" || param.key == "unique_indices";
  return param.kind == PrintedParam::Text &&
         (param.text == "None" || (isFlag && param.text == "False"));
}

void EqnPrinter::param(const PrintedParam &param) {
  out_.text += param.key + "=";
  size_t begin = out_.text.size();
  value(param);
  if (param.kind == PrintedParam::Text)
    out_.text.replace(begin, std::string::npos,
                      readable(StringRef(out_.text).drop_front(begin)));
  if (out_.text.size() - begin > MaxParamBytes)
    out_.text.replace(begin, std::string::npos, "...");
}

void EqnPrinter::value(const PrintedParam &param) {
  switch (param.kind) {
  case PrintedParam::Text:
    out_.text += param.text;
    return;
  case PrintedParam::Jaxpr:
    out_.text += "{...}";
    return;
  case PrintedParam::Jaxprs:
    out_.text += param.jaxprs.empty() ? "()" : "( ";
    for (size_t i = 0; i < param.jaxprs.size(); ++i)
      out_.text += "{...} ";
    out_.text += param.jaxprs.empty() ? "" : ")";
    return;
  case PrintedParam::HiPrim:
    out_.text += param.text;
    return params(param.params);
  case PrintedParam::Whole:
    out_.text += printValue(program_, param.value);
  }
}

void EqnPrinter::params(const std::vector<PrintedParam> &list) {
  StringRef before = "[";
  for (const PrintedParam &item : list) {
    if (isUsual(item))
      continue;
    out_.text += before;
    param(item);
    before = " ";
  }
  if (before == " ")
    out_.text += "]";
}

PrintedEqn EqnPrinter::print() {
  for (unsigned i = 0; i < eqn_.numResults; ++i)
    out_.text += names_.name(program_.result(eqn_, i)) + " ";
  if (eqn_.numResults)
    out_.text += "= ";
  out_.text += params_.name(eqn_);
  params(params_.printed(eqn_));
  for (unsigned i = 0; i < eqn_.numOperands; ++i) {
    out_.text += ' ';
    operand(i);
  }
  // A message is one line, whatever a parameter holds.
  for (char &c : out_.text)
    if (c == '\n' || c == '\t')
      c = ' ';
  return std::move(out_);
}

PrintedEqn shardtype::printEqn(const Program &program, const VarNames &names,
                               EqnId eqn, ArrayRef<TypeId> operandTypes) {
  return EqnPrinter(program, names, program.eqn(eqn), operandTypes).print();
}
