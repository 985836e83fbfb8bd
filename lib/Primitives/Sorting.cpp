// Sorting.cpp - cumulative operations, sort and top_k: along one whole dim.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "Results.h"
#include "Shapes.h"
#include "shardtype/Kernels/Reduce.h"
#include "shardtype/Kernels/Sort.h"
#include "shardtype/Rules/Manual.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <limits>

using namespace shardtype;

//===--- cumsum and its like ----------------------------------------------===//

namespace {
struct Cumulative {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple(field("axis", &Cumulative::axis),
                                            ignored("reverse", form::flag));
};
} // namespace

static FailureOr<Shape> cumulativeShape(TypingContext &cx) {
  int64_t axis = cx.params<Cumulative>().axis;
  if (axis >= 0 && axis < static_cast<int64_t>(cx.shape(0).size()))
    return cx.operand(0).shape;
  return cx
      .error(diag::ParamInvalid, "axis", // cumsum/shape.1
             std::to_string(axis) + " is not a dim of a value of rank " +
                 std::to_string(cx.shape(0).size()))
      .markParam("axis");
}

static FailureOr<DType> cumulativeDType(TypingContext &cx) {
  DType dtype = cx.operand(0).dtype;
  if (isInteger(dtype) || isFloat(dtype) || isComplex(dtype))
    return dtype;
  return cx
      .error(diag::DTypeRefused, cx.name(), info(dtype).longName, 0, "numbers")
      .mark(0); // cumsum/dtype.1
}

template <bool Linear>
static FailureOr<Sharding> cumulativeSharding(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  unsigned axis = cx.params<Cumulative>().axis;
  if (s.hasUR()) { // cumsum/reduction.1
    ErrorBuilder error = refuseSets(cx, diag::SpecIteration, 0);
    auto sound = soundSets(cx, s, Linear);
    if (sound && s.dims[axis].empty())
      error.sound(*sound);
    return error;
  }
  if (s.dims[axis].empty())
    return s; // cumsum/sharding.1
  return cx.error(diag::CumulativeSharded, cx.name(), axis, s.dims[axis])
      .mark(0, axis)
      .fixOperand(0, withWholeDim(s, axis)); // cumsum/sharding.2
}

static FailureOr<ReductionSets> noSets(TypingContext &) {
  return ReductionSets{}; // The sharding rule has refused them.
}

static DimMap cumulativeDims(TypingContext &cx) {
  return sameDims(cx, cx.params<Cumulative>().axis, FactorRole::Whole);
}

template <kernels::CumulativeOp Op>
static LogicalResult cumulativeEval(EvalContext &cx) {
  bool reverse = eval::number(cx, "reverse", 0) != 0;
  return eval::give(cx,
                    kernels::cumulative(Op, cx.operand(0),
                                        cx.params<Cumulative>().axis, reverse));
}

template <bool Linear>
static constexpr Primitive cumulativeRow(StringRef name, EvalRule evaluation) {
  return {.info = {name, schemaOf<Cumulative>},
          .decode = decodeFor<Cumulative, 1>,
          .dims = cumulativeDims,
          .linearity = {Linear ? Linearity::Jointly : Linearity::None,
                        Linear ? uint8_t(1) : uint8_t(0)},
          .open = OpenRule::Opaque,
          .type = Standard{.shape = cumulativeShape,
                           .dtype = cumulativeDType,
                           .weak = weak::all,
                           .sharding = cumulativeSharding<Linear>,
                           .reduction = noSets,
                           .memory = memory::standard},
          .eval = evaluation};
}

//===--- sort -------------------------------------------------------------===//

namespace {
struct Sort {
  int64_t dimension = 0;
  static constexpr auto fields = std::tuple(
      field("dimension", &Sort::dimension), ignored("is_stable", form::flag),
      ignored("num_keys", form::integer));
};

struct TopK {
  int64_t axis = 0, k = 0;
  static constexpr auto fields =
      std::tuple(field("axis", &TopK::axis), ignored("is_stable", form::flag),
                 field("k", &TopK::k));
};
} // namespace

static bool isExplicit(TypingContext &cx, unsigned i) {
  return cx.context().meshOrEmpty(cx.sharding(i).mesh).anyExplicit();
}

