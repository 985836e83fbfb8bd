// Gather.cpp - gather.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "IndexDims.h"
#include "Shapes.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Params.h"

using namespace shardtype;

namespace {
struct GatherDims {
  SmallVector<int64_t, 4> offset, collapsed, startIndexMap, operandBatching,
      indicesBatching;
};

struct Gather {
  const Value *numbers = nullptr;
  GatherDims dims;
  SmallVector<int64_t, 4> sliceSizes;
  static constexpr auto fields = std::tuple(
      valueField("dimension_numbers", &Gather::numbers, form::numbers),
      ignored("fill_value", form::number),
      ignored("indices_are_sorted", form::flag), ignored("mode", form::choice),
      field("slice_sizes", &Gather::sliceSizes),
      ignored("unique_indices", form::flag));
};
} // namespace

static FailureOr<std::shared_ptr<const void>> decodeGather(TypingContext &cx) {
  FailureOr<std::shared_ptr<const void>> decoded = decodeFor<Gather, 2>(cx);
  if (failed(decoded))
    return failure();
  auto gather =
      std::make_shared<Gather>(*static_cast<const Gather *>(decoded->get()));
  GatherDims &d = gather->dims;
  if (failed(readDimNumbers(
          cx, *gather->numbers,
          {{"offset_dims", &d.offset},
           {"collapsed_slice_dims", &d.collapsed},
           {"start_index_map", &d.startIndexMap},
           {"operand_batching_dims", &d.operandBatching},
           {"start_indices_batching_dims", &d.indicesBatching}})))
    return failure();
  return std::shared_ptr<const void>(std::move(gather));
}

//===--- Shape ------------------------------------------------------------===//

/// gather/shape.1: the slices fit the operand, and what is dropped has size 1.
static LogicalResult checkSlices(TypingContext &cx, const Gather &p) {
  ArrayRef<int64_t> operand = cx.shape(0);
  if (p.sliceSizes.size() != operand.size())
    return indexError(cx, "slice_sizes needs one size a dim of the operand");
  for (unsigned i = 0; i < operand.size(); ++i) {
    if (Dim::isSymbolic(operand[i])) { // Symbolic sizes have no order.
      if (failed(checkSizes(cx, "slice_sizes")))
        return failure();
      continue;
    }
    if (p.sliceSizes[i] < 0 || p.sliceSizes[i] > operand[i])
      return indexError(cx, "a slice of " + std::to_string(p.sliceSizes[i]) +
                                " does not fit dim " + std::to_string(i) +
                                " of size " + std::to_string(operand[i]));
    bool dropped = llvm::is_contained(p.dims.collapsed, i) ||
                   llvm::is_contained(p.dims.operandBatching, i);
    if (dropped && p.sliceSizes[i] > 1)
      return indexError(cx, "dim " + std::to_string(i) +
                                " is dropped, so its slice must be 1, not " +
                                std::to_string(p.sliceSizes[i]));
  }
  return success();
}

/// gather/shape.2: dimension numbers are in range, ordered where they must be,
/// and the batching dims of both sides agree.
static LogicalResult checkNumbers(TypingContext &cx, const Gather &p) {
  const GatherDims &d = p.dims;
  int64_t rank = cx.shape(0).size();
  ArrayRef<int64_t> indices = cx.shape(1);
  if (indices.empty())
    return indexError(cx, "the indices need a last dim, the index vector");
  int64_t outRank = d.offset.size() + indices.size() - 1;
  if (failed(checkDimList(cx, "offset_dims", d.offset, outRank, true)) ||
      failed(
          checkDimList(cx, "start_index_map", d.startIndexMap, rank, false)) ||
      failed(
          checkDimList(cx, "collapsed_slice_dims", d.collapsed, rank, true)) ||
      failed(checkDimList(cx, "operand_batching_dims", d.operandBatching, rank,
                          true)) ||
      failed(checkDimList(cx, "start_indices_batching_dims", d.indicesBatching,
                          indices.size() - 1, false)))
    return failure();
  if (static_cast<int64_t>(d.startIndexMap.size()) != indices.back())
    return indexError(cx, "an index vector of size " +
                              std::to_string(indices.back()) +
                              " cannot address " +
                              std::to_string(d.startIndexMap.size()) + " dims");
  if (static_cast<int64_t>(d.offset.size()) !=
      rank - static_cast<int64_t>(d.collapsed.size()) -
          static_cast<int64_t>(d.operandBatching.size()))
    return indexError(cx, "offset_dims must name one dim for each operand dim "
                          "that stays");
  return checkBatchingDims(cx, d.operandBatching, d.indicesBatching,
                           {d.collapsed, d.startIndexMap});
}

