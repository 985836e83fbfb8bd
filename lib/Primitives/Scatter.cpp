// Scatter.cpp - scatter and its combining forms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "IndexDims.h"
#include "Reducers.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Params.h"

using namespace shardtype;

namespace {
struct ScatterDims {
  SmallVector<int64_t, 4> updateWindow, insertedWindow, toOperand,
      operandBatching, indicesBatching;
};

struct Scatter {
  const Value *numbers = nullptr;
  ScatterDims dims;
  static constexpr auto fields = std::tuple(
      valueField("dimension_numbers", &Scatter::numbers, form::numbers),
      ignored("indices_are_sorted", form::flag), ignored("mode", form::choice),
      ignored("unique_indices", form::flag),
      ignored("update_consts", form::list),
      ignored("update_jaxpr", form::jaxpr, Hide::Never, ParamField::Jaxpr));
};

/// How the dims of updates correspond: `window[i]` is the operand dim of the
/// update dim i, or -1; `scatter[i]` the dim of the indices, or -1.
struct UpdateDims {
  SmallVector<int, 4> window, scatter;
};
} // namespace

static FailureOr<std::shared_ptr<const void>> decodeScatter(TypingContext &cx) {
  FailureOr<std::shared_ptr<const void>> decoded = decodeFor<Scatter, 3>(cx);
  if (failed(decoded))
    return failure();
  auto scatter =
      std::make_shared<Scatter>(*static_cast<const Scatter *>(decoded->get()));
  ScatterDims &d = scatter->dims;
  if (failed(readDimNumbers(
          cx, *scatter->numbers,
          {{"update_window_dims", &d.updateWindow},
           {"inserted_window_dims", &d.insertedWindow},
           {"scatter_dims_to_operand_dims", &d.toOperand},
           {"operand_batching_dims", &d.operandBatching},
           {"scatter_indices_batching_dims", &d.indicesBatching}})))
    return failure();
  return std::shared_ptr<const void>(std::move(scatter));
}

static SmallVector<int, 4> windowOperandDims(TypingContext &cx,
                                             const ScatterDims &d) {
  SmallVector<int, 4> dims;
  for (unsigned i = 0; i < cx.shape(0).size(); ++i)
    if (!llvm::is_contained(d.insertedWindow, i) &&
        !llvm::is_contained(d.operandBatching, i))
      dims.push_back(i);
  return dims;
}

static UpdateDims updateDims(TypingContext &cx, const ScatterDims &d) {
  UpdateDims result;
  SmallVector<int, 4> windows = windowOperandDims(cx, d);
  unsigned nextWindow = 0, nextScatter = 0;
  for (unsigned i = 0; i < cx.shape(2).size(); ++i) {
    bool isWindow = llvm::is_contained(d.updateWindow, i);
    result.window.push_back(isWindow ? windows[nextWindow++] : -1);
    result.scatter.push_back(isWindow ? -1 : static_cast<int>(nextScatter++));
  }
  return result;
}

//===--- Shape ------------------------------------------------------------===//

