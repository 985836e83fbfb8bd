// FloatText.cpp - floats in decimal, as NumPy writes them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FloatText.h"
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace shardtype;

namespace {
/// `d.ddd * 10^exponent`, without trailing zeros.
struct Decimal {
  std::string digits;
  int exponent = 0;
};
} // namespace

static Decimal parse(StringRef text) { // "d.ddde+xx"
  auto [mantissa, exponent] = text.split('e');
  Decimal result;
  for (char c : mantissa)
    if (c >= '0' && c <= '9')
      result.digits += c;
  result.exponent = std::atoi(exponent.str().c_str());
  while (result.digits.size() > 1 && result.digits.back() == '0')
    result.digits.pop_back();
  return result;
}

template <typename T> static Decimal shortestOf(T value) {
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                           std::chars_format::scientific);
  return parse(StringRef(buffer, end.ptr - buffer));
}

static std::string printed(const char *format, int precision, double value) {
  char buffer[400]; // The largest double has 309 digits before the point.
  int size = std::snprintf(buffer, sizeof(buffer), format, precision, value);
  return std::string(buffer, std::min<size_t>(size, sizeof(buffer) - 1));
}

/// Whether a half's neighbours are further from `text` than it is.
static bool readsBackAsHalf(double text, double value) {
  int exponent = std::max(std::ilogb(value), -14);
  double above = std::ldexp(1.0, exponent - 11); // Half the gap.
  bool isPower = value == std::ldexp(1.0, exponent) && exponent > -14;
  double below = isPower ? above / 2 : above;
  bool even = std::fmod(std::ldexp(value, 10 - exponent), 2) == 0;
  double gap = text >= value ? above : below;
  double distance = std::fabs(text - value);
  return even ? distance <= gap : distance < gap;
}

static Decimal shortestHalf(double value) {
  for (int digits = 0; digits < 6; ++digits) {
    std::string text = printed("%.*e", digits, value);
    if (readsBackAsHalf(std::strtod(text.c_str(), nullptr), value))
      return parse(text);
    // Below a power of two the nearest text may not read back, but one above.
    Decimal next = parse(text);
    double step = std::pow(10.0, next.exponent - digits);
    std::string up =
        printed("%.*e", digits, std::strtod(text.c_str(), nullptr) + step);
    if (readsBackAsHalf(std::strtod(up.c_str(), nullptr), value))
      return parse(up);
  }
  return shortestOf(value);
}

/// Of |value|.
static Decimal shortest(double value, FloatWidth width) {
  value = std::fabs(value);
  if (value == 0)
    return {"0", 0};
  switch (width) {
  case FloatWidth::Half:
    return shortestHalf(value);
  case FloatWidth::Single:
    return shortestOf(static_cast<float>(value));
  case FloatWidth::Double:
    break;
  }
  return shortestOf(value);
}

static std::string withoutZeros(std::string text) {
  while (text.back() == '0')
    text.pop_back();
  return text;
}

std::string shardtype::positionalText(double value, FloatWidth width,
                                      int precision) {
  std::string sign = std::signbit(value) ? "-" : "";
  Decimal d = shortest(value, width);
  int behind = static_cast<int>(d.digits.size()) - 1 - d.exponent;
  if (precision >= 0 && behind > precision) {
    std::string text = printed("%.*f", precision, std::fabs(value));
    return sign + (precision ? withoutZeros(text) : text + ".");
  }
  if (d.exponent < 0)
    return sign + "0." + std::string(-d.exponent - 1, '0') + d.digits;
  size_t before = d.exponent + 1;
  if (d.digits.size() < before)
    d.digits.append(before - d.digits.size(), '0');
  std::string text =
      sign + d.digits.substr(0, before) + "." + d.digits.substr(before);
  return value == 0 ? sign + "0." : text;
}

std::string shardtype::scientificText(double value, FloatWidth width,
                                      int precision, int least) {
  std::string sign = std::signbit(value) ? "-" : "";
  Decimal d = shortest(value, width);
  int behind = static_cast<int>(d.digits.size()) - 1;
  if (precision >= 0 && behind > precision)
    d = parse(printed("%.*e", precision, std::fabs(value)));
  else if (behind < least)
    d = parse(printed("%.*e", least, std::fabs(value)));
  if (int missing = least + 1 - static_cast<int>(d.digits.size()); missing > 0)
    d.digits.append(missing, '0');
  std::string exponent = std::to_string(std::abs(d.exponent));
  if (exponent.size() < 2)
    exponent.insert(0, "0");
  return sign + d.digits.substr(0, 1) + "." + d.digits.substr(1) +
         (d.exponent < 0 ? "e-" : "e+") + exponent;
}

std::string shardtype::scalarText(double value, FloatWidth width, bool bare) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  // Types of fewer digits turn to exponents earlier.
  double large = width == FloatWidth::Half     ? 1e3
                 : width == FloatWidth::Single ? 1e6
                                               : 1e16;
  double size = std::fabs(value);
  if (size == 0 || (size >= 1e-4 && size < large)) {
    std::string text = positionalText(value, width, -1);
    if (text.back() == '.')
      text = bare ? text.substr(0, text.size() - 1) : text + "0";
    return text;
  }
  std::string text = scientificText(value, width, -1);
  size_t point = text.find(".e");
  return point == std::string::npos ? text : text.erase(point, 1);
}

std::string shardtype::streamText(double value) {
  if (std::isnan(value))
    return "nan";
  return printed("%.*g", 6, value);
}
