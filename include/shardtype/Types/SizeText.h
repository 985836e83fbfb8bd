// SizeText.h - a dim's size as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_SIZETEXT_H
#define SHARDTYPE_TYPES_SIZETEXT_H

#include "shardtype/Types/Context.h"

namespace shardtype {

/// A number, or the text of a symbolic size.
std::string sizeText(const Context &cx, int64_t size);

} // namespace shardtype

#endif
