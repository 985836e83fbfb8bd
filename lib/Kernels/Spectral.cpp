// Spectral.cpp - singular values, eigenvalues and the forms they come from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lapack.h"
#include "shardtype/Kernels/Linalg.h"

using namespace shardtype;
using namespace shardtype::kernels;

//===--- svd --------------------------------------------------------------===//

namespace {
/// One decomposition; U and V^H are empty unless asked for.
template <typename T> struct SvdParts {
  std::vector<RealPart<T>> values;
  Columns<T> u, vh;
};
} // namespace

template <typename T>
static bool svdByDivision(Columns<T> &a, SvdParts<T> &out, const char *job) {
  int m = a.rows, n = a.columns, lead = a.lead(), info = 0;
  int leadU = out.u.lead(), leadV = out.vh.lead();
  int least = std::min(m, n), most = std::max(m, n);
  std::vector<int> integers(8 * static_cast<size_t>(least));
  withWork<T>([&](T *work, int *size) {
    if constexpr (isComplexScalar<T>) {
      size_t need = std::max<size_t>(5 * size_t(least) * least + 7 * least,
                                     2 * size_t(most) * least +
                                         2 * size_t(least) * least + least);
      std::vector<RealPart<T>> real(need);
      SHARDTYPE_LAPACK(T, gesdd)
      (job, &m, &n, a.data.data(), &lead, out.values.data(), out.u.data.data(),
       &leadU, out.vh.data.data(), &leadV, work, size, real.data(),
       integers.data(), &info, 1);
    } else {
      SHARDTYPE_LAPACK(T, gesdd)
      (job, &m, &n, a.data.data(), &lead, out.values.data(), out.u.data.data(),
       &leadU, out.vh.data.data(), &leadV, work, size, integers.data(), &info,
       1);
    }
  });
  return info == 0;
}

template <typename T>
static bool svdByQr(Columns<T> &a, SvdParts<T> &out, const char *job) {
  int m = a.rows, n = a.columns, lead = a.lead(), info = 0;
  int leadU = out.u.lead(), leadV = out.vh.lead();
  withWork<T>([&](T *work, int *size) {
    if constexpr (isComplexScalar<T>) {
      std::vector<RealPart<T>> real(5 * static_cast<size_t>(std::min(m, n)));
      SHARDTYPE_LAPACK(T, gesvd)
      (job, job, &m, &n, a.data.data(), &lead, out.values.data(),
       out.u.data.data(), &leadU, out.vh.data.data(), &leadV, work, size,
       real.data(), &info, 1, 1);
    } else {
      SHARDTYPE_LAPACK(T, gesvd)
      (job, job, &m, &n, a.data.data(), &lead, out.values.data(),
       out.u.data.data(), &leadU, out.vh.data.data(), &leadV, work, size, &info,
       1, 1);
    }
  });
  return info == 0;
}

template <typename T> static void identity(Columns<T> &a) {
  for (int i = 0; i < std::min(a.rows, a.columns); ++i)
    a(i, i) = 1;
}

template <typename T>
static SvdParts<T> svdOne(const T *from, const Batch &batch,
                          const SvdOptions &o) {
  int m = batch.rows, n = batch.columns, k = batch.least();
  int ku = !o.vectors ? 0
           : o.full   ? m
                      : k,
      kv = !o.vectors ? 0
           : o.full   ? n
                      : k;
  SvdParts<T> out{std::vector<RealPart<T>>(k),
                  Columns<T>(o.vectors ? m : 1, ku),
                  Columns<T>(o.vectors ? kv : 1, o.vectors ? n : 0)};
  if (k == 0) {
    identity(out.u);
    identity(out.vh);
    return out;
  }
  Columns<T> a(m, n, from);
  const char *job = !o.vectors ? "N" : o.full ? "A" : "S";
  bool good = allFinite(from, batch.size()) &&
              (o.plainQr ? svdByQr(a, out, job) : svdByDivision(a, out, job));
  if (good)
    return out;
  fillWith(out.values, notANumber<RealPart<T>>());
  fillWith(out.u.data, notANumber<T>());
  fillWith(out.vh.data, notANumber<T>());
  return out;
}

