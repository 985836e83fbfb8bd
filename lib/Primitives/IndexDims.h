// IndexDims.h - dimension numbers of gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_INDEXDIMS_H
#define SHARDTYPE_LIB_PRIMITIVES_INDEXDIMS_H

#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// `code` is ShapeInvalid where JAX raises a ValueError.
ErrorBuilder indexError(TypingContext &cx, const std::string &message,
                        diag::Code code = diag::ShapeMismatch);
/// Reports unless operand 1, the indices, are integers.
LogicalResult checkIndexDType(TypingContext &cx);

struct DimNumber {
  StringRef name;
  SmallVector<int64_t, 4> *dims;
};
/// Reads the fields of a GatherDimensionNumbers or ScatterDimensionNumbers.
/// Absent ones stay empty (older versions lack the batching dims).
LogicalResult readDimNumbers(TypingContext &cx, const Value &numbers,
                             ArrayRef<DimNumber> fields);
/// In range of `rank`, none twice and, if asked for, ascending.
LogicalResult checkDimList(TypingContext &cx, StringRef name,
                           ArrayRef<int64_t> dims, int64_t rank, bool sorted);
/// Pairs of batching dims of operand and indices (operands 0 and 1): as many,
/// of equal sizes, and the operand's in none of the `others`.
LogicalResult checkBatchingDims(TypingContext &cx, ArrayRef<int64_t> operand,
                                ArrayRef<int64_t> indices,
                                ArrayRef<ArrayRef<int64_t>> others);

} // namespace shardtype

#endif
