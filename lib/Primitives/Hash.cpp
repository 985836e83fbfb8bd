// Hash.cpp - the hash functions behind random keys.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "Evals.h"
#include "Families.h"
#include "shardtype/Kernels/Random.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

/// No rule for U and R (hash/unreduced.1); offers each operand without them.
static LogicalResult refuseSets(TypingContext &cx) {
  bool any = false;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    any |= cx.sharding(i).hasUR();
  if (!any || cx.olderJax()) // JAX 0.11 drops them (hash/unreduced.2).
    return success();
  ErrorBuilder error = cx.error(diag::RuleMissingUR, cx.name());
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasUR())
      error.mark(i).fixOperand(i, withoutSets(cx.sharding(i)));
  return error;
}

/// hash/type.1: uint32 operands as in section 4; all `Results` are alike.
template <unsigned Results> static LogicalResult hash(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.operand(i).isArray() || cx.operand(i).dtype != DType::U32)
      return cx
          .error(diag::DTypeMismatch,
                 "'" + cx.name().str() + "' takes u32 arrays, but operand " +
                     cx.arg(i) + " is " + cx.arg(cx.operandId(i)))
          .mark(i);
  FailureOr<Shape> shape = nary::shape(cx);
  if (failed(shape))
    return failure();
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  Sharding result =
      replicated(mesh->valid() ? *mesh : cx.mesh(), shape->size());
  if (cx.rulesApply()) {
    FailureOr<Sharding> merged = nary::sharding(cx, diag::IllegalResultMulti);
    if (failed(merged) || failed(refuseSets(cx)))
      return failure();
    result = std::move(*merged);
  }
  AxisSet varying;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    varying |= cx.operand(i).manual.varying;
  if (cx.options().vma == Vma::Infer)
    cx.setManual({varying, {}, {}, ReductionKind::None});
  else if (!varying.empty()) // manual/lost.2
    warnVariationLost(cx, varying, "JAX gives it no variation at all");
  FailureOr<TypeId> type = cx.makeType(*shape, DType::U32, result);
  if (failed(type))
    return failure();
  SmallVector<TypeId, 4> types(Results, *type);
  return setResults(cx, types);
}

using Hash = std::vector<Tensor>(ArrayRef<const Tensor *>);
template <Hash Kernel> static LogicalResult hashEval(EvalContext &cx) {
  std::vector<Tensor> words = Kernel(eval::operandsFrom(cx, 0));
  for (unsigned i = 0; i < words.size(); ++i)
    cx.setResult(i, std::move(words[i]));
  return success();
}
static LogicalResult threefryEval(EvalContext &cx) {
  auto [first, second] = kernels::threefryArrays(cx.operand(0), cx.operand(1),
                                                 cx.operand(2), cx.operand(3));
  cx.setResult(0, std::move(first));
  cx.setResult(1, std::move(second));
  return success();
}

template <unsigned Operands, unsigned Results>
static constexpr Primitive row(StringRef name, EvalRule evaluation) {
  return {.info = {name, schemaOf<NoParams>},
          .decode = decodeFor<NoParams, Operands>,
          .dims = nary::dims,
          .linearity = {},
          .open = OpenRule::Pointwise,
          .type = Custom{hash<Results>},
          .eval = evaluation};
}

static const Primitive Rows[] = {
    row<4, 2>("threefry2x32", threefryEval),
    row<8, 4>("threefry4x32", hashEval<kernels::threefry4x32>),
    row<3, 2>("philox2x32", hashEval<kernels::philox2x32>),
    row<6, 4>("philox4x32", hashEval<kernels::philox4x32>),
};

ArrayRef<Primitive> shardtype::hashes() { return Rows; }
