// ScaledDot.cpp - products of quantised operands with their scales.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "Families.h"
#include "Results.h"
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Rules/Eval.h"

using namespace shardtype;

namespace {
struct ScaledDot {
  DotDims numbers;
  std::optional<DType> preferred;
  static constexpr auto fields = std::tuple(
      field("dimension_numbers", &ScaledDot::numbers),
      optionalField("preferred_element_type", &ScaledDot::preferred));
};
struct ScaledMatmul {
  DType preferred = DType::F32;
  static constexpr auto fields =
      std::tuple(field("preferred_element_type", &ScaledMatmul::preferred));
};
} // namespace

//===--- scaled_dot -------------------------------------------------------===//

static ErrorBuilder badShape(TypingContext &cx, const std::string &why) {
  return cx.error(diag::ShapeMismatch, "'" + cx.name().str() + "': " + why);
}

/// Operands: lhs, rhs, then their scales, of one rank.
static LogicalResult checkRanks(TypingContext &cx) {
  for (unsigned i = 1; i < 4; ++i)
    if (cx.shape(i).size() != cx.shape(0).size())
      return badShape(cx, "all operands have one rank, but are " +
                              cx.arg(cx.operandId(0)) + " and " +
                              cx.arg(cx.operandId(i)))
          .mark(0)
          .mark(i); // scaled_dot/shape.1
  return success();
}

static LogicalResult checkBatch(TypingContext &cx, const DotDims &n) {
  for (auto [l, r] : llvm::zip_equal(n.lhsBatch, n.rhsBatch)) {
    int64_t size = cx.shape(0)[l];
    if (cx.shape(1)[r] != size || cx.shape(2)[l] != size ||
        cx.shape(3)[r] != size)
      return badShape(cx, "batch dims " + std::to_string(l) + " and " +
                              std::to_string(r) + " have different sizes")
          .mark(0, l)
          .mark(1, r);
  }
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract))
    if (cx.shape(0)[l] != cx.shape(1)[r])
      return badShape(cx, "contracting dims " + std::to_string(l) + " and " +
                              std::to_string(r) + " have different sizes")
          .mark(0, l)
          .mark(1, r);
  return success(); // scaled_dot/shape.2
}

/// One scale for at least two elements along contracting dims, for one element
/// along all others.
static LogicalResult checkScale(TypingContext &cx, unsigned side,
                                ArrayRef<int64_t> contract) {
  for (auto [d, size] : llvm::enumerate(cx.shape(side))) {
    int64_t scales = cx.shape(2 + side)[d];
    if (failed(checkKnown(cx, side, d)) || failed(checkKnown(cx, 2 + side, d)))
      return failure();
    bool fits = llvm::is_contained(contract, static_cast<int64_t>(d))
                    ? scales > 0 && size % scales == 0 && size / scales >= 2
                    : scales == size;
    if (!fits)
      return badShape(cx, "dim " + std::to_string(d) + " of size " +
                              std::to_string(size) + " cannot have " +
                              std::to_string(scales) + " scales")
          .mark(side, d)
          .mark(2 + side, d);
  }
  return success(); // scaled_dot/shape.3
}

static LogicalResult checkNumbers(TypingContext &cx, const DotDims &n) {
  if (n.lhsBatch.size() != n.rhsBatch.size() ||
      n.lhsContract.size() != n.rhsContract.size())
    return badShape(cx, "dimension_numbers pair different numbers of dims")
        .markParam("dimension_numbers");
  SmallVector<int64_t, 4> lhs(ArrayRef<int64_t>(n.lhsContract));
  SmallVector<int64_t, 4> rhs(ArrayRef<int64_t>(n.rhsContract));
  lhs.append(n.lhsBatch);
  rhs.append(n.rhsBatch);
  if (!areDistinctDims(lhs, cx.shape(0).size()) ||
      !areDistinctDims(rhs, cx.shape(1).size()))
    return badShape(cx, "dimension_numbers do not name different dims")
        .markParam("dimension_numbers");
  return success();
}

