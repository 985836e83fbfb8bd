// UnaryScalars.h - each unary operation on one element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_UNARYSCALARS_H
#define SHARDTYPE_LIB_KERNELS_UNARYSCALARS_H

#include "Integers.h"
#include "Special.h"
#include "shardtype/Kernels/Unary.h"
#include <bit>
#include <cmath>

namespace shardtype::kernels {

//===--- Floats -----------------------------------------------------------===//

/// On a double, or on a float where rounding at each step is as good.
template <UnaryOp Op, typename T> T floatOf(T x) {
  if constexpr (Op == UnaryOp::Abs)
    return std::fabs(x);
  else if constexpr (Op == UnaryOp::Neg)
    return -x;
  else if constexpr (Op == UnaryOp::Ceil)
    return std::ceil(x);
  else if constexpr (Op == UnaryOp::Floor)
    return std::floor(x);
  else if constexpr (Op == UnaryOp::RoundAway)
    return std::round(x);
  else if constexpr (Op == UnaryOp::RoundEven)
    return std::nearbyint(x);
  else if constexpr (Op == UnaryOp::Sqrt)
    return std::sqrt(x);
  else if constexpr (Op == UnaryOp::Square)
    return x * x;
  else if constexpr (Op == UnaryOp::OneMinusSquare)
    return (1 - x) * (1 + x);
  else if constexpr (Op == UnaryOp::Sign)
    return std::isnan(x) ? x : std::copysign(x == 0 ? T(0) : T(1), x);
  else if constexpr (Op == UnaryOp::Exp)
    return std::exp(x);
  else if constexpr (Op == UnaryOp::Exp2)
    return std::exp2(x);
  else if constexpr (Op == UnaryOp::Log)
    return std::log(x);
  else if constexpr (Op == UnaryOp::Log2)
    return std::log2(x);
  else if constexpr (Op == UnaryOp::Sin)
    return std::sin(x);
  else if constexpr (Op == UnaryOp::Cos)
    return std::cos(x);
  else if constexpr (Op == UnaryOp::Acos)
    return std::acos(x);
  else if constexpr (Op == UnaryOp::Acosh)
    return std::acosh(x);
  else if constexpr (Op == UnaryOp::Asin)
    return std::asin(x);
  else if constexpr (Op == UnaryOp::Asinh)
    return std::asinh(x);
  else if constexpr (Op == UnaryOp::Atan)
    return std::atan(x);
  else if constexpr (Op == UnaryOp::Atanh)
    return std::atanh(x);
  else if constexpr (Op == UnaryOp::BesselI0e)
    return special::besselI0e(x);
  else if constexpr (Op == UnaryOp::BesselI1e)
    return special::besselI1e(x);
  else if constexpr (Op == UnaryOp::Cbrt)
    return std::cbrt(x);
  else if constexpr (Op == UnaryOp::Cosh)
    return std::cosh(x);
  else if constexpr (Op == UnaryOp::Digamma)
    return special::digamma(x);
  else if constexpr (Op == UnaryOp::Erf)
    return std::erf(x);
  else if constexpr (Op == UnaryOp::ErfInv)
    return special::erfInv(x);
  else if constexpr (Op == UnaryOp::Erfc)
    return std::erfc(x);
  else if constexpr (Op == UnaryOp::Expm1)
    return std::expm1(x);
  else if constexpr (Op == UnaryOp::Lgamma)
    return special::lgamma(x);
  else if constexpr (Op == UnaryOp::Log1p)
    return std::log1p(x);
  else if constexpr (Op == UnaryOp::Logistic)
    return 1 / (1 + std::exp(-x));
  else if constexpr (Op == UnaryOp::Rsqrt)
    return 1 / std::sqrt(x);
  else if constexpr (Op == UnaryOp::Sinh)
    return std::sinh(x);
  else if constexpr (Op == UnaryOp::Tan)
    return std::tan(x);
  else
    return std::tanh(x);
}

/// Is the C library's function on a float within 1 ulp (glibc computes it in
/// double), or exact? All others are computed in double and rounded.
constexpr bool goodInFloat(UnaryOp op) {
  using enum UnaryOp;
  for (UnaryOp good :
       {Abs, Neg, Ceil, Floor, RoundAway, RoundEven, Sqrt, Square,
        OneMinusSquare, Sign, Exp, Exp2, Log, Log2, Sin, Cos})
    if (op == good)
      return true;
  return false;
}

template <UnaryOp Op> float valueOf(float x) {
  if constexpr (goodInFloat(Op))
    return floatOf<Op>(x);
  else
    return static_cast<float>(floatOf<Op>(static_cast<double>(x)));
}
template <UnaryOp Op> double valueOf(double x) { return floatOf<Op>(x); }

//===--- Complex numbers --------------------------------------------------===//

/// Products and quotients by parts: infinities are not made of NaNs (JAX's
/// are not either; spec 09, 2.6).
template <typename P>
std::complex<P> times(std::complex<P> a, std::complex<P> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

/// Functions in a wider type W than the parts of the result.
template <UnaryOp Op, typename W> std::complex<W> wideOf(std::complex<W> z) {
  using Z = std::complex<W>;
  constexpr W ln2 = 0.693147180559945309417232121458176568L;
  if constexpr (Op == UnaryOp::Acos)
    return std::acos(z);
  else if constexpr (Op == UnaryOp::Acosh)
    return std::acosh(z);
  else if constexpr (Op == UnaryOp::Asin)
    return std::asin(z);
  else if constexpr (Op == UnaryOp::Asinh)
    return std::asinh(z);
  else if constexpr (Op == UnaryOp::Atan)
    return std::atan(z);
  else if constexpr (Op == UnaryOp::Atanh)
    return std::atanh(z);
  else if constexpr (Op == UnaryOp::Cos)
    return std::cos(z);
  else if constexpr (Op == UnaryOp::Cosh)
    return std::cosh(z);
  else if constexpr (Op == UnaryOp::Exp)
    return std::exp(z);
  else if constexpr (Op == UnaryOp::Exp2)
    return std::exp(z * ln2);
  else if constexpr (Op == UnaryOp::Expm1) {
    W half = std::sin(z.imag() / 2);
    return Z(std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
             std::exp(z.real()) * std::sin(z.imag()));
  } else if constexpr (Op == UnaryOp::Log)
    return std::log(z);
  else if constexpr (Op == UnaryOp::Log1p) {
    // |1 + z|^2 - 1, which the logarithm of the modulus halves.
    W beyond = z.real() * (2 + z.real()) + z.imag() * z.imag();
    return Z(beyond < 1 ? std::log1p(beyond) / 2 : std::log(std::abs(W(1) + z)),
             std::atan2(z.imag(), 1 + z.real()));
  } else if constexpr (Op == UnaryOp::Log2)
    return std::log(z) / ln2;
  else if constexpr (Op == UnaryOp::Logistic)
    return W(1) / (W(1) + std::exp(-z));
  else if constexpr (Op == UnaryOp::Rsqrt)
    return W(1) / std::sqrt(z);
  else if constexpr (Op == UnaryOp::Sign)
    return z == Z(0) ? Z(0) : z / std::abs(z);
  else if constexpr (Op == UnaryOp::Sin)
    return std::sin(z);
  else if constexpr (Op == UnaryOp::Sinh)
    return std::sinh(z);
  else if constexpr (Op == UnaryOp::Sqrt)
    return std::sqrt(z);
  else if constexpr (Op == UnaryOp::Tan)
    return std::tan(z);
  else
    return std::tanh(z);
}

template <UnaryOp Op, typename P> std::complex<P> valueOf(std::complex<P> z) {
  using Wide = std::conditional_t<sizeof(P) == 4, double, long double>;
  if constexpr (Op == UnaryOp::Neg)
    return -z;
  else if constexpr (Op == UnaryOp::Conj)
    return std::conj(z);
  else if constexpr (Op == UnaryOp::Square)
    return times(z, z);
  else if constexpr (Op == UnaryOp::OneMinusSquare)
    return times(P(1) - z, P(1) + z);
  else
    return std::complex<P>(wideOf<Op>(std::complex<Wide>(z)));
}

//===--- Integers ---------------------------------------------------------===//

/// `x` is the value of an element of type T; what is returned wraps to it.
template <UnaryOp Op, typename T> T integerOf(T element) {
  using C = ComputeType<T>;
  using U = Wrapping<C>;
  C x = static_cast<C>(element);
  U bits = static_cast<U>(x);
  if constexpr (Op == UnaryOp::Abs)
    return T(static_cast<U>(x < 0 ? U(0) - bits : bits));
  else if constexpr (Op == UnaryOp::Neg)
    return T(static_cast<U>(U(0) - bits));
  else if constexpr (Op == UnaryOp::Not)
    return T(static_cast<U>(~bits));
  else if constexpr (Op == UnaryOp::Square)
    return T(static_cast<U>(bits * bits));
  else if constexpr (Op == UnaryOp::OneMinusSquare)
    return T(static_cast<U>((1 - bits) * (1 + bits)));
  else if constexpr (Op == UnaryOp::Sign)
    return T(static_cast<U>(x > 0 ? 1 : x == 0 ? 0 : ~U(0)));
  else {
    constexpr unsigned width = bitsOf<T>;
    uint64_t pattern = patternOf(element);
    if constexpr (Op == UnaryOp::PopulationCount)
      return T(static_cast<U>(std::popcount(pattern)));
    else
      return T(static_cast<U>(std::countl_zero(pattern) -
                              static_cast<int>(64 - width)));
  }
}

} // namespace shardtype::kernels

#endif
