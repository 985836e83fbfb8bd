// Factorisations.cpp - cholesky, lu and what is made of reflectors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lapack.h"
#include "shardtype/Kernels/Linalg.h"

using namespace shardtype;
using namespace shardtype::kernels;

bool kernels::haveLapack() {
  return static_cast<bool>(SHARDTYPE_BLAS(dgetrf_));
}

//===--- cholesky ---------------------------------------------------------===//

template <typename T> static void choleskyOne(const T *from, T *to, int n) {
  Columns<T> a(n, n, from);
  int info = 0, lead = a.lead();
  SHARDTYPE_LAPACK(T, potrf)("L", &n, a.data.data(), &lead, &info, 1);
  if (info != 0)
    fillWith(a.data, notANumber<T>());
  a.store(to);
}

Tensor kernels::cholesky(const Tensor &x) {
  Batch batch(x);
  Tensor result = Tensor::uninitialised(x.dtype(), x.shape());
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < batch.count; ++i)
      choleskyOne<T>(entryOf<T>(x, i, batch.size()),
                     entryOf<T>(result, i, batch.size()), batch.rows);
  });
  return result;
}

//===--- lu ---------------------------------------------------------------===//

static void swapsToPermutation(ArrayRef<int32_t> swaps,
                               MutableArrayRef<int32_t> permutation) {
  for (auto [i, value] : llvm::enumerate(permutation))
    value = static_cast<int32_t>(i);
  for (auto [i, other] : llvm::enumerate(swaps))
    if (other >= 0 && static_cast<size_t>(other) < permutation.size())
      std::swap(permutation[i], permutation[other]);
}

Tensors kernels::lu(const Tensor &x) {
  Batch batch(x);
  int m = batch.rows, n = batch.columns, least = batch.least();
  Tensor result = Tensor::uninitialised(x.dtype(), x.shape());
  Tensor pivots = batch.make(DType::I32, {least});
  Tensor permutation = batch.make(DType::I32, {m});
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<int> rows(least);
    for (int64_t b = 0; b < batch.count; ++b) {
      Columns<T> a(m, n, entryOf<T>(x, b, batch.size()));
      int info = 0, lead = a.lead();
      if (least > 0)
        SHARDTYPE_LAPACK(T, getrf)
      (&m, &n, a.data.data(), &lead, rows.data(), &info);
      a.store(entryOf<T>(result, b, batch.size()));
      int32_t *swaps = entryOf<int32_t>(pivots, b, least);
      for (int i = 0; i < least; ++i)
        swaps[i] = rows[i] - 1;
      swapsToPermutation(
          ArrayRef(swaps, least),
          MutableArrayRef(entryOf<int32_t>(permutation, b, m), m));
    }
  });
  return {result, pivots, permutation};
}

Tensor kernels::pivotsToPermutation(const Tensor &pivots, int64_t size) {
  int64_t count = pivots.shape().back();
  Shape shape(pivots.shape());
  shape.back() = size;
  Tensor result = Tensor::uninitialised(DType::I32, shape);
  int64_t batch = size == 0 ? 0 : result.size() / size;
  for (int64_t b = 0; b < batch; ++b)
    swapsToPermutation(
        pivots.as<int32_t>().slice(b * count, count),
        MutableArrayRef(entryOf<int32_t>(result, b, size), size));
  return result;
}

//===--- Reflectors -------------------------------------------------------===//

/// Packs reflectors into `a`; with `pivots` (from 1; 0 is free) by geqp3.
template <typename T>
static void reflect(Columns<T> &a, std::vector<T> &taus,
                    std::vector<int> *pivots) {
  int m = a.rows, n = a.columns, lead = a.lead(), info = 0;
  taus.assign(std::min(m, n), T());
  if (taus.empty()) {
    for (size_t i = 0; pivots && i < pivots->size(); ++i)
      (*pivots)[i] = static_cast<int>(i) + 1;
    return;
  }
  withWork<T>([&](T *work, int *size) {
    if (!pivots)
      SHARDTYPE_LAPACK(T, geqrf)
    (&m, &n, a.data.data(), &lead, taus.data(), work, size, &info);
    else if constexpr (isComplexScalar<T>) {
      std::vector<RealPart<T>> real(2 * static_cast<size_t>(n));
      SHARDTYPE_LAPACK(T, geqp3)
      (&m, &n, a.data.data(), &lead, pivots->data(), taus.data(), work, size,
       real.data(), &info);
    }
    else {
      SHARDTYPE_LAPACK(T, geqp3)
      (&m, &n, a.data.data(), &lead, pivots->data(), taus.data(), work, size,
       &info);
    }
  });
}

/// Replaces packed reflectors by the columns of their product.
template <typename T>
static void expand(Columns<T> &a, const T *taus, int count) {
  int m = a.rows, n = a.columns, lead = a.lead(), info = 0;
  if (m == 0 || n == 0)
    return;
  withWork<T>([&](T *work, int *size) {
    SHARDTYPE_LAPACK2(T, orgqr, ungqr)
    (&m, &n, &count, a.data.data(), &lead, taus, work, size, &info);
  });
}

