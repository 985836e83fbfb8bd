// VectorAvx2.cpp - the loops of Vector.h for processors with AVX2.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorLoops.inc"

const VectorSet shardtype::kernels::Avx2Vectors = {
    loopsOf<float>(), loopsOf<double>(), fromBF16,      toBF16,
    streamCopy,       transpose,         threefryBlocks};
