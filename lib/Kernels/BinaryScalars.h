// BinaryScalars.h - each operation of two operands on one element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_BINARYSCALARS_H
#define SHARDTYPE_LIB_KERNELS_BINARYSCALARS_H

#include "UnaryScalars.h"
#include "shardtype/Kernels/Binary.h"

namespace shardtype::kernels {

//===--- Floats -----------------------------------------------------------===//

/// NaN if either is; +0 above -0 (spec 09, 2.1).
template <typename T> T larger(T a, T b) {
  if (a != a || b != b)
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <typename T> T smaller(T a, T b) {
  if (a != a || b != b)
    return a + b;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// A function that is computed in double.
template <BinaryOp Op> double doubleOf(double a, double b) {
  if constexpr (Op == BinaryOp::Atan2)
    return std::atan2(a, b);
  else if constexpr (Op == BinaryOp::Igamma)
    return special::igamma(a, b);
  else if constexpr (Op == BinaryOp::IgammaGradA)
    return special::igammaGradA(a, b);
  else if constexpr (Op == BinaryOp::Igammac)
    return special::igammac(a, b);
  else if constexpr (Op == BinaryOp::Polygamma)
    return special::polygamma(a, b);
  else
    return special::zeta(a, b);
}

template <BinaryOp Op, typename T>
  requires std::is_floating_point_v<T>
T valueOf(T a, T b) {
  if constexpr (Op == BinaryOp::Add)
    return a + b;
  else if constexpr (Op == BinaryOp::Sub)
    return a - b;
  else if constexpr (Op == BinaryOp::Mul)
    return a * b;
  else if constexpr (Op == BinaryOp::Div)
    return a / b;
  else if constexpr (Op == BinaryOp::Max)
    return larger(a, b);
  else if constexpr (Op == BinaryOp::Min)
    return smaller(a, b);
  else if constexpr (Op == BinaryOp::Rem)
    return std::fmod(a, b);
  else if constexpr (Op == BinaryOp::Pow)
    return std::pow(a, b);
  else
    return static_cast<T>(doubleOf<Op>(a, b));
}

/// The neighbour of `a` towards `b` in T itself, whose bits are counted.
template <typename T> T neighbour(T a, T b) {
  using P = ComputeType<T>;
  using Bits = std::conditional_t<
      sizeof(T) == 1, uint8_t,
      std::conditional_t<
          sizeof(T) == 2, uint16_t,
          std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
  P from = static_cast<P>(a), to = static_cast<P>(b);
  if (std::isnan(from) || std::isnan(to))
    return T(std::numeric_limits<P>::quiet_NaN());
  if (from == to)
    return b;
  constexpr Bits sign = Bits(Bits(1) << (8 * sizeof(T) - 1));
  if (from == 0)
    return std::bit_cast<T>(Bits((to < 0 ? sign : 0) | 1));
  Bits bits = std::bit_cast<Bits>(a);
  bool away = (from < to) == (from > 0);
  return std::bit_cast<T>(Bits(away ? bits + 1 : bits - 1));
}

//===--- Complex numbers --------------------------------------------------===//

template <typename P> bool before(std::complex<P> a, std::complex<P> b) {
  return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag());
}

template <BinaryOp Op, typename P>
std::complex<P> valueOf(std::complex<P> a, std::complex<P> b) {
  using Wide =
      std::complex<std::conditional_t<sizeof(P) == 4, double, long double>>;
  if constexpr (Op == BinaryOp::Add)
    return a + b;
  else if constexpr (Op == BinaryOp::Sub)
    return a - b;
  else if constexpr (Op == BinaryOp::Mul)
    return times(a, b);
  else if constexpr (Op == BinaryOp::Div)
    return std::complex<P>(Wide(a) / Wide(b));
  else if constexpr (Op == BinaryOp::Max)
    return before(b, a) ? a : b; // Of equal ones the second, as in JAX.
  else if constexpr (Op == BinaryOp::Min)
    return before(a, b) ? a : b;
  else if constexpr (Op == BinaryOp::Atan2) {
    // -i log((b + i a) / sqrt(a^2 + b^2))
    Wide y = a, x = b, i(0, 1);
    return std::complex<P>(-i *
                           std::log((x + i * y) / std::sqrt(x * x + y * y)));
  } else
    return std::complex<P>(std::pow(Wide(a), Wide(b)));
}

//===--- Integers ---------------------------------------------------------===//

template <typename T> T highProduct(T a, T b) {
  using Double = std::conditional_t<std::is_signed_v<ComputeType<T>>, __int128,
                                    unsigned __int128>;
  auto wide = static_cast<Double>(static_cast<ComputeType<T>>(a)) *
              static_cast<Double>(static_cast<ComputeType<T>>(b));
  return T(static_cast<Wrapping<ComputeType<T>>>(wide >> bitsOf<T>));
}

template <BinaryOp Op, typename T> T shifted(T x, T amount) {
  using U = Wrapping<ComputeType<T>>;
  constexpr unsigned width = bitsOf<T>;
  uint64_t by = patternOf(amount), bits = patternOf(x);
  bool beyond = by >= width;
  if constexpr (Op == BinaryOp::ShiftLeft)
    return T(static_cast<U>(beyond ? 0 : bits << (by % 64)));
  else if constexpr (Op == BinaryOp::ShiftRightLogical)
    return T(static_cast<U>(beyond ? 0 : bits >> (by % 64)));
  else {
    bool top = bits >> (width - 1) & 1;
    uint64_t extended =
        top && width < 64 ? bits | ~uint64_t(0) << width % 64 : bits;
    int64_t value = static_cast<int64_t>(extended);
    return T(static_cast<U>(value >> (beyond ? width - 1 : by)));
  }
}

template <BinaryOp Op, typename T> T integerOf(T a, T b) {
  using C = ComputeType<T>;
  using U = Wrapping<C>;
  C x = static_cast<C>(a), y = static_cast<C>(b);
  U p = static_cast<U>(x), q = static_cast<U>(y);
  if constexpr (Op == BinaryOp::Add)
    return T(static_cast<U>(p + q));
  else if constexpr (Op == BinaryOp::Sub)
    return T(static_cast<U>(p - q));
  else if constexpr (Op == BinaryOp::Mul)
    return T(static_cast<U>(p * q));
  else if constexpr (Op == BinaryOp::Div) { // x / 0 = -1, min / -1 = min.
    if (y == 0)
      return T(static_cast<U>(~U(0)));
    if constexpr (std::is_signed_v<C>)
      if (y == -1)
        return T(static_cast<U>(U(0) - p));
    return T(static_cast<U>(x / y));
  } else if constexpr (Op == BinaryOp::Rem) { // x rem 0 = x
    if (y == 0)
      return a;
    if constexpr (std::is_signed_v<C>)
      if (y == -1)
        return T(U(0));
    return T(static_cast<U>(x % y));
  } else if constexpr (Op == BinaryOp::Max)
    return x > y ? a : b;
  else if constexpr (Op == BinaryOp::Min)
    return x < y ? a : b;
  else if constexpr (Op == BinaryOp::And)
    return T(static_cast<U>(p & q));
  else if constexpr (Op == BinaryOp::Or)
    return T(static_cast<U>(p | q));
  else if constexpr (Op == BinaryOp::Xor)
    return T(static_cast<U>(p ^ q));
  else if constexpr (Op == BinaryOp::Mulhi)
    return highProduct(a, b);
  else
    return shifted<Op>(a, b);
}

template <BinaryOp Op> bool boolOf(bool a, bool b) {
  if constexpr (Op == BinaryOp::And || Op == BinaryOp::Min)
    return a & b;
  else if constexpr (Op == BinaryOp::Or || Op == BinaryOp::Max)
    return a | b;
  else
    return a ^ b;
}

//===--- Comparisons ------------------------------------------------------===//

/// An integer that orders floats as `lt_to` does: -NaN < -inf < -0 < +0 < NaN.
inline int32_t totalOrder(float x) {
  int32_t bits = std::bit_cast<int32_t>(x);
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}
inline int64_t totalOrder(double x) {
  int64_t bits = std::bit_cast<int64_t>(x);
  return bits < 0 ? bits ^ 0x7fffffffffffffff : bits;
}

template <CompareOp Op, typename C> bool compares(C a, C b) {
  if constexpr (Op == CompareOp::Eq || Op == CompareOp::EqTo)
    return a == b;
  else if constexpr (Op == CompareOp::Ne)
    return a != b;
  else if constexpr (Op == CompareOp::Lt || Op == CompareOp::LtTo)
    return a < b;
  else if constexpr (Op == CompareOp::Le || Op == CompareOp::LeTo)
    return a <= b;
  else if constexpr (Op == CompareOp::Gt)
    return a > b;
  else
    return a >= b;
}
constexpr bool isTotal(CompareOp op) { return op >= CompareOp::EqTo; }

} // namespace shardtype::kernels

#endif
