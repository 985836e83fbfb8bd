// Placement.h - which part of which factor each device holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sharding says for each dim which mesh axes split it. To compare two of
// them across a reshape, or to see which axes can change places, that is too
// coarse: an axis of size 4 may split the dim (2 4) at the first factor and
// half of the second. So axes are cut into digits, as a number is: digit by
// digit the device's coordinate says which part it holds. A digit lies in one
// slot (a factor; for a plain reshard, a dim) below `above` parts that more
// major digits make:
//
//   8@(X,Y), X=4, Y=2:  X is two digits of size 2, above 1 and 2; Y is one
//                       digit of size 2, above 4.
//
// Two digits of one slot get along if one lies wholly above the other. A digit
// that would cross two factors unevenly goes to a slot of its own, which
// equals no other: it is then always moved, never taken to be in place.
#ifndef SHARDTYPE_LIB_RULES_PLACEMENT_H
#define SHARDTYPE_LIB_RULES_PLACEMENT_H

#include "shardtype/Rules/DimMap.h"
#include "shardtype/Types/Context.h"

namespace shardtype {

/// Part of a mesh axis; the product over an axis's digits is its size.
struct AxisDigit {
  uint8_t axis = 0;
  int64_t size = 1;
};

/// What one digit does to an array.
struct Place {
  enum Kind : uint8_t {
    Whole,   // Every device of the digit holds the same.
    Partial, // They hold partial results.
    At       // It splits `slot`.
  } kind = Whole;
  unsigned slot = 0;
  int64_t above = 1; // At: the parts that more major digits split the slot in.
  friend bool operator==(const Place &, const Place &) = default;
};

/// A place for each digit.
using Placement = SmallVector<Place, 16>;

/// An array's dims as factors, and how they are sharded.
struct FactoredArray {
  const DimMap::Dims *dims;
  Sharding sharding; // On the mesh of the computation.
};

/// Cuts the axes of a mesh so that every array here can be placed.
SmallVector<AxisDigit, 16> cutAxes(const Mesh &mesh, ArrayRef<Factor> factors,
                                   ArrayRef<FactoredArray> arrays);
/// `id` keeps the own slots of different arrays apart.
Placement place(const FactoredArray &array, unsigned id,
                ArrayRef<Factor> factors, ArrayRef<AxisDigit> digits);

} // namespace shardtype

#endif
