// Reduction.cpp - reductions over dims.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "Running.h"
#include "Shapes.h"
#include "shardtype/Kernels/Combine.h"
#include "shardtype/Kernels/Reduce.h"

using namespace shardtype;
using kernels::ReduceOp;

namespace {
struct Axes {
  SmallVector<int64_t, 4> axes;
  static constexpr auto fields = std::tuple(field("axes", &Axes::axes));
};

/// reduce_sum, reduce_max, reduce_min: the ones with out_sharding.
struct Reduce {
  SmallVector<int64_t, 4> axes;
  ShardingParam outSharding;
  static constexpr auto fields =
      std::tuple(field("axes", &Reduce::axes),
                 optionalField("out_sharding", &Reduce::outSharding));
};

struct ArgReduce {
  SmallVector<int64_t, 1> axes;
  DType indexDType = DType::I32;
  static constexpr auto fields =
      std::tuple(field("axes", &ArgReduce::axes),
                 field("index_dtype", &ArgReduce::indexDType));
};
} // namespace

template <typename P> static ArrayRef<int64_t> axesOf(TypingContext &cx) {
  return cx.params<P>().axes;
}

static Shape keptShape(TypingContext &cx, ArrayRef<int64_t> axes) {
  Shape result;
  for (unsigned d = 0; d < cx.shape(0).size(); ++d)
    if (!llvm::is_contained(axes, d))
      result.push_back(cx.shape(0)[d]);
  return result;
}

template <typename P> static FailureOr<Shape> reduceShape(TypingContext &cx) {
  ArrayRef<int64_t> axes = axesOf<P>(cx);
  if (areDistinctDims(axes, cx.shape(0).size()))
    return keptShape(cx, axes); // reduce/shape.2
  return cx
      .error(diag::ParamInvalid, "axes", // reduce/shape.1
             listText(axes) + " are not different dims of a value of rank " +
                 std::to_string(cx.shape(0).size()))
      .markParam("axes");
}

static FailureOr<DType> numberDType(TypingContext &cx) {
  DType dtype = cx.operand(0).dtype;
  if (isInteger(dtype) || isFloat(dtype) || isComplex(dtype))
    return dtype;
  return cx
      .error(diag::DTypeRefused, cx.name(), info(dtype).longName, 0, "numbers")
      .mark(0); // reduce/dtype.1
}

static DimMap keptDims(TypingContext &cx, ArrayRef<int64_t> axes) {
  DimMap map = sameDims(cx, axes, FactorRole::Reduce);
  DimMap::Dims &result = map.results[0];
  result.clear();
  for (unsigned d = 0; d < map.operands[0].size(); ++d)
    if (!llvm::is_contained(axes, d))
      result.push_back(map.operands[0][d]);
  return map;
}

template <typename P> static DimMap reduceDims(TypingContext &cx) {
  return keptDims(cx, axesOf<P>(cx));
}

//===--- With out_sharding ------------------------------------------------===//

/// Entries of the dims that stay; no sets.
static Sharding keptSharding(TypingContext &cx, ArrayRef<int64_t> axes) {
  return withoutSets(withoutDims(cx.sharding(0), axes));
}

static FailureOr<Sharding> reduceSharding(TypingContext &cx) {
  const auto &p = cx.params<Reduce>();
  if (p.outSharding.given()) // reduce/sharding.1
    return resolveLong(cx, p.outSharding, cx.resultShape().size(),
                       "out_sharding");
  return keptSharding(cx, p.axes); // reduce/sharding.2
}

/// The axes over which the result can hold partial results.
static AxisSet partialAxes(TypingContext &cx) {
  AxisSet axes = cx.sharding(0).unreduced;
  for (int64_t d : axesOf<Reduce>(cx))
    axes |= AxisSet::of(cx.sharding(0).dims[d]);
  return axes;
}

