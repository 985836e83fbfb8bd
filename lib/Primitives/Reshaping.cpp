// Reshaping.cpp - squeeze, transpose and rev.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"

using namespace shardtype;

namespace {
/// squeeze and rev.
struct Dimensions {
  SmallVector<int64_t, 4> dimensions;
  static constexpr auto fields =
      std::tuple(field("dimensions", &Dimensions::dimensions));
};

struct Transpose {
  SmallVector<int64_t, 4> permutation;
  static constexpr auto fields =
      std::tuple(field("permutation", &Transpose::permutation));
};
} // namespace

//===--- squeeze ----------------------------------------------------------===//

static FailureOr<Shape> squeezeShape(TypingContext &cx) {
  ArrayRef<int64_t> dims = cx.params<Dimensions>().dimensions;
  ArrayRef<int64_t> shape = cx.shape(0);
  auto bad = [&](const std::string &why) {
    return cx.error(diag::ParamInvalid, "dimensions", why)
        .markParam("dimensions");
  };
  if (!areDistinctDims(dims, shape.size()))
    return bad(listText(dims) + " are not different dims of a value of rank " +
               std::to_string(shape.size())); // squeeze/shape.1
  for (int64_t dim : dims) {
    if (shape[dim] != 1)
      return bad("dim " + std::to_string(dim) + " has size " +
                 std::to_string(shape[dim]) + ", not 1")
          .mark(0, dim); // squeeze/shape.2
  }
  Shape result;
  for (unsigned d = 0; d < shape.size(); ++d)
    if (!llvm::is_contained(dims, d))
      result.push_back(shape[d]);
  return result;
}

static FailureOr<Sharding> squeezeSharding(TypingContext &cx) {
  return withoutDims(cx.sharding(0),
                     cx.params<Dimensions>().dimensions); // squeeze/sharding.1
}

static DimMap squeezeDims(TypingContext &cx) {
  DimMap map = sameDims(cx, {}, FactorRole::Pass);
  DimMap::Dims &result = map.results[0];
  result.clear();
  for (unsigned d = 0; d < map.operands[0].size(); ++d)
    if (!llvm::is_contained(cx.params<Dimensions>().dimensions, d))
      result.push_back(map.operands[0][d]);
  return map;
}

//===--- transpose --------------------------------------------------------===//

static FailureOr<Shape> transposeShape(TypingContext &cx) {
  ArrayRef<int64_t> permutation = cx.params<Transpose>().permutation;
  unsigned rank = cx.shape(0).size();
  if (permutation.size() != rank || !areDistinctDims(permutation, rank))
    return cx
        .error(diag::ShapeMismatch, // transpose/shape.1
               "permutation " + listText(permutation) +
                   " is not one of the dims of a value of rank " +
                   std::to_string(rank))
        .markParam("permutation");
  Shape result;
  for (int64_t dim : permutation)
    result.push_back(cx.shape(0)[dim]);
  return result;
}

static FailureOr<Sharding> transposeSharding(TypingContext &cx) {
  Sharding result = cx.sharding(0);
  for (auto [to, from] : llvm::enumerate(cx.params<Transpose>().permutation))
    result.dims[to] = cx.sharding(0).dims[from]; // transpose/sharding.1
  return result;
}

static DimMap transposeDims(TypingContext &cx) {
  DimMap map = sameDims(cx, {}, FactorRole::Pass);
  for (auto [to, from] : llvm::enumerate(cx.params<Transpose>().permutation))
    map.results[0][to] = map.operands[0][from];
  return map;
}

//===--- rev --------------------------------------------------------------===//

static FailureOr<Shape> revShape(TypingContext &cx) {
  ArrayRef<int64_t> dims = cx.params<Dimensions>().dimensions;
  unsigned rank = cx.shape(0).size();
  if (areDistinctDims(dims, rank))
    return cx.operand(0).shape;
  return cx
      .error(diag::ShapeMismatch, // rev/shape.1
             "dimensions " + listText(dims) +
                 " are not different dims of a value of rank " +
                 std::to_string(rank))
      .markParam("dimensions");
}

/// JAX has no rule for sets. Reversing is linear and reverses copies alike.
static FailureOr<ReductionSets> revReduction(TypingContext &cx) {
  if (!cx.sharding(0).hasUR())
    return ReductionSets{};
  ErrorBuilder error =
      refuseSets(cx, diag::RuleMissingUR, 0); // rev/reduction.1
  if (auto sound = soundSets(cx, cx.sharding(0), /*linear=*/true))
    error.sound(*sound);
  return error;
}

static DimMap revDims(TypingContext &cx) {
  return sameDims(cx, cx.params<Dimensions>().dimensions, FactorRole::Permute);
}

static LogicalResult squeezeEval(EvalContext &cx) {
  return eval::give(cx, cx.take(0).reshaped(cx.resultShape()));
}
static LogicalResult transposeEval(EvalContext &cx) {
  return eval::give(cx, kernels::transpose(cx.operand(0),
                                           cx.params<Transpose>().permutation));
}
static LogicalResult revEval(EvalContext &cx) {
  return eval::give(
      cx, kernels::reverse(cx.operand(0), cx.params<Dimensions>().dimensions));
}

static const Primitive Rows[] = {
    {.info = {"squeeze", schemaOf<Dimensions>},
     .decode = decodeFor<Dimensions, 1>,
     .dims = squeezeDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = squeezeShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = squeezeSharding,
                      .reduction = passKinds,
                      .memory = memory::standard},
     .eval = squeezeEval},
    {.info = {"transpose", schemaOf<Transpose>},
     .decode = decodeFor<Transpose, 1>,
     .dims = transposeDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = transposeShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = transposeSharding,
                      .reduction = passKinds,
                      .memory = memory::standard},
     .eval = transposeEval},
    {.info = {"rev", schemaOf<Dimensions>},
     .decode = decodeFor<Dimensions, 1>,
     .dims = revDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = revShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = sharding::operand,
                      .reduction = revReduction,
                      .memory = memory::standard},
     .eval = revEval}};

ArrayRef<Primitive> shardtype::reshaping() { return Rows; }
