// Dot.h - products of matrices and what they are called with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_DOT_H
#define SHARDTYPE_KERNELS_DOT_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

/// Which dims are paired: position i of the one list with i of the other.
struct DotNumbers {
  ArrayRef<int64_t> lhsContract, rhsContract, lhsBatch, rhsBatch;
};

/// dot_general (spec 09, 10): dims of the result are the batch dims, the other
/// dims of the lhs, then those of the rhs. Integers wrap in the result's
/// dtype, bools are or-ed; floats below f32 are multiplied and added in f32 and
/// rounded once, mixed dtypes in the larger one. Numbers are those a type
/// checker has passed.
Tensor dotGeneral(const Tensor &lhs, const Tensor &rhs,
                  const DotNumbers &numbers, DType result);

/// Are sums of f32 of so many terms made in one order, whichever operand comes
/// first? Then the product with its operands exchanged is the transpose, bit
/// for bit.
bool sumsInOrder(int64_t terms);

/// ragged_dot_general: `ragged` is the dim of the lhs that groups divide,
/// `group` the dim of the rhs that has an entry for each (none unless `ragged`
/// is neither contracting nor batch). `groupSizes` are integers, (g) or with
/// the dims before the ragged one in front. Elements of no group give 0; where
/// the ragged dim is batch, groups change nothing.
Tensor raggedDot(const Tensor &lhs, const Tensor &rhs, const Tensor &groupSizes,
                 const DotNumbers &numbers, int64_t ragged,
                 std::optional<int64_t> group, DType result);

/// `values` times its scales, each repeated along the dims of which there are
/// fewer, as `dtype`.
Tensor scaledOperand(const Tensor &values, const Tensor &scales, DType dtype);

/// Row-major C = A B on BLAS, of f32, f64, c64 and c128. Element (i, k) of A is
/// `a[i * aRow + k * aColumn]`; one of both strides is 1, or its dim is.
template <typename T> struct MatrixRef {
  const T *data;
  int64_t rows, columns, rowStride, columnStride;
};
template <typename T>
void multiply(const MatrixRef<T> &a, const MatrixRef<T> &b, T *c);

} // namespace shardtype::kernels

#endif
