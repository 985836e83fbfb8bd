// SpecDiagnostics.h - errors of specs and types as diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_SPECDIAGNOSTICS_H
#define SHARDTYPE_RULES_SPECDIAGNOSTICS_H

#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// The code and arguments that tell what is wrong with a spec.
std::pair<diag::Code, std::vector<std::string>>
describeSpecError(Context &cx, const SpecError &error,
                  const PartitionSpec &spec, MeshId mesh, unsigned rank,
                  ArrayRef<int64_t> shape);

ErrorBuilder reportSpecError(TypingContext &cx, const SpecError &error,
                             const PartitionSpec &spec, MeshId mesh,
                             unsigned rank);
ErrorBuilder reportSpecError(TypingContext &cx, const SpecError &error,
                             const Sharding &sharding, ArrayRef<int64_t> shape);

} // namespace shardtype

#endif
