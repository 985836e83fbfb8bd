// Markers.cpp - equations that only recorded programs have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded types have no shardings, so what JAX would copy from a type is
// written as an equation that says from which values. Derivatives.cpp has those
// that JAX would build from types.
#include "Bodies.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Manual.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;

namespace {
struct FullLike {
  DType dtype = DType::F32;
  bool weak = false;
  static constexpr auto fields =
      std::tuple(field("dtype", &FullLike::dtype),
                 ignored("fill", form::number), field("weak", &FullLike::weak));
};
struct BatchLike {
  static constexpr auto fields = std::tuple();
};
} // namespace

//===--- full_like --------------------------------------------------------===//

/// full_like/sharding.2: what is built from a scalar, sets included. Beside
/// Auto axes JAX's broadcast forgets the sets; of a scalar it is a reshard.
static LogicalResult fullLikeSets(TypingContext &cx, Sharding &sharding) {
  bool scalar = sharding.dims.empty();
  const Mesh &mesh = cx.context().meshOrEmpty(sharding.mesh);
  if (!scalar && !mesh.axesOf(AxisType::Auto).empty()) {
    sharding = withoutSets(sharding);
    return success();
  }
  if (sharding.unreduced.empty() || sharding.kind == ReductionKind::Sum ||
      sharding.kind == ReductionKind::None)
    return success();
  if (scalar) // full_like/reduction.1
    return cx
        .error(diag::ReshardMoreUnreduced, str(sharding.kind),
               str(cx.context(), sharding.mesh, sharding.unreduced))
        .mark(0);
  return cx.error(diag::OutUnreducedKind, str(sharding.kind), cx.name())
      .mark(0); // full_like/reduction.1
}

/// JAX broadcasts a scalar to the shape with the operand's sharding.
static LogicalResult fullLikeType(TypingContext &cx) {
  const auto &p = cx.params<FullLike>();
  if (!cx.operand(0).isArray())
    return cx
        .error(diag::DTypeMismatch, "'full_like' takes an array, but its "
                                    "operand is " +
                                        cx.arg(cx.operandId(0)))
        .mark(0);
  if (failed(cx.checkContextMesh()))
    return failure();
  Sharding sharding = replicated(cx.ruleMesh(), cx.shape(0).size());
  if (cx.rulesApply()) {
    sharding = placed(cx, 0); // full_like/sharding.1
    if (failed(fullLikeSets(cx, sharding)))
      return failure();
  }
  ManualAxisType manual; // full_like/varying.1
  if (cx.options().vma == Vma::On)
    manual.varying = cx.operand(0).manual.varying;
  cx.setManual(manual);
  FailureOr<TypeId> type =
      cx.makeType(cx.shape(0), p.dtype, sharding, p.weak); // full_like/type.1
  if (failed(type))
    return failure();
  return setResults(cx, *type);
}

//===--- batch_like -------------------------------------------------------===//

static FailureOr<Shape> batchShape(TypingContext &cx) {
  if (cx.shape(1).empty())
    return cx
        .error(diag::ShapeMismatch, // batch_like/shape.1
               "operand 1 has no dim 0 to take the size from")
        .mark(1);
  Shape shape(cx.shape(0).begin(), cx.shape(0).end());
  shape.insert(shape.begin(), cx.shape(1).front());
  return shape;
}

/// An axis on the new dim and on one of x's is refused by whoever calls this:
/// JAX refuses such operands of vmap.
static FailureOr<Sharding> batchSharding(TypingContext &cx) {
  Sharding sharding = placed(cx, 0); // batch_like/sharding.1
  sharding.dims.insert(sharding.dims.begin(), cx.sharding(1).dims.front());
  return sharding;
}

static DimMap batchDims(TypingContext &cx) {
  DimMap map;
  DimMap::Dims &x = map.operands.emplace_back();
  DimMap::Dims &like = map.operands.emplace_back();
  DimMap::Dims &result = map.results.emplace_back();
  like.resize(cx.shape(1).size());
  like[0] = addFactor(map, FactorRole::Pass, cx.shape(1).front());
  result.push_back(like[0]);
  for (int64_t size : cx.shape(0)) {
    x.push_back(addFactor(map, FactorRole::Pass, size));
    result.push_back(x.back());
  }
  return map;
}

//===--- Evaluation -------------------------------------------------------===//

static std::optional<double> fillOf(EvalContext &cx) {
  const Value *fill = cx.param("fill");
  double value = 0;
  if (fill && (fill->kind == Value::Int || fill->kind == Value::Bool))
    return static_cast<double>(fill->integer);
  if (fill && fill->kind == Value::Float && fill->text.valid() &&
      !cx.context().str(fill->text).getAsDouble(value))
    return value;
  return std::nullopt;
}

static std::string fullLikeRefusal(EvalContext &cx) {
  DType dtype = cx.resultDType();
  return fillOf(cx) && !isKey(dtype) && dtype != DType::Float0
             ? ""
             : "its value cannot be read";
}

/// Every element is `fill`.
static LogicalResult fullLikeEval(EvalContext &cx) {
  double value = *fillOf(cx);
  Tensor result = cx.makeResult();
  dispatch(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T element;
    if constexpr (isIntElement<T> || std::is_same_v<T, bool>)
      element = static_cast<T>(static_cast<int64_t>(value));
    else if constexpr (isComplexElement<T>)
      element = T(static_cast<typename T::value_type>(value), 0);
    else
      element = static_cast<T>(value);
    for (T &x : result.fill<T>())
      x = element;
  });
  cx.setResult(0, std::move(result));
  return success();
}

/// The value for each entry of a new first dim.
static LogicalResult batchLikeEval(EvalContext &cx) {
  auto dims = llvm::to_vector(
      llvm::seq<int64_t>(1, static_cast<int64_t>(cx.resultShape().size())));
  cx.setResult(0,
               kernels::broadcastInDim(cx.operand(0), cx.resultShape(), dims));
  return success();
}

//===--- Rows -------------------------------------------------------------===//

static const Primitive Rows[] = {
    {.info = {"full_like", schemaOf<FullLike>},
     .decode = decodeFor<FullLike, 1>,
     .dims = unaryDims,
     .linearity = {},
     .open = OpenRule::Pointwise, // full_like/open.1
     .type = Custom{fullLikeType},
     .eval = {fullLikeEval, fullLikeRefusal}},
    {.info = {"batch_like", schemaOf<BatchLike>},
     .decode = decodeFor<BatchLike, 2>,
     .dims = batchDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = batchShape,
                      .dtype = dtype::operand,
                      .weak = weak::first,
                      .sharding = batchSharding,
                      .reduction = reduction::passAnyKind,
                      .memory = memory::operand,
                      .varying = varying::operand},
     .eval = batchLikeEval}};

ArrayRef<Primitive> shardtype::markers() { return Rows; }
