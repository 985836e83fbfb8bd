// Shapes.cpp - what the rows that change shapes share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shapes.h"

using namespace shardtype;

//===--- Parameters -------------------------------------------------------===//

LogicalResult shardtype::checkSizes(TypingContext &cx, StringRef key) {
  ValueId id = cx.program().param(cx.paramsId(), key);
  if (!id.valid())
    return success();
  for (ValueId element : cx.program().value(id).elements) {
    const Value &size = cx.program().value(element);
    if (size.kind == Value::Int && size.integer < 0)
      return cx
          .error(diag::ShapeMismatch, "size " + std::to_string(size.integer) +
                                          " in '" + key.str() + "' is below 0")
          .markParam(key);
  }
  return success();
}

LogicalResult shardtype::checkKnown(TypingContext &cx, unsigned operand,
                                    unsigned dim) {
  if (!Dim::isSymbolic(cx.shape(operand)[dim]))
    return success();
  return cx
      .error(diag::ShapeMismatch, "'" + cx.name().str() +
                                      "' computes with a size that is not a "
                                      "number")
      .mark(operand, dim);
}

bool shardtype::holdsSymbol(const Program &program, ValueId id) {
  const Value &value = program.value(id);
  return value.kind == Value::Sym ||
         llvm::any_of(value.elements, [&](ValueId element) {
           return holdsSymbol(program, element);
         });
}

FailureOr<int64_t> shardtype::tracedSize(TypingContext &cx, unsigned operand,
                                         unsigned dim, unsigned resultDim) {
  TypeId recorded = cx.recordedResult(0);
  if (recorded.valid() && cx.context().type(recorded).isArray() &&
      cx.context().type(recorded).rank() > resultDim)
    return cx.context().type(recorded).shape[resultDim];
  if (failed(checkKnown(cx, operand, dim)))
    return failure();
  return cx.error(diag::ShapeMismatch,
                  "'" + cx.name().str() +
                      "' has a parameter that is not a number");
}

std::optional<unsigned> shardtype::pythonIndex(int64_t index, unsigned rank) {
  if (index < 0)
    index += rank;
  if (index < 0 || index >= rank)
    return std::nullopt;
  return static_cast<unsigned>(index);
}

bool shardtype::areDistinctDims(ArrayRef<int64_t> dims, unsigned rank) {
  for (unsigned i = 0; i < dims.size(); ++i)
    if (dims[i] < 0 || dims[i] >= rank ||
        llvm::is_contained(dims.take_front(i), dims[i]))
      return false;
  return true;
}

std::string shardtype::listText(ArrayRef<int64_t> list) {
  std::string text = "(";
  for (unsigned i = 0; i < list.size(); ++i)
    text += (i ? ", " : "") + std::to_string(list[i]);
  return text + (list.size() == 1 ? ",)" : ")");
}

FailureOr<Sharding> shardtype::resolveLong(TypingContext &cx,
                                           const ShardingParam &param,
                                           unsigned rank, StringRef key) {
  unsigned entries = param.spec.partitions.size();
  FailureOr<Sharding> result =
      cx.resolveParam(param, std::max(rank, entries), key);
  if (succeeded(result))
    result->dims.resize(rank);
  return result;
}

FailureOr<ReductionSets> shardtype::checkLong(TypingContext &cx,
                                              const ShardingParam &param,
                                              StringRef key,
                                              ReductionSets sets) {
  unsigned rank = cx.resultShape().size();
  if (!param.given() || param.spec.partitions.size() <= rank)
    return sets;
  FailureOr<Sharding> all =
      cx.resolveParam(param, param.spec.partitions.size(), key);
  if (failed(all))
    return failure();
  AxisSet twice = all->axes() & (sets.unreduced | sets.reduced);
  if (!twice.empty())
    return cx.error(diag::SpecOverlap, twice, *all).markParam(key);
  if (failed(cx.resolveParam(param, rank, key)))
    return failure();
  return sets;
}

//===--- Shardings --------------------------------------------------------===//

std::string shardtype::quoted(TypingContext &cx, ArrayRef<uint8_t> axes) {
  const Mesh &mesh = cx.context().meshOrEmpty(cx.ruleMesh());
  std::string text;
  for (unsigned i = 0; i < axes.size(); ++i)
    text += (i == 0                 ? "'"
             : i + 1 == axes.size() ? " and '"
                                    : ", '") +
            cx.context().str(mesh.axes[axes[i]].name).str() + "'";
  return text;
}

