// Reduce.h - reductions and cumulative operations (spec 09, 5 to 7).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_REDUCE_H
#define SHARDTYPE_KERNELS_REDUCE_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min, And, Or, Xor };

/// Over `dims`, in any order given. Accumulates in the dtype and in JAX's order
/// (spec 09, 5 [O]). Sum and Prod: numbers; Max and Min: numbers and bools; the
/// others: integers and bools.
Tensor reduce(ReduceOp op, const Tensor &x, ArrayRef<int64_t> dims);

/// The first index along `dim` of the largest (smallest) element, a NaN before
/// all others, as `dtype`. The dim is not empty.
Tensor argExtreme(bool largest, const Tensor &x, int64_t dim, DType dtype);

enum class CumulativeOp : uint8_t { Sum, Prod, Max, Min, LogSumExp };

/// Along `axis`, from the end if `reverse`, in JAX's order (spec 09, 6 [O]).
Tensor cumulative(CumulativeOp op, const Tensor &x, int64_t axis, bool reverse);

} // namespace shardtype::kernels

#endif
