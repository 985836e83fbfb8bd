// DeviceBlocks.cpp - an array as the devices of a region hold it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/DeviceBlocks.h"
#include "shardtype/Kernels/Blocks.h"

using namespace shardtype;

SmallVector<int64_t, 6> BlockLayout::startsOf(const Mesh &on, int64_t device,
                                              ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t, 6> starts;
  SmallVector<int64_t, 4> at = coordinatesOf(on, axes, device);
  for (auto [split, size] : llvm::zip_equal(dims, sizes)) {
    int64_t block = 0;
    for (uint8_t axis : split)
      block = block * on.axes[axis].size + at[axis];
    starts.push_back(block * size);
  }
  return starts;
}

bool BlockLayout::isSame(const Context &cx, const BlockLayout &other) const {
  if (axes != other.axes || dims != other.dims)
    return false;
  const Mesh &a = cx.meshOrEmpty(mesh), &b = cx.meshOrEmpty(other.mesh);
  return a.rank() == b.rank() &&
         llvm::all_of(llvm::zip_equal(a.axes, b.axes), [](const auto &pair) {
           const auto &[x, y] = pair;
           return x.name == y.name && x.size == y.size;
         });
}

Tensor DeviceBlocks::whole(const Context &cx) const {
  const Mesh &mesh = cx.mesh(layout.mesh);
  ArrayRef<int64_t> sizes = blocks.front().shape();
  AxisSet split;
  SmallVector<int64_t, 6> shape(sizes.begin(), sizes.end());
  for (auto [axes, size] : llvm::zip_equal(layout.dims, shape)) {
    size *= mesh.size(axes);
    split |= AxisSet::of(axes);
  }
  // One device for each block, in the order of the whole array.
  std::vector<std::pair<SmallVector<int64_t, 6>, Tensor>> parts;
  for (auto [device, block] : llvm::enumerate(blocks)) {
    auto number = static_cast<int64_t>(device);
    bool isCopy = placeAlong(mesh, layout.axes - split,
                             coordinatesOf(mesh, layout.axes, number)) != 0;
    if (!isCopy)
      parts.emplace_back(layout.startsOf(mesh, number, sizes), block);
  }
  llvm::sort(parts,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  bool isCutOnce = true, isSingle = true;
  for (auto [all, own] : llvm::zip_equal(shape, sizes)) {
    isCutOnce &= all == own || isSingle;
    isSingle &= all == 1;
  }
  if (isCutOnce) {
    std::vector<Tensor> inOrder;
    for (auto &part : parts)
      inOrder.push_back(part.second);
    if (Tensor joined = Tensor::joined(inOrder, shape))
      return joined;
  }
  Tensor result = Tensor::uninitialised(blocks.front().dtype(), shape);
  for (auto &[starts, block] : parts)
    kernels::putBlock(result, starts, block);
  return result;
}
