// Linalg.h - what the rows of linear algebra share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_LINALG_H
#define SHARDTYPE_LIB_PRIMITIVES_LINALG_H

#include "DTypeSets.h"
#include "Results.h"

namespace shardtype {

/// Sizes of the dims that are no batch dims.
using Core = SmallVector<int64_t, 2>;
/// One result: its core sizes and dtype.
struct CorePart {
  Core core;
  DType dtype = DType::F32;
};
using CoreParts = SmallVector<CorePart, 4>;

/// One input: how many of its last dims are core, and the dtypes it takes.
struct CoreInput {
  unsigned rank = 2;
  unsigned dtypes = ComplexParts | Complexes;
  bool int32 = false; // Takes i32 only.
};

/// Checks the cores of all inputs and gives those of all results, or fails
/// having reported.
using CoreRule = FailureOr<CoreParts>(TypingContext &,
                                      ArrayRef<ArrayRef<int64_t>>);

/// linalg/shape.1, .2, linalg/dtype.1: ranks and dtypes of the inputs; then the
/// results, batch dims in front.
FailureOr<SmallVector<ResultPart, 4>> linalgParts(TypingContext &cx,
                                                  ArrayRef<CoreInput> inputs,
                                                  CoreRule *rule,
                                                  bool sameDTypes = true);
/// linalg/sharding.1 to .3: core dims are whole, batch dims sharded alike.
LogicalResult linalgShardings(TypingContext &cx, ArrayRef<CoreInput> inputs,
                              ArrayRef<ResultPart> parts,
                              SmallVectorImpl<Sharding> &shardings);
/// Refuses operand `i` if it has U or R (linalg/reduction.1).
LogicalResult refuseLinalgSets(TypingContext &cx, ArrayRef<CoreInput> inputs,
                               unsigned i, ArrayRef<ResultPart> parts);
/// Batch dims are one factor in all operands and results, core dims are whole.
DimMap linalgDims(TypingContext &cx, ArrayRef<CoreInput> inputs,
                  ArrayRef<unsigned> resultRanks);

} // namespace shardtype

#endif