Tensors kernels::geqrf(const Tensor &x) {
  Batch batch(x);
  Tensor result = Tensor::uninitialised(x.dtype(), x.shape());
  Tensor scales = batch.make(x.dtype(), {batch.least()});
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> taus;
    for (int64_t b = 0; b < batch.count; ++b) {
      Columns<T> a(batch.rows, batch.columns, entryOf<T>(x, b, batch.size()));
      reflect<T>(a, taus, nullptr);
      a.store(entryOf<T>(result, b, batch.size()));
      llvm::copy(taus, entryOf<T>(scales, b, batch.least()));
    }
  });
  return {result, scales};
}

Tensors kernels::geqp3(const Tensor &x, const Tensor &pivots) {
  Batch batch(x);
  Tensor result = Tensor::uninitialised(x.dtype(), x.shape());
  Tensor scales = batch.make(x.dtype(), {batch.least()});
  Tensor order = pivots;
  order.makeUnique();
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> taus;
    for (int64_t b = 0; b < batch.count; ++b) {
      Columns<T> a(batch.rows, batch.columns, entryOf<T>(x, b, batch.size()));
      int32_t *places = entryOf<int32_t>(order, b, batch.columns);
      std::vector<int> columns(places, places + batch.columns);
      reflect(a, taus, &columns);
      a.store(entryOf<T>(result, b, batch.size()));
      llvm::copy(columns, places);
      llvm::copy(taus, entryOf<T>(scales, b, batch.least()));
    }
  });
  return {result, order, scales};
}

Tensor kernels::householderProduct(const Tensor &x, const Tensor &taus) {
  Batch batch(x);
  int count = static_cast<int>(taus.shape().back());
  Tensor result = Tensor::uninitialised(x.dtype(), x.shape());
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < batch.count; ++b) {
      Columns<T> a(batch.rows, batch.columns, entryOf<T>(x, b, batch.size()));
      expand<T>(a, entryOf<T>(taus, b, count), count);
      a.store(entryOf<T>(result, b, batch.size()));
    }
  });
  return result;
}

template <typename T>
static void ormqrOne(Columns<T> &a, const T *taus, int k, Columns<T> &c,
                     bool left, bool transpose) {
  int m = c.rows, n = c.columns, leadA = a.lead(), leadC = c.lead(), info = 0;
  if (m == 0 || n == 0 || k == 0)
    return;
  const char *side = left ? "L" : "R";
  const char *op = !transpose ? "N" : isComplexScalar<T> ? "C" : "T";
  withWork<T>([&](T *work, int *size) {
    SHARDTYPE_LAPACK2(T, ormqr, unmqr)
    (side, op, &m, &n, &k, a.data.data(), &leadA, taus, c.data.data(), &leadC,
     work, size, &info, 1, 1);
  });
}

Tensor kernels::ormqr(const Tensor &x, const Tensor &taus, const Tensor &c,
                      bool left, bool transpose) {
  Batch batch(x), other(c);
  int count = static_cast<int>(taus.shape().back());
  Tensor result = Tensor::uninitialised(c.dtype(), c.shape());
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < batch.count; ++b) {
      Columns<T> a(batch.rows, batch.columns, entryOf<T>(x, b, batch.size()));
      Columns<T> to(other.rows, other.columns, entryOf<T>(c, b, other.size()));
      ormqrOne(a, entryOf<T>(taus, b, count), count, to, left, transpose);
      to.store(entryOf<T>(result, b, other.size()));
    }
  });
  return result;
}

//===--- qr ---------------------------------------------------------------===//

template <typename T>
static void qrOne(const T *from, const Batch &batch, int k, T *q, T *r,
                  int32_t *order) {
  int m = batch.rows, n = batch.columns;
  Columns<T> a(m, n, from);
  std::vector<T> taus;
  std::vector<int> pivots(n);
  reflect<T>(a, taus, order ? &pivots : nullptr);
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < n; ++j)
      *r++ = i <= j && i < m ? a(i, j) : T();
  for (int j = 0; order && j < n; ++j)
    order[j] = pivots[j] - 1;
  Columns<T> columns(m, k);
  for (int j = 0; j < std::min(k, n); ++j)
    for (int i = 0; i < m; ++i)
      columns(i, j) = a(i, j);
  expand(columns, taus.data(), static_cast<int>(taus.size()));
  columns.store(q);
}

Tensors kernels::qr(const Tensor &x, bool full, bool pivoting) {
  Batch batch(x);
  int m = batch.rows, n = batch.columns, k = full ? m : batch.least();
  Tensors results{batch.make(x.dtype(), {m, k}), batch.make(x.dtype(), {k, n})};
  if (pivoting)
    results.push_back(batch.make(DType::I32, {n}));
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < batch.count; ++b)
      qrOne<T>(entryOf<T>(x, b, batch.size()), batch, k,
               entryOf<T>(results[0], b, int64_t(m) * k),
               entryOf<T>(results[1], b, int64_t(k) * n),
               pivoting ? entryOf<int32_t>(results[2], b, n) : nullptr);
  });
  return results;
}
