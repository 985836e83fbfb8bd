// DType.h - element types, as JAX names them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_DTYPE_H
#define SHARDTYPE_TYPES_DTYPE_H

#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// Element types (spec 01, 1.3). The `Key*` ones are PRNG keys: extended
/// dtypes whose elements are small uint32 arrays.
enum class DType : uint8_t {
#define DTYPE(Name, Long, Short, Kind, Bits, Exponent, Mantissa) Name,
#include "shardtype/Types/DTypes.def"
};

enum class DTypeKind : uint8_t {
  Bool,
  Signed,
  Unsigned,
  Float,
  Complex,
  Key,
  Float0
};

/// What is known of one element type.
struct DTypeInfo {
  StringRef longName;  // "float32", "key<fry>"
  StringRef shortName; // "f32", "key<fry>"
  DTypeKind kind;
  unsigned bits;     // Of one element, packed: int4 has 4, a key all its words.
  unsigned exponent; // Exponent bits of floats and complex parts, else 0.
  unsigned mantissa; // Mantissa bits, likewise.
};

const DTypeInfo &info(DType dtype);
inline bool isKey(DType dtype) { return info(dtype).kind == DTypeKind::Key; }
inline bool isFloat(DType dtype) {
  return info(dtype).kind == DTypeKind::Float;
}
inline bool isComplex(DType dtype) {
  return info(dtype).kind == DTypeKind::Complex;
}
inline bool isInteger(DType dtype) {
  DTypeKind kind = info(dtype).kind;
  return kind == DTypeKind::Signed || kind == DTypeKind::Unsigned;
}
/// The long or the short name of a dtype; nothing for an unknown one.
std::optional<DType> parseDType(StringRef name);
/// The known name nearest to one that is no dtype but was meant to be one:
/// `flaot32`, `f99`, `int`. Nothing: it does not look like a dtype at all;
/// empty: it does, but no name is near.
std::optional<StringRef> meantDType(StringRef name);
/// The trailing uint32 dims that hold one key's data (spec 01, 1.3); empty for
/// other dtypes. threefry: (2), rbg and unsafe_rbg: (4).
ArrayRef<int64_t> keyDataShape(DType dtype);

} // namespace shardtype

#endif
