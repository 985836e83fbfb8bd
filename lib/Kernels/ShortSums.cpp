// ShortSums.cpp - products of matrices whose sums have few terms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of weights have as many terms as a device has examples, and large
// results: BLAS packs, clears and reads back what is written once here.
#include "ShortSums.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace shardtype;
using namespace shardtype::kernels;

#if defined(__x86_64__)
namespace {
struct Factors {
  const float *a, *b; // a: one for each term; b: a row for each.
  int64_t terms, aStride, bStride;
};
} // namespace

/// Columns from `at` on, 8 in each of `Vectors`.
template <int Vectors>
__attribute__((target("avx2,fma"), always_inline)) static inline void
addTerms(float *c, const Factors &f, int64_t at) {
  __m256 sums[Vectors];
  for (int v = 0; v < Vectors; ++v)
    sums[v] = _mm256_setzero_ps();
  for (int64_t k = 0; k < f.terms; ++k) {
    __m256 factor = _mm256_set1_ps(f.a[k * f.aStride]);
    const float *row = f.b + k * f.bStride + at;
    for (int v = 0; v < Vectors; ++v)
      sums[v] = _mm256_fmadd_ps(factor, _mm256_loadu_ps(row + 8 * v), sums[v]);
  }
  for (int v = 0; v < Vectors; ++v)
    _mm256_storeu_ps(c + at + 8 * v, sums[v]);
}

__attribute__((target("avx2,fma"))) static void
multiplyRow(float *c, const Factors &f, int64_t columns) {
  int64_t at = 0;
  for (; at + 32 <= columns; at += 32)
    addTerms<4>(c, f, at);
  for (; at + 8 <= columns; at += 8)
    addTerms<1>(c, f, at);
  for (; at < columns; ++at) {
    float sum = 0;
    for (int64_t k = 0; k < f.terms; ++k)
      sum = __builtin_fmaf(f.a[k * f.aStride], f.b[k * f.bStride + at], sum);
    c[at] = sum;
  }
}
#endif

bool kernels::sumsInOrder(int64_t terms) {
#if defined(__x86_64__)
  static const bool hasFma =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  constexpr int64_t Most = 16; // Beyond, BLAS is as fast.
  return hasFma && terms <= Most;
#else
  (void)terms;
  return false;
#endif
}

bool kernels::multiplyShort(const MatrixRef<float> &a,
                            const MatrixRef<float> &b, float *c) {
#if defined(__x86_64__)
  int64_t terms = a.columns;
  if (!sumsInOrder(terms))
    return false;
  Factors factors{a.data, b.data, terms, a.columnStride, b.rowStride};
  SmallVector<float, 0> rows;
  if (b.columnStride != 1) {
    rows.resize_for_overwrite(static_cast<size_t>(terms * b.columns));
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < terms; ++k)
        rows[static_cast<size_t>(k * b.columns + j)] =
            b.data[k * b.rowStride + j * b.columnStride];
    factors.b = rows.data();
    factors.bStride = b.columns;
  }
  for (int64_t i = 0; i < a.rows; ++i, c += b.columns) {
    factors.a = a.data + i * a.rowStride;
    multiplyRow(c, factors, b.columns);
  }
  return true;
#else
  (void)a, (void)b, (void)c;
  return false;
#endif
}
