// PlainFixture.h - one program on both evaluators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_PLAINFIXTURE_H
#define SHARDTYPE_TEST_UNIT_PLAINFIXTURE_H

#include "Plain.h"
#include "shardtype/Check/Check.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Tensor/Compare.h"
#include <catch2/catch.hpp>

namespace shardtype {

/// Makes an argument, by its number.
using Filler = std::function<Tensor(DType, ArrayRef<int64_t>, unsigned)>;

/// Values that go wrong: zeros of both signs, limits, NaN, infinities.
std::vector<plain::Number> edgesOf(DType dtype, bool finite = false);
/// Edge values in another order for each argument.
Tensor edges(DType dtype, ArrayRef<int64_t> shape, unsigned argument);
/// Small whole numbers, whose sums and products are exact in every order.
Tensor small(DType dtype, ArrayRef<int64_t> shape, unsigned argument);
/// Distinct elements, as far as a dtype has them.
Tensor distinct(DType dtype, ArrayRef<int64_t> shape, unsigned argument);

/// Bit for bit, but that any NaN is as good as another.
inline constexpr Tolerance Exactly = {.exactZeros = true};

/// Functions of one float that are not exact.
inline constexpr const char *FloatFunctions[] = {
    "exp",   "exp2",  "expm1",    "log",  "log1p", "log2",  "sin",  "cos",
    "tan",   "sinh",  "cosh",     "tanh", "asin",  "acos",  "atan", "asinh",
    "acosh", "atanh", "logistic", "erf",  "erfc",  "lgamma"};

/// Runs programs on both and counts. A program that the checker refuses is
/// counted, so that a test can say how many must not be.
class Both {
public:
  unsigned compared = 0, refused = 0;
  /// Of the results, and how many of the floats among them say little.
  int64_t elements = 0, notFinite = 0;
  std::vector<unsigned> workers = {1};
  /// Checks that both give the same results, or both end in an error.
  void run(const std::string &text, const Filler &fill = edges,
           const Tolerance &tolerance = Exactly);
  /// Only that it ends, with results or with words.
  void survives(const std::string &text, const Filler &fill = edges);
  unsigned survived = 0;

private:
  PrimitiveSet primitives_ = allPrimitives();
};

std::string shapeText(DType dtype, ArrayRef<int64_t> shape); // "f32[2,3]"
std::string tupleText(ArrayRef<int64_t> list);               // "(2, 3)"
/// All shapes of a rank with dims from `least` to `most`.
std::vector<Shape> shapesOf(unsigned rank, int64_t least, int64_t most);
/// All orders of 0, ..., n - 1, all subsets of it (each ascending).
std::vector<SmallVector<int64_t, 4>> ordersOf(unsigned n);
std::vector<SmallVector<int64_t, 4>> subsetsOf(unsigned n);

} // namespace shardtype

#endif
