// KernelsTest.cpp - kernels where no recorded case reaches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What JAX computes is in test/oracle/numbers. Here are in-place results, the
// definitions that JAX departs from, the old scheme of random bits, and special
// functions against values of SciPy.
#include "shardtype/Kernels/Binary.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Kernels/Random.h"
#include "shardtype/Kernels/Reduce.h"
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Kernels/Unary.h"
#include "shardtype/Tensor/Element.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace shardtype;
using namespace shardtype::kernels;

static Tensor f32(std::initializer_list<float> values) {
  return Tensor::of<float>(DType::F32, {static_cast<int64_t>(values.size())},
                           ArrayRef<float>(values.begin(), values.size()));
}
static Tensor f64(double value) {
  return Tensor::scalar<double>(DType::F64, value);
}
static double of(UnaryOp op, double x) {
  return unary(op, f64(x)).item<double>();
}
static double of(BinaryOp op, double a, double b) {
  return binary(op, f64(a), f64(b)).item<double>();
}

TEST_CASE("results reuse memory that nothing else shares") {
  Tensor x = f32({1, 2, 3}), kept = x;
  const std::byte *place = x.data();
  Tensor fresh = unary(UnaryOp::Neg, x);
  CHECK(fresh.data() != place);
  CHECK(kept.as<float>() == ArrayRef<float>({1, 2, 3}));
  kept = Tensor();
  Tensor same = unary(UnaryOp::Neg, std::move(x));
  CHECK(same.data() == place);
  CHECK(same.as<float>() == ArrayRef<float>({-1, -2, -3}));
  // The second operand's memory, where the first is shared.
  Tensor lhs = f32({10, 20, 30}), hold = lhs;
  Tensor sum = binary(BinaryOp::Add, lhs, std::move(same));
  CHECK(sum.data() == place);
  CHECK(sum.as<float>() == ArrayRef<float>({9, 18, 27}));
  CHECK(hold.as<float>() == ArrayRef<float>({10, 20, 30}));
}

TEST_CASE("single elements and dims of size 1 stand for all") {
  Tensor one = Tensor::scalar<float>(DType::F32, 2);
  Tensor row = f32({1, 2, 3}).reshaped({1, 3});
  Tensor column = f32({10, 20}).reshaped({2, 1});
  CHECK(binary(BinaryOp::Mul, one, row).as<float>() ==
        ArrayRef<float>({2, 4, 6}));
  CHECK(binary(BinaryOp::Sub, column, row).as<float>() ==
        ArrayRef<float>({9, 8, 7, 19, 18, 17}));
  CHECK(compare(CompareOp::Lt, row, one).as<bool>() ==
        ArrayRef<bool>({true, false, false}));
}

TEST_CASE("operands of a polynomial broadcast as NumPy's do") {
  // 1 x + 2 and 10 x + 20, at 0 and 1.
  Tensor x = f32({0, 1}).reshaped({2, 1});
  Tensor low = f32({10, 20}).reshaped({1, 2}),
         high = f32({1, 2}).reshaped({1, 2});
  CHECK(polynomial(x, {&low, &high}, {2, 2}).as<float>() ==
        ArrayRef<float>({10, 20, 11, 22}));
  // A coefficient of more dims than x.
  Tensor two = Tensor::scalar<float>(DType::F32, 2);
  Tensor many = f32({1, 2, 3});
  CHECK(polynomial(two, {&many, &many}, {3}).as<float>() ==
        ArrayRef<float>({3, 6, 9}));
  CHECK(polynomial(many, {&two}, {3}).as<float>() ==
        ArrayRef<float>({2, 2, 2}));
}

TEST_CASE("long arrays go through chunks and vector loops alike") {
  // 1,000 elements of each float type against one at a time.
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    Tensor x = convert(iota(DType::I32, {1000}, 0), dtype);
    Tensor third = convert(Tensor::scalar<float>(DType::F32, 3), dtype);
    for (BinaryOp op : {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,
                        BinaryOp::Div, BinaryOp::Max, BinaryOp::Min}) {
      Tensor all = convert(binary(op, x, third), DType::F64);
      for (int64_t i : {0, 1, 255, 256, 511, 999}) {
        Tensor single = convert(binary(op, x.entry(i), third), DType::F64);
        CHECK(all.entry(i).item<double>() == single.item<double>());
      }
    }
  }
}

