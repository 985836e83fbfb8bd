// PartitionSpec.h - specs by axis name, before they meet a mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_PARTITIONSPEC_H
#define SHARDTYPE_TYPES_PARTITIONSPEC_H

#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// How the parts of an unreduced value combine (spec 01, 2.5). None: there is
/// nothing unreduced.
enum class ReductionKind : uint8_t { None, Sum, Max, Min };
StringRef str(ReductionKind kind); // "None", "sum", "max", "min"

/// What a spec says of one dim.
struct SpecEntry {
  enum Kind : uint8_t {
    Axes,          // Split over `axes`, major to minor; none: whole.
    Unconstrained, // The compiler may choose.
    Inherit        // What the rule gives without the spec (spec 08, 3).
  } kind = Axes;
  SmallVector<StringId, 2> axes;
  friend bool operator==(const SpecEntry &, const SpecEntry &) = default;
};

/// `P('X', None, unreduced={'Y'})`: entries for the first dims, in JAX's
/// canonical form (spec 01, 2.3). It may be shorter than an array's rank and
/// knows no mesh, so axes may be unknown or used twice; `resolve` finds that.
struct PartitionSpec {
  SmallVector<SpecEntry, 4> partitions;
  SmallVector<StringId, 2> unreduced, reduced; // Sets, in the order written.
  ReductionKind kind = ReductionKind::None;    // None iff unreduced is empty.
  friend bool operator==(const PartitionSpec &,
                         const PartitionSpec &) = default;
};

} // namespace shardtype

#endif
