// ElementFormat.cpp - the words of an array's elements, all of one width.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ElementFormat.h"
#include "shardtype/Tensor/Element.h"
#include <cmath>

using namespace shardtype;

//===--- Columns of floats ------------------------------------------------===//

static std::string padded(int left, const std::string &text) {
  int room = left - static_cast<int>(text.size());
  return std::string(std::max(room, 0), ' ') + text;
}

std::string FloatColumn::withSign(double value, std::string text) const {
  return plus_ && !std::signbit(value) ? "+" + text : text;
}

void FloatColumn::sizeExponents(ArrayRef<double> finite) {
  int digits = 0;
  for (double value : finite) {
    std::string text =
        withSign(value, scientificText(value, width_, precision_));
    auto [mantissa, exponent] = StringRef(text).split('e');
    auto [whole, behind] = mantissa.split('.');
    padLeft_ = std::max<int>(padLeft_, whole.size());
    digits = std::max<int>(digits, behind.size());
    exponentSize_ = std::max<int>(exponentSize_, exponent.size() - 1);
  }
  precision_ = digits;
  padRight_ = exponentSize_ + 2 + digits;
}

void FloatColumn::sizePlain(ArrayRef<double> finite) {
  for (double value : finite) {
    std::string text =
        withSign(value, positionalText(value, width_, precision_));
    auto [whole, behind] = StringRef(text).split('.');
    padLeft_ = std::max<int>(padLeft_, whole.size());
    padRight_ = std::max<int>(padRight_, behind.size());
  }
}

/// The division that decides about exponents is made in the type.
static double quotient(double a, double b, FloatWidth width) {
  if (width == FloatWidth::Double)
    return a / b;
  float q = static_cast<float>(a) / static_cast<float>(b);
  return width == FloatWidth::Half ? static_cast<float>(F16(q)) : q;
}

static bool needsExponents(ArrayRef<double> finite, FloatWidth width) {
  double least = 0, most = 0;
  for (double value : finite) {
    double size = std::fabs(value);
    if (size == 0)
      continue;
    least = least == 0 ? size : std::min(least, size);
    most = std::max(most, size);
  }
  if (most == 0)
    return false;
  double large = width == FloatWidth::Half     ? 1e3
                 : width == FloatWidth::Single ? 1e6
                                               : 1e8;
  double small = width == FloatWidth::Half     ? static_cast<float>(F16(1e-4f))
                 : width == FloatWidth::Single ? static_cast<double>(1e-4f)
                                               : 1e-4;
  return most >= large || least < small || quotient(most, least, width) > 1000;
}

FloatColumn::FloatColumn(ArrayRef<double> values, FloatWidth width,
                         int precision, bool plus)
    : width_(width), plus_(plus), precision_(precision) {
  SmallVector<double, 0> finite;
  bool anyNegative = false; // Infinity.
  for (double value : values)
    if (std::isfinite(value))
      finite.push_back(value);
    else
      anyNegative |= std::isinf(value) && value < 0;
  exponents_ = needsExponents(finite, width);
  if (exponents_)
    sizeExponents(finite);
  else
    sizePlain(finite);
  if (finite.size() == values.size())
    return;
  int behind = padRight_ + 1; // The point.
  padLeft_ =
      std::max({padLeft_, 3 - behind, 3 + (plus_ || anyNegative) - behind});
}

std::string FloatColumn::word(double value) const {
  if (!std::isfinite(value)) {
    std::string text = std::isnan(value) ? "nan" : "inf";
    if (std::isinf(value) && value < 0)
      text = "-" + text;
    else if (plus_)
      text = "+" + text;
    return padded(padLeft_ + padRight_ + 1, text);
  }
  if (exponents_) {
    std::string text =
        withSign(value, scientificText(value, width_, precision_, precision_));
    auto [mantissa, exponent] = StringRef(text).split('e');
    auto [whole, behind] = mantissa.split('.');
    std::string digits = exponent.drop_front().str();
    digits.insert(0, exponentSize_ - digits.size(), '0');
    return padded(padLeft_, whole.str()) + "." + behind.str() + "e" +
           exponent.take_front().str() + digits;
  }
  std::string text = withSign(value, positionalText(value, width_, precision_));
  auto [whole, behind] = StringRef(text).split('.');
  return padded(padLeft_, whole.str()) + "." + behind.str() +
         std::string(padRight_ - behind.size(), ' ');
}

//===--- Elements ---------------------------------------------------------===//

namespace {
/// How the elements of a dtype are written.
enum class Style : uint8_t { Bool, Integer, Float, Complex, Stream, Void };
} // namespace

static bool isNumPyInteger(DType dtype) {
  return isInteger(dtype) && info(dtype).bits >= 8;
}

