// ReshapeDims.h - which dims of a reshape are one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_RESHAPEDIMS_H
#define SHARDTYPE_LIB_PRIMITIVES_RESHAPEDIMS_H

#include "shardtype/Rules/DimMap.h"

namespace shardtype {

/// Dims of the operand and of the result with as many elements, side by side:
/// no smaller such group is inside. Dims are positions [begin, end).
struct ReshapeGroup {
  unsigned fromBegin, fromEnd, toBegin, toEnd;
};

/// The groups from the left. Dims at the end that fit no group are in a last
/// one (sizes 0, symbolic ones, another number of elements).
SmallVector<ReshapeGroup, 6> reshapeGroups(ArrayRef<int64_t> from,
                                           ArrayRef<int64_t> to);

/// Factors for the groups; `order` lists the operand's dims as the reshape
/// takes them. A group whose sizes do not nest, (2 3) to (3 2), has no common
/// factors: its operand dims must be whole.
DimMap reshapeMap(ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                  ArrayRef<int64_t> newSizes);

} // namespace shardtype

#endif
