// Reducers.cpp - bodies of two scalars that kernels know.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reducers.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <cstring>

using namespace shardtype;
using kernels::Combination;
using kernels::Select;

std::optional<JaxprId> shardtype::bodyParam(EvalContext &cx, StringRef key) {
  const Value *value = cx.param(key);
  if (!value || value->kind != Value::Jaxpr)
    return std::nullopt;
  return JaxprId(static_cast<uint32_t>(value->integer));
}

/// The name of the body's only equation, of its two inputs in order; `swapped`
/// if they stand the other way round.
static StringRef onlyEquation(const Program &program, JaxprId id,
                              bool &swapped) {
  const Jaxpr &body = program.jaxpr(id);
  if (body.numInputs != 2 || body.numConsts != 0 || body.numEqns != 1 ||
      body.outs.size() != 1)
    return "";
  const Eqn &eqn = program.eqn(body.eqn(0));
  ArrayRef<Atom> operands = program.operandsOf(eqn);
  auto is = [](Atom atom, VarId var) {
    return !atom.isLiteral() && atom.var() == var;
  };
  if (operands.size() != 2 || eqn.numResults != 1 ||
      !is(body.outs[0], program.result(eqn, 0)))
    return "";
  swapped = is(operands[0], body.input(1)) && is(operands[1], body.input(0));
  bool straight =
      is(operands[0], body.input(0)) && is(operands[1], body.input(1));
  return straight || swapped ? program.name(eqn) : "";
}

std::optional<Combination> shardtype::combinationOf(const Program &program,
                                                    JaxprId id) {
  const Jaxpr &body = program.jaxpr(id);
  if (body.numEqns == 0 && body.numInputs == 2 && body.numConsts == 0 &&
      body.outs.size() == 1 && !body.outs[0].isLiteral() &&
      body.outs[0].var() == body.input(1))
    return Combination::Set;
  bool swapped = false;
  StringRef name = onlyEquation(program, id, swapped);
  if (name == "sub" && !swapped)
    return Combination::Sub;
  return llvm::StringSwitch<std::optional<Combination>>(name)
      .Case("add", Combination::Add)
      .Case("mul", Combination::Mul)
      .Case("max", Combination::Max)
      .Case("min", Combination::Min)
      .Case("and", Combination::And)
      .Case("or", Combination::Or)
      .Case("xor", Combination::Xor)
      .Default(std::nullopt);
}

std::optional<Select> shardtype::selectionOf(const Program &program,
                                             JaxprId id) {
  bool swapped = false;
  StringRef name = onlyEquation(program, id, swapped);
  auto select = llvm::StringSwitch<std::optional<Select>>(name)
                    .Case("ge", swapped ? Select::Le : Select::Ge)
                    .Case("gt", swapped ? Select::Lt : Select::Gt)
                    .Case("le", swapped ? Select::Ge : Select::Le)
                    .Case("lt", swapped ? Select::Gt : Select::Lt)
                    .Default(std::nullopt);
  return select;
}

Tensor shardtype::elementAt(const Tensor &x, int64_t position) {
  Tensor scalar = Tensor::uninitialised(x.dtype(), {});
  unsigned bytes = itemSize(x.dtype());
  std::memcpy(scalar.mutableData(), x.data() + position * bytes, bytes);
  return scalar;
}

void shardtype::setElement(Tensor &x, int64_t position, const Tensor &scalar) {
  unsigned bytes = itemSize(x.dtype());
  std::memcpy(x.mutableData() + position * bytes, scalar.data(), bytes);
}

//===--- Types ------------------------------------------------------------===//

/// The body, and whether it has to be run.
static std::optional<std::pair<JaxprId, bool>>
scalarBody(TypingContext &cx, StringRef key, size_t inputs) {
  const Program &program = cx.program();
  ValueId id = program.param(cx.paramsId(), key);
  if (!id.valid() || program.value(id).kind != Value::Jaxpr)
    return std::nullopt;
  JaxprId body(static_cast<uint32_t>(program.value(id).integer));
  if (program.jaxpr(body).numInputs != inputs)
    return std::nullopt;
  bool known = inputs == 2 &&
               (combinationOf(program, body) || selectionOf(program, body));
  return std::pair(body, !known);
}

