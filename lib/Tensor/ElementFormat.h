// ElementFormat.h - the words of an array's elements, all of one width.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TENSOR_ELEMENTFORMAT_H
#define SHARDTYPE_LIB_TENSOR_ELEMENTFORMAT_H

#include "FloatText.h"
#include "shardtype/Tensor/Tensor.h"

namespace shardtype {

/// How the floats of one array, or one part of complex numbers, are written:
/// with or without exponents, and how wide.
class FloatColumn {
public:
  FloatColumn() = default;
  /// `values` are those that will show. `plus`: positive ones have a sign too.
  FloatColumn(ArrayRef<double> values, FloatWidth width, int precision,
              bool plus);
  std::string word(double value) const;

private:
  void sizeExponents(ArrayRef<double> finite);
  void sizePlain(ArrayRef<double> finite);
  std::string withSign(double value, std::string text) const;

  FloatWidth width_ = FloatWidth::Double;
  bool plus_ = false, exponents_ = false;
  int precision_ = 8, exponentSize_ = 0;
  int padLeft_ = 0, padRight_ = 0;
};

/// Made from the elements that will show (row-major positions; the words of
/// keys one by one).
class ElementFormat {
public:
  ElementFormat(const Tensor &tensor, ArrayRef<int64_t> shown, int precision,
                bool isScalar);
  std::string word(int64_t position) const;
  /// The element by itself, as Python prints a scalar.
  static std::string scalar(const Tensor &tensor, int64_t position);

private:
  const Tensor &tensor_;
  bool isScalar_;
  size_t integerWidth_ = 0;
  FloatColumn real_, imaginary_;
};

} // namespace shardtype

#endif
