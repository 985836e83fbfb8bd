// Convert.h - between element types (spec 09, 4).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_CONVERT_H
#define SHARDTYPE_KERNELS_CONVERT_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

/// Each value in another dtype: one rounding, integers saturate from floats
/// and wrap from integers. Neither dtype may be a key.
Tensor convert(const Tensor &x, DType to);
/// The bits as another dtype. Where widths differ, the last dim appears or
/// goes; the least significant part comes first.
Tensor bitcast(const Tensor &x, DType to, ArrayRef<int64_t> shape);
/// With every denormal a zero of its sign: how f64, f32 and what is computed in
/// f32 look to JAX on CPU (spec 09, 2.4). Other dtypes stay as they are.
Tensor flushDenormals(Tensor x);
/// Rounds to what a float of these bits can hold; below its smallest normal
/// value that is zero.
Tensor reducePrecision(const Tensor &x, int64_t exponentBits,
                       int64_t mantissaBits);
/// The index along `dim`, converted.
Tensor iota(DType dtype, ArrayRef<int64_t> shape, int64_t dim);

} // namespace shardtype::kernels

#endif
