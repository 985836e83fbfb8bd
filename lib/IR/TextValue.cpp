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

static bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }
static bool isOpening(char c) { return c == '(' || c == '[' || c == '{'; }
static bool isClosing(char c) { return c == ')' || c == ']' || c == '}'; }

/// Behind a quoted string that starts at `at`; Python escapes line breaks, so
/// an open quote ends with its line. Nothing if it is not closed.
static std::optional<size_t> endOfQuote(StringRef text, size_t at) {
  char quote = text[at];
  for (size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == quote)
      return i + 1;
  }
  return std::nullopt;
}

/// Behind `<...>` with inner pairs, all on one line; `->` is no bracket.
static std::optional<size_t> endOfAngle(StringRef text, size_t at) {
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
      at_ = std::min(endOfLine(text_, at_), end_);
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

std::optional<ValueId> TextValue::program() {
  FailureOr<JaxprId> jaxpr = readProgram_(at_);
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
    return program();
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

/// `(1+2j)`: as a parameter value complex numbers are rare, so the text decides
/// at once.
std::optional<ValueId> TextValue::complex() {
  size_t close = rest().find(')');
  if (close == StringRef::npos || close > 80 || close < 2 ||
      rest()[close - 1] != 'j')
    return std::nullopt;
  StringRef inner = rest().slice(1, close - 1);
  size_t split = StringRef::npos;
  for (size_t i = inner.size(); i-- > 1 && split == StringRef::npos;)
    if ((inner[i] == '+' || inner[i] == '-') && inner[i - 1] != 'e')
      split = i;
  if (split == StringRef::npos)
    return std::nullopt;
  StringRef real = inner.take_front(split), imag = inner.drop_front(split);
  imag.consume_front("+");
  if (!doubleBits(real) || !doubleBits(imag))
    return std::nullopt;
  at_ += close + 1;
  Value value;
  value.kind = Value::Complex;
  value.elements = {floating(real), floating(imag)};
  return intern(value);
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

/// A string as `repr` prints it.
std::optional<ValueId> TextValue::quoted() {
  std::optional<size_t> close = endOfQuote(text_.take_front(end_), at_);
  if (!close)
    return std::nullopt;
  StringRef body = text_.slice(at_ + 1, *close - 1);
  std::string text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      text += body[i];
      continue;
    }
    constexpr StringRef Escapes = "ntr\\'\"", Meanings = "\n\t\r\\'\"";
    size_t which = ++i < body.size() ? Escapes.find(body[i]) : StringRef::npos;
    if (which == StringRef::npos)
      return std::nullopt;
    text += Meanings[which];
  }
  at_ = *close;
  return textual(Value::Str, text);
}

std::optional<ValueId> TextValue::number() {
  size_t begin = at_;
  if (text_[at_] == '-' || text_[at_] == '+')
    ++at_;
  while (at_ < end_ &&
         (isWordChar(text_[at_]) || text_[at_] == '.' ||
          ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e')))
    ++at_;
  StringRef text = text_.slice(begin, at_);
  int64_t integer;
  if (!text.getAsInteger(10, integer))
    return simple(Value::Int, integer);
  StringRef digits = text.ltrim("+-");
  if (!digits.empty() &&
      llvm::all_of(digits, [](char c) { return llvm::isDigit(c); }))
    return textual(Value::BigInt, text);
  if (!doubleBits(text))
    return std::nullopt;
  return floating(text);
}

/// `<GatherScatterMode.CLIP: 1>`, as enums print inside containers.
std::optional<ValueId> TextValue::angled() {
  std::optional<size_t> close = endOfAngle(text_.take_front(end_), at_);
  if (!close)
    return std::nullopt;
  auto [name, number] = text_.slice(at_ + 1, *close - 1).split(": ");
  auto [enumClass, member] = name.split('.');
  int64_t integer;
  if (member.empty() || !llvm::all_of(member, isWordChar) ||
      !llvm::all_of(enumClass, isWordChar) || number.getAsInteger(10, integer))
    return std::nullopt;
  at_ = *close;
  Value value;
  value.kind = Value::Enum;
  value.text = program_.context().intern(enumClass);
  value.text2 = program_.context().intern(member);
  value.integer = integer;
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

/// `np.int64(3)`, `np.float32(0.5)`, `np.True_`: as Python's own, but they
/// print so again.
std::optional<ValueId> TextValue::numpy(unsigned depth) {
  size_t begin = at_ - StringRef("np").size();
  ++at_;
  StringRef name = takeWord();
  Value number;
  number.kind = Value::Bool;
  number.integer = name == "True_";
  if (name != "True_" && name != "False_") {
    if (!accept("("))
      return std::nullopt;
    std::optional<ValueId> inner = value(depth + 1);
    if (!inner || !accept(")"))
      return std::nullopt;
    number = program_.value(*inner);
  }
  if (number.kind != Value::Int && number.kind != Value::Float &&
      number.kind != Value::Bool)
    return std::nullopt;
  number.text = program_.context().intern(text_.slice(begin, at_));
  return intern(number);
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

std::optional<ValueId> TextValue::spec() {
  size_t length = 0;
  TextResult<PartitionSpec> read =
      parseSpec(program_.context(), rest(), &length);
  if (!read)
    return fail(at_ + read.error.offset, read.error.message);
  at_ += length;
  return simple(Value::Spec, program_.internSpec(*read));
}

std::optional<ValueId> TextValue::mesh() {
  size_t length = 0;
  TextResult<MeshId> read = parseMeshRepr(program_.context(), rest(), &length);
  if (!read)
    return fail(at_ + read.error.offset, read.error.message);
  at_ += length;
  return simple(Value::Mesh, read->raw());
}

/// `mesh=..., spec=...` and perhaps a memory kind. With more it is kept as
/// text.
std::optional<ValueId> TextValue::namedSharding() {
  if (!accept("mesh="))
    return std::nullopt;
  std::optional<ValueId> mesh = this->mesh();
  if (!mesh || !accept(",") || !accept("spec="))
    return std::nullopt;
  std::optional<ValueId> spec = this->spec();
  if (!spec)
    return std::nullopt;
  Value value;
  value.kind = Value::Sharding;
  value.integer = program_.value(*mesh).integer;
  value.elements = {*spec};
  if (accept(",")) {
    if (!accept("memory_kind="))
      return std::nullopt;
    StringRef kind = takeWord();
    if (kind.empty())
      return std::nullopt;
    value.text = program_.context().intern(kind);
  }
  if (!accept(")"))
    return std::nullopt;
  return intern(value);
}

std::optional<ValueId> TextValue::treeDef() {
  constexpr StringRef Head = "PyTreeDef(";
  size_t begin = at_ - Head.size();
  std::optional<size_t> close = endOfValue(text_.take_front(end_), at_ - 1);
  if (!close || text_[*close - 1] != ')')
    return std::nullopt;
  at_ = *close;
  StringRef text = text_.slice(begin, at_);
  return textual(Value::TreeDef, text, text.count('*'));
}

/// `dtype('float32')`, `dtype(bfloat16)`.
std::optional<ValueId> TextValue::dtypeCall() {
  bool quote = accept("'");
  StringRef name = takeWord();
  if ((quote && !accept("'")) || !parseDType(name) || !accept(")"))
    return std::nullopt;
  return textual(Value::DType, name);
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
  TextValue reader(program, text, MaxDepth,
                   [](size_t &) -> FailureOr<JaxprId> { return failure(); });
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
