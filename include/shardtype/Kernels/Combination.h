// Combination.h - the functions of two scalars that kernels know.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_COMBINATION_H
#define SHARDTYPE_KERNELS_COMBINATION_H

#include <cstdint>

namespace shardtype::kernels {

/// What becomes of a current value and another one; `Set` is the other one.
/// And, Or and Xor are for integers and bools.
enum class Combination : uint8_t { Set, Add, Sub, Mul, Min, Max, And, Or, Xor };

} // namespace shardtype::kernels

#endif
