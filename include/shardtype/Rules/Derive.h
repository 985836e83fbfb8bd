// Derive.h - the sharding rule that a dimension map implies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_DERIVE_H
#define SHARDTYPE_RULES_DERIVE_H

#include "shardtype/Rules/DimMap.h"
#include "shardtype/Rules/Primitive.h"
#include "shardtype/Types/Context.h"

namespace shardtype {

/// Why a map gives no results, and at which operands (`other` where two
/// differ).
struct Refusal {
  enum Kind : uint8_t {
    Differs,   // Two operands place one factor on different axes.
    Twice,     // An axis would stand on two dims of a result.
    Whole,     // A factor that must be whole is sharded.
    Uneven,    // Axes of a dim do not end where one of its factors ends.
    Unreduced, // Partial sums where the primitive is not linear in them.
    Reduced    // Operands are not reduced over the same axes.
  } kind;
  unsigned operand = 0;
  int dim = -1;
  unsigned other = 0;
  int otherDim = -1;
};

struct Derived {
  SmallVector<Sharding, 2> results;
  std::optional<Refusal> refusal; // Then there are no results.
};

/// Operands in which an operation is linear: jointly in those of one group, as
/// an addition is, and in each group alone, as a product is.
using LinearGroups = SmallVector<SmallVector<unsigned, 2>, 2>;
LinearGroups groupsOf(Linearity linearity, unsigned numOperands);

/// The shardings of results on `mesh`: each factor is placed as in the operands
/// that have it, which must agree (a whole one agrees with any); one that is
/// summed over leaves no axes, as in JAX's types. Reduced axes pass if all
/// operands have them, partial sums as `linearity` says. Operands without a
/// mesh count as replicated; those that are no arrays have no dims in the map.
Derived derive(const Context &cx, const DimMap &map,
               ArrayRef<SmallVector<unsigned, 2>> linear,
               ArrayRef<const Sharding *> operands, MeshId mesh);

} // namespace shardtype

#endif
