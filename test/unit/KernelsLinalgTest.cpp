// KernelsLinalgTest.cpp - factors multiply to what they were made from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Kernels/Fft.h"
#include "shardtype/Kernels/Linalg.h"
#include "shardtype/Tensor/Element.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace shardtype;
using kernels::Tensors;

static std::mt19937 engine(11);

static Tensor draw(DType dtype, ArrayRef<int64_t> shape) {
  std::normal_distribution<double> normal;
  Tensor x = Tensor::uninitialised(dtype, shape);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T &value : x.fill<T>()) {
      if constexpr (isComplexElement<T>)
        value = T(C128(normal(engine), normal(engine)));
      else if constexpr (isFloatElement<T>)
        value = T(normal(engine));
    }
  });
  return x;
}

static C128 element(const Tensor &x, int64_t i) {
  return dispatch(x.dtype(), [&](auto tag) -> C128 {
    using T = typename decltype(tag)::type;
    if constexpr (isComplexElement<T>)
      return C128(x.as<T>()[i]);
    else
      return static_cast<double>(static_cast<ComputeType<T>>(x.as<T>()[i]));
  });
}

namespace {
/// A matrix of the test: small, complex, slow.
struct Matrix {
  int64_t rows, columns;
  std::vector<C128> data;
  Matrix(int64_t m, int64_t n) : rows(m), columns(n), data(m * n) {}
  explicit Matrix(const Tensor &x) : Matrix(x.dim(0), x.dim(1)) {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = element(x, static_cast<int64_t>(i));
  }
  static Matrix diagonal(const Tensor &x) {
    Matrix m(x.size(), x.size());
    for (int64_t i = 0; i < x.size(); ++i)
      m(i, i) = element(x, i);
    return m;
  }
  C128 &operator()(int64_t i, int64_t j) { return data[i * columns + j]; }
  C128 operator()(int64_t i, int64_t j) const { return data[i * columns + j]; }
  Matrix adjoint() const {
    Matrix m(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        m(j, i) = std::conj((*this)(i, j));
    return m;
  }
};
Matrix operator*(const Matrix &a, const Matrix &b) {
  REQUIRE(a.columns == b.rows);
  Matrix c(a.rows, b.columns);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.columns; ++j)
      for (int64_t k = 0; k < a.columns; ++k)
        c(i, j) += a(i, k) * b(k, j);
  return c;
}
} // namespace

/// The largest difference of two matrices.
static double apart(const Matrix &a, const Matrix &b) {
  REQUIRE(a.rows == b.rows);
  REQUIRE(a.columns == b.columns);
  double most = 0;
  for (size_t i = 0; i < a.data.size(); ++i)
    most = std::max(most, std::abs(a.data[i] - b.data[i]));
  return most;
}

static Matrix identity(int64_t n) {
  Matrix m(n, n);
  for (int64_t i = 0; i < n; ++i)
    m(i, i) = 1;
  return m;
}

static double bound(DType dtype) {
  return dtype == DType::F32 || dtype == DType::C64 ? 2e-4 : 1e-11;
}

static constexpr DType Dtypes[] = {DType::F32, DType::F64, DType::C64,
                                   DType::C128};

