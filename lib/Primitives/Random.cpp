// Random.cpp - keys and the bits made from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Random.h"
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "IndexDims.h"
#include "Shapes.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

namespace {
struct KeyImpl {
  EnumParam impl; // The tag: `fry`.
  static constexpr auto fields =
      std::tuple(field("impl", &KeyImpl::impl, Hide::Never, ParamField::Name));
};
struct KeyShape {
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields = std::tuple(field("shape", &KeyShape::shape));
};
struct BitsShape {
  int64_t width = 32;
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields = std::tuple(
      field("bit_width", &BitsShape::width), field("shape", &BitsShape::shape));
};
} // namespace

/// The dims of the keys, and behind them `more` new ones.
static DimMap keyDims(TypingContext &cx, ArrayRef<int64_t> more) {
  DimMap map;
  DimMap::Dims dims;
  for (int64_t size : cx.shape(0))
    dims.push_back(addFactor(map, FactorRole::Pass, size));
  map.operands.push_back(dims);
  for (int64_t size : more)
    dims.push_back(addFactor(map, FactorRole::Broadcast, size));
  map.results.push_back(std::move(dims));
  return map;
}
static DimMap seedDims(TypingContext &cx) { return keyDims(cx, {}); }
static DimMap splitDims(TypingContext &cx) {
  return keyDims(cx, cx.params<KeyShape>().shape);
}
static DimMap bitsDims(TypingContext &cx) {
  return keyDims(cx, cx.params<BitsShape>().shape);
}
static DimMap unwrapDims(TypingContext &cx) {
  return keyDims(cx, keyDataShape(cx.operand(0).dtype));
}

/// The last dims are the data of one key.
static DimMap wrapDims(TypingContext &cx) {
  StringRef tag = cx.params<KeyImpl>().impl.name;
  std::optional<DType> dtype = parseDType("key<" + tag.str() + ">");
  size_t data = dtype ? keyDataShape(*dtype).size() : 1;
  size_t rank = cx.shape(0).size(), kept = rank - std::min(rank, data);
  DimMap map;
  DimMap::Dims dims;
  for (auto [d, size] : llvm::enumerate(cx.shape(0)))
    dims.push_back(
        addFactor(map, d < kept ? FactorRole::Pass : FactorRole::Whole, size));
  map.operands.push_back(dims);
  dims.resize(kept);
  map.results.push_back(std::move(dims));
  return map;
}

static LogicalResult needsKey(TypingContext &cx) {
  if (cx.operand(0).isArray() && isKey(cx.operand(0).dtype))
    return success();
  return cx
      .error(diag::DTypeMismatch, "'" + cx.name().str() +
                                      "' takes keys, but operand 0 is " +
                                      cx.arg(cx.operandId(0)))
      .mark(0);
}

static FailureOr<DType> keyDType(TypingContext &cx) {
  StringRef tag = cx.params<KeyImpl>().impl.name;
  if (std::optional<DType> dtype = parseDType("key<" + tag.str() + ">"))
    return *dtype;
  return cx
      .error(diag::ParamInvalid, "impl", "no PRNG has the tag " + tag.str())
      .markParam("impl");
}

static LogicalResult setKeys(TypingContext &cx, DType dtype, const Shape &shape,
                             const Sharding &sharding) {
  FailureOr<TypeId> type = cx.makeType(shape, dtype, sharding);
  if (failed(type))
    return failure();
  return setResults(cx, *type);
}

/// random_seed/type.1: a key per seed, sharded as the seeds.
static LogicalResult seedType(TypingContext &cx) {
  cx.setManual(cx.operand(0).manual); // manual/keys.1
  if (!cx.operand(0).isArray() || !isInteger(cx.operand(0).dtype))
    return cx
        .error(diag::DTypeMismatch,
               "'random_seed' takes integers, not " + cx.arg(cx.operandId(0)))
        .mark(0);
  FailureOr<DType> dtype = keyDType(cx);
  if (failed(dtype))
    return failure();
  return setKeys(cx, *dtype, cx.operand(0).shape, cx.sharding(0));
}

/// random_wrap/type.1: the last dims are one key's data and are whole.
static LogicalResult wrapType(TypingContext &cx) {
  FailureOr<DType> dtype = keyDType(cx);
  if (failed(dtype))
    return failure();
  size_t dataRank = keyDataShape(*dtype).size();
  cx.setManual(cx.operand(0).manual); // manual/keys.1
  if (!cx.operand(0).isArray() || cx.operand(0).dtype != DType::U32 ||
      cx.shape(0).size() < dataRank)
    return cx
        .error(diag::ShapeMismatch, "'random_wrap' takes uint32 data, not " +
                                        cx.arg(cx.operandId(0)))
        .mark(0);
  Sharding sharding = cx.sharding(0);
  bool inRegion =
      !cx.context().meshOrEmpty(cx.mesh()).axesOf(AxisType::Manual).empty();
  for (unsigned i = 0; i < dataRank; ++i) {
    // An axis of size 1 cuts nothing, and beside Manual axes JAX looks at none.
    if (!inRegion &&
        cx.context().meshOrEmpty(sharding.mesh).size(sharding.dims.back()) > 1)
      return cx
          .error(diag::AccidentalReject, cx.name(),
                 "the data of one key is sharded")
          .mark(0, static_cast<int>(sharding.dims.size()) - 1);
    sharding.dims.pop_back();
  }
  if (failed(refuseSpecSets(cx, 0)))
    return failure();
  Shape shape(cx.shape(0).drop_back(dataRank));
  return setKeys(cx, *dtype, shape, sharding);
}

