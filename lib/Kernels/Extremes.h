// Extremes.h - the largest and the least element of a type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_EXTREMES_H
#define SHARDTYPE_LIB_KERNELS_EXTREMES_H

#include "Integers.h"
#include <cmath>

namespace shardtype::kernels {

/// Infinite for most floats; where there is no infinity, the end of the range.
template <typename T> T extreme(bool largest) {
  using C = ComputeType<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return largest;
  } else if constexpr (isComplexElement<T>) {
    auto part = std::numeric_limits<typename T::value_type>::infinity();
    return T(largest ? part : -part);
  } else if constexpr (isFloatElement<T>) {
    C infinity = std::numeric_limits<C>::infinity();
    T end = T(largest ? infinity : -infinity);
    if constexpr (sizeof(T) == 1) {
      if (!std::isnan(static_cast<C>(end)))
        return end;
      end.bits = 0;
      for (unsigned bits = 1; bits < 256; ++bits) {
        T other;
        other.bits = static_cast<uint8_t>(bits);
        if (largest ? static_cast<C>(other) > static_cast<C>(end)
                    : static_cast<C>(other) < static_cast<C>(end))
          end = other;
      }
    }
    return end;
  } else {
    constexpr bool isSigned = ElementTraits<T>::kind == DTypeKind::Signed;
    constexpr uint64_t top = uint64_t(1) << (bitsOf<T> - 1);
    return T(static_cast<Wrapping<C>>(
        largest ? (isSigned ? top - 1 : ~uint64_t(0)) : (isSigned ? top : 0)));
  }
}

} // namespace shardtype::kernels

#endif
