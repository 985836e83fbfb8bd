// Syntax.cpp - our sentences about text that is not JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Syntax.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;
using namespace shardtype::json;

namespace {
constexpr size_t Longest = 24; // Of what a message quotes, in bytes.

bool isWord(char c) { return llvm::isAlnum(c) || c == '_'; }

std::string quoted(const llvm::Twine &text) { return ("'" + text + "'").str(); }

std::string hexByte(char c) {
  auto byte = static_cast<unsigned char>(c);
  return "0x" + llvm::utohexstr(byte, /*LowerCase=*/true, /*Width=*/2);
}

/// The character of more than one byte that stands at `at`; empty if the bytes
/// are none.
StringRef wideChar(StringRef text, size_t at) {
  size_t size = llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(text[at]));
  StringRef bytes = text.substr(at, size);
  return bytes.size() == size && llvm::json::isUTF8(bytes) ? bytes : "";
}

/// The letters and digits from `at` on.
StringRef wordAt(StringRef text, size_t at) {
  return text.substr(at, Longest).take_while(isWord);
}

/// What stands at a position inside the text.
std::string found(StringRef text, size_t at) {
  char c = text[at];
  if (isWord(c))
    return quoted(wordAt(text, at));
  if (c == '"')
    return "a string";
  if (c == '\'')
    return "a single quote";
  if (llvm::isPrint(c))
    return quoted(text.substr(at, 1));
  if (c == 0)
    return "a zero byte";
  if (!llvm::isASCII(c))
    if (StringRef wide = wideChar(text, at); !wide.empty())
      return quoted(wide);
  return "the byte " + hexByte(c);
}

/// The last character before `at` that is no blank; 0 if there is none.
char before(StringRef text, size_t at) {
  StringRef rest = text.take_front(at).rtrim();
  return rest.empty() ? 0 : rest.back();
}

std::string expected(StringRef text, size_t at, StringRef what) {
  if (at == text.size())
    return ("the file ends where " + what + " is expected").str();
  return ("expected " + what + ", found ").str() + found(text, at);
}

/// The mistake is that the file ends: so that is where it is.
std::string endsInside(StringRef text, size_t &at, const llvm::Twine &what) {
  at = text.size();
  return ("the file ends inside " + what).str();
}

std::string noDigit(StringRef text, size_t &at, StringRef where) {
  if (at == text.size())
    return endsInside(text, at, "a number");
  return ("expected a digit " + where + ", found ").str() + found(text, at);
}

/// A value is missing, or a word that begins like one is not one. `at` may lie
/// inside the word and becomes its beginning.
std::string noValue(StringRef text, size_t &at) {
  if (text.take_front(at).ends_with("-"))
    return noDigit(text, at, "after '-'");
  size_t start = at;
  while (start > 0 && at - start < 5 && isWord(text[start - 1]))
    --start;
  if (StringRef word = wordAt(text, start); !word.empty()) {
    at = start;
    constexpr StringRef Words[] = {"null", "true", "false"};
    if (start + word.size() == text.size() &&
        llvm::any_of(Words, [&](StringRef w) { return w.starts_with(word); }))
      return endsInside(text, at, "a word: " + quoted(word));
    return quoted(word) + " is not a JSON value";
  }
  switch (before(text, at)) {
  case ',':
    return expected(text, at, "a value after ','");
  case ':':
    return expected(text, at, "a value after ':'");
  case '[':
    return expected(text, at, "a value or ']'");
  default:
    return expected(text, at, "a value");
  }
}

/// A character inside a string that must not stand there as it is.
std::string bareControl(char c) {
  std::string what = c == '\n'   ? "a line break"
                     : c == '\r' ? "a carriage return"
                     : c == '\t' ? "a tab"
                     : c == 0    ? "a zero byte"
                                 : "the control character " + hexByte(c);
  return what + " stands inside a string without an escape";
}

std::string badEscape(StringRef text, size_t &at) {
  if (text[at] != '\\')
    return bareControl(text[at]);
  if (at + 1 == text.size())
    return endsInside(text, at, "a string");
  StringRef escaped = llvm::isASCII(text[at + 1]) ? text.substr(at + 1, 1)
                                                  : wideChar(text, at + 1);
  if (escaped.empty() || static_cast<unsigned char>(escaped[0]) < ' ')
    return "'\\' stands before " + found(text, at + 1) + ": that is no escape";
  return quoted("\\" + escaped) + " is no escape";
}