/// What out_sharding asks for beyond its partitions.
template <ReductionKind Kind>
static LogicalResult checkAsked(TypingContext &cx, const Sharding &asked) {
  if (asked.kind != Kind) { // reduce/reduction.2
    Sharding own = asked;
    own.kind = Kind;
    return cx
        .error(diag::ReduceUnreducedKind, cx.name(), str(Kind), str(asked.kind))
        .markParam("out_sharding")
        .fix(own);
  }
  AxisSet possible = partialAxes(cx);
  if (possible.contains(asked.unreduced)) // reduce/reduction.1
    return success();
  ErrorBuilder error =
      cx.error(diag::ReduceUnreducedAxes, asked.unreduced - possible);
  error.markParam("out_sharding");
  for (int64_t d : axesOf<Reduce>(cx))
    error.mark(0, d);
  Sharding complete = withoutSets(asked), partial = complete;
  error.fix(complete);
  partial.unreduced = possible - complete.axes();
  partial.kind = Kind;
  if (!partial.unreduced.empty())
    error.fix(partial);
  return error; // reduce/reduction.3
}

/// Operand sums of this reduction's own kind pass on: the result of parts of
/// results. JAX 0.11 asked for sums whatever the reduction.
template <ReductionKind Kind>
static FailureOr<AxisSet> passedUnreduced(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  if (s.unreduced.empty())
    return s.unreduced;
  ReductionKind wanted = cx.olderJax() ? ReductionKind::Sum : Kind;
  if (s.kind == wanted)
    return s.unreduced; // reduce/reduction.4
  return cx.error(diag::UnreducedKind, 0, str(s.kind), cx.name(), str(wanted))
      .mark(0)
      .fixOperand(0, withoutUnreduced(s)); // reduce/reduction.5
}

template <ReductionKind Kind>
static FailureOr<ReductionSets> reduceReduction(TypingContext &cx) {
  const auto &p = cx.params<Reduce>();
  unsigned rank = cx.resultShape().size();
  Sharding asked;
  if (p.outSharding.given()) {
    FailureOr<Sharding> given =
        resolveLong(cx, p.outSharding, rank, "out_sharding");
    if (failed(given))
      return failure();
    asked = std::move(*given);
  }
  ReductionSets sets;
  if (!asked.unreduced.empty()) {
    if (failed(checkAsked<Kind>(cx, asked)))
      return failure();
    sets.unreduced = asked.unreduced;
  } else {
    FailureOr<AxisSet> passed = passedUnreduced<Kind>(cx);
    if (failed(passed))
      return failure();
    sets.unreduced = *passed;
  }
  sets.kind = Kind;
  if (!asked.reduced.empty()) { // reduce/reduction.6
    Sharding plain = asked;
    plain.reduced = {};
    return cx.error(diag::ReduceReduced, cx.name())
        .markParam("out_sharding")
        .fix(plain);
  }
  sets.reduced = cx.sharding(0).reduced; // reduce/reduction.7
  return checkLong(cx, p.outSharding, "out_sharding", sets);
}

//===--- Without ----------------------------------------------------------===//

/// JAX trips over an operand with sets. Reduced axes could pass.
static FailureOr<Sharding>
plainSharding(TypingContext &cx, ArrayRef<int64_t> axes,
              diag::Code code = diag::SpecIteration) {
  Sharding result = keptSharding(cx, axes);
  if (!cx.sharding(0).hasUR())
    return result;                              // reduce_prod/sharding.1
  ErrorBuilder error = refuseSets(cx, code, 0); // reduce_prod/reduction.1
  if (auto sound = soundSets(cx, result, /*linear=*/false))
    error.sound(*sound);
  return error;
}

static FailureOr<Sharding> prodSharding(TypingContext &cx) {
  return plainSharding(cx, axesOf<Axes>(cx));
}

/// For rows whose sharding rule has refused sets already.
static FailureOr<ReductionSets> noSets(TypingContext &) {
  return ReductionSets{};
}

/// The dims that numpy.delete takes away: negative axes count from the end, and
/// the same axis may be named twice. Nothing: one is out of range.
static std::optional<SmallVector<int64_t, 4>> deletedDims(TypingContext &cx) {
  SmallVector<int64_t, 4> dims;
  for (int64_t axis : axesOf<Axes>(cx)) {
    auto dim = pythonIndex(axis, cx.shape(0).size());
    if (!dim)
      return std::nullopt;
    dims.push_back(*dim);
  }
  return dims;
}

