// TextValue.cpp - reads parameter values from Python's print of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextValue.h"
#include "TextLiteral.h"
#include "ValueText.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/IR/Printer.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

TextValue::Result TextValue::read(size_t begin, size_t end, bool dtypes) {
  at_ = begin;
  end_ = end;
  dtypes_ = dtypes;
  result_ = Result();
  std::optional<ValueId> read = value(0);
  skipBlanks();
  if (read && at_ == end_)
    result_.value = read;
  return std::move(result_);
}

std::nullopt_t TextValue::fail(size_t offset, std::string error) {
  if (result_.error.empty()) {
    result_.error = std::move(error);
    result_.errorOffset = offset;
  }
  return std::nullopt;
}

void TextValue::skipBlanks() {
  while (at_ < end_) {
    if (llvm::isSpace(text_[at_]))
      ++at_;
    else if (text_[at_] == '#')
      at_ = std::min(text_.find('\n', at_), end_);
    else
      return;
  }
}

bool TextValue::accept(StringRef token) {
  skipBlanks();
  if (!rest().starts_with(token))
    return false;
  at_ += token.size();
  return true;
}

StringRef TextValue::takeWord() {
  size_t begin = at_;
  while (at_ < end_ && isWordChar(text_[at_]))
    ++at_;
  return text_.slice(begin, at_);
}

ValueId TextValue::simple(Value::Kind kind, int64_t integer) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  return intern(value);
}

ValueId TextValue::textual(Value::Kind kind, StringRef text, int64_t integer) {
  Value value;
  value.kind = kind;
  value.text = program_.context().intern(text);
  value.integer = integer;
  return intern(value);
}

ValueId TextValue::floating(StringRef text) {
  Value value;
  value.kind = Value::Float;
  value.text = program_.context().intern(text);
  if (std::optional<std::string> bits = doubleBits(text))
    value.text2 = program_.context().intern(*bits);
  return intern(value);
}

/// `{ lambda ...` or `let NAME = {`, as the print of a whole program starts.
bool TextValue::startsProgram() const {
  StringRef text = rest();
  if (text.consume_front("{"))
    return text.ltrim().starts_with("lambda");
  return text.starts_with("let ");
}

std::optional<ValueId> TextValue::program(unsigned depth) {
  FailureOr<JaxprId> jaxpr = readProgram_(at_, depth);
  if (failed(jaxpr)) {
    result_.reported = true;
    return std::nullopt;
  }
  return simple(Value::Jaxpr, jaxpr->raw());
}

std::optional<ValueId> TextValue::value(unsigned depth) {
  skipBlanks();
  if (at_ >= end_)
    return std::nullopt;
  if (depth > maxDepth_)
    return fail(at_,
                "values nest more than " + std::to_string(maxDepth_) + " deep");
  char c = text_[at_];
  if (startsProgram())
    return program(depth);
  if (c == '(')
    return parenthesized(depth);
  if (accept("["))
    return sequence(Value::List, ']', depth);
  if (c == '{')
    return braces(depth);
  if (c == '\'' || c == '"')
    return quoted();
  if (c == '<')
    return angled();
  if (llvm::isDigit(c) || c == '-' || c == '+' || c == '.')
    return number();
  return word(depth);
}

std::optional<ValueId> TextValue::sequence(Value::Kind kind, char close,
                                           unsigned depth) {
  Value value;
  value.kind = kind;
  while (!accept(StringRef(&close, 1))) {
    std::optional<ValueId> item = this->value(depth + 1);
    if (!item)
      return std::nullopt;
    value.elements.push_back(*item);
    skipBlanks();
    bool last = at_ < end_ && text_[at_] == close;
    // `(1)` is no tuple.
    if (last && kind == Value::Tuple && value.elements.size() == 1 &&
        text_[at_ - 1] != ',')
      return std::nullopt;
    if (!last && !accept(","))
      return std::nullopt;
    if (accept(StringRef(&close, 1)))
      break;
  }
  return intern(value);
}

std::optional<ValueId> TextValue::parenthesized(unsigned depth) {
  if (std::optional<ValueId> both = complex())
    return both;
  ++at_;
  return sequence(Value::Tuple, ')', depth);
}

std::optional<ValueId> TextValue::braces(unsigned depth) {
  ++at_;
  Value value;
  value.kind = Value::Dict;
  while (!accept("}")) {
    std::optional<ValueId> key = this->value(depth + 1);
    if (!key || !accept(":"))
      return std::nullopt; // A set prints so too; it is kept as text.
    std::optional<ValueId> item = this->value(depth + 1);
    if (!item)
      return std::nullopt;
    value.elements.append({*key, *item});
    if (accept("}"))
      break;
    if (!accept(","))
      return std::nullopt;
  }
  return intern(value);
}

