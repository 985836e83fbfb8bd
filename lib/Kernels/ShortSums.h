// ShortSums.h - products of matrices whose sums have few terms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_SHORTSUMS_H
#define SHARDTYPE_LIB_KERNELS_SHORTSUMS_H

#include "shardtype/Kernels/Dot.h"

namespace shardtype::kernels {

/// Row-major C = A B with fused multiplications and additions, from the first
/// term on: so C and its transpose, B' A', have the same bits. False: this
/// processor or the shape has no such loop, and nothing is written.
bool multiplyShort(const MatrixRef<float> &a, const MatrixRef<float> &b,
                   float *c);
template <typename T>
bool multiplyShort(const MatrixRef<T> &, const MatrixRef<T> &, T *) {
  return false;
}

} // namespace shardtype::kernels

#endif
