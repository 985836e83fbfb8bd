// Exponents.cpp - floats taken apart, and scaled by powers of two.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Unary.h"
#include "shardtype/Tensor/Element.h"
#include <cmath>

using namespace shardtype;

namespace {
/// Bounds of a float's exponent, as `frexp` counts it: normal numbers are
/// between 2^(lowest-1) and 2^highest.
struct Exponents {
  int lowest, highest;
  explicit Exponents(DType dtype)
      : lowest(3 - (1 << (info(dtype).exponent - 1))),
        highest(1 << (info(dtype).exponent - 1)) {}
};
} // namespace

/// Every supported dtype's numbers are doubles. Those below the normal ones
/// are zero.
static double split(double value, const Exponents &bounds, int &exponent) {
  exponent = 0;
  if (value == 0 || !std::isfinite(value))
    return value;
  double fraction = std::frexp(value, &exponent);
  if (exponent >= bounds.lowest)
    return fraction;
  exponent = 0;
  return std::copysign(0.0, value);
}

void kernels::frexp(const Tensor &x, Tensor &fraction, Tensor &exponent) {
  const Exponents bounds(x.dtype());
  MutableArrayRef<int32_t> powers = exponent.fill<int32_t>();
  dispatchCommonFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (auto [from, to, power] :
         llvm::zip_equal(x.as<T>(), fraction.fill<T>(), powers)) {
      int e = 0;
      to = T(static_cast<ComputeType<T>>(split(
          static_cast<double>(static_cast<ComputeType<T>>(from)), bounds, e)));
      power = e;
    }
  });
}

static double scaled(double value, int64_t power, const Exponents &bounds) {
  int exponent = 0;
  double fraction = split(value, bounds, exponent);
  if (fraction == 0 || !std::isfinite(fraction))
    return fraction;
  // No exponent is beyond 2000.
  const int64_t sum = exponent + std::clamp<int64_t>(power, -5000, 5000);
  if (sum < bounds.lowest)
    return std::copysign(0.0, value);
  if (sum > bounds.highest)
    return std::copysign(HUGE_VAL, value);
  return std::ldexp(fraction, static_cast<int>(sum));
}

void kernels::ldexp(const Tensor &x, const Tensor &power, Tensor &result) {
  const Exponents bounds(x.dtype());
  dispatchCommonFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    dispatchInt(power.dtype(), [&](auto powerTag) {
      using P = typename decltype(powerTag)::type;
      for (auto [from, by, to] :
           llvm::zip_equal(x.as<T>(), power.as<P>(), result.fill<T>())) {
        auto count = static_cast<ComputeType<P>>(by);
        int64_t bounded = std::in_range<int64_t>(count)
                              ? static_cast<int64_t>(count)
                              : std::numeric_limits<int64_t>::max();
        to = T(static_cast<ComputeType<T>>(
            scaled(static_cast<double>(static_cast<ComputeType<T>>(from)),
                   bounded, bounds)));
      }
    });
  });
}
