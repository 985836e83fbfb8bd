// Compare.cpp - how far two arrays are apart, and where most.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Compare.h"
#include "shardtype/Tensor/Element.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace shardtype;

static constexpr double Infinity = std::numeric_limits<double>::infinity();

Tolerance Tolerance::forDType(DType dtype) {
  Tolerance result;
  if (!isFloat(dtype) && !isComplex(dtype))
    return result;
  // Rounding is that of the largest numbers in a sum or product, and what
  // cancels keeps it.
  result.ofLargest = true;
  switch (info(dtype).mantissa) {
  case 52:
    result.relative = 1e-12;
    break;
  case 23:
    result.relative = 1e-5;
    break;
  default: // A few steps: a chain of operations rounds after each.
    result.relative = 8 * std::ldexp(1.0, -int(info(dtype).mantissa) - 1);
  }
  result.absolute = result.relative / 10;
  return result;
}

//===--- Elements ---------------------------------------------------------===//

/// The distance of `size` and the next larger number of its format.
static double spacing(double size, DType dtype) {
  const DTypeInfo &known = info(dtype);
  // Formats without infinities reach a step further down at most.
  int least = 2 - (1 << (known.exponent - 1));
  int exponent = size == 0 ? least : std::max(std::ilogb(size), least);
  return std::ldexp(1.0, exponent - static_cast<int>(known.mantissa));
}

static double smallestNormal(DType dtype) {
  return std::ldexp(1.0, 2 - (1 << (info(dtype).exponent - 1)));
}

namespace {
/// One pair of elements: how far apart, and the size of the expected one.
struct Gap {
  double difference = 0; // Infinite: not to be told.
  double size = 0;
};
} // namespace

static Gap gapOf(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected)))
    return {0, std::fabs(expected)};
  if (!std::isfinite(actual) || !std::isfinite(expected))
    return {Infinity, std::fabs(expected)};
  return {std::fabs(actual - expected), std::fabs(expected)};
}

/// Complex numbers with a part that is not finite are compared by their parts.
static Gap gapOf(std::complex<double> actual, std::complex<double> expected) {
  Gap real = gapOf(actual.real(), expected.real());
  Gap imaginary = gapOf(actual.imag(), expected.imag());
  auto hypot = [](double a, double b) {
    return std::isfinite(a) && std::isfinite(b) ? std::hypot(a, b)
           : std::isfinite(a)                   ? b
                                                : a;
  };
  // A NaN part leaves the other one as the size.
  auto size = [](double s) { return std::isnan(s) ? 0 : s; };
  return {std::max(real.difference, imaginary.difference) == Infinity
              ? Infinity
              : std::hypot(real.difference, imaginary.difference),
          hypot(size(real.size), size(imaginary.size))};
}

template <typename T> static auto wide(T value) {
  if constexpr (isComplexElement<T>)
    return std::complex<double>(value);
  else
    return static_cast<double>(static_cast<ComputeType<T>>(value));
}

template <typename T> static bool zeroSignsDiffer(T actual, T expected) {
  if constexpr (isComplexElement<T>)
    return zeroSignsDiffer(actual.real(), expected.real()) ||
           zeroSignsDiffer(actual.imag(), expected.imag());
  else
    return wide(actual) == 0 && wide(expected) == 0 &&
           std::signbit(wide(actual)) != std::signbit(wide(expected));
}

//===--- Arrays -----------------------------------------------------------===//

static SmallVector<int64_t, 6> indexOf(ArrayRef<int64_t> shape,
                                       int64_t position) {
  SmallVector<int64_t, 6> index(shape.size());
  for (unsigned d = shape.size(); d-- > 0; position /= shape[d])
    index[d] = position % shape[d];
  return index;
}

namespace {
/// What `compare` has found so far.
class Search {
public:
  Search(const Tolerance &tolerance, DType dtype, double largest)
      : tolerance_(tolerance), dtype_(dtype), largest_(largest) {}

  bool agrees(Gap gap) const {
    if (gap.difference == 0)
      return true;
    if (!std::isfinite(gap.difference))
      return false;
    double scale = tolerance_.ofLargest ? largest_ : gap.size;
    return gap.difference <=
               tolerance_.absolute + tolerance_.relative * scale ||
           gap.difference <= tolerance_.ulps * spacing(gap.size, dtype_) ||
           (tolerance_.ignoreTiny && gap.difference < smallestNormal(dtype_));
  }
  /// `excess` orders what does not agree.
  void add(int64_t position, double difference, double excess) {
    ++result.bad;
    if (result.worst >= 0 && excess <= worst_)
      return;
    worst_ = excess;
    result.worst = position;
    result.difference = difference;
  }
  Comparison result;

private:
  const Tolerance &tolerance_;
  DType dtype_;
  double largest_, worst_ = 0;
};
} // namespace

/// Of finite elements.
template <typename T> static double largestOf(const Tensor &tensor) {
  double largest = 0;
  for (T element : tensor.as<T>())
    if (double size = std::abs(wide(element)); std::isfinite(size))
      largest = std::max(largest, size);
  return largest;
}

