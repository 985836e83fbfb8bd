// Vector.cpp - loops for every processor, and the choice of a set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorLoops.inc"

const VectorSet shardtype::kernels::BaselineVectors = {
    loopsOf<float>(), loopsOf<double>(), fromBF16,      toBF16,
    streamCopy,       transpose,         threefryBlocks};

const VectorSet &shardtype::kernels::vectors() {
#if defined(SHARDTYPE_HAVE_AVX2)
  static const bool wide = __builtin_cpu_supports("avx2");
  return wide ? Avx2Vectors : BaselineVectors;
#else
  return BaselineVectors;
#endif
}
