// Values.cpp - values from nothing: iota, empty and broadcasts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Kernels/Shape.h"

using namespace shardtype;

//===--- iota, empty, empty2 ----------------------------------------------===//

namespace {
struct Iota {
  int64_t dimension = 0;
  DType dtype = DType::F32;
  SmallVector<int64_t, 4> shape;
  ShardingParam sharding;
  static constexpr auto fields = std::tuple(
      field("dimension", &Iota::dimension), field("dtype", &Iota::dtype),
      field("shape", &Iota::shape), optionalField("sharding", &Iota::sharding));
};

struct Empty {
  DType dtype = DType::F32;
  ShardingParam outSharding;
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields =
      std::tuple(field("dtype", &Empty::dtype),
                 optionalField("out_sharding", &Empty::outSharding),
                 field("shape", &Empty::shape));
};

struct Empty2 {
  DType dtype = DType::F32;
  EnumParam memorySpace;
  static constexpr auto fields =
      std::tuple(field("dtype", &Empty2::dtype),
                 optionalField("memory_space", &Empty2::memorySpace));
};
} // namespace

/// Results only: every device can make its part.
static DimMap madeDims(ArrayRef<int64_t> shape) {
  DimMap map;
  DimMap::Dims &dims = map.results.emplace_back();
  for (int64_t size : shape)
    dims.push_back(addFactor(map, FactorRole::Broadcast, size));
  return map;
}

/// The result of a primitive without operands.
static LogicalResult setMade(TypingContext &cx, ArrayRef<int64_t> shape,
                             DType dtype, const Sharding &sharding,
                             MemorySpace memory = MemorySpace::Device) {
  FailureOr<TypeId> type =
      cx.makeType(shape, dtype, sharding, /*weak=*/false, memory);
  if (failed(type))
    return failure();
  return setResults(cx, *type);
}

static LogicalResult typeIota(TypingContext &cx) {
  const auto &p = cx.params<Iota>();
  if (failed(checkSizes(cx, "shape")))
    return failure();
  if (!isInteger(p.dtype) && !isFloat(p.dtype) && !isComplex(p.dtype))
    return cx
        .error(diag::DTypeMismatch, // iota/dtype.1
               "'iota' makes numbers, not " + info(p.dtype).longName.str())
        .markParam("dtype");
  unsigned rank = p.shape.size();
  if (p.dimension < 0 || p.dimension >= rank)
    return cx
        .error(diag::ParamInvalid, "dimension", // iota/shape.1
               std::to_string(p.dimension) +
                   " is not a dim of a result of "
                   "rank " +
                   std::to_string(rank))
        .markParam("dimension");
  if (!p.sharding.given()) // iota/sharding.2
    return setMade(cx, p.shape, p.dtype, replicated(cx.mesh(), rank));
  FailureOr<Sharding> given = cx.resolveParam(p.sharding, rank, "sharding");
  if (failed(given)) // iota/sharding.3
    return failure();
  return setMade(cx, p.shape, p.dtype, *given); // iota/sharding.1
}

static LogicalResult typeEmpty(TypingContext &cx) {
  const auto &p = cx.params<Empty>();
  unsigned rank = p.shape.size();
  if (failed(checkSizes(cx, "shape")))
    return failure();
  if (!p.outSharding.given()) // empty/sharding.2
    return setMade(cx, p.shape, p.dtype, replicated(MeshId(), rank));
  FailureOr<Sharding> given =
      cx.resolveParam(p.outSharding, rank, "out_sharding");
  if (failed(given))
    return failure();
  return setMade(cx, p.shape, p.dtype, *given); // empty/sharding.1
}

static LogicalResult typeEmpty2(TypingContext &cx) {
  const auto &p = cx.params<Empty2>();
  MemorySpace memory = p.memorySpace.name == "Host"  ? MemorySpace::Host
                       : p.memorySpace.name == "Any" ? MemorySpace::Any
                                                     : MemorySpace::Device;
  return setMade(cx, {}, p.dtype, replicated(MeshId(), 0),
                 memory); // empty2/type.1
}

static DimMap iotaDims(TypingContext &cx) {
  return madeDims(cx.params<Iota>().shape);
}
static DimMap emptyDims(TypingContext &cx) {
  return madeDims(cx.params<Empty>().shape);
}
static DimMap scalarDims(TypingContext &) { return madeDims({}); }

//===--- broadcast_in_dim -------------------------------------------------===//

namespace {
struct BroadcastInDim {
  SmallVector<int64_t, 4> broadcastDimensions;
  std::optional<SmallVector<int64_t, 4>> shape; // Nothing: hidden by a text.
  ShardingParam sharding;
  static constexpr auto fields = std::tuple(
      field("broadcast_dimensions", &BroadcastInDim::broadcastDimensions,
            Hide::IfEmpty),
      field("shape", &BroadcastInDim::shape, Hide::Always),
      optionalField("sharding", &BroadcastInDim::sharding, Hide::Always));
};
} // namespace

