// TensorTest.cpp - buffers, small floats, strided copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Tensor/Element.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace shardtype;

TEST_CASE("buffers are shared, counted and freed") {
  MemoryAccount *account = MemoryAccount::create();
  {
    MemoryAccount::Scope scope(account);
    Tensor a = Tensor::of<float>(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6});
    CHECK(account->current() == 24);
    CHECK(a.unique());
    Tensor b = a.reshaped({3, 2});
    CHECK_FALSE(a.unique());
    CHECK(b.sameMemory(a));
    b.makeUnique();
    CHECK(a.unique());
    CHECK(account->current() == 48);
    Tensor row = a.entry(1);
    CHECK(row.shape() == ArrayRef<int64_t>({3}));
    CHECK(row.as<float>() == ArrayRef<float>({4, 5, 6}));
  }
  CHECK(account->current() == 0);
  CHECK(account->peak() == 48);
  account->release();
}

TEST_CASE("sizes that do not fit are no sizes") {
  CHECK(countElements({2, 0, 3}) == 0);
  CHECK(countElements({}) == 1);
  CHECK_FALSE(countElements({int64_t(1) << 40, int64_t(1) << 40}));
  CHECK_FALSE(countElements({-1}));
  CHECK(countElements({int64_t(1) << 62, 0}) == 0);
}

/// Every pattern of a format goes to a value and back; values between two
/// neighbours go to the nearer one, halfway to the even one.
template <typename T> static void checkPatterns(unsigned count) {
  using Bits = decltype(T::bits);
  auto make = [](uint32_t bits) {
    T value;
    value.bits = static_cast<Bits>(bits);
    return value;
  };
  for (uint32_t bits = 0; bits < count; ++bits) {
    float value = make(bits);
    if (std::isnan(value)) {
      CHECK(std::isnan(static_cast<float>(T(value))));
      continue;
    }
    CHECK(T(value).bits == bits);
    CHECK(T(static_cast<double>(value)).bits == bits);
    if (bits + 1 == count / 2)
      continue; // The last without a sign.
    float next = make(bits + 1);
    if (!std::isfinite(next) || std::signbit(next) != std::signbit(value))
      continue;
    double middle = (static_cast<double>(value) + next) / 2;
    uint32_t even = bits & 1 ? bits + 1 : bits;
    CHECK(T(middle).bits == even);
    CHECK(T(static_cast<float>(middle)).bits == even);
    CHECK(T(std::nextafter(middle, double(value))).bits == bits);
    CHECK(T(std::nextafter(middle, double(next))).bits == bits + 1);
  }
}

TEST_CASE("small floats round to nearest even", "[exhaustive]") {
  checkPatterns<F8E3M4>(256);
  checkPatterns<F8E4M3>(256);
  checkPatterns<F8E4M3B11FNUZ>(256);
  checkPatterns<F8E4M3FN>(256);
  checkPatterns<F8E4M3FNUZ>(256);
  checkPatterns<F8E5M2>(256);
  checkPatterns<F8E5M2FNUZ>(256);
  checkPatterns<F4E2M1FN>(16);
  checkPatterns<F6E2M3FN>(64);
  checkPatterns<F6E3M2FN>(64);
  checkPatterns<F16>(65536);
  checkPatterns<BF16>(65536);
}

