// Element.cpp - small floats to and from double, rounding once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Element.h"
#include <cmath>

using namespace shardtype;

/// What a value that overflows, or NaN, becomes.
static uint32_t special(bool isNaN, bool negative, unsigned exponent,
                        unsigned mantissa, Beyond beyond) {
  uint32_t sign = negative ? 1u << (exponent + mantissa) : 0;
  uint32_t ones = (1u << (exponent + mantissa)) - 1;
  uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  switch (beyond) {
  case Beyond::Ieee:
    return sign | infinity | (isNaN ? 1u << (mantissa - 1) : 0);
  case Beyond::Fn:
    return sign | ones;
  case Beyond::Fnuz:
    return 1u << (exponent + mantissa);
  case Beyond::Clamp:
    return isNaN ? 1u << (exponent + mantissa) : sign | ones;
  }
  llvm_unreachable("all kinds are listed");
}

/// The largest pattern without a sign that is a finite value.
static uint32_t largest(unsigned exponent, unsigned mantissa, Beyond beyond) {
  uint32_t ones = (1u << (exponent + mantissa)) - 1;
  if (beyond == Beyond::Ieee)
    return (((1u << exponent) - 1) << mantissa) - 1;
  return beyond == Beyond::Fn ? ones - 1 : ones;
}

uint32_t detail::encodeFloat(double value, unsigned exponent, unsigned mantissa,
                             int bias, Beyond beyond) {
  bool negative = std::signbit(value);
  uint32_t sign = negative ? 1u << (exponent + mantissa) : 0;
  if (std::isnan(value))
    return special(true, negative, exponent, mantissa, beyond);
  double magnitude = std::fabs(value);
  if (magnitude == 0)
    return beyond == Beyond::Fnuz ? 0 : sign;
  if (std::isinf(magnitude))
    return special(false, negative, exponent, mantissa, beyond);
  // As a multiple of the spacing at this value: below the smallest normal
  // that of the smallest normal. The product is exact, rint rounds once.
  int power = std::max(std::ilogb(magnitude), 1 - bias);
  double steps =
      std::rint(std::ldexp(magnitude, static_cast<int>(mantissa) - power));
  // A carry out of the mantissa moves into the exponent by itself.
  double pattern =
      steps + std::ldexp(power + bias - 1, static_cast<int>(mantissa));
  if (pattern > largest(exponent, mantissa, beyond))
    return special(false, negative, exponent, mantissa, beyond);
  if (pattern == 0 && beyond == Beyond::Fnuz)
    return 0;
  return sign | static_cast<uint32_t>(pattern);
}

double detail::decodeFloat(uint32_t bits, unsigned exponent, unsigned mantissa,
                           int bias, Beyond beyond) {
  uint32_t sign = 1u << (exponent + mantissa), magnitude = bits & (sign - 1);
  bool negative = bits & sign;
  double nan = std::copysign(std::numeric_limits<double>::quiet_NaN(),
                             negative ? -1.0 : 1.0);
  if (beyond == Beyond::Fnuz && bits == sign)
    return nan;
  if (magnitude > largest(exponent, mantissa, beyond)) {
    bool isInfinity = beyond == Beyond::Ieee &&
                      magnitude == ((1u << exponent) - 1) << mantissa;
    if (!isInfinity)
      return nan;
    double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  uint32_t field = magnitude >> mantissa,
           fraction = magnitude & ((1u << mantissa) - 1);
  int m = static_cast<int>(mantissa);
  double value = field == 0 ? std::ldexp(fraction, 1 - bias - m)
                            : std::ldexp(fraction + std::ldexp(1.0, m),
                                         static_cast<int>(field) - bias - m);
  return negative ? -value : value;
}

F8E8M0FNU::F8E8M0FNU(double value) {
  if (!(value > 0) || std::isinf(value)) {
    bits = 255;
    return;
  }
  int power;
  double fraction = std::frexp(value, &power); // In [0.5, 1).
  // Halfway between two powers: the larger.
  int pattern = power - 1 + 127 + (fraction >= .75);
  bits = static_cast<uint8_t>(pattern < 0 ? 0 : std::min(pattern, 255));
}

F16::F16(float value) {
  uint32_t wide = std::bit_cast<uint32_t>(value);
  uint32_t sign = wide >> 16 & 0x8000u, magnitude = wide & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    bits = static_cast<uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x477ff000u) { // Rounds to 2^16 or more.
    bits = static_cast<uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {
    // Adding a half puts the spacing of f16's denormals at f32's last bit.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<uint16_t>(
        sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  } else {
    uint32_t odd = magnitude >> 13 & 1;
    bits = static_cast<uint16_t>(
        sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
  }
}

F16::operator float() const {
  uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u |
                                (magnitude & 0x3ffu) << 13);
  if (magnitude >= 0x400u)
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign ? -value : value;
}
