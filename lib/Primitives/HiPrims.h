// HiPrims.h - classes of call_hi_primitive that have files of their own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_HIPRIMS_H
#define SHARDTYPE_LIB_PRIMITIVES_HIPRIMS_H

#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// frexp/type.1: the fraction has the operand's sharding, the exponent none.
LogicalResult frexpTypes(TypingContext &cx);
LogicalResult frexpEval(EvalContext &cx);
/// ldexp/type.1: the floats' sharding, which exponents must not add to.
LogicalResult ldexpTypes(TypingContext &cx);
LogicalResult ldexpEval(EvalContext &cx);
/// Why either cannot be computed; empty: it can.
std::string floatsRefusal(EvalContext &cx);

} // namespace shardtype

#endif
