// PrintPlan.cpp - what is shared and what it is called, before anything prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX walks breadth-first over all equations below the top, and enters a jaxpr
// anew at each occurrence: one that occurs once in a jaxpr that occurs twice
// counts twice. Entering each once and multiplying gives the same counts
// without the walk's exponential cost; counts above one are all alike.
#include "PrintPlan.h"
#include "llvm/ADT/StringMap.h"

using namespace shardtype;

/// Programs nest less deep than this; a jaxpr that holds itself would not end.
static constexpr unsigned MaxNesting = 600;
/// A jaxpr with more equations prints as a definition even if used once.
static constexpr unsigned LargeJaxpr = 10;

std::string shardtype::variableName(uint64_t n) {
  std::string name;
  do {
    name.insert(name.begin(), static_cast<char>('a' + n % 26));
    n /= 26;
  } while (n);
  return name;
}

/// The number that `variableName` spells so, if it can be one.
static std::optional<uint64_t> variableNumber(StringRef name) {
  bool letters =
      llvm::all_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  if (name.empty() || name.size() > 12 || !letters ||
      (name.size() > 1 && name[0] == 'a'))
    return std::nullopt;
  uint64_t n = 0;
  for (char c : name)
    n = n * 26 + static_cast<uint64_t>(c - 'a');
  return n;
}

StringRef VarName::str(const Context &cx, SmallVectorImpl<char> &buffer) const {
  if (raw_ & GivenBit)
    return cx.str(StringId(raw_ & ~GivenBit));
  if (raw_ < 2)
    return "_";
  std::string fresh = variableName(raw_ - 2);
  buffer.assign(fresh.begin(), fresh.end());
  return StringRef(buffer.data(), buffer.size());
}

PrintPlan::PrintPlan(const Program &program, const TypeView *view, Root root,
                     bool keepNames)
    : program_(program), view_(view), params_(program), keepNames_(keepNames) {
  findUnits(root);
  countUses();
  nameDefinitions();
  nameVariables(keepNames);
}

unsigned PrintPlan::addUnit(JaxprId jaxpr, InstanceId instance) {
  uint64_t key = uint64_t(instance.raw()) << 32 | jaxpr.raw();
  auto [it, isNew] = unitOf_.try_emplace(key, units_.size());
  if (isNew) {
    size_t firstName = names_.size();
    names_.resize(firstName + program_.jaxpr(jaxpr).numVars);
    PrintUnit &unit = units_.emplace_back();
    unit.jaxpr = jaxpr;
    unit.instance = instance;
    unit.firstName = firstName;
  }
  return it->second;
}

InstanceId PrintPlan::instanceOf(const PrintUnit &parent, EqnId eqn,
                                 JaxprId body) const {
  if (!view_ || !parent.instance.valid())
    return InstanceId();
  return view_->body(parent.instance, eqn, body);
}

unsigned PrintPlan::held(unsigned parent, EqnId eqn, JaxprId body) const {
  InstanceId instance = instanceOf(units_[parent], eqn, body);
  return unitOf_.at(uint64_t(instance.raw()) << 32 | body.raw());
}

void PrintPlan::findUnits(Root root) {
  addUnit(root.jaxpr, root.instance);
  for (unsigned index = 0; index < units_.size(); ++index) {
    held_.emplace_back();
    const Jaxpr &jaxpr = program_.jaxpr(units_[index].jaxpr);
    for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
      const Eqn &eqn = program_.eqn(jaxpr.eqn(i));
      for (const JaxprRefs::Ref &ref : params_.refs(eqn).walk) {
        InstanceId instance =
            instanceOf(units_[index], jaxpr.eqn(i), ref.jaxpr);
        unsigned body = addUnit(ref.jaxpr, instance);
        held_[index].push_back(body);
        if (!units_[body].hasProposed && !ref.name.empty()) {
          units_[body].proposed = ref.name.trim("<>");
          units_[body].hasProposed = true;
        }
      }
    }
  }
}

/// Uses of a unit are those of the units that hold it, added up; so each is
/// settled once all that hold it are.
void PrintPlan::countUses() {
  std::vector<unsigned> waiting(units_.size());
  for (const std::vector<unsigned> &bodies : held_)
    for (unsigned body : bodies)
      ++waiting[body];
  std::vector<unsigned> ready = {0};
  units_[0].uses = 1;
  while (!ready.empty()) {
    unsigned unit = ready.back();
    ready.pop_back();
    for (unsigned body : held_[unit]) {
      units_[body].uses = std::min(2u, units_[body].uses + units_[unit].uses);
      if (--waiting[body] == 0)
        ready.push_back(body);
    }
  }
  for (unsigned index = 1; index < units_.size(); ++index) {
    const Jaxpr &jaxpr = program_.jaxpr(units_[index].jaxpr);
    bool named = keepNames_ && jaxpr.name.valid();
    // What still waits holds itself; as a definition it prints once.
    units_[index].shared = units_[index].uses > 1 || waiting[index] || named ||
                           jaxpr.numEqns > LargeJaxpr;
  }
}

