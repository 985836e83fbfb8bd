// Combine.h - elementwise reductions over several arrays, in their order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_COMBINE_H
#define SHARDTYPE_KERNELS_COMBINE_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

enum class Combine : uint8_t { Sum, Max, Min };

/// Is there such a reduction of this dtype?
bool canCombine(Combine how, DType dtype);

/// The members combined element by element, from the first to the last (spec
/// 09, 16): a sum starts from +0 and rounds to the dtype at every step, but for
/// floats below f16's range of use (bf16 and 8 bits), which are added up in f32
/// and rounded once. Of bools: or, or, and. Maxima and minima as in spec 09,
/// 2.1; with `dropNaN` as JAX has them on CPU: without the NaNs (an infinity if
/// there is nothing else), and of zeros the first. All are of one dtype and
/// shape.
Tensor combine(Combine how, ArrayRef<Tensor> members, bool dropNaN = false);

} // namespace shardtype::kernels

#endif
