// GenericReduce.cpp - reductions with a computation of their own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "IndexDims.h"
#include "Reducers.h"
#include "Results.h"
#include "WindowShape.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

//===--- reduce -----------------------------------------------------------===//

namespace {
// No rule reads the function (reduce_generic/body.1).
struct Reduce {
  SmallVector<int64_t, 4> dimensions;
  static constexpr auto fields =
      std::tuple(ignored("computation", form::object),
                 field("dimensions", &Reduce::dimensions),
                 ignored("jaxpr", form::jaxpr, Hide::Never, ParamField::Jaxpr));
};
struct ReduceWindow : Window {
  static constexpr auto fields =
      std::tuple(field("base_dilation", &ReduceWindow::baseDilation),
                 ignored("consts", form::list),
                 ignored("jaxpr", form::jaxpr, Hide::Never, ParamField::Jaxpr),
                 field("padding", &ReduceWindow::pads),
                 field("window_dilation", &ReduceWindow::windowDilation),
                 field("window_dimensions", &ReduceWindow::window),
                 field("window_strides", &ReduceWindow::strides));
};
struct SelectAndScatter {
  SmallVector<int64_t, 4> window, strides;
  static constexpr auto fields = std::tuple(
      ignored("padding", form::pairs), ignored("scatter_consts", form::list),
      ignored("scatter_jaxpr", form::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("select_consts", form::list),
      ignored("select_jaxpr", form::jaxpr, Hide::Never, ParamField::Jaxpr),
      field("window_dimensions", &SelectAndScatter::window),
      field("window_strides", &SelectAndScatter::strides));
};
} // namespace

/// Operands, then as many initial values.
static LogicalResult checkHalves(TypingContext &cx) {
  if (cx.numOperands() % 2 == 0)
    return success();
  return cx.error(diag::OperandCount, cx.name(), "an even number of",
                  cx.numOperands());
}

static LogicalResult checkInits(TypingContext &cx, diag::Code code) {
  unsigned half = cx.numOperands() / 2;
  for (unsigned i = half; i < cx.numOperands(); ++i)
    if (cx.operand(i).rank() != 0)
      return cx
          .error(code, "initial values of '" + cx.name().str() +
                           "' are scalars, but operand " + std::to_string(i) +
                           " is " + cx.arg(cx.operandId(i)))
          .mark(i);
  return success();
}

static LogicalResult checkInitDTypes(TypingContext &cx) {
  unsigned half = cx.numOperands() / 2;
  for (unsigned i = 0; i < half; ++i)
    if (cx.operand(i).dtype != cx.operand(half + i).dtype)
      return cx
          .error(diag::DTypesDiffer, cx.name(),
                 cx.arg(cx.operandId(i)) + ", " +
                     cx.arg(cx.operandId(half + i)))
          .mark(i)
          .mark(half + i);
  return success();
}

/// The function takes a current and another value of each operand.
static void typeBodyOfHalves(TypingContext &cx) {
  SmallVector<DType, 4> inputs;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    inputs.push_back(cx.operand(i % (cx.numOperands() / 2)).dtype);
  typeScalarBodies(cx, {"jaxpr"}, inputs);
}

static LogicalResult reduceShardings(TypingContext &cx,
                                     ArrayRef<ResultPart> parts,
                                     SmallVectorImpl<Sharding> &out) {
  ArrayRef<int64_t> dims = cx.params<Reduce>().dimensions;
  SmallVector<Sharding, 4> kept;
  for (unsigned i = 0; i < parts.size(); ++i)
    kept.push_back(withoutDims(cx.sharding(i), dims));
  for (unsigned i = 0; i < parts.size(); ++i)
    // JAX trips over the spec where it takes entries of it.
    if (cx.sharding(i).hasUR() &&
        !kept[i].dims.empty()) // reduce_generic/reduction.1
      return offerReduced(cx, refuseSets(cx, diag::SpecIteration, i), parts,
                          kept);
  out.append(kept); // reduce_generic/sharding.1
  return success();
}

/// JAX looks at what operands vary over, and not at their initial values
/// (manual/lost.6).
static ResultState operandStates(TypingContext &cx) {
  ManualAxisType state{
      cx.operand(0).manual.varying, {}, {}, ReductionKind::None};
  AxisSet inits;
  bool alike = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    AxisSet own = cx.operand(i).manual.varying;
    alike &= own == state.varying;
    if (i >= cx.numOperands() / 2)
      inits |= own;
    else if (!alike)
      return ResultState::Match;
  }
  if (cx.options().vma != Vma::On || alike)
    return ResultState::Match;
  if (AxisSet lost = inits - state.varying; !lost.empty())
    warnVariationLost(cx, lost, "JAX does not look at the initial value");
  cx.setManual(state);
  return ResultState::AsSet;
}