template <typename T>
static Comparison compareFloats(const Tensor &actual, const Tensor &expected,
                                const Tolerance &tolerance) {
  DType dtype = expected.dtype();
  Search search(tolerance, dtype,
                tolerance.ofLargest ? largestOf<T>(expected) : 0);
  ArrayRef<T> a = actual.as<T>(), e = expected.as<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    Gap gap = gapOf(wide(a[i]), wide(e[i]));
    bool signs = tolerance.exactZeros && gap.difference == 0 &&
                 zeroSignsDiffer(a[i], e[i]);
    if (signs)
      search.add(i, 0, 0);
    else if (!search.agrees(gap))
      search.add(i, gap.difference, gap.difference / spacing(gap.size, dtype));
  }
  if (search.result.worst >= 0)
    search.result.ulps = ulpDistance(actual, expected, search.result.worst);
  return search.result;
}

template <typename T>
static Comparison compareIntegers(const Tensor &actual,
                                  const Tensor &expected) {
  Search search({}, expected.dtype(), 0);
  ArrayRef<T> a = actual.as<T>(), e = expected.as<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    auto left = static_cast<ComputeType<T>>(a[i]);
    auto right = static_cast<ComputeType<T>>(e[i]);
    if (left == right)
      continue;
    double gap =
        std::fabs(static_cast<double>(left) - static_cast<double>(right));
    search.add(i, gap, gap);
  }
  return search.result;
}

/// Keys: their words; float0: nothing.
static Comparison compareBytes(const Tensor &actual, const Tensor &expected) {
  Search search({}, expected.dtype(), 0);
  if (expected.dtype() == DType::Float0)
    return search.result;
  unsigned bytes = itemSize(expected.dtype());
  for (int64_t i = 0; i < expected.size(); ++i)
    if (std::memcmp(actual.data() + i * bytes, expected.data() + i * bytes,
                    bytes) != 0)
      search.add(i, Infinity, 0);
  return search.result;
}

Comparison shardtype::compare(const Tensor &actual, const Tensor &expected,
                              const Tolerance &tolerance) {
  DType dtype = expected.dtype();
  Comparison result;
  if (actual.dtype() != dtype || actual.shape() != expected.shape()) {
    result.sameType = false;
    return result;
  }
  if (isKey(dtype) || dtype == DType::Float0)
    result = compareBytes(actual, expected);
  else
    result = dispatch(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (isFloatElement<T> || isComplexElement<T>)
        return compareFloats<T>(actual, expected, tolerance);
      else
        return compareIntegers<T>(actual, expected);
    });
  if (result.worst >= 0)
    result.index = indexOf(expected.shape(), result.worst);
  return result;
}

double shardtype::ulpDistance(const Tensor &actual, const Tensor &expected,
                              int64_t position) {
  DType dtype = expected.dtype();
  if (!isFloat(dtype) && !isComplex(dtype))
    return 0;
  return dispatch(dtype, [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    if constexpr (isFloatElement<T> || isComplexElement<T>) {
      Gap gap = gapOf(wide(actual.as<T>()[position]),
                      wide(expected.as<T>()[position]));
      return std::isfinite(gap.difference)
                 ? gap.difference / spacing(gap.size, dtype)
                 : Infinity;
    }
    return 0;
  });
}

//===--- Words ------------------------------------------------------------===//

std::string shardtype::bitText(const Tensor &tensor, int64_t position) {
  unsigned bytes = itemSize(tensor.dtype());
  unsigned part = isComplex(tensor.dtype()) ? bytes / 2
                  : isKey(tensor.dtype())   ? 4
                                            : bytes;
  std::string text;
  for (unsigned at = 0; at < bytes; at += part) {
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data() + position * bytes + at, part);
    std::string digits = llvm::utohexstr(bits, /*LowerCase=*/true);
    digits.insert(0, 2 * part - digits.size(), '0');
    text += (at ? " 0x" : "0x") + digits;
  }
  return text;
}

static std::string typeText(const Tensor &tensor) {
  std::string text = info(tensor.dtype()).shortName.str() + "[";
  for (auto [i, size] : llvm::enumerate(tensor.shape()))
    text += (i ? "," : "") + std::to_string(size);
  return text + "]";
}

static std::string shortText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g", value);
  return text;
}

static std::string differenceText(const Comparison &result, DType dtype) {
  if (!std::isfinite(result.difference) || isKey(dtype))
    return "";
  if (result.difference == 0)
    return ", zeros of different signs";
  std::string text = ", off by " + shortText(result.difference);
  if (result.ulps != 0)
    text += " (" + shortText(result.ulps) + " ulp)";
  return text;
}

std::string shardtype::describe(const Comparison &result, const Tensor &actual,
                                const Tensor &expected) {
  if (result.agrees())
    return "";
  if (!result.sameType)
    return "is " + typeText(actual) + ", expected " + typeText(expected);
  std::string index;
  for (auto [i, at] : llvm::enumerate(result.index))
    index += (i ? ", " : "") + std::to_string(at);
  int64_t at = result.worst;
  return std::to_string(result.bad) + " of " + std::to_string(expected.size()) +
         " elements differ, most at [" + index +
         "]: " + elementText(actual, at) + " (" + bitText(actual, at) +
         "), expected " + elementText(expected, at) + " (" +
         bitText(expected, at) + ")" + differenceText(result, expected.dtype());
}