TEST_CASE("what small floats do beyond their range (spec 09, 4)") {
  float inf = INFINITY, nan = NAN;
  CHECK(float(F8E4M3FN(464.f)) == 448);
  CHECK(std::isnan(float(F8E4M3FN(465.f))));
  CHECK(std::isnan(float(F8E4M3FN(inf))));
  CHECK(float(F8E5M2(61439.f)) == 57344);
  CHECK(float(F8E5M2(61440.f)) == inf);
  CHECK(std::isnan(float(F8E4M3FNUZ(-inf))));
  CHECK(F8E4M3FNUZ(-0.f).bits == 0);
  CHECK(F8E5M2FNUZ(-1e-30f).bits == 0);
  CHECK(float(F8E8M0FNU(7.f)) == 8);
  CHECK(float(F8E8M0FNU(.3f)) == .25f);
  CHECK(std::isnan(float(F8E8M0FNU(0.f))));
  CHECK(std::isnan(float(F8E8M0FNU(-1.f))));
  CHECK(float(F4E2M1FN(inf)) == 6);
  CHECK(float(F4E2M1FN(-1e9f)) == -6);
  CHECK(F4E2M1FN(nan).bits == 8);
  CHECK(float(F16(65519.f)) == 65504);
  CHECK(float(F16(65520.f)) == inf);
  CHECK(std::isnan(float(F16(nan))));
  CHECK(std::isnan(float(BF16(nan))));
  CHECK(float(BF16(257.f)) == 256);
  // Once, not through f32.
  CHECK(float(BF16(1 + 0x1p-8 + 0x1p-40)) == 1.0078125f);
}

TEST_CASE("small integers wrap") {
  CHECK(Int4(8) == -8);
  CHECK(Int4(-9) == 7);
  CHECK(UInt4(17) == 1);
  CHECK(Int2(2) == -2);
  CHECK(UInt2(-1) == 3);
}

TEST_CASE("blocks are cut out and put back") {
  Tensor a = Tensor::uninitialised(DType::I32, {4, 3, 5});
  for (auto [i, x] : llvm::enumerate(a.fill<int32_t>()))
    x = static_cast<int32_t>(i);
  Tensor block = kernels::blockOf(a, {1, 0, 2}, {2, 3, 2});
  int64_t at = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k)
        CHECK(block.as<int32_t>()[at++] == (1 + i) * 15 + j * 5 + 2 + k);
  Tensor zeros = Tensor::zeros(DType::I32, {4, 3, 5});
  kernels::putBlock(zeros, {1, 0, 2}, block);
  int64_t same = 0, zero = 0;
  for (int64_t i = 0; i < 60; ++i) {
    same += zeros.as<int32_t>()[i] == i;
    zero += zeros.as<int32_t>()[i] == 0;
  }
  CHECK(same == 12 + 1); // Element 0 is 0 in both.
  CHECK(zero == 48);
}

TEST_CASE("a block that is contiguous can share the array's memory") {
  Tensor whole = Tensor::uninitialised(DType::I32, {3, 4, 2});
  for (auto [i, x] : llvm::enumerate(whole.fill<int32_t>()))
    x = static_cast<int32_t>(i);
  unsigned shared = 0;
  for (int64_t a = 1; a <= 3; ++a)
    for (int64_t b = 1; b <= 4; ++b)
      for (int64_t c = 1; c <= 2; ++c) {
        SmallVector<int64_t, 3> starts = {3 - a, 4 - b, 2 - c},
                                sizes = {a, b, c};
        Tensor part = kernels::viewOf(whole, starts, sizes);
        Tensor copy = kernels::blockOf(whole, starts, sizes);
        auto elements = copy.as<int32_t>();
        bool isRun = elements.back() - elements.front() == copy.size() - 1;
        CHECK(part.unique() == !isRun);
        shared += isRun;
        CHECK(part.as<int32_t>() == elements);
        CHECK(part.shape() == copy.shape());
      }
  CHECK(shared == 3 + 3 + 1); // Whole rows, rows of one matrix, one element.
}

TEST_CASE("strided copies transpose and broadcast") {
  Tensor a = Tensor::of<int16_t>(DType::I16, {2, 3}, {1, 2, 3, 4, 5, 6});
  Tensor t = Tensor::uninitialised(DType::I16, {3, 2});
  kernels::copyStrided(t.mutableData(), {2, 1}, a.data(), {1, 3}, {3, 2}, 2);
  CHECK(t.as<int16_t>() == ArrayRef<int16_t>({1, 4, 2, 5, 3, 6}));
  Tensor b = Tensor::uninitialised(DType::I16, {2, 3, 2});
  kernels::copyStrided(b.mutableData(), {6, 2, 1}, a.data(), {3, 1, 0},
                       {2, 3, 2}, 2);
  CHECK(b.as<int16_t>() ==
        ArrayRef<int16_t>({1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}));
}