void PrintPlan::nameDefinitions() {
  llvm::StringMap<unsigned> counts;
  for (unsigned index = 1; index < units_.size(); ++index) {
    PrintUnit &unit = units_[index];
    if (!unit.shared)
      continue;
    StringId given = program_.jaxpr(unit.jaxpr).name;
    std::string name = keepNames_ && given.valid()
                           ? program_.context().str(given).str()
                       : unit.hasProposed ? unit.proposed.str()
                                          : "jaxpr";
    if (unsigned count = counts[name]++)
      ++counts[name += std::to_string(count)];
    if (std::optional<uint64_t> number = variableNumber(name))
      taken_.insert(*number);
    unit.name = std::move(name);
    definitions_.push_back(index);
  }
}

VarName PrintPlan::freshName() {
  while (taken_.contains(nextFresh_))
    ++nextFresh_;
  return VarName::fresh(static_cast<uint32_t>(nextFresh_++));
}

void PrintPlan::nameVar(unsigned unit, VarId id) {
  VarName &name = names_[slot(unit, id)];
  if (name.known())
    return;
  const Var &var = program_.var(id);
  if (var.dropped)
    name = VarName::underscore();
  else if (keepNames_ && var.name().valid())
    name = VarName::given(var.name());
  else
    name = freshName();
}

/// Results of the root that nothing later reads print `_`; not so in bodies.
void PrintPlan::markDead() {
  const Jaxpr &jaxpr = program_.jaxpr(units_[0].jaxpr);
  std::vector<bool> used(jaxpr.numVars);
  auto use = [&](Atom atom) {
    if (!atom.isLiteral())
      used[atom.var().raw() - jaxpr.firstVar] = true;
  };
  llvm::for_each(jaxpr.outs, use);
  for (uint32_t i = jaxpr.numEqns; i-- > 0;) {
    const Eqn &eqn = program_.eqn(jaxpr.eqn(i));
    for (unsigned r = 0; r < eqn.numResults; ++r) {
      VarId result = program_.result(eqn, r);
      bool named = keepNames_ && program_.var(result).name().valid();
      if (!used[result.raw() - jaxpr.firstVar] && !named)
        names_[slot(0, result)] = VarName::underscore();
    }
    llvm::for_each(program_.operandsOf(eqn), use);
  }
}

void PrintPlan::suggestLike(unsigned body, ArrayRef<Atom> names, unsigned unit,
                            ArrayRef<Atom> like) {
  if (names.size() != like.size())
    return;
  llvm::DenseSet<uint32_t> used;
  for (auto [atom, outer] : llvm::zip(names, like)) {
    if (atom.isLiteral() || outer.isLiteral() ||
        used.contains(outer.var().raw()))
      continue;
    VarName &name = names_[slot(body, atom.var())];
    const Var &var = program_.var(atom.var());
    bool given = keepNames_ && var.name().valid();
    if (name.known() || var.dropped || given)
      continue;
    used.insert(outer.var().raw());
    nameVar(unit, outer.var());
    name = names_[slot(unit, outer.var())];
  }
}

/// jit: the body's inputs and results take the names of what is passed and
/// bound outside, unless the body is a definition.
void PrintPlan::suggest(unsigned unit, EqnId id) {
  const Eqn &eqn = program_.eqn(id);
  const PrimitiveInfo *info = params_.info(eqn);
  if (!info || !info->params.nameFirst || !info->params.nameFrom.empty())
    return;
  const JaxprRefs &refs = params_.refs(eqn);
  if (refs.printed.size() != 1)
    return;
  unsigned body = held(unit, id, refs.printed[0]);
  if (units_[body].shared)
    return;
  const Jaxpr &jaxpr = program_.jaxpr(units_[body].jaxpr);
  SmallVector<Atom, 8> inputs, results;
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i)
    inputs.push_back(jaxpr.input(i));
  for (unsigned i = 0; i < eqn.numResults; ++i)
    results.push_back(program_.result(eqn, i));
  suggestLike(body, inputs, unit, program_.operandsOf(eqn));
  suggestLike(body, jaxpr.outs, unit, results);
}

void PrintPlan::nameBodies(unsigned unit, EqnId eqn, unsigned depth) {
  for (JaxprId jaxpr : params_.refs(program_.eqn(eqn)).printed) {
    unsigned body = held(unit, eqn, jaxpr);
    if (!units_[body].shared)
      nameUnit(body, depth + 1);
  }
}

void PrintPlan::nameUnit(unsigned unit, unsigned depth) {
  if (depth > MaxNesting)
    return;
  const Jaxpr &jaxpr = program_.jaxpr(units_[unit].jaxpr);
  for (uint32_t i = 0; i < jaxpr.numConsts + jaxpr.numInputs; ++i)
    nameVar(unit, jaxpr.var(i));
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program_.eqn(jaxpr.eqn(i));
    bool holds = params_.holdsJaxprs(eqn);
    if (holds)
      suggest(unit, jaxpr.eqn(i));
    for (unsigned r = 0; r < eqn.numResults; ++r)
      nameVar(unit, program_.result(eqn, r));
    if (holds)
      nameBodies(unit, jaxpr.eqn(i), depth);
  }
}

void PrintPlan::nameVariables(bool keepNames) {
  if (keepNames)
    for (const Var &var : program_.vars)
      if (var.name().valid())
        if (std::optional<uint64_t> number =
                variableNumber(program_.context().str(var.name())))
          taken_.insert(*number);
  markDead();
  for (unsigned definition : definitions_)
    nameUnit(definition, 0);
  nameUnit(0, 0);
}