static LogicalResult checkSorted(TypingContext &cx) {
  int64_t given = cx.params<Sort>().dimension;
  std::optional<unsigned> first, in = pythonIndex(given, cx.shape(0).size());
  unsigned dim = in.value_or(0);
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (!isExplicit(cx, i))
      continue;
    const Sharding &s = cx.sharding(i);
    if (s.hasUR()) { // sort/reduction.1
      ErrorBuilder error = refuseSets(cx, diag::SpecIteration, i);
      bool sound = in && s.unreduced.empty() && s.dims[dim].empty();
      for (unsigned other = 0; other < cx.numOperands(); ++other)
        sound &= cx.sharding(other) == s;
      if (sound && cx.numResults() == cx.numOperands())
        error.soundTypes(llvm::map_to_vector(
            cx.operands(), [](const Typed &operand) { return operand.type; }));
      return error;
    }
    if (!in)
      return cx
          .error(diag::AccidentalIndex, cx.name(),
                 std::to_string(given) + " is not a dim of values of rank " +
                     std::to_string(cx.shape(0).size()))
          .markParam("dimension"); // sort/shape.2
    if (!s.dims[dim].empty())
      return cx.error(diag::SortSharded, dim, s.dims[dim])
          .mark(i, dim)
          .fixOperand(i, withWholeDim(s, dim)); // sort/sharding.1
    first = first ? first : i;
    if (s != cx.sharding(*first))
      return reportDiffer(
          cx, cx.error(diag::SortDiffer, cx.sharding(*first), s), *first,
          i); // sort/sharding.2
  }
  return success();
}

/// Results move with their keys, wherever these vary, but JAX types each by
/// itself (manual/lost.3), partial sums included (manual/sets.6).
static void noteManual(TypingContext &cx) {
  AxisSet all;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    all |= cx.operand(i).manual.varying;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    const ManualAxisType &own = cx.operand(i).manual;
    if (AxisSet lost = all - own.varying;
        !lost.empty() && cx.options().vma == Vma::On)
      warnVariationLost(cx, lost,
                        "JAX gives result " + cx.arg(i) +
                            " the variation of operand " + cx.arg(i) + " only");
    if (!own.unreduced.empty())
      cx.error(diag::PartialThrough, cx.name(), own.unreduced).mark(i);
  }
}

/// An operand's type, varying with all of them where that is found out.
static TypeId sortedId(TypingContext &cx, unsigned operand) {
  if (cx.options().vma != Vma::Infer)
    return cx.operandId(operand);
  ManualAxisType manual = cx.operand(operand).manual;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    manual.varying |= cx.operand(i).manual.varying;
  return withManual(cx.context(), cx.operandId(operand), manual, cx.mesh());
}

static LogicalResult typeSort(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (cx.operand(i).shape != cx.operand(0).shape)
      return cx
          .error(diag::ShapeMismatch,
                 "operands of 'sort' have different shapes: " +
                     cx.arg(cx.operandId(0)) + " and " +
                     cx.arg(cx.operandId(i)))
          .mark(0)
          .mark(i); // sort/shape.1
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  bool rules = cx.rulesApply();
  if (rules && failed(checkSorted(cx)))
    return failure();
  noteManual(cx);
  SmallVector<TypeId, 4> types;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    types.push_back(sortedId(cx, i)); // sort/sharding.3
    if (!rules)
      types.back() = cx.context().withSharding(
          types.back(),
          replicated(mesh->valid() ? *mesh : cx.mesh(), cx.shape(i).size()));
  }
  return setResults(cx, types);
}

static DimMap sortDims(TypingContext &cx) {
  auto dim = pythonIndex(cx.params<Sort>().dimension, cx.shape(0).size());
  return sameDims(cx, dim.value_or(0), FactorRole::Whole);
}

//===--- top_k ------------------------------------------------------------===//

static LogicalResult checkTopK(TypingContext &cx) {
  const auto &p = cx.params<TopK>();
  auto bad = [&](StringRef key, const std::string &why) {
    return cx.error(diag::ParamInvalid, key, why).markParam(key);
  };
  if (isComplex(cx.operand(0).dtype))
    return cx
        .error(diag::ParamInvalid, "operand", "complex numbers have no order")
        .mark(0); // top_k/dtype.1
  if (p.k < 0)
    return bad("k", "is below 0"); // top_k/shape.1
  if (cx.shape(0).empty())
    return cx.error(diag::ShapeMismatch, "'top_k' takes no scalar").mark(0);
  if (p.axis < 0 || p.axis >= static_cast<int64_t>(cx.shape(0).size()))
    return bad("axis", std::to_string(p.axis) +
                           " is not a dim of a value of rank " +
                           std::to_string(cx.shape(0).size())); // top_k/shape.2
  if (failed(checkKnown(cx, 0, p.axis)))
    return failure();
  int64_t size = cx.shape(0)[p.axis];
  if (size < p.k)
    return bad("k", std::to_string(p.k) + " is more than the " +
                        std::to_string(size) + " elements of dim " +
                        std::to_string(p.axis)); // top_k/shape.3
  if (size > int64_t(std::numeric_limits<int32_t>::max()) + 1)
    return cx
        .error(diag::ParamInvalid, "operand",
               "indices of dim " + std::to_string(p.axis) +
                   " do not fit into int32")
        .mark(0, p.axis); // top_k/shape.4
  return success();
}

