// Numbers.cpp - the bits of numbers that are known as printed text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Writer.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

using namespace shardtype;
using namespace shardtype::json;

/// LLVM's description of a float dtype; null if it has none.
static const llvm::fltSemantics *semantics(DType dtype) {
  switch (dtype) {
  case DType::F4E2M1FN:
    return &llvm::APFloat::Float4E2M1FN();
  case DType::F6E2M3FN:
    return &llvm::APFloat::Float6E2M3FN();
  case DType::F6E3M2FN:
    return &llvm::APFloat::Float6E3M2FN();
  case DType::F8E4M3:
    return &llvm::APFloat::Float8E4M3();
  case DType::F8E4M3B11FNUZ:
    return &llvm::APFloat::Float8E4M3B11FNUZ();
  case DType::F8E4M3FN:
    return &llvm::APFloat::Float8E4M3FN();
  case DType::F8E4M3FNUZ:
    return &llvm::APFloat::Float8E4M3FNUZ();
  case DType::F8E5M2:
    return &llvm::APFloat::Float8E5M2();
  case DType::F8E5M2FNUZ:
    return &llvm::APFloat::Float8E5M2FNUZ();
  case DType::F16:
    return &llvm::APFloat::IEEEhalf();
  case DType::BF16:
    return &llvm::APFloat::BFloat();
  case DType::F32:
  case DType::C64:
    return &llvm::APFloat::IEEEsingle();
  case DType::F64:
  case DType::C128:
    return &llvm::APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

/// A Python float: digits, `inf`, `nan`, with a sign perhaps.
static std::optional<llvm::APFloat> readDouble(StringRef text) {
  StringRef magnitude = text;
  bool negative = magnitude.consume_front("-");
  if (magnitude == "inf")
    return llvm::APFloat::getInf(llvm::APFloat::IEEEdouble(), negative);
  if (magnitude == "nan")
    return llvm::APFloat::getNaN(llvm::APFloat::IEEEdouble(), negative);
  if (magnitude.empty() || !llvm::isDigit(magnitude[0]) ||
      magnitude.find_first_not_of("0123456789.e+-") != StringRef::npos)
    return std::nullopt;
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  llvm::Expected<llvm::APFloat::opStatus> status =
      value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return std::nullopt;
  }
  return value;
}

static std::optional<std::string> floatBits(StringRef text, DType dtype) {
  const llvm::fltSemantics *target = semantics(dtype);
  std::optional<llvm::APFloat> value = readDouble(text);
  if (!target || !value)
    return std::nullopt;
  bool losesInfo;
  value->convert(*target, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  llvm::APInt bits = value->bitcastToAPInt();
  // Elements below a byte take one each, as NumPy has them.
  unsigned digits = std::max(bits.getBitWidth(), 8u) / 4;
  std::string hex = llvm::toString(bits, 16, /*Signed=*/false);
  hex = StringRef(hex).lower();
  return std::string(digits - std::min<size_t>(digits, hex.size()), '0') + hex;
}

/// Where the imaginary part of `1e-05-2j` begins: at its sign, or at 0.
static size_t imaginaryStart(StringRef text) {
  for (size_t i = text.size(); i-- > 1;)
    if ((text[i] == '+' || text[i] == '-') && text[i - 1] != 'e')
      return i;
  return 0;
}

std::optional<std::string> json::literalBits(StringRef text, DType dtype) {
  if (!isComplex(dtype))
    return floatBits(text, dtype);
  text.consume_front("(");
  text.consume_back(")");
  if (!text.consume_back("j"))
    return std::nullopt;
  size_t split = imaginaryStart(text);
  StringRef imaginary = text.drop_front(split);
  imaginary.consume_front("+");
  auto high = floatBits(imaginary, dtype);
  auto low = floatBits(split ? text.take_front(split) : "0.0", dtype);
  if (!high || !low)
    return std::nullopt;
  return *high + *low;
}
