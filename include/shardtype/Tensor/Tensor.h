// Tensor.h - dense host arrays of every dtype.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How elements are stored: bool one byte, 0 or 1; integers and floats below 8
// bits one byte each (Element.h has their types); keys as their uint32 words,
// which are not in the shape; float0 one byte of no meaning.
#ifndef SHARDTYPE_TENSOR_TENSOR_H
#define SHARDTYPE_TENSOR_TENSOR_H

#include "shardtype/Tensor/Buffer.h"
#include "shardtype/Types/Type.h"

namespace shardtype {

/// Bytes of one element as it is stored; of a key, all its words.
unsigned itemSize(DType dtype);

/// Elements of a shape; nothing if 64 bits do not hold them or a dim is
/// negative.
std::optional<int64_t> countElements(ArrayRef<int64_t> shape);

/// Row-major strides of a shape, in elements.
SmallVector<int64_t, 6> rowMajorStrides(ArrayRef<int64_t> shape);

/// A dense row-major array. Copies share the memory; a default-constructed one
/// has none and stands for "no value".
class Tensor {
public:
  Tensor() = default;
  /// Elements are undefined: fill them all. The shape must be one that
  /// `countElements` counts.
  static Tensor uninitialised(DType dtype, ArrayRef<int64_t> shape);
  static Tensor zeros(DType dtype, ArrayRef<int64_t> shape);
  /// Of C++ values: `Tensor::of<float>(DType::F32, {2}, {1, 2})`.
  template <typename T>
  static Tensor of(DType dtype, ArrayRef<int64_t> shape, ArrayRef<T> values) {
    Tensor result = uninitialised(dtype, shape);
    assert(static_cast<size_t>(result.size()) == values.size());
    llvm::copy(values, result.fill<T>().begin());
    return result;
  }
  template <typename T> static Tensor scalar(DType dtype, T value) {
    return of<T>(dtype, {}, ArrayRef<T>(value));
  }

  explicit operator bool() const { return static_cast<bool>(buffer_); }
  DType dtype() const { return dtype_; }
  ArrayRef<int64_t> shape() const { return shape_; }
  unsigned rank() const { return shape_.size(); }
  int64_t dim(unsigned i) const { return shape_[i]; }
  /// Elements.
  int64_t size() const { return size_; }
  uint64_t bytes() const {
    return static_cast<uint64_t>(size_) * itemSize(dtype_);
  }

  const std::byte *data() const { return buffer_.data() + offset_; }
  /// Does nothing else share the memory? Then it may be written.
  bool unique() const { return buffer_.unique(); }
  /// Only while `unique`.
  std::byte *mutableData() {
    assert(unique() && "other values share this memory");
    return buffer_.data() + offset_;
  }
  /// Makes it unique, by a copy if need be.
  void makeUnique();
  /// The elements as C++ values of the stored type (for keys: all words).
  template <typename T> ArrayRef<T> as() const {
    return ArrayRef(reinterpret_cast<const T *>(data()), bytes() / sizeof(T));
  }
  template <typename T> MutableArrayRef<T> fill() {
    return MutableArrayRef(reinterpret_cast<T *>(mutableData()),
                           bytes() / sizeof(T));
  }
  /// The value of a rank-0 array.
  template <typename T> T item() const { return as<T>().front(); }

  /// The same elements in the same order; shares the memory.
  Tensor reshaped(ArrayRef<int64_t> shape) const;
  /// The same bytes as another dtype of the same item size (trailing words of
  /// keys may become a dim and back); shares the memory.
  Tensor viewedAs(DType dtype, ArrayRef<int64_t> shape) const;
  /// The elements from the `first` on, as an array of this shape; shares the
  /// memory.
  Tensor part(int64_t first, ArrayRef<int64_t> shape) const;
  /// Entry `i` of the first dim; shares the memory.
  Tensor entry(int64_t i) const;
  /// Arrays of one dtype that follow each other in one memory, as one array of
  /// this shape; nothing if they do not.
  static Tensor joined(ArrayRef<Tensor> parts, ArrayRef<int64_t> shape);
  /// Do two arrays share one memory (and place in it)?
  bool sameMemory(const Tensor &other) const {
    return buffer_ == other.buffer_ && offset_ == other.offset_;
  }

private:
  Buffer buffer_;
  uint64_t offset_ = 0; // In bytes.
  int64_t size_ = 0;
  Shape shape_;
  DType dtype_ = DType::F32;
};

} // namespace shardtype

#endif
