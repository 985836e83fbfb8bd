// Helpers.cpp - the rule parts that rows name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

LogicalResult shardtype::checkOperandCount(TypingContext &cx, unsigned min,
                                           unsigned max) {
  if (cx.numOperands() >= min && cx.numOperands() <= max)
    return success();
  std::string wanted = std::to_string(min);
  if (max == AnyNumber)
    wanted += " or more";
  else if (max != min)
    wanted += " to " + std::to_string(max);
  return cx.error(diag::OperandCount, cx.name(), wanted, cx.numOperands());
}

LogicalResult shardtype::setResults(TypingContext &cx, ArrayRef<TypeId> types) {
  if (types.size() != cx.numResults())
    return cx.error(diag::ResultCount, cx.name(), types.size(),
                    cx.numResults());
  for (unsigned i = 0; i < types.size(); ++i)
    cx.setResult(i, types[i]);
  return success();
}

//===--- Parts of standard rows -------------------------------------------===//

FailureOr<Shape> shape::operand(TypingContext &cx) {
  return cx.operand(0).shape;
}

FailureOr<DType> dtype::operand(TypingContext &cx) {
  return cx.operand(0).dtype;
}

/// unary/weak.1
bool weak::all(TypingContext &cx) {
  return llvm::all_of(llvm::seq(cx.numOperands()),
                      [&](unsigned i) { return cx.operand(i).weak; });
}
bool weak::first(TypingContext &cx) { return cx.operand(0).weak; }
bool weak::never(TypingContext &) { return false; }

/// nary/memory.1
FailureOr<MemorySpace> memory::standard(TypingContext &cx) {
  bool allAny = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    allAny &= cx.operand(i).memory == MemorySpace::Any;
  if (allAny)
    return MemorySpace::Any;
  std::optional<unsigned> first;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (cx.operand(i).rank() == 0)
      continue;
    if (!first)
      first = i;
    else if (cx.operand(i).memory != cx.operand(*first).memory)
      return cx.error(diag::MemorySpaceDiffers).mark(*first).mark(i);
  }
  return first ? cx.operand(*first).memory : MemorySpace::Device;
}

FailureOr<MemorySpace> memory::operand(TypingContext &cx) {
  return cx.operand(0).memory;
}

FailureOr<Sharding> sharding::operand(TypingContext &cx) {
  return cx.sharding(0);
}

//===--- Unreduced and reduced --------------------------------------------===//

FailureOr<ReductionSets> reduction::passAnyKind(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  return ReductionSets{s.unreduced, s.reduced, s.kind};
}

FailureOr<ReductionSets> reduction::pass(TypingContext &cx) {
  if (failed(requireSum(cx, 0)))
    return failure();
  return passAnyKind(cx);
}

ErrorBuilder shardtype::refuseUnreduced(TypingContext &cx, unsigned operand,
                                        diag::Code code) {
  const Sharding &s = cx.sharding(operand);
  ErrorBuilder error = cx.olderJax() ? cx.error(diag::RuleMissingU, cx.name())
                                     : cx.error(code, cx.name(), s.unreduced);
  return error.mark(operand).fixOperand(operand, withoutUnreduced(s));
}

/// unary/reduced.1, unary/unreduced.1
FailureOr<ReductionSets> reduction::nonlinear(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  if (failed(requireSum(cx, 0)))
    return failure();
  if (!s.unreduced.empty())
    return refuseUnreduced(cx, 0, diag::NonlinearUnreduced);
  return ReductionSets{{}, s.reduced, ReductionKind::None};
}

/// unary/unreduced.3
FailureOr<ReductionSets> reduction::linearRefused(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  if (failed(requireSum(cx, 0)))
    return failure();
  if (!s.unreduced.empty())
    return refuseUnreduced(cx, 0, diag::LinearUnreduced).sound(s);
  return ReductionSets{{}, s.reduced, ReductionKind::None};
}

FailureOr<ReductionSets> reduction::refuseMissing(TypingContext &cx,
                                                  Sharding result) {
  ErrorBuilder error = cx.error(diag::RuleMissingUR, cx.name());
  // Reduced alike everywhere and sharded over those axes nowhere.
  bool sound = true;
  AxisSet reduced = cx.sharding(0).reduced;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    sound &= s.unreduced.empty() && s.reduced == reduced;
    if (s.hasUR())
      error.mark(i).fixOperand(i, withoutSets(s));
  }
  if (sound && !result.axes().intersects(reduced)) {
    result = withoutSets(result);
    result.reduced = reduced;
    error.sound(result);
  }
  return error;
}