/// scatter/shape.1
static LogicalResult checkNumbers(TypingContext &cx, const ScatterDims &d) {
  int64_t rank = cx.shape(0).size();
  ArrayRef<int64_t> indices = cx.shape(1);
  if (indices.empty())
    return indexError(cx, "the indices need a last dim, the index vector");
  int64_t updateRank = cx.shape(2).size();
  if (failed(checkDimList(cx, "update_window_dims", d.updateWindow, updateRank,
                          true)) ||
      failed(checkDimList(cx, "inserted_window_dims", d.insertedWindow, rank,
                          true)) ||
      failed(checkDimList(cx, "operand_batching_dims", d.operandBatching, rank,
                          true)) ||
      failed(checkDimList(cx, "scatter_dims_to_operand_dims", d.toOperand, rank,
                          false)) ||
      failed(checkDimList(cx, "scatter_indices_batching_dims",
                          d.indicesBatching, indices.size() - 1, false)))
    return failure();
  int64_t expected = indices.size() - 1 + d.updateWindow.size();
  if (updateRank != expected)
    return indexError(cx, "updates need rank " + std::to_string(expected) +
                              ", but have " + std::to_string(updateRank));
  if (static_cast<int64_t>(d.toOperand.size()) != indices.back())
    return indexError(cx, "an index vector of size " +
                              std::to_string(indices.back()) +
                              " cannot address " +
                              std::to_string(d.toOperand.size()) + " dims");
  if (windowOperandDims(cx, d).size() != d.updateWindow.size())
    return indexError(cx, "update_window_dims must name one dim for each "
                          "operand dim that is neither inserted nor batching");
  return checkBatchingDims(cx, d.operandBatching, d.indicesBatching,
                           {d.insertedWindow, d.toOperand});
}

/// scatter/shape.2: windows fit the operand, other update dims are those of
/// the indices.
static FailureOr<Shape> scatterShape(TypingContext &cx) {
  const ScatterDims &d = cx.params<Scatter>().dims;
  if (failed(checkNumbers(cx, d)))
    return failure();
  UpdateDims updates = updateDims(cx, d);
  for (unsigned i = 0; i < cx.shape(2).size(); ++i) {
    int64_t size = cx.shape(2)[i];
    if (updates.window[i] >= 0 && size > cx.shape(0)[updates.window[i]])
      return indexError(cx, "dim " + std::to_string(i) + " of the updates is " +
                                std::to_string(size) +
                                ", larger than the operand's dim " +
                                std::to_string(updates.window[i]));
    if (updates.scatter[i] >= 0 && size != cx.shape(1)[updates.scatter[i]])
      return indexError(cx,
                        "dim " + std::to_string(i) + " of the updates is " +
                            std::to_string(size) + ", but the indices have " +
                            std::to_string(cx.shape(1)[updates.scatter[i]]));
  }
  return cx.operand(0).shape;
}

/// scatter/dtype.1
static FailureOr<DType> scatterDType(TypingContext &cx) {
  if (failed(checkIndexDType(cx)))
    return failure();
  if (cx.operand(0).dtype != cx.operand(2).dtype)
    return cx
        .error(diag::DTypeMismatch,
               "operand and updates of '" + cx.name().str() +
                   "' have different dtypes: " + cx.arg(cx.operandId(0)) +
                   " and " + cx.arg(cx.operandId(2)))
        .mark(0)
        .mark(2);
  DType dtype = cx.operand(0).dtype;
  typeScalarBodies(cx, {"update_jaxpr"}, {dtype, dtype});
  return dtype;
}

//===--- Dims -------------------------------------------------------------===//

static DimMap scatterDims(TypingContext &cx) {
  const ScatterDims &d = cx.params<Scatter>().dims;
  DimMap map;
  map.operands.resize(3);
  map.results.resize(1);
  for (unsigned i = 0; i < 3; ++i)
    map.operands[i].resize(cx.shape(i).size());
  auto add = [&](FactorRole role, int64_t size) {
    map.factors.push_back({role, size});
    return static_cast<uint8_t>(map.factors.size() - 1);
  };
  UpdateDims updates = updateDims(cx, d);
  for (unsigned i = 0; i < cx.shape(0).size(); ++i) {
    // Rows that are written anywhere must be whole, or every device applies
    // the updates that fall into its part.
    bool indexed = llvm::is_contained(d.toOperand, i);
    uint8_t factor =
        add(indexed ? FactorRole::Whole : FactorRole::Pass, cx.shape(0)[i]);
    map.operands[0][i] = {factor};
    map.results.resize(1);
    map.results[0].push_back({factor});
  }
  for (unsigned i = 0; i + 1 < cx.shape(1).size(); ++i) {
    auto *at = llvm::find(d.indicesBatching, i);
    map.operands[1][i] =
        at == d.indicesBatching.end()
            ? DimMap::Dim{add(FactorRole::Reduce, cx.shape(1)[i])}
            : map.operands[0]
                          [d.operandBatching[at - d.indicesBatching.begin()]];
  }
  map.operands[1].back() = {add(FactorRole::Whole, cx.shape(1).back())};
  for (unsigned i = 0; i < cx.shape(2).size(); ++i) {
    if (updates.scatter[i] >= 0)
      map.operands[2][i] = map.operands[1][updates.scatter[i]];
    else if (cx.shape(2)[i] == cx.shape(0)[updates.window[i]])
      map.operands[2][i] = map.operands[0][updates.window[i]];
    else
      map.operands[2][i] = {add(FactorRole::Whole, cx.shape(2)[i])};
  }
  return map;
}

