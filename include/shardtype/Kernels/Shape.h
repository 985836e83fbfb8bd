// Shape.h - operations that only move elements, of any dtype (spec 09, 8).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_SHAPE_H
#define SHARDTYPE_KERNELS_SHAPE_H

#include "shardtype/Tensor/Tensor.h"
#include <vector>

namespace shardtype::kernels {

using Dims = ArrayRef<int64_t>;

/// Dim i of `x` becomes dim `dims[i]` of `shape`; a size of 1 is repeated.
Tensor broadcastInDim(const Tensor &x, Dims shape, Dims dims);
/// Dim i of the result is dim `permutation[i]` of `x`.
Tensor transpose(const Tensor &x, Dims permutation);
Tensor reverse(const Tensor &x, Dims dims);
Tensor tile(const Tensor &x, Dims repeats);
Tensor concatenate(ArrayRef<const Tensor *> parts, int64_t dim);
/// Arrays of one shape along a new dim; and apart again.
Tensor stack(ArrayRef<const Tensor *> parts, int64_t dim);
std::vector<Tensor> unstack(const Tensor &x, int64_t dim);
std::vector<Tensor> split(const Tensor &x, Dims sizes, int64_t dim);
/// Elements `starts`, `starts` + `strides`, ... below `limits`.
Tensor slice(const Tensor &x, Dims starts, Dims limits, Dims strides);
/// First `interior` elements of `value` between two of `x`, then `low` and
/// `high` at the ends, which cut where they are negative.
Tensor pad(const Tensor &x, const Tensor &value, Dims low, Dims high,
           Dims interior);
/// All elements are the one of `value`.
Tensor full(const Tensor &value, Dims shape);

} // namespace shardtype::kernels

#endif
