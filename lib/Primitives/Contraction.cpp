// Contraction.cpp - dot_general.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "Families.h"
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Rules/Eval.h"

using namespace shardtype;

//===--- Sharding ---------------------------------------------------------===//

static ErrorBuilder &markDim(const DotSides &sides, unsigned dim,
                             ErrorBuilder &error) {
  for (auto [operand, from] : sides.sources(dim))
    error.mark(operand, from);
  return error;
}

static LogicalResult checkBatch(TypingContext &cx, const DotSides &sides) {
  const DotDims &n = sides.numbers;
  for (auto [l, r] : llvm::zip_equal(n.lhsBatch, n.rhsBatch)) {
    const AxisList &lhs = cx.sharding(0).dims[l], &rhs = cx.sharding(1).dims[r];
    if (lhs == rhs)
      continue;
    ErrorBuilder error = cx.error(diag::DotBatch, l, r, lhs, rhs);
    error.mark(0, l).mark(1, r);
    offerDotBatch(cx, sides, error);
    return error;
  }
  return success();
}

static LogicalResult checkContracting(TypingContext &cx,
                                      const DotSides &sides) {
  const DotDims &n = sides.numbers;
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract)) {
    const AxisList &lhs = cx.sharding(0).dims[l], &rhs = cx.sharding(1).dims[r];
    if (lhs.empty() || rhs.empty())
      continue;
    ErrorBuilder error =
        lhs == rhs ? cx.error(diag::DotContractingAmbiguous, quoted(cx, lhs))
                   : cx.error(diag::DotContractingConflict, lhs, rhs);
    error.mark(0, l).mark(1, r);
    offerDotResults(cx, sides, error);
    return error;
  }
  return success();
}

static LogicalResult checkDistinct(TypingContext &cx, const DotSides &sides,
                                   const Sharding &result) {
  for (unsigned b = 0; b < result.dims.size(); ++b)
    for (unsigned a = 0; a < b; ++a) {
      AxisSet both = AxisSet::of(result.dims[a]) & AxisSet::of(result.dims[b]);
      if (both.empty())
        continue;
      uint8_t axis = both.list().front();
      ErrorBuilder error = cx.error(diag::IllegalResult, AxisSet::of(axis), a,
                                    b, cx.illegalResult(result));
      markDim(sides, b, markDim(sides, a, error));
      offerDotDistinct(cx, sides, error);
      return error;
    }
  return success();
}

/// What out_sharding asks for. A text hides it: then it is the binder's, unless
/// the rule gives that by itself. Under re-typing the rule decides where it
/// can.
static FailureOr<std::optional<Sharding>> askedResult(TypingContext &cx,
                                                      const DotSides &sides) {
  const ShardingParam &param = cx.params<DotGeneral>().outSharding;
  std::optional<Sharding> asked;
  if (param.given()) {
    FailureOr<Sharding> given =
        resolveLong(cx, param, sides.rank(), "out_sharding");
    if (failed(given))
      return failure();
    asked = std::move(*given);
  } else if (param.state == ShardingParam::Hidden) { // dot_general/sharding.6
    std::optional<Sharding> inferred =
        sides.inferred(cx.sharding(0), cx.sharding(1));
    if (inferred && cx.options().retyped)
      return asked;
    asked = cx.recordedSharding(0);
    if (asked && (asked->dims.size() != sides.rank() || asked == inferred))
      asked.reset();
  }
  return asked;
}

static FailureOr<Sharding> dotSharding(TypingContext &cx) {
  DotSides sides(cx);
  FailureOr<std::optional<Sharding>> asked = askedResult(cx, sides);
  if (failed(asked))
    return failure();
  if (*asked) // dot_general/sharding.1
    return **asked;
  if (failed(checkBatch(cx, sides)) ||     // dot_general/sharding.2
      failed(checkContracting(cx, sides))) // dot_general/sharding.3
    return failure();
  Sharding result = sides.natural(cx.sharding(0), cx.sharding(1));
  if (failed(checkDistinct(cx, sides, result))) // dot_general/sharding.5
    return failure();
  return result; // dot_general/sharding.4
}

//===--- Partial sums -----------------------------------------------------===//

/// JAX takes no partial sums. Where the other operand is whole over their axes,
/// the product of the parts adds up to the product.
static LogicalResult refuseUnreduced(TypingContext &cx, const DotSides &sides,
                                     unsigned i) {
  if (failed(requireSum(cx, i)))
    return failure();
  const Sharding &s = cx.sharding(i), &other = cx.sharding(1 - i);
  ErrorBuilder error = cx.error(diag::DotUnreducedOperand, i, s.unreduced);
  error.mark(i).fixOperand(i, withoutUnreduced(s));
  if (!other.unreduced.empty())
    error.mark(1 - i).fixOperand(1 - i, withoutUnreduced(other));
  std::optional<Sharding> sound =
      sides.inferred(cx.sharding(0), cx.sharding(1));
  if (sound && other.unreduced.empty() &&
      !other.axes().intersects(s.unreduced) &&
      !cx.params<DotGeneral>().outSharding.given()) {
    sound->unreduced = s.unreduced;
    sound->kind = s.kind;
    error.sound(*sound);
  }
  return error;
}

