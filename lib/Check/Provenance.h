// Provenance.h - where a value's sharding came from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing is stored while equations are typed. When a diagnostic needs to say
// where an axis came from, its way is walked back: from a result's dim, through
// the dimension map of the equation that made it, to an operand's dim that has
// the axis; out of a body to the operand of the equation that holds it; into
// the body of a call whose result it is. The walk ends at an argument, a
// constant or an equation that put the axis there, or after a fixed number of
// steps.
#ifndef SHARDTYPE_LIB_CHECK_PROVENANCE_H
#define SHARDTYPE_LIB_CHECK_PROVENANCE_H

#include "Engine.h"

namespace shardtype {

/// A jaxpr in one of its typings: still active or done, held by `eqn` of
/// `parent`.
struct Site {
  const Site *parent = nullptr;
  ActiveFrame *frame = nullptr; // Active, or:
  InstanceId instance;          // done.
  JaxprId jaxpr;
  EqnId eqn; // In the parent; invalid: the entry.
  BodyInputs inputs;
};

/// What is followed: some axes, on a dim or in a set. Sets are those over
/// Explicit and over Manual axes.
struct Trail {
  enum Where : uint8_t { Dim, Varying, Unreduced, Reduced } where = Dim;
  int dim = -1;
  AxisSet axes;
};

/// Where a trail ends.
struct Origin {
  enum Kind : uint8_t { Unknown, Argument, Constant, Equation } kind = Unknown;
  unsigned argument = 0; // Of the entry.
  /// The equation that put the axes there; with an argument or constant, the
  /// one that took it (invalid: the value is the argument itself).
  EqnId eqn;
  const Site *site = nullptr; // Of `eqn`.
  int input = -1; // The equation's body got them with its input of this number.
};

class Provenance {
public:
  explicit Provenance(Engine &engine) : engine_(engine) {}

  const Site *active(ActiveFrame &frame);
  const Site *entry(); // Once it is done.
  const Site *done(const Site *parent, const Instance::Held &held);
  Origin follow(const Site *site, VarId var, Trail trail);
  /// The equation that put the trail's axes beside a value made from `input`
  /// (-1: any) that lacks them; invalid: none did.
  EqnId meeting(const Site *site, VarId var, Trail trail, int input,
                const Site *&where);
  /// The user's frames of an equation, or of the one that holds it.
  StackId stack(const Site *site, EqnId eqn) const;

private:
  TypeId type(const Site *site, Atom atom) const;
  const std::vector<Instance::Held> &held(const Site *site) const;
  /// Into the body whose result it is; false: the equation holds none.
  bool stepIntoBody(const Site *&site, VarId &var, Trail &trail, EqnId eqn,
                    unsigned result);
  /// To the operand that has the axes; false: the equation put them there.
  /// Sets `met` if another one made of the input lacks them.
  bool stepThrough(const Site *site, VarId &var, Trail &trail, EqnId eqn,
                   unsigned result, bool *met, ArrayRef<bool> made);
  std::optional<DimMap> dims(const Site *site, EqnId eqn);
  EqnId definition(const Site *site, VarId var, unsigned &result) const;

  Engine &engine_;
  std::deque<Site> sites_;
};

/// The equation of a jaxpr that has a variable among its results.
EqnId definingEqn(const Program &program, const Jaxpr &jaxpr, VarId var);

/// Do a value's dim or set have all axes of the trail?
bool has(const Type &type, const Trail &trail);

} // namespace shardtype

#endif