std::string badHex(StringRef text, size_t &at) {
  // The second half of a pair may be the one at fault.
  for (size_t start : {at, at + 6}) {
    StringRef four = text.substr(start + 2, 4);
    size_t digits = four.take_while(llvm::isHexDigit).size();
    if (digits == 4)
      continue;
    if (start + 2 + digits >= text.size())
      return endsInside(text, at, "a string");
    StringRef shown = four.take_while(isWord);
    return "'\\u' needs four hexadecimal digits, not " + quoted(shown);
  }
  llvm_unreachable("one of them is bad");
}

std::string halfPair(StringRef text, size_t &at) {
  StringRef escape = text.substr(at, 6), rest = text.drop_front(at + 6);
  if (rest.empty() || rest == "\\")
    return endsInside(text, at, "a string");
  return quoted(escape) +
         " is half of a surrogate pair; the other half is missing";
}

/// A number stopped after its 0 because a digit follows.
bool isLeadingZero(StringRef text, size_t at) {
  return at > 0 && at < text.size() && text[at - 1] == '0' &&
         llvm::isDigit(text[at]);
}

std::string afterValue(StringRef text, size_t at, StringRef what) {
  if (isLeadingZero(text, at))
    return "a number with more than one digit must not begin with 0";
  return expected(text, at, what);
}

std::string sentence(StringRef text, Mistake mistake, size_t &at) {
  switch (mistake) {
  case Mistake::Value:
    return noValue(text, at);
  case Mistake::Key:
    return expected(text, at,
                    before(text, at) == ',' ? "a key in quotes after ','"
                                            : "a key in quotes or '}'");
  case Mistake::Colon:
    return expected(text, at, "':' after a key");
  case Mistake::ObjectEnd:
    return afterValue(text, at, "',' or '}' in an object");
  case Mistake::ListEnd:
    return afterValue(text, at, "',' or ']' in a list");
  case Mistake::FileEnd:
    return afterValue(text, at, "the end of the file");
  case Mistake::StringEnd:
    return at == text.size() ? endsInside(text, at, "a string")
                             : bareControl(text[at]);
  case Mistake::Escape:
    return badEscape(text, at);
  case Mistake::Hex:
    return badHex(text, at);
  case Mistake::Surrogate:
    return halfPair(text, at);
  case Mistake::Encoding:
    return "the text is not UTF-8: byte " + hexByte(text[at]);
  case Mistake::Fraction:
    return noDigit(text, at, "after '.'");
  case Mistake::Exponent:
    return noDigit(text, at, "in the exponent");
  case Mistake::Large:
    return "the number is too large";
  }
  llvm_unreachable("all mistakes are handled");
}
} // namespace

void json::badSyntax(StringRef text, Mistake mistake, size_t at) {
  at = std::min(at, text.size());
  std::string message = sentence(text, mistake, at);
  throw Bad{diag::JsonSyntax, static_cast<uint32_t>(at), {message}};
}

void json::badEncoding(StringRef text, size_t end) {
  StringRef head = text.take_front(end - 1);
  // Back to the quote that no '\' escapes.
  size_t start = head.size();
  while (start > 0) {
    size_t quote = head.rfind('"', start);
    size_t slashes = 0;
    while (slashes < quote && head[quote - 1 - slashes] == '\\')
      ++slashes;
    start = quote;
    if (slashes % 2 == 0)
      break;
  }
  StringRef raw = head.drop_front(start + 1);
  size_t at = 0;
  if (!llvm::json::isUTF8(raw, &at))
    badSyntax(text, Mistake::Encoding, start + 1 + at);
  // The bytes are good, so an escape means half of a pair: those of high halves
  // alone end the parsing before.
  for (at = raw.find('\\'); at < raw.size(); at = raw.find('\\', at + 2)) {
    unsigned code = 0;
    if (raw.substr(at, 2) != "\\u" ||
        raw.substr(at + 2, 4).getAsInteger(16, code))
      continue;
    if (code >= 0xd800 && code < 0xdc00)
      at += 6; // A pair.
    else if (code >= 0xdc00 && code < 0xe000)
      break;
  }
  badSyntax(text, Mistake::Surrogate, start + 1 + at);
}