Sharding shardtype::withoutDims(const Sharding &sharding,
                                ArrayRef<int64_t> removed) {
  Sharding result = sharding;
  result.dims.clear();
  for (unsigned d = 0; d < sharding.dims.size(); ++d)
    if (!llvm::is_contained(removed, d))
      result.dims.push_back(sharding.dims[d]);
  return result;
}

Sharding shardtype::withWholeDim(Sharding sharding, unsigned dim) {
  sharding.dims[dim].clear();
  return sharding;
}

FailureOr<ReductionSets> shardtype::passKinds(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  if (!s.unreduced.empty() && s.kind != ReductionKind::Sum && cx.olderJax())
    return reduction::pass(cx);
  return reduction::passAnyKind(cx);
}

std::optional<Sharding> shardtype::soundSets(TypingContext &cx,
                                             Sharding partitions, bool linear) {
  const Sharding &s = cx.sharding(0);
  bool sums = linear && s.kind == ReductionKind::Sum;
  if (!s.unreduced.empty() && !sums)
    return std::nullopt;
  partitions.unreduced = s.unreduced;
  partitions.reduced = s.reduced;
  partitions.kind = s.kind;
  return partitions;
}

ErrorBuilder shardtype::refuseSets(TypingContext &cx, diag::Code code,
                                   unsigned operand) {
  return cx.error(code, cx.name())
      .mark(operand)
      .fixOperand(operand, withoutSets(cx.sharding(operand)));
}

ErrorBuilder shardtype::reportDiffer(TypingContext &cx, ErrorBuilder error,
                                     unsigned a, unsigned b) {
  error.mark(a).mark(b);
  bool othersAgree = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    if (i == a || !s.hasMesh())
      continue;
    othersAgree &= s == cx.sharding(b);
    if (s != cx.sharding(a) &&
        !checkDivisible(cx.context(), cx.sharding(a), cx.shape(i)))
      error.fixOperand(i, cx.sharding(a));
  }
  if (othersAgree && !checkDivisible(cx.context(), cx.sharding(b), cx.shape(a)))
    error.fixOperand(a, cx.sharding(b));
  return error;
}

//===--- Dimension maps ---------------------------------------------------===//

DimMap::Dim shardtype::addFactor(DimMap &map, FactorRole role, int64_t size) {
  // Beyond 255 factors (no real program has them) dims do not correspond, which
  // makes prices too high, nothing else.
  if (size == 1 || map.factors.size() == 255)
    return {};
  map.factors.push_back({role, size});
  return {static_cast<uint8_t>(map.factors.size() - 1)};
}

DimMap shardtype::sameDims(TypingContext &cx, ArrayRef<int64_t> special,
                           FactorRole role) {
  DimMap map;
  DimMap::Dims dims;
  for (unsigned d = 0; d < cx.shape(0).size(); ++d) {
    bool is = llvm::is_contained(special, d);
    dims.push_back(
        addFactor(map, is ? role : FactorRole::Pass, cx.shape(0)[d]));
  }
  map.operands.assign(cx.numOperands(), dims);
  map.results.assign(cx.numResults(), dims);
  return map;
}

//===--- Several results --------------------------------------------------===//

LogicalResult shardtype::typeResults(
    TypingContext &cx, ArrayRef<Shape> shapes,
    llvm::function_ref<LogicalResult(SmallVectorImpl<Sharding> &)> sharding,
    bool keepsState) {
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  SmallVector<Sharding, 4> shardings;
  if (cx.rulesApply()) {
    if (failed(sharding(shardings)))
      return failure();
    for (const Sharding &s : shardings)
      if (failed(checkIllegalResult(cx, s, diag::IllegalResultMulti)))
        return failure();
  } else {
    for (const Shape &shape : shapes)
      shardings.push_back(
          replicated(mesh->valid() ? *mesh : cx.mesh(), shape.size()));
  }
  cx.setManual(cx.operand(0).manual);
  if (!keepsState && failed(cx.typeManual(varying::match, reduction::pass)))
    return failure();
  SmallVector<TypeId, 4> types;
  for (unsigned i = 0; i < shapes.size(); ++i) {
    FailureOr<TypeId> updated = cx.updateType(0, shapes[i], shardings[i]);
    if (failed(updated))
      return failure();
    Type type = cx.context().type(*updated);
    type.manual = cx.resultManual();
    types.push_back(cx.context().intern(type));
  }
  return setResults(cx, types);
}