static FailureOr<Shape> gatherShape(TypingContext &cx) {
  const auto &p = cx.params<Gather>();
  if (failed(checkNumbers(cx, p)) || failed(checkSlices(cx, p)))
    return failure();
  SmallVector<int64_t, 4> kept;
  for (unsigned i = 0; i < p.sliceSizes.size(); ++i)
    if (!llvm::is_contained(p.dims.collapsed, i) &&
        !llvm::is_contained(p.dims.operandBatching, i))
      kept.push_back(p.sliceSizes[i]);
  ArrayRef<int64_t> batch = cx.shape(1).drop_back();
  Shape shape;
  unsigned nextKept = 0, nextBatch = 0;
  for (unsigned i = 0; i < kept.size() + batch.size(); ++i)
    shape.push_back(llvm::is_contained(p.dims.offset, i) ? kept[nextKept++]
                                                         : batch[nextBatch++]);
  return shape;
}

/// gather/dtype.1
static FailureOr<DType> gatherDType(TypingContext &cx) {
  if (failed(checkIndexDType(cx)))
    return failure();
  return cx.operand(0).dtype;
}

//===--- Dims -------------------------------------------------------------===//

/// Per operand dim, the result dim it becomes, or -1.
static SmallVector<int, 4> offsetDims(const Gather &p) {
  SmallVector<int, 4> result(p.sliceSizes.size(), -1);
  unsigned next = 0;
  for (unsigned i = 0; i < result.size(); ++i)
    if (!llvm::is_contained(p.dims.collapsed, i) &&
        !llvm::is_contained(p.dims.operandBatching, i) &&
        next < p.dims.offset.size())
      result[i] = p.dims.offset[next++];
  return result;
}

/// Per dim of the indices but the last, the result dim it becomes.
static SmallVector<int, 4> batchDims(TypingContext &cx, const Gather &p) {
  SmallVector<int, 4> result;
  unsigned rank = p.dims.offset.size() + cx.shape(1).size() - 1;
  for (unsigned i = 0; i < rank; ++i)
    if (!llvm::is_contained(p.dims.offset, i))
      result.push_back(i);
  return result;
}

static DimMap gatherDims(TypingContext &cx) {
  const auto &p = cx.params<Gather>();
  DimMap map;
  map.operands.resize(2);
  map.results.resize(1);
  map.results[0].resize(cx.resultShape().size());
  auto add = [&](FactorRole role, int64_t size) {
    map.factors.push_back({role, size});
    return static_cast<uint8_t>(map.factors.size() - 1);
  };
  SmallVector<int, 4> batch = batchDims(cx, p);
  map.operands[1].resize(cx.shape(1).size());
  for (unsigned i = 0; i < batch.size(); ++i) {
    uint8_t factor = add(FactorRole::Pass, cx.shape(1)[i]);
    map.operands[1][i] = {factor};
    map.results[0][batch[i]] = {factor};
  }
  map.operands[1].back() = {add(FactorRole::Whole, cx.shape(1).back())};

  SmallVector<int, 4> offset = offsetDims(p);
  map.operands[0].resize(cx.shape(0).size());
  for (unsigned i = 0; i < offset.size(); ++i) {
    int64_t size = cx.shape(0)[i];
    auto *pair = llvm::find(p.dims.operandBatching, i);
    if (pair != p.dims.operandBatching.end()) {
      unsigned at = pair - p.dims.operandBatching.begin();
      map.operands[0][i] = map.operands[1][p.dims.indicesBatching[at]];
      continue;
    }
    // An indexed dim that is sharded leaves each device with the rows it has:
    // the result is a sum of those parts.
    bool whole = p.sliceSizes[i] == size;
    uint8_t factor = add(
        whole && offset[i] >= 0 ? FactorRole::Pass : FactorRole::Reduce, size);
    map.operands[0][i] = {factor};
    if (whole && offset[i] >= 0)
      map.results[0][offset[i]] = {factor};
  }
  return map;
}

