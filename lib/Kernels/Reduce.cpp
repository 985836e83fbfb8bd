// Reduce.cpp - reductions in JAX's order, argmax and argmin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Reduce.h"
#include "Steps.h"
#include "Vector.h"
#include "shardtype/Kernels/Convert.h"

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
/// One pass: dim d is cut into windows of `window[d]`, of which the first is
/// short by `front[d]`; each window becomes one element.
struct Pass {
  SmallVector<int64_t, 6> window, front, outShape;
};
} // namespace

/// Long dims are summed by windows of 32, padded on both sides; what is left is
/// summed whole.
static Pass passFor(ArrayRef<int64_t> shape, ArrayRef<bool> reduced,
                    bool tiled) {
  constexpr int64_t tile = 32;
  Pass pass;
  bool anyLong = false;
  for (auto [size, isReduced] : llvm::zip_equal(shape, reduced))
    anyLong |= tiled && isReduced && size > tile;
  for (auto [size, isReduced] : llvm::zip_equal(shape, reduced)) {
    int64_t window = !isReduced               ? 1
                     : anyLong && size > tile ? tile
                                              : std::max<int64_t>(size, 1);
    int64_t windows = !isReduced ? size : (size + window - 1) / window;
    if (isReduced && size == 0)
      windows = 1; // Of nothing: the identity.
    pass.window.push_back(window);
    pass.front.push_back((windows * window - size) / 2);
    pass.outShape.push_back(windows);
  }
  return pass;
}

/// Is the order free, and is there a loop for several instruction sets?
template <ReduceOp Op, typename T>
static constexpr bool isVectorExtreme =
    (Op == ReduceOp::Max || Op == ReduceOp::Min) &&
    (std::is_same_v<T, float> || std::is_same_v<T, double>);

/// `into[i]` combined with `from[i]`.
template <ReduceOp Op, typename T>
static void combineRow(T *into, const T *from, int64_t n) {
  if constexpr (isVectorExtreme<Op, T>) {
    const VectorLoops<T> &loops = vectorLoops<T>();
    (Op == ReduceOp::Max ? loops.binMax : loops.binMin)(into, into, from, n);
  } else {
    for (int64_t i = 0; i < n; ++i)
      into[i] = combine<Op>(into[i], from[i]);
  }
}

/// `sum` combined with all of a run, from left to right.
template <ReduceOp Op, typename T>
static T combineRun(T sum, const T *from, int64_t n) {
  if constexpr (isVectorExtreme<Op, T>) {
    constexpr int64_t lanes = 64;
    if (n >= 2 * lanes) { // Many extremes at once, then theirs.
      T best[lanes];
      std::copy_n(from, lanes, best);
      for (from += lanes, n -= lanes; n >= lanes; from += lanes, n -= lanes)
        combineRow<Op>(best, from, lanes);
      for (T each : best)
        sum = combine<Op>(sum, each);
    }
  }
  for (int64_t i = 0; i < n; ++i)
    sum = combine<Op>(sum, from[i]);
  return sum;
}

