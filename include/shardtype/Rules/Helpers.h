// Helpers.h - the rule parts that rows name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing is inherited silently: a row says `memory::standard` where it wants
// the common rule. Each part is a function of the same form as one written for
// a single primitive.
#ifndef SHARDTYPE_RULES_HELPERS_H
#define SHARDTYPE_RULES_HELPERS_H

#include "shardtype/Rules/Params.h"

namespace shardtype {

//===--- Counts -----------------------------------------------------------===//

inline constexpr unsigned AnyNumber = ~0u;

/// Reports unless there are `min` to `max` operands.
LogicalResult checkOperandCount(TypingContext &cx, unsigned min, unsigned max);
/// decodeParams after that check; every row uses it, so that no rule looks at
/// an operand that is not there.
template <typename P, unsigned Min, unsigned Max = Min>
FailureOr<std::shared_ptr<const void>> decodeFor(TypingContext &cx) {
  if (failed(checkOperandCount(cx, Min, Max)))
    return failure();
  return decodeParams<P>(cx);
}
/// Sets all results of a custom rule; reports if the equation binds another
/// number. Comes after all other checks, as in JAX.
LogicalResult setResults(TypingContext &cx, ArrayRef<TypeId> types);

//===--- Parts of standard rows -------------------------------------------===//

namespace shape {
FailureOr<Shape> operand(TypingContext &cx); // That of operand 0.
}
namespace dtype {
FailureOr<DType> operand(TypingContext &cx); // That of operand 0, any.
}
namespace weak {
bool all(TypingContext &cx); // JAX's default: if all operands are.
bool first(TypingContext &cx);
bool never(TypingContext &cx);
} // namespace weak
namespace memory {
/// JAX's default (spec 01, 3.0): all in Any: Any; otherwise that of the
/// operands of rank above 0, which must agree; Device if there are none.
FailureOr<MemorySpace> standard(TypingContext &cx);
FailureOr<MemorySpace> operand(TypingContext &cx); // That of operand 0.
} // namespace memory
namespace sharding {
FailureOr<Sharding> operand(TypingContext &cx); // That of operand 0.
}

namespace reduction {
/// Operand 0's sets pass; partial sums only, other kinds are refused.
FailureOr<ReductionSets> pass(TypingContext &cx);
/// Operand 0's sets pass, whatever the kind.
FailureOr<ReductionSets> passAnyKind(TypingContext &cx);
/// Operand 0's reduced axes pass; partial sums are refused.
FailureOr<ReductionSets> nonlinear(TypingContext &cx);
/// JAX refuses partial sums, although the operation is linear.
FailureOr<ReductionSets> linearRefused(TypingContext &cx);

/// What `missing` does; `result` is what the sharding rule gave.
FailureOr<ReductionSets> refuseMissing(TypingContext &cx, Sharding result);
/// JAX has no rule: any U or R is refused. Where all operands are reduced over
/// the same axes, the result that passes them on is offered as sound (the
/// operation is a function of replicated data). `ShardingRule` is the row's.
template <auto ShardingRule>
FailureOr<ReductionSets> missing(TypingContext &cx) {
  bool any = false;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    any |= cx.sharding(i).hasUR();
  if (!any)
    return ReductionSets{};
  FailureOr<Sharding> result = ShardingRule(cx);
  if (failed(result))
    return failure();
  return refuseMissing(cx, *result);
}
} // namespace reduction

//===--- The n-ary algorithm (spec 01, 4) ---------------------------------===//

namespace nary {
/// Ranks agree, scalars aside; sizes are equal or 1.
FailureOr<Shape> shape(TypingContext &cx);
/// Per dim, what the operands that name axes agree on; conflicts and an axis
/// used on two dims are refused with the operands to reshard.
FailureOr<Sharding> sharding(TypingContext &cx);
/// The same for custom rules, which say how an axis on two dims is reported.
FailureOr<Sharding> sharding(TypingContext &cx, diag::Code illegal);
/// The reduced axes, the same in all operands (scalars included) or none.
FailureOr<AxisSet> reduced(TypingContext &cx);
/// `reduced`, and no operand may hold partial sums.
FailureOr<ReductionSets> nonlinear(TypingContext &cx);
/// Every dim of the result is that dim of each operand that is not 1.
DimMap dims(TypingContext &cx);
} // namespace nary

/// Dims for one operand and results of the same shape.
DimMap unaryDims(TypingContext &cx);

//===--- Checks and fixes rules share -------------------------------------===//

/// The varying-shape rule (spec 01, 3.13): `operand`'s sharding on a result of
/// this shape, or replicated if that is a single element. Its sets are those
/// of the operand; standard rows replace them.
FailureOr<Sharding> varyingShape(TypingContext &cx, unsigned operand,
                                 ArrayRef<int64_t> outShape);
/// Refuses an operand that is unreduced by max or min.
LogicalResult requireSum(TypingContext &cx, unsigned operand);
/// Refuses an operand that holds partial sums; JAX 0.11 had no rule for that.
ErrorBuilder refuseUnreduced(TypingContext &cx, unsigned operand,
                             diag::Code code);
/// For rules in which JAX trips over a spec with U or R (spec 01, 0: VE*):
/// refuses them in `operand`.
LogicalResult refuseSpecSets(TypingContext &cx, unsigned operand);

/// Refuses a sharding that has one axis on two dims: IllegalResult for a
/// standard row (which runs this by itself), IllegalResultMulti elsewhere.
LogicalResult checkIllegalResult(TypingContext &cx, const Sharding &sharding,
                                 diag::Code code);

/// Why a value cannot be resharded so (spec 01, 3.15): ReshardMoreUnreduced or
/// ReshardKind; nothing: it can.
std::optional<diag::Code> refusedReshard(Context &cx, Sharding from,
                                         const Sharding &to);

/// A sharding's spec as Python takes it: sums are what JAX has without a kind.
std::string pasteable(Context &cx, const Sharding &sharding);
/// The fix that reshards an operand of type `from` to `to`.
Fix reshardFix(Context &cx, unsigned operand, TypeId from, TypeId to);

/// An operand's sharding on the mesh rules build on, where it has none.
Sharding placed(TypingContext &cx, unsigned operand);
/// The same with nothing unreduced, or nothing unreduced and reduced.
Sharding withoutUnreduced(Sharding sharding);
Sharding withoutSets(Sharding sharding);
/// The same without the axes of size 1, which hold nothing apart.
Sharding dropUnitAxes(Context &cx, Sharding sharding);

} // namespace shardtype

#endif
