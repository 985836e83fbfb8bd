// DTypeSets.cpp - the groups of dtypes that primitives take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"

using namespace shardtype;

static unsigned groupOf(DType dtype) {
  switch (info(dtype).kind) {
  case DTypeKind::Bool:
    return Bools;
  case DTypeKind::Signed:
    return Signeds;
  case DTypeKind::Unsigned:
    return Unsigneds;
  case DTypeKind::Float:
    return dtype == DType::F32 || dtype == DType::F64 ? Floats | ComplexParts
                                                      : Floats;
  case DTypeKind::Complex:
    return Complexes;
  case DTypeKind::Key:
    return Keys;
  case DTypeKind::Float0:
    return 0;
  }
  llvm_unreachable("every kind has a group");
}

/// "integers, floats and complex numbers"
static std::string describe(unsigned set) {
  SmallVector<StringRef, 6> words;
  if ((set & Ints) == Ints)
    words.push_back("integers");
  else if (set & Signeds)
    words.push_back("signed integers");
  if (set & Floats)
    words.push_back("floats");
  if (set & ComplexParts)
    words.push_back("f32 or f64");
  if (set & Complexes)
    words.push_back("complex numbers");
  if (set & Bools)
    words.push_back("bools");
  if (set & Keys)
    words.push_back("keys");
  std::string text = words.front().str();
  for (unsigned i = 1; i < words.size(); ++i)
    text += (i + 1 == words.size() ? " or " : ", ") + words[i].str();
  if (set & WideOnly)
    text += " (no integers below 8 bits)";
  return text;
}

LogicalResult shardtype::checkDType(TypingContext &cx, unsigned i,
                                    unsigned set) {
  DType dtype = cx.operand(i).dtype;
  bool narrow = isInteger(dtype) && info(dtype).bits < 8;
  if ((groupOf(dtype) & set) && !(narrow && (set & WideOnly)))
    return success();
  return cx
      .error(diag::DTypeRefused, cx.name(), info(dtype).shortName, i,
             describe(set))
      .mark(i);
}

LogicalResult shardtype::checkSameDTypes(TypingContext &cx, unsigned first) {
  // nary/dtype.1: JAX compares no dtypes where one is a key.
  for (unsigned i = first; i < cx.numOperands(); ++i)
    if (isKey(cx.operand(i).dtype))
      return success();
  for (unsigned i = first + 1; i < cx.numOperands(); ++i) {
    if (cx.operand(i).dtype == cx.operand(first).dtype)
      continue;
    std::string both = info(cx.operand(first).dtype).shortName.str() + " and " +
                       info(cx.operand(i).dtype).shortName.str();
    return cx.error(diag::DTypesDiffer, cx.name(), both).mark(first).mark(i);
  }
  return success();
}

DType shardtype::realPart(DType dtype) {
  return dtype == DType::C64    ? DType::F32
         : dtype == DType::C128 ? DType::F64
                                : dtype;
}

DType shardtype::complexOf(DType dtype) {
  return dtype == DType::F32   ? DType::C64
         : dtype == DType::F64 ? DType::C128
                               : dtype;
}
