// PartialSums.h - what each device holds of an unreduced value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outside of regions a program is computed whole: an unreduced value counts as
// its sum. What devices hold of it is found beside that, if somebody looks at
// it: the equations that made it, on the blocks of each place along its
// unreduced axes.
#ifndef SHARDTYPE_RULES_PARTIALSUMS_H
#define SHARDTYPE_RULES_PARTIALSUMS_H

#include "shardtype/Rules/DevicePlaces.h"
#include "shardtype/Tensor/Tensor.h"
#include "shardtype/Types/Context.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

namespace shardtype {

/// The parts of one value. Immutable once it is shared.
struct PartialSums : llvm::ThreadSafeRefCountedBase<PartialSums> {
  AxisSet axes; // Explicit ones, of the mesh of the value's type.
  /// Whole arrays, of the value's shape, row-major over `axes` in the order of
  /// the mesh. Empty: `lost` says which primitive does not keep them apart.
  std::vector<Tensor> parts;
  std::string lost;

  bool known() const { return !parts.empty(); }
};
/// Null: of a value that is not unreduced, or nobody looks.
using PartialSumsRef = llvm::IntrusiveRefCntPtr<const PartialSums>;

PartialSumsRef makeSums(AxisSet axes, std::vector<Tensor> parts);
PartialSumsRef lostSums(std::string primitive);

/// Is it an array with partial sums over axes that are not Manual?
bool isUnreduced(const Context &cx, TypeId type);

/// The part of a value that a place holds; the axes of `sums` are among those
/// of the coordinates.
inline const Tensor &partAt(const PartialSums &sums, const Mesh &mesh,
                            ArrayRef<int64_t> coordinates) {
  return sums
      .parts[static_cast<size_t>(placeAlong(mesh, sums.axes, coordinates))];
}

/// The entries of a value whose places along `axes` have these coordinates:
/// smaller along the dims that are split over some of these axes.
Tensor blockAlong(const Mesh &mesh, ArrayRef<AxisList> dims, AxisSet axes,
                  ArrayRef<int64_t> coordinates, const Tensor &value);

/// Parts of a value that was placed by `device_put`, or changed from the
/// sharding `from` to `to` (spec 09, 16): what `from` splits over an unreduced
/// axis stays where it is, the rest of the value is held by the first device of
/// the other axes.
PartialSumsRef placedSums(const Context &cx, const Sharding &from,
                          const Sharding &to, const Tensor &value,
                          const PartialSumsRef &before);

} // namespace shardtype

#endif