//===--- Sharding ---------------------------------------------------------===//

static StringRef updateMethod(StringRef primitive) {
  if (primitive == "scatter")
    return "set";
  return primitive == "scatter-mul" ? "multiply"
                                    : primitive.drop_front(strlen("scatter-"));
}

/// scatter/sharding.2 to .5: refused; the result as the operand lies is the
/// choice that moves the updates, not the operand.
static ErrorBuilder scatterError(TypingContext &cx, const std::string &why,
                                 int operand, int dim) {
  ErrorBuilder error =
      cx.error(diag::ScatterUnsupported, cx.name(), why).mark(operand, dim);
  Sharding natural = cx.sharding(0);
  natural.unreduced = natural.reduced = AxisSet();
  natural.kind = ReductionKind::None;
  if (!natural.hasMesh())
    natural.mesh = cx.ruleMesh();
  error.fix(natural);
  if (!natural.replicated())
    error.fix(replicated(natural.mesh, natural.dims.size()));
  for (Fix &fix : error.diagnostic().fixes)
    fix.code = "x.at[...]." + updateMethod(cx.name()).str() +
               "(..., out_sharding=" + fix.spec + ")";
  if (dim < 0)
    return error;
  Sharding whole = cx.sharding(operand);
  whole.dims[dim].clear();
  return error.fixOperand(operand, whole);
}

/// scatter/sharding.2: batching dims of all three agree.
static LogicalResult checkBatch(TypingContext &cx, const ScatterDims &d,
                                const UpdateDims &updates) {
  for (auto [o, i] : llvm::zip_equal(d.operandBatching, d.indicesBatching)) {
    AxisList common;
    auto *u = llvm::find(updates.scatter, static_cast<int>(i));
    std::pair<unsigned, unsigned> dims[] = {
        {0, static_cast<unsigned>(o)},
        {1, static_cast<unsigned>(i)},
        {2, static_cast<unsigned>(u - updates.scatter.begin())}};
    for (auto [operand, dim] : dims) {
      const AxisList &entry = cx.sharding(operand).dims[dim];
      if (entry.empty())
        continue;
      if (!common.empty() && common != entry)
        return scatterError(cx,
                            "batching dims are sharded differently, over " +
                                cx.arg(common) + " and " + cx.arg(entry),
                            operand, dim);
      common = entry;
    }
  }
  return success();
}

