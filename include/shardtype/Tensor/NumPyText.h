// NumPyText.h - arrays as NumPy prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TENSOR_NUMPYTEXT_H
#define SHARDTYPE_TENSOR_NUMPYTEXT_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype {

struct NumPyOptions {
  int precision = 8;        // Digits behind the point of a float, at most.
  int64_t threshold = 1000; // Above so many elements only the corners show.
  int64_t edgeItems = 3;    // So many at both ends of each dim.
  int64_t lineWidth = 75;
};

/// `[[1. 2.]\n [3. 4.]]`, what NumPy 2.5's `str` gives; a scalar without
/// brackets. Keys show their words as a last dim.
std::string numPyStr(const Tensor &tensor, const NumPyOptions &options = {});
/// `array([1., 2.], dtype=float32)`, likewise `repr`.
std::string numPyRepr(const Tensor &tensor, const NumPyOptions &options = {});
/// One element (row-major position) by itself, as Python prints a scalar.
std::string elementText(const Tensor &tensor, int64_t position);

} // namespace shardtype

#endif
