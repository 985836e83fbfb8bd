// TextForms.cpp - single values in Python's print: numbers, strings, meshes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextLiteral.h"
#include "TextValue.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

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
