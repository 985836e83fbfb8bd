// TextLiteral.h - the values of literal operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTLITERAL_H
#define SHARDTYPE_LIB_IR_TEXTLITERAL_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// The literal `repr:type` (spec 04, 4.5): its text, and its value rounded to
/// the type's dtype. Nothing if the text is no value of that dtype; a type that
/// is no array, or whose format we cannot round to, keeps the text only.
std::optional<Literal> readLiteral(Context &cx, StringRef repr, TypeId type);

/// The bits of a Python float in hex, as the exchange format has them.
std::optional<std::string> doubleBits(StringRef text);

} // namespace shardtype

#endif
