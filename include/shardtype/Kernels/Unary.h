// Unary.h - functions of one array, element by element (spec 09, 1 to 3).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_UNARY_H
#define SHARDTYPE_KERNELS_UNARY_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

// UNARY(Op, groups of dtypes it is defined for: I ints, F floats, C complex).
#define SHARDTYPE_UNARY_OPS(UNARY)                                             \
  UNARY(Abs, I | F)                                                            \
  UNARY(Acos, F | C)                                                           \
  UNARY(Acosh, F | C)                                                          \
  UNARY(Asin, F | C)                                                           \
  UNARY(Asinh, F | C)                                                          \
  UNARY(Atan, F | C)                                                           \
  UNARY(Atanh, F | C)                                                          \
  UNARY(BesselI0e, F)                                                          \
  UNARY(BesselI1e, F)                                                          \
  UNARY(Cbrt, F)                                                               \
  UNARY(Ceil, F)                                                               \
  UNARY(Clz, I)                                                                \
  UNARY(Conj, C)                                                               \
  UNARY(Cos, F | C)                                                            \
  UNARY(Cosh, F | C)                                                           \
  UNARY(Digamma, F)                                                            \
  UNARY(Erf, F)                                                                \
  UNARY(ErfInv, F)                                                             \
  UNARY(Erfc, F)                                                               \
  UNARY(Exp, F | C)                                                            \
  UNARY(Exp2, F | C)                                                           \
  UNARY(Expm1, F | C)                                                          \
  UNARY(Floor, F)                                                              \
  UNARY(Lgamma, F)                                                             \
  UNARY(Log, F | C)                                                            \
  UNARY(Log1p, F | C)                                                          \
  UNARY(Log2, F | C)                                                           \
  UNARY(Logistic, F | C)                                                       \
  UNARY(Neg, I | F | C)                                                        \
  UNARY(Not, I)                                                                \
  UNARY(OneMinusSquare, I | F | C)                                             \
  UNARY(PopulationCount, I)                                                    \
  UNARY(RoundAway, F) /* Halves away from zero. */                             \
  UNARY(RoundEven, F) /* Halves to even. */                                    \
  UNARY(Rsqrt, F | C)                                                          \
  UNARY(Sign, I | F | C)                                                       \
  UNARY(Sin, F | C)                                                            \
  UNARY(Sinh, F | C)                                                           \
  UNARY(Sqrt, F | C)                                                           \
  UNARY(Square, I | F | C)                                                     \
  UNARY(Tan, F | C)                                                            \
  UNARY(Tanh, F | C)

enum class UnaryOp : uint8_t {
#define UNARY(Op, Groups) Op,
  SHARDTYPE_UNARY_OPS(UNARY)
#undef UNARY
};

/// The result has the dtype of `x`, whose memory it reuses if nothing else
/// does. The dtype must be in the op's groups (`Not` takes bool as well).
Tensor unary(UnaryOp op, Tensor x);
/// x^y; negative `y` is 1 / x^-y (spec 09, 3: square and multiply, each product
/// rounded in the type).
Tensor integerPow(Tensor x, int64_t y);
/// bool; false for NaN and infinities.
Tensor isFinite(const Tensor &x);

// Of complex arrays, real ones.
Tensor modulus(const Tensor &x);
Tensor realPart(const Tensor &x);
Tensor imagPart(const Tensor &x);
/// Of a real array, the complex one without imaginary parts.
Tensor asComplex(const Tensor &x);
/// re + im i, element by element.
Tensor makeComplex(const Tensor &re, const Tensor &im);

// Of f64, f32, f16 and bf16, where numbers below the normal ones are zero: JAX
// defines them so.
/// x = fraction * 2^exponent with 0.5 <= |fraction| < 1; zeros, infinities and
/// NaN are themselves, with exponent 0. Fills both, of x's shape (exponent:
/// i32).
void frexp(const Tensor &x, Tensor &fraction, Tensor &exponent);
/// x * 2^power, of any integers of x's shape.
void ldexp(const Tensor &x, const Tensor &power, Tensor &result);

} // namespace shardtype::kernels

#endif
