// Syntax.h - our sentences about text that is not JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_SYNTAX_H
#define SHARDTYPE_LIB_JSON_SYNTAX_H

#include "Tree.h"

namespace shardtype::json {

/// What kind of mistake ended the parsing.
enum class Mistake : uint8_t {
  Value,     // No value where one must stand.
  Key,       // No key in an object.
  Colon,     // No ':' after a key.
  ObjectEnd, // No ',' or '}' after a field.
  ListEnd,   // No ',' or ']' after an element.
  FileEnd,   // Something after the only value.
  StringEnd, // A string that is not closed, or a zero byte in it.
  Escape,    // '\' and a character that it does not escape.
  Hex,       // '\u' without four digits.
  Surrogate, // Half of a surrogate pair.
  Encoding,  // Bytes that are not UTF-8.
  Fraction,  // No digit after '.'.
  Exponent,  // No digit after 'e'.
  Large      // A number that no double holds.
};

/// Throws Bad with the code JsonSyntax: `at` is the position in the text where
/// the parser stopped. The message says what was expected and what stands
/// there.
[[noreturn]] void badSyntax(StringRef text, Mistake mistake, size_t at);

/// Throws likewise: the string whose closing quote ends at `end` is not UTF-8,
/// by its bytes or by what its escapes mean.
[[noreturn]] void badEncoding(StringRef text, size_t end);

} // namespace shardtype::json

#endif
