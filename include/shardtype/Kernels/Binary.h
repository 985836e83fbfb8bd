// Binary.h - functions of several arrays, element by element (spec 09, 1 to 3).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_BINARY_H
#define SHARDTYPE_KERNELS_BINARY_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

// BINARY(Op, groups of dtypes: B bool, I ints, F floats, C complex).
#define SHARDTYPE_BINARY_OPS(BINARY)                                           \
  BINARY(Add, I | F | C)                                                       \
  BINARY(And, B | I)                                                           \
  BINARY(Atan2, F | C)                                                         \
  BINARY(Div, I | F | C)                                                       \
  BINARY(Igamma, F)                                                            \
  BINARY(IgammaGradA, F)                                                       \
  BINARY(Igammac, F)                                                           \
  BINARY(Max, B | I | F | C)                                                   \
  BINARY(Min, B | I | F | C)                                                   \
  BINARY(Mul, I | F | C)                                                       \
  BINARY(Mulhi, I)                                                             \
  BINARY(Nextafter, F)                                                         \
  BINARY(Or, B | I)                                                            \
  BINARY(Polygamma, F)                                                         \
  BINARY(Pow, F | C)                                                           \
  BINARY(Rem, I | F)                                                           \
  BINARY(ShiftLeft, I)                                                         \
  BINARY(ShiftRightArithmetic, I)                                              \
  BINARY(ShiftRightLogical, I)                                                 \
  BINARY(Sub, I | F | C)                                                       \
  BINARY(Xor, B | I)                                                           \
  BINARY(Zeta, F)

enum class BinaryOp : uint8_t {
#define BINARY(Op, Groups) Op,
  SHARDTYPE_BINARY_OPS(BINARY)
#undef BINARY
};
enum class CompareOp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, EqTo, LtTo, LeTo };

/// The shape of several operands of one function: a rank-0 operand and dims of
/// size 1 stand for all positions.
SmallVector<int64_t, 6> commonShape(ArrayRef<const Tensor *> operands);
/// `x` with its dims of size 1 (or, of rank 0, its element) repeated to
/// `shape`.
Tensor expanded(const Tensor &x, ArrayRef<int64_t> shape);

/// Both of one dtype, which is the result's; memory of an operand that nothing
/// else shares is reused.
Tensor binary(BinaryOp op, Tensor lhs, Tensor rhs);
/// bool. Keys are compared word by word, by Eq and Ne.
Tensor compare(CompareOp op, const Tensor &lhs, const Tensor &rhs);
/// base^exponent for an integer array of exponents: repeated products.
Tensor powInteger(const Tensor &base, const Tensor &exponent);
/// `which` is bool or int32, an array or rank 0; integers are clamped to the
/// cases.
Tensor selectN(const Tensor &which, ArrayRef<const Tensor *> cases);
/// min(max(x, low), high); low and high are arrays or of rank 0.
Tensor clamp(const Tensor &low, Tensor x, const Tensor &high);
/// coefficients[0] + x * (coefficients[1] + ...), by Horner's rule.
Tensor polynomial(const Tensor &x, ArrayRef<const Tensor *> coefficients,
                  ArrayRef<int64_t> shape);
/// I_x(a, b).
Tensor incompleteBeta(const Tensor &a, const Tensor &b, const Tensor &x);

} // namespace shardtype::kernels

#endif
