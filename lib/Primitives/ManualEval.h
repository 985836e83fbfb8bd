// ManualEval.h - collectives, as they are evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_MANUALEVAL_H
#define SHARDTYPE_LIB_PRIMITIVES_MANUALEVAL_H

#include "shardtype/Rules/Eval.h"

namespace shardtype {

/// psum, pmax, pmin and the forms of them: which one is in the name.
Task reductionEval(EvalContext &cx);
Task gatherEval(EvalContext &cx);
Task reduceScatterEval(EvalContext &cx);
Task allToAllEval(EvalContext &cx);
Task raggedEval(EvalContext &cx);
Task permuteEval(EvalContext &cx);
Task broadcastEval(EvalContext &cx);
LogicalResult axisIndexEval(EvalContext &cx);

} // namespace shardtype

#endif
