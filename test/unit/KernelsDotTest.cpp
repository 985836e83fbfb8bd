// KernelsDotTest.cpp - products and convolutions against plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Conv.h"
#include "shardtype/Kernels/Dot.h"
#include "llvm/ADT/Sequence.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace shardtype;

using Dims = SmallVector<int64_t, 6>;

namespace {
/// Small whole numbers: sums of their products are exact in any order.
struct Draw {
  std::mt19937 engine{7};
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % (high - low + 1));
  }
  Tensor array(ArrayRef<int64_t> shape) {
    Tensor x = Tensor::uninitialised(DType::F32, shape);
    for (float &value : x.fill<float>())
      value = static_cast<float>(number(-3, 3));
    return x;
  }
};

/// Calls `f` with every index of a shape.
template <typename F> void each(ArrayRef<int64_t> shape, F &&f) {
  if (llvm::is_contained(shape, 0))
    return;
  Dims index(shape.size());
  while (true) {
    f(ArrayRef<int64_t>(index));
    unsigned d = shape.size();
    for (; d > 0; --d) {
      if (++index[d - 1] < shape[d - 1])
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

float at(const Tensor &x, ArrayRef<int64_t> index) {
  auto strides = rowMajorStrides(x.shape());
  int64_t position = 0;
  for (auto [i, s] : llvm::zip_equal(index, strides))
    position += i * s;
  return x.as<float>()[position];
}

/// Which dims of both sides are what.
struct Numbers {
  Dims lhsContract, rhsContract, lhsBatch, rhsBatch, lhsFree, rhsFree;
};
} // namespace

static std::vector<float> plainDot(const Tensor &lhs, const Tensor &rhs,
                                   const Numbers &n) {
  Dims outer, depth;
  for (int64_t d : n.lhsBatch)
    outer.push_back(lhs.dim(d));
  for (int64_t d : n.lhsFree)
    outer.push_back(lhs.dim(d));
  for (int64_t d : n.rhsFree)
    outer.push_back(rhs.dim(d));
  for (int64_t d : n.lhsContract)
    depth.push_back(lhs.dim(d));
  std::vector<float> out;
  each(outer, [&](ArrayRef<int64_t> o) {
    Dims l(lhs.rank()), r(rhs.rank());
    unsigned next = 0;
    for (auto [a, b] : llvm::zip_equal(n.lhsBatch, n.rhsBatch))
      l[a] = r[b] = o[next++];
    for (int64_t d : n.lhsFree)
      l[d] = o[next++];
    for (int64_t d : n.rhsFree)
      r[d] = o[next++];
    float sum = 0;
    each(depth, [&](ArrayRef<int64_t> k) {
      unsigned i = 0;
      for (auto [a, b] : llvm::zip_equal(n.lhsContract, n.rhsContract))
        l[a] = r[b] = k[i++];
      sum += at(lhs, l) * at(rhs, r);
    });
    out.push_back(sum);
  });
  return out;
}

TEST_CASE("products of any dims are those of plain loops", "[exhaustive]") {
  Draw draw;
  constexpr int64_t Sizes[] = {1, 2, 3, 5, 0};
  for (int round = 0; round < 1000; ++round) {
    unsigned batch = draw.number(0, 2), contract = draw.number(0, 2);
    unsigned lhsFree = draw.number(0, 2), rhsFree = draw.number(0, 2);
    // Mostly none is empty.
    auto size = [&] { return Sizes[draw.number(0, round % 8 ? 3 : 4)]; };
    Dims shared;
    for (unsigned i = 0; i < batch + contract; ++i)
      shared.push_back(size());
    auto side = [&](unsigned free, Dims &shape, Dims &places) {
      unsigned rank = batch + contract + free;
      for (int64_t d : llvm::seq<int64_t>(0, rank))
        places.push_back(d);
      std::shuffle(places.begin(), places.end(), draw.engine);
      shape.resize(rank);
      for (unsigned i = 0; i < rank; ++i)
        shape[places[i]] = i < shared.size() ? shared[i] : size();
    };
    Dims lhsShape, rhsShape, l, r;
    side(lhsFree, lhsShape, l);
    side(rhsFree, rhsShape, r);
    Numbers n;
    auto part = [](const Dims &all, unsigned begin, unsigned count) {
      return Dims(ArrayRef<int64_t>(all).slice(begin, count));
    };
    n.lhsBatch = part(l, 0, batch);
    n.rhsBatch = part(r, 0, batch);
    n.lhsContract = part(l, batch, contract);
    n.rhsContract = part(r, batch, contract);
    n.lhsFree = part(l, batch + contract, lhsFree);
    n.rhsFree = part(r, batch + contract, rhsFree);
    llvm::sort(n.lhsFree);
    llvm::sort(n.rhsFree);
    Tensor lhs = draw.array(lhsShape), rhs = draw.array(rhsShape);
    Tensor product = kernels::dotGeneral(
        lhs, rhs, {n.lhsContract, n.rhsContract, n.lhsBatch, n.rhsBatch},
        DType::F32);
    REQUIRE(product.as<float>().vec() == plainDot(lhs, rhs, n));
  }
}

TEST_CASE("matrices of any layout are multiplied by BLAS as by hand") {
  Draw draw;
  for (auto [m, k, n] : {std::tuple(40, 30, 20),
                         {1, 300, 7},
                         {300, 9, 1},
                         {1, 500, 1},
                         {60, 1, 70},
                         {129, 2, 3}})
    for (bool lhsTurned : {false, true})
      for (bool rhsTurned : {false, true}) {
        Tensor lhs = draw.array(lhsTurned ? ArrayRef<int64_t>({k, m})
                                          : ArrayRef<int64_t>({m, k}));
        Tensor rhs = draw.array(rhsTurned ? ArrayRef<int64_t>({n, k})
                                          : ArrayRef<int64_t>({k, n}));
        Numbers numbers{{lhsTurned ? 0 : 1}, {rhsTurned ? 1 : 0}, {}, {},
                        {lhsTurned ? 1 : 0}, {rhsTurned ? 0 : 1}};
        Tensor product = kernels::dotGeneral(
            lhs, rhs, {numbers.lhsContract, numbers.rhsContract, {}, {}},
            DType::F32);
        REQUIRE(product.as<float>().vec() == plainDot(lhs, rhs, numbers));
      }
}

/// One spatial dim, (n, c, x) and (o, i, k).
static std::vector<float> plainConv(const Tensor &lhs, const Tensor &rhs,
                                    const kernels::ConvNumbers &n,
                                    ArrayRef<int64_t> shape) {
  std::vector<float> out;
  int64_t groups = n.featureGroups, parts = n.batchGroups;
  each(shape, [&](ArrayRef<int64_t> o) {
    int64_t perGroup = shape[1] / groups, perPart = shape[1] / parts;
    int64_t batch = o[0] + o[1] / perPart * shape[0];
    float sum = 0;
    each(rhs.shape().drop_front(), [&](ArrayRef<int64_t> ik) {
      int64_t x = o[2] * n.strides[0] + ik[1] * n.rhsDilation[0] - n.padLow[0];
      if (x < 0 || x % n.lhsDilation[0] || x / n.lhsDilation[0] >= lhs.dim(2))
        return;
      int64_t channel = o[1] / perGroup * rhs.dim(1) + ik[0];
      sum += at(lhs, {batch, channel, x / n.lhsDilation[0]}) *
             at(rhs, {o[1], ik[0], ik[1]});
    });
    out.push_back(sum);
  });
  return out;
}

/// A product of f32 whose dims are (rows or k) and (k or columns).
static Tensor product(const Tensor &a, const Tensor &b, int64_t aContract,
                      int64_t bContract) {
  Dims aDims = {aContract}, bDims = {bContract};
  return kernels::dotGeneral(a, b, {aDims, bDims, {}, {}}, DType::F32);
}

TEST_CASE("short sums are added in order, whichever operand is first") {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  auto array = [&](int64_t first, int64_t second) {
    Tensor x = Tensor::uninitialised(DType::F32, {first, second});
    for (float &value : x.fill<float>())
      value = normal(engine);
    return x;
  };
  for (int64_t k = 1; kernels::sumsInOrder(k); ++k)
    for (int64_t m : {1, 2, 7, 40})
      for (int64_t n : {1, 3, 8, 45})
        for (int64_t layout = 0; layout < 4; ++layout) {
          int64_t i = layout & 1, j = layout >> 1; // The dims that are summed.
          Tensor a = i ? array(m, k) : array(k, m);
          Tensor b = j ? array(n, k) : array(k, n);
          Tensor c = product(a, b, i, j), turned = product(b, a, j, i);
          unsigned wrong = 0;
          each({m, n}, [&](ArrayRef<int64_t> index) {
            int64_t x = index[0], y = index[1];
            float sum = 0;
            for (int64_t t = 0; t < k; ++t)
              sum = std::fma(i ? at(a, {x, t}) : at(a, {t, x}),
                             j ? at(b, {y, t}) : at(b, {t, y}), sum);
            wrong += at(c, {x, y}) != at(turned, {y, x});
            // The smallest are not fused.
            wrong += m * n * k > 128 && at(c, {x, y}) != sum;
          });
          CHECK(wrong == 0);
        }
}

TEST_CASE("convolutions are those of plain loops") {
  Draw draw;
  const int64_t spec[] = {0, 1, 2};
  for (int round = 0; round < 250; ++round) {
    int64_t groups = draw.number(1, 3),
            parts = groups > 1 ? 1 : draw.number(1, 2);
    int64_t in = draw.number(1, 3), each = draw.number(1, 2),
            taps = draw.number(1, 3);
    int64_t stride = draw.number(1, 2), holes = draw.number(1, 2);
    int64_t spread = draw.number(1, 2), low = draw.number(-1, 2),
            high = draw.number(0, 2);
    int64_t length = draw.number(2, 6);
    Tensor lhs = draw.array({parts * draw.number(1, 2), in * groups, length});
    Tensor rhs = draw.array({each * groups * parts, in, taps});
    int64_t padded = (length - 1) * holes + 1 + low + high;
    int64_t reach = (taps - 1) * spread + 1;
    int64_t places = padded < reach ? 0 : (padded - reach) / stride + 1;
    int64_t shape[] = {lhs.dim(0) / parts, rhs.dim(0), places};
    kernels::ConvNumbers n{spec,   spec, spec,   stride, holes,
                           spread, low,  groups, parts};
    Tensor result = kernels::convolution(lhs, rhs, n, DType::F32, shape);
    REQUIRE(result.as<float>().vec() == plainConv(lhs, rhs, n, shape));
  }
}
