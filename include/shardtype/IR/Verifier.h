// Verifier.h - is a program well formed, types aside.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_VERIFIER_H
#define SHARDTYPE_IR_VERIFIER_H

#include "shardtype/IR/Program.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// Checks what every later stage relies on: operands and results are bound
/// before use in their own jaxpr, ids are in range, bodies nest at most
/// `maxDepth` deep and never hold themselves. Failure: reported, what is no
/// matter of scopes or nesting as a mistake in a file's structure.
LogicalResult verify(const Program &program, DiagnosticList &diags,
                     unsigned maxDepth = 256);

} // namespace shardtype

#endif
