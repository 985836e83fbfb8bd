// Running.cpp - warnings of what has a type and does not run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Running.h"

using namespace shardtype;

static std::optional<unsigned> firstSharded(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).partitioned())
      return i;
  return std::nullopt;
}

static void warn(TypingContext &cx, unsigned operand, const char *why) {
  cx.error(diag::DoesNotRun, cx.name(), why).mark(operand);
}

FailureOr<MemorySpace> runs::unlessLowered(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  bool fails = s.partitioned() || !s.reduced.empty();
  if (fails && cx.options().jax != JaxVersion::V0_11)
    warn(cx, 0, "its lowering refuses operands that are sharded or reduced");
  return memory::standard(cx); // runs/warning.1
}

FailureOr<MemorySpace> runs::wholeOnly(TypingContext &cx) {
  if (auto operand = firstSharded(cx)) // runs/warning.2
    warn(cx, *operand, "its lowering refuses operands that are sharded");
  return memory::standard(cx);
}

FailureOr<MemorySpace> runs::sumsOfOneShape(TypingContext &cx) {
  bool sums = false;
  std::optional<unsigned> grows;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    sums |= !cx.sharding(i).unreduced.empty();
    if (!grows && cx.shape(i) != ArrayRef(cx.resultShape()))
      grows = i;
  }
  if (sums && grows) // runs/warning.3
    warn(cx, *grows, "its lowering broadcasts no partial sums");
  return memory::standard(cx);
}

FailureOr<MemorySpace> runs::noMeshOnCpu(TypingContext &cx) {
  if (cx.rulesApply()) // runs/warning.6
    warn(cx, 0, "on CPU there is no such operation under a mesh");
  return memory::standard(cx);
}

FailureOr<MemorySpace> runs::integersOnCpu(TypingContext &cx,
                                           ArrayRef<int64_t> axes) {
  bool sharded = false;
  for (int64_t axis : axes)
    sharded |= !cx.sharding(0).dims[axis].empty();
  if (sharded && isInteger(cx.operand(0).dtype)) // runs/warning.6
    warn(cx, 0, "on CPU devices combine no integers by it");
  return memory::standard(cx);
}
