// Nary.cpp - operations on several operands, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "Evals.h"
#include "Families.h"
#include "Running.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;
using kernels::BinaryOp;
using kernels::CompareOp;

namespace {
struct Mul {
  std::optional<DType> outDType;
  static constexpr auto fields =
      std::tuple(optionalField("out_dtype", &Mul::outDType, Hide::IfNone));
};
struct Polynomial {
  static constexpr auto fields = std::tuple(ignored("unroll", form::integer));
};
} // namespace

//===--- dtypes -----------------------------------------------------------===//

/// mul/dtype.1
static FailureOr<DType> mulDType(TypingContext &cx) {
  std::optional<DType> out = cx.params<Mul>().outDType;
  if (!out)
    return dtypesOf<Numbers>(cx);
  if (failed(checkDType(cx, 0, Numbers)) || failed(checkDType(cx, 1, Numbers)))
    return failure();
  return *out;
}

/// pow/dtype.1: an integer exponent may have any width.
static FailureOr<DType> powDType(TypingContext &cx) {
  if (failed(checkDType(cx, 0, Inexact)) || failed(checkDType(cx, 1, Numbers)))
    return failure();
  if (!isInteger(cx.operand(1).dtype) && failed(checkSameDTypes(cx)))
    return failure();
  return cx.operand(0).dtype;
}

//===--- partial sums -----------------------------------------------------===//

static AxisSet unreducedOf(TypingContext &cx, unsigned i) {
  return cx.sharding(i).unreduced;
}

static ReductionSets partialSums(AxisSet unreduced, AxisSet reduced) {
  return {unreduced, reduced,
          unreduced.empty() ? ReductionKind::None : ReductionKind::Sum};
}

/// The reduced axes of all operands, and none may be unreduced but by sums.
static FailureOr<AxisSet> reducedAndSums(TypingContext &cx) {
  FailureOr<AxisSet> reduced = nary::reduced(cx);
  if (failed(reduced) || failed(requireSum(cx, 0)) || failed(requireSum(cx, 1)))
    return failure();
  return reduced;
}

/// The operands' partial sums lie over different axes. One that lies over more
/// is summed over the rest, or the other takes zeros there; else both are
/// summed.
static ErrorBuilder reportSumsDiffer(TypingContext &cx) {
  AxisSet lhs = unreducedOf(cx, 0), rhs = unreducedOf(cx, 1);
  ErrorBuilder error =
      cx.error(diag::AddUnreducedDiffer, cx.name(), lhs, rhs).mark(0).mark(1);
  for (unsigned i : {0u, 1u}) {
    Sharding same = cx.sharding(i);
    same.unreduced = unreducedOf(cx, 1 - i);
    bool nested = lhs.contains(rhs) || rhs.contains(lhs);
    bool clash = same.unreduced.intersects(same.axes() | same.reduced);
    if (nested && !clash)
      error.fixOperand(i, same);
  }
  if (!error.diagnostic().fixes.empty())
    return error;
  return error.fixOperand(0, withoutUnreduced(cx.sharding(0)))
      .fixOperand(1, withoutUnreduced(cx.sharding(1)));
}

/// add/unreduced.1 to .3
static FailureOr<ReductionSets> addReduction(TypingContext &cx) {
  FailureOr<AxisSet> reduced = reducedAndSums(cx);
  if (failed(reduced))
    return failure();
  AxisSet lhs = unreducedOf(cx, 0), rhs = unreducedOf(cx, 1);
  if (lhs == rhs)
    return partialSums(lhs, *reduced); // add/unreduced.1
  if (!lhs.empty() && !rhs.empty())
    return reportSumsDiffer(cx);       // add/unreduced.2
  unsigned side = lhs.empty() ? 1 : 0; // add/unreduced.3
  return cx
      .error(diag::AddUnreducedOneSide, side, unreducedOf(cx, side), cx.name())
      .mark(side)
      .fixOperand(side, withoutUnreduced(cx.sharding(side)));
}

