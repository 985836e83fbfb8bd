// Nonzero.cpp - where elements are not 0.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Index.h"
#include "shardtype/Tensor/Element.h"

using namespace shardtype;

using Dims = SmallVector<int64_t, 6>;

namespace {
/// Walks over some dims of an array, row-major.
struct Walk {
  Dims sizes, strides, index;
  int64_t offset = 0, count = 1;
  Walk(const Tensor &x, ArrayRef<int64_t> dims) : index(dims.size()) {
    auto all = rowMajorStrides(x.shape());
    for (int64_t d : dims) {
      sizes.push_back(x.dim(d));
      strides.push_back(all[d]);
      count *= x.dim(d);
    }
  }
  void next() {
    for (unsigned d = index.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < sizes[d])
        return;
      offset -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
};
} // namespace

static std::vector<bool> truth(const Tensor &x) {
  return dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<bool> values;
    values.reserve(x.size());
    for (T value : x.as<T>())
      values.push_back(static_cast<ComputeType<T>>(value) != ComputeType<T>(0));
    return values;
  });
}

static void setInteger(Tensor &x, int64_t position, int64_t value) {
  dispatchInt(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    x.fill<T>()[position] = T(value);
  });
}

std::vector<Tensor> kernels::nonzero(const Tensor &x, ArrayRef<int64_t> axes,
                                     int64_t count,
                                     ArrayRef<const Tensor *> fills,
                                     DType dtype) {
  Dims kept;
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!llvm::is_contained(axes, d)) {
      kept.push_back(d);
      shape.push_back(x.dim(d));
    }
  shape.push_back(count);
  std::vector<Tensor> results;
  for (size_t a = 0; a < axes.size(); ++a)
    results.push_back(Tensor::uninitialised(dtype, shape));
  std::vector<bool> values = truth(x);
  Walk outer(x, kept);
  for (int64_t row = 0; row < outer.count; ++row, outer.next()) {
    int64_t to = row * count, found = 0;
    Walk inner(x, axes);
    for (int64_t i = 0; i < inner.count && found < count; ++i, inner.next()) {
      if (!values[outer.offset + inner.offset])
        continue;
      for (auto [a, result] : llvm::enumerate(results))
        setInteger(result, to + found, inner.index[a]);
      ++found;
    }
    for (; found < count; ++found)
      for (auto [a, result] : llvm::enumerate(results))
        setInteger(result, to + found,
                   a < fills.size() ? integerAt(*fills[a], 0) : 0);
  }
  return results;
}