Tensors kernels::svd(const Tensor &x, const SvdOptions &o) {
  Batch batch(x);
  int m = batch.rows, n = batch.columns, k = batch.least();
  int ku = o.full ? m : k, kv = o.full ? n : k;
  Tensors results{batch.make(realPartOf(x.dtype()), {k})};
  if (o.vectors) {
    results.push_back(batch.make(x.dtype(), {m, ku}));
    results.push_back(batch.make(x.dtype(), {kv, n}));
  }
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; b < batch.count; ++b) {
      SvdParts<T> parts = svdOne(entryOf<T>(x, b, batch.size()), batch, o);
      llvm::copy(parts.values, entryOf<RealPart<T>>(results[0], b, k));
      if (!o.vectors)
        continue;
      parts.u.store(entryOf<T>(results[1], b, int64_t(m) * ku));
      parts.vh.store(entryOf<T>(results[2], b, int64_t(kv) * n));
    }
  });
  return results;
}

//===--- eigh -------------------------------------------------------------===//

template <typename T>
static bool eighOne(Columns<T> &a, RealPart<T> *values, bool lower) {
  int n = a.rows, lead = a.lead(), info = 0;
  const char *part = lower ? "L" : "U";
  size_t integers = 3 + 5 * static_cast<size_t>(n);
  size_t reals = 1 + 5 * static_cast<size_t>(n) + 2 * size_t(n) * n;
  std::vector<int> iwork(integers);
  int isize = static_cast<int>(integers);
  withWork<T>([&](T *work, int *size) {
    bool query = *size < 0;
    int iquery = -1, *ilen = query ? &iquery : &isize;
    if constexpr (isComplexScalar<T>) {
      std::vector<RealPart<T>> real(reals);
      int rsize = query ? -1 : static_cast<int>(reals);
      auto call = [&](auto heevd) {
        heevd("V", part, &n, a.data.data(), &lead, values, work, size,
              real.data(), &rsize, iwork.data(), ilen, &info, 1, 1);
      };
      if constexpr (std::is_same_v<T, C64>)
        call(SHARDTYPE_BLAS(cheevd_));
      else
        call(SHARDTYPE_BLAS(zheevd_));
    } else {
      auto call = [&](auto syevd) {
        syevd("V", part, &n, a.data.data(), &lead, values, work, size,
              iwork.data(), ilen, &info, 1, 1);
      };
      if constexpr (std::is_same_v<T, float>)
        call(SHARDTYPE_BLAS(ssyevd_));
      else
        call(SHARDTYPE_BLAS(dsyevd_));
    }
  });
  return info == 0;
}

/// Elements of the triangle that is read.
template <typename T>
static bool triangleFinite(const Columns<T> &a, bool lower) {
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j)
      if ((lower ? j <= i : i <= j) && !allFinite(&a(i, j), 1))
        return false;
  return true;
}

Tensors kernels::eigh(const Tensor &x, bool lower) {
  Batch batch(x);
  int n = batch.rows;
  Tensors results{Tensor::uninitialised(x.dtype(), x.shape()),
                  batch.make(realPartOf(x.dtype()), {n})};
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; n > 0 && b < batch.count; ++b) {
      Columns<T> a(n, n, entryOf<T>(x, b, batch.size()));
      RealPart<T> *values = entryOf<RealPart<T>>(results[1], b, n);
      if (!triangleFinite(a, lower) || !eighOne(a, values, lower)) {
        std::fill_n(values, n, notANumber<RealPart<T>>());
        fillWith(a.data, notANumber<T>());
      }
      a.store(entryOf<T>(results[0], b, batch.size()));
    }
  });
  return results;
}

//===--- eig --------------------------------------------------------------===//

