// CheckedProgram.cpp - look-ups of types in a checked program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/CheckedProgram.h"

using namespace shardtype;

StringRef shardtype::str(Basis basis) {
  constexpr StringRef Names[] = {"derived", "matched", "guess"};
  return Names[static_cast<unsigned>(basis)];
}

TypeId CheckedProgram::type(InstanceId instance, VarId var) const {
  if (!instance.valid())
    return program->var(var).type;
  const Instance &in = instances[instance.index()];
  return in.types[var.raw() - program->jaxpr(in.jaxpr).firstVar];
}

TypeId CheckedProgram::type(InstanceId instance, Atom atom) const {
  return atom.isLiteral() ? program->literal(atom.literal()).type
                          : type(instance, atom.var());
}

InstanceId CheckedProgram::body(InstanceId instance, EqnId eqn,
                                JaxprId body) const {
  if (!instance.valid())
    return InstanceId();
  const std::vector<Instance::Held> &held = instances[instance.index()].bodies;
  auto at = std::lower_bound(
      held.begin(), held.end(), eqn,
      [](const Instance::Held &h, EqnId id) { return h.eqn < id; });
  // A body that was typed again has the later types.
  InstanceId found;
  for (; at != held.end() && at->eqn == eqn; ++at)
    if (at->body == body)
      found = at->instance;
  return found;
}
