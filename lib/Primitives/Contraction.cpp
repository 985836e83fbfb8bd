// Contraction.cpp - dot_general.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "Families.h"
#include <tuple>

using namespace shardtype;

//===--- Sides ------------------------------------------------------------===//

static SmallVector<int64_t, 4> freeDims(unsigned rank, ArrayRef<int64_t> a,
                                        ArrayRef<int64_t> b) {
  SmallVector<int64_t, 4> dims;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(a, d) && !llvm::is_contained(b, d))
      dims.push_back(d);
  return dims;
}

DotSides::DotSides(const DotDims &n, unsigned lhsRank, unsigned rhsRank)
    : numbers(n), lhsFree(freeDims(lhsRank, n.lhsContract, n.lhsBatch)),
      rhsFree(freeDims(rhsRank, n.rhsContract, n.rhsBatch)) {}

SmallVector<std::pair<unsigned, unsigned>, 2>
DotSides::sources(unsigned dim) const {
  unsigned batch = numbers.lhsBatch.size();
  if (dim < batch)
    return {{0, numbers.lhsBatch[dim]}, {1, numbers.rhsBatch[dim]}};
  dim -= batch;
  if (dim < lhsFree.size())
    return {{0, lhsFree[dim]}};
  return {{1, rhsFree[dim - lhsFree.size()]}};
}

Sharding DotSides::natural(const Sharding &lhs, const Sharding &rhs) const {
  Sharding result;
  result.mesh = lhs.hasMesh() ? lhs.mesh : rhs.mesh;
  for (int64_t d : numbers.lhsBatch)
    result.dims.push_back(lhs.dims[d]);
  for (int64_t d : lhsFree)
    result.dims.push_back(lhs.dims[d]);
  for (int64_t d : rhsFree)
    result.dims.push_back(rhs.dims[d]);
  return result;
}

std::optional<Sharding> DotSides::inferred(const Sharding &lhs,
                                           const Sharding &rhs) const {
  for (auto [l, r] : llvm::zip_equal(numbers.lhsBatch, numbers.rhsBatch))
    if (lhs.dims[l] != rhs.dims[r])
      return std::nullopt;
  for (auto [l, r] : llvm::zip_equal(numbers.lhsContract, numbers.rhsContract))
    if (!lhs.dims[l].empty() && !rhs.dims[r].empty())
      return std::nullopt;
  Sharding result = natural(lhs, rhs);
  unsigned count = 0;
  for (const AxisList &entry : result.dims)
    count += entry.size();
  if (count != result.axes().size())
    return std::nullopt;
  return result;
}

//===--- Shapes and dtypes ------------------------------------------------===//

static LogicalResult badNumbers(TypingContext &cx, const std::string &why) {
  return cx.error(diag::ShapeMismatch, "dimension_numbers: " + why)
      .markParam("dimension_numbers");
}

/// Sizes of paired dims are equal.
static LogicalResult checkPairs(TypingContext &cx, ArrayRef<int64_t> lhs,
                                ArrayRef<int64_t> rhs, const char *what) {
  for (auto [l, r] : llvm::zip_equal(lhs, rhs))
    if (cx.shape(0)[l] != cx.shape(1)[r])
      return cx
          .error(diag::ShapeMismatch,
                 std::string(what) + " dims " + std::to_string(l) + " and " +
                     std::to_string(r) + " have different sizes")
          .mark(0, l)
          .mark(1, r);
  return success();
}

static FailureOr<Shape> dotShape(TypingContext &cx) {
  const DotDims &n = cx.params<DotGeneral>().dimensionNumbers;
  SmallVector<int64_t, 4> lhs(ArrayRef<int64_t>(n.lhsContract));
  SmallVector<int64_t, 4> rhs(ArrayRef<int64_t>(n.rhsContract));
  lhs.append(n.lhsBatch);
  rhs.append(n.rhsBatch);
  if (!areDistinctDims(lhs, cx.shape(0).size()) ||
      !areDistinctDims(rhs, cx.shape(1).size())) // dot_general/shape.1
    return badNumbers(cx, "they do not name different dims of the operands");
  if (n.lhsBatch.size() != n.rhsBatch.size() ||
      n.lhsContract.size() != n.rhsContract.size()) // dot_general/shape.2
    return badNumbers(cx, "they pair different numbers of dims");
  if (failed(checkPairs(cx, n.lhsBatch, n.rhsBatch, "batch")) ||
      failed(checkPairs(cx, n.lhsContract, n.rhsContract, "contracting")))
    return failure(); // dot_general/shape.3
  DotSides sides(cx);
  Shape result;
  for (unsigned dim = 0; dim < sides.rank(); ++dim) {
    auto [operand, from] = sides.sources(dim).front();
    result.push_back(cx.shape(operand)[from]); // dot_general/shape.4
  }
  return result;
}

