// Results.cpp - the common steps of operations with several results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Results.h"

using namespace shardtype;

LogicalResult shardtype::checkArrays(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.operand(i).isArray())
      return cx
          .error(diag::DTypeMismatch,
                 "'" + cx.name().str() + "' takes arrays, but operand " +
                     std::to_string(i) + " is " + cx.arg(cx.operandId(i)))
          .mark(i);
  return success();
}

LogicalResult shardtype::beginResults(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  return cx.checkContextMesh();
}

/// The type of a result that is placed on `memory`, unchecked.
static TypeId composed(TypingContext &cx, const ResultPart &part,
                       const Sharding &sharding, MemorySpace memory) {
  Type type;
  type.dtype = part.dtype;
  type.weak = part.weak;
  type.memory = memory;
  type.shape = part.shape;
  type.sharding = sharding;
  return cx.context().intern(type);
}

ErrorBuilder shardtype::offerReduced(TypingContext &cx, ErrorBuilder error,
                                     ArrayRef<ResultPart> parts,
                                     ArrayRef<Sharding> shardings) {
  AxisSet reduced = cx.sharding(0).reduced;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.sharding(i).unreduced.empty() || cx.sharding(i).reduced != reduced)
      return error;
  if (parts.size() != cx.numResults() || shardings.size() != parts.size())
    return error;
  SmallVector<TypeId, 4> types;
  for (auto [part, sharding] : llvm::zip_equal(parts, shardings)) {
    Sharding passed = withoutSets(sharding);
    passed.reduced = reduced;
    if (passed.axes().intersects(reduced) ||
        checkDivisible(cx.context(), passed, part.shape))
      return error;
    types.push_back(composed(cx, part, passed, cx.operand(0).memory));
  }
  if (!types.empty())
    error.soundTypes(types);
  return error;
}

/// The step that follows a sharding rule where there is none for U and R.
static LogicalResult refuseAllSets(TypingContext &cx,
                                   ArrayRef<ResultPart> parts,
                                   ArrayRef<Sharding> shardings) {
  bool any = false;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    any |= cx.sharding(i).hasUR();
  for (const Sharding &sharding : shardings)
    any |= sharding.hasUR();
  if (!any)
    return success();
  ErrorBuilder error = cx.error(diag::RuleMissingUR, cx.name());
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasUR())
      error.mark(i).fixOperand(i, withoutSets(cx.sharding(i)));
  return offerReduced(cx, error, parts, shardings);
}

/// JAX asks nothing of sets over Manual axes (manual/sets.2).
static constexpr Rule<FailureOr<ReductionSets>(TypingContext &)> NoSets =
    NoRule{NoRule::NotImplemented, "sets over Manual axes"};

LogicalResult shardtype::finishResults(TypingContext &cx,
                                       ArrayRef<ResultPart> parts,
                                       ShardingsRule rule, ResultState state) {
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  SmallVector<Sharding, 4> shardings;
  if (cx.rulesApply()) {
    if (failed(rule(shardings)))
      return failure();
    for (const Sharding &sharding : shardings)
      if (failed(checkIllegalResult(cx, sharding, diag::IllegalResultMulti)))
        return failure();
    if (failed(refuseAllSets(cx, parts, shardings)))
      return failure();
  } else {
    for (const ResultPart &part : parts)
      shardings.push_back(replicated(mesh->valid() ? *mesh : cx.mesh(),
                                     static_cast<unsigned>(part.shape.size())));
  }
  if (state == ResultState::Match &&
      failed(cx.typeManual(varying::match, NoSets)))
    return failure();
  FailureOr<MemorySpace> memory = memory::standard(cx);
  if (failed(memory))
    return failure();
  SmallVector<TypeId, 4> types;
  for (auto [part, sharding] : llvm::zip_equal(parts, shardings)) {
    FailureOr<TypeId> type =
        cx.makeType(part.shape, part.dtype, sharding, part.weak, *memory);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  return setResults(cx, types);
}
