// Cumulative.cpp - sums, products and extremes of all elements up to each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Steps.h"
#include "shardtype/Kernels/Blocks.h"

using namespace shardtype;
using namespace shardtype::kernels;

/// Tiles of 16, each from its first element; the totals of the tiles are
/// cumulated by the same rule and added to the tiles behind. `x` is replaced.
template <typename T, typename Combine>
static void forward(MutableArrayRef<T> x, T identity, Combine combine) {
  constexpr size_t tile = 16;
  size_t tiles = (x.size() + tile - 1) / tile;
  SmallVector<T, 16> totals(tiles);
  for (size_t t = 0; t < tiles; ++t) {
    T sum = identity;
    for (size_t i = t * tile; i < std::min((t + 1) * tile, x.size()); ++i)
      x[i] = sum = combine(sum, x[i]);
    totals[t] = sum;
  }
  if (tiles < 2)
    return;
  forward(MutableArrayRef<T>(totals), identity, combine);
  for (size_t i = tile; i < x.size(); ++i)
    x[i] = combine(x[i], totals[i / tile - 1]);
}

/// The same from the end: inside of a tile, x_i + x_{i+1} + ... from i upwards.
template <typename T, typename Combine>
static void backward(MutableArrayRef<T> x, T identity, Combine combine) {
  constexpr size_t tile = 16;
  size_t tiles = (x.size() + tile - 1) / tile;
  SmallVector<T, 16> totals(tiles);
  for (size_t t = 0; t < tiles; ++t) {
    size_t begin = t * tile, end = std::min(begin + tile, x.size());
    for (size_t i = begin; i < end; ++i) {
      T sum = identity;
      for (size_t k = i; k < end; ++k)
        sum = combine(sum, x[k]);
      x[i] = sum;
    }
    totals[t] = x[begin];
  }
  if (tiles < 2)
    return;
  backward(MutableArrayRef<T>(totals), identity, combine);
  for (size_t i = 0; i < (tiles - 1) * tile; ++i)
    x[i] = combine(x[i], totals[i / tile + 1]);
}

/// log(e^a + e^b), which does not overflow.
template <typename C> static C logAddExp(C a, C b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  C most = std::max(a, b), least = std::min(a, b);
  if (std::isinf(most))
    return most;
  return static_cast<C>(static_cast<double>(most) +
                        std::log1p(std::exp(static_cast<double>(least) -
                                            static_cast<double>(most))));
}

template <CumulativeOp Op, typename T>
static void line(MutableArrayRef<T> x, bool reverse) {
  if constexpr (Op == CumulativeOp::LogSumExp) {
    using C = ComputeType<T>;
    size_t n = x.size();
    for (size_t i = 1; i < n; ++i) {
      size_t at = reverse ? n - 1 - i : i, before = reverse ? at + 1 : at - 1;
      x[at] = T(logAddExp(static_cast<C>(x[before]), static_cast<C>(x[at])));
    }
  } else {
    constexpr ReduceOp reduce = Op == CumulativeOp::Sum    ? ReduceOp::Sum
                                : Op == CumulativeOp::Prod ? ReduceOp::Prod
                                : Op == CumulativeOp::Max  ? ReduceOp::Max
                                                           : ReduceOp::Min;
    T identity = identityOf<reduce, T>();
    if (reverse)
      backward<T>(x, identity, combine<reduce, T>);
    else
      forward<T>(x, identity, combine<reduce, T>);
  }
}

template <CumulativeOp Op, typename T>
static void along(const Tensor &x, Tensor &to, int64_t axis, bool reverse) {
  int64_t inner = 1, length = x.dim(static_cast<unsigned>(axis));
  for (int64_t size : x.shape().drop_front(static_cast<size_t>(axis) + 1))
    inner *= size;
  const T *from = x.as<T>().data();
  T *out = to.fill<T>().data();
  std::vector<T> run(static_cast<size_t>(length));
  for (int64_t i = 0, lines = length ? x.size() / length : 0; i < lines; ++i) {
    int64_t begin = i / inner * inner * length + i % inner;
    for (int64_t k = 0; k < length; ++k)
      run[static_cast<size_t>(k)] = from[begin + k * inner];
    line<Op, T>(run, reverse);
    for (int64_t k = 0; k < length; ++k)
      out[begin + k * inner] = run[static_cast<size_t>(k)];
  }
}

template <CumulativeOp Op>
static Tensor run(const Tensor &x, int64_t axis, bool reverse) {
  Tensor to = Tensor::uninitialised(x.dtype(), x.shape());
  auto typed = [&](auto tag) {
    along<Op, typename decltype(tag)::type>(x, to, axis, reverse);
  };
  if constexpr (Op == CumulativeOp::LogSumExp)
    dispatchFloat(x.dtype(), typed);
  else
    dispatchNumber(x.dtype(), typed);
  return to;
}

Tensor kernels::cumulative(CumulativeOp op, const Tensor &x, int64_t axis,
                           bool reverse) {
  switch (op) {
  case CumulativeOp::Sum:
    return run<CumulativeOp::Sum>(x, axis, reverse);
  case CumulativeOp::Prod:
    return run<CumulativeOp::Prod>(x, axis, reverse);
  case CumulativeOp::Max:
    return run<CumulativeOp::Max>(x, axis, reverse);
  case CumulativeOp::Min:
    return run<CumulativeOp::Min>(x, axis, reverse);
  case CumulativeOp::LogSumExp:
    return run<CumulativeOp::LogSumExp>(x, axis, reverse);
  }
  llvm_unreachable("all operations are listed");
}
