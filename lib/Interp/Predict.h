// Predict.h - how much memory a run takes, by types alone.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_PREDICT_H
#define SHARDTYPE_LIB_INTERP_PREDICT_H

#include "Plan.h"

namespace shardtype::interp {

/// The most bytes that values take at once: arguments, constants, and in each
/// body what is alive there; on every device of a region what varies there by
/// its type, or all if types do not say. An upper bound but for what kernels
/// use inside; in-place updates make it less. Amounts as in Bytes.h.
uint64_t predictBytes(const Plans &plans, bool keepSums);

} // namespace shardtype::interp

#endif
