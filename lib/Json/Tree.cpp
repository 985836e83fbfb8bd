// Tree.cpp - one JSON value in a flat array, as the readers walk it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tree.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;
using namespace shardtype::json;

void json::bad(Ref at, const llvm::Twine &message) {
  throw Bad{diag::JsonStructure, at.offset(), {message.str()}};
}

void json::badLimit(uint32_t offset, const llvm::Twine &what, uint64_t limit) {
  throw Bad{diag::InputLimit, offset, {what.str(), std::to_string(limit)}};
}

StringRef Ref::string() const {
  if (!isString())
    bad(*this, "expected a string");
  return chars();
}

bool Ref::boolean() const {
  if (kind() != Node::True && kind() != Node::False)
    bad(*this, "expected true or false");
  return kind() == Node::True;
}

int64_t Ref::integer(int64_t low, int64_t high) const {
  if (kind() == Node::Big)
    bad(*this, "the number is out of range");
  if (kind() != Node::Int)
    bad(*this, "expected a whole number");
  int64_t value = node().integer;
  if (value < low)
    bad(*this, "expected a number of at least " + llvm::Twine(low));
  if (value > high)
    bad(*this, "the number is out of range");
  return value;
}

const Ref &Ref::array() const {
  if (!isArray())
    bad(*this, "expected a list");
  return *this;
}

const Ref &Ref::object() const {
  if (!isObject())
    bad(*this, "expected an object");
  return *this;
}

StringRef Ref::slice() const {
  const Node &n = node();
  return tree_->text().slice(n.offset - 1, n.end);
}

/// Appends JSON text without the blanks between its tokens.
static void appendMinified(std::string &out, StringRef text) {
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString && c == '\\') {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"')
      inString = !inString;
    if (inString || !llvm::isSpace(c))
      out += c;
  }
}

void Ref::append(std::string &out) const {
  const Node &n = node();
  switch (n.kind) {
  case Node::Null:
    out += "null";
    return;
  case Node::False:
    out += "false";
    return;
  case Node::True:
    out += "true";
    return;
  case Node::Int:
    out += std::to_string(n.integer);
    return;
  case Node::Big:
  case Node::Float:
    out += chars();
    return;
  case Node::String:
    appendQuoted(out, chars());
    return;
  case Node::Array:
  case Node::Object:
    appendMinified(out, slice());
    return;
  }
}

void json::appendQuoted(std::string &out, StringRef text) {
  std::string fixed;
  if (!llvm::isASCII(text) && !llvm::json::isUTF8(text)) {
    fixed = llvm::json::fixUTF8(text);
    text = fixed;
  }
  out += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
      continue;
    }
    if (c >= 0x20) {
      out += static_cast<char>(c);
      continue;
    }
    switch (c) {
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += llvm::hexdigit(c >> 4, /*LowerCase=*/true);
      out += llvm::hexdigit(c & 15, /*LowerCase=*/true);
    }
  }
  out += '"';
}

const char *Tree::copy(StringRef text) {
  ownsChars_ = true;
  char *chars = chars_.Allocate<char>(text.size() + 1);
  std::memcpy(chars, text.data(), text.size());
  return chars;
}

[[noreturn]] static void duplicate(Ref key) {
  throw Bad{diag::JsonDuplicateKey, key.offset(), {key.chars().str()}};
}

void Tree::checkKeys(uint32_t object) const {
  constexpr uint32_t Few = 12;
  if (nodes_[object].size > Few) {
    llvm::DenseSet<StringRef> seen;
    for (Field field : Members(Ref(*this, object)))
      if (!seen.insert(field.key.chars()).second)
        duplicate(field.key);
    return;
  }
  uint32_t keys[Few], count = 0;
  for (uint32_t at = object + 1; count < nodes_[object].size;
       at = nodes_[at + 1].next) {
    const Node &key = nodes_[at];
    for (uint32_t i = 0; i < count; ++i) {
      const Node &other = nodes_[keys[i]];
      if (other.size == key.size && other.chars[0] == key.chars[0] &&
          std::memcmp(other.chars, key.chars, key.size) == 0)
        duplicate(Ref(*this, at));
    }
    keys[count++] = at;
  }
}

void Extra::add(StringRef key, Ref value) {
  text_ += text_.empty() ? '{' : ',';
  appendQuoted(text_, key);
  text_ += ':';
  value.append(text_);
}

Fields::Fields(Ref object, ArrayRef<StringRef> known)
    : object_(object.object()) {
  for (StringRef name : known)
    known_.emplace_back(name, Ref());
  for (Field field : Members(object)) {
    auto *it = llvm::find_if(known_, [&](const auto &entry) {
      return entry.first == field.key.chars();
    });
    if (it == known_.end())
      extra_.add(field.key.chars(), field.value);
    else
      it->second = field.value;
  }
}

Ref Fields::get(StringRef name) const {
  for (const auto &[known, value] : known_)
    if (known == name)
      return value;
  assert(false && "a field that was not asked for");
  return Ref();
}

Ref Fields::need(StringRef name) const {
  Ref value = get(name);
  if (!value)
    bad(object_, "field '" + name + "' is missing");
  return value;
}

Ref Fields::getIfNotNull(StringRef name) const {
  Ref value = get(name);
  return value && !value.isNull() ? value : Ref();
}
