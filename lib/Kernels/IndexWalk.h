// IndexWalk.h - the windows that gather and scatter move.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_INDEXWALK_H
#define SHARDTYPE_LIB_KERNELS_INDEXWALK_H

#include "shardtype/Kernels/Index.h"

namespace shardtype::kernels {

/// Windows of an array and, for each index vector, of a second one, which
/// holds one window beside the other: the result of gather, the updates of
/// scatter.
struct IndexWalk {
  /// What to walk over, in the terms of both primitives.
  struct Numbers {
    ArrayRef<int64_t> windowDims; // Of the second array, ascending.
    ArrayRef<int64_t> dropped;    // Dims of the array that windows have not.
    ArrayRef<int64_t> indexMap;   // Which dim entry k of a vector is for.
    ArrayRef<int64_t> batching, indicesBatching;
    ArrayRef<int64_t> windowSizes; // Of each dim of the array.
  };
  IndexWalk(ArrayRef<int64_t> arrayShape, const Tensor &indices,
            ArrayRef<int64_t> otherShape, const Numbers &numbers,
            OutOfBounds mode);

  /// Of a window: the dims of size above 1, with strides in both arrays.
  SmallVector<int64_t, 6> sizes, arrayStrides, otherStrides;
  int64_t windowCount = 1; // Elements of a window.

  /// Calls `f` for each index vector in row-major order with the offsets of its
  /// windows; the array's is -1 where the window is to be dropped.
  template <typename F> void run(F &&f) const {
    SmallVector<int64_t, 6> index(batchSizes_.size());
    int64_t vectors = 1, at = 0;
    for (int64_t size : batchSizes_)
      vectors *= size;
    for (int64_t i = 0; i < vectors; ++i) {
      f(arrayOffset(i, index), at);
      for (unsigned d = index.size(); d-- > 0;) {
        at += batchStrides_[d];
        if (++index[d] < batchSizes_[d])
          break;
        at -= batchStrides_[d] * batchSizes_[d];
        index[d] = 0;
      }
    }
  }
  /// Calls `f` with the offsets of each element of a window within both.
  template <typename F> void window(F &&f) const {
    SmallVector<int64_t, 6> index(sizes.size());
    int64_t from = 0, to = 0;
    for (int64_t i = 0; i < windowCount; ++i) {
      f(from, to);
      for (unsigned d = index.size(); d-- > 0;) {
        from += arrayStrides[d];
        to += otherStrides[d];
        if (++index[d] < sizes[d])
          break;
        from -= arrayStrides[d] * sizes[d];
        to -= otherStrides[d] * sizes[d];
        index[d] = 0;
      }
    }
  }

private:
  int64_t arrayOffset(int64_t vector, ArrayRef<int64_t> index) const;

  OutOfBounds mode_;
  std::vector<int64_t> starts_; // All index vectors, one after the other.
  SmallVector<int64_t, 6> batchSizes_, batchStrides_; // Of the second array.
  struct Entry {
    int64_t stride, most; // Of its dim; the last start that fits.
  };
  SmallVector<Entry, 6> entries_;
  /// For each batching dim: which batch dim it follows, and its stride.
  SmallVector<std::pair<unsigned, int64_t>, 2> batching_;
};

} // namespace shardtype::kernels

#endif
