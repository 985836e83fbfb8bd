// IndexWalk.cpp - the windows that gather and scatter move.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IndexWalk.h"
#include "shardtype/Tensor/Element.h"

using namespace shardtype;
using namespace shardtype::kernels;

template <typename T> static int64_t saturated(T value) {
  auto wide = static_cast<ComputeType<T>>(value);
  if constexpr (std::is_same_v<T, uint64_t>)
    return static_cast<int64_t>(
        std::min<uint64_t>(wide, std::numeric_limits<int64_t>::max()));
  else
    return wide;
}

int64_t kernels::integerAt(const Tensor &x, int64_t position) {
  return dispatchInt(x.dtype(), [&](auto tag) {
    return saturated(x.as<typename decltype(tag)::type>()[position]);
  });
}

static std::vector<int64_t> allIntegers(const Tensor &x) {
  return dispatchInt(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<int64_t> values;
    values.reserve(x.size());
    for (T value : x.as<T>())
      values.push_back(saturated(value));
    return values;
  });
}

IndexWalk::IndexWalk(ArrayRef<int64_t> arrayShape, const Tensor &indices,
                     ArrayRef<int64_t> otherShape, const Numbers &n,
                     OutOfBounds mode)
    : mode_(mode), starts_(allIntegers(indices)) {
  auto arrayStride = rowMajorStrides(arrayShape);
  auto otherStride = rowMajorStrides(otherShape);
  unsigned nextWindow = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(arrayShape.size()); ++d) {
    if (llvm::is_contained(n.dropped, d) || llvm::is_contained(n.batching, d))
      continue;
    int64_t other = n.windowDims[nextWindow++];
    windowCount *= n.windowSizes[d];
    if (n.windowSizes[d] == 1)
      continue;
    sizes.push_back(n.windowSizes[d]);
    arrayStrides.push_back(arrayStride[d]);
    otherStrides.push_back(otherStride[other]);
  }
  for (int64_t d = 0; d < static_cast<int64_t>(otherShape.size()); ++d)
    if (!llvm::is_contained(n.windowDims, d)) {
      batchSizes_.push_back(otherShape[d]);
      batchStrides_.push_back(otherStride[d]);
    }
  for (int64_t d : n.indexMap)
    entries_.push_back({arrayStride[d], arrayShape[d] - n.windowSizes[d]});
  for (auto [d, batch] : llvm::zip_equal(n.batching, n.indicesBatching))
    batching_.push_back({static_cast<unsigned>(batch), arrayStride[d]});
}

int64_t IndexWalk::arrayOffset(int64_t vector, ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  const int64_t *start = starts_.data() + vector * entries_.size();
  for (const Entry &entry : entries_) {
    int64_t at = *start++;
    if (mode_ == OutOfBounds::Drop && (at < 0 || at > entry.most))
      return -1;
    offset += std::clamp<int64_t>(at, 0, entry.most) * entry.stride;
  }
  for (auto [batch, stride] : batching_)
    offset += index[batch] * stride;
  return offset;
}
