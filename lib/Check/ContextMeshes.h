// ContextMeshes.h - changes of the context mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_CONTEXTMESHES_H
#define SHARDTYPE_LIB_CHECK_CONTEXTMESHES_H

#include "Findings.h"

namespace shardtype {

/// Reports regions whose context mesh has not as many devices as the one around
/// them; an empty mesh goes with any (structure/context.2).
void checkContextMeshes(const Program &program, Findings &findings);

} // namespace shardtype

#endif
