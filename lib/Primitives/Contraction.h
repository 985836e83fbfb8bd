// Contraction.h - the dims of dot_general, and what its refusals offer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_CONTRACTION_H
#define SHARDTYPE_LIB_PRIMITIVES_CONTRACTION_H

#include "Shapes.h"

namespace shardtype {

struct DotGeneral {
  DotDims dimensionNumbers;
  ShardingParam outSharding;
  const Value *precision = nullptr;
  std::optional<DType> preferredElementType;
  static constexpr auto fields = std::tuple(
      field("dimension_numbers", &DotGeneral::dimensionNumbers, Hide::Never,
            ParamField::DotDims),
      optionalField("out_sharding", &DotGeneral::outSharding, Hide::Always),
      optionalValue("precision", &DotGeneral::precision, form::choices,
                    Hide::IfNone),
      optionalField("preferred_element_type", &DotGeneral::preferredElementType,
                    Hide::IfNone));
};

/// The dims of one product: those of the result are the batch dims, the lhs's
/// free ones, the rhs's free ones.
class DotSides {
public:
  DotSides(const DotDims &numbers, unsigned lhsRank, unsigned rhsRank);
  explicit DotSides(TypingContext &cx)
      : DotSides(cx.params<DotGeneral>().dimensionNumbers, cx.operand(0).rank(),
                 cx.operand(1).rank()) {}

  const DotDims &numbers;
  SmallVector<int64_t, 4> lhsFree, rhsFree;

  unsigned rank() const {
    return numbers.lhsBatch.size() + lhsFree.size() + rhsFree.size();
  }
  /// The (operand, dim) pairs that make a dim of the result.
  SmallVector<std::pair<unsigned, unsigned>, 2> sources(unsigned dim) const;
  /// Batch entries of the lhs, then free ones; no sets. An axis may be on two
  /// dims of it.
  Sharding natural(const Sharding &lhs, const Sharding &rhs) const;
  /// The result without out_sharding, if the operands say which it is.
  std::optional<Sharding> inferred(const Sharding &lhs,
                                   const Sharding &rhs) const;
};

FailureOr<Shape> dotShape(TypingContext &cx);
FailureOr<DType> dotDType(TypingContext &cx);
// The same for other products of operands 0 and 1.
LogicalResult checkDotNumbers(TypingContext &cx, const DotDims &numbers,
                              StringRef key);
FailureOr<DType> dotDTypeOf(TypingContext &cx, const DotGeneral &params);

// Each adds to an error what the user can do about it.
/// Contracting dims are sharded on both sides: all legal results.
void offerDotResults(TypingContext &cx, const DotSides &sides,
                     ErrorBuilder &error);
/// Batch dims are sharded differently: reshard either side, or say the result.
void offerDotBatch(TypingContext &cx, const DotSides &sides,
                   ErrorBuilder &error);
/// An axis would be on two dims of the result: keep it on one of them.
void offerDotDistinct(TypingContext &cx, const DotSides &sides,
                      ErrorBuilder &error);
/// The contracting dims are not sharded as the partial sums that were asked
/// for need it.
void offerDotPartial(TypingContext &cx, const DotSides &sides,
                     const Sharding &asked, ErrorBuilder &error);

} // namespace shardtype

#endif
