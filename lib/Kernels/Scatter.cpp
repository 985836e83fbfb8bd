// Scatter.cpp - scatter and its combining forms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Combining.h"
#include "IndexWalk.h"

using namespace shardtype;
using namespace shardtype::kernels;

/// Windows have the updates' sizes; inserted and batching dims have one.
static SmallVector<int64_t, 6> windowSizes(unsigned rank,
                                           ArrayRef<int64_t> updateShape,
                                           const ScatterNumbers &n) {
  SmallVector<int64_t, 6> sizes(rank, 1);
  unsigned next = 0;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(n.insertedWindow, d) &&
        !llvm::is_contained(n.operandBatching, d))
      sizes[d] = updateShape[n.updateWindow[next++]];
  return sizes;
}

static IndexWalk walkOf(ArrayRef<int64_t> operandShape, const Tensor &indices,
                        ArrayRef<int64_t> updateShape, const ScatterNumbers &n,
                        OutOfBounds mode) {
  auto sizes = windowSizes(operandShape.size(), updateShape, n);
  return IndexWalk(operandShape, indices, updateShape,
                   {n.updateWindow, n.insertedWindow, n.toOperand,
                    n.operandBatching, n.indicesBatching, sizes},
                   mode);
}

template <typename T, typename F>
static void apply(T *to, const T *updates, const IndexWalk &walk, F combine) {
  walk.run([&](int64_t target, int64_t source) {
    if (target < 0)
      return;
    T *out = to + target;
    const T *in = updates + source;
    if (walk.sizes.empty())
      *out = combine(*out, *in);
    else
      walk.window(
          [&](int64_t o, int64_t i) { out[o] = combine(out[o], in[i]); });
  });
}

Tensor kernels::scatter(Tensor operand, const Tensor &indices,
                        const Tensor &updates, const ScatterNumbers &numbers,
                        OutOfBounds mode, Combination combine) {
  if (updates.size() == 0 || operand.size() == 0)
    return operand;
  IndexWalk walk =
      walkOf(operand.shape(), indices, updates.shape(), numbers, mode);
  operand.makeUnique();
  if (combine == Combination::Set)
    dispatchSize(itemSize(operand.dtype()), [&](auto tag) {
      using T = typename decltype(tag)::type;
      apply(operand.fill<T>().data(), updates.as<T>().data(), walk,
            [](T, T update) { return update; });
    });
  else
    dispatch(operand.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      withFunction<T>(combine, [&](auto function) {
        apply(operand.fill<T>().data(), updates.as<T>().data(), walk, function);
      });
    });
  return operand;
}

void kernels::scatterPairs(ArrayRef<int64_t> operandShape,
                           const Tensor &indices, ArrayRef<int64_t> updateShape,
                           const ScatterNumbers &numbers, OutOfBounds mode,
                           llvm::function_ref<void(int64_t, int64_t)> each) {
  if (llvm::is_contained(updateShape, 0) || llvm::is_contained(operandShape, 0))
    return;
  IndexWalk walk = walkOf(operandShape, indices, updateShape, numbers, mode);
  walk.run([&](int64_t target, int64_t source) {
    if (target < 0)
      return;
    walk.window([&](int64_t o, int64_t i) { each(target + o, source + i); });
  });
}
