// Multiply.cpp - one product of two matrices, by BLAS where that pays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Blas.h"
#include "ShortSums.h"
#include "shardtype/Kernels/Dot.h"
#include <cblas.h>
#include <complex>
#include <limits>

using namespace shardtype;
using namespace shardtype::kernels;

using C64 = std::complex<float>;
using C128 = std::complex<double>;

//===--- BLAS by type -----------------------------------------------------===//

namespace {
struct Sizes {
  CBLAS_TRANSPOSE a, b;
  int m, n, k, lda, ldb, ldc;
};
} // namespace

/// False where there is no BLAS.
template <typename T>
static bool gemm(const Sizes &s, const T *a, const T *b, T *c) {
  const T one = 1, zero = 0;
  auto call = [&](auto function, auto scale, auto keep) {
    if (function)
      function(CblasRowMajor, s.a, s.b, s.m, s.n, s.k, scale, a, s.lda, b,
               s.ldb, keep, c, s.ldc);
    return static_cast<bool>(function);
  };
  if constexpr (std::is_same_v<T, float>)
    return call(SHARDTYPE_BLAS(cblas_sgemm), one, zero);
  else if constexpr (std::is_same_v<T, double>)
    return call(SHARDTYPE_BLAS(cblas_dgemm), one, zero);
  else if constexpr (std::is_same_v<T, C64>)
    return call(SHARDTYPE_BLAS(cblas_cgemm), &one, &zero);
  else
    return call(SHARDTYPE_BLAS(cblas_zgemm), &one, &zero);
}

/// y = A x: `m` rows of `n` as they lie in memory, `x` with a stride.
template <typename T>
static bool gemv(CBLAS_TRANSPOSE t, int m, int n, const T *a, int lda,
                 const T *x, int incx, T *y) {
  const T one = 1, zero = 0;
  auto call = [&](auto function, auto scale, auto keep) {
    if (function)
      function(CblasRowMajor, t, m, n, scale, a, lda, x, incx, keep, y, 1);
    return static_cast<bool>(function);
  };
  if constexpr (std::is_same_v<T, float>)
    return call(SHARDTYPE_BLAS(cblas_sgemv), one, zero);
  else if constexpr (std::is_same_v<T, double>)
    return call(SHARDTYPE_BLAS(cblas_dgemv), one, zero);
  else if constexpr (std::is_same_v<T, C64>)
    return call(SHARDTYPE_BLAS(cblas_cgemv), &one, &zero);
  else
    return call(SHARDTYPE_BLAS(cblas_zgemv), &one, &zero);
}

//===--- Products ---------------------------------------------------------===//

template <typename T> static T product(T a, T b) { return a * b; }
/// Without the tests for NaN of std::complex's own.
template <typename T>
static std::complex<T> product(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(),
          a.real() * b.imag() + a.imag() * b.real()};
}

template <typename T>
static void multiplyPlainly(const MatrixRef<T> &a, const MatrixRef<T> &b,
                            T *c) {
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < a.columns; ++k)
        sum += product(a.data[i * a.rowStride + k * a.columnStride],
                       b.data[k * b.rowStride + j * b.columnStride]);
      *c++ = sum;
    }
}

/// How BLAS is told of a matrix: the stride between its lines, and whether
/// those are columns.
template <typename T>
static std::pair<CBLAS_TRANSPOSE, int64_t> lines(const MatrixRef<T> &m) {
  if (m.columns == 1)
    return {CblasNoTrans, std::max<int64_t>(m.rowStride, 1)};
  if (m.rows == 1 && m.columnStride == 1)
    return {CblasNoTrans, m.columns};
  if (m.columnStride == 1)
    return {CblasNoTrans, m.rowStride};
  return {CblasTrans, m.columnStride};
}

template <typename T>
static bool multiplyByBlas(const MatrixRef<T> &a, const MatrixRef<T> &b, T *c) {
  constexpr int64_t Most = std::numeric_limits<int>::max();
  auto [aLines, lda] = lines(a);
  auto [bLines, ldb] = lines(b);
  int64_t m = a.rows, n = b.columns, k = a.columns;
  int64_t xb = k == 1 ? 1 : b.rowStride, xa = k == 1 ? 1 : a.columnStride;
  if (std::max({m, n, k, lda, ldb, xb, xa}) > Most)
    return false;
  if (n == 1)
    return aLines == CblasNoTrans
               ? gemv(aLines, m, k, a.data, lda, b.data, xb, c)
               : gemv(aLines, k, m, a.data, lda, b.data, xb, c);
  if (m == 1) // The other way round, B is to be transposed.
    return bLines == CblasNoTrans
               ? gemv(CblasTrans, k, n, b.data, ldb, a.data, xa, c)
               : gemv(CblasNoTrans, n, k, b.data, ldb, a.data, xa, c);
  return gemm(
      {aLines, bLines, int(m), int(n), int(k), int(lda), int(ldb), int(n)},
      a.data, b.data, c);
}

template <typename T>
void kernels::multiply(const MatrixRef<T> &a, const MatrixRef<T> &b, T *c) {
  // Calling BLAS costs more than this many products.
  constexpr int64_t Few = 128;
  int64_t m = a.rows, n = b.columns, k = a.columns;
  bool few = std::max({m, n, k}) <= Few && m * n * k <= Few;
  if (few || (!multiplyShort(a, b, c) && !multiplyByBlas(a, b, c)))
    multiplyPlainly(a, b, c);
}

template void kernels::multiply(const MatrixRef<float> &,
                                const MatrixRef<float> &, float *);
template void kernels::multiply(const MatrixRef<double> &,
                                const MatrixRef<double> &, double *);
template void kernels::multiply(const MatrixRef<C64> &, const MatrixRef<C64> &,
                                C64 *);
template void kernels::multiply(const MatrixRef<C128> &,
                                const MatrixRef<C128> &, C128 *);