/// scatter/sharding.3 to .5
static LogicalResult checkOthers(TypingContext &cx, const ScatterDims &d,
                                 const UpdateDims &updates) {
  const Sharding &operand = cx.sharding(0), &indices = cx.sharding(1),
                 &update = cx.sharding(2);
  for (unsigned i = 0; i < update.dims.size(); ++i) {
    int window = updates.window[i];
    if (window < 0)
      continue;
    const AxisList &a = update.dims[i], &b = operand.dims[window];
    bool isFull = cx.shape(2)[i] == cx.shape(0)[window];
    if ((isFull && a == b) || (a.empty() && b.empty()))
      continue;
    ErrorBuilder error = scatterError(
        cx,
        "dim " + std::to_string(i) + " of the updates (" + cx.arg(a) +
            ") is a window of dim " + std::to_string(window) +
            " of the operand (" + cx.arg(b) +
            "), and the two are not whole and sharded alike",
        a.empty() ? 0 : 2, a.empty() ? window : static_cast<int>(i));
    if (isFull && a.empty() && cx.options().retyped) // structure/python.1
      error.note("x.at[...]." + updateMethod(cx.name()).str() +
                 " reshards such updates itself when it is traced under the "
                 "mesh; a trace without shardings does not show it");
    return error;
  }
  for (int64_t dim : d.insertedWindow)
    if (!operand.dims[dim].empty())
      return scatterError(cx,
                          "the indexed dim " + std::to_string(dim) +
                              " of the operand is sharded over " +
                              cx.arg(operand.dims[dim]),
                          0, dim);
  for (unsigned i = 0; i < update.dims.size(); ++i) {
    int dim = updates.scatter[i];
    if (dim >= 0 && !llvm::is_contained(d.indicesBatching, dim) &&
        !update.dims[i].empty())
      return scatterError(cx,
                          "dim " + std::to_string(i) +
                              " of the updates is sharded over " +
                              cx.arg(update.dims[i]),
                          2, i);
  }
  for (unsigned i = 0; i < indices.dims.size(); ++i)
    if (!llvm::is_contained(d.indicesBatching, i) && !indices.dims[i].empty())
      return scatterError(cx,
                          "dim " + std::to_string(i) +
                              " of the indices is sharded over " +
                              cx.arg(indices.dims[i]) +
                              " but addresses a dim that is not batched",
                          1, i);
  return success();
}

static FailureOr<Sharding> scatterSharding(TypingContext &cx) {
  const ScatterDims &d = cx.params<Scatter>().dims;
  Sharding result = cx.sharding(0);
  result.mesh = cx.ruleMesh();
  if (!cx.sharding(0).partitioned() && !cx.sharding(1).partitioned() &&
      !cx.sharding(2).partitioned())
    return result; // scatter/sharding.1
  UpdateDims updates = updateDims(cx, d);
  if (failed(checkBatch(cx, d, updates)) || failed(checkOthers(cx, d, updates)))
    return failure();
  // scatter/sharding.6
  for (auto [o, i] : llvm::zip_equal(d.operandBatching, d.indicesBatching)) {
    auto *u = llvm::find(updates.scatter, static_cast<int>(i));
    AxisList &entry = result.dims[o];
    if (entry.empty())
      entry = cx.sharding(1).dims[i];
    if (entry.empty())
      entry = cx.sharding(2).dims[u - updates.scatter.begin()];
  }
  return result;
}

/// scatter/reduction.1: adding is linear in operand and updates together.
static FailureOr<ReductionSets> scatterAddReduction(TypingContext &cx) {
  for (unsigned i = 0; i < 3; ++i) // scatter/reduction.2
    if (!cx.sharding(i).reduced.empty())
      return cx.error(diag::RuleMissingR, cx.name()).mark(i);
  if (failed(requireSum(cx, 1)))
    return failure();
  if (!cx.sharding(1).unreduced.empty())
    return cx
        .error(diag::ScatterUnreduced, cx.name(),
               "the indices hold partial sums over " +
                   cx.arg(cx.sharding(1).unreduced))
        .mark(1);
  if (failed(requireSum(cx, 0)) || failed(requireSum(cx, 2)))
    return failure();
  AxisSet unreduced = cx.sharding(0).unreduced;
  if (unreduced != cx.sharding(2).unreduced)
    return cx
        .error(diag::ScatterUnreduced, cx.name(),
               "operand " + cx.arg(cx.sharding(0)) + ", updates " +
                   cx.arg(cx.sharding(2)))
        .mark(0)
        .mark(2);
  if (!unreduced.empty() && cx.sharding(1).partitioned())
    return cx
        .error(diag::RuleMissingBare, cx.name(),
               "partial sums and sharded indices")
        .mark(1);
  return ReductionSets{unreduced, {}, cx.sharding(0).kind};
}