//===--- Sharding ---------------------------------------------------------===//

/// The sharding a result has by itself: full slices keep the operand's entries,
/// other dims those of the indices; an axis that would occur twice or does not
/// divide is left out.
static Sharding naturalGather(TypingContext &cx, const Gather &p) {
  Sharding result = replicated(cx.ruleMesh(), cx.resultShape().size());
  AxisSet used;
  auto put = [&](int dim, const AxisList &entry) {
    AxisSet axes = AxisSet::of(entry);
    if (entry.empty() || axes.intersects(used) ||
        cx.resultShape()[dim] % cx.context().mesh(result.mesh).size(entry))
      return;
    used |= axes;
    result.dims[dim] = entry;
  };
  SmallVector<int, 4> batch = batchDims(cx, p);
  for (unsigned i = 0; i < batch.size(); ++i)
    put(batch[i], cx.sharding(1).dims[i]);
  SmallVector<int, 4> offset = offsetDims(p);
  for (unsigned i = 0; i < offset.size(); ++i)
    if (offset[i] >= 0 && p.sliceSizes[i] == cx.shape(0)[i])
      put(offset[i], cx.sharding(0).dims[i]);
  return result;
}

/// gather/sharding.2 to .4: refused, with what could be written.
static ErrorBuilder gatherError(TypingContext &cx, const Gather &p,
                                const std::string &why, int operand, int dim) {
  ErrorBuilder error =
      cx.error(diag::GatherUnsupported, why).mark(operand, dim);
  Sharding natural = naturalGather(cx, p);
  error.fix(natural);
  if (!natural.replicated())
    error.fix(replicated(natural.mesh, natural.dims.size()));
  for (Fix &fix : error.diagnostic().fixes)
    fix.code = "x.at[...].get(out_sharding=" + fix.spec + ")";
  Sharding whole = cx.sharding(operand);
  whole.dims[dim].clear();
  return error.fixOperand(operand, whole);
}

/// gather/sharding.3
static LogicalResult checkBatchEntries(TypingContext &cx, const Gather &p) {
  for (auto [o, i] :
       llvm::zip_equal(p.dims.operandBatching, p.dims.indicesBatching)) {
    const AxisList &a = cx.sharding(0).dims[o], &b = cx.sharding(1).dims[i];
    if (!a.empty() && !b.empty() && a != b)
      return gatherError(cx, p,
                         "batching dims " + std::to_string(o) + " and " +
                             std::to_string(i) +
                             " are sharded differently, over " + cx.arg(a) +
                             " and " + cx.arg(b),
                         1, i);
  }
  return success();
}