std::optional<ValueId> TextValue::frozenset(unsigned depth) {
  Value value;
  value.kind = Value::Set;
  if (accept(")"))
    return intern(value);
  if (!accept("{"))
    return std::nullopt;
  while (!accept("}")) {
    std::optional<ValueId> item = this->value(depth + 1);
    if (!item)
      return std::nullopt;
    if (!llvm::is_contained(value.elements, *item))
      value.elements.push_back(*item);
    if (accept("}"))
      break;
    if (!accept(","))
      return std::nullopt;
  }
  if (!accept(")"))
    return std::nullopt;
  llvm::sort(value.elements, [&](ValueId a, ValueId b) {
    const Value &x = program_.value(a), &y = program_.value(b);
    if (x.kind != y.kind || x.kind != Value::Str)
      return x.kind != y.kind ? x.kind < y.kind : x.integer < y.integer;
    const Context &cx = program_.context();
    return cx.str(x.text) < cx.str(y.text);
  });
  return intern(value);
}

/// A name that stands alone after `key=`.
std::optional<ValueId> TextValue::topWord(StringRef word) {
  if (std::optional<DType> dtype = parseDType(word); dtype && dtypes_)
    return textual(Value::DType, info(*dtype).longName);
  return textual(Value::Str, word);
}

std::optional<ValueId> TextValue::word(unsigned depth) {
  size_t begin = at_;
  StringRef name = takeWord();
  if (name.empty())
    return std::nullopt;
  if (name == "None")
    return simple(Value::None);
  if (name == "True" || name == "False")
    return simple(Value::Bool, name == "True");
  if (name == "UnspecifiedValue")
    return simple(Value::Unspecified);
  if (name == "nan" || name == "inf")
    return floating(name);
  if (rest().starts_with("(")) {
    at_ = begin;
    return call(name, depth);
  }
  if (name == "np" && rest().starts_with("."))
    return numpy(depth);
  if (rest().starts_with("<") && name == "key") {
    std::optional<size_t> close = endOfAngle(text_.take_front(end_), at_);
    StringRef key = text_.slice(begin, close.value_or(begin));
    if (!parseDType(key))
      return std::nullopt;
    at_ = *close;
    return textual(Value::DType, key);
  }
  if (rest().starts_with(".") && llvm::isUpper(name.front())) {
    ++at_;
    StringRef member = takeWord();
    // Inside containers other enums print with their value.
    if (member.empty() || (depth > 0 && !printsAsMember(name)))
      return std::nullopt;
    Value value;
    value.kind = Value::Enum;
    value.text = program_.context().intern(name);
    value.text2 = program_.context().intern(member);
    return intern(value);
  }
  if (depth == 0)
    return topWord(name);
  if (name == "Auto" || name == "Explicit" || name == "Manual") {
    Value value;
    value.kind = Value::Enum;
    value.text = program_.context().intern("AxisType");
    value.text2 = program_.context().intern(name);
    return intern(value);
  }
  return std::nullopt;
}

std::optional<ValueId> TextValue::call(StringRef name, unsigned depth) {
  if (name == "P" || name == "PartitionSpec")
    return spec();
  if (name == "Mesh" || name == "AbstractMesh")
    return mesh();
  at_ += name.size() + 1;
  if (name == "NamedSharding")
    return namedSharding();
  if (name == "PyTreeDef")
    return treeDef();
  if (name == "frozenset")
    return frozenset(depth);
  if (name == "dtype")
    return dtypeCall();
  return fields(name, depth);
}

/// `Name(field=value, ...)`.
std::optional<ValueId> TextValue::fields(StringRef name, unsigned depth) {
  size_t begin = at_ - name.size() - 1;
  Value value;
  value.kind = Value::Struct;
  value.text = program_.context().intern(name);
  while (!accept(")")) {
    skipBlanks();
    StringRef field = takeWord();
    if (field.empty() || !accept("="))
      return std::nullopt;
    std::optional<ValueId> item = this->value(depth + 1);
    if (!item)
      return std::nullopt;
    value.names.push_back(program_.context().intern(field));
    value.elements.push_back(*item);
    if (accept(")"))
      break;
    if (!accept(","))
      return std::nullopt;
  }
  if (value.names.empty())
    return std::nullopt;
  ValueId id = intern(value);
  // Of an unknown class that prints in a way of its own, the text is kept.
  StringRef text = text_.slice(begin, at_);
  if (!name.ends_with("DimensionNumbers") && !text.contains("{ lambda") &&
      !text.contains("np.") && printValue(program_, id) != text)
    return std::nullopt;
  return id;
}

std::optional<ValueId> shardtype::parseValue(Program &program, StringRef text,
                                             MeshId mesh, std::string &error) {
  constexpr unsigned MaxDepth = 256;
  TextValue reader(
      program, text, MaxDepth,
      [](size_t &, unsigned) -> FailureOr<JaxprId> { return failure(); });
  TextValue::Result read = reader.read(0, text.size(), /*dtypes=*/true);
  if (!read.value) {
    error = !read.error.empty() ? read.error
                                : "'" + text.str() + "' is no value we know";
    return std::nullopt;
  }
  if (program.value(*read.value).kind != Value::Spec || !mesh.valid())
    return read.value;
  Value sharding;
  sharding.kind = Value::Sharding;
  sharding.integer = mesh.raw();
  sharding.elements = {*read.value};
  return program.intern(sharding);
}