/// random_unwrap/type.1: the data of each key, whole.
static LogicalResult unwrapType(TypingContext &cx) {
  if (failed(needsKey(cx)))
    return failure();
  cx.setManual(cx.operand(0).manual); // manual/keys.1
  ArrayRef<int64_t> data = keyDataShape(cx.operand(0).dtype);
  Shape shape(cx.shape(0));
  shape.append(data.begin(), data.end());
  Sharding sharding = cx.sharding(0);
  sharding.dims.resize(shape.size());
  return setKeys(cx, DType::U32, shape, sharding);
}

/// random_split/type.1, random_bits/type.1: the keys' dims, then new whole
/// ones.
static LogicalResult appendDims(TypingContext &cx, DType dtype,
                                ArrayRef<int64_t> extra) {
  if (failed(needsKey(cx)))
    return failure();
  cx.setManual(cx.operand(0).manual); // manual/keys.1
  for (int64_t size : extra)
    if (size < 0)
      return indexError(cx, "a size is negative").markParam("shape");
  Shape shape(cx.shape(0));
  shape.append(extra.begin(), extra.end());
  Sharding sharding = cx.sharding(0);
  if (cx.rulesApply() && failed(refuseSpecSets(cx, 0)))
    return failure();
  if (!sharding.hasMesh())
    sharding = replicated(cx.mesh(), shape.size());
  sharding.dims.resize(shape.size());
  return setKeys(cx, dtype, shape, sharding);
}

static LogicalResult splitType(TypingContext &cx) {
  return appendDims(cx, cx.operand(0).dtype, cx.params<KeyShape>().shape);
}

static LogicalResult bitsType(TypingContext &cx) {
  const auto &p = cx.params<BitsShape>();
  std::optional<DType> dtype = parseDType("uint" + std::to_string(p.width));
  if (!dtype)
    return cx
        .error(diag::ParamInvalid, "bit_width",
               "there is no uint" + std::to_string(p.width))
        .markParam("bit_width");
  return appendDims(cx, *dtype, p.shape);
}

/// JAX asks nothing of sets over Manual axes.
static constexpr Rule<FailureOr<ReductionSets>(TypingContext &)> NoSets =
    NoRule{NoRule::NotImplemented, "random_fold_in"};

/// random_fold_in/type.1: keys and messages combine as n-ary operands do; sets
/// of unreduced or reduced axes are refused.
static LogicalResult foldInType(TypingContext &cx) {
  if (failed(needsKey(cx)))
    return failure();
  FailureOr<Shape> shape = nary::shape(cx);
  if (failed(shape))
    return failure();
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  Sharding sharding =
      replicated(mesh->valid() ? *mesh : cx.mesh(), shape->size());
  if (cx.rulesApply()) {
    FailureOr<Sharding> ruled = nary::sharding(cx, diag::IllegalResultMulti);
    if (failed(ruled))
      return failure();
    for (unsigned i = 0; i < 2; ++i)
      if (cx.sharding(i).hasUR() && !cx.olderJax()) // 0.11 drops them.
        return cx.error(diag::RuleMissingUR, cx.name()).mark(i);
    sharding = std::move(*ruled);
  }
  if (failed(cx.typeManual(varying::match, NoSets)))
    return failure();
  return setKeys(cx, cx.operand(0).dtype, *shape, sharding);
}

template <typename P, unsigned Count, typename Dims, typename Type>
static constexpr Primitive keyRow(StringRef name, Dims dims, Type type,
                                  EvalRule evaluation) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, Count>,
          .dims = dims,
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Custom{type},
          .eval = evaluation};
}

//===--- evaluations ------------------------------------------------------===//

static LogicalResult seedEval(EvalContext &cx) {
  return eval::give(cx, kernels::makeKeys(cx.operand(0), cx.resultDType()));
}
/// The words of keys as an array, and back.
static LogicalResult viewEval(EvalContext &cx) {
  return eval::give(cx,
                    cx.take(0).viewedAs(cx.resultDType(), cx.resultShape()));
}
static LogicalResult splitEval(EvalContext &cx) {
  return eval::give(cx, kernels::splitAll(cx.operand(0),
                                          cx.params<KeyShape>().shape,
                                          eval::splitsByIndex(cx)));
}
static LogicalResult bitsEval(EvalContext &cx) {
  const auto &params = cx.params<BitsShape>();
  return eval::give(
      cx, kernels::bitsOfAll(cx.operand(0), static_cast<unsigned>(params.width),
                             params.shape, eval::splitsByIndex(cx)));
}
static LogicalResult foldInEval(EvalContext &cx) {
  if (isKey(cx.operand(1).dtype()))
    return cx.fail("folds in integers, no keys");
  return eval::give(
      cx, kernels::foldInAll(cx.operand(0), cx.operand(1), cx.resultShape()));
}

static const Primitive Rows[] = {
    keyRow<KeyImpl, 1>("random_seed", seedDims, seedType, seedEval),
    keyRow<KeyImpl, 1>("random_wrap", wrapDims, wrapType, viewEval),
    keyRow<NoParams, 1>("random_unwrap", unwrapDims, unwrapType, viewEval),
    keyRow<KeyShape, 1>("random_split", splitDims, splitType, splitEval),
    keyRow<BitsShape, 1>("random_bits", bitsDims, bitsType, bitsEval),
    keyRow<NoParams, 2>("random_fold_in", nary::dims, foldInType, foldInEval),
};

ArrayRef<Primitive> shardtype::random() { return Rows; }
