// Verifier.cpp - is a program well formed, types aside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Verifier.h"
#include "llvm/ADT/DenseMap.h"

using namespace shardtype;

namespace {

/// Looks at every jaxpr once, then at how they hold each other. Stops at the
/// first finding of a jaxpr, since the rest may be its consequence.
class ProgramVerifier {
public:
  ProgramVerifier(const Program &program, DiagnosticList &diags,
                  unsigned maxDepth)
      : program_(program), diags_(diags), maxDepth_(maxDepth) {}
  LogicalResult verify();

private:
  LogicalResult verifyJaxpr(JaxprId id);
  LogicalResult verifyEqn(EqnId id, uint32_t firstVar, uint32_t boundVars);
  LogicalResult verifyAtoms(ArrayRef<Atom> atoms, EqnId eqn, uint32_t firstVar,
                            uint32_t boundVars);
  LogicalResult verifyBodies(JaxprId id);
  LogicalResult verifyNesting();
  EqnId holderOf(JaxprId holder, JaxprId body);
  EqnId cycleEqn(ArrayRef<unsigned> waiting);
  const std::vector<JaxprId> &bodiesOf(ParamsId params);
  void addBodies(ValueId value, std::vector<JaxprId> &bodies);

  LogicalResult malformed(std::string what, EqnId eqn = {}) {
    diags_.add(diag::JsonStructure, std::move(what)).eqn = eqn;
    return failure();
  }

  const Program &program_;
  DiagnosticList &diags_;
  unsigned maxDepth_;
  std::vector<std::vector<JaxprId>> bodies_; // By JaxprId.
  llvm::DenseMap<ParamsId, std::vector<JaxprId>> bodiesOf_;
};

} // namespace

/// Do [first, first + count) lie below `size`?
static bool inRange(uint64_t first, uint64_t count, uint64_t size) {
  return first <= size && count <= size - first;
}

LogicalResult ProgramVerifier::verify() {
  JaxprId entry = program_.entry.jaxpr;
  if (!entry.valid() || entry.index() >= program_.jaxprs.size())
    return malformed("the program has no entry");
  bodies_.resize(program_.jaxprs.size());
  for (uint32_t i = 0; i < program_.jaxprs.size(); ++i)
    if (failed(verifyJaxpr(JaxprId(i))) || failed(verifyBodies(JaxprId(i))))
      return failure();
  return verifyNesting();
}

LogicalResult ProgramVerifier::verifyJaxpr(JaxprId id) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  if (!inRange(jaxpr.firstVar, jaxpr.numVars, program_.vars.size()) ||
      !inRange(jaxpr.firstEqn, jaxpr.numEqns, program_.eqns.size()) ||
      !inRange(jaxpr.numConsts, jaxpr.numInputs, jaxpr.numVars))
    return malformed("a jaxpr's variables or equations are out of range");
  uint32_t bound = jaxpr.numConsts + jaxpr.numInputs;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    if (failed(verifyEqn(jaxpr.eqn(i), jaxpr.firstVar, bound)))
      return failure();
    bound += program_.eqn(jaxpr.eqn(i)).numResults;
    if (bound > jaxpr.numVars)
      return malformed("an equation binds more variables than its jaxpr has",
                       jaxpr.eqn(i));
  }
  if (bound != jaxpr.numVars)
    return malformed("a jaxpr has variables that nothing binds");
  return verifyAtoms(jaxpr.outs, EqnId(), jaxpr.firstVar, bound);
}

LogicalResult ProgramVerifier::verifyEqn(EqnId id, uint32_t firstVar,
                                         uint32_t boundVars) {
  const Eqn &eqn = program_.eqn(id);
  if (!inRange(eqn.firstOperand, eqn.numOperands, program_.operands.size()) ||
      eqn.primitive >= program_.primitives.size() || !eqn.params.valid() ||
      !eqn.info.valid())
    return malformed("an equation's parts are out of range", id);
  if (eqn.numResults && eqn.firstResult.raw() != firstVar + boundVars)
    return malformed("an equation's results do not follow those before it", id);
  return verifyAtoms(program_.operandsOf(eqn), id, firstVar, boundVars);
}