static FailureOr<Shape> logicalShape(TypingContext &cx) {
  DType dtype = cx.operand(0).dtype;
  // numpy does not know the integers of less than 8 bits.
  if (dtype != DType::Bool && (!isInteger(dtype) || info(dtype).bits < 8))
    return cx
        .error(diag::DTypeRefused, cx.name(), info(dtype).longName, 0,
               "bool or integers of 8 bits or more")
        .mark(0); // reduce_and/dtype.1
  if (auto dims = deletedDims(cx))
    return keptShape(cx, *dims); // reduce_and/shape.2
  return cx
      .error(diag::AccidentalIndex, cx.name(),
             listText(axesOf<Axes>(cx)) + " are not dims of a value of rank " +
                 std::to_string(cx.shape(0).size()))
      .markParam("axes"); // reduce_and/shape.1
}

/// JAX looks at the spec only if some dim stays, and negative axes remove no
/// entry of it, so that it is too long then.
static FailureOr<Sharding> logicalSharding(TypingContext &cx) {
  ArrayRef<int64_t> axes = axesOf<Axes>(cx);
  SmallVector<int64_t, 4> dims = *deletedDims(cx);
  unsigned stay = withoutDims(cx.sharding(0), axes).dims.size();
  FailureOr<Sharding> result =
      plainSharding(cx, dims, stay ? diag::SpecIteration : diag::RuleMissingUR);
  if (failed(result) || stay == cx.resultShape().size() ||
      !cx.sharding(0).hasMesh())
    return result;
  return cx
      .error(diag::TypeRank, withoutDims(cx.sharding(0), axes), stay,
             cx.resultShape().size())
      .markParam("axes")
      .sound(*result); // reduce_and/shape.3
}

static DimMap logicalDims(TypingContext &cx) {
  return keptDims(cx, deletedDims(cx).value_or(SmallVector<int64_t, 4>()));
}

//===--- argmax, argmin ---------------------------------------------------===//

static FailureOr<Shape> argShape(TypingContext &cx) {
  ArrayRef<int64_t> axes = axesOf<ArgReduce>(cx);
  if (axes.size() != 1 || !areDistinctDims(axes, cx.shape(0).size()))
    return cx
        .error(diag::ParamInvalid, "axes", // argmax/shape.1
               listText(axes) + " is not one dim of a value of rank " +
                   std::to_string(cx.shape(0).size()))
        .markParam("axes");
  if (cx.shape(0)[axes[0]] == 0)
    return cx
        .error(diag::ParamInvalid, "axes",
               "dim " + std::to_string(axes[0]) + " is empty")
        .mark(0, axes[0]);    // argmax/shape.2
  return keptShape(cx, axes); // argmax/shape.3
}

static FailureOr<DType> argDType(TypingContext &cx) {
  DType dtype = cx.params<ArgReduce>().indexDType;
  if (isInteger(dtype))
    return dtype;
  return cx
      .error(diag::DTypeMismatch, "index_dtype " + info(dtype).longName.str() +
                                      " is no integer type")
      .markParam("index_dtype"); // argmax/dtype.1
}

static FailureOr<Sharding> argSharding(TypingContext &cx) {
  return plainSharding(cx, axesOf<ArgReduce>(cx));
}

//===--- evaluations ------------------------------------------------------===//

template <typename P, ReduceOp Op>
static LogicalResult reduceEval(EvalContext &cx) {
  return eval::give(cx,
                    kernels::reduce(Op, cx.operand(0), cx.params<P>().axes));
}
/// A maximum over a dim that is split leaves out devices whose own is NaN,
/// where JAX's numbers are asked for (spec 09, 16).
template <ReduceOp Op> static LogicalResult extremeEval(EvalContext &cx) {
  const Sharding &sharding = cx.operandType(0).sharding;
  ArrayRef<int64_t> dims = cx.params<Reduce>().axes;
  AxisSet axes;
  for (int64_t dim : dims)
    if (static_cast<size_t>(dim) < sharding.dims.size())
      axes |= AxisSet::of(sharding.dims[static_cast<size_t>(dim)]);
  if (!cx.options().jaxNumbers || axes.empty() ||
      cx.resultType().sharding.unreduced.intersects(axes))
    return reduceEval<Reduce, Op>(cx);
  const Mesh &mesh = cx.context().mesh(sharding.mesh);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < mesh.size(axes); ++i)
    parts.push_back(
        kernels::reduce(Op,
                        blockAlong(mesh, sharding.dims, axes,
                                   coordinatesOf(mesh, axes, i), cx.operand(0)),
                        dims));
  return eval::give(cx, kernels::combine(Op == ReduceOp::Max
                                             ? kernels::Combine::Max
                                             : kernels::Combine::Min,
                                         parts, /*dropNaN=*/true));
}
template <bool Largest> static LogicalResult argEval(EvalContext &cx) {
  int64_t dim = cx.params<ArgReduce>().axes[0];
  if (cx.operand(0).dim(static_cast<unsigned>(dim)) == 0)
    return cx.fail("there is no extreme of an empty dim");
  return eval::give(
      cx, kernels::argExtreme(Largest, cx.operand(0), dim, cx.resultDType()));
}

