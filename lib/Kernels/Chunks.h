// Chunks.h - elementwise loops in the type that is computed in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops are written for plain C++ types, `void loop(R *to, const C *a, ...,
// n)`. Small floats are converted to float by the chunk and each result is
// rounded once; an operand of rank 0 is repeated over a chunk.
#ifndef SHARDTYPE_LIB_KERNELS_CHUNKS_H
#define SHARDTYPE_LIB_KERNELS_CHUNKS_H

#include "Vector.h"
#include "shardtype/Tensor/Element.h"
#include "shardtype/Tensor/Tensor.h"
#include <algorithm>
#include <array>

namespace shardtype::kernels {

inline constexpr int64_t ChunkSize = 256;

/// One operand of a loop: an array as long as the result, or one element.
template <typename T> class Operand {
public:
  explicit Operand(const Tensor &tensor, int64_t size)
      : data_(tensor.as<T>().data()), single_(tensor.size() == 1 && size != 1) {
  }
  static constexpr bool converts = !std::is_same_v<T, ComputeType<T>>;
  bool needsChunks() const { return converts || single_; }
  /// Elements `begin` to `begin + count` as they are computed with; in
  /// `buffer` unless they lie in memory so.
  const ComputeType<T> *load(int64_t begin, int64_t count,
                             ComputeType<T> *buffer) const {
    using C = ComputeType<T>;
    if (single_) {
      if (begin == 0) // The buffer keeps it for the chunks that follow.
        std::fill_n(buffer, count, static_cast<C>(*data_));
      return buffer;
    }
    if constexpr (std::is_same_v<T, BF16>) {
      vectors().fromBF16(
          buffer, reinterpret_cast<const uint16_t *>(data_ + begin), count);
      return buffer;
    } else if constexpr (converts) {
      for (int64_t i = 0; i < count; ++i)
        buffer[i] = static_cast<C>(data_[begin + i]);
      return buffer;
    } else {
      return data_ + begin;
    }
  }

private:
  const T *data_;
  bool single_;
};

/// Fills `to` (of type T) by `loop(C *to, array of const C *, count)`.
template <typename T, size_t N, typename Loop>
void mapElements(Tensor &to, const std::array<Operand<T>, N> &from,
                 Loop &&loop) {
  using C = ComputeType<T>;
  T *out = to.fill<T>().data();
  int64_t size = to.size();
  bool whole = !Operand<T>::converts &&
               llvm::none_of(from, [](auto &o) { return o.needsChunks(); });
  int64_t step = whole ? size : ChunkSize;
  std::array<std::array<C, ChunkSize>, N> buffers;
  [[maybe_unused]] std::array<C, ChunkSize> results;
  for (int64_t begin = 0; begin < size; begin += step) {
    int64_t count = std::min(step, size - begin);
    std::array<const C *, N> in;
    for (size_t k = 0; k < N; ++k)
      in[k] = from[k].load(begin, count, buffers[k].data());
    if constexpr (Operand<T>::converts) {
      loop(results.data(), in, count);
      if constexpr (std::is_same_v<T, BF16>)
        vectors().toBF16(reinterpret_cast<uint16_t *>(out + begin),
                         results.data(), count);
      else
        for (int64_t i = 0; i < count; ++i)
          out[begin + i] = T(results[static_cast<size_t>(i)]);
    } else {
      loop(out + begin, in, count);
    }
  }
}

/// The same where results have another type, which is stored as computed.
template <typename T, typename R, size_t N, typename Loop>
void mapTo(Tensor &to, const std::array<Operand<T>, N> &from, Loop &&loop) {
  using C = ComputeType<T>;
  R *out = to.fill<R>().data();
  int64_t size = to.size();
  bool whole = llvm::none_of(from, [](auto &o) { return o.needsChunks(); });
  int64_t step = whole ? size : ChunkSize;
  std::array<std::array<C, ChunkSize>, N> buffers;
  for (int64_t begin = 0; begin < size; begin += step) {
    int64_t count = std::min(step, size - begin);
    std::array<const C *, N> in;
    for (size_t k = 0; k < N; ++k)
      in[k] = from[k].load(begin, count, buffers[k].data());
    loop(out + begin, in, count);
  }
}

} // namespace shardtype::kernels

#endif