//===--- Checks and fixes rules share -------------------------------------===//

std::optional<diag::Code> shardtype::refusedReshard(Context &cx, Sharding from,
                                                    const Sharding &to) {
  ReductionKind own = from.kind;
  if (from.mesh != to.mesh)
    from = onMesh(cx, from, to.mesh);
  bool isSum = to.kind == ReductionKind::None || to.kind == ReductionKind::Sum;
  if (!isSum && !(to.unreduced - from.unreduced).empty()) // reshard/reduction.1
    return diag::ReshardMoreUnreduced;
  if (own != ReductionKind::None && to.kind != ReductionKind::None &&
      own != to.kind) // reshard/reduction.2
    return diag::ReshardKind;
  return std::nullopt;
}

Sharding shardtype::withoutUnreduced(Sharding sharding) {
  sharding.unreduced = {};
  sharding.kind = ReductionKind::None;
  return sharding;
}

Sharding shardtype::withoutSets(Sharding sharding) {
  sharding.reduced = {};
  return withoutUnreduced(std::move(sharding));
}

Sharding shardtype::placed(TypingContext &cx, unsigned operand) {
  Sharding s = cx.sharding(operand);
  if (!s.hasMesh())
    s.mesh = cx.ruleMesh();
  return s;
}

/// unary/unreduced.4
LogicalResult shardtype::requireSum(TypingContext &cx, unsigned operand) {
  const Sharding &s = cx.sharding(operand);
  if (s.unreduced.empty() || s.kind == ReductionKind::Sum)
    return success();
  return cx
      .error(diag::UnreducedKind, operand, str(s.kind), cx.name(),
             str(ReductionKind::Sum))
      .mark(operand)
      .fixOperand(operand, withoutUnreduced(s));
}

LogicalResult shardtype::refuseSpecSets(TypingContext &cx, unsigned operand) {
  const Sharding &s = cx.sharding(operand);
  if (!s.hasUR())
    return success();
  return cx.error(diag::SpecIteration, cx.name())
      .mark(operand)
      .fixOperand(operand, withoutSets(s));
}

/// The other way out: a result that is longer on this dim, by as little as
/// makes it divide. That is another program, so the text alone is offered.
static ErrorBuilder &offerPadded(TypingContext &cx, const Sharding &sharding,
                                 ArrayRef<int64_t> shape, unsigned dim,
                                 ErrorBuilder &error) {
  int64_t parts = cx.context().mesh(sharding.mesh).size(sharding.dims[dim]);
  Type padded = cx.operand(0);
  padded.shape.assign(shape.begin(), shape.end());
  padded.shape[dim] = llvm::divideCeil(shape[dim], parts) * parts;
  padded.sharding = withoutSets(sharding);
  if (checkDivisible(cx.context(), padded.sharding, padded.shape))
    return error;
  Fix fix;
  fix.code = "pad dim " + std::to_string(dim) + " of the result to " +
             std::to_string(padded.shape[dim]) + ": " +
             cx.arg(cx.context().intern(padded));
  return error.fix(std::move(fix));
}

FailureOr<Sharding> shardtype::varyingShape(TypingContext &cx, unsigned operand,
                                            ArrayRef<int64_t> outShape) {
  const Sharding &s = cx.sharding(operand);
  // varying_shape/sharding.1
  auto isOne = [](int64_t size) { return size == 1; };
  if (llvm::all_of(outShape, isOne)) {
    Sharding whole = replicated(s.mesh, outShape.size());
    whole.unreduced = s.unreduced;
    whole.reduced = s.reduced;
    whole.kind = s.kind;
    return whole;
  }
  const Mesh &mesh = cx.context().meshOrEmpty(s.mesh);
  for (unsigned d = 0; d < outShape.size(); ++d) {
    if (s.dims[d].empty() || outShape[d] == cx.shape(operand)[d] ||
        Dim::isSymbolic(outShape[d]))
      continue;
    int64_t parts = mesh.size(s.dims[d]);
    if (outShape[d] % parts == 0) // varying_shape/sharding.2
      continue;
    Sharding gathered = s;
    gathered.dims[d].clear();
    ErrorBuilder error = cx.error(diag::VaryingShape, cx.name(), d, outShape[d],
                                  s.dims[d], parts);
    return offerPadded(cx, s, outShape, d,
                       error.mark(operand, d).fixOperand(operand, gathered));
  }
  return s; // varying_shape/sharding.3
}