void shardtype::typeScalarBodies(TypingContext &cx, ArrayRef<StringRef> keys,
                                 ArrayRef<DType> inputs) {
  SmallVector<JaxprId, 2> bodies;
  bool run = false;
  for (StringRef key : keys)
    if (auto body = scalarBody(cx, key, inputs.size())) {
      bodies.push_back(body->first);
      run |= body->second;
    }
  if (!run)
    return;
  std::vector<Typed> args;
  for (DType dtype : inputs) {
    Type scalar = cx.operand(0);
    scalar.shape.clear();
    scalar.dtype = dtype;
    scalar.weak = false;
    scalar.sharding = {};
    scalar.manual = {};
    scalar.memory = MemorySpace::Device;
    args.push_back({cx.context().intern(scalar)});
  }
  for (JaxprId body : bodies)
    cx.host().typeBody(body, args, MeshId());
}

//===--- Evaluations ------------------------------------------------------===//

/// Are there constants beside the jaxpr?
static bool hasConsts(EvalContext &cx, StringRef key) {
  const Value *consts = cx.param(key);
  return consts && !consts->elements.empty();
}

Task shardtype::reduceByBody(EvalContext &cx, WindowAxes axes) {
  std::optional<JaxprId> body = bodyParam(cx, "jaxpr");
  if (!body || hasConsts(cx, "consts"))
    co_return cx.fail("its function is not in the program");
  unsigned half = cx.numOperands() / 2;
  auto known = combinationOf(cx.program(), *body);
  if (half == 1 && known) {
    Tensor result =
        kernels::reduceWindow(cx.operand(0), axes, *known, cx.operand(1));
    cx.setResult(0, result.reshaped(cx.resultShape()));
    co_return success();
  }
  kernels::WindowElements windows =
      kernels::windowElements(cx.operand(0).shape(), axes);
  std::vector<Tensor> results;
  for (unsigned i = 0; i < half; ++i)
    results.push_back(cx.makeResult(i));
  for (size_t w = 0; w < windows.ends.size(); ++w) {
    std::vector<Datum> current;
    for (unsigned i = 0; i < half; ++i)
      current.emplace_back(cx.operand(half + i));
    for (int64_t position : windows.of(w)) {
      for (unsigned i = 0; i < half; ++i)
        current.emplace_back(elementAt(cx.operand(i), position));
      current = co_await cx.run(*body, std::move(current));
    }
    for (unsigned i = 0; i < half; ++i)
      setElement(results[i], static_cast<int64_t>(w), current[i].tensor);
  }
  for (unsigned i = 0; i < half; ++i)
    cx.setResult(i, std::move(results[i]));
  co_return success();
}

static std::vector<Datum> pairOf(Tensor a, Tensor b) {
  std::vector<Datum> pair;
  pair.emplace_back(std::move(a));
  pair.emplace_back(std::move(b));
  return pair;
}

Task shardtype::selectAndScatterByBody(EvalContext &cx, WindowAxes axes) {
  std::optional<JaxprId> select = bodyParam(cx, "select_jaxpr");
  std::optional<JaxprId> scatter = bodyParam(cx, "scatter_jaxpr");
  if (!select || !scatter || hasConsts(cx, "select_consts") ||
      hasConsts(cx, "scatter_consts"))
    co_return cx.fail("its functions are not in the program");
  const Tensor &operand = cx.operand(0), &source = cx.operand(1);
  auto selection = selectionOf(cx.program(), *select);
  auto combination = combinationOf(cx.program(), *scatter);
  if (selection && combination) {
    cx.setResult(0, kernels::selectAndScatter(source, operand, axes, *selection,
                                              *combination, cx.operand(2)));
    co_return success();
  }
  Tensor result = cx.makeResult();
  for (int64_t i = 0; i < result.size(); ++i)
    setElement(result, i, cx.operand(2));
  kernels::WindowElements windows =
      kernels::windowElements(operand.shape(), axes);
  for (size_t w = 0; w < windows.ends.size(); ++w) {
    int64_t chosen = -1;
    for (int64_t candidate : windows.of(w)) {
      if (chosen < 0) {
        chosen = candidate;
        continue;
      }
      std::vector<Datum> keeps =
          co_await cx.run(*select, pairOf(elementAt(operand, chosen),
                                          elementAt(operand, candidate)));
      if (!keeps.front().tensor.item<bool>())
        chosen = candidate;
    }
    if (chosen < 0)
      continue;
    std::vector<Datum> sum = co_await cx.run(
        *scatter, pairOf(elementAt(result, chosen),
                         elementAt(source, static_cast<int64_t>(w))));
    setElement(result, chosen, sum.front().tensor);
  }
  cx.setResult(0, std::move(result));
  co_return success();
}
