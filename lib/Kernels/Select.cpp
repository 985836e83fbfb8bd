// Select.cpp - choices and functions of three arrays, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BinaryScalars.h"
#include "Chunks.h"

using namespace shardtype;
using namespace shardtype::kernels;

/// The selector's case at each position, or of its one element.
static int64_t caseOf(const Tensor &which, int64_t i, int64_t cases) {
  int64_t chosen = which.dtype() == DType::Bool
                       ? which.as<bool>()[static_cast<size_t>(i)]
                       : which.as<int32_t>()[static_cast<size_t>(i)];
  return std::clamp<int64_t>(chosen, 0, cases - 1);
}

Tensor kernels::selectN(const Tensor &which, ArrayRef<const Tensor *> cases) {
  auto count = static_cast<int64_t>(cases.size());
  if (which.rank() == 0)
    return *cases[static_cast<size_t>(caseOf(which, 0, count))];
  Tensor to = Tensor::uninitialised(cases[0]->dtype(), cases[0]->shape());
  dispatchSize(itemSize(to.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *out = to.fill<T>().data();
    SmallVector<const T *, 4> from;
    for (const Tensor *value : cases)
      from.push_back(value->as<T>().data());
    int64_t size = to.size();
    if (count == 2 && which.dtype() == DType::Bool) {
      const bool *chosen = which.as<bool>().data();
      const T *no = from[0], *yes = from[1];
      for (int64_t i = 0; i < size; ++i)
        out[i] = chosen[i] ? yes[i] : no[i];
      return;
    }
    for (int64_t i = 0; i < size; ++i)
      out[i] = from[static_cast<size_t>(caseOf(which, i, count))][i];
  });
  return to;
}

Tensor kernels::clamp(const Tensor &low, Tensor x, const Tensor &high) {
  return binary(BinaryOp::Min, binary(BinaryOp::Max, std::move(x), low), high);
}

/// As NumPy broadcasts: dims are the last ones, and one of size 1 is all.
static Tensor broadcast(const Tensor &x, ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> padded(shape.size() - x.rank(), 1);
  llvm::append_range(padded, x.shape());
  return kernels::expanded(x.reshaped(padded), shape);
}

Tensor kernels::polynomial(const Tensor &x,
                           ArrayRef<const Tensor *> coefficients,
                           ArrayRef<int64_t> shape) {
  if (coefficients.empty())
    return Tensor::zeros(x.dtype(), shape);
  Tensor at = broadcast(x, shape);
  Tensor sum = broadcast(*coefficients.back(), shape);
  for (const Tensor *next : llvm::reverse(coefficients.drop_back()))
    sum = binary(BinaryOp::Add, binary(BinaryOp::Mul, std::move(sum), at),
                 broadcast(*next, shape));
  return sum;
}

Tensor kernels::incompleteBeta(const Tensor &a, const Tensor &b,
                               const Tensor &x) {
  SmallVector<int64_t, 6> shape = commonShape({&a, &b, &x});
  Tensor p = expanded(a, shape), q = expanded(b, shape), r = expanded(x, shape);
  Tensor to = Tensor::uninitialised(x.dtype(), shape);
  dispatchFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t size = to.size();
    std::array<Operand<T>, 3> from = {Operand<T>(p, size), Operand<T>(q, size),
                                      Operand<T>(r, size)};
    mapElements<T>(to, from, [](auto *out, auto &in, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        out[i] = static_cast<ComputeType<T>>(
            special::incompleteBeta(in[0][i], in[1][i], in[2][i]));
    });
  });
  return to;
}