TEST_CASE("transposes go through tiles of every shape") {
  for (auto [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 5}, {16, 16}, {17, 33}, {50, 3}}) {
    Tensor x = iota(DType::I32, {rows * columns * 2}, 0);
    Tensor turned = transpose(x.reshaped({rows, 2, columns}), {2, 1, 0});
    ArrayRef<int32_t> to = turned.as<int32_t>();
    bool right = true;
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = 0; k < 2; ++k)
        for (int64_t c = 0; c < columns; ++c)
          right &= to[static_cast<size_t>((c * 2 + k) * rows + r)] ==
                   (r * 2 + k) * columns + c;
    CHECK(right);
  }
}

TEST_CASE("bits of many numbers are those of one at a time") {
  Tensor key = keysOfSeeds(Tensor::scalar<int32_t>(DType::I32, 7));
  Words words = key.as<Words>()[0];
  Tensor bits = randomBits(key, 32, {700}, true);
  bool right = true;
  for (uint32_t i = 0; i < 700; ++i) {
    Words hash = threefry(words, {0, i});
    right &= bits.as<uint32_t>()[i] == (hash.high ^ hash.low);
  }
  CHECK(right);
}

TEST_CASE("extremes of long rows are those of short ones") {
  // 300 elements along the last dim, with the extreme in each place; and NaN.
  for (int64_t place : {0, 63, 64, 150, 255, 256, 299}) {
    Tensor x = Tensor::zeros(DType::F32, {2, 300});
    x.fill<float>()[static_cast<size_t>(300 + place)] = 5;
    CHECK(reduce(ReduceOp::Max, x, {1}).as<float>() == ArrayRef<float>({0, 5}));
    CHECK(reduce(ReduceOp::Max, transpose(x, {1, 0}), {0}).as<float>() ==
          ArrayRef<float>({0, 5}));
    CHECK(reduce(ReduceOp::Min, unary(UnaryOp::Neg, x), {1}).as<float>() ==
          ArrayRef<float>({0, -5}));
    x.fill<float>()[static_cast<size_t>(place)] = NAN;
    Tensor most = reduce(ReduceOp::Max, x, {1});
    CHECK(std::isnan(most.as<float>()[0]));
    CHECK(most.as<float>()[1] == 5);
  }
}

TEST_CASE("denormals are kept, or flushed where that is asked for") {
  Tensor tiny = f32({1e-40f, -1e-40f, 1e-30f});
  Tensor ones = f32({1, 1, 1});
  CHECK(binary(BinaryOp::Mul, tiny, ones).as<float>() ==
        ArrayRef<float>({1e-40f, -1e-40f, 1e-30f}));
  CHECK(unary(UnaryOp::Log, tiny).as<float>()[0] ==
        Approx(-92.1034f).epsilon(1e-5));
  Tensor zeros = flushDenormals(tiny);
  CHECK(zeros.as<float>()[0] == 0);
  CHECK(std::signbit(zeros.as<float>()[1]));
  CHECK(zeros.as<float>()[2] == 1e-30f);
  CHECK(tiny.as<float>()[0] == 1e-40f);
}

TEST_CASE("conversions round once") {
  // Through f32 these would be 1 and 2^40.
  Tensor wide = f64(1 + 0x1p-8 + 0x1p-40);
  CHECK(float(convert(wide, DType::BF16).item<BF16>()) == 1.0078125f);
  int64_t whole = (int64_t(1) << 40) + (int64_t(1) << 32) + 1;
  Tensor integer = Tensor::scalar<int64_t>(DType::I64, whole);
  CHECK(float(convert(integer, DType::BF16).item<BF16>()) == 0x1p40f + 0x1p33f);
  // The last bit of 2^62 + 2^54 + 1 decides, though no double holds it.
  whole = (int64_t(1) << 62) + (int64_t(1) << 54) + 1;
  integer = Tensor::scalar<int64_t>(DType::I64, whole);
  CHECK(float(convert(integer, DType::BF16).item<BF16>()) == 0x1p62f + 0x1p55f);
}

