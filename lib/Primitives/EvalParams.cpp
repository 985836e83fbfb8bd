// EvalParams.cpp - parameters that only evaluations read.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "shardtype/Kernels/Linalg.h"
#include "shardtype/Rules/Params.h"
#include "shardtype/Tensor/Element.h"
#include <cstdlib>

using namespace shardtype;

std::string eval::choice(EvalContext &cx, StringRef key) {
  const Value *value = cx.param(key);
  if (!value)
    return "";
  EnumParam read;
  if (readParam(cx.program(), *value, read) && !read.name.empty())
    return read.name.str();
  if (value->kind == Value::Int)
    return std::to_string(value->integer);
  return value->text.valid() ? cx.program().context().str(value->text).str()
                             : "";
}

bool eval::flag(EvalContext &cx, StringRef key, bool otherwise) {
  const Value *value = cx.param(key);
  bool known =
      value && (value->kind == Value::Bool || value->kind == Value::Int);
  return known ? value->integer != 0 : otherwise;
}

std::optional<double> eval::real(EvalContext &cx, StringRef key) {
  const Value *value = cx.param(key);
  if (!value)
    return std::nullopt;
  if (value->kind == Value::Int || value->kind == Value::Bool)
    return static_cast<double>(value->integer);
  if (!value->text.valid())
    return std::nullopt;
  std::string text = cx.program().context().str(value->text).str();
  char *end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  return end != text.c_str() ? std::optional(number) : std::nullopt;
}

/// Of an integer its low 64 bits, of a float what is before the point.
static uint64_t integerOf(EvalContext &cx, const Value &value, double number) {
  uint64_t large;
  if (value.kind == Value::Int)
    return static_cast<uint64_t>(value.integer);
  if (value.kind == Value::BigInt &&
      !cx.program().context().str(value.text).getAsInteger(10, large))
    return large;
  bool fits = number >= -0x1p63 && number < 0x1p63; // Not NaN.
  return fits ? static_cast<uint64_t>(static_cast<int64_t>(number)) : 0;
}

Tensor eval::scalarParam(EvalContext &cx, StringRef key, DType dtype) {
  const Value *value = cx.param(key);
  std::optional<double> number = real(cx, key);
  if (!number || isKey(dtype) || dtype == DType::Float0)
    return {};
  Tensor result = Tensor::uninitialised(dtype, {});
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T &to = result.fill<T>()[0];
    if constexpr (std::is_same_v<T, bool>)
      to = *number != 0;
    else if constexpr (isIntElement<T>)
      to = T(integerOf(cx, *value, *number));
    else if constexpr (isComplexElement<T>)
      to = T(static_cast<typename T::value_type>(*number));
    else
      to = T(static_cast<ComputeType<T>>(*number));
  });
  return result;
}

kernels::OutOfBounds eval::outOfBounds(EvalContext &cx) {
  std::string mode = choice(cx, "mode");
  return mode == "FILL_OR_DROP" || mode == "2" ? kernels::OutOfBounds::Drop
                                               : kernels::OutOfBounds::Clip;
}

bool eval::splitsByIndex(EvalContext &cx) {
  StringRef text = cx.contextFields();
  size_t at = text.find("\"threefry_partitionable\"");
  return at == StringRef::npos ||
         !text.drop_front(at).split(':').second.ltrim().starts_with("false");
}

/// The first dtype among operands and results that `takes` does not; empty.
static std::string firstDType(EvalContext &cx,
                              llvm::function_ref<bool(DType)> takes) {
  const Eqn &eqn = cx.program().eqn(cx.eqn());
  auto notTaken = [&](const Type &type) {
    return type.isArray() && !takes(type.dtype)
               ? ("it does not compute with " + info(type.dtype).shortName)
                     .str()
               : "";
  };
  std::string why;
  for (unsigned i = 0; i < eqn.numOperands && why.empty(); ++i)
    why = notTaken(cx.operandType(i));
  for (unsigned i = 0; i < eqn.numResults && why.empty(); ++i)
    why = notTaken(cx.resultType(i));
  return why;
}
std::string eval::numbersOnly(EvalContext &cx) {
  return firstDType(
      cx, [](DType dtype) { return !isKey(dtype) && dtype != DType::Float0; });
}
std::string eval::floatsOnly(EvalContext &cx) {
  return firstDType(cx, [](DType dtype) { return isFloat(dtype); });
}

std::string eval::needsLapack(EvalContext &) {
  return kernels::haveLapack()
             ? ""
             : "linear algebra needs the library libopenblas.so.0";
}

SmallVector<const Tensor *, 6> eval::tensorsFrom(EvalContext &cx,
                                                 unsigned begin) {
  SmallVector<const Tensor *, 6> list;
  for (unsigned i = begin; i < cx.numOperands(); ++i)
    list.push_back(&cx.operand(i));
  return list;
}