LogicalResult ProgramVerifier::verifyAtoms(ArrayRef<Atom> atoms, EqnId eqn,
                                           uint32_t firstVar,
                                           uint32_t boundVars) {
  for (Atom atom : atoms) {
    if (atom.isLiteral())
      continue;
    VarId var = atom.var();
    if (var.raw() - firstVar < boundVars && var.raw() >= firstVar)
      continue;
    std::string name = "#" + std::to_string(var.raw());
    if (var.raw() < program_.vars.size() && program_.var(var).name().valid())
      name = program_.context().str(program_.var(var).name()).str();
    diags_.add(diag::JaxprScope, name).eqn = eqn;
    return failure();
  }
  return success();
}

void ProgramVerifier::addBodies(ValueId id, std::vector<JaxprId> &bodies) {
  const Value &value = program_.value(id);
  if (value.kind == Value::Jaxpr)
    bodies.push_back(JaxprId(static_cast<uint32_t>(value.integer)));
  for (ValueId element : value.elements)
    addBodies(element, bodies);
}

const std::vector<JaxprId> &ProgramVerifier::bodiesOf(ParamsId params) {
  auto [it, isNew] = bodiesOf_.try_emplace(params);
  if (isNew)
    for (const Param &param : program_.params(params))
      addBodies(param.value, it->second);
  return it->second;
}

LogicalResult ProgramVerifier::verifyBodies(JaxprId id) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
    for (JaxprId body : bodiesOf(program_.eqn(jaxpr.eqn(i)).params)) {
      if (body.raw() >= program_.jaxprs.size())
        return malformed("an equation holds a jaxpr that is not there",
                         jaxpr.eqn(i));
      bodies_[id.index()].push_back(body);
    }
  return success();
}

/// The first equation of `holder` that holds `body`.
EqnId ProgramVerifier::holderOf(JaxprId holder, JaxprId body) {
  const Jaxpr &jaxpr = program_.jaxpr(holder);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
    if (llvm::is_contained(bodiesOf(program_.eqn(jaxpr.eqn(i)).params), body))
      return jaxpr.eqn(i);
  return EqnId();
}

/// An equation by which a jaxpr holds itself. Each jaxpr that still waits has a
/// holder that waits, so going from holder to holder ends in a circle.
EqnId ProgramVerifier::cycleEqn(ArrayRef<unsigned> waiting) {
  SmallVector<JaxprId> holders(waiting.size());
  JaxprId at;
  for (uint32_t i = 0; i < waiting.size(); ++i) {
    if (!waiting[i])
      continue;
    at = JaxprId(i);
    for (JaxprId body : bodies_[i])
      holders[body.index()] = JaxprId(i);
  }
  for (size_t step = 0; step < waiting.size(); ++step)
    at = holders[at.index()];
  return holderOf(holders[at.index()], at);
}

/// Settles jaxprs from those that nothing holds downwards; what is never
/// settled holds itself.
LogicalResult ProgramVerifier::verifyNesting() {
  std::vector<unsigned> waiting(bodies_.size()), depth(bodies_.size());
  for (const std::vector<JaxprId> &bodies : bodies_)
    for (JaxprId body : bodies)
      ++waiting[body.index()];
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < bodies_.size(); ++i)
    if (!waiting[i])
      ready.push_back(i);
  size_t settled = 0;
  for (; !ready.empty(); ++settled) {
    uint32_t holder = ready.back();
    ready.pop_back();
    for (JaxprId body : bodies_[holder]) {
      unsigned &below = depth[body.index()];
      below = std::max(below, depth[holder] + 1);
      if (below >= maxDepth_) {
        diags_.add(diag::JaxprDepth, std::to_string(maxDepth_)).eqn =
            holderOf(JaxprId(holder), body);
        return failure();
      }
      if (--waiting[body.index()] == 0)
        ready.push_back(body.raw());
    }
  }
  if (settled == bodies_.size())
    return success();
  diags_.add(diag::JaxprCycle).eqn = cycleEqn(waiting);
  return failure();
}

LogicalResult shardtype::verify(const Program &program, DiagnosticList &diags,
                                unsigned maxDepth) {
  return ProgramVerifier(program, diags, maxDepth).verify();
}
