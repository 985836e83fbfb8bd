// Splitting.cpp - unstack, split and tile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

namespace {
struct Unstack {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple(field("axis", &Unstack::axis));
};

struct Split {
  int64_t axis = 0;
  SmallVector<int64_t, 4> sizes;
  static constexpr auto fields =
      std::tuple(field("axis", &Split::axis), field("sizes", &Split::sizes));
};

struct Tile {
  SmallVector<int64_t, 4> reps;
  static constexpr auto fields = std::tuple(field("reps", &Tile::reps));
};
} // namespace

static LogicalResult checkArray(TypingContext &cx) {
  if (cx.operand(0).isArray())
    return success();
  return cx.error(diag::DTypeMismatch, "'" + cx.name().str() +
                                           "' takes arrays, but operand 0 is " +
                                           cx.arg(cx.operandId(0)));
}

/// Python takes negative axes; one out of range is an index error there.
static FailureOr<unsigned> checkAxis(TypingContext &cx, int64_t axis) {
  if (auto dim = pythonIndex(axis, cx.shape(0).size()))
    return *dim;
  return cx
      .error(diag::AccidentalIndex, cx.name(),
             std::to_string(axis) + " is not a dim of a value of rank " +
                 std::to_string(cx.shape(0).size()))
      .markParam("axis");
}

//===--- unstack ----------------------------------------------------------===//

static FailureOr<Sharding> unstackSharding(TypingContext &cx, unsigned dim) {
  const Sharding &s = cx.sharding(0);
  Sharding result = withoutDims(s, dim);
  if (s.hasUR()) { // unstack/reduction.1
    ErrorBuilder error = refuseSets(cx, diag::SpecIteration, 0);
    if (auto sound = soundSets(cx, result, /*linear=*/true);
        sound && s.dims[dim].empty() && cx.numResults() > 0) {
      Type type = cx.operand(0);
      type.shape.erase(type.shape.begin() + dim);
      type.sharding = *sound;
      error.soundTypes(
          SmallVector<TypeId, 4>(cx.numResults(), cx.context().intern(type)));
    }
    return error;
  }
  if (!s.dims[dim].empty()) // unstack/sharding.1
    return cx.error(diag::UnstackSharded, dim, s.dims[dim])
        .mark(0, dim)
        .fixOperand(0, withWholeDim(s, dim));
  return result; // unstack/sharding.2
}

static LogicalResult typeUnstack(TypingContext &cx) {
  if (failed(checkArray(cx)) || failed(cx.checkContextMesh()))
    return failure();
  FailureOr<unsigned> dim =
      checkAxis(cx, cx.params<Unstack>().axis); // unstack/shape.1
  if (failed(dim) || failed(checkKnown(cx, 0, *dim)))
    return failure();
  int64_t size = cx.shape(0)[*dim];
  Shape shape = cx.operand(0).shape;
  shape.erase(shape.begin() + *dim);
  // As many as are bound: the size may be beyond any program.
  SmallVector<Shape, 4> shapes(cx.numResults(), shape);
  LogicalResult typed = typeResults(cx, shapes, [&](auto &shardings) {
    FailureOr<Sharding> sharding = unstackSharding(cx, *dim);
    if (succeeded(sharding))
      shardings.assign(shapes.size(), *sharding);
    return LogicalResult(sharding);
  });
  if (succeeded(typed) && size != cx.numResults())
    return cx.error(diag::ResultCount, cx.name(), size, cx.numResults());
  return typed; // unstack/shape.2
}

static DimMap unstackDims(TypingContext &cx) {
  unsigned dim =
      pythonIndex(cx.params<Unstack>().axis, cx.shape(0).size()).value_or(0);
  DimMap map = sameDims(cx, dim, FactorRole::Whole);
  for (DimMap::Dims &result : map.results)
    result.erase(result.begin() + dim);
  return map;
}

//===--- split ------------------------------------------------------------===//

static LogicalResult checkSplit(TypingContext &cx, unsigned dim) {
  ArrayRef<int64_t> sizes = cx.params<Split>().sizes;
  __int128 total = 0;
  for (int64_t size : sizes) {
    if (size < 0)
      return cx.error(diag::ParamInvalid, "sizes", "a size is below 0")
          .markParam("sizes"); // split/shape.1
    total += size;
  }
  if (failed(checkKnown(cx, 0, dim)))
    return failure();
  if (total == cx.shape(0)[dim])
    return success();
  return cx
      .error(diag::ParamInvalid, "sizes",
             listText(sizes) + " do not add up to " +
                 std::to_string(cx.shape(0)[dim]))
      .mark(0, dim)
      .markParam("sizes"); // split/shape.2
}

static LogicalResult typeSplit(TypingContext &cx) {
  if (failed(checkArray(cx)) || failed(cx.checkContextMesh()))
    return failure();
  FailureOr<unsigned> dim = checkAxis(cx, cx.params<Split>().axis);
  if (failed(dim) || failed(checkSplit(cx, *dim)))
    return failure();
  SmallVector<Shape, 4> shapes;
  for (int64_t size : cx.params<Split>().sizes) {
    shapes.push_back(cx.operand(0).shape);
    shapes.back()[*dim] = size; // split/shape.3
  }
  return typeResults(cx, shapes, [&](auto &shardings) -> LogicalResult {
    for (const Shape &shape : shapes) { // split/sharding.1
      FailureOr<Sharding> sharding = varyingShape(cx, 0, shape);
      if (failed(sharding))
        return failure();
      shardings.push_back(std::move(*sharding));
    }
    return requireSum(cx, 0); // split/reduction.1
  });
}

