// Scanner.cpp - a cursor over a short text, for the parsers of this library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scanner.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace shardtype;

static bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

void Scanner::skipBlanks() {
  while (!atEnd() && llvm::isSpace(peek()))
    ++offset_;
}

bool Scanner::accept(StringRef token) {
  size_t start = offset_;
  skipBlanks();
  if (!rest().starts_with(token)) {
    offset_ = start;
    return false;
  }
  offset_ += token.size();
  return true;
}

LogicalResult Scanner::expect(StringRef token) {
  if (accept(token))
    return success();
  skipBlanks();
  return fail("expected '" + token.str() + "', not " + describeNext(*this));
}

bool Scanner::acceptWord(StringRef word) {
  size_t start = offset_;
  if (accept(word) && !isWordChar(peek()))
    return true;
  offset_ = start;
  return false;
}

StringRef Scanner::takeWhile(llvm::function_ref<bool(char)> keep) {
  size_t start = offset_;
  while (!atEnd() && keep(peek()))
    ++offset_;
  return since(start);
}

StringRef Scanner::takeWord() { return takeWhile(isWordChar); }

FailureOr<int64_t> Scanner::takeNumber(StringRef what) {
  skipBlanks();
  size_t start = offset_;
  StringRef digits = takeWhile([](char c) { return llvm::isDigit(c); });
  if (digits.empty())
    return fail("expected " + what.str() + ", not " + describeNext(*this));
  int64_t value;
  if (digits.getAsInteger(10, value))
    return failAt(start, what.str() +
                             " is too large: " + digits.take_front(40).str() +
                             (digits.size() > 40 ? "..." : ""));
  return value;
}

LogicalResult Scanner::takeEscape(std::string &out) {
  size_t start = offset_ - 1;
  char kind = peek();
  skip();
  if (size_t at = StringRef("ntr0\\'\"").find(kind); at != StringRef::npos) {
    out += StringRef("\n\t\r\0\\'\"", 7)[at];
    return success();
  }
  unsigned digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  unsigned code;
  if (!digits || rest().size() < digits ||
      rest().take_front(digits).getAsInteger(16, code))
    return failAt(start, "unknown escape in a quoted name");
  skip(digits);
  char utf8[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = utf8;
  if (!llvm::ConvertCodePointToUTF8(code, end))
    return failAt(start, "escape of no character in a quoted name");
  out.append(utf8, end);
  return success();
}

FailureOr<std::string> Scanner::takeQuoted() {
  size_t start = offset_;
  char quote = peek();
  skip();
  std::string out;
  while (!atEnd() && peek() != quote) {
    char c = peek();
    skip();
    if (c != '\\')
      out += c;
    else if (failed(takeEscape(out)))
      return failure();
  }
  if (atEnd())
    return failAt(start, "quote is not closed");
  skip();
  return out;
}

FailureOr<std::string> Scanner::takeName(StringRef what) {
  skipBlanks();
  if (peek() == '\'' || peek() == '"')
    return takeQuoted();
  StringRef name = takeWhile([](char c) {
    return !llvm::isSpace(c) && !StringRef("()[]{}<>,;:=@'\"#").contains(c);
  });
  if (name.empty())
    return fail("expected " + what.str() + ", not " + describeNext(*this));
  return name.str();
}

LogicalResult Scanner::failAt(size_t offset, std::string message) {
  if (error_.message.empty())
    error_ = {std::move(message), offset};
  return failure();
}

std::string shardtype::describeNext(const Scanner &in) {
  if (in.atEnd())
    return "the end";
  if (llvm::isPrint(in.peek()))
    return std::string("'") + in.peek() + "'";
  return "'\\x" + llvm::toHex(in.rest().take_front(), /*LowerCase=*/true) + "'";
}
