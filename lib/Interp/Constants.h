// Constants.h - values that are written in a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_CONSTANTS_H
#define SHARDTYPE_LIB_INTERP_CONSTANTS_H

#include "shardtype/IR/Program.h"
#include "shardtype/Tensor/Tensor.h"

namespace shardtype {

/// The value of a literal, or of an array of the file; no memory: it is not
/// known, or is no such value.
Tensor valueOf(const Program &program, const Literal &literal);
Tensor valueOf(const Program &program, const ConstArray &array);

} // namespace shardtype

#endif