static FailureOr<Sharding> gatherSharding(TypingContext &cx) {
  const auto &p = cx.params<Gather>();
  Sharding result = replicated(cx.ruleMesh(), cx.resultShape().size());
  const Sharding &operand = cx.sharding(0), &indices = cx.sharding(1);
  if (!operand.partitioned() && !indices.partitioned())
    return result;                         // gather/sharding.1
  for (int64_t dim : p.dims.startIndexMap) // gather/sharding.2
    if (p.sliceSizes[dim] != cx.shape(0)[dim] && !operand.dims[dim].empty())
      return gatherError(cx, p,
                         "the indexed dim " + std::to_string(dim) +
                             " of the operand is sharded over " +
                             cx.arg(operand.dims[dim]),
                         0, dim);
  if (failed(checkBatchEntries(cx, p)))
    return failure();
  for (unsigned i = 0; i < indices.dims.size(); ++i) // gather/sharding.4
    if (!llvm::is_contained(p.dims.indicesBatching, i) &&
        !indices.dims[i].empty())
      return gatherError(cx, p,
                         "dim " + std::to_string(i) +
                             " of the indices is sharded over " +
                             cx.arg(indices.dims[i]) +
                             ", over which the gradient of the operand would "
                             "have to be summed",
                         1, i);

  // gather/sharding.5
  SmallVector<int, 4> batch = batchDims(cx, p);
  for (unsigned i = 0; i < batch.size(); ++i) {
    result.dims[batch[i]] = indices.dims[i];
    auto *at = llvm::find(p.dims.indicesBatching, i);
    if (at != p.dims.indicesBatching.end() && indices.dims[i].empty())
      result.dims[batch[i]] =
          operand.dims[p.dims.operandBatching[at -
                                              p.dims.indicesBatching.begin()]];
  }
  SmallVector<int, 4> offset = offsetDims(p);
  for (unsigned i = 0; i < offset.size(); ++i) {
    if (offset[i] < 0)
      continue;
    if (p.sliceSizes[i] != cx.shape(0)[i] &&
        !operand.dims[i].empty()) // gather/sharding.6
      return cx
          .error(diag::AccidentalRejectBare, cx.name(),
                 "dim " + std::to_string(i) +
                     " is sharded and sliced, but not indexed")
          .mark(0, i)
          .sound(result);
    result.dims[offset[i]] = operand.dims[i];
  }
  return result;
}

/// gather/reduction.1, gather/reduction.2
static FailureOr<ReductionSets> gatherReduction(TypingContext &cx) {
  for (unsigned i = 0; i < 2; ++i) {
    if (failed(requireSum(cx, i)))
      return failure();
    if (!cx.sharding(i).unreduced.empty())
      return cx.error(diag::RuleMissingU, cx.name()).mark(i);
  }
  if (!cx.sharding(1).reduced.empty())
    return cx.error(diag::GatherReducedIndices, cx.sharding(1).reduced).mark(1);
  if (!cx.sharding(0).reduced.empty() && cx.sharding(1).partitioned())
    return cx
        .error(diag::RuleMissingBare, cx.name(),
               "a reduced operand and sharded indices")
        .mark(0);
  return ReductionSets{{}, cx.sharding(0).reduced, ReductionKind::None};
}

static std::string gatherRefusal(EvalContext &cx) {
  return eval::choice(cx, "mode") == "ONE_HOT"
             ? "mode ONE_HOT has no definition on values"
             : "";
}
static LogicalResult gatherEval(EvalContext &cx) {
  const auto &p = cx.params<Gather>();
  Tensor fill = eval::scalarParam(cx, "fill_value", cx.resultDType());
  cx.setResult(
      0, kernels::gather(cx.operand(0), cx.operand(1),
                         {p.dims.offset, p.dims.collapsed, p.dims.startIndexMap,
                          p.dims.operandBatching, p.dims.indicesBatching,
                          p.sliceSizes},
                         eval::outOfBounds(cx),
                         fill ? fill : kernels::defaultFill(cx.resultDType()),
                         cx.resultShape()));
  return success();
}

static const Primitive Rows[] = {{.info = {"gather", schemaOf<Gather>},
                                  .decode = decodeGather,
                                  .dims = gatherDims,
                                  .linearity = {Linearity::Jointly, 1},
                                  .open = OpenRule::Opaque,
                                  .type = Standard{.shape = gatherShape,
                                                   .dtype = gatherDType,
                                                   .weak = weak::first,
                                                   .sharding = gatherSharding,
                                                   .reduction = gatherReduction,
                                                   .memory = memory::standard},
                                  .eval = {gatherEval, gatherRefusal}}};

ArrayRef<Primitive> shardtype::gather() { return Rows; }
