// Declared.h - results that are what a program says they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_DECLARED_H
#define SHARDTYPE_LIB_PRIMITIVES_DECLARED_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype {

/// The type that a parameter holds, on the rewritten mesh: a type of a file, or
/// text such as `ShapedArray(float32[8,4])`. A printed type without axes has no
/// mesh. Nothing: it is no type.
std::optional<TypeId> typeOfValue(TypingContext &cx, const Value &value);

/// The types that a tuple of them gives, one for each result; nothing if it is
/// of another form (`result_avals` that a printed program abbreviates).
std::optional<SmallVector<TypeId, 4>> typesOfValue(TypingContext &cx,
                                                   const Value *value);

/// The recorded type of a result on the rewritten mesh; invalid: none is.
TypeId declaredResult(TypingContext &cx, unsigned result);
/// Fails under the primitive's name, for results that nothing declares: see
/// `TypingContext::unknownPrimitive`.
LogicalResult undeclared(TypingContext &cx);

/// Warns that operands which are sharded are gathered in front of a function
/// that nothing is known of (opaque/warning.1).
void warnGathered(TypingContext &cx);

} // namespace shardtype

#endif
