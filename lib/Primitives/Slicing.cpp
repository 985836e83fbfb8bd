// Slicing.cpp - slice, dynamic_slice and dynamic_update_slice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "IndexDims.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

namespace {
struct Slice {
  SmallVector<int64_t, 4> start, limit;
  std::optional<SmallVector<int64_t, 4>> strides;
  static constexpr auto fields = std::tuple(
      field("limit_indices", &Slice::limit),
      field("start_indices", &Slice::start), field("strides", &Slice::strides));
};
struct DynamicSlice {
  SmallVector<int64_t, 4> sizes;
  static constexpr auto fields =
      std::tuple(field("slice_sizes", &DynamicSlice::sizes));
};
} // namespace

/// Dims that keep their size are one; a dim that changes needs its neighbours.
static DimMap slicingDims(TypingContext &cx) {
  DimMap map;
  map.operands.resize(cx.numOperands());
  map.results.resize(1);
  for (unsigned i = 0; i < cx.shape(0).size(); ++i) {
    bool isSame = cx.shape(0)[i] == cx.resultShape()[i];
    uint8_t factor = map.factors.size();
    map.factors.push_back(
        {isSame ? FactorRole::Pass : FactorRole::Halo, cx.shape(0)[i]});
    map.operands[0].push_back({factor});
    map.results[0].push_back({factor});
  }
  return map;
}

//===--- slice ------------------------------------------------------------===//

/// slice/shape.1
static FailureOr<Shape> sliceShape(TypingContext &cx) {
  const auto &p = cx.params<Slice>();
  ArrayRef<int64_t> operand = cx.shape(0);
  if (p.start.size() != operand.size() || p.limit.size() != operand.size() ||
      (p.strides && p.strides->size() != operand.size()))
    return indexError(cx, "start, limit and strides need one number a dim");
  Shape shape;
  for (unsigned i = 0; i < operand.size(); ++i) {
    int64_t stride = p.strides ? (*p.strides)[i] : 1;
    if (Dim::isSymbolic(operand[i])) {
      // Symbolic sizes have no order; the trace was made by one who knew.
      if (failed(checkSizes(cx, "limit_indices")))
        return failure();
      bool isWhole = p.start[i] == 0 && stride == 1;
      FailureOr<int64_t> size =
          isWhole ? FailureOr<int64_t>(p.limit[i]) : tracedSize(cx, 0, i, i);
      if (failed(size))
        return failure();
      shape.push_back(*size);
      continue;
    }
    if (p.start[i] < 0 || p.limit[i] > operand[i] || p.limit[i] < p.start[i] ||
        stride < 1)
      return indexError(cx, "dim " + std::to_string(i) + " of size " +
                                std::to_string(operand[i]) +
                                " cannot be cut from " +
                                std::to_string(p.start[i]) + " to " +
                                std::to_string(p.limit[i]) + " by steps of " +
                                std::to_string(stride));
    int64_t length = p.limit[i] - p.start[i];
    shape.push_back(length / stride + (length % stride != 0));
  }
  return shape;
}

/// slice/sharding.1, dynamic_slice/sharding.1
static FailureOr<Sharding> slicingSharding(TypingContext &cx) {
  return varyingShape(cx, 0, cx.resultShape());
}

//===--- dynamic_slice ----------------------------------------------------===//

/// One integer scalar per dim of the operand, from operand `first` on.
static LogicalResult checkStarts(TypingContext &cx, unsigned first) {
  if (cx.numOperands() != first + cx.shape(0).size())
    return indexError(cx, "needs one start index a dim of the operand, " +
                              std::to_string(cx.shape(0).size()) +
                              ", but has " +
                              std::to_string(cx.numOperands() - first));
  for (unsigned i = first; i < cx.numOperands(); ++i)
    if (!cx.shape(i).empty() || !isInteger(cx.operand(i).dtype))
      return indexError(cx, "start indices are integer scalars, but operand " +
                                std::to_string(i) + " is " +
                                cx.arg(cx.operandId(i)))
          .mark(i);
  return success();
}

/// dynamic_slice/shape.1
static FailureOr<Shape> dynamicSliceShape(TypingContext &cx) {
  const auto &p = cx.params<DynamicSlice>();
  ArrayRef<int64_t> operand = cx.shape(0);
  if (p.sizes.size() != operand.size())
    return indexError(cx, "slice_sizes needs one size a dim of the operand",
                      diag::ShapeInvalid);
  for (unsigned i = 0; i < operand.size(); ++i)
    if (Dim::isSymbolic(operand[i])) {
      if (failed(checkSizes(cx, "slice_sizes")))
        return failure();
    } else if (p.sizes[i] < 0 || p.sizes[i] > operand[i])
      return indexError(cx, "a slice of " + std::to_string(p.sizes[i]) +
                                " does not fit dim " + std::to_string(i) +
                                " of size " + std::to_string(operand[i]));
  if (failed(checkStarts(cx, 1)))
    return failure();
  return Shape(p.sizes.begin(), p.sizes.end());
}

/// dynamic_slice/reduction.1: JAX has no rule for partial sums, though cutting
/// is linear.
static FailureOr<ReductionSets> dynamicSliceReduction(TypingContext &cx) {
  if (failed(requireSum(cx, 0)))
    return failure();
  if (cx.sharding(0).unreduced.empty())
    return ReductionSets{{}, cx.sharding(0).reduced, ReductionKind::None};
  FailureOr<Sharding> sound = slicingSharding(cx);
  ErrorBuilder error = cx.error(diag::RuleMissingU, cx.name()).mark(0);
  if (succeeded(sound))
    error.sound(*sound);
  return error.fixOperand(0, withoutUnreduced(placed(cx, 0)));
}