/// Eigenvectors of a real matrix come as real and imaginary parts in
/// neighbouring columns where eigenvalues are a pair.
template <typename R>
static Columns<std::complex<R>> joined(const Columns<R> &v,
                                       const std::vector<R> &imaginary) {
  int n = v.rows;
  Columns<std::complex<R>> out(n, n);
  for (int j = 0; j < n; ++j) {
    bool pair = imaginary[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      if (!pair) {
        out(i, j) = v(i, j);
        continue;
      }
      out(i, j) = {v(i, j), v(i, j + 1)};
      out(i, j + 1) = {v(i, j), -v(i, j + 1)};
    }
    j += pair;
  }
  return out;
}

namespace {
template <typename T> struct EigParts {
  using C = std::complex<RealPart<T>>;
  std::vector<C> values;
  Columns<C> left, right;
};
} // namespace

template <typename R>
static bool eigReal(Columns<R> &a, EigParts<R> &out, const char *jobLeft,
                    const char *jobRight) {
  int n = a.rows, lead = a.lead(), info = 0;
  std::vector<R> real(n), imaginary(n);
  Columns<R> left(n, n), right(n, n);
  auto call = [&](auto geev, R *work, int *size) {
    geev(jobLeft, jobRight, &n, a.data.data(), &lead, real.data(),
         imaginary.data(), left.data.data(), &lead, right.data.data(), &lead,
         work, size, &info, 1, 1);
  };
  withWork<R>([&](R *work, int *size) {
    if constexpr (std::is_same_v<R, float>)
      call(SHARDTYPE_BLAS(sgeev_), work, size);
    else
      call(SHARDTYPE_BLAS(dgeev_), work, size);
  });
  for (int i = 0; i < n; ++i)
    out.values[i] = {real[i], imaginary[i]};
  out.left = joined(left, imaginary);
  out.right = joined(right, imaginary);
  return info == 0;
}

template <typename T>
static bool eigComplex(Columns<T> &a, EigParts<T> &out, const char *jobLeft,
                       const char *jobRight) {
  int n = a.rows, lead = a.lead(), info = 0;
  std::vector<RealPart<T>> real(2 * static_cast<size_t>(n));
  auto call = [&](auto geev, T *work, int *size) {
    geev(jobLeft, jobRight, &n, a.data.data(), &lead, out.values.data(),
         out.left.data.data(), &lead, out.right.data.data(), &lead, work, size,
         real.data(), &info, 1, 1);
  };
  withWork<T>([&](T *work, int *size) {
    if constexpr (std::is_same_v<T, C64>)
      call(SHARDTYPE_BLAS(cgeev_), work, size);
    else
      call(SHARDTYPE_BLAS(zgeev_), work, size);
  });
  return info == 0;
}

template <typename T>
static EigParts<T> eigOne(const T *from, int n, bool left, bool right) {
  using C = std::complex<RealPart<T>>;
  EigParts<T> out{std::vector<C>(n), Columns<C>(n, n), Columns<C>(n, n)};
  Columns<T> a(n, n, from);
  const char *l = left ? "V" : "N", *r = right ? "V" : "N";
  bool good = allFinite(from, int64_t(n) * n);
  if constexpr (isComplexScalar<T>)
    good = good && eigComplex(a, out, l, r);
  else
    good = good && eigReal(a, out, l, r);
  if (!good) {
    fillWith(out.values, notANumber<C>());
    fillWith(out.left.data, notANumber<C>());
    fillWith(out.right.data, notANumber<C>());
  }
  return out;
}

Tensors kernels::eig(const Tensor &x, bool left, bool right) {
  Batch batch(x);
  int n = batch.rows;
  DType dtype = complexFor(x.dtype());
  Tensors results{batch.make(dtype, {n})};
  for (int i = 0; i < int(left) + int(right); ++i)
    results.push_back(batch.make(dtype, {n, n}));
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = std::complex<RealPart<T>>;
    for (int64_t b = 0; n > 0 && b < batch.count; ++b) {
      EigParts<T> parts =
          eigOne(entryOf<T>(x, b, batch.size()), n, left, right);
      llvm::copy(parts.values, entryOf<C>(results[0], b, n));
      if (left)
        parts.left.store(entryOf<C>(results[1], b, batch.size()));
      if (right)
        parts.right.store(entryOf<C>(results[1 + left], b, batch.size()));
    }
  });
  return results;
}

