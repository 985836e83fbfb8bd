// RefAccess.h - how reads and writes of Refs index them, as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_REFACCESS_H
#define SHARDTYPE_LIB_IR_REFACCESS_H

#include "shardtype/IR/Primitive.h"

namespace shardtype {

/// What prints behind a Ref: `[i,1:3]` in pieces of text and operands.
struct RefAccess {
  struct Piece {
    int operand = -1; // Of the equation; negative: `text`.
    std::string text;
  };
  SmallVector<Piece, 4> pieces;
};

/// Reads the `derived` field of a get, swap or addupdate (spec 04, 6.2).
/// Nothing if it does not say how the index operands are used.
std::optional<RefAccess> refAccess(const Program &program, const Eqn &eqn,
                                   PrintStyle style);

} // namespace shardtype

#endif
