// Fft.h - discrete Fourier transforms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_FFT_H
#define SHARDTYPE_KERNELS_FFT_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

enum class FftKind : uint8_t { Fft, Ifft, Rfft, Irfft };

/// Transforms the last `lengths.size()` dims, which have those lengths (of
/// Irfft the last one has n/2 + 1 elements). Inverses are divided by the number
/// of elements (spec 09, 12). Computed in double.
Tensor fft(const Tensor &x, FftKind kind, ArrayRef<int64_t> lengths,
           DType result);

} // namespace shardtype::kernels

#endif
