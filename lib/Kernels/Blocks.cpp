// Blocks.cpp - strided copies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Blocks.h"
#include "Vector.h"
#include "shardtype/Kernels/Parallel.h"
#include "shardtype/Tensor/Element.h"
#include <cstring>

using namespace shardtype;

namespace {
/// One loop of a strided copy.
struct Loop {
  int64_t size, to, from;
};
} // namespace

/// Calls `body` where each index of the loops begins.
template <typename T, typename Body>
static void walk(T *to, const T *from, ArrayRef<Loop> outer, Body body) {
  SmallVector<int64_t, 6> index(outer.size());
  while (true) {
    body(to, from);
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

template <typename T>
static void copyRow(T *to, const T *from, Loop row, bool streams = false) {
  if (row.to == 1 && row.from == 1 && streams)
    kernels::vectors().streamCopy(reinterpret_cast<char *>(to),
                                  reinterpret_cast<const char *>(from),
                                  row.size * static_cast<int64_t>(sizeof(T)));
  else if (row.to == 1 && row.from == 1)
    std::memcpy(to, from, static_cast<size_t>(row.size) * sizeof(T));
  else if (row.to == 1 && row.from == 0)
    std::fill_n(to, row.size, *from);
  else
    for (int64_t i = 0; i < row.size; ++i)
      to[i * row.to] = from[i * row.from];
}

/// Two loops, of which one goes through neighbours in `from` and the other in
/// `to`: tile by tile, so that lines of the cache are used whole.
template <typename T>
static void copyPlane(T *to, const T *from, Loop a, Loop b) {
  if constexpr (sizeof(T) == 4) {
    if (a.from == 1 && b.to == 1)
      return kernels::vectors().transpose(
          reinterpret_cast<uint32_t *>(to), a.to,
          reinterpret_cast<const uint32_t *>(from), b.from, a.size, b.size);
  }
  constexpr int64_t tile = 16;
  for (int64_t i = 0; i < a.size; i += tile)
    for (int64_t j = 0; j < b.size; j += tile) {
      int64_t rows = std::min(tile, a.size - i);
      Loop row = {std::min(tile, b.size - j), b.to, b.from};
      for (int64_t k = i; k < i + rows; ++k)
        copyRow(to + k * a.to + j * b.to, from + k * a.from + j * b.from, row);
    }
}

template <typename T>
static void copyLoops(T *to, const T *from, MutableArrayRef<Loop> loops,
                      bool streams) {
  Loop row = loops.back();
  MutableArrayRef<Loop> outer = loops.drop_back();
  Loop *neighbours = llvm::find_if(
      outer, [](const Loop &loop) { return loop.from == 1 && loop.size > 1; });
  bool isPlane = row.to == 1 && row.from > 1 && neighbours != outer.end();
  if (!isPlane) {
    walk(to, from, outer,
         [&](T *at, const T *source) { copyRow(at, source, row, streams); });
    return;
  }
  std::swap(*neighbours, outer.back()); // The order of loops is free.
  Loop plane = outer.back();
  walk(to, from, outer.drop_back(),
       [&](T *at, const T *source) { copyPlane(at, source, plane, row); });
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
  // Large copies are cut along their first loop.
  constexpr int64_t Grain = 1 << 18;
  constexpr int64_t Large = 8 << 20, LongRow = 4096; // Of bytes.
  int64_t rest = itemBytes;
  for (const Loop &loop : ArrayRef(loops).drop_front())
    rest *= loop.size;
  // What is that large is not soon read.
  bool streams =
      rest * loops[0].size >= Large && loops.back().size * itemBytes >= LongRow;
  inRanges(loops[0].size, (Grain + rest - 1) / rest,
           [&](int64_t begin, int64_t end) {
             SmallVector<Loop, 6> range(loops);
             range[0].size = end - begin;
             dispatchSize(itemBytes, [&](auto tag) {
               using T = typename decltype(tag)::type;
               copyLoops<T>(reinterpret_cast<T *>(to) + begin * range[0].to,
                            reinterpret_cast<const T *>(from) +
                                begin * range[0].from,
                            range, streams);
             });
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

Tensor kernels::viewOf(const Tensor &from, ArrayRef<int64_t> starts,
                       ArrayRef<int64_t> sizes) {
  // Whole dims behind one that is cut, and single entries before it.
  bool isCut = false;
  for (auto [size, whole] :
       llvm::zip_equal(llvm::reverse(sizes), llvm::reverse(from.shape()))) {
    if (isCut && size != 1)
      return blockOf(from, starts, sizes);
    isCut |= size != whole;
  }
  return from.part(offsetOf(starts, rowMajorStrides(from.shape()), 1), sizes);
}

void kernels::moveBlock(Tensor &into, ArrayRef<int64_t> to, const Tensor &from,
                        ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes) {
  assert(into.dtype() == from.dtype());
  SmallVector<int64_t, 6> intoStrides = rowMajorStrides(into.shape());
  SmallVector<int64_t, 6> fromStrides = rowMajorStrides(from.shape());
  unsigned bytes = itemSize(into.dtype());
  copyStrided(into.mutableData() + offsetOf(to, intoStrides, bytes),
              intoStrides, from.data() + offsetOf(starts, fromStrides, bytes),
              fromStrides, sizes, bytes);
}

void kernels::putBlock(Tensor &into, ArrayRef<int64_t> starts,
                       const Tensor &block) {
  SmallVector<int64_t, 6> zeros(block.rank());
  moveBlock(into, starts, block, zeros, block.shape());
}
