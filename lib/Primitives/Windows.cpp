// Windows.cpp - pooling and its gradients.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "IndexDims.h"
#include "WindowShape.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

namespace {
struct ReduceWindow : Window {
  static constexpr auto fields =
      std::tuple(field("base_dilation", &ReduceWindow::baseDilation),
                 field("padding", &ReduceWindow::pads),
                 field("window_dilation", &ReduceWindow::windowDilation),
                 field("window_dimensions", &ReduceWindow::window),
                 field("window_strides", &ReduceWindow::strides));
};
struct GatherWindow : Window {
  static constexpr auto fields = std::tuple(
      field("base_dilation", &GatherWindow::baseDilation),
      field("padding", &GatherWindow::pads),
      ignored("select_prim", form::object, Hide::Never, ParamField::Name),
      field("window_dilation", &GatherWindow::windowDilation),
      field("window_dimensions", &GatherWindow::window),
      field("window_strides", &GatherWindow::strides));
};
struct ScatterWindow : Window {
  static constexpr auto fields = std::tuple(
      field("padding", &ScatterWindow::pads),
      ignored("select_prim", form::object, Hide::Never, ParamField::Name),
      field("window_dimensions", &ScatterWindow::window),
      field("window_strides", &ScatterWindow::strides));
};
} // namespace

