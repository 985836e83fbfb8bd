// ContractionShape.cpp - the dims, shape and dtype of dot_general.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
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

static LogicalResult badNumbers(TypingContext &cx, StringRef key,
                                const std::string &why) {
  return cx.error(diag::ShapeMismatch, key.str() + ": " + why).markParam(key);
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

LogicalResult shardtype::checkDotNumbers(TypingContext &cx, const DotDims &n,
                                         StringRef key) {
  SmallVector<int64_t, 4> lhs(ArrayRef<int64_t>(n.lhsContract));
  SmallVector<int64_t, 4> rhs(ArrayRef<int64_t>(n.rhsContract));
  lhs.append(n.lhsBatch);
  rhs.append(n.rhsBatch);
  if (!areDistinctDims(lhs, cx.shape(0).size()) ||
      !areDistinctDims(rhs, cx.shape(1).size())) // dot_general/shape.1
    return badNumbers(cx, key,
                      "they do not name different dims of the operands");
  if (n.lhsBatch.size() != n.rhsBatch.size() ||
      n.lhsContract.size() != n.rhsContract.size()) // dot_general/shape.2
    return badNumbers(cx, key, "they pair different numbers of dims");
  if (failed(checkPairs(cx, n.lhsBatch, n.rhsBatch, "batch")) ||
      failed(checkPairs(cx, n.lhsContract, n.rhsContract, "contracting")))
    return failure(); // dot_general/shape.3
  return success();
}

FailureOr<Shape> shardtype::dotShape(TypingContext &cx) {
  const DotDims &n = cx.params<DotGeneral>().dimensionNumbers;
  if (failed(checkDotNumbers(cx, n, "dimension_numbers")))
    return failure();
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

FailureOr<DType> shardtype::dotDType(TypingContext &cx) {
  return dotDTypeOf(cx, cx.params<DotGeneral>());
}

FailureOr<DType> shardtype::dotDTypeOf(TypingContext &cx, const DotGeneral &p) {
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