/// sub/unreduced.1: as add; JAX 0.11 had no rule for it.
static FailureOr<ReductionSets> subReduction(TypingContext &cx) {
  AxisSet lhs = unreducedOf(cx, 0), rhs = unreducedOf(cx, 1);
  if ((lhs.empty() && rhs.empty()) || !cx.olderJax())
    return addReduction(cx);
  FailureOr<AxisSet> reduced = nary::reduced(cx);
  if (failed(reduced) || failed(requireSum(cx, 0)) ||
      (lhs.empty() && failed(requireSum(cx, 1))))
    return failure();
  FailureOr<Sharding> result = nary::sharding(cx);
  ErrorBuilder error = cx.error(diag::RuleMissingU, cx.name());
  for (unsigned i : {0u, 1u})
    if (!unreducedOf(cx, i).empty())
      error.mark(i).fixOperand(i, withoutUnreduced(cx.sharding(i)));
  if (lhs != rhs || cx.sharding(0).kind != cx.sharding(1).kind ||
      failed(result))
    return error;
  result->unreduced = lhs;
  result->reduced = *reduced;
  result->kind = ReductionKind::Sum;
  return error.sound(*result);
}

/// `operand` made reduced over `axes`: whole there, and nothing to sum.
static Sharding reducedOver(TypingContext &cx, unsigned operand, AxisSet axes) {
  Sharding s = withoutUnreduced(placed(cx, operand));
  for (AxisList &dim : s.dims)
    llvm::erase_if(dim, [&](uint8_t axis) { return axes.contains(axis); });
  s.reduced |= axes;
  return s;
}

/// mul/unreduced.1 to .3: linear in each factor. The other has to be reduced
/// over the axes of the sum, so that the cotangent is summed as well.
static FailureOr<ReductionSets> mulReduction(TypingContext &cx) {
  FailureOr<AxisSet> reduced = reducedAndSums(cx);
  if (failed(reduced))
    return failure();
  AxisSet lhs = unreducedOf(cx, 0), rhs = unreducedOf(cx, 1);
  if (lhs.empty() && rhs.empty())
    return partialSums({}, *reduced);
  if (!lhs.empty() && !rhs.empty()) // mul/unreduced.2
    return cx.error(diag::MulUnreducedBoth)
        .mark(0)
        .mark(1)
        .fixOperand(1, reducedOver(cx, 1, lhs))
        .fixOperand(0, reducedOver(cx, 0, rhs));
  unsigned side = lhs.empty() ? 1 : 0, other = 1 - side;
  AxisSet sums = unreducedOf(cx, side);
  if (cx.sharding(other).reduced == sums)
    return partialSums(sums, {}); // mul/unreduced.1
  return cx
      .error(diag::MulUnreducedReduced, side, sums) // mul/unreduced.3
      .mark(side)
      .mark(other)
      .fixOperand(other, reducedOver(cx, other, sums))
      .fixOperand(side, withoutUnreduced(cx.sharding(side)));
}

/// div/unreduced.1 to .3: linear in the numerator.
static FailureOr<ReductionSets> divReduction(TypingContext &cx) {
  FailureOr<AxisSet> reduced = reducedAndSums(cx);
  if (failed(reduced))
    return failure();
  AxisSet sums = unreducedOf(cx, 0);
  if (!unreducedOf(cx, 1).empty()) // div/unreduced.2
    return cx.error(diag::DivUnreducedDenominator, unreducedOf(cx, 1))
        .mark(1)
        .fixOperand(1, reducedOver(cx, 1, sums));
  if (sums.empty())
    return partialSums({}, *reduced);
  if (cx.sharding(1).reduced == sums)
    return partialSums(sums, {}); // div/unreduced.1
  return cx
      .error(diag::DivUnreducedReduced, sums) // div/unreduced.3
      .mark(0)
      .mark(1)
      .fixOperand(1, reducedOver(cx, 1, sums))
      .fixOperand(0, withoutUnreduced(cx.sharding(0)));
}

//===--- add_any ----------------------------------------------------------===//

/// add_any/type.1: the sum of two cotangents of one type, without broadcasting.
static LogicalResult addAny(TypingContext &cx) {
  if (typematch(cx.context(), cx.operandId(0), cx.operandId(1)))
    return setResults(cx, {cx.operandId(0)});
  ErrorBuilder error =
      cx.error(diag::AddAnyDiffer, cx.operandId(0), cx.operandId(1));
  error.mark(0).mark(1);
  const Type &lhs = cx.operand(0), &rhs = cx.operand(1);
  if (!lhs.isArray() || !rhs.isArray() || lhs.shape != rhs.shape)
    return error;
  if (lhs.sharding != rhs.sharding && lhs.sharding.mesh == rhs.sharding.mesh)
    error.fixOperand(1, lhs.sharding).fixOperand(0, rhs.sharding);
  return error;
}