static LogicalResult typeReduce(TypingContext &cx) {
  if (failed(checkHalves(cx)) || failed(beginResults(cx)) ||
      failed(checkInits(cx, diag::ShapeInvalid))) // reduce_generic/shape.1
    return failure();
  unsigned half = cx.numOperands() / 2;
  ArrayRef<int64_t> dims = cx.params<Reduce>().dimensions;
  SmallVector<ResultPart, 4> parts;
  for (unsigned i = 0; i < half; ++i) {
    if (!areDistinctDims(dims, cx.shape(i).size()))
      return cx
          .error(diag::ParamInvalid, "dimensions",
                 listText(dims) + " are not different dims of " +
                     cx.arg(cx.operandId(i)))
          .mark(i)
          .markParam("dimensions"); // reduce_generic/shape.2
    ResultPart &part = parts.emplace_back();
    for (unsigned d = 0; d < cx.shape(i).size(); ++d)
      if (!llvm::is_contained(dims, d))
        part.shape.push_back(cx.shape(i)[d]);
    part.dtype = cx.operand(i).dtype;
    part.weak = cx.operand(i).weak && cx.operand(half + i).weak;
  }
  if (failed(checkInitDTypes(cx))) // reduce_generic/dtype.1
    return failure();
  typeBodyOfHalves(cx);
  return finishResults(
      cx, parts,
      [&](auto &shardings) { return reduceShardings(cx, parts, shardings); },
      operandStates(cx));
}

/// Dims of the operands that do not reduce; one factor each in all of them.
static DimMap reduceDims(TypingContext &cx) {
  ArrayRef<int64_t> dims = cx.params<Reduce>().dimensions;
  DimMap map = sameDims(cx, dims, FactorRole::Reduce);
  for (unsigned i = cx.numOperands() / 2; i < cx.numOperands(); ++i)
    map.operands[i].clear();
  DimMap::Dims kept;
  for (unsigned d = 0; d < map.operands[0].size(); ++d)
    if (!llvm::is_contained(dims, d))
      kept.push_back(map.operands[0][d]);
  for (DimMap::Dims &result : map.results)
    result = kept;
  return map;
}

//===--- reduce_window ----------------------------------------------------===//

