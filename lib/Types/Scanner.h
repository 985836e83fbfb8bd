// Scanner.h - a cursor over a short text, for the parsers of this library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TYPES_SCANNER_H
#define SHARDTYPE_LIB_TYPES_SCANNER_H

#include "shardtype/Support/LLVM.h"
#include "shardtype/Types/Text.h"

namespace shardtype {

/// Reads a text from left to right and keeps the first thing that is wrong
/// with it. Parsers return `failure()` once `fail` was called.
class Scanner {
public:
  explicit Scanner(StringRef text) : text_(text) {}

  size_t offset() const { return offset_; }
  void seek(size_t offset) { offset_ = offset; }
  bool atEnd() const { return offset_ >= text_.size(); }
  StringRef rest() const { return text_.substr(offset_); }
  StringRef since(size_t start) const { return text_.slice(start, offset_); }
  /// The next character, or NUL at the end.
  char peek() const { return atEnd() ? '\0' : text_[offset_]; }
  void skip(size_t count = 1) { offset_ += count; }
  void skipBlanks();
  /// Steps over `token` if it comes next, after blanks.
  bool accept(StringRef token);
  /// `accept`, or the error that `token` was expected.
  LogicalResult expect(StringRef token);
  /// `accept` of a whole word: no letter, digit or `_` follows.
  bool acceptWord(StringRef word);
  /// The longest run of characters that `keep` holds for; may be empty.
  StringRef takeWhile(llvm::function_ref<bool(char)> keep);
  /// Letters, digits and `_`.
  StringRef takeWord();
  /// A count that fits int64, or an error that says what was expected.
  FailureOr<int64_t> takeNumber(StringRef what);
  /// A string in Python's single or double quotes, escapes undone.
  FailureOr<std::string> takeQuoted();
  /// An axis name: quoted, or bare up to a blank or a character that ends it.
  FailureOr<std::string> takeName(StringRef what);

  LogicalResult fail(std::string message) {
    return failAt(offset_, std::move(message));
  }
  LogicalResult failAt(size_t offset, std::string message);
  const TextError &error() const { return error_; }

private:
  LogicalResult takeEscape(std::string &out);

  StringRef text_;
  size_t offset_ = 0;
  TextError error_;
};

/// What comes next, for error messages: `']'` or `the end`.
std::string describeNext(const Scanner &in);

/// Runs `parse` on a text and makes its result a TextResult. Without `length`
/// nothing but blanks may follow.
template <typename T, typename Parse>
TextResult<T> runParser(StringRef text, size_t *length, Parse parse) {
  Scanner in(text);
  FailureOr<T> value = parse(in);
  if (succeeded(value) && !length) {
    in.skipBlanks();
    if (!in.atEnd())
      value = in.fail("unexpected " + describeNext(in));
  }
  if (failed(value))
    return {std::nullopt, in.error()};
  if (length)
    *length = in.offset();
  return {std::move(*value), {}};
}

} // namespace shardtype

#endif
