// DType.cpp - the table of element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/DType.h"
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