template <ReductionKind Kind>
static constexpr Primitive
reduceRow(StringRef name, EvalRule evaluation,
          Rule<FailureOr<DType>(TypingContext &)> dtype, Linearity linearity) {
  return {.info = {name, schemaOf<Reduce>},
          .decode = decodeFor<Reduce, 1>,
          .dims = reduceDims<Reduce>,
          .linearity = linearity,
          .open = OpenRule::Opaque,
          .type = Standard{.shape = reduceShape<Reduce>,
                           .dtype = dtype,
                           .weak = weak::all,
                           .sharding = reduceSharding,
                           .reduction = reduceReduction<Kind>,
                           .memory = memory::standard},
          .eval = evaluation};
}

static FailureOr<MemorySpace> orMemory(TypingContext &cx) {
  return runs::integersOnCpu(cx, *deletedDims(cx));
}

static constexpr Primitive logicalRow(
    StringRef name, EvalRule evaluation,
    Rule<FailureOr<MemorySpace>(TypingContext &)> memory = memory::standard) {
  return {.info = {name, schemaOf<Axes>},
          .decode = decodeFor<Axes, 1>,
          .dims = logicalDims,
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Standard{.shape = logicalShape,
                           .dtype = dtype::operand,
                           .weak = weak::never,
                           .sharding = logicalSharding,
                           .reduction = noSets,
                           .memory = memory},
          .eval = evaluation};
}

static constexpr Primitive argRow(StringRef name, EvalRule evaluation) {
  return {.info = {name, schemaOf<ArgReduce>},
          .decode = decodeFor<ArgReduce, 1>,
          .dims = reduceDims<ArgReduce>,
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Standard{.shape = argShape,
                           .dtype = argDType,
                           .weak = weak::never,
                           .sharding = argSharding,
                           .reduction = noSets,
                           .memory = memory::standard},
          .eval = evaluation};
}

static const Primitive Rows[] = {
    reduceRow<ReductionKind::Sum>("reduce_sum",
                                  reduceEval<Reduce, ReduceOp::Sum>,
                                  numberDType, {Linearity::Jointly, 1}),
    reduceRow<ReductionKind::Max>(
        "reduce_max", {extremeEval<ReduceOp::Max>, eval::numbersOnly},
        dtype::operand, {}),
    reduceRow<ReductionKind::Min>(
        "reduce_min", {extremeEval<ReduceOp::Min>, eval::numbersOnly},
        dtype::operand, {}),
    {.info = {"reduce_prod", schemaOf<Axes>},
     .decode = decodeFor<Axes, 1>,
     .dims = reduceDims<Axes>,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = reduceShape<Axes>,
                      .dtype = numberDType,
                      .weak = weak::all,
                      .sharding = prodSharding,
                      .reduction = noSets,
                      .memory = memory::standard},
     .eval = reduceEval<Axes, ReduceOp::Prod>},
    logicalRow("reduce_and", reduceEval<Axes, ReduceOp::And>),
    logicalRow("reduce_or", reduceEval<Axes, ReduceOp::Or>, orMemory),
    logicalRow("reduce_xor", reduceEval<Axes, ReduceOp::Xor>, orMemory),
    argRow("argmax", {argEval<true>, eval::numbersOnly}),
    argRow("argmin", {argEval<false>, eval::numbersOnly})};

ArrayRef<Primitive> shardtype::reductions() { return Rows; }
