// Manual.h - what the rows of casts and collectives share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_MANUAL_H
#define SHARDTYPE_LIB_PRIMITIVES_MANUAL_H

#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Manual.h"

namespace shardtype {

/// The axes of a cast or collective, in the order given: named ones as
/// positions in the context mesh, and dims that `psum` adds up as well.
struct NamedAxes {
  AxisList list;
  AxisSet set;
  SmallVector<int64_t, 2> dims;
};
/// Reads them from a name or a list of names and numbers; each must be a Manual
/// axis here (manual/axes.1).
FailureOr<NamedAxes> namedAxes(TypingContext &cx, const Value &value,
                               StringRef key);

/// Reports the first operand that is no array.
LogicalResult arraysOnly(TypingContext &cx);
/// Axes for a message: `{X,Y}`, or `nothing`.
std::string orNothing(TypingContext &cx, AxisSet axes);

/// Parts of a group that take part on their own; empty: all of it.
struct Groups {
  SmallVector<SmallVector<int64_t, 3>, 2> members;
  bool given() const { return !members.empty(); }
};
bool readParam(const Program &program, const Value &value, Groups &out);
/// Devices that take part together: those of the axes, or one of the groups;
/// warns of groups that do not cover them (manual/groups.1).
int64_t groupSize(TypingContext &cx, const NamedAxes &axes,
                  const Groups &groups);

/// Refuses operand 0 if it is unreduced or reduced over the axes, or unreduced
/// by another kind than sum (manual/collective.2).
LogicalResult refuseSets(TypingContext &cx, const NamedAxes &axes);
/// Refuses operand 0 if it is unreduced by another kind than sum
/// (manual/cast.3).
LogicalResult sumsOnly(TypingContext &cx);
/// Refuses operand 0 if it varies over some of the axes (manual/cast.2).
LogicalResult refuseVarying(TypingContext &cx, AxisSet axes);
/// Warns of axes that are cast although operand 0 is not in the state that is
/// cast from over them; `have`: those over which it is (manual/cast.4).
void warnPartly(TypingContext &cx, AxisSet axes, AxisSet have, StringRef state);
/// V of a collective that takes and gives values that vary over its axes
/// (manual/collective.1).
FailureOr<AxisSet> collectiveVarying(TypingContext &cx, const NamedAxes &axes);
/// Warns if values are combined that are equal already (manual/infer.3).
void warnEqual(TypingContext &cx, const NamedAxes &axes, StringRef effect);

/// Sets result 0: a type like `type`, in this state. Reports a state that no
/// type can have (manual/state.1).
LogicalResult setManualResult(TypingContext &cx, Type type,
                              ManualAxisType manual);

/// Axis `dim` of an operand, or an error.
FailureOr<unsigned> collectiveDim(TypingContext &cx, int64_t dim, unsigned rank,
                                  StringRef key);

/// The `Future` of what a synchronous rule gives.
template <auto Rule> LogicalResult started(TypingContext &cx) {
  if (failed(Rule(cx)))
    return failure();
  Type future;
  future.kind = Type::Future;
  future.inner = cx.results()[0].type;
  cx.setResult(0, cx.context().intern(future));
  return success();
}

} // namespace shardtype

#endif
