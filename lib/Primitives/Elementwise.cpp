// Elementwise.cpp - operations on one element at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "shardtype/Rules/Params.h"

using namespace shardtype;

static FailureOr<Shape> unaryShape(TypingContext &cx) {
  return cx.operand(0).shape;
}
static FailureOr<DType> sameDType(TypingContext &cx) {
  return cx.operand(0).dtype;
}
static bool allWeak(TypingContext &cx) { return cx.operand(0).weak; }
static FailureOr<Sharding> operandSharding(TypingContext &cx) {
  return cx.sharding(0);
}
/// Reduced passes; partial sums do not, for the operation is not linear.
static FailureOr<ReductionSets> nonlinear(TypingContext &cx) {
  if (!cx.sharding(0).unreduced.empty())
    return cx
        .error(diag::NonlinearUnreduced, cx.name(), cx.sharding(0).unreduced)
        .mark(0);
  return ReductionSets{{}, cx.sharding(0).reduced, ReductionKind::None};
}
static FailureOr<MemorySpace> sameMemory(TypingContext &cx) {
  return cx.operand(0).memory;
}
static DimMap unaryDims(TypingContext &cx) {
  return pointwise({cx.shape(0)}, cx.resultShape());
}

static const Primitive Rows[] = {{.info = {"sin", schemaOf<NoParams>},
                                  .decode = decodeParams<NoParams>,
                                  .dims = unaryDims,
                                  .linearity = {},
                                  .open = OpenRule::Pointwise,
                                  .type = Standard{.shape = unaryShape,
                                                   .dtype = sameDType,
                                                   .weak = allWeak,
                                                   .sharding = operandSharding,
                                                   .reduction = nonlinear,
                                                   .memory = sameMemory}}};

ArrayRef<Primitive> shardtype::elementwise() { return Rows; }
