// NumpyCalls.h - functions of jax.numpy that show in a trace as calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_NUMPYCALLS_H
#define SHARDTYPE_LIB_PRIMITIVES_NUMPYCALLS_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype {

/// How a `jit` that jax.numpy wrote would have been traced for these operands.
struct NumpyCall {
  SmallVector<Typed, 4> args; // What its body gets.
  /// The sharding of the only result, if the body leaves that open.
  std::optional<Sharding> result;
  bool reported = false; // An error; go on with `args`.
};

/// Under re-typing, what Python does around and inside a `jit` of one of
/// jax.numpy's own functions (spec 04, 8.2): refusals that no primitive makes,
/// and reshards that a trace without shardings does not have. Functions are
/// told by the name of the `jit` and what its body holds. All other calls get
/// their operands as they are. Failure: an error that leaves no way to go on.
FailureOr<NumpyCall> numpyCall(TypingContext &cx, StringRef name, JaxprId body);

} // namespace shardtype

#endif
