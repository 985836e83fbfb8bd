// Shape.cpp - operations that only move elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Kernels/Blocks.h"

using namespace shardtype;
using namespace shardtype::kernels;

using Sizes = SmallVector<int64_t, 6>;

/// A new array of `shape`, whose dims walk over `x` by `strides` from element
/// `offset`.
static Tensor walked(const Tensor &x, Dims shape, Dims strides,
                     int64_t offset = 0) {
  Tensor to = Tensor::uninitialised(x.dtype(), shape);
  if (to.size())
    copyStrided(to.mutableData(), rowMajorStrides(shape),
                x.data() + offset * itemSize(x.dtype()), strides, shape,
                itemSize(x.dtype()));
  return to;
}

Tensor kernels::broadcastInDim(const Tensor &x, Dims shape, Dims dims) {
  if (x.size() && countElements(shape) == x.size() && llvm::is_sorted(dims))
    return x.reshaped(shape); // Only dims of size 1 are new.
  Sizes own = rowMajorStrides(x.shape()), strides(shape.size());
  for (auto [i, dim] : llvm::enumerate(dims))
    if (x.dim(static_cast<unsigned>(i)) != 1)
      strides[static_cast<size_t>(dim)] = own[i];
  return walked(x, shape, strides);
}

Tensor kernels::full(const Tensor &value, Dims shape) {
  return broadcastInDim(value, shape, {});
}

Tensor kernels::transpose(const Tensor &x, Dims permutation) {
  if (llvm::is_sorted(permutation))
    return x;
  Sizes own = rowMajorStrides(x.shape()), shape, strides;
  for (int64_t dim : permutation) {
    shape.push_back(x.dim(static_cast<unsigned>(dim)));
    strides.push_back(own[static_cast<size_t>(dim)]);
  }
  return walked(x, shape, strides);
}

Tensor kernels::reverse(const Tensor &x, Dims dims) {
  Sizes strides = rowMajorStrides(x.shape());
  int64_t offset = 0;
  for (int64_t dim : dims) {
    auto d = static_cast<unsigned>(dim);
    offset += strides[d] * (x.dim(d) - 1);
    strides[d] = -strides[d];
  }
  return walked(x, x.shape(), strides, x.size() ? offset : 0);
}

Tensor kernels::tile(const Tensor &x, Dims repeats) {
  // Each dim is one of repeats, which stands still in `x`, and its own.
  Sizes own = rowMajorStrides(x.shape()), wide, strides, shape;
  for (unsigned d = 0; d < x.rank(); ++d) {
    wide.append({repeats[d], x.dim(d)});
    strides.append({0, own[d]});
    shape.push_back(repeats[d] * x.dim(d));
  }
  return walked(x, wide, strides).reshaped(shape);
}

Tensor kernels::concatenate(ArrayRef<const Tensor *> parts, int64_t dim) {
  if (parts.size() == 1)
    return *parts[0];
  auto d = static_cast<size_t>(dim);
  Sizes shape(parts[0]->shape().begin(), parts[0]->shape().end());
  shape[d] = 0;
  for (const Tensor *part : parts)
    shape[d] += part->shape()[d];
  Tensor to = Tensor::uninitialised(parts[0]->dtype(), shape);
  Sizes starts(shape.size());
  for (const Tensor *part : parts) {
    if (part->size())
      putBlock(to, starts, *part);
    starts[d] += part->shape()[d];
  }
  return to;
}

Tensor kernels::stack(ArrayRef<const Tensor *> parts, int64_t dim) {
  Sizes shape(parts[0]->shape().begin(), parts[0]->shape().end());
  shape.insert(shape.begin() + dim, 1);
  std::vector<Tensor> grown;
  SmallVector<const Tensor *, 8> list;
  grown.reserve(parts.size());
  for (const Tensor *part : parts)
    list.push_back(&grown.emplace_back(part->reshaped(shape)));
  return concatenate(list, dim);
}

std::vector<Tensor> kernels::split(const Tensor &x, Dims sizes, int64_t dim) {
  Sizes starts(x.rank()), shape(x.shape().begin(), x.shape().end());
  auto d = static_cast<size_t>(dim);
  std::vector<Tensor> parts;
  for (int64_t size : sizes) {
    shape[d] = size;
    parts.push_back(blockOf(x, starts, shape));
    starts[d] += size;
  }
  return parts;
}

std::vector<Tensor> kernels::unstack(const Tensor &x, int64_t dim) {
  Sizes ones(static_cast<size_t>(x.dim(static_cast<unsigned>(dim))), 1);
  std::vector<Tensor> parts = split(x, ones, dim);
  Sizes shape(x.shape().begin(), x.shape().end());
  shape.erase(shape.begin() + dim);
  for (Tensor &part : parts)
    part = part.reshaped(shape);
  return parts;
}

Tensor kernels::slice(const Tensor &x, Dims starts, Dims limits, Dims steps) {
  Sizes shape, strides = rowMajorStrides(x.shape());
  int64_t offset = 0;
  for (unsigned d = 0; d < x.rank(); ++d) {
    int64_t step = steps.empty() ? 1 : steps[d];
    shape.push_back((limits[d] - starts[d] + step - 1) / step);
    offset += starts[d] * strides[d];
    strides[d] *= step;
  }
  if (Dims(shape) == x.shape())
    return x;
  return walked(x, shape, strides, offset);
}

Tensor kernels::pad(const Tensor &x, const Tensor &value, Dims low, Dims high,
                    Dims interior) {
  Sizes shape, from = rowMajorStrides(x.shape()), block, spread;
  for (unsigned d = 0; d < x.rank(); ++d) {
    int64_t between = std::max<int64_t>(0, x.dim(d) - 1) * interior[d];
    shape.push_back(
        std::max<int64_t>(0, x.dim(d) + between + low[d] + high[d]));
  }
  Tensor to = full(value, shape);
  if (x.size() == 0 || to.size() == 0)
    return to;
  to.makeUnique();
  // Of each dim, the elements that are not cut: first to last.
  Sizes own = rowMajorStrides(shape);
  int64_t at = 0, begin = 0;
  for (unsigned d = 0; d < x.rank(); ++d) {
    int64_t step = interior[d] + 1;
    int64_t first = low[d] < 0 ? (-low[d] + step - 1) / step : 0;
    int64_t room = shape[d] - 1 - low[d]; // Places behind that of element 0.
    int64_t last = room < 0 ? -1 : std::min(x.dim(d) - 1, room / step);
    if (last < first)
      return to;
    block.push_back(last - first + 1);
    spread.push_back(own[d] * step);
    at += (low[d] + first * step) * own[d];
    begin += first * from[d];
  }
  unsigned bytes = itemSize(x.dtype());
  copyStrided(to.mutableData() + at * bytes, spread, x.data() + begin * bytes,
              from, block, bytes);
  return to;
}
