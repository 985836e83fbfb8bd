// TextCursor.cpp - a position in a printed program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextCursor.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

static bool isOpening(char c) { return c == '(' || c == '[' || c == '{'; }
static bool isClosing(char c) { return c == ')' || c == ']' || c == '}'; }

std::optional<size_t> shardtype::endOfQuote(StringRef text, size_t at) {
  char quote = text[at];
  for (size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote)
      return i + 1;
  }
  return std::nullopt;
}

std::optional<size_t> shardtype::endOfAngle(StringRef text, size_t at) {
  unsigned depth = 0;
  for (size_t i = at; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '<')
      ++depth;
    else if (text[i] == '>' && text[i - 1] != '-' && --depth == 0)
      return i + 1;
  }
  return std::nullopt;
}

static size_t endOfLine(StringRef text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

std::optional<size_t> shardtype::endOfValue(StringRef text, size_t begin) {
  SmallVector<char, 16> open;
  for (size_t i = begin; i < text.size();) {
    char c = text[i];
    if (open.empty() && (llvm::isSpace(c) || isClosing(c)))
      return i;
    std::optional<size_t> next = i + 1;
    if ((c == '\'' || c == '"') && (!open.empty() || i == begin))
      next = endOfQuote(text, i);
    else if (c == '<' && i == begin)
      next = endOfAngle(text, i);
    else if (c == '#' && !open.empty() && llvm::isSpace(text[i - 1]))
      next = endOfLine(text, i);
    else if (isOpening(c))
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    else if (isClosing(c) && open.pop_back_val() != c)
      return std::nullopt;
    if (!next)
      return std::nullopt;
    i = *next;
  }
  if (!open.empty())
    return std::nullopt;
  return text.size();
}

std::optional<SourceComment> shardtype::readSourceComment(StringRef comment) {
  SourceComment source;
  comment = comment.trim();
  if (comment.empty())
    return source;
  size_t open = comment.rfind(" (");
  if (open == StringRef::npos || !comment.ends_with(")"))
    return std::nullopt;
  source.function = comment.slice(open + 2, comment.size() - 1);
  auto [before, last] = comment.take_front(open).rsplit(':');
  uint32_t number;
  if (last.getAsInteger(10, number))
    return std::nullopt;
  auto [file, line] = before.rsplit(':');
  if (!line.empty() && !line.getAsInteger(10, source.line)) {
    source.file = file;
    source.column = number;
  } else {
    source.file = before;
    source.line = number;
  }
  if (source.file.empty())
    return std::nullopt;
  return source;
}

void TextCursor::comment() {
  size_t begin = at_ + 1;
  at_ = std::min(text_.find('\n', at_), text_.size());
  if (begin < commentsUntil_)
    return; // Seen before a step back.
  commentsUntil_ = at_;
  if (readSourceComment(since(begin)))
    sourceComments_.push_back(
        {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)});
}

bool TextCursor::skipBlanks() {
  bool lineEnded = false;
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '#')
      comment();
    if (atEnd() || !llvm::isSpace(text_[at_]))
      break;
    lineEnded |= text_[at_] == '\n';
  }
  return lineEnded;
}

bool TextCursor::accept(StringRef token) {
  if (!rest().starts_with(token))
    return false;
  at_ += token.size();
  return true;
}

StringRef TextCursor::peekWord() const {
  size_t end = at_;
  while (end < text_.size() &&
         (llvm::isAlpha(text_[end]) || text_[end] == '_' ||
          (end > at_ && llvm::isDigit(text_[end]))))
    ++end;
  return text_.slice(at_, end);
}

StringRef TextCursor::takeWord() {
  StringRef word = peekWord();
  at_ += word.size();
  return word;
}

/// A type has no blanks outside its brackets. A dot ends it where a blank
/// follows: the end of a jaxpr's binders.
TextRange TextCursor::takeType() {
  size_t begin = at_;
  SmallVector<char, 8> open;
  for (; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '\n')
      break;
    if (open.empty() && (llvm::isSpace(c) || c == ',' || c == ';' || c == '='))
      break;
    if (open.empty() && c == '.' &&
        (at_ + 1 == text_.size() || llvm::isSpace(text_[at_ + 1])))
      break;
    if (c == '(' || c == '[' || c == '{') {
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        break;
      open.pop_back();
    }
  }
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_ - begin)};
}

void LineCounter::advance(size_t offset) {
  size_t end = std::min(offset, text_.size());
  while (at_ < end) {
    size_t lineEnd = text_.slice(at_, end).find('\n');
    if (lineEnd == StringRef::npos) {
      at_ = end;
      return;
    }
    at_ += lineEnd + 1;
    lineStart_ = at_;
    ++line_;
  }
}
