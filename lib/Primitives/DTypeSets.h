// DTypeSets.h - the groups of dtypes that primitives take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_DTYPESETS_H
#define SHARDTYPE_LIB_PRIMITIVES_DTYPESETS_H

#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// A union of groups, as the rows name them: `Floats | Complexes`.
enum DTypeSet : unsigned {
  Bools = 1,
  Signeds = 2,
  Unsigneds = 4,
  Floats = 8,
  Complexes = 16,
  Keys = 32,
  ComplexParts = 64, // f32 and f64.
  WideOnly = 128,    // Not the ints of 2 and 4 bits.
  Ints = Signeds | Unsigneds,
  Inexact = Floats | Complexes,
  Numbers = Ints | Inexact,
  Any = Numbers | Bools,
  Ordered = Ints | Floats | Bools,
  Bits = Ints | Bools
};

/// Reports unless operand `i` has a dtype of `set`.
LogicalResult checkDType(TypingContext &cx, unsigned i, unsigned set);
/// Reports unless operands `first` and following have one dtype; anything goes
/// where one of them is a key.
LogicalResult checkSameDTypes(TypingContext &cx, unsigned first = 0);

/// The dtype of the real part: of complex dtypes, else itself.
DType realPart(DType dtype);
/// The complex dtype that holds it; itself if complex.
DType complexOf(DType dtype);

/// Operand 0 has a dtype of the set, which is the result's.
template <unsigned Set> FailureOr<DType> dtypeOf(TypingContext &cx) {
  if (failed(checkDType(cx, 0, Set)))
    return failure();
  return cx.operand(0).dtype;
}
/// All operands have one dtype of the set, which is the result's.
template <unsigned Set> FailureOr<DType> dtypesOf(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (failed(checkDType(cx, i, Set)))
      return failure();
  if (failed(checkSameDTypes(cx)))
    return failure();
  return cx.operand(0).dtype;
}
/// As before, and the result is bool.
template <unsigned Set> FailureOr<DType> predicateOf(TypingContext &cx) {
  if (failed(dtypesOf<Set>(cx)))
    return failure();
  return DType::Bool;
}
/// The real part of a dtype of the set, or the complex dtype of it.
template <unsigned Set> FailureOr<DType> realOf(TypingContext &cx) {
  FailureOr<DType> dtype = dtypesOf<Set>(cx);
  if (failed(dtype))
    return failure();
  return realPart(*dtype);
}
template <unsigned Set> FailureOr<DType> complexOf(TypingContext &cx) {
  FailureOr<DType> dtype = dtypesOf<Set>(cx);
  if (failed(dtype))
    return failure();
  return complexOf(*dtype);
}

} // namespace shardtype

#endif
