// Bodies.h - what rows that hold jaxprs share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_BODIES_H
#define SHARDTYPE_LIB_PRIMITIVES_BODIES_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype {

/// Reports unless a body takes `operands` values and, with `results` at least
/// 0, gives that many.
LogicalResult checkBodyCounts(TypingContext &cx, JaxprId body,
                              unsigned operands, int results);

/// Reports if a value passed to input `input` of a body does not match the
/// recorded type of its binder (call/operand.1). `operand` is where it comes
/// from.
LogicalResult checkBinder(TypingContext &cx, unsigned operand, TypeId given,
                          JaxprId body, unsigned input);

/// call/type.1: the results are those of `body` for these arguments under
/// `mesh`. With `compare`, operands must match its binders; JAX leaves that out
/// for some.
LogicalResult callTypes(TypingContext &cx, JaxprId body, ArrayRef<Typed> args,
                        MeshId mesh, bool compare);

/// The type with another leading dim: JAX's mapped and unmapped avals.
TypeId withoutLeadingDim(Context &cx, TypeId type);
TypeId withLeadingDim(Context &cx, TypeId type, int64_t size);

/// Do two types differ in nothing but their shardings on one mesh, so that a
/// reshard makes one from the other?
bool differInSharding(Context &cx, TypeId from, TypeId to);
/// The type that both can be cast to, if they differ in nothing but the axes
/// they vary over (R may become V); invalid: there is none.
TypeId joinVarying(Context &cx, TypeId a, TypeId b);

/// The results differ where devices do that differ over `axes`: a warning if
/// they are said not to, else they vary where that is found out. `why`: what
/// does vary.
void resultsVary(TypingContext &cx, AxisSet axes, StringRef why);

/// The fix that casts `from` to `to` by an expression around `value`.
Fix castFix(TypingContext &cx, TypeId from, TypeId to, StringRef value);

/// A bool or index that decides what devices do varies over `axes`: reports
/// collectives over those in the bodies (manual/control.1). `what` is what
/// varies.
void checkCollectives(TypingContext &cx, ArrayRef<JaxprId> bodies, AxisSet axes,
                      StringRef what);

/// For a value that was built in the trace: what it would be natively depends
/// on the function that built it.
inline constexpr const char *BuiltNote =
    " builds it without a sharding; zeros_like and full_like of a sharded "
    "array would have that array's";

/// A value that goes around a loop.
struct Carry {
  unsigned operand;   // Of the equation: where it starts.
  unsigned input;     // Of the body.
  unsigned result;    // Of the body and of the equation.
  bool built = false; // It starts from an open value.
};

/// A loop's body and how its arguments are made.
struct LoopBody {
  JaxprId jaxpr;
  std::vector<Typed> args;
  BodyInputs inputs;
  std::vector<Carry> carries;
  uint64_t trips; // 1 if it is not known.
};

/// Types the body and compares what goes round: a carry that leaves otherwise
/// than it enters is reported, with the two ways out and their prices
/// (loop/carry.1, .2). The results, already in line with the assumed fixes.
/// Failure: something was reported.
struct LoopResults {
  TypingHost::Body body;
  std::vector<Typed> args;    // The body's, as they are in the end.
  std::vector<Typed> results; // Of the body.
  bool failed = false;
  bool recast = false; // The arguments are, to vary over more.
};
LoopResults typeLoop(TypingContext &cx, LoopBody loop);
/// The results of a body for these arguments, by a trial where one is possible;
/// else its errors are reported.
std::vector<Typed> triedResults(TypingContext &cx, JaxprId body,
                                ArrayRef<Typed> args, BodyInputs inputs = {});
/// With Vma::Infer: what the carries vary over in some trip.
void inferCarries(TypingContext &cx, LoopBody &loop);

} // namespace shardtype

#endif
