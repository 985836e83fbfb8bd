// RefIndex.h - what reads and writes of a Ref see of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_REFINDEX_H
#define SHARDTYPE_LIB_PRIMITIVES_REFINDEX_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype {

/// The type of the part of operand 0, a Ref, that the equation reads or writes;
/// index operands begin at `firstIndex`. How they are used is in the equation's
/// `derived` field.
FailureOr<TypeId> refPart(TypingContext &cx, unsigned firstIndex);

} // namespace shardtype

#endif