static LogicalResult topKSharding(TypingContext &cx, const Shape &shape) {
  const Sharding &s = cx.sharding(0);
  unsigned axis = cx.params<TopK>().axis;
  if (s.hasUR()) { // top_k/reduction.1
    ErrorBuilder error = refuseSets(cx, diag::SpecIteration, 0);
    if (s.unreduced.empty() && s.dims[axis].empty() && cx.numResults() == 2) {
      Type values = cx.operand(0);
      values.shape = shape;
      Type indices = values;
      indices.dtype = DType::I32;
      error.soundTypes(
          {cx.context().intern(values), cx.context().intern(indices)});
    }
    return error;
  }
  if (s.dims[axis].empty())
    return success();
  return cx.error(diag::TopKSharded, axis, s.dims[axis])
      .mark(0, axis)
      .fixOperand(0, withWholeDim(s, axis)); // top_k/sharding.1
}

static LogicalResult typeTopK(TypingContext &cx) {
  if (failed(checkArrays(cx)) || failed(checkTopK(cx)))
    return failure();
  Shape shape = cx.operand(0).shape;
  shape[cx.params<TopK>().axis] = cx.params<TopK>().k;
  FailureOr<MeshId> mesh = cx.operandMesh();
  if (failed(mesh))
    return failure();
  Sharding sharding = cx.sharding(0); // top_k/sharding.2
  if (!cx.rulesApply())
    sharding = replicated(mesh->valid() ? *mesh : cx.mesh(), shape.size());
  else if (failed(topKSharding(cx, shape)))
    return failure();
  if (AxisSet sums = cx.operand(0).manual.unreduced; !sums.empty())
    cx.error(diag::PartialThrough, cx.name(), sums).mark(0); // manual/sets.6
  FailureOr<TypeId> values = cx.updateType(0, shape, sharding);
  if (failed(values))
    return failure();
  Type indices = cx.context().type(*values);
  indices.dtype = DType::I32; // top_k/dtype.2
  return setResults(cx, {*values, cx.context().intern(indices)});
}

static DimMap topKDims(TypingContext &cx) {
  unsigned axis = cx.params<TopK>().axis;
  DimMap map = sameDims(cx, axis, FactorRole::Whole);
  auto kept = addFactor(map, FactorRole::Broadcast, cx.params<TopK>().k);
  for (DimMap::Dims &result : map.results)
    result[axis] = kept;
  return map;
}

static LogicalResult sortEval(EvalContext &cx) {
  SmallVector<Tensor, 4> operands;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    operands.push_back(cx.operand(i));
  auto dim = pythonIndex(cx.params<Sort>().dimension, operands[0].rank());
  if (!dim)
    return cx.fail("its dimension is none of the operands'");
  auto keys = static_cast<unsigned>(eval::real(cx, "num_keys").value_or(1));
  std::vector<Tensor> results =
      kernels::sort(operands, *dim, std::min<unsigned>(keys, operands.size()),
                    cx.options().flushDenormals);
  for (auto [i, result] : llvm::enumerate(results))
    cx.setResult(i, std::move(result));
  return success();
}

static LogicalResult topKEval(EvalContext &cx) {
  const auto &p = cx.params<TopK>();
  kernels::TopK result =
      kernels::topK(cx.operand(0), p.axis, p.k, kernels::Extreme::Largest);
  cx.setResult(0, std::move(result.values));
  cx.setResult(1, std::move(result.indices));
  return success();
}

static const Primitive Rows[] = {
    cumulativeRow<true>("cumsum", cumulativeEval<kernels::CumulativeOp::Sum>),
    cumulativeRow<false>("cumprod",
                         cumulativeEval<kernels::CumulativeOp::Prod>),
    cumulativeRow<false>("cummax", cumulativeEval<kernels::CumulativeOp::Max>),
    cumulativeRow<false>("cummin", cumulativeEval<kernels::CumulativeOp::Min>),
    cumulativeRow<false>(
        "cumlogsumexp",
        {cumulativeEval<kernels::CumulativeOp::LogSumExp>, eval::floatsOnly}),
    {.info = {"sort", schemaOf<Sort>},
     .decode = decodeFor<Sort, 1, AnyNumber>,
     .dims = sortDims,
     .linearity = {},
     .open = OpenRule::Strict,
     .type = Custom{typeSort},
     .eval = {sortEval, eval::numbersOnly}},
    {.info = {"top_k", schemaOf<TopK>},
     .decode = decodeFor<TopK, 1>,
     .dims = topKDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeTopK},
     .eval = {topKEval, eval::numbersOnly}}};

ArrayRef<Primitive> shardtype::sorting() { return Rows; }
