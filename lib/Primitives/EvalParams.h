// EvalParams.h - parameters that only evaluations read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_EVALPARAMS_H
#define SHARDTYPE_LIB_PRIMITIVES_EVALPARAMS_H

#include "shardtype/Kernels/Index.h"
#include "shardtype/Rules/Eval.h"
#include "llvm/ADT/Twine.h"

namespace shardtype::eval {

/// The member of an enum, without its class (`CLIP`), a name or a string; a
/// number as its digits. Empty: there is none.
std::string choice(EvalContext &cx, StringRef key);
/// A bool or integer; absent: `otherwise`.
bool flag(EvalContext &cx, StringRef key, bool otherwise = false);
/// An integer or float; absent or no number: nothing.
std::optional<double> real(EvalContext &cx, StringRef key);
/// A number as a scalar of `dtype`; absent: no tensor.
Tensor scalarParam(EvalContext &cx, StringRef key, DType dtype);

/// How gather and scatter treat what lies outside.
kernels::OutOfBounds outOfBounds(EvalContext &cx);

/// Are random numbers numbered by their index, as is JAX's default, or counted
/// in halves, as its older scheme does? A field of the equation's context says.
bool splitsByIndex(EvalContext &cx);
// Refusals of rows (EvalRule::Refusal).

/// Of operands or results that are no numbers or bools: types take keys and
/// float0 where nothing can compute with them.
std::string numbersOnly(EvalContext &cx);
/// Of operands that are no real floats.
std::string floatsOnly(EvalContext &cx);
/// Where LAPACK is not there.
std::string needsLapack(EvalContext &cx);

/// Pointers to the operands from `begin`.
SmallVector<const Tensor *, 6> tensorsFrom(EvalContext &cx, unsigned begin);

} // namespace shardtype::eval

#endif
