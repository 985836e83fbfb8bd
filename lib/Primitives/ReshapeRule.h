// ReshapeRule.h - the sharding that a reshape's sizes imply.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_RESHAPERULE_H
#define SHARDTYPE_LIB_PRIMITIVES_RESHAPERULE_H

#include "shardtype/Rules/TypingContext.h"
#include <variant>

namespace shardtype {

/// Why the rule gives no sharding.
struct ReshapeRefusal {
  enum Kind : uint8_t { Unsupported, Index, Leftover } kind = Unsupported;
  std::string why;
  /// New sizes with the parts in another order that would do, if there are any.
  SmallVector<int64_t, 4> betterSizes;
  std::optional<Sharding> sound; // What JAX misses by accident.
};
using ReshapeOutcome = std::variant<Sharding, ReshapeRefusal>;

/// The result's sharding without a sharding parameter, for an operand placed as
/// `from`, or why there is none. `reorders`: the reshape has `dimensions`. The
/// operand's sets pass.
ReshapeOutcome inferReshape(TypingContext &cx, const Sharding &from,
                            ArrayRef<int64_t> newSizes, bool reorders);

/// The sizes that are not 1.
SmallVector<int64_t, 6> withoutOnes(ArrayRef<int64_t> sizes);

} // namespace shardtype

#endif