/// Elements are taken in row-major order, so each window's are as well.
template <ReduceOp Op, typename T>
static void runPass(const Tensor &x, const Pass &pass, Tensor &to) {
  T *out = to.fill<T>().data();
  const T *in = x.as<T>().data();
  std::fill_n(out, to.size(), identityOf<Op, T>());
  if (x.size() == 0)
    return;
  SmallVector<int64_t, 6> strides = rowMajorStrides(pass.outShape);
  unsigned rank = x.rank(), last = rank - 1;
  SmallVector<int64_t, 6> index(rank);
  int64_t length = x.dim(last), window = pass.window[last];
  while (true) {
    int64_t at = 0;
    for (unsigned d = 0; d < last; ++d)
      at += (index[d] + pass.front[d]) / pass.window[d] * strides[d];
    T *row = out + at;
    if (window == 1 && pass.outShape[last] == length) {
      combineRow<Op>(row, in, length);
    } else {
      int64_t end = window - pass.front[last];
      for (int64_t i = 0; i < length; ++row, end += window) {
        int64_t count = std::min(end, length) - i;
        *row = combineRun<Op>(*row, in + i, count);
        i += count;
      }
    }
    in += length;
    unsigned d = last;
    for (; d > 0; --d) {
      if (++index[d - 1] < x.dim(d - 1))
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

/// Neighbouring dims that are both kept, or both reduced where the order does
/// not depend on it, are one.
static void mergeDims(Shape &shape, SmallVectorImpl<bool> &reduced) {
  unsigned to = 0;
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (d && !reduced[d] && !reduced[to - 1])
      shape[to - 1] *= shape[d];
    else {
      shape[to] = shape[d];
      reduced[to++] = reduced[d];
    }
  }
  shape.resize(to);
  reduced.resize(to);
}

template <ReduceOp Op, typename T>
static Tensor reduceAll(Tensor x, SmallVector<bool, 6> reduced) {
  // Only of floats the order matters.
  constexpr bool tiled = (Op == ReduceOp::Sum || Op == ReduceOp::Prod) &&
                         (isFloatElement<T> || isComplexElement<T>);
  while (true) {
    Pass pass = passFor(x.shape(), reduced, tiled);
    Tensor to = Tensor::uninitialised(x.dtype(), pass.outShape);
    runPass<Op, T>(x, pass, to);
    x = std::move(to);
    bool done = true;
    for (unsigned d = 0; d < x.rank(); ++d)
      done &= !reduced[d] || x.dim(d) == 1;
    if (done)
      return x;
  }
}

Tensor kernels::reduce(ReduceOp op, const Tensor &x, ArrayRef<int64_t> dims) {
  SmallVector<bool, 6> reduced(x.rank());
  for (int64_t dim : dims)
    reduced[static_cast<size_t>(dim)] = true;
  SmallVector<int64_t, 6> kept;
  for (unsigned d = 0; d < x.rank(); ++d)
    if (!reduced[d])
      kept.push_back(x.dim(d));
  if (dims.empty())
    return x;
  Shape shape(x.shape().begin(), x.shape().end());
  mergeDims(shape, reduced);
  Tensor merged = x.reshaped(shape), result;
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto with = [&]<ReduceOp Op>() {
      if constexpr (combines<Op, T>)
        result = reduceAll<Op, T>(merged, reduced);
    };
    switch (op) {
    case ReduceOp::Sum:
      return with.template operator()<ReduceOp::Sum>();
    case ReduceOp::Prod:
      return with.template operator()<ReduceOp::Prod>();
    case ReduceOp::Max:
      return with.template operator()<ReduceOp::Max>();
    case ReduceOp::Min:
      return with.template operator()<ReduceOp::Min>();
    case ReduceOp::And:
      return with.template operator()<ReduceOp::And>();
    case ReduceOp::Or:
      return with.template operator()<ReduceOp::Or>();
    case ReduceOp::Xor:
      return with.template operator()<ReduceOp::Xor>();
    }
  });
  assert(result && "a reduction of a dtype it is not defined for");
  return result.reshaped(kept);
}

//===--- argmax, argmin ---------------------------------------------------===//

/// Does `a` come before `best` in the search for an extreme?
template <typename C> static bool beats(bool largest, C a, C best) {
  if constexpr (std::is_floating_point_v<C>) {
    if (best != best)
      return false;
    if (a != a)
      return true;
  }
  return largest ? a > best : a < best;
}

Tensor kernels::argExtreme(bool largest, const Tensor &x, int64_t dim,
                           DType dtype) {
  auto at = static_cast<unsigned>(dim);
  SmallVector<int64_t, 6> shape(x.shape().begin(), x.shape().end());
  shape.erase(shape.begin() + at);
  Tensor to = Tensor::uninitialised(DType::I64, shape);
  int64_t inner = 1, length = x.dim(at);
  for (int64_t size : x.shape().drop_front(at + 1))
    inner *= size;
  int64_t *out = to.fill<int64_t>().data();
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!isComplexElement<T>) {
      using C = ComputeType<T>;
      const T *in = x.as<T>().data();
      for (int64_t i = 0; i < to.size(); ++i) {
        const T *run = in + i / inner * inner * length + i % inner;
        C best = static_cast<C>(*run);
        out[i] = 0;
        for (int64_t k = 1; k < length; ++k) {
          C value = static_cast<C>(run[k * inner]);
          if (beats(largest, value, best)) {
            best = value;
            out[i] = k;
          }
        }
      }
    }
  });
  return convert(to, dtype);
}