static kernels::ScatterNumbers numbersOf(EvalContext &cx) {
  const ScatterDims &d = cx.params<Scatter>().dims;
  return {d.updateWindow, d.insertedWindow, d.toOperand, d.operandBatching,
          d.indicesBatching};
}

static LogicalResult scatterBy(EvalContext &cx, kernels::Combination how) {
  if (isKey(cx.operand(0).dtype()) && how != kernels::Combination::Set)
    return cx.fail("does not compute with keys");
  if (cx.operand(0).dtype() == DType::Float0) { // Its elements say nothing.
    cx.setResult(0, cx.take(0));
    return success();
  }
  cx.setResult(0, kernels::scatter(cx.take(0), cx.operand(1), cx.operand(2),
                                   numbersOf(cx), eval::outOfBounds(cx), how));
  return success();
}

template <kernels::Combination How>
static LogicalResult scatterEval(EvalContext &cx) {
  return scatterBy(cx, How);
}

/// With a function of its own (scatter_apply), once for each update.
static Task scatterBodyEval(EvalContext &cx) {
  std::optional<JaxprId> body = bodyParam(cx, "update_jaxpr");
  if (!body)
    co_return scatterBy(cx, kernels::Combination::Set);
  if (auto known = combinationOf(cx.program(), *body))
    co_return scatterBy(cx, *known);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  kernels::scatterPairs(
      cx.operand(0).shape(), cx.operand(1), cx.operand(2).shape(),
      numbersOf(cx), eval::outOfBounds(cx),
      [&](int64_t to, int64_t from) { pairs.push_back({to, from}); });
  Tensor result = cx.take(0), updates = cx.operand(2);
  result.makeUnique();
  for (auto [to, from] : pairs) {
    std::vector<Datum> inputs;
    inputs.emplace_back(elementAt(result, to));
    inputs.emplace_back(elementAt(updates, from));
    std::vector<Datum> outputs = co_await cx.run(*body, std::move(inputs));
    setElement(result, to, outputs.front().tensor);
  }
  cx.setResult(0, std::move(result));
  co_return success();
}

template <typename Reduction>
static constexpr Primitive scatterRow(StringRef name, Linearity linearity,
                                      Reduction reduction, EvalRule eval) {
  return {.info = {name, schemaOf<Scatter>},
          .decode = decodeScatter,
          .dims = scatterDims,
          .linearity = linearity,
          .open = OpenRule::Follow,
          .type = Standard{.shape = scatterShape,
                           .dtype = scatterDType,
                           .weak = weak::first,
                           .sharding = scatterSharding,
                           .reduction = reduction,
                           .memory = memory::operand},
          .eval = eval};
}

/// scatter/reduction.2
static constexpr NoRule NoUR{NoRule::NotImplemented,
                             "JAX refuses unreduced and reduced operands"};

static const Primitive Rows[] = {
    scatterRow("scatter", {}, NoUR, scatterBodyEval),
    scatterRow("scatter-add", {Linearity::Jointly, 1}, scatterAddReduction,
               scatterEval<kernels::Combination::Add>),
    scatterRow("scatter-sub", {}, NoUR, scatterEval<kernels::Combination::Sub>),
    scatterRow("scatter-mul", {}, NoUR, scatterEval<kernels::Combination::Mul>),
    scatterRow("scatter-min", {}, NoUR, scatterEval<kernels::Combination::Min>),
    scatterRow("scatter-max", {}, NoUR, scatterEval<kernels::Combination::Max>),
};

ArrayRef<Primitive> shardtype::scatter() { return Rows; }