//===--- schur, hessenberg, tridiagonal -----------------------------------===//

template <typename T>
static bool schurOne(Columns<T> &a, Columns<T> &vectors, bool wanted) {
  int n = a.rows, lead = a.lead(), info = 0, sorted = 0;
  const char *job = wanted ? "V" : "N";
  std::vector<int> flags(n);
  std::vector<RealPart<T>> real(n), imaginary(n);
  std::vector<T> values(n);
  withWork<T>([&](T *work, int *size) {
    auto gees = SHARDTYPE_LAPACK(T, gees);
    if constexpr (isComplexScalar<T>)
      gees(job, "N", nullptr, &n, a.data.data(), &lead, &sorted, values.data(),
           vectors.data.data(), &lead, work, size, real.data(), flags.data(),
           &info, 1, 1);
    else
      gees(job, "N", nullptr, &n, a.data.data(), &lead, &sorted, real.data(),
           imaginary.data(), vectors.data.data(), &lead, work, size,
           flags.data(), &info, 1, 1);
  });
  return info == 0;
}

Tensors kernels::schur(const Tensor &x, bool vectors) {
  Batch batch(x);
  int n = batch.rows;
  Tensors results{Tensor::uninitialised(x.dtype(), x.shape())};
  if (vectors)
    results.push_back(Tensor::uninitialised(x.dtype(), x.shape()));
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; n > 0 && b < batch.count; ++b) {
      Columns<T> a(n, n, entryOf<T>(x, b, batch.size())), q(n, n);
      if (!allFinite(a.data.data(), batch.size()) || !schurOne(a, q, vectors)) {
        fillWith(a.data, notANumber<T>());
        fillWith(q.data, notANumber<T>());
      }
      a.store(entryOf<T>(results[0], b, batch.size()));
      if (vectors)
        q.store(entryOf<T>(results[1], b, batch.size()));
    }
  });
  return results;
}

Tensors kernels::hessenberg(const Tensor &x) {
  Batch batch(x);
  int n = batch.rows;
  Tensors results{Tensor::uninitialised(x.dtype(), x.shape()),
                  batch.make(x.dtype(), {std::max(n - 1, 0)})};
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t b = 0; n > 0 && b < batch.count; ++b) {
      Columns<T> a(n, n, entryOf<T>(x, b, batch.size()));
      int lead = a.lead(), info = 0, low = 1;
      std::vector<T> taus(n);
      withWork<T>([&](T *work, int *size) {
        SHARDTYPE_LAPACK(T, gehrd)
        (&n, &low, &n, a.data.data(), &lead, taus.data(), work, size, &info);
      });
      a.store(entryOf<T>(results[0], b, batch.size()));
      std::copy_n(taus.begin(), n - 1, entryOf<T>(results[1], b, n - 1));
    }
  });
  return results;
}

Tensors kernels::tridiagonal(const Tensor &x, bool lower) {
  Batch batch(x);
  int n = batch.rows, less = std::max(n - 1, 0);
  DType real = realPartOf(x.dtype());
  Tensors results{Tensor::uninitialised(x.dtype(), x.shape()),
                  batch.make(real, {n}), batch.make(real, {less}),
                  batch.make(x.dtype(), {less})};
  dispatchLapack(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using R = RealPart<T>;
    for (int64_t b = 0; n > 0 && b < batch.count; ++b) {
      Columns<T> a(n, n, entryOf<T>(x, b, batch.size()));
      int lead = a.lead(), info = 0;
      std::vector<R> beside(n);
      std::vector<T> taus(n);
      withWork<T>([&](T *work, int *size) {
        SHARDTYPE_LAPACK2(T, sytrd, hetrd)
        (lower ? "L" : "U", &n, a.data.data(), &lead,
         entryOf<R>(results[1], b, n), beside.data(), taus.data(), work, size,
         &info, 1);
      });
      a.store(entryOf<T>(results[0], b, batch.size()));
      std::copy_n(beside.begin(), less, entryOf<R>(results[2], b, less));
      std::copy_n(taus.begin(), less, entryOf<T>(results[3], b, less));
    }
  });
  return results;
}
