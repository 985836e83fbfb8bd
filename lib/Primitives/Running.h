// Running.h - warnings of what has a type and does not run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX 0.12 types these and fails when it lowers or compiles them (spec 01,
// 6.2). Rows name them in place of `memory::standard`, the last step of all.
#ifndef SHARDTYPE_LIB_PRIMITIVES_RUNNING_H
#define SHARDTYPE_LIB_PRIMITIVES_RUNNING_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype::runs {

/// lgamma: lowered as a function that breaks the rules on sharded or reduced
/// operands (runs/warning.1).
FailureOr<MemorySpace> unlessLowered(TypingContext &cx);
/// igamma and relatives, ragged_dot_general: likewise on sharded operands
/// (runs/warning.2).
FailureOr<MemorySpace> wholeOnly(TypingContext &cx);
/// add, sub: partial sums that are broadcast (runs/warning.3).
FailureOr<MemorySpace> sumsOfOneShape(TypingContext &cx);
/// mulhi: not on CPU under a mesh (runs/warning.6).
FailureOr<MemorySpace> noMeshOnCpu(TypingContext &cx);
/// reduce_or, reduce_xor: not on CPU, of integers over a dim that is sharded
/// (runs/warning.6). `axes` are those it reduces over.
FailureOr<MemorySpace> integersOnCpu(TypingContext &cx, ArrayRef<int64_t> axes);

} // namespace shardtype::runs

#endif
