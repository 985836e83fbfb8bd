// RefsEval.h - making, reading and writing Refs, as it is evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_REFSEVAL_H
#define SHARDTYPE_LIB_PRIMITIVES_REFSEVAL_H

#include "shardtype/Rules/Eval.h"

namespace shardtype {

LogicalResult newRefEval(EvalContext &cx);
LogicalResult emptyRefEval(EvalContext &cx);
LogicalResult freezeEval(EvalContext &cx);
LogicalResult getEval(EvalContext &cx);
LogicalResult swapEval(EvalContext &cx);
LogicalResult addUpdateEval(EvalContext &cx);
/// `broadcast_to`: as NumPy broadcasts, to the result's shape.
LogicalResult broadcastToEval(EvalContext &cx);

} // namespace shardtype

#endif
