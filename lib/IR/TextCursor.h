// TextCursor.h - a position in a printed program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTCURSOR_H
#define SHARDTYPE_LIB_IR_TEXTCURSOR_H

#include "TextSyntax.h"
#include "llvm/ADT/StringExtras.h"

namespace shardtype {

inline bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Behind a quoted string that starts at `at`; Python escapes line breaks, so
/// an open quote ends with its line. Nothing if it is not closed.
std::optional<size_t> endOfQuote(StringRef text, size_t at);
/// Behind `<...>` with inner pairs, all on one line; `->` is no bracket.
std::optional<size_t> endOfAngle(StringRef text, size_t at);
/// Where the value that starts at `begin` ends if it has no blanks outside
/// brackets and quotes: a blank, a closing `]`, or the end. Nothing if brackets
/// do not match.
std::optional<size_t> endOfValue(StringRef text, size_t begin);

/// Steps through a text. Blanks and line breaks mean nothing; `#` begins a
/// comment.
class TextCursor {
public:
  explicit TextCursor(StringRef text) : text_(text) {}

  StringRef text() const { return text_; }
  size_t at() const { return at_; }
  void seek(size_t offset) { at_ = offset; }
  bool atEnd() const { return at_ >= text_.size(); }
  /// A character ahead, NUL behind the end.
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  StringRef rest() const { return text_.substr(at_); }
  StringRef since(size_t begin) const { return text_.slice(begin, at_); }

  /// True if a line ended.
  bool skipBlanks();
  /// Steps over `token` if it comes next.
  bool accept(StringRef token);
  /// The word that comes next: a letter or `_`, then letters, digits, `_`.
  StringRef peekWord() const;
  StringRef takeWord();
  /// Steps over the text of a type and returns it (spec 04, 5, rule 1); empty
  /// if none is there.
  TextRange takeType();

  /// Comments of the form `file:line:column (function)`, in order.
  std::vector<TextRange> takeSourceComments() {
    return std::move(sourceComments_);
  }

private:
  void comment();

  StringRef text_;
  size_t at_ = 0;
  size_t commentsUntil_ = 0; // Those before were seen.
  std::vector<TextRange> sourceComments_;
};

/// A comment's file, line, column and function; nothing if it is another one.
/// JAX leaves the comment of an equation empty if it knows no source.
struct SourceComment {
  StringRef file, function;
  uint32_t line = 0, column = 0;
};
std::optional<SourceComment> readSourceComment(StringRef comment);

/// Lines and columns, from 1, of ascending offsets.
class LineCounter {
public:
  explicit LineCounter(StringRef text) : text_(text) {}
  /// `offset` must not be below that of the last call.
  void advance(size_t offset);
  unsigned line() const { return line_; }
  unsigned column() const {
    return static_cast<unsigned>(at_ - lineStart_) + 1;
  }

private:
  StringRef text_;
  size_t at_ = 0, lineStart_ = 0;
  unsigned line_ = 1;
};

} // namespace shardtype

#endif
