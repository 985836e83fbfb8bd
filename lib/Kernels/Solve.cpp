// Solve.cpp - triangular and tridiagonal systems, updates of factors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotParts.h"
#include "Lapack.h"
#include "shardtype/Kernels/Linalg.h"
#include <cblas.h>
#include <cmath>

using namespace shardtype;
using namespace shardtype::kernels;

//===--- triangular_solve -------------------------------------------------===//

namespace {
struct TrsmArguments {
  CBLAS_SIDE side;
  CBLAS_UPLO part;
  CBLAS_TRANSPOSE op;
  CBLAS_DIAG diagonal;
  int m, n, leadA;
};
} // namespace

template <typename T>
static void trsm(const TrsmArguments &s, const T *a, T *b) {
  const T one = 1;
  auto call = [&](auto function, auto scale) {
    function(CblasRowMajor, s.side, s.part, s.op, s.diagonal, s.m, s.n, scale,
             a, s.leadA, b, s.n);
  };
  if constexpr (std::is_same_v<T, float>)
    call(SHARDTYPE_BLAS(cblas_strsm), one);
  else if constexpr (std::is_same_v<T, double>)
    call(SHARDTYPE_BLAS(cblas_dtrsm), one);
  else if constexpr (std::is_same_v<T, C64>)
    call(SHARDTYPE_BLAS(cblas_ctrsm), &one);
  else
    call(SHARDTYPE_BLAS(cblas_ztrsm), &one);
}

Tensor kernels::triangularSolve(const Tensor &a, const Tensor &b,
                                const TriangularOptions &o) {
  DType wide = a.dtype();
  if (isFloat(wide) && info(wide).bits < 32) // Solved in f32, rounded once.
    return dotRounded(triangularSolve(dotWidened(a, DType::F32),
                                      dotWidened(b, DType::F32), o),
                      wide);
  Batch batch(a), other(b);
  Tensor result = b;
  if (b.size() == 0)
    return result;
  result.makeUnique();
  TrsmArguments s{o.left ? CblasLeft : CblasRight,
                  o.lower ? CblasLower : CblasUpper,
                  !o.transpose  ? CblasNoTrans
                  : o.conjugate ? CblasConjTrans
                                : CblasTrans,
                  o.unitDiagonal ? CblasUnit : CblasNonUnit,
                  other.rows,
                  other.columns,
                  std::max(batch.rows, 1)};
  dispatchLapack(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < other.count; ++i)
      trsm<T>(s, entryOf<T>(a, i, batch.size()),
              entryOf<T>(result, i, other.size()));
  });
  return result;
}

//===--- tridiagonal_solve ------------------------------------------------===//

Tensor kernels::tridiagonalSolve(const Tensor &lower, const Tensor &diagonal,
                                 const Tensor &upper, const Tensor &b) {
  Batch batch(b);
  int n = batch.rows, columns = batch.columns;
  Tensor result = Tensor::uninitialised(b.dtype(), b.shape());
  dispatchLapack(b.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; b.size() > 0 && i < batch.count; ++i) {
      const T *l = entryOf<T>(lower, i, n), *u = entryOf<T>(upper, i, n);
      const T *d = entryOf<T>(diagonal, i, n);
      std::vector<T> below(l + 1, l + n), at(d, d + n), above(u, u + n - 1);
      Columns<T> x(n, columns, entryOf<T>(b, i, batch.size()));
      int lead = x.lead(), info = 0;
      SHARDTYPE_LAPACK(T, gtsv)
      (&n, &columns, below.data(), at.data(), above.data(), x.data.data(),
       &lead, &info);
      if (info != 0) // Singular.
        fillWith(x.data, notANumber<T>());
      x.store(entryOf<T>(result, i, batch.size()));
    }
  });
  return result;
}

//===--- Updates ----------------------------------------------------------===//

/// Rotates `w` into the rows of R, one after the other.
template <typename T> static void updateFactor(T *r, std::vector<T> w, int n) {
  for (int k = 0; k < n; ++k) {
    T *row = r + static_cast<size_t>(k) * n;
    T length = std::hypot(row[k], w[k]);
    if (length == 0)
      continue;
    T cosine = row[k] / length, sine = w[k] / length;
    for (int j = k; j < n; ++j) {
      T a = row[j], b = w[j];
      row[j] = cosine * a + sine * b;
      w[j] = cosine * b - sine * a;
    }
  }
}

Tensor kernels::choleskyUpdate(const Tensor &r, const Tensor &w) {
  int n = static_cast<int>(r.dim(0));
  Tensor result = r;
  result.makeUnique();
  dispatchLapack(r.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!isComplexScalar<T>)
      updateFactor<T>(result.fill<T>().data(),
                      std::vector<T>(w.as<T>().begin(), w.as<T>().end()), n);
  });
  return result;
}

Tensor kernels::symmetricProduct(const Tensor &a, const Tensor &c, double alpha,
                                 double beta) {
  SmallVector<int64_t, 6> batch;
  for (int64_t d = 0; d + 2 < a.rank(); ++d)
    batch.push_back(d);
  int64_t last = a.rank() - 1;
  Tensor product = dotGeneral(a, a, {{last}, {last}, batch, batch}, a.dtype());
  dispatchLapack(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!isComplexScalar<T>)
      for (auto [to, old] : llvm::zip_equal(product.fill<T>(), c.as<T>()))
        to = static_cast<T>(alpha) * to + static_cast<T>(beta) * old;
  });
  return product;
}
