// Blocks.cpp - strided copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Tensor/Element.h"
#include <cstring>

using namespace shardtype;

namespace {
/// One loop of a strided copy.
struct Loop {
  int64_t size, to, from;
};
} // namespace

template <typename T>
static void copyRows(T *to, const T *from, ArrayRef<Loop> loops) {
  const Loop &row = loops.back();
  ArrayRef<Loop> outer = loops.drop_back();
  SmallVector<int64_t, 6> index(outer.size());
  while (true) {
    if (row.to == 1 && row.from == 1)
      std::memcpy(to, from, static_cast<size_t>(row.size) * sizeof(T));
    else if (row.to == 1 && row.from == 0)
      std::fill_n(to, row.size, *from);
    else
      for (int64_t i = 0; i < row.size; ++i)
        to[i * row.to] = from[i * row.from];
    size_t dim = outer.size();
    for (; dim > 0; --dim) {
      const Loop &loop = outer[dim - 1];
      to += loop.to;
      from += loop.from;
      if (++index[dim - 1] < loop.size)
        break;
      to -= loop.to * loop.size;
      from -= loop.from * loop.size;
      index[dim - 1] = 0;
    }
    if (dim == 0)
      return;
  }
}

void kernels::copyStrided(std::byte *to, ArrayRef<int64_t> toStrides,
                          const std::byte *from, ArrayRef<int64_t> fromStrides,
                          ArrayRef<int64_t> shape, unsigned itemBytes) {
  // Neighbouring dims that are walked as one are one loop.
  SmallVector<Loop, 6> loops;
  for (auto [size, toStride, fromStride] :
       llvm::zip_equal(shape, toStrides, fromStrides)) {
    if (size == 0)
      return;
    if (size == 1)
      continue;
    if (!loops.empty() && loops.back().to == toStride * size &&
        loops.back().from == fromStride * size)
      loops.back() = {loops.back().size * size, toStride, fromStride};
    else
      loops.push_back({size, toStride, fromStride});
  }
  if (loops.empty())
    loops.push_back({1, 1, 1});
  dispatchSize(itemBytes, [&](auto tag) {
    using T = typename decltype(tag)::type;
    copyRows(reinterpret_cast<T *>(to), reinterpret_cast<const T *>(from),
             loops);
  });
}

/// Bytes from the first element to the one at `starts`.
static int64_t offsetOf(ArrayRef<int64_t> starts, ArrayRef<int64_t> strides,
                        unsigned itemBytes) {
  int64_t offset = 0;
  for (auto [start, stride] : llvm::zip_equal(starts, strides))
    offset += start * stride;
  return offset * itemBytes;
}

Tensor kernels::blockOf(const Tensor &from, ArrayRef<int64_t> starts,
                        ArrayRef<int64_t> sizes) {
  if (sizes == from.shape())
    return from;
  Tensor block = Tensor::uninitialised(from.dtype(), sizes);
  SmallVector<int64_t, 6> strides = rowMajorStrides(from.shape());
  unsigned bytes = itemSize(from.dtype());
  copyStrided(block.mutableData(), rowMajorStrides(sizes),
              from.data() + offsetOf(starts, strides, bytes), strides, sizes,
              bytes);
  return block;
}

void kernels::putBlock(Tensor &into, ArrayRef<int64_t> starts,
                       const Tensor &block) {
  assert(into.dtype() == block.dtype());
  SmallVector<int64_t, 6> strides = rowMajorStrides(into.shape());
  unsigned bytes = itemSize(into.dtype());
  copyStrided(into.mutableData() + offsetOf(starts, strides, bytes), strides,
              block.data(), rowMajorStrides(block.shape()), block.shape(),
              bytes);
}