//===--- dynamic_update_slice ---------------------------------------------===//

/// dynamic_update_slice/shape.1
static FailureOr<Shape> updateShape(TypingContext &cx) {
  ArrayRef<int64_t> operand = cx.shape(0), update = cx.shape(1);
  if (operand.size() != update.size())
    return indexError(cx, "operand and update need one rank, but are " +
                              cx.arg(cx.operandId(0)) + " and " +
                              cx.arg(cx.operandId(1)));
  for (unsigned i = 0; i < operand.size(); ++i)
    if (update[i] > operand[i])
      return indexError(cx, "dim " + std::to_string(i) +
                                " of the update is larger than the operand's")
          .mark(1, i);
  if (failed(checkStarts(cx, 2)))
    return failure();
  return cx.operand(0).shape;
}

/// dynamic_update_slice/dtype.1
static FailureOr<DType> updateDType(TypingContext &cx) {
  if (cx.operand(0).dtype != cx.operand(1).dtype)
    return cx
        .error(diag::DTypeMismatch,
               "operand and update of 'dynamic_update_slice' have "
               "different dtypes: " +
                   cx.arg(cx.operandId(0)) + " and " + cx.arg(cx.operandId(1)))
        .mark(1);
  return cx.operand(0).dtype;
}

/// dynamic_update_slice/sharding.1: both must be sharded alike in all parts; an
/// update that does not divide as the operand does cannot be resharded so.
static FailureOr<Sharding> updateSharding(TypingContext &cx) {
  if (cx.sharding(0) == cx.sharding(1))
    return cx.sharding(0);
  Sharding wanted = placed(cx, 0);
  ErrorBuilder error =
      cx.error(diag::UpdateSliceDiffer, cx.operandId(0), cx.operandId(1))
          .mark(1);
  if (!checkDivisible(cx.context(), wanted, cx.shape(1)))
    error.fixOperand(1, wanted);
  if (cx.sharding(1).hasMesh() &&
      !checkDivisible(cx.context(), cx.sharding(1), cx.shape(0)))
    error.fixOperand(0, cx.sharding(1));
  return error.sound(wanted);
}

/// dynamic_update_slice/reduction.1
static FailureOr<ReductionSets> updateReduction(TypingContext &cx) {
  for (unsigned i = 2; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasUR() && !cx.olderJax()) // 0.11 ignores them.
      return cx.error(diag::UpdateSliceIndex).mark(i);
  const Sharding &s = cx.sharding(0), &update = cx.sharding(1);
  if (s.unreduced != update.unreduced || s.kind != update.kind)
    return cx
        .error(diag::JoinSetsDiffer, cx.name(), "unreduced", s.unreduced,
               update.unreduced)
        .mark(1); // manual/joining.2
  if (s.reduced != update.reduced)
    return cx
        .error(diag::JoinSetsDiffer, cx.name(), "reduced", s.reduced,
               update.reduced)
        .mark(1); // manual/joining.2
  for (unsigned i = 2; i < cx.numOperands() && s.hasUR(); ++i)
    if (!cx.operand(i).manual.varying.empty()) // manual/joining.3
      return cx.error(diag::UpdateIndexVaries, i - 2).mark(i);
  return passKinds(cx);
}

static DimMap updateDims(TypingContext &cx) {
  DimMap map = slicingDims(cx);
  for (unsigned i = 0; i < cx.shape(1).size(); ++i) {
    bool isSame = cx.shape(1)[i] == cx.shape(0)[i];
    if (!isSame)
      map.factors[map.operands[0][i][0]].role = FactorRole::Halo;
    map.operands[1].push_back(map.operands[0][i]);
  }
  return map;
}

static LogicalResult sliceEval(EvalContext &cx) {
  const auto &params = cx.params<Slice>();
  ArrayRef<int64_t> strides;
  if (params.strides)
    strides = *params.strides;
  return eval::give(
      cx, kernels::slice(cx.operand(0), params.start, params.limit, strides));
}

static LogicalResult dynamicSliceEval(EvalContext &cx) {
  cx.setResult(0, kernels::dynamicSlice(cx.operand(0), eval::tensorsFrom(cx, 1),
                                        cx.params<DynamicSlice>().sizes));
  return success();
}

static LogicalResult updateEval(EvalContext &cx) {
  auto starts = eval::tensorsFrom(cx, 2);
  cx.setResult(0,
               kernels::dynamicUpdateSlice(cx.take(0), cx.operand(1), starts));
  return success();
}

static const Primitive Rows[] = {
    {.info = {"slice", schemaOf<Slice>},
     .decode = decodeFor<Slice, 1>,
     .dims = slicingDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = sliceShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = slicingSharding,
                      .reduction = passKinds, // slice/reduction.1
                      .memory = memory::standard},
     .eval = sliceEval},
    {.info = {"dynamic_slice", schemaOf<DynamicSlice>},
     .decode = decodeFor<DynamicSlice, 1, AnyNumber>,
     .dims = slicingDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = dynamicSliceShape,
                      .dtype = dtype::operand,
                      .weak = weak::first,
                      .sharding = slicingSharding,
                      .reduction = dynamicSliceReduction,
                      .memory = memory::standard},
     .eval = dynamicSliceEval},
    {.info = {"dynamic_update_slice", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 2, AnyNumber>,
     .dims = updateDims,
     .linearity = {Linearity::Jointly, 2},
     .open = OpenRule::Strict,
     .type = Standard{.shape = updateShape,
                      .dtype = updateDType,
                      .weak = weak::all,
                      .sharding = updateSharding,
                      .reduction = updateReduction,
                      .memory = memory::standard},
     .eval = updateEval},
};

ArrayRef<Primitive> shardtype::slicing() { return Rows; }