//===--- rows -------------------------------------------------------------===//

//===--- evaluations ------------------------------------------------------===//

/// With `out_dtype`, the product of the operands as that.
static LogicalResult mulEval(EvalContext &cx) {
  DType dtype = cx.resultDType();
  if (cx.operand(0).dtype() == dtype && cx.operand(1).dtype() == dtype)
    return eval::binary<BinaryOp::Mul>(cx);
  Tensor lhs = eval::flushed(cx, kernels::convert(cx.take(0), dtype));
  Tensor rhs = eval::flushed(cx, kernels::convert(cx.take(1), dtype));
  return eval::give(
      cx, eval::flushed(cx, kernels::binary(BinaryOp::Mul, std::move(lhs),
                                            std::move(rhs))));
}
/// JAX on CPU multiplies by the reciprocal of a single number (spec 09, 2.5).
static LogicalResult divEval(EvalContext &cx) {
  DType dtype = cx.operand(1).dtype();
  bool one = cx.operand(1).size() == 1 && cx.operand(0).size() != 1;
  bool isOf = dtype == DType::F32 || dtype == DType::F64 || dtype == DType::F16;
  if (!cx.options().jaxNumbers || !one || !isOf)
    return eval::binary<BinaryOp::Div>(cx);
  Tensor inverse = kernels::integerPow(eval::flushed(cx, cx.take(1)), -1);
  return eval::give(
      cx, eval::flushed(cx, kernels::binary(BinaryOp::Mul,
                                            eval::flushed(cx, cx.take(0)),
                                            std::move(inverse))));
}
static LogicalResult powEval(EvalContext &cx) {
  if (isInteger(cx.operand(1).dtype()))
    return eval::give(cx, kernels::powInteger(cx.operand(0), cx.operand(1)));
  return eval::binary<BinaryOp::Pow>(cx);
}
/// Sums of tokens and of float0 are such again.
static LogicalResult addAnyEval(EvalContext &cx) {
  DType dtype = cx.operand(0).dtype();
  if (dtype == DType::Float0)
    return eval::give(cx, cx.operand(0));
  if (isKey(dtype))
    return cx.fail("cannot add keys");
  if (dtype == DType::Bool)
    return eval::binary<BinaryOp::Or>(cx);
  return eval::binary<BinaryOp::Add>(cx);
}
static LogicalResult complexEval(EvalContext &cx) {
  ArrayRef<int64_t> shape = cx.resultShape();
  return eval::give(
      cx, kernels::makeComplex(kernels::expanded(cx.operand(0), shape),
                               kernels::expanded(cx.operand(1), shape)));
}
static LogicalResult betaEval(EvalContext &cx) {
  return eval::give(
      cx, kernels::incompleteBeta(cx.operand(0), cx.operand(1), cx.operand(2)));
}
static LogicalResult polynomialEval(EvalContext &cx) {
  return eval::give(cx, kernels::polynomial(cx.operand(0),
                                            eval::operandsFrom(cx, 1),
                                            cx.resultShape()));
}

/// A row of the common form: nary/shape.1, nary/dtype.1, nary/sharding.1.
template <typename P = NoParams, unsigned Min = 2, unsigned Max = Min>
static constexpr Primitive
row(StringRef name, EvalRule evaluation,
    Rule<FailureOr<DType>(TypingContext &)> dtype,
    Rule<FailureOr<ReductionSets>(TypingContext &)> reduction = nary::nonlinear,
    Linearity linearity = {},
    Rule<FailureOr<MemorySpace>(TypingContext &)> memory = memory::standard) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, Min, Max>,
          .dims = nary::dims,
          .linearity = linearity,
          .open = OpenRule::Pointwise,
          .type = Standard{.shape = nary::shape,
                           .dtype = dtype,
                           .weak = weak::all,
                           .sharding = nary::sharding,
                           .reduction = reduction,
                           .memory = memory},
          .eval = evaluation};
}

