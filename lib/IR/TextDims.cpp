// TextDims.cpp - sizes in printed parameters that may be symbolic.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextDims.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

bool shardtype::holdsDims(StringRef key) {
  constexpr StringRef Keys[] = {
      "shape",         "new_sizes",     "sizes",   "slice_sizes",
      "limit_indices", "start_indices", "strides", "padding_config",
      "reps",          "length",        "dim"};
  return llvm::is_contained(Keys, key);
}

/// Cuts at commas outside brackets; false: brackets do not match.
static bool cutAtCommas(StringRef text, SmallVectorImpl<StringRef> &parts) {
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '(';
    depth -= text[at] == ')';
    if (depth < 0)
      return false;
    if (depth == 0 && text[at] == ',') {
      parts.push_back(text.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  parts.push_back(text.drop_front(begin).trim());
  return depth == 0;
}

/// `n`, `4*n - 1`, `max(n, 2)`.
static bool isSymbolic(StringRef text) {
  SmallVector<StringRef, 4> parts;
  if (text.empty() ||
      (!llvm::isAlnum(text[0]) && !StringRef("_-(").contains(text[0])))
    return false;
  bool anyName = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    bool isWord = llvm::isAlnum(c) || c == '_';
    anyName |= llvm::isAlpha(c) || c == '_';
    if (!isWord && !StringRef(" +-*^(),").contains(c))
      return false;
  }
  return anyName && text != "None" && text != "True" && text != "False" &&
         cutAtCommas(text, parts) && parts.size() == 1;
}

std::optional<ValueId> shardtype::readDims(Program &program, StringRef text,
                                           unsigned depth) {
  text = text.trim();
  Value value;
  if (!text.getAsInteger(10, value.integer)) {
    value.kind = Value::Int;
    return program.intern(value);
  }
  SmallVector<StringRef, 6> parts;
  StringRef inner = text;
  bool isTuple = depth > 0 && inner.consume_front("(") &&
                 inner.consume_back(")") && cutAtCommas(inner, parts) &&
                 (parts.size() > 1 || inner.trim().empty());
  if (!isTuple) {
    if (!isSymbolic(text))
      return std::nullopt;
    value.kind = Value::Sym;
    value.text = program.context().intern(text);
    return program.intern(value);
  }
  if (parts.back().empty())
    parts.pop_back(); // `(n,)`
  value.kind = Value::Tuple;
  for (StringRef part : parts) {
    std::optional<ValueId> item = readDims(program, part, depth - 1);
    if (!item)
      return std::nullopt;
    value.elements.push_back(*item);
  }
  return program.intern(value);
}
