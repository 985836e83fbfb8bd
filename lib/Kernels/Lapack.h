// Lapack.h - matrices as LAPACK wants them, and its functions by element type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_LAPACK_H
#define SHARDTYPE_LIB_KERNELS_LAPACK_H

#include "Blas.h"
#include "shardtype/Tensor/Element.h"
#include "shardtype/Tensor/Tensor.h"
#include <cmath>
#include <vector>

#define LAPACK_COMPLEX_CUSTOM
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapack.h>

/// LAPACK's function for `T`: sgetrf_, dgetrf_, cgetrf_ or zgetrf_. `real` and
/// `complex` may have different names (orgqr and ungqr).
#define SHARDTYPE_LAPACK2(T, real, complex)                                    \
  ([] {                                                                        \
    if constexpr (std::is_same_v<T, float>)                                    \
      return SHARDTYPE_BLAS(s##real##_);                                       \
    else if constexpr (std::is_same_v<T, double>)                              \
      return SHARDTYPE_BLAS(d##real##_);                                       \
    else if constexpr (std::is_same_v<T, ::shardtype::C64>)                    \
      return SHARDTYPE_BLAS(c##complex##_);                                    \
    else                                                                       \
      return SHARDTYPE_BLAS(z##complex##_);                                    \
  }())
#define SHARDTYPE_LAPACK(T, name) SHARDTYPE_LAPACK2(T, name, name)

namespace shardtype::kernels {

template <typename T> struct RealPartOf {
  using type = T;
};
template <typename T> struct RealPartOf<std::complex<T>> {
  using type = T;
};
/// Of a complex type that of its parts, else the type itself.
template <typename T> using RealPart = typename RealPartOf<T>::type;
template <typename T>
inline constexpr bool isComplexScalar = !std::is_same_v<T, RealPart<T>>;

inline DType realPartOf(DType dtype) {
  return dtype == DType::C64    ? DType::F32
         : dtype == DType::C128 ? DType::F64
                                : dtype;
}
inline DType complexFor(DType dtype) {
  return dtype == DType::F32   ? DType::C64
         : dtype == DType::F64 ? DType::C128
                               : dtype;
}

/// Of f32, f64, c64 and c128.
template <typename F> decltype(auto) dispatchLapack(DType dtype, F &&f) {
  switch (dtype) {
  case DType::F32:
    return f(ElementTag<float>());
  case DType::F64:
    return f(ElementTag<double>());
  case DType::C64:
    return f(ElementTag<C64>());
  default:
    return f(ElementTag<C128>());
  }
}

/// A column-major matrix.
template <typename T> struct Columns {
  int rows, columns;
  std::vector<T> data;
  Columns(int m, int n)
      : rows(m), columns(n), data(static_cast<size_t>(m) * n) {}
  /// From a row-major one.
  Columns(int m, int n, const T *from) : Columns(m, n) { load(from); }
  void load(const T *from) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        (*this)(i, j) = *from++;
  }
  /// The first `m` rows and `n` columns, row-major.
  void store(T *to, int m, int n) const {
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        *to++ = (*this)(i, j);
  }
  void store(T *to) const { store(to, rows, columns); }
  T &operator()(int i, int j) {
    return data[static_cast<size_t>(j) * rows + i];
  }
  const T &operator()(int i, int j) const {
    return data[static_cast<size_t>(j) * rows + i];
  }
  int lead() const { return std::max(rows, 1); }
};

/// A batch of matrices.
struct Batch {
  int64_t count = 1;
  int rows = 0, columns = 0;
  Shape outer; // The batch dims.
  explicit Batch(const Tensor &a) {
    outer.assign(a.shape().begin(), a.shape().end() - 2);
    for (int64_t size : outer)
      count *= size;
    rows = static_cast<int>(a.shape()[outer.size()]);
    columns = static_cast<int>(a.shape()[outer.size() + 1]);
  }
  int64_t size() const { return int64_t(rows) * columns; }
  int least() const { return std::min(rows, columns); }
  /// A result with these core dims.
  Tensor make(DType dtype, ArrayRef<int64_t> core) const {
    Shape shape = outer;
    shape.append(core.begin(), core.end());
    return Tensor::uninitialised(dtype, shape);
  }
};

/// Element `i` of a batch whose entries have `size` elements.
template <typename T>
const T *entryOf(const Tensor &x, int64_t i, int64_t size) {
  return x.as<T>().data() + i * size;
}
template <typename T> T *entryOf(Tensor &x, int64_t i, int64_t size) {
  return x.fill<T>().data() + i * size;
}

/// Calls `f(work, lwork)` twice: to be told how much memory is needed, and with
/// as much.
template <typename T, typename F> void withWork(F &&f) {
  T wanted{};
  int query = -1;
  f(&wanted, &query);
  int size = std::max(1, static_cast<int>(std::real(wanted)));
  std::vector<T> work(size);
  f(work.data(), &size);
}

template <typename T> T notANumber() {
  using R = RealPart<T>;
  R nan = std::numeric_limits<R>::quiet_NaN();
  if constexpr (isComplexScalar<T>)
    return T(nan, nan);
  else
    return nan;
}

template <typename T> void fillWith(std::vector<T> &values, T value) {
  std::fill(values.begin(), values.end(), value);
}

template <typename T> bool allFinite(const T *from, int64_t size) {
  return std::all_of(from, from + size, [](T value) {
    return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
  });
}

} // namespace shardtype::kernels

#endif
