// Constants.cpp - literals and arrays of a file as tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Constants.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace shardtype;
namespace json = llvm::json;

/// Hex digits of a pattern, low part first in memory.
static bool readBits(StringRef hex, Tensor &into) {
  std::byte *to = into.mutableData();
  uint64_t bytes = into.bytes();
  std::memset(to, 0, bytes);
  for (uint64_t i = 0; i < hex.size(); ++i) {
    unsigned digit = llvm::hexDigitValue(hex[hex.size() - 1 - i]);
    if (digit > 15 || i / 2 >= bytes)
      return false;
    to[i / 2] |= static_cast<std::byte>(digit << (i % 2 * 4));
  }
  return true;
}

static bool readInt(StringRef digits, Tensor &into) {
  int64_t value;
  uint64_t large;
  if (digits.getAsInteger(10, value)) {
    if (digits.getAsInteger(10, large))
      return false;
    value = static_cast<int64_t>(large);
  }
  if (!isInteger(into.dtype()))
    return false;
  dispatchInt(into.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    into.fill<T>()[0] = static_cast<T>(value);
  });
  return true;
}

Tensor shardtype::valueOf(const Program &program, const Literal &literal) {
  const Context &cx = program.context();
  if (literal.kind == Literal::Array)
    return valueOf(program, program.arrays[literal.array]);
  if (!literal.type.valid() || !cx.type(literal.type).isArray() ||
      cx.type(literal.type).rank() != 0)
    return {};
  Tensor value = Tensor::zeros(cx.type(literal.type).dtype, {});
  bool known = false;
  switch (literal.kind) {
  case Literal::Bits:
    known = readBits(cx.str(literal.bits), value);
    break;
  case Literal::Int:
    known = readInt(cx.str(literal.bits), value);
    break;
  case Literal::Bool:
    known = value.dtype() == DType::Bool;
    value.mutableData()[0] = static_cast<std::byte>(literal.array != 0);
    break;
  case Literal::Float0:
    known = true;
    break;
  case Literal::Array:
  case Literal::Text:
    break;
  }
  return known ? value : Tensor();
}

/// A Scalar of the file's notation, for all elements of `into`.
static bool readSplat(StringRef text, Tensor &into) {
  llvm::Expected<json::Value> parsed = json::parse(text);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return false;
  }
  const json::Object *scalar = parsed->getAsObject();
  if (!scalar)
    return false;
  Tensor one = Tensor::zeros(into.dtype(), {});
  if (auto bits = scalar->getString("bits")) {
    if (!readBits(*bits, one))
      return false;
  } else if (auto digits = scalar->getString("int")) {
    if (!readInt(*digits, one))
      return false;
  } else if (auto flag = scalar->getBoolean("bool")) {
    one.mutableData()[0] = static_cast<std::byte>(*flag);
  } else {
    return false;
  }
  uint64_t bytes = one.bytes();
  for (int64_t i = 0; i < into.size(); ++i)
    std::memcpy(into.mutableData() + static_cast<uint64_t>(i) * bytes,
                one.data(), bytes);
  return true;
}

Tensor shardtype::valueOf(const Program &program, const ConstArray &array) {
  const Context &cx = program.context();
  std::optional<DType> dtype = parseDType(cx.str(array.dtype));
  SmallVector<int64_t, 6> shape(array.shape.begin(), array.shape.end());
  if (!dtype || !countElements(shape))
    return {};
  if (!array.base64.valid()) {
    if (!array.splat.valid())
      return {};
    Tensor value = Tensor::uninitialised(*dtype, shape);
    return readSplat(cx.str(array.splat), value) ? value : Tensor();
  }
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(cx.str(array.base64), bytes)) {
    llvm::consumeError(std::move(error));
    return {};
  }
  // Keys are stored as their words; their shape may say so.
  ArrayRef<int64_t> words = keyDataShape(*dtype);
  if (!words.empty() && shape.size() >= words.size() &&
      ArrayRef(shape).take_back(words.size()) == words &&
      static_cast<uint64_t>(*countElements(shape)) * 4 == bytes.size())
    shape.truncate(shape.size() - words.size());
  Tensor value = Tensor::uninitialised(*dtype, shape);
  if (value.bytes() != bytes.size())
    return {};
  std::memcpy(value.mutableData(), bytes.data(), bytes.size());
  return value;
}
