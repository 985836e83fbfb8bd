// Blocks.h - copies between blocks of arrays: what data movement is made of.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_BLOCKS_H
#define SHARDTYPE_KERNELS_BLOCKS_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

/// Copies `shape` elements of `itemBytes` bytes from `from` to `to`. Strides
/// are in elements and may be 0 or negative; the pointers are at the elements
/// of index 0. The two may not overlap.
void copyStrided(std::byte *to, ArrayRef<int64_t> toStrides,
                 const std::byte *from, ArrayRef<int64_t> fromStrides,
                 ArrayRef<int64_t> shape, unsigned itemBytes);

/// The block of `sizes` elements of `from` at `starts` becomes that of `into`
/// at `to`.
void moveBlock(Tensor &into, ArrayRef<int64_t> to, const Tensor &from,
               ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes);

/// The block of `sizes` elements of `from` that begins at `starts`.
Tensor blockOf(const Tensor &from, ArrayRef<int64_t> starts,
               ArrayRef<int64_t> sizes);
/// The same; where it is contiguous in the array, it shares that one's memory,
/// all of which then lives as long as the block.
Tensor viewOf(const Tensor &from, ArrayRef<int64_t> starts,
              ArrayRef<int64_t> sizes);

/// Writes `block` into `into` at `starts`; `into` must be unique and of the
/// same dtype.
void putBlock(Tensor &into, ArrayRef<int64_t> starts, const Tensor &block);

} // namespace shardtype::kernels

#endif
