// BodyEval.h - evaluation of equations that run a body once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_BODYEVAL_H
#define SHARDTYPE_LIB_PRIMITIVES_BODYEVAL_H

#include "shardtype/Rules/Eval.h"

namespace shardtype {

/// The results are those of `body` for all operands.
Task runBody(EvalContext &cx, JaxprId body);

template <typename P> Task callEval(EvalContext &cx) {
  return runBody(cx, cx.params<P>().jaxpr);
}

} // namespace shardtype

#endif
