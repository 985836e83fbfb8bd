// Combining.h - the operations that reduce: on two scalars.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floats below f32 are computed in f32 and rounded once, integers wrap (spec
// 09, 1 and 2).
#ifndef SHARDTYPE_LIB_KERNELS_COMBINING_H
#define SHARDTYPE_LIB_KERNELS_COMBINING_H

#include "Extremes.h"
#include "shardtype/Kernels/Combination.h"
#include "shardtype/Tensor/Element.h"
#include <cmath>

namespace shardtype::kernels {

namespace detail {
/// Integers are added and multiplied as unsigned ones of 32 or 64 bits.
template <typename T>
using WrapType = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T> inline WrapType<T> wrapped(T value) {
  return static_cast<WrapType<T>>(static_cast<ComputeType<T>>(value));
}

/// a < b where +0 is above -0; neither is NaN.
template <typename W> inline bool below(W a, W b) {
  return a < b || (a == b && std::signbit(a) && !std::signbit(b));
}
} // namespace detail

template <typename T> inline T addOf(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a || b;
  else if constexpr (isIntElement<T>)
    return T(detail::wrapped(a) + detail::wrapped(b));
  else
    return T(static_cast<ComputeType<T>>(a) + static_cast<ComputeType<T>>(b));
}
template <typename T> inline T subOf(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a != b;
  else if constexpr (isIntElement<T>)
    return T(detail::wrapped(a) - detail::wrapped(b));
  else
    return T(static_cast<ComputeType<T>>(a) - static_cast<ComputeType<T>>(b));
}
template <typename T> inline T mulOf(T a, T b) {
  if constexpr (std::is_same_v<T, bool>)
    return a && b;
  else if constexpr (isIntElement<T>)
    return T(detail::wrapped(a) * detail::wrapped(b));
  else if constexpr (isComplexElement<T>)
    return {a.real() * b.real() - a.imag() * b.imag(),
            a.real() * b.imag() + a.imag() * b.real()};
  else
    return T(static_cast<ComputeType<T>>(a) * static_cast<ComputeType<T>>(b));
}
namespace detail {
/// Where neither is NaN.
template <typename T> inline bool isLess(T a, T b) {
  if constexpr (isComplexElement<T>)
    return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
  else if constexpr (isFloatElement<T>)
    return below<ComputeType<T>>(a, b);
  else
    return static_cast<ComputeType<T>>(a) < static_cast<ComputeType<T>>(b);
}
template <typename T> inline bool isNaN(T a) {
  if constexpr (isComplexElement<T>)
    return std::isnan(a.real()) || std::isnan(a.imag());
  else if constexpr (isFloatElement<T>)
    return std::isnan(static_cast<ComputeType<T>>(a));
  else
    return false;
}
} // namespace detail

/// NaN if either is; +0 above -0; complex numbers by real, then imaginary part.
template <typename T> inline T maxOf(T a, T b) {
  return detail::isNaN(a)       ? a
         : detail::isNaN(b)     ? b
         : detail::isLess(a, b) ? b
                                : a;
}
template <typename T> inline T minOf(T a, T b) {
  return detail::isNaN(a)       ? a
         : detail::isNaN(b)     ? b
         : detail::isLess(b, a) ? b
                                : a;
}

template <typename T> inline T andOf(T a, T b) {
  return T(detail::wrapped(a) & detail::wrapped(b));
}
template <typename T> inline T orOf(T a, T b) {
  return T(detail::wrapped(a) | detail::wrapped(b));
}
template <typename T> inline T xorOf(T a, T b) {
  return T(detail::wrapped(a) ^ detail::wrapped(b));
}

/// Calls `f` with the function of two `T`s.
template <typename T, typename F>
void withFunction(Combination combine, F &&f) {
  if constexpr (std::is_same_v<T, bool> || isIntElement<T>) {
    if (combine == Combination::And)
      return f(andOf<T>);
    if (combine == Combination::Or)
      return f(orOf<T>);
    if (combine == Combination::Xor)
      return f(xorOf<T>);
  }
  switch (combine) {
  case Combination::Add:
    return f(addOf<T>);
  case Combination::Sub:
    return f(subOf<T>);
  case Combination::Mul:
    return f(mulOf<T>);
  case Combination::Min:
    return f(minOf<T>);
  case Combination::Max:
    return f(maxOf<T>);
  default:
    return f([](T, T other) { return other; });
  }
}

/// The values that change nothing: of max (the least one) and of min.
template <typename T> inline T leastOf() { return extreme<T>(false); }
template <typename T> inline T mostOf() { return extreme<T>(true); }

} // namespace shardtype::kernels

#endif
