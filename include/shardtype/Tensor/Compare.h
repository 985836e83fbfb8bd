// Compare.h - how far two arrays are apart, and where most.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TENSOR_COMPARE_H
#define SHARDTYPE_TENSOR_COMPARE_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype {

/// When two elements agree. Equal values always do, and any NaN agrees with any
/// NaN; all else has to be close by one of the measures that are given.
struct Tolerance {
  /// |actual - expected| <= absolute + relative * |expected|; of complex
  /// numbers the modulus.
  double relative = 0, absolute = 0;
  /// At most so many steps of the expected value's spacing.
  double ulps = 0;
  /// `relative` is of the largest finite element of the expected array.
  bool ofLargest = false;
  /// Zeros differ by their sign, and integers have no tolerance anyway.
  bool exactZeros = false;
  /// Differences below the smallest normal number always pass.
  bool ignoreTiny = false;

  /// What suits results of a program, by dtype, relative to the largest
  /// element: none for integers and bools.
  static Tolerance forDType(DType dtype);
};

struct Comparison {
  /// Of different dtypes or shapes: nothing else is known.
  bool sameType = true;
  int64_t bad = 0;               // Elements that do not agree.
  int64_t worst = -1;            // Row-major position of the worst of them.
  SmallVector<int64_t, 6> index; // The same as indices.
  double difference = 0;         // There; infinite where only one is finite.
  double ulps = 0;               // There; 0 for what has no spacing.

  bool agrees() const { return sameType && bad == 0; }
};

/// Bounds of `compare`'s work are linear in the arrays' sizes.
Comparison compare(const Tensor &actual, const Tensor &expected,
                   const Tolerance &tolerance);
/// Of floats and complex numbers |a - b| in spacings of `expected` (of the
/// modulus); 0 if equal, infinite if only one is a number.
double ulpDistance(const Tensor &actual, const Tensor &expected,
                   int64_t position);
/// The bits of an element, `0x3f800000`; of a complex one both parts'.
std::string bitText(const Tensor &tensor, int64_t position);
/// One line: where they differ most, both values, their bits, how far; or what
/// keeps them from being compared. Empty if they agree.
std::string describe(const Comparison &result, const Tensor &actual,
                     const Tensor &expected);

} // namespace shardtype

#endif