/// The result may be partial over exactly the axes that shard both sides'
/// contracting dims, in the same order.
static LogicalResult checkPartial(TypingContext &cx, const DotSides &sides,
                                  const Sharding &asked) {
  const DotDims &n = sides.numbers;
  AxisSet axes;
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract)) {
    const AxisList &lhs = cx.sharding(0).dims[l], &rhs = cx.sharding(1).dims[r];
    axes |= AxisSet::of(lhs);
    if (lhs == rhs)
      continue;
    ErrorBuilder error = cx.error(diag::DotUnreducedContracting, lhs, rhs);
    error.mark(0, l).mark(1, r).markParam("out_sharding");
    offerDotPartial(cx, sides, asked, error);
    return error; // dot_general/reduction.2
  }
  if (asked.unreduced != axes) {
    ErrorBuilder error = cx.error(diag::DotUnreducedAxes, asked.unreduced,
                                  axes.empty() ? "None" : cx.arg(axes));
    error.markParam("out_sharding");
    for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract))
      error.mark(0, l).mark(1, r);
    offerDotPartial(cx, sides, asked, error);
    return error; // dot_general/reduction.3
  }
  if (asked.kind == ReductionKind::Sum)
    return success();
  Sharding sums = asked;
  sums.kind = ReductionKind::Sum;
  return cx.error(diag::OutUnreducedKind, str(asked.kind), cx.name())
      .markParam("out_sharding")
      .fix(sums); // dot_general/reduction.4
}

static FailureOr<ReductionSets> dotReduction(TypingContext &cx) {
  DotSides sides(cx);
  for (unsigned i = 0; i < 2; ++i)
    if (!cx.sharding(i).unreduced.empty())
      return refuseUnreduced(cx, sides, i); // dot_general/reduction.1
  FailureOr<std::optional<Sharding>> asked = askedResult(cx, sides);
  if (failed(asked))
    return failure();
  ReductionSets sets; // Reduced axes never pass: dot_general/reduction.5
  if (*asked && !(*asked)->unreduced.empty()) {
    if (failed(checkPartial(cx, sides, **asked)))
      return failure();
    sets.unreduced = (*asked)->unreduced;
    sets.kind = ReductionKind::Sum;
  }
  return checkLong(cx, cx.params<DotGeneral>().outSharding, "out_sharding",
                   sets);
}

//===--- The row ----------------------------------------------------------===//

static DimMap dotDims(TypingContext &cx) {
  DotSides sides(cx);
  const DotDims &n = sides.numbers;
  DimMap map;
  map.operands.resize(2);
  map.operands[0].resize(cx.shape(0).size());
  map.operands[1].resize(cx.shape(1).size());
  DimMap::Dims &result = map.results.emplace_back();
  for (unsigned dim = 0; dim < sides.rank(); ++dim) {
    auto sources = sides.sources(dim);
    result.push_back(addFactor(map, FactorRole::Pass,
                               cx.shape(sources[0].first)[sources[0].second]));
    for (auto [operand, from] : sources)
      map.operands[operand][from] = result.back();
  }
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract))
    map.operands[0][l] = map.operands[1][r] =
        addFactor(map, FactorRole::Reduce, cx.shape(0)[l]);
  return map;
}

static LogicalResult dotEval(EvalContext &cx) {
  const DotDims &n = cx.params<DotGeneral>().dimensionNumbers;
  cx.setResult(0, kernels::dotGeneral(
                      cx.operand(0), cx.operand(1),
                      {n.lhsContract, n.rhsContract, n.lhsBatch, n.rhsBatch},
                      cx.resultDType()));
  return success();
}

static const Primitive Rows[] = {{.info = {"dot_general", schemaOf<DotGeneral>},
                                  .decode = decodeFor<DotGeneral, 2>,
                                  .dims = dotDims,
                                  .linearity = {Linearity::EachOf, 2},
                                  .open = OpenRule::Opaque,
                                  .type = Standard{.shape = dotShape,
                                                   .dtype = dotDType,
                                                   .weak = weak::all,
                                                   .sharding = dotSharding,
                                                   .reduction = dotReduction,
                                                   .memory = memory::standard},
                                  .eval = dotEval}};

ArrayRef<Primitive> shardtype::contraction() { return Rows; }
