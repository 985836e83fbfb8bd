// TextLiteral.cpp - the values of literal operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextLiteral.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace shardtype;
using llvm::APFloat;

/// Python prints 25 characters at most; more digits cost quadratic time.
static constexpr size_t MaxDigits = 200;

static const llvm::fltSemantics *semantics(DType dtype) {
  switch (dtype) {
  case DType::F4E2M1FN:
    return &APFloat::Float4E2M1FN();
  case DType::F6E2M3FN:
    return &APFloat::Float6E2M3FN();
  case DType::F6E3M2FN:
    return &APFloat::Float6E3M2FN();
  case DType::F8E4M3:
    return &APFloat::Float8E4M3();
  case DType::F8E4M3B11FNUZ:
    return &APFloat::Float8E4M3B11FNUZ();
  case DType::F8E4M3FN:
    return &APFloat::Float8E4M3FN();
  case DType::F8E4M3FNUZ:
    return &APFloat::Float8E4M3FNUZ();
  case DType::F8E5M2:
    return &APFloat::Float8E5M2();
  case DType::F8E5M2FNUZ:
    return &APFloat::Float8E5M2FNUZ();
  case DType::F16:
    return &APFloat::IEEEhalf();
  case DType::BF16:
    return &APFloat::BFloat();
  case DType::F32:
  case DType::C64:
    return &APFloat::IEEEsingle();
  case DType::F64:
  case DType::C128:
    return &APFloat::IEEEdouble();
  default:
    return nullptr; // float8_e3m4 and float8_e8m0fnu: unknown to LLVM 19.
  }
}

static bool isNumber(StringRef text) {
  return !text.empty() && text.size() <= MaxDigits &&
         llvm::all_of(text, [](char c) {
           return llvm::isAlnum(c) || c == '.' || c == '+' || c == '-';
         });
}

static std::optional<APFloat> readDouble(StringRef text) {
  if (!isNumber(text))
    return std::nullopt;
  APFloat value(APFloat::IEEEdouble());
  llvm::Expected<APFloat::opStatus> status =
      value.convertFromString(text, APFloat::rmNearestTiesToEven);
  if (status)
    return value;
  llvm::consumeError(status.takeError());
  return std::nullopt;
}

/// Rounds as NumPy and ml_dtypes do: the small formats by way of float32,
/// float16 directly.
static APFloat roundTo(APFloat value, DType dtype) {
  bool inexact;
  if (info(dtype).bits < 32 && dtype != DType::F16)
    value.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                  &inexact);
  value.convert(*semantics(dtype), APFloat::rmNearestTiesToEven, &inexact);
  return value;
}

static std::string hex(const APFloat &value) {
  llvm::APInt bits = value.bitcastToAPInt();
  unsigned digits = (bits.getBitWidth() + 7) / 8 * 2;
  std::string text = llvm::utohexstr(bits.getZExtValue(), /*LowerCase=*/true);
  return std::string(digits - std::min<size_t>(digits, text.size()), '0') +
         text;
}

std::optional<std::string> shardtype::doubleBits(StringRef text) {
  std::optional<APFloat> value = readDouble(text);
  if (!value)
    return std::nullopt;
  return hex(*value);
}

/// `(1+2j)`, `2j`, `(nan-infj)` or a mere number: real and imaginary part.
static std::optional<std::pair<APFloat, APFloat>> readComplex(StringRef text) {
  if (text.consume_front("(") && !text.consume_back(")"))
    return std::nullopt;
  if (!text.consume_back("j")) {
    std::optional<APFloat> real = readDouble(text);
    if (!real)
      return std::nullopt;
    return std::pair(*real, APFloat::getZero(APFloat::IEEEdouble()));
  }
  // The sign between the parts: the last one that belongs to no exponent.
  size_t split = 0;
  for (size_t i = text.size(); i-- > 1 && !split;)
    if ((text[i] == '+' || text[i] == '-') && text[i - 1] != 'e')
      split = i;
  std::optional<APFloat> real = APFloat::getZero(APFloat::IEEEdouble());
  if (split)
    real = readDouble(text.take_front(split));
  std::optional<APFloat> imag = readDouble(text.drop_front(split));
  if (!real || !imag)
    return std::nullopt;
  return std::pair(*real, *imag);
}

static bool readBits(Context &cx, StringRef repr, DType dtype,
                     Literal &literal) {
  literal.kind = Literal::Bits;
  if (!semantics(dtype)) {
    literal.kind = Literal::Text;
    return readDouble(repr).has_value();
  }
  if (!isComplex(dtype)) {
    std::optional<APFloat> value = readDouble(repr);
    if (value)
      literal.bits = cx.intern(hex(roundTo(*value, dtype)));
    return value.has_value();
  }
  auto parts = readComplex(repr);
  if (parts)
    literal.bits = cx.intern(hex(roundTo(parts->second, dtype)) +
                             hex(roundTo(parts->first, dtype)));
  return parts.has_value();
}

static bool readInt(Context &cx, StringRef repr, DType dtype,
                    Literal &literal) {
  unsigned bits = info(dtype).bits;
  bool fits;
  if (info(dtype).kind == DTypeKind::Unsigned) {
    uint64_t value;
    fits = !repr.getAsInteger(10, value) && (bits == 64 || value >> bits == 0);
  } else {
    int64_t value;
    fits =
        !repr.getAsInteger(10, value) &&
        (bits == 64 || value >> (bits - 1) == 0 || value >> (bits - 1) == -1);
  }
  literal.kind = Literal::Int;
  literal.bits = cx.intern(repr);
  return fits;
}

std::optional<Literal> shardtype::readLiteral(Context &cx, StringRef repr,
                                              TypeId typeId) {
  Literal literal;
  literal.type = typeId;
  literal.repr = cx.intern(repr);
  const Type &type = cx.type(typeId);
  if (!type.isArray() || repr == "[...]")
    return literal;
  bool fits = true;
  switch (info(type.dtype).kind) {
  case DTypeKind::Bool:
    literal.kind = Literal::Bool;
    literal.array = repr == "True";
    fits = repr == "True" || repr == "False";
    break;
  case DTypeKind::Signed:
  case DTypeKind::Unsigned:
    fits = readInt(cx, repr, type.dtype, literal);
    break;
  case DTypeKind::Float:
  case DTypeKind::Complex:
    fits = readBits(cx, repr, type.dtype, literal);
    break;
  case DTypeKind::Float0:
    literal.kind = Literal::Float0;
    break;
  case DTypeKind::Key:
    break;
  }
  if (!fits)
    return std::nullopt;
  return literal;
}
