// Reducers.h - bodies of two scalars that kernels know.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_REDUCERS_H
#define SHARDTYPE_LIB_PRIMITIVES_REDUCERS_H

#include "shardtype/IR/Program.h"
#include "shardtype/Kernels/Combination.h"
#include "shardtype/Kernels/Window.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// The jaxpr that a parameter holds, or nothing (absent, None).
std::optional<JaxprId> bodyParam(EvalContext &cx, StringRef key);
/// The function that a body (current, other) is, if it is one equation.
std::optional<kernels::Combination> combinationOf(const Program &program,
                                                  JaxprId body);
std::optional<kernels::Select> selectionOf(const Program &program,
                                           JaxprId body);

/// Types bodies of scalars, so that they can be run, unless kernels know all of
/// them. JAX's rules do not look at them.
void typeScalarBodies(TypingContext &cx, ArrayRef<StringRef> keys,
                      ArrayRef<DType> inputs);

using WindowAxes = SmallVector<kernels::WindowAxis, 4>;

// Evaluations by a function of scalars that the equation holds. What kernels
// know is left to them; else the body runs once for each element.
/// Operands, then as many initial values: each window from those, row-major.
Task reduceByBody(EvalContext &cx, WindowAxes axes);
/// Operand, source, initial value.
Task selectAndScatterByBody(EvalContext &cx, WindowAxes axes);

/// Element `position` of an array as a scalar, and back.
Tensor elementAt(const Tensor &x, int64_t position);
void setElement(Tensor &x, int64_t position, const Tensor &scalar);

} // namespace shardtype

#endif