TEST_CASE("qr, lu and svd multiply to the matrix") {
  if (!kernels::haveLapack()) {
    WARN("skipped: there is no libopenblas.so.0 here");
    return;
  }
  for (DType dtype : Dtypes)
    for (auto [m, n] : {std::pair<int64_t, int64_t>(4, 4),
                        {7, 3},
                        {3, 7},
                        {1, 1},
                        {0, 3},
                        {3, 0},
                        {0, 0},
                        {12, 12}}) {
      Tensor x = draw(dtype, {m, n});
      Matrix a(x);
      for (bool full : {false, true}) {
        Tensors qr = kernels::qr(x, full, /*pivoting=*/false);
        CHECK(apart(Matrix(qr[0]) * Matrix(qr[1]), a) < bound(dtype));
        Matrix q(qr[0]);
        CHECK(apart(q.adjoint() * q, identity(q.columns)) < bound(dtype));
        for (bool plainQr : {false, true}) {
          Tensors svd = kernels::svd(x, {true, full, plainQr});
          Matrix u(svd[1]), vh(svd[2]);
          CHECK(apart(u.adjoint() * u, identity(u.columns)) < bound(dtype));
          CHECK(apart(vh * vh.adjoint(), identity(vh.rows)) < bound(dtype));
          Matrix s(u.columns, vh.rows);
          for (int64_t i = 0; i < svd[0].size(); ++i)
            s(i, i) = element(svd[0], i);
          CHECK(apart(u * s * vh, a) < bound(dtype));
        }
      }
      Tensors pivoted = kernels::qr(x, false, true);
      Matrix exchanged(m, n), product = Matrix(pivoted[0]) * Matrix(pivoted[1]);
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
          exchanged(i, j) = a(i, pivoted[2].as<int32_t>()[j]);
      CHECK(apart(product, exchanged) < bound(dtype));
      Tensors lu = kernels::lu(x);
      Matrix packed(lu[0]), rows(m, n);
      int64_t k = std::min(m, n);
      Matrix lower(m, k), upper(k, n);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          rows(i, j) = a(lu[2].as<int32_t>()[i], j);
          (i > j ? lower(i, j) : upper(i, j)) = packed(i, j);
        }
      for (int64_t i = 0; i < k; ++i)
        lower(i, i) = 1;
      CHECK(apart(lower * upper, rows) < bound(dtype));
    }
}

TEST_CASE("eigenvectors and Schur vectors diagonalise") {
  if (!kernels::haveLapack())
    return;
  for (DType dtype : Dtypes)
    for (int64_t n : {1, 2, 5, 12, 0}) {
      Tensor x = draw(dtype, {n, n});
      Matrix a(x);
      Tensors eig = kernels::eig(x, /*left=*/true, /*right=*/true);
      Matrix values = Matrix::diagonal(eig[0]);
      Matrix left(eig[1]), right(eig[2]);
      CHECK(apart(a * right, right * values) < bound(dtype));
      CHECK(apart(left.adjoint() * a, values * left.adjoint()) < bound(dtype));
      Tensors schur = kernels::schur(x, /*vectors=*/true);
      Matrix t(schur[0]), z(schur[1]);
      CHECK(apart(z * t * z.adjoint(), a) < bound(dtype));
      Matrix sum = a, adjoint = a.adjoint();
      Tensor hermitian = x;
      hermitian.makeUnique();
      for (size_t i = 0; i < sum.data.size(); ++i)
        sum.data[i] = (sum.data[i] + adjoint.data[i]) / 2.0;
      dispatch(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        for (auto [to, from] : llvm::zip_equal(hermitian.fill<T>(), sum.data)) {
          if constexpr (isComplexElement<T>)
            to = T(from);
          else if constexpr (isFloatElement<T>)
            to = T(from.real());
        }
      });
      for (bool lower : {true, false}) {
        Tensors eigh = kernels::eigh(hermitian, lower);
        Matrix v(eigh[0]);
        CHECK(apart(sum * v, v * Matrix::diagonal(eigh[1])) < bound(dtype));
        CHECK(apart(v.adjoint() * v, identity(n)) < bound(dtype));
      }
    }
}

TEST_CASE("a Fourier transform and its inverse give what was there") {
  for (int64_t n : {1, 2, 3, 7, 16, 60, 97}) {
    Tensor x = draw(DType::C128, {n, 2});
    Tensor there = kernels::fft(x, kernels::FftKind::Fft, {n, 2}, DType::C128);
    Tensor back =
        kernels::fft(there, kernels::FftKind::Ifft, {n, 2}, DType::C128);
    CHECK(apart(Matrix(back), Matrix(x)) < 1e-13);
    Tensor real = draw(DType::F64, {3, n});
    Tensor half = kernels::fft(real, kernels::FftKind::Rfft, n, DType::C128);
    CHECK(half.dim(1) == n / 2 + 1);
    CHECK(apart(Matrix(
                    kernels::fft(half, kernels::FftKind::Irfft, n, DType::F64)),
                Matrix(real)) < 1e-13);
    // The sum, by definition.
    for (int64_t k = 0; k < half.dim(1); ++k) {
      C128 sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += element(real, j) *
               std::polar(1.0, -2 * M_PI * static_cast<double>(j * k % n) /
                                   static_cast<double>(n));
      CHECK(std::abs(sum - element(half, k)) < 1e-12);
    }
  }
}