/// Exponent of the largest value; for complex dtypes, of their parts. Formats
/// without infinities reach further than their exponent bits say.
static int maxExponent(DType dtype) {
  switch (dtype) {
  case DType::F4E2M1FN:
  case DType::F6E2M3FN:
    return 3;
  case DType::F6E3M2FN:
  case DType::F8E4M3B11FNUZ:
    return 5;
  case DType::F8E4M3FN:
    return 9;
  default:
    return 1 << (info(dtype).exponent - 1);
  }
}

/// Bits of an element, for complex dtypes of its parts.
static unsigned bitWidth(DType dtype) {
  if (info(dtype).kind == DTypeKind::Bool)
    return 1;
  return isComplex(dtype) ? info(dtype).bits / 2 : info(dtype).bits;
}

/// What decides which of two dtypes a product has: the larger.
static std::tuple<bool, int, int, unsigned, bool> strength(DType dtype) {
  bool inexact = isFloat(dtype) || isComplex(dtype);
  return {isComplex(dtype), inexact ? maxExponent(dtype) : -1,
          inexact ? static_cast<int>(info(dtype).mantissa) : -1,
          bitWidth(dtype), info(dtype).kind != DTypeKind::Unsigned};
}

/// A dot algorithm, not a Precision or a pair of them.
static bool isAlgorithm(TypingContext &cx, const Value *precision) {
  if (!precision)
    return false;
  StringRef name =
      precision->text.valid() ? cx.context().str(precision->text) : StringRef();
  switch (precision->kind) {
  case Value::Enum:
  case Value::Struct:
    return name != "Precision";
  case Value::OpaqueText:
  case Value::Str:
    return !name.starts_with("Precision.") && name != "DEFAULT" &&
           name != "HIGH" && name != "HIGHEST";
  default:
    return false;
  }
}

static FailureOr<DType> dotDType(TypingContext &cx) {
  const auto &p = cx.params<DotGeneral>();
  DType lhs = cx.operand(0).dtype, rhs = cx.operand(1).dtype;
  for (unsigned i = 0; i < 2; ++i)
    if (isKey(cx.operand(i).dtype) || cx.operand(i).dtype == DType::Float0)
      return cx
          .error(diag::DTypeRefused, cx.name(),
                 info(cx.operand(i).dtype).longName, i, "numbers or bool")
          .mark(i); // dot_general/dtype.1
  if (lhs != rhs && strength(lhs) == strength(rhs))
    return cx
        .error(diag::DTypesDiffer, cx.name(),
               cx.arg(cx.operandId(0)) + ", " + cx.arg(cx.operandId(1)))
        .mark(0)
        .mark(1); // dot_general/dtype.2
  DType result = strength(lhs) >= strength(rhs) ? lhs : rhs;
  if (!p.preferredElementType)
    return result;
  DType preferred = *p.preferredElementType;
  if (preferred != result && !isFloat(result) &&
      !isAlgorithm(cx, p.precision) && bitWidth(preferred) < bitWidth(result))
    return cx
        .error(diag::DTypeMismatch,
               "preferred_element_type " + info(preferred).longName.str() +
                   " is narrower than " + info(result).longName.str())
        .markParam("preferred_element_type"); // dot_general/dtype.3
  return preferred;                           // dot_general/dtype.4
}

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
      ErrorBuilder error =
          cx.error(diag::IllegalResult, AxisSet::of(axis), a, b, result);
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
  ErrorBuilder error = cx.error(diag::DotUnreducedOperand, i, s.unreduced)
                           .mark(i)
                           .fixOperand(i, withoutUnreduced(s));
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

static const Primitive Rows[] = {
    {.info = {"dot_general", schemaOf<DotGeneral>},
     .decode = decodeFor<DotGeneral, 2>,
     .dims = dotDims,
     .linearity = {Linearity::EachOf, 2},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = dotShape,
                      .dtype = dotDType,
                      .weak = weak::all,
                      .sharding = dotSharding,
                      .reduction = dotReduction,
                      .memory = memory::standard}}};

ArrayRef<Primitive> shardtype::contraction() { return Rows; }
