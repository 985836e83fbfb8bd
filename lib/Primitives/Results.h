// Results.h - the common steps of operations with several results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_RESULTS_H
#define SHARDTYPE_LIB_PRIMITIVES_RESULTS_H

#include "Shapes.h"

namespace shardtype {

/// What is known of one result before its sharding.
struct ResultPart {
  Shape shape;
  DType dtype = DType::F32;
  bool weak = false;
};

/// Gives one sharding for each result, or fails having reported.
using ShardingsRule =
    llvm::function_ref<LogicalResult(SmallVectorImpl<Sharding> &)>;

/// Refuses operands that are no arrays.
LogicalResult checkArrays(TypingContext &cx);
/// Steps 1 and 3 of spec 01, 3.0, before shapes are looked at: operands are
/// arrays on the context mesh.
LogicalResult beginResults(TypingContext &cx);
/// How results vary over Manual axes: as all operands do (manual/varying.1), or
/// as the caller has said by `setManual`.
enum class ResultState : uint8_t { Match, AsSet };
/// Steps 5 to 11, for a primitive without a rule for U and R: any of them that
/// `shardings` lets through, in operands or results, is refused.
LogicalResult finishResults(TypingContext &cx, ArrayRef<ResultPart> parts,
                            ShardingsRule shardings,
                            ResultState state = ResultState::Match);

/// Completes an error about U or R: where no operand is unreduced and all are
/// reduced over the same axes, the results are functions of replicated data and
/// could be reduced as well.
ErrorBuilder offerReduced(TypingContext &cx, ErrorBuilder error,
                          ArrayRef<ResultPart> parts,
                          ArrayRef<Sharding> shardings);

} // namespace shardtype

#endif
