// DeviceBlocks.h - an array as the devices of a region hold it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_DEVICEBLOCKS_H
#define SHARDTYPE_RULES_DEVICEBLOCKS_H

#include "shardtype/Rules/DevicePlaces.h"
#include "shardtype/Tensor/Tensor.h"

namespace shardtype {

/// Which block of an array each device of a region holds, by number over `axes`
/// (DevicePlaces.h).
struct BlockLayout {
  MeshId mesh;
  AxisSet axes;                  // Of the region.
  SmallVector<AxisList, 4> dims; // What splits each dim, the major axis first.

  /// Where the block of a device is in the whole array.
  SmallVector<int64_t, 6> startsOf(const Mesh &on, int64_t device,
                                   ArrayRef<int64_t> sizes) const;
  /// Does it give the same blocks to the same devices?
  bool isSame(const Context &cx, const BlockLayout &other) const;
};

/// The blocks, by device; devices that hold the same one share its memory.
struct DeviceBlocks {
  BlockLayout layout;
  std::vector<Tensor> blocks;

  /// All in one array: a copy, unless they lie in one already.
  Tensor whole(const Context &cx) const;
};

} // namespace shardtype

#endif