static std::optional<int64_t> dilated(int64_t size, int64_t by) {
  int64_t spread;
  if (by < 0 || size < 0 || llvm::MulOverflow(by, size - 1, spread) ||
      spread == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  return size == 0 ? 0 : spread + 1;
}

std::optional<int64_t> shardtype::windowPositions(const WindowDim &dim) {
  std::optional<int64_t> base = dilated(dim.size, dim.baseDilation);
  std::optional<int64_t> window = dilated(dim.window, dim.windowDilation);
  int64_t padded;
  if (!base || !window || dim.stride < 1 ||
      llvm::AddOverflow(*base, dim.padLow, padded) ||
      llvm::AddOverflow(padded, dim.padHigh, padded) || padded < 0)
    return std::nullopt;
  return padded < *window ? 0 : (padded - *window) / dim.stride + 1;
}

DimMap shardtype::windowDims(TypingContext &cx, unsigned operand) {
  DimMap map;
  map.operands.resize(cx.numOperands());
  map.results.resize(1);
  for (unsigned i = 0; i < cx.shape(operand).size(); ++i) {
    bool isSame = cx.shape(operand)[i] == cx.resultShape()[i];
    uint8_t factor = map.factors.size();
    map.factors.push_back(
        {isSame ? FactorRole::Pass : FactorRole::Halo, cx.shape(operand)[i]});
    map.results[0].push_back({factor});
    for (unsigned k = 0; k < cx.numOperands(); ++k)
      if (cx.shape(k).size() == cx.shape(operand).size())
        map.operands[k].push_back({factor});
  }
  return map;
}

/// reduce_window/shape.1: one number a dim, windows and strides at least 1.
FailureOr<Shape> shardtype::windowShape(TypingContext &cx, const Window &p,
                                        unsigned operand) {
  ArrayRef<int64_t> shape = cx.shape(operand);
  for (ArrayRef<int64_t> list :
       {ArrayRef<int64_t>(p.window), ArrayRef<int64_t>(p.strides),
        ArrayRef<int64_t>(p.baseDilation), ArrayRef<int64_t>(p.windowDilation)})
    if (list.size() != shape.size())
      return indexError(cx, "window, strides and dilations need one number a "
                            "dim of " +
                                cx.arg(cx.operandId(operand)));
  if (p.pads.size() != shape.size() ||
      llvm::any_of(p.pads, [](const auto &pad) { return pad.size() != 2; }))
    return indexError(cx, "padding needs a low and a high number a dim");
  Shape result;
  for (unsigned i = 0; i < shape.size(); ++i) {
    std::optional<int64_t> positions =
        p.window[i] < 1
            ? std::nullopt
            : windowPositions({shape[i], p.window[i], p.strides[i],
                               p.pads[i][0], p.pads[i][1], p.baseDilation[i],
                               p.windowDilation[i]});
    if (!positions)
      return indexError(cx, "window, stride or padding of dim " +
                                std::to_string(i) + " is out of range");
    result.push_back(*positions);
  }
  return result;
}

//===--- reduce_window_sum, reduce_window_max, reduce_window_min ----------===//

static FailureOr<Shape> reduceWindowShape(TypingContext &cx) {
  return windowShape(cx, cx.params<ReduceWindow>(), 0);
}
static FailureOr<Shape> reduceWindowSumShape(TypingContext &cx) {
  DType dtype = cx.operand(0).dtype;
  if (!isInteger(dtype) && !isFloat(dtype) && !isComplex(dtype))
    return cx
        .error(diag::DTypeMismatch, "'reduce_window_sum' adds numbers, not " +
                                        cx.arg(cx.operandId(0)))
        .mark(0);
  return reduceWindowShape(cx);
}
/// reduce_window/sharding.1
static FailureOr<Sharding> reduceWindowSharding(TypingContext &cx) {
  return varyingShape(cx, 0, cx.resultShape());
}
static DimMap reduceWindowDims(TypingContext &cx) { return windowDims(cx, 0); }

//===--- select_and_scatter_add, select_and_gather_add --------------------===//

/// Operands: source, operand. The result is the operand's shape.
static FailureOr<Shape> selectScatterShape(TypingContext &cx) {
  return cx.operand(1).shape;
}
/// select_and_scatter_add/sharding.1: the source's sharding is not looked at.
static FailureOr<Sharding> selectScatterSharding(TypingContext &cx) {
  return cx.sharding(1);
}
static DimMap selectScatterDims(TypingContext &cx) { return windowDims(cx, 1); }

/// select_and_gather_add/shape.1. Operands: tangents, operand.
static FailureOr<Shape> selectGatherShape(TypingContext &cx) {
  if (cx.shape(0) != cx.shape(1))
    return indexError(cx, "tangents and operand need one shape, but are " +
                              cx.arg(cx.operandId(0)) + " and " +
                              cx.arg(cx.operandId(1)));
  return windowShape(cx, cx.params<GatherWindow>(), 1);
}
/// select_and_gather_add/sharding.1
static FailureOr<Sharding> selectGatherSharding(TypingContext &cx) {
  if (cx.sharding(0) != cx.sharding(1))
    return cx.error(diag::SelectGatherDiffer, cx.operandId(0), cx.operandId(1))
        .mark(0)
        .fixOperand(0, placed(cx, 1));
  return varyingShape(cx, 1, cx.resultShape());
}
static DimMap selectGatherDims(TypingContext &cx) { return windowDims(cx, 1); }

SmallVector<kernels::WindowAxis, 4> shardtype::windowAxes(const Window &p) {
  SmallVector<kernels::WindowAxis, 4> axes;
  for (unsigned d = 0; d < p.window.size(); ++d) {
    kernels::WindowAxis &axis = axes.emplace_back();
    axis.size = p.window[d];
    axis.stride = p.strides[d];
    axis.padLow = p.pads[d][0];
    axis.padHigh = p.pads[d][1];
    if (!p.baseDilation.empty())
      axis.baseDilation = p.baseDilation[d];
    if (!p.windowDilation.empty())
      axis.dilation = p.windowDilation[d];
  }
  return axes;
}

bool shardtype::windowsFit(const Window &p, ArrayRef<int64_t> operand,
                           ArrayRef<int64_t> positions) {
  size_t rank = operand.size();
  auto isWhole = [&](const auto &list) {
    return list.empty() || list.size() == rank;
  };
  if (p.window.size() != rank || p.strides.size() != rank ||
      p.pads.size() != rank || positions.size() != rank ||
      !isWhole(p.baseDilation) || !isWhole(p.windowDilation) ||
      llvm::any_of(p.pads, [](const auto &pad) { return pad.size() != 2; }))
    return false;
  for (size_t d = 0; d < rank; ++d) {
    WindowDim dim{operand[d], p.window[d], p.strides[d], p.pads[d][0],
                  p.pads[d][1]};
    if (!p.baseDilation.empty())
      dim.baseDilation = p.baseDilation[d];
    if (!p.windowDilation.empty())
      dim.windowDilation = p.windowDilation[d];
    if (p.window[d] < 1 || windowPositions(dim) != positions[d])
      return false;
  }
  return true;
}

template <kernels::WindowReduction Reduction>
static LogicalResult poolEval(EvalContext &cx) {
  cx.setResult(0, kernels::reduceWindow(cx.operand(0),
                                        windowAxes(cx.params<ReduceWindow>()),
                                        Reduction));
  return success();
}

static kernels::Select selectOf(EvalContext &cx) {
  std::string name = eval::choice(cx, "select_prim");
  return name == "le"   ? kernels::Select::Le
         : name == "lt" ? kernels::Select::Lt
         : name == "gt" ? kernels::Select::Gt
                        : kernels::Select::Ge;
}

static LogicalResult selectScatterEval(EvalContext &cx) {
  if (!windowsFit(cx.params<ScatterWindow>(), cx.operand(1).shape(),
                  cx.operand(0).shape()))
    return cx.fail(WindowsDoNotFit);
  cx.setResult(0, kernels::selectAndScatterAdd(
                      cx.operand(0), cx.operand(1),
                      windowAxes(cx.params<ScatterWindow>()), selectOf(cx)));
  return success();
}

static LogicalResult selectGatherEval(EvalContext &cx) {
  if (!windowsFit(cx.params<GatherWindow>(), cx.operand(1).shape(),
                  cx.resultShape()))
    return cx.fail(WindowsDoNotFit);
  cx.setResult(0, kernels::selectAndGatherAdd(
                      cx.operand(0), cx.operand(1),
                      windowAxes(cx.params<GatherWindow>()), selectOf(cx)));
  return success();
}

template <typename Shape>
static constexpr Primitive poolRow(StringRef name, Linearity linearity,
                                   Shape shape, EvalRule eval) {
  return {.info = {name, schemaOf<ReduceWindow>},
          .decode = decodeFor<ReduceWindow, 1>,
          .dims = reduceWindowDims,
          .linearity = linearity,
          .open = OpenRule::Opaque,
          .type =
              Standard{.shape = shape,
                       .dtype = dtype::operand,
                       .weak = weak::all,
                       .sharding = reduceWindowSharding,
                       // reduce_window/reduction.1
                       .reduction = reduction::missing<reduceWindowSharding>,
                       .memory = memory::standard},
          .eval = eval};
}

static const Primitive Rows[] = {
    poolRow("reduce_window_sum", {Linearity::Jointly, 1}, reduceWindowSumShape,
            {poolEval<kernels::WindowReduction::Sum>, eval::numbersOnly}),
    poolRow("reduce_window_max", {}, reduceWindowShape,
            {poolEval<kernels::WindowReduction::Max>, eval::numbersOnly}),
    poolRow("reduce_window_min", {}, reduceWindowShape,
            {poolEval<kernels::WindowReduction::Min>, eval::numbersOnly}),
    {.info = {"select_and_scatter_add", schemaOf<ScatterWindow>},
     .decode = decodeFor<ScatterWindow, 2>,
     .dims = selectScatterDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = selectScatterShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = selectScatterSharding,
                      // select_and_scatter_add/reduction.1
                      .reduction = reduction::missing<selectScatterSharding>,
                      .memory = memory::standard},
     .eval = {selectScatterEval, eval::numbersOnly}},
    {.info = {"select_and_gather_add", schemaOf<GatherWindow>},
     .decode = decodeFor<GatherWindow, 2>,
     .dims = selectGatherDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = selectGatherShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = selectGatherSharding,
                      // select_and_gather_add/reduction.1
                      .reduction = reduction::missing<selectGatherSharding>,
                      .memory = memory::standard},
     .eval = {selectGatherEval, eval::numbersOnly}},
};

ArrayRef<Primitive> shardtype::windows() { return Rows; }
