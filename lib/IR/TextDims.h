// TextDims.h - sizes in printed parameters that may be symbolic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTDIMS_H
#define SHARDTYPE_LIB_IR_TEXTDIMS_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// Does a parameter of this name hold sizes? In others a word is a word.
bool holdsDims(StringRef key);
/// `(4*n, 2)`, `((1, 1, 0), (0, 0, 0))`, `n - 1`: numbers and symbolic sizes,
/// in tuples at most `depth` deep. Nothing: it is something else.
std::optional<ValueId> readDims(Program &program, StringRef text,
                                unsigned depth);

} // namespace shardtype

#endif
