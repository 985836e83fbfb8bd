// Select.cpp - select_n and clamp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "Evals.h"
#include "Families.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

//===--- select_n ---------------------------------------------------------===//

/// select_n/shape.1, select_n/shape.2
static FailureOr<Shape> selectShape(TypingContext &cx) {
  for (unsigned i = 2; i < cx.numOperands(); ++i)
    if (cx.shape(i) != cx.shape(1))
      return cx
          .error(diag::ShapeMismatch,
                 "the cases of 'select_n' have different shapes: " +
                     cx.arg(cx.operandId(1)) + " and " +
                     cx.arg(cx.operandId(i)))
          .mark(1)
          .mark(i);
  if (cx.operand(0).rank() != 0 && cx.shape(0) != cx.shape(1))
    return cx
        .error(diag::ShapeMismatch,
               "the predicate of 'select_n' is neither a scalar nor of the "
               "cases' shape: " +
                   cx.arg(cx.operandId(0)) + " and " + cx.arg(cx.operandId(1)))
        .mark(0)
        .mark(1);
  return cx.operand(1).shape;
}

/// select_n/dtype.1
static FailureOr<DType> selectDType(TypingContext &cx) {
  if (failed(checkSameDTypes(cx, 1)) || failed(checkDType(cx, 0, Bits)))
    return failure();
  if (cx.operand(0).dtype == DType::Bool && cx.numOperands() > 3)
    return cx
        .error(diag::DTypeMismatch,
               "a bool chooses between two cases at most, but there are " +
                   cx.arg(cx.numOperands() - 1))
        .mark(0);
  return cx.operand(1).dtype;
}

/// select_n/weak.1
static bool selectWeak(TypingContext &cx) {
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (!cx.operand(i).weak)
      return false;
  return true;
}

/// The first case that has a mesh; cases without one fit any sharding.
static std::optional<unsigned> firstPlacedCase(TypingContext &cx) {
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasMesh())
      return i;
  return std::nullopt;
}

/// select_n/sharding.1 to .4: no merging here, unlike nary/sharding.1.
static FailureOr<Sharding> selectSharding(TypingContext &cx) {
  std::optional<unsigned> first = firstPlacedCase(cx);
  if (!first) // select_n/sharding.4
    return replicated(cx.mesh(), cx.resultShape().size());
  const Sharding &wanted = cx.sharding(*first);
  for (unsigned i = *first + 1; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    if (!s.hasMesh() || s == wanted)
      continue;
    return cx
        .error(diag::SelectCases, wanted, s) // select_n/sharding.2
        .mark(*first)
        .mark(i)
        .fixOperand(i, wanted)
        .fixOperand(*first, s);
  }
  const Sharding &which = cx.sharding(0);
  if (cx.operand(0).rank() == 0 || !which.hasMesh() ||
      (which.mesh == wanted.mesh && which.dims == wanted.dims))
    return wanted; // select_n/sharding.1
  Sharding same = withoutSets(wanted);
  return cx
      .error(diag::SelectPredicate, which, wanted) // select_n/sharding.3
      .mark(0)
      .mark(*first)
      .fixOperand(0, same);
}

/// select_n/unreduced.1
static FailureOr<ReductionSets> selectReduction(TypingContext &cx) {
  std::optional<unsigned> first = firstPlacedCase(cx);
  if (!first)
    return ReductionSets{};
  if (failed(requireSum(cx, *first)))
    return failure();
  const Sharding &s = cx.sharding(*first);
  return ReductionSets{s.unreduced, s.reduced, s.kind};
}

//===--- clamp ------------------------------------------------------------===//

/// clamp/shape.1
static FailureOr<Shape> clampShape(TypingContext &cx) {
  for (unsigned i : {0u, 2u})
    if (cx.operand(i).rank() != 0 && cx.shape(i) != cx.shape(1))
      return cx
          .error(diag::ShapeMismatch,
                 "a bound of 'clamp' is neither a scalar nor of the operand's "
                 "shape: " +
                     cx.arg(cx.operandId(i)) + " and " +
                     cx.arg(cx.operandId(1)))
          .mark(i)
          .mark(1);
  return cx.operand(1).shape;
}

/// clamp/sharding.1, clamp/unreduced.1: JAX does not look at the shardings of
/// the bounds.
static FailureOr<Sharding> clampSharding(TypingContext &cx) {
  return cx.sharding(1);
}

static LogicalResult selectEval(EvalContext &cx) {
  return eval::give(cx,
                    kernels::selectN(cx.operand(0), eval::operandsFrom(cx, 1)));
}
static LogicalResult clampEval(EvalContext &cx) {
  return eval::give(cx,
                    kernels::clamp(cx.operand(0), cx.take(1), cx.operand(2)));
}

static const Primitive Rows[] = {
    // Linear in the cases, but not in operand 0, which no Linearity says.
    {.info = {"select_n", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 2, AnyNumber>,
     .dims = nary::dims,
     .linearity = {},
     .open = OpenRule::Strict,
     .type = Standard{.shape = selectShape,
                      .dtype = selectDType,
                      .weak = selectWeak,
                      .sharding = selectSharding,
                      .reduction = selectReduction,
                      .memory = memory::standard},
     .eval = selectEval},
    {.info = {"clamp", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 3>,
     .dims = nary::dims,
     .linearity = {},
     .open = OpenRule::Strict,
     .type = Standard{.shape = clampShape,
                      .dtype = dtypesOf<Any>,
                      .weak = weak::all,
                      .sharding = clampSharding,
                      .reduction = reduction::missing<clampSharding>,
                      .memory = memory::standard},
     .eval = clampEval},
};

ArrayRef<Primitive> shardtype::selection() { return Rows; }
