// Integers.h - arithmetic modulo 2^bits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_INTEGERS_H
#define SHARDTYPE_LIB_KERNELS_INTEGERS_H

#include "shardtype/Tensor/Element.h"

namespace shardtype::kernels {

/// An unsigned type in which arithmetic on T wraps as it does modulo 2^bits.
template <typename T>
using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

namespace detail {
inline constexpr uint8_t Bits[] = {
#define DTYPE(Name, Long, Short, Kind, Count, Exponent, Mantissa) Count,
#include "shardtype/Types/DTypes.def"
};
} // namespace detail

/// Bits of an element, packed.
template <typename T>
inline constexpr unsigned bitsOf =
    detail::Bits[static_cast<unsigned>(ElementTraits<T>::dtype)];

/// The low `width` bits.
constexpr uint64_t lowBits(unsigned width) {
  return width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
}

/// The bits of an element in its width.
template <typename T> uint64_t patternOf(T x) {
  return static_cast<uint64_t>(static_cast<ComputeType<T>>(x)) &
         lowBits(bitsOf<T>);
}

} // namespace shardtype::kernels

#endif
