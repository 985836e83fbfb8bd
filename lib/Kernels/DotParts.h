// DotParts.h - the dtypes that products pass through.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_DOTPARTS_H
#define SHARDTYPE_LIB_KERNELS_DOTPARTS_H

#include "shardtype/Kernels/Dot.h"
#include "shardtype/Tensor/Element.h"

namespace shardtype::kernels {

/// In which dtype products are made and added (spec 09, 10).
DType dotComputedIn(DType lhs, DType rhs, DType result);
/// Converted to such a dtype; integers below 8 bits become int8.
Tensor dotWidened(const Tensor &x, DType dtype);
/// From what was computed to the dtype that is asked for.
Tensor dotRounded(const Tensor &x, DType dtype);

/// A copy whose dims stand in the order `dims`.
Tensor reordered(const Tensor &x, ArrayRef<int64_t> dims);

/// Modulo 2^bits: as unsigned numbers, row by row of the rhs.
template <typename T>
void multiplyIntegers(const MatrixRef<T> &a, const MatrixRef<T> &b, T *c) {
  std::fill_n(c, a.rows * b.columns, T(0));
  for (int64_t i = 0; i < a.rows; ++i, c += b.columns)
    for (int64_t k = 0; k < a.columns; ++k) {
      // 16-bit factors would be multiplied as int, which may overflow.
      using Wide = std::conditional_t<(sizeof(T) < 4), uint32_t, T>;
      Wide factor = a.data[i * a.rowStride + k * a.columnStride];
      const T *row = b.data + k * b.rowStride;
      if (b.columnStride == 1)
        for (int64_t j = 0; j < b.columns; ++j)
          c[j] = static_cast<T>(c[j] + factor * row[j]);
      else
        for (int64_t j = 0; j < b.columns; ++j)
          c[j] = static_cast<T>(c[j] + factor * row[j * b.columnStride]);
    }
}

/// Or of ands.
inline void multiplyBools(const MatrixRef<bool> &a, const MatrixRef<bool> &b,
                          bool *c) {
  std::fill_n(c, a.rows * b.columns, false);
  for (int64_t i = 0; i < a.rows; ++i, c += b.columns)
    for (int64_t k = 0; k < a.columns; ++k) {
      if (!a.data[i * a.rowStride + k * a.columnStride])
        continue;
      for (int64_t j = 0; j < b.columns; ++j)
        c[j] |= b.data[k * b.rowStride + j * b.columnStride];
    }
}

template <typename T>
void multiplyOne(const MatrixRef<T> &a, const MatrixRef<T> &b, T *c) {
  if constexpr (std::is_same_v<T, bool>)
    multiplyBools(a, b, c);
  else if constexpr (std::is_integral_v<T>)
    multiplyIntegers(a, b, c);
  else
    multiply(a, b, c);
}

/// Integers are multiplied as unsigned numbers of their width.
template <typename F> void dispatchComputed(DType dtype, F &&f) {
  switch (dtype) {
  case DType::F32:
    return f(ElementTag<float>());
  case DType::F64:
    return f(ElementTag<double>());
  case DType::C64:
    return f(ElementTag<C64>());
  case DType::C128:
    return f(ElementTag<C128>());
  case DType::Bool:
    return f(ElementTag<bool>());
  default:
    break;
  }
  switch (itemSize(dtype)) {
  case 1:
    return f(ElementTag<uint8_t>());
  case 2:
    return f(ElementTag<uint16_t>());
  case 4:
    return f(ElementTag<uint32_t>());
  default:
    return f(ElementTag<uint64_t>());
  }
}

} // namespace shardtype::kernels

#endif
