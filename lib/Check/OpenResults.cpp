// OpenResults.cpp - results whose sharding nothing decides.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value made from nothing (zeros, an iota) takes the sharding of what it is
// used with. If it leaves the program unused, nothing decides, and the report
// says where it was made: the walk goes back from the result along open values,
// into bodies and out of them, to the first equation without an open operand.
#include "Findings.h"
#include "shardtype/IR/Paths.h"

using namespace shardtype;

/// Longer chains are cut: the note then names an equation in between.
static constexpr unsigned MaxSteps = 10'000;

namespace {
class OpenWalk {
public:
  explicit OpenWalk(const CheckedProgram &checked)
      : checked_(checked), program_(*checked.program) {
    levels_.push_back({checked.entryInstance, EqnId(), {}, ""});
  }
  void run(Atom atom);

  EqnId eqn; // Invalid: the result is an argument or constant itself.
  std::string path;
  StackId stack;

private:
  /// A body that the walk is in, and the equation of the level above it.
  struct Level {
    InstanceId instance;
    EqnId holder;
    BodyInputs inputs;
    std::string prefix;
  };
  const Instance &instance() const {
    return checked_.instances[levels_.back().instance.index()];
  }
  const Jaxpr &jaxpr() const { return program_.jaxpr(instance().jaxpr); }
  bool isOpen(const Instance &in, Atom atom) const;
  bool leave(Atom &atom);
  bool enter(EqnId id, Atom &atom);
  bool back(EqnId id, Atom &atom) const;
  void note(EqnId id);

  const CheckedProgram &checked_;
  const Program &program_;
  SmallVector<Level, 4> levels_;
};
} // namespace

bool OpenWalk::isOpen(const Instance &in, Atom atom) const {
  return !atom.isLiteral() &&
         in.isOpen(atom.var().raw() - program_.jaxpr(in.jaxpr).firstVar);
}

void OpenWalk::note(EqnId id) {
  eqn = id;
  path = levels_.back().prefix + "eqns/" +
         std::to_string(id.raw() - jaxpr().firstEqn);
  stack = StackId();
  for (auto level = levels_.rbegin(); level != levels_.rend() && id.valid();
       id = level->holder, ++level) {
    EqnInfoId info = program_.eqn(id).info;
    if (info.valid() && !program_.stack(program_.info(info).stack).empty()) {
      stack = program_.info(info).stack;
      return;
    }
  }
}

/// From a body's input to the operand it is.
bool OpenWalk::leave(Atom &atom) {
  const Level level = levels_.back();
  uint32_t at = atom.var().raw() - jaxpr().firstVar;
  if (!level.holder.valid() || at < jaxpr().numConsts)
    return false;
  unsigned operand = level.inputs.operand(at - jaxpr().numConsts);
  ArrayRef<Atom> operands = program_.operandsOf(level.holder);
  if (operand >= operands.size())
    return false;
  levels_.pop_back();
  atom = operands[operand];
  return isOpen(instance(), atom);
}

/// From the result of an equation with a body to the body's result.
bool OpenWalk::enter(EqnId id, Atom &atom) {
  const Eqn &holder = program_.eqn(id);
  unsigned result = atom.var().raw() - holder.firstResult.raw();
  for (const Instance::Held &held : instance().bodies) {
    const Jaxpr &body = program_.jaxpr(held.body);
    if (held.eqn != id || body.outs.size() != holder.numResults ||
        !isOpen(checked_.instances[held.instance.index()], body.outs[result]))
      continue;
    std::string prefix = path + "/";
    forEachBody(program_, holder, [&](const std::string &place, JaxprId inner) {
      if (inner == held.body)
        prefix = path + "/" + place + "/";
    });
    levels_.push_back({held.instance, id, held.inputs, prefix});
    atom = body.outs[result];
    return true;
  }
  return false;
}

bool OpenWalk::back(EqnId id, Atom &atom) const {
  for (Atom operand : program_.operandsOf(id))
    if (isOpen(instance(), operand)) {
      atom = operand;
      return true;
    }
  return false;
}

void OpenWalk::run(Atom atom) {
  for (unsigned step = 0; step < MaxSteps && isOpen(instance(), atom); ++step) {
    EqnId id = definingEqn(program_, jaxpr(), atom.var());
    if (!id.valid()) {
      if (!leave(atom))
        return;
      continue;
    }
    note(id);
    if (!enter(id, atom) && !back(id, atom))
      return;
  }
}

/// structure/open.6
void Findings::openResult(unsigned index, const std::string &name) {
  OpenWalk walk(out_);
  walk.run(program_.jaxpr(program_.entry.jaxpr).outs[index]);
  Diagnostic d;
  d.code = diag::ResultUndecided;
  d.level = info(d.code).level;
  d.message = formatDiag(d.code, {name});
  d.eqn = walk.eqn;
  d.path = walk.eqn.valid() ? walk.path : "results/" + std::to_string(index);
  d.stack = walk.stack;
  if (walk.eqn.valid())
    d.notes.push_back(
        {"it is made here, from nothing that has a sharding", StackId()});
  d.notes.push_back({"--out '" + name + "=P(...)' decides it", StackId()});
  d.notes.push_back(
      {"'" + name +
           "' is built without a sharding; traced under the mesh it may have "
           "that of another array (zeros_like)",
       StackId()});
  add(std::move(d));
}