static const Primitive Rows[] = {
    row("add", eval::binary<BinaryOp::Add>, dtypesOf<Numbers>, addReduction,
        {Linearity::Jointly, 2}, runs::sumsOfOneShape),
    row("sub", eval::binary<BinaryOp::Sub>, dtypesOf<Numbers>, subReduction,
        {Linearity::Jointly, 2}, runs::sumsOfOneShape),
    row<Mul>("mul", mulEval, mulDType, mulReduction, {Linearity::EachOf, 2}),
    row("div", divEval, dtypesOf<Numbers>, divReduction,
        {Linearity::EachOf, 1}),
    row("rem", eval::binary<BinaryOp::Rem>, dtypesOf<Ints | Floats>),
    row("max", eval::binary<BinaryOp::Max>, dtypesOf<Any>),
    row("min", eval::binary<BinaryOp::Min>, dtypesOf<Any>),
    row("pow", powEval, powDType),
    row("atan2", eval::binary<BinaryOp::Atan2>, dtypesOf<Inexact>),
    row("nextafter", eval::binary<BinaryOp::Nextafter>, dtypesOf<Floats>),
    row("and", eval::binary<BinaryOp::And>, dtypesOf<Bits>),
    row("or", eval::binary<BinaryOp::Or>, dtypesOf<Bits>),
    row("xor", eval::binary<BinaryOp::Xor>, dtypesOf<Bits>),
    row("shift_left", eval::binary<BinaryOp::ShiftLeft>, dtypesOf<Ints>),
    row("shift_right_arithmetic", eval::binary<BinaryOp::ShiftRightArithmetic>,
        dtypesOf<Ints>),
    row("shift_right_logical", eval::binary<BinaryOp::ShiftRightLogical>,
        dtypesOf<Ints>),
    row("eq", eval::compare<CompareOp::Eq>, predicateOf<Any | Keys>),
    row("ne", eval::compare<CompareOp::Ne>, predicateOf<Any | Keys>),
    row("lt", eval::compare<CompareOp::Lt>, predicateOf<Ordered>),
    row("le", eval::compare<CompareOp::Le>, predicateOf<Ordered>),
    row("gt", eval::compare<CompareOp::Gt>, predicateOf<Ordered>),
    row("ge", eval::compare<CompareOp::Ge>, predicateOf<Ordered>),
    row("eq_to", eval::compare<CompareOp::EqTo>, predicateOf<Any>),
    row("le_to", eval::compare<CompareOp::LeTo>, predicateOf<Ordered>),
    row("lt_to", eval::compare<CompareOp::LtTo>, predicateOf<Ordered>),
    row("complex", complexEval, complexOf<ComplexParts>, nary::nonlinear,
        {Linearity::Jointly, 2}),
    row("mulhi", eval::binary<BinaryOp::Mulhi>, dtypesOf<Ints>, nary::nonlinear,
        {}, runs::noMeshOnCpu),
    row("polygamma", eval::binary<BinaryOp::Polygamma>, dtypesOf<Floats>),
    row("igamma", eval::binary<BinaryOp::Igamma>, dtypesOf<Floats>,
        nary::nonlinear, {}, runs::wholeOnly),
    row("igammac", eval::binary<BinaryOp::Igammac>, dtypesOf<Floats>,
        nary::nonlinear, {}, runs::wholeOnly),
    row("igamma_grad_a", eval::binary<BinaryOp::IgammaGradA>, dtypesOf<Floats>,
        nary::nonlinear, {}, runs::wholeOnly),
    row("zeta", eval::binary<BinaryOp::Zeta>, dtypesOf<Floats>),
    row<NoParams, 3>("regularized_incomplete_beta", betaEval, dtypesOf<Floats>,
                     nary::nonlinear, {}, runs::wholeOnly),
    row<Polynomial, 1, AnyNumber>("polynomial", polynomialEval,
                                  dtypesOf<Numbers>),
    {.info = {"add_any", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 2>,
     .dims = nary::dims,
     .linearity = {Linearity::Jointly, 2},
     .open = OpenRule::Strict,
     .type = Custom{addAny},
     .eval = addAnyEval},
};

ArrayRef<Primitive> shardtype::elementwiseNary() { return Rows; }
