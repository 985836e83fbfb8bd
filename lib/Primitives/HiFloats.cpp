// HiFloats.cpp - Frexp and Ldexp, classes of call_hi_primitive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HiPrims.h"
#include "shardtype/Kernels/Unary.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

/// JAX refuses them when it lowers: what it computes casts bits.
static LogicalResult refuseSets(TypingContext &cx, StringRef name) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasUR())
      return cx
          .error(diag::RuleMissingBare, name, "unreduced or reduced operands")
          .mark(i)
          .fixOperand(i, withoutSets(cx.sharding(i)));
  return success();
}

/// A function of floats has that many operands, arrays of one shape.
static LogicalResult checkOperands(TypingContext &cx, StringRef name,
                                   unsigned count) {
  if (cx.numOperands() != count || !cx.operand(0).isArray())
    return cx.error(diag::OperandCount, name, count, cx.numOperands());
  if (count == 2 &&
      (!cx.operand(1).isArray() || cx.operand(0).shape != cx.operand(1).shape))
    return cx.error(diag::ParamInvalid, "_prim", "takes operands of one shape");
  return refuseSets(cx, name);
}

LogicalResult shardtype::frexpTypes(TypingContext &cx) {
  if (failed(checkOperands(cx, "Frexp", 1)))
    return failure();
  Type fraction = cx.operand(0);
  fraction.weak = false;
  Type exponent = fraction;
  exponent.dtype = DType::I32;
  exponent.sharding = replicated(fraction.sharding.mesh, fraction.rank());
  return setResults(
      cx, {cx.context().intern(fraction), cx.context().intern(exponent)});
}

LogicalResult shardtype::ldexpTypes(TypingContext &cx) {
  if (failed(checkOperands(cx, "Ldexp", 2)))
    return failure();
  Type result = cx.operand(0);
  result.weak = false;
  if (cx.rulesApply()) {
    FailureOr<Sharding> joint = nary::sharding(cx);
    if (failed(joint))
      return failure();
    if (joint->dims != result.sharding.dims)
      return cx
          .error(diag::RuleMissingBare, "Ldexp",
                 "exponents that are sharded where the floats are not")
          .mark(1)
          .fixOperand(1, result.sharding)
          .fixOperand(0, *joint);
  }
  return setResults(cx, cx.context().intern(result));
}

std::string shardtype::floatsRefusal(EvalContext &cx) {
  const DTypeInfo &type = info(cx.operandType(0).dtype);
  if (type.kind == DTypeKind::Float && type.bits >= 16)
    return "";
  return "it has no kernel for " + type.longName.str();
}

LogicalResult shardtype::frexpEval(EvalContext &cx) {
  Tensor fraction = cx.makeResult(0), exponent = cx.makeResult(1);
  kernels::frexp(cx.operand(0), fraction, exponent);
  cx.setResult(0, std::move(fraction));
  cx.setResult(1, std::move(exponent));
  return success();
}

LogicalResult shardtype::ldexpEval(EvalContext &cx) {
  Tensor result = cx.makeResult();
  kernels::ldexp(cx.operand(0), cx.operand(1), result);
  cx.setResult(0, std::move(result));
  return success();
}
