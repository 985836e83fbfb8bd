// PrintFacts.h - how primitives without a typing row print.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PRINTFACTS_H
#define SHARDTYPE_IR_PRINTFACTS_H

#include "shardtype/IR/Primitive.h"

namespace shardtype {

/// What is known of the print of a primitive that has no row (spec 04, 4.8);
/// null for one that prints all its parameters in the plain way.
const PrimitiveInfo *printFacts(StringRef name);

/// All of them: a primitive that gets a row loses its entry here.
ArrayRef<PrimitiveInfo> allPrintFacts();

} // namespace shardtype

#endif