/// The target shape: that of the binder where a text hides it.
static FailureOr<Shape> targetShape(TypingContext &cx) {
  const auto &p = cx.params<BroadcastInDim>();
  if (p.shape)
    return Shape(p.shape->begin(), p.shape->end());
  TypeId recorded = cx.recordedResult(0);
  if (recorded.valid() && cx.context().type(recorded).isArray())
    return cx.context().type(recorded).shape; // broadcast_in_dim/shape.4
  return cx
      .error(diag::ParamInvalid, "shape",
             "is not in the text, and the result has no type to take it "
             "from")
      .markParam("shape");
}

static FailureOr<Shape> broadcastShape(TypingContext &cx) {
  const auto &p = cx.params<BroadcastInDim>();
  ArrayRef<int64_t> dims = p.broadcastDimensions;
  if (failed(checkSizes(cx, "shape")))
    return failure();
  FailureOr<Shape> shape = targetShape(cx);
  if (failed(shape))
    return failure();
  if (dims.size() != cx.shape(0).size() ||
      !areDistinctDims(dims, shape->size()))
    return cx
        .error(diag::ShapeMismatch, // broadcast_in_dim/shape.1
               "broadcast_dimensions " + listText(dims) + " do not name " +
                   std::to_string(cx.shape(0).size()) +
                   " different dims of a result of rank " +
                   std::to_string(shape->size()))
        .markParam("broadcast_dimensions");
  for (unsigned d = 0; d < dims.size(); ++d) {
    int64_t size = cx.shape(0)[d], wanted = (*shape)[dims[d]];
    if (size != 1 && size != wanted)
      return cx
          .error(diag::ShapeMismatch, // broadcast_in_dim/shape.2
                 "size " + std::to_string(size) + " cannot become size " +
                     std::to_string(wanted) + " of result dim " +
                     std::to_string(dims[d]))
          .mark(0, d);
  }
  return shape; // broadcast_in_dim/shape.3
}

/// Without a sharding: each result dim that is a broadcast dimension takes the
/// next entry of the operand. For unsorted dimensions that is not the entry of
/// the operand's dim, but it is what JAX does.
static Sharding inferredBroadcast(TypingContext &cx) {
  const auto &p = cx.params<BroadcastInDim>();
  const Sharding &s = cx.sharding(0);
  Sharding result =
      replicated(s.hasMesh() ? s.mesh : cx.mesh(), cx.resultShape().size());
  unsigned next = 0;
  for (unsigned d = 0; d < result.dims.size(); ++d)
    if (llvm::is_contained(p.broadcastDimensions, d))
      result.dims[d] = s.dims[next++];
  result.unreduced = s.unreduced;
  result.reduced = s.reduced;
  result.kind = s.kind;
  return result;
}

/// What the parameter asks for; nothing: the rule decides. A text hides it: the
/// binder then tells it where it differs from what the rule gives. Under
/// re-typing only a scalar's says that it was asked for.
static FailureOr<std::optional<Sharding>> askedBroadcast(TypingContext &cx) {
  const ShardingParam &param = cx.params<BroadcastInDim>().sharding;
  unsigned rank = cx.resultShape().size();
  std::optional<Sharding> asked;
  if (param.given()) {
    FailureOr<Sharding> given = resolveLong(cx, param, rank, "sharding");
    if (failed(given))
      return failure();
    asked = std::move(*given);
  } else if (param.state == ShardingParam::Hidden &&
             (!cx.options().retyped || cx.shape(0).empty())) {
    asked = cx.recordedSharding(0); // broadcast_in_dim/sharding.3
    if (asked && (asked->dims.size() != rank ||
                  *asked == inferredBroadcast(cx) || asked->replicated()))
      asked.reset();
  }
  return asked;
}

/// broadcast_in_dim/sharding.4: the dim in front of the new one is repeated.
static LogicalResult refuseRepeat(TypingContext &cx) {
  const auto &p = cx.params<BroadcastInDim>();
  unsigned rank = cx.resultShape().size(), added = 0;
  while (added < rank && llvm::is_contained(p.broadcastDimensions, added))
    ++added;
  if (added == 0 || added == rank || cx.operandTyped(0).open)
    return success();
  unsigned repeated = added - 1; // As broadcast_dimensions count up.
  if (repeated >= cx.sharding(0).dims.size() ||
      cx.sharding(0).dims[repeated].empty())
    return success();
  Sharding whole = cx.sharding(0);
  whole.dims[repeated].clear();
  return cx
      .error(diag::ParamInvalid, "out_sharding",
             "jnp.repeat wants one, for the dim that it repeats, dim " +
                 std::to_string(repeated) + ", is sharded over " +
                 cx.arg(cx.sharding(0).dims[repeated]))
      .mark(0, static_cast<int>(repeated))
      .fixOperand(0, whole);
}