TEST_CASE("poles and NaNs follow the definition") {
  CHECK(of(UnaryOp::Digamma, -0.0) == INFINITY);
  CHECK(of(UnaryOp::Digamma, 0.0) == -INFINITY);
  CHECK(std::isnan(of(UnaryOp::Digamma, -3.0)));
  CHECK(std::isnan(of(BinaryOp::Max, NAN, 1.0)));
  CHECK(std::isnan(of(BinaryOp::Min, 1.0, NAN)));
  CHECK(std::signbit(of(BinaryOp::Min, 0.0, -0.0)));
  CHECK_FALSE(std::signbit(of(BinaryOp::Max, -0.0, 0.0)));
  CHECK(of(UnaryOp::Exp2, 10.0) == 1024);
}

TEST_CASE("special functions agree with SciPy") {
  auto near = [](double value) { return Approx(value).epsilon(1e-8); };
  CHECK(of(UnaryOp::Digamma, 0.25) == near(-4.22745353));
  CHECK(of(UnaryOp::Digamma, 7.5) == near(1.94675748));
  CHECK(of(UnaryOp::BesselI0e, 1000.0) == Approx(0.01261724).epsilon(1e-6));
  CHECK(of(UnaryOp::BesselI1e, -0.5) == Approx(-0.1564208).epsilon(1e-6));
  CHECK(of(UnaryOp::ErfInv, 0.75) == near(0.8134198475976184));
  CHECK(of(BinaryOp::Polygamma, 3, 1.5) == near(1.4090910340024367));
  CHECK(of(BinaryOp::Zeta, 2.5, 0.75) == near(2.4915423855119343));
  CHECK(of(BinaryOp::Igamma, 2.5, 1.25) == near(0.22350492887667728));
  CHECK(of(BinaryOp::IgammaGradA, 2.5, 1.25) == near(-0.22266347154270558));
  CHECK(std::fabs(of(BinaryOp::IgammaGradA, 3, 60)) < 1e-20);
  CHECK(incompleteBeta(f64(0.5), f64(2.5), f64(0.3)).item<double>() ==
        near(0.7968893362799453));
}

TEST_CASE("the igamma gradient's two ways meet") {
  // By quadrature beyond x = 40 and a + 8 sqrt(a), by the series before.
  double below = of(BinaryOp::IgammaGradA, 9.0, 39.9999);
  double above = of(BinaryOp::IgammaGradA, 9.0, 40.0001);
  CHECK(below < 0);
  CHECK(above == Approx(below).epsilon(1e-3));
}

TEST_CASE("the scheme before the partitionable one, as JAX has it") {
  // jax.threefry_partitionable(False), jax.random.key(42).
  Tensor key = keysOfSeeds(Tensor::scalar<int32_t>(DType::I32, 42));
  CHECK(splitKeys(key, {3}, false).as<uint32_t>() ==
        ArrayRef<uint32_t>({3134548294u, 3733159049u, 3746501087u, 894150801u,
                            801545058u, 2363201431u}));
  CHECK(randomBits(key, 8, {5}, false).as<uint8_t>() ==
        ArrayRef<uint8_t>({45, 179, 215, 3, 244}));
  CHECK(randomBits(key, 16, {5}, false).as<uint16_t>() ==
        ArrayRef<uint16_t>({8426, 37627, 63599, 6563, 55571}));
  CHECK(randomBits(key, 32, {5}, false).as<uint32_t>() ==
        ArrayRef<uint32_t>(
            {3134548294u, 3733159049u, 843694964u, 894150801u, 801545058u}));
  CHECK(randomBits(key, 64, {5}, false).as<uint64_t>() ==
        ArrayRef<uint64_t>({11878554724538143822u, 5949366705374003258u,
                            3569329351199305345u, 16352916591564049101u,
                            15533732488544181321u}));
}

TEST_CASE("keys are words that can be looked at and compared") {
  Tensor keys =
      splitKeys(keysOfSeeds(Tensor::scalar<int32_t>(DType::I32, 1)), {2}, true);
  Tensor other = concatenate({&keys, &keys}, 0);
  CHECK(other.shape() == ArrayRef<int64_t>({4}));
  Tensor same = compare(CompareOp::Eq, other, reverse(other, {0}));
  CHECK(same.as<bool>() == ArrayRef<bool>({false, false, false, false}));
  CHECK(compare(CompareOp::Eq, keys, keys).as<bool>() ==
        ArrayRef<bool>({true, true}));
}
