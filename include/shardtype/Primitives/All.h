// All.h - the rows of every family.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_PRIMITIVES_ALL_H
#define SHARDTYPE_PRIMITIVES_ALL_H

#include "shardtype/Rules/Primitive.h"

namespace shardtype {

/// All primitives of JAX that the project knows.
PrimitiveSet allPrimitives();

} // namespace shardtype

#endif