static DimMap splitDims(TypingContext &cx) {
  unsigned dim =
      pythonIndex(cx.params<Split>().axis, cx.shape(0).size()).value_or(0);
  return sameDims(cx, dim, FactorRole::Halo);
}

//===--- tile -------------------------------------------------------------===//

static LogicalResult tileSharding(TypingContext &cx, const Shape &shape) {
  const Sharding &s = cx.sharding(0);
  ArrayRef<int64_t> reps = cx.params<Tile>().reps;
  std::optional<unsigned> repeated;
  for (unsigned d = 0; d < reps.size() && !repeated; ++d)
    if (reps[d] != 1 && !s.dims[d].empty())
      repeated = d;
  if (s.hasUR()) { // tile/reduction.1
    ErrorBuilder error = refuseSets(cx, diag::SpecIteration, 0);
    auto sound = soundSets(cx, s, /*linear=*/true);
    if (sound && !repeated) {
      Type type = cx.operand(0);
      type.shape = shape;
      error.soundTypes(cx.context().intern(type));
    }
    return error;
  }
  if (repeated) // tile/sharding.1
    return cx.error(diag::TileSharded, *repeated, s.dims[*repeated])
        .mark(0, *repeated)
        .fixOperand(0, withWholeDim(s, *repeated));
  return success();
}

static LogicalResult typeTile(TypingContext &cx) {
  if (failed(checkArray(cx)))
    return failure();
  ArrayRef<int64_t> reps = cx.params<Tile>().reps;
  Shape shape = cx.operand(0).shape;
  if (reps.size() != shape.size())
    return cx
        .error(diag::ShapeMismatch, // tile/shape.1
               "reps " + listText(reps) + " for a value of rank " +
                   std::to_string(shape.size()))
        .markParam("reps");
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (reps[d] == 1)
      continue;
    if (Dim::isSymbolic(shape[d])) {
      FailureOr<int64_t> traced = tracedSize(cx, 0, d, d);
      if (failed(traced))
        return failure();
      shape[d] = *traced;
      continue;
    }
    if (reps[d] < 0 || llvm::MulOverflow(shape[d], reps[d], shape[d]))
      return cx
          .error(diag::ShapeMismatch, "dim " + std::to_string(d) +
                                          " cannot be repeated " +
                                          std::to_string(reps[d]) + " times")
          .mark(0, d)
          .markParam("reps"); // tile/shape.2
  }
  auto sharding = [&](auto &shardings) {
    shardings.push_back(cx.sharding(0)); // tile/sharding.2
    return tileSharding(cx, shape);
  };
  return typeResults(cx, shape, sharding, /*keepsState=*/true);
}

static DimMap tileDims(TypingContext &cx) {
  SmallVector<int64_t, 4> repeated;
  for (auto [d, n] : llvm::enumerate(cx.params<Tile>().reps))
    if (n != 1)
      repeated.push_back(d);
  DimMap map = sameDims(cx, repeated, FactorRole::Whole);
  for (int64_t d : repeated) {
    int64_t size = llvm::SaturatingMultiply<uint64_t>(
        cx.shape(0)[d], std::max<int64_t>(cx.params<Tile>().reps[d], 0));
    map.results[0][d] = addFactor(map, FactorRole::Broadcast, size);
  }
  return map;
}

static LogicalResult giveAll(EvalContext &cx, std::vector<Tensor> parts) {
  for (unsigned i = 0; i < parts.size(); ++i)
    cx.setResult(i, std::move(parts[i]));
  return success();
}
static LogicalResult unstackEval(EvalContext &cx) {
  return giveAll(cx,
                 kernels::unstack(cx.operand(0), cx.params<Unstack>().axis));
}
static LogicalResult splitEval(EvalContext &cx) {
  const auto &params = cx.params<Split>();
  return giveAll(cx, kernels::split(cx.operand(0), params.sizes, params.axis));
}
static LogicalResult tileEval(EvalContext &cx) {
  return eval::give(cx, kernels::tile(cx.operand(0), cx.params<Tile>().reps));
}

static const Primitive Rows[] = {{.info = {"unstack", schemaOf<Unstack>},
                                  .decode = decodeFor<Unstack, 1>,
                                  .dims = unstackDims,
                                  .linearity = {Linearity::Jointly, 1},
                                  .open = OpenRule::Opaque,
                                  .type = Custom{typeUnstack},
                                  .eval = unstackEval},
                                 {.info = {"split", schemaOf<Split>},
                                  .decode = decodeFor<Split, 1>,
                                  .dims = splitDims,
                                  .linearity = {Linearity::Jointly, 1},
                                  .open = OpenRule::Opaque,
                                  .type = Custom{typeSplit},
                                  .eval = splitEval},
                                 {.info = {"tile", schemaOf<Tile>},
                                  .decode = decodeFor<Tile, 1>,
                                  .dims = tileDims,
                                  .linearity = {Linearity::Jointly, 1},
                                  .open = OpenRule::Opaque,
                                  .type = Custom{typeTile},
                                  .eval = tileEval}};

ArrayRef<Primitive> shardtype::splitting() { return Rows; }
