// Operations.h - the plain evaluator's families of operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_PLAIN_OPERATIONS_H
#define SHARDTYPE_TEST_PLAIN_OPERATIONS_H

#include "Plain.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace shardtype::plain {

Function movementNamed(StringRef name); // Elementwise operations too.
Function sumNamed(StringRef name);      // Reductions, products, windows, sort.
Function randomNamed(StringRef name);

/// Ends the evaluation: a form of a primitive that is not covered here.
inline void unsupported(Operation &op) {
  op.evaluator.unsupported = true;
  op.fail(llvm::Twine("is not covered in this form"));
}

} // namespace shardtype::plain

#endif