static Style styleOf(DType dtype) {
  if (dtype == DType::Bool)
    return Style::Bool;
  if (dtype == DType::Float0)
    return Style::Void;
  if (isKey(dtype) || isNumPyInteger(dtype))
    return Style::Integer;
  if (isComplex(dtype))
    return Style::Complex;
  bool numPy =
      dtype == DType::F16 || dtype == DType::F32 || dtype == DType::F64;
  return numPy ? Style::Float : Style::Stream;
}

static FloatWidth widthOf(DType dtype) {
  if (dtype == DType::F16)
    return FloatWidth::Half;
  return dtype == DType::F64 || dtype == DType::C128 ? FloatWidth::Double
                                                     : FloatWidth::Single;
}

/// A word of a key, or an integer that NumPy itself has.
static std::string integerText(const Tensor &tensor, int64_t at) {
  if (isKey(tensor.dtype()))
    return std::to_string(tensor.as<uint32_t>()[at]);
  return dispatchInt(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ComputeType<T> value = tensor.as<T>()[at];
    return std::to_string(value);
  });
}

static double floatAt(const Tensor &tensor, int64_t at) {
  return dispatchFloat(tensor.dtype(), [&](auto tag) -> double {
    using T = typename decltype(tag)::type;
    return static_cast<ComputeType<T>>(tensor.as<T>()[at]);
  });
}

static std::complex<double> complexAt(const Tensor &tensor, int64_t at) {
  return dispatchComplex(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return std::complex<double>(tensor.as<T>()[at]);
  });
}

/// Of dtypes that NumPy knows by name only.
static std::string otherText(const Tensor &tensor, int64_t at) {
  if (isInteger(tensor.dtype()))
    return integerText(tensor, at);
  return streamText(floatAt(tensor, at));
}

ElementFormat::ElementFormat(const Tensor &tensor, ArrayRef<int64_t> shown,
                             int precision, bool isScalar)
    : tensor_(tensor), isScalar_(isScalar) {
  SmallVector<double, 0> real, imaginary;
  FloatWidth width = widthOf(tensor.dtype());
  switch (styleOf(tensor.dtype())) {
  case Style::Integer:
    for (int64_t at : shown)
      integerWidth_ = std::max(integerWidth_, integerText(tensor, at).size());
    return;
  case Style::Float:
    for (int64_t at : shown)
      real.push_back(floatAt(tensor, at));
    real_ = FloatColumn(real, width, precision, /*plus=*/false);
    return;
  case Style::Complex:
    for (int64_t at : shown) {
      real.push_back(complexAt(tensor, at).real());
      imaginary.push_back(complexAt(tensor, at).imag());
    }
    real_ = FloatColumn(real, width, precision, /*plus=*/false);
    imaginary_ = FloatColumn(imaginary, width, precision, /*plus=*/true);
    return;
  case Style::Bool:
  case Style::Stream:
  case Style::Void:
    return; // Not aligned.
  }
}

std::string ElementFormat::word(int64_t position) const {
  switch (styleOf(tensor_.dtype())) {
  case Style::Bool:
    return !tensor_.as<bool>()[position] ? "False"
           : isScalar_                   ? "True"
                                         : " True";
  case Style::Integer:
    return padded(integerWidth_, integerText(tensor_, position));
  case Style::Float:
    return real_.word(floatAt(tensor_, position));
  case Style::Complex: {
    std::complex<double> value = complexAt(tensor_, position);
    std::string imaginary = imaginary_.word(value.imag());
    imaginary.insert(StringRef(imaginary).rtrim().size(), "j");
    return real_.word(value.real()) + imaginary;
  }
  case Style::Stream:
    return otherText(tensor_, position);
  case Style::Void:
    break;
  }
  return "(b'',)";
}

static std::string complexText(std::complex<double> value, FloatWidth width) {
  std::string imaginary = scalarText(value.imag(), width, /*bare=*/true) + "j";
  if (value.real() == 0 && !std::signbit(value.real()))
    return imaginary;
  bool signless = std::isnan(value.imag()) || !std::signbit(value.imag());
  return "(" + scalarText(value.real(), width, true) + (signless ? "+" : "") +
         imaginary + ")";
}

std::string ElementFormat::scalar(const Tensor &tensor, int64_t position) {
  FloatWidth width = widthOf(tensor.dtype());
  switch (styleOf(tensor.dtype())) {
  case Style::Bool:
    return tensor.as<bool>()[position] ? "True" : "False";
  case Style::Integer:
    return integerText(tensor, position);
  case Style::Float:
    return scalarText(floatAt(tensor, position), width, /*bare=*/false);
  case Style::Complex:
    return complexText(complexAt(tensor, position), width);
  case Style::Stream:
    return otherText(tensor, position);
  case Style::Void:
    break;
  }
  return "(b'',)";
}
