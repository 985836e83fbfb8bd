// SumsFixture.h - what a device holds of an unreduced value, in tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_SUMSFIXTURE_H
#define SHARDTYPE_TEST_UNIT_SUMSFIXTURE_H

#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Rules/PartialSums.h"

namespace shardtype {

/// The block of the device at a position of the mesh.
inline Tensor blockAt(const Context &cx, TypeId type, const PartialSums &sums,
                      size_t position) {
  ShardTable table = shardTable(cx, type);
  const Mesh &mesh = cx.mesh(table.mesh);
  auto at = coordinatesOf(mesh, mesh.allAxes(), static_cast<int64_t>(position));
  SmallVector<int64_t, 4> starts, sizes;
  for (auto [d, part] : llvm::enumerate(table.shards[position].parts)) {
    IndexRange range = table.range(d, part);
    starts.push_back(range.begin);
    sizes.push_back(range.end - range.begin);
  }
  return kernels::blockOf(partAt(sums, mesh, at), starts, sizes);
}

} // namespace shardtype

#endif
