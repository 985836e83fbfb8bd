// Number.h - one element, boxed: what the plain evaluator computes with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_PLAIN_NUMBER_H
#define SHARDTYPE_TEST_PLAIN_NUMBER_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::plain {

__extension__ typedef __int128 Wide;

/// Integers and bools are in `i`, floats in `re`, complex numbers in both
/// parts. A double holds sums, products, quotients and roots of floats of up to
/// 24 bits well enough that rounding them again gives the nearest.
struct Number {
  double re = 0, im = 0;
  Wide i = 0;
};

Number load(const Tensor &from, int64_t at);
/// Rounds floats to nearest even, wraps integers.
void store(Tensor &to, int64_t at, const Number &x);
/// What is left of `x` as an element of this dtype.
Number rounded(DType dtype, const Number &x);
/// An element's bits, and the element of such bits.
uint64_t bitsOf(DType dtype, const Number &x);
Number fromBits(DType dtype, uint64_t bits);
Number converted(DType from, DType to, const Number &x);

bool isNaN(DType dtype, const Number &x);
/// Of numbers: a < b; of bools false < true; of complex numbers real parts
/// first. Never with NaN.
bool less(DType dtype, const Number &a, const Number &b);
bool equal(DType dtype, const Number &a, const Number &b);
/// The order of spec 09, 2.1: -NaN, -inf, ..., -0, 0, ..., inf, NaN.
int64_t totalKey(DType dtype, const Number &x);
/// As `max` and `min` are: NaN wins, 0 is above -0; of complex numbers the one
/// that is not before the other, NaN or not.
Number larger(DType dtype, const Number &a, const Number &b);
Number smaller(DType dtype, const Number &a, const Number &b);
Number lowest(DType dtype), highest(DType dtype);
Number one(DType dtype);
Number integer(int64_t value);

using Unary = Number (*)(DType, const Number &);
using Binary = Number (*)(DType, const Number &, const Number &);
/// By a primitive's name; null: there is none. Results are not rounded yet.
Unary unaryNamed(StringRef name);
Binary binaryNamed(StringRef name);

} // namespace shardtype::plain

#endif