static FailureOr<Sharding> broadcastSharding(TypingContext &cx) {
  if (cx.derived() == R"({"api":"jax.numpy.repeat"})" &&
      failed(refuseRepeat(cx)))
    return failure();
  FailureOr<std::optional<Sharding>> asked = askedBroadcast(cx);
  if (failed(asked))
    return failure();
  if (*asked)
    return **asked;             // broadcast_in_dim/sharding.1
  return inferredBroadcast(cx); // broadcast_in_dim/sharding.2
}

static FailureOr<ReductionSets> broadcastReduction(TypingContext &cx) {
  const ShardingParam &param = cx.params<BroadcastInDim>().sharding;
  FailureOr<std::optional<Sharding>> asked = askedBroadcast(cx);
  if (failed(asked))
    return failure();
  const Mesh &mesh =
      cx.context().meshOrEmpty(*asked ? (*asked)->mesh : MeshId());
  if (mesh.anyExplicit() && mesh.axesOf(AxisType::Auto).empty()) {
    const Sharding &s = **asked;
    if (!s.unreduced.empty() && s.kind != ReductionKind::Sum) {
      Sharding sums = s;
      sums.kind = ReductionKind::Sum;
      return cx.error(diag::OutUnreducedKind, str(s.kind), cx.name())
          .markParam("sharding")
          .fix(sums); // broadcast_in_dim/reduction.2
    }
    return checkLong(
        cx, param, "sharding",
        {s.unreduced, s.reduced, s.kind}); // broadcast_in_dim/reduction.1
  }
  FailureOr<ReductionSets> sets =
      reduction::pass(cx); // broadcast_in_dim/reduction.3
  if (failed(sets))
    return failure();
  return checkLong(cx, param, "sharding", *sets);
}

static DimMap broadcastDims(TypingContext &cx) {
  const auto &p = cx.params<BroadcastInDim>();
  DimMap map;
  DimMap::Dims &operand = map.operands.emplace_back();
  DimMap::Dims &result = map.results.emplace_back();
  operand.resize(cx.shape(0).size());
  ArrayRef<int64_t> shape = cx.resultShape();
  for (unsigned d = 0; d < shape.size(); ++d) {
    auto from = llvm::find(p.broadcastDimensions, static_cast<int64_t>(d));
    unsigned dim = from - p.broadcastDimensions.begin();
    bool same = dim < operand.size() && cx.shape(0)[dim] != 1;
    result.push_back(addFactor(
        map, same ? FactorRole::Pass : FactorRole::Broadcast, shape[d]));
    if (same)
      operand[dim] = result.back();
  }
  return map;
}

static LogicalResult iotaEval(EvalContext &cx) {
  return eval::give(cx, kernels::iota(cx.resultDType(), cx.resultShape(),
                                      cx.params<Iota>().dimension));
}
/// Zeros, as JAX has them on CPU.
static LogicalResult emptyEval(EvalContext &cx) {
  return eval::give(cx, Tensor::zeros(cx.resultDType(), cx.resultShape()));
}
static LogicalResult broadcastEval(EvalContext &cx) {
  return eval::give(cx, kernels::broadcastInDim(
                            cx.operand(0), cx.resultShape(),
                            cx.params<BroadcastInDim>().broadcastDimensions));
}

static const Primitive Rows[] = {
    {.info = {"iota", schemaOf<Iota>},
     .decode = decodeFor<Iota, 0>,
     .dims = iotaDims,
     .linearity = {},
     .open = OpenRule::Builder,
     .type = Custom{typeIota},
     .eval = iotaEval},
    {.info = {"empty", schemaOf<Empty>},
     .decode = decodeFor<Empty, 0>,
     .dims = emptyDims,
     .linearity = {},
     .open = OpenRule::Builder,
     .type = Custom{typeEmpty},
     .eval = emptyEval},
    {.info = {"empty2", schemaOf<Empty2>},
     .decode = decodeFor<Empty2, 0>,
     .dims = scalarDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeEmpty2},
     .eval = emptyEval},
    {.info = {"broadcast_in_dim", schemaOf<BroadcastInDim>},
     .decode = decodeFor<BroadcastInDim, 1>,
     .dims = broadcastDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Builder,
     .type = Standard{.shape = broadcastShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = broadcastSharding,
                      .reduction = broadcastReduction,
                      .memory = memory::operand},
     .eval = broadcastEval}};

ArrayRef<Primitive> shardtype::values() { return Rows; }