static LogicalResult typeReduceWindow(TypingContext &cx) {
  if (failed(checkHalves(cx)) || failed(checkArrays(cx)) ||
      failed(checkInitDTypes(cx)) || // reduce_window_generic/dtype.1
      failed(
          checkInits(cx, diag::ShapeMismatch))) // reduce_window_generic/shape.1
    return failure();
  FailureOr<Shape> shape = windowShape(cx, cx.params<ReduceWindow>(), 0);
  if (failed(shape))
    return failure(); // reduce_window_generic/shape.2
  unsigned half = cx.numOperands() / 2;
  Sharding sharding = replicated(cx.mesh(), shape->size());
  // JAX looks at the first operand alone (reduce_window_generic/sharding.1).
  if (cx.context().meshOrEmpty(cx.mesh()).anyExplicit() ||
      cx.context().meshOrEmpty(cx.sharding(0).mesh).anyExplicit()) {
    FailureOr<Sharding> first = varyingShape(cx, 0, *shape);
    if (failed(first))
      return failure();
    sharding = std::move(*first);
    if (cx.sharding(0).hasUR())
      return cx.error(diag::RuleMissingUR, cx.name())
          .mark(0)
          .fixOperand(0, withoutSets(cx.sharding(0)));
  } else if (cx.sharding(0).hasMesh()) {
    sharding = replicated(cx.sharding(0).mesh, shape->size());
  }
  for (unsigned i = 0; i < half; ++i)
    if (cx.sharding(i).hasUR()) // reduce_window_generic/reduction.1
      return cx
          .error(diag::RuleMissingBare, cx.name(),
                 "operands that are unreduced or reduced")
          .mark(i)
          .fixOperand(i, withoutSets(cx.sharding(i)));
  typeBodyOfHalves(cx);
  SmallVector<TypeId, 4> types;
  for (unsigned i = 0; i < half; ++i) {
    FailureOr<TypeId> type = cx.makeType(*shape, cx.operand(i).dtype, sharding);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  return setResults(cx, types);
}

static DimMap reduceWindowDims(TypingContext &cx) {
  DimMap map;
  ArrayRef<int64_t> window = cx.params<ReduceWindow>().window;
  DimMap::Dims dims;
  for (auto [d, size] : llvm::enumerate(cx.shape(0)))
    dims.push_back(addFactor(map,
                             d < window.size() && window[d] == 1
                                 ? FactorRole::Pass
                                 : FactorRole::Halo,
                             size));
  map.operands.assign(cx.numOperands(), dims);
  for (unsigned i = cx.numOperands() / 2; i < cx.numOperands(); ++i)
    map.operands[i].clear();
  map.results.assign(cx.numResults(), dims);
  return map;
}

//===--- select_and_scatter -----------------------------------------------===//

/// select_and_scatter/shape.1. Operands: operand, source, initial value.
static FailureOr<Shape> selectScatterShape(TypingContext &cx) {
  const auto &p = cx.params<SelectAndScatter>();
  if (p.window.size() != p.strides.size())
    return indexError(cx, "window and strides have different numbers of dims")
        .markParam("window_strides");
  for (const auto *list : {&p.window, &p.strides})
    for (int64_t size : *list)
      if (size < 0)
        return indexError(cx, "a window or stride is below 0");
  DType dtype = cx.operand(0).dtype;
  typeScalarBodies(cx, {"select_jaxpr", "scatter_jaxpr"}, {dtype, dtype});
  return cx.operand(0).shape;
}
static DimMap selectScatterDims(TypingContext &cx) {
  DimMap map = sameDims(cx, {}, FactorRole::Pass);
  for (Factor &factor : map.factors)
    factor.role = FactorRole::Halo;
  map.operands[2].clear();
  if (cx.shape(1).size() != cx.shape(0).size())
    map.operands[1].assign(cx.shape(1).size(), {});
  return map;
}

//===--- Evaluation -------------------------------------------------------===//

/// Initial values do not enter.
static Task passOperands(EvalContext &cx) {
  for (unsigned i = 0; i < cx.numResults(); ++i)
    cx.setResult(i, cx.take(i));
  co_return success();
}

/// A reduction is one window over all of the dims that go; if none do, nothing
/// is reduced.
static Task reduceEval(EvalContext &cx) {
  if (cx.params<Reduce>().dimensions.empty())
    return passOperands(cx);
  WindowAxes axes(cx.operand(0).rank());
  for (int64_t d : cx.params<Reduce>().dimensions)
    axes[d].size = cx.operand(0).dim(d);
  return reduceByBody(cx, std::move(axes));
}

static Task reduceWindowEval(EvalContext &cx) {
  return reduceByBody(cx, windowAxes(cx.params<ReduceWindow>()));
}

static Task refuseWindows(EvalContext &cx) {
  co_return cx.fail(WindowsDoNotFit);
}

static Task selectScatterEval(EvalContext &cx) {
  const auto &p = cx.params<SelectAndScatter>();
  Window window{p.window, p.strides, {}, {}, {}};
  if (const Value *pads = cx.param("padding"))
    readParam(cx.program(), *pads, window.pads);
  window.pads.resize(p.window.size(), {0, 0});
  if (!windowsFit(window, cx.operand(0).shape(), cx.operand(1).shape()))
    return refuseWindows(cx);
  return selectAndScatterByBody(cx, windowAxes(window));
}

static const Primitive Rows[] = {
    {.info = {"reduce", schemaOf<Reduce>},
     .decode = decodeFor<Reduce, 2, AnyNumber>,
     .dims = reduceDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeReduce},
     .eval = {reduceEval, eval::numbersOnly}},
    {.info = {"reduce_window", schemaOf<ReduceWindow>},
     .decode = decodeFor<ReduceWindow, 2, AnyNumber>,
     .dims = reduceWindowDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeReduceWindow},
     .eval = {reduceWindowEval, eval::numbersOnly}},
    {.info = {"select_and_scatter", schemaOf<SelectAndScatter>},
     .decode = decodeFor<SelectAndScatter, 3>,
     .dims = selectScatterDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = selectScatterShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      // select_and_scatter/sharding.1
                      .sharding = sharding::operand,
                      // select_and_scatter/reduction.1
                      .reduction = reduction::missing<sharding::operand>,
                      .memory = memory::standard},
     .eval = {selectScatterEval, eval::numbersOnly}},
};

ArrayRef<Primitive> shardtype::genericReductions() { return Rows; }
