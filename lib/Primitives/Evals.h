// Evals.h - evaluations that rows of several families name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_EVALS_H
#define SHARDTYPE_LIB_PRIMITIVES_EVALS_H

#include "shardtype/Kernels/Binary.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Kernels/Unary.h"
#include "shardtype/Rules/Eval.h"
#include "llvm/ADT/Twine.h"

namespace shardtype::eval {

/// Sets the only result.
inline LogicalResult give(EvalContext &cx, Tensor value) {
  cx.setResult(0, std::move(value));
  return success();
}

/// Pointers to all operands from `begin`.
inline SmallVector<const Tensor *, 4> operandsFrom(EvalContext &cx,
                                                   unsigned begin) {
  SmallVector<const Tensor *, 4> list;
  for (unsigned i = begin; i < cx.numOperands(); ++i)
    list.push_back(&cx.operand(i));
  return list;
}

/// A flag or a number that no rule reads; absent: `otherwise`.
inline int64_t number(EvalContext &cx, StringRef key, int64_t otherwise) {
  const Value *value = cx.param(key);
  bool isNumber =
      value && (value->kind == Value::Int || value->kind == Value::Bool);
  return isNumber ? value->integer : otherwise;
}

/// The name of an enum's member, as far as a parameter is written with one.
inline StringRef enumName(EvalContext &cx, StringRef key) {
  const Value *value = cx.param(key);
  if (!value)
    return "";
  StringId text = value->kind == Value::Enum ? value->text2 : value->text;
  return text.valid() ? cx.context().str(text) : StringRef();
}

/// An operand or a result of arithmetic, without denormals where the run has
/// none (spec 09, 2.4). The C library and integer code look at bits, so that
/// the processor's mode is not enough.
inline Tensor flushed(EvalContext &cx, Tensor value) {
  return cx.options().flushDenormals ? kernels::flushDenormals(std::move(value))
                                     : value;
}

template <kernels::UnaryOp Op> LogicalResult unary(EvalContext &cx) {
  using kernels::UnaryOp;
  if constexpr (Op == UnaryOp::Abs || Op == UnaryOp::Neg ||
                Op == UnaryOp::Conj || Op == UnaryOp::Not)
    return give(cx, kernels::unary(Op, cx.take(0)));
  return give(cx, flushed(cx, kernels::unary(Op, flushed(cx, cx.take(0)))));
}
template <kernels::BinaryOp Op> LogicalResult binary(EvalContext &cx) {
  if constexpr (Op == kernels::BinaryOp::Nextafter)
    return give(cx, kernels::binary(Op, cx.take(0), cx.take(1)));
  Tensor lhs = flushed(cx, cx.take(0)), rhs = flushed(cx, cx.take(1));
  return give(cx,
              flushed(cx, kernels::binary(Op, std::move(lhs), std::move(rhs))));
}
template <kernels::CompareOp Op> LogicalResult compare(EvalContext &cx) {
  return give(cx, kernels::compare(Op, flushed(cx, cx.operand(0)),
                                   flushed(cx, cx.operand(1))));
}

} // namespace shardtype::eval

#endif
