// Gather.cpp - dynamic slices and gather.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Combining.h"
#include "IndexWalk.h"
#include "shardtype/Kernels/Blocks.h"
#include <cstring>

using namespace shardtype;
using namespace shardtype::kernels;

//===--- Dynamic slices ---------------------------------------------------===//

static SmallVector<int64_t, 6> clamped(ArrayRef<const Tensor *> starts,
                                       ArrayRef<int64_t> shape,
                                       ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 6> result;
  for (auto [d, start] : llvm::enumerate(starts))
    result.push_back(
        std::clamp<int64_t>(integerAt(*start, 0), 0, shape[d] - sizes[d]));
  return result;
}

Tensor kernels::dynamicSlice(const Tensor &operand,
                             ArrayRef<const Tensor *> starts,
                             ArrayRef<int64_t> sizes) {
  return blockOf(operand, clamped(starts, operand.shape(), sizes), sizes);
}

Tensor kernels::dynamicUpdateSlice(Tensor operand, const Tensor &update,
                                   ArrayRef<const Tensor *> starts) {
  auto at = clamped(starts, operand.shape(), update.shape());
  operand.makeUnique();
  putBlock(operand, at, update);
  return operand;
}

//===--- Gather -----------------------------------------------------------===//

Tensor kernels::defaultFill(DType dtype) {
  Tensor fill = Tensor::uninitialised(dtype, {});
  if (isKey(dtype) || dtype == DType::Float0) {
    std::memset(fill.mutableData(), isKey(dtype) ? 0xff : 0, fill.bytes());
    return fill;
  }
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T &value = fill.fill<T>()[0];
    if constexpr (isComplexElement<T>)
      value = {std::numeric_limits<typename T::value_type>::quiet_NaN(), 0};
    else if constexpr (isFloatElement<T>)
      value = T(std::numeric_limits<ComputeType<T>>::quiet_NaN());
    else if constexpr (ElementTraits<T>::kind == DTypeKind::Signed)
      value = leastOf<T>();
    else
      value = mostOf<T>();
  });
  return fill;
}

template <typename T>
static void gatherInto(T *to, const T *from, T fill, const IndexWalk &walk) {
  bool one = walk.sizes.empty();
  bool row = walk.sizes.size() == 1 && walk.arrayStrides[0] == 1 &&
             walk.otherStrides[0] == 1;
  walk.run([&](int64_t source, int64_t target) {
    T *out = to + target;
    if (source < 0)
      return walk.window([&](int64_t, int64_t at) { out[at] = fill; });
    const T *in = from + source;
    if (one)
      *out = *in;
    else if (row)
      std::copy_n(in, walk.windowCount, out);
    else
      walk.window([&](int64_t i, int64_t o) { out[o] = in[i]; });
  });
}

Tensor kernels::gather(const Tensor &operand, const Tensor &indices,
                       const GatherNumbers &n, OutOfBounds mode,
                       const Tensor &fill, ArrayRef<int64_t> resultShape) {
  Tensor result = Tensor::uninitialised(operand.dtype(), resultShape);
  if (result.size() == 0)
    return result;
  IndexWalk walk(operand.shape(), indices, resultShape,
                 {n.offset, n.collapsed, n.startIndexMap, n.operandBatching,
                  n.indicesBatching, n.sliceSizes},
                 mode);
  dispatchSize(itemSize(operand.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    gatherInto(result.fill<T>().data(), operand.as<T>().data(), fill.item<T>(),
               walk);
  });
  return result;
}