/// scaled_dot/sharding.1: JAX builds the result without a mesh. Where operands
/// are sharded, what it is sharded like is lost.
static LogicalResult typeScaledDot(TypingContext &cx) {
  const auto &p = cx.params<ScaledDot>();
  if (failed(checkArrays(cx)) || failed(checkRanks(cx)) ||
      failed(checkNumbers(cx, p.numbers)) ||
      failed(checkBatch(cx, p.numbers)) ||
      failed(checkScale(cx, 0, p.numbers.lhsContract)) ||
      failed(checkScale(cx, 1, p.numbers.rhsContract)))
    return failure();
  DotSides sides(p.numbers, cx.shape(0).size(), cx.shape(1).size());
  Shape shape;
  for (unsigned dim = 0; dim < sides.rank(); ++dim) {
    auto [operand, from] = sides.sources(dim).front();
    shape.push_back(cx.shape(operand)[from]);
  }
  FailureOr<TypeId> type =
      cx.makeType(shape, p.preferred.value_or(DType::BF16),
                  replicated(MeshId(), shape.size())); // scaled_dot/dtype.1
  if (failed(type))
    return failure();
  return setResults(cx, *type);
}

//===--- scaled_matmul, scaled_matmul_wrapper -----------------------------===//

/// scaled_matmul/type.1: (b, m, k) and (b, n, k) give (b, m, n), no mesh.
static LogicalResult typeScaledMatmul(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  for (unsigned i = 0; i < 2; ++i)
    if (cx.shape(i).size() != 3)
      return cx
          .error(diag::ShapeInvalid, "'" + cx.name().str() +
                                         "' takes batches of matrices, not " +
                                         cx.arg(cx.operandId(i)))
          .mark(i);
  Shape shape{cx.shape(0)[0], cx.shape(0)[1], cx.shape(1)[1]};
  FailureOr<TypeId> type = cx.makeType(
      shape, cx.params<ScaledMatmul>().preferred, replicated(MeshId(), 3));
  if (failed(type))
    return failure();
  return setResults(cx, *type);
}

/// Results are on no mesh, so operands are used whole.
static DimMap wholeDims(TypingContext &cx) {
  DimMap map;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    DimMap::Dims &dims = map.operands.emplace_back();
    for (int64_t size : cx.shape(i))
      dims.push_back(addFactor(map, FactorRole::Whole, size));
  }
  for (const Typed &result : cx.results())
    map.results.emplace_back().resize(
        result.type.valid() ? cx.context().type(result.type).rank() : 0);
  return map;
}

/// Operands are scaled in bf16.
static LogicalResult scaledDotEval(EvalContext &cx) {
  const DotDims &n = cx.params<ScaledDot>().numbers;
  Tensor lhs =
      kernels::scaledOperand(cx.operand(0), cx.operand(2), DType::BF16);
  Tensor rhs =
      kernels::scaledOperand(cx.operand(1), cx.operand(3), DType::BF16);
  cx.setResult(0, kernels::dotGeneral(
                      lhs, rhs,
                      {n.lhsContract, n.rhsContract, n.lhsBatch, n.rhsBatch},
                      cx.resultDType()));
  return success();
}

static constexpr NoRule GpuOnly{NoRule::NotImplemented,
                                "it is a call of a library for GPUs"};

template <typename P, typename Type>
static constexpr Primitive row(StringRef name, Type type, EvalRule eval) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, 4>,
          .dims = wholeDims,
          .linearity = {Linearity::EachOf, 4},
          .open = OpenRule::Opaque,
          .type = Custom{type},
          .eval = eval};
}

static const Primitive Rows[] = {
    row<ScaledDot>("scaled_dot", typeScaledDot, scaledDotEval),
    row<ScaledMatmul>("scaled_matmul", typeScaledMatmul, GpuOnly),
    row<ScaledMatmul>("scaled_matmul_wrapper", typeScaledMatmul, GpuOnly),
};

ArrayRef<Primitive> shardtype::scaledDots() { return Rows; }
