// Tensor.cpp - dense host arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Tensor/Tensor.h"
#include <cstring>

using namespace shardtype;

unsigned shardtype::itemSize(DType dtype) {
  static constexpr uint8_t Bytes[] = {
#define DTYPE(Name, Long, Short, Kind, Bits, Exponent, Mantissa)               \
  Bits <= 8 ? 1 : Bits / 8,
#include "shardtype/Types/DTypes.def"
  };
  return Bytes[static_cast<unsigned>(dtype)];
}

std::optional<int64_t> shardtype::countElements(ArrayRef<int64_t> shape) {
  // Below 2^58, so that bytes of 16-byte elements fit as well.
  constexpr int64_t Most = int64_t(1) << 58;
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return std::nullopt;
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size > Most / count)
      return std::nullopt;
    count *= size;
  }
  return count;
}

SmallVector<int64_t, 6> shardtype::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

Tensor Tensor::uninitialised(DType dtype, ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = countElements(shape);
  assert(count && "shapes are bounded before tensors are made");
  Tensor result;
  result.dtype_ = dtype;
  result.shape_.assign(shape.begin(), shape.end());
  result.size_ = count.value_or(0);
  result.buffer_ = Buffer::allocate(result.bytes());
  return result;
}

Tensor Tensor::zeros(DType dtype, ArrayRef<int64_t> shape) {
  Tensor result = uninitialised(dtype, shape);
  std::memset(result.mutableData(), 0, result.bytes());
  return result;
}

void Tensor::makeUnique() {
  if (unique())
    return;
  Tensor copy = uninitialised(dtype_, shape_);
  std::memcpy(copy.mutableData(), data(), bytes());
  *this = std::move(copy);
}

Tensor Tensor::reshaped(ArrayRef<int64_t> shape) const {
  assert(countElements(shape) == size_ && "a reshape keeps the elements");
  Tensor result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  return result;
}

Tensor Tensor::viewedAs(DType dtype, ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.dtype_ = dtype;
  result.shape_.assign(shape.begin(), shape.end());
  result.size_ = countElements(shape).value_or(0);
  assert(result.bytes() == bytes() && "a view keeps the bytes");
  return result;
}

Tensor Tensor::part(int64_t first, ArrayRef<int64_t> shape) const {
  Tensor result = *this;
  result.shape_.assign(shape.begin(), shape.end());
  result.size_ = countElements(shape).value_or(0);
  assert(first >= 0 && first + result.size_ <= size_ && "it is no part");
  result.offset_ += static_cast<uint64_t>(first) * itemSize(dtype_);
  return result;
}

Tensor Tensor::entry(int64_t i) const {
  assert(rank() > 0 && i >= 0 && i < shape_[0]);
  return part(i * (size_ / shape_[0]), shape().drop_front());
}

Tensor Tensor::joined(ArrayRef<Tensor> parts, ArrayRef<int64_t> shape) {
  const Tensor &first = parts.front();
  uint64_t next = first.offset_;
  for (const Tensor &part : parts) {
    if (part.buffer_ != first.buffer_ || part.offset_ != next)
      return {};
    next += part.bytes();
  }
  Tensor result = first;
  result.shape_.assign(shape.begin(), shape.end());
  result.size_ = countElements(shape).value_or(0);
  assert(result.offset_ + result.bytes() == next && "a joint keeps the bytes");
  return result;
}
