// DType.cpp - the table of element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/DType.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace shardtype;

static constexpr DTypeInfo Infos[] = {
#define DTYPE(Name, Long, Short, Kind, Bits, Exponent, Mantissa)               \
  {Long, Short, DTypeKind::Kind, Bits, Exponent, Mantissa},
#include "shardtype/Types/DTypes.def"
};

const DTypeInfo &shardtype::info(DType dtype) {
  return Infos[static_cast<unsigned>(dtype)];
}

std::optional<DType> shardtype::parseDType(StringRef name) {
  return llvm::StringSwitch<std::optional<DType>>(name)
#define DTYPE(Name, Long, Short, Kind, Bits, Exponent, Mantissa)               \
  .Cases(Long, Short, DType::Name)
#include "shardtype/Types/DTypes.def"
      .Default(std::nullopt);
}

/// `f99`, `bf8`, `u128`: a letter or two of a kind, and digits.
static bool looksShort(StringRef name) {
  for (StringRef kind : {"bf", "f", "i", "u", "s", "c"})
    if (StringRef rest = name; rest.consume_front(kind) && !rest.empty() &&
                               llvm::all_of(rest, llvm::isDigit))
      return true;
  return false;
}

std::optional<StringRef> shardtype::meantDType(StringRef name) {
  if (parseDType(name))
    return std::nullopt;
  // Names without a width.
  for (auto [word, meant] :
       std::initializer_list<std::pair<StringRef, StringRef>>{
           {"int", "int32"},
           {"uint", "uint32"},
           {"float", "float32"},
           {"double", "float64"},
           {"half", "float16"},
           {"complex", "complex64"},
           {"bfloat", "bfloat16"}})
    if (name.equals_insensitive(word))
      return meant;
  StringRef best;
  unsigned bestDistance = name.size() < 4 && !looksShort(name) ? 2 : 3;
  for (const DTypeInfo &known : Infos)
    for (StringRef other : {known.shortName, known.longName})
      if (unsigned d = name.edit_distance_insensitive(other);
          d < bestDistance) {
        bestDistance = d;
        best = other;
      }
  if (!best.empty() || looksShort(name))
    return best;
  return std::nullopt;
}

ArrayRef<int64_t> shardtype::keyDataShape(DType dtype) {
  static constexpr int64_t One[] = {1}, Two[] = {2}, Four[] = {4};
  switch (dtype) {
  case DType::KeyFry:
  case DType::KeyPhx4:
    return Two;
  case DType::KeyRbg:
  case DType::KeyURbg:
  case DType::KeyFry4:
    return Four;
  case DType::KeyPhx2:
    return One;
  default:
    return {};
  }
}
