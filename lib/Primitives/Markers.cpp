// Markers.cpp - equations that only recorded programs have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded types have no shardings, so what JAX would copy from a type
// (full_like, batch_like) or build from types (derivatives) is written as an
// equation that says from which values.
#include "Bodies.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Manual.h"
#include "shardtype/Tensor/Element.h"

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
struct Derivative {
  StringRef api;
  bool batched = false;
  JaxprId jaxpr;
  int64_t closures = 0, results = 0; // `nc`, `nout`.
  static constexpr auto fields = std::tuple(
      field("api", &Derivative::api), field("batched", &Derivative::batched),
      ignored("id", form::integer),
      field("jaxpr", &Derivative::jaxpr, Hide::Never, ParamField::Jaxpr),
      field("nc", &Derivative::closures), field("nout", &Derivative::results));
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

//===--- Derivatives ------------------------------------------------------===//

namespace {
/// How the operands of a marker are parted.
struct Parts {
  unsigned closures, primals, results;
  unsigned inputs() const { return closures + primals; } // Of the jaxpr.
};
} // namespace

/// `per`: what stands behind the closures, and is as many as the primals.
static FailureOr<Parts> partsOf(TypingContext &cx, unsigned per,
                                bool cotangents) {
  const auto &p = cx.params<Derivative>();
  int64_t outs = cx.program().jaxpr(p.jaxpr).outs.size();
  if (p.results < 0 || p.results > outs) // ad/type.1
    return cx
        .error(diag::ParamInvalid, "nout",
               "is not a number of results of a jaxpr that has " +
                   std::to_string(outs))
        .markParam("nout");
  int64_t rest = static_cast<int64_t>(cx.numOperands()) - p.closures -
                 (cotangents ? p.results : 0);
  if (p.closures < 0 || rest < 0 || rest % per != 0)
    return cx
        .error(diag::ParamInvalid, "nc",
               "leaves no primals among " + std::to_string(cx.numOperands()) +
                   " operands")
        .markParam("nc");
  Parts parts = {static_cast<unsigned>(p.closures),
                 static_cast<unsigned>(rest / per),
                 static_cast<unsigned>(p.results)};
  if (cx.program().jaxpr(p.jaxpr).numInputs != parts.inputs())
    return cx.error(diag::CallArity, cx.name(), parts.inputs(),
                    cx.program().jaxpr(p.jaxpr).numInputs);
  return parts;
}

/// Operands that do not fit the recorded types of the jaxpr.
static LogicalResult checkInputs(TypingContext &cx, const Parts &parts) {
  bool reported = false;
  for (unsigned i = 0; i < parts.inputs(); ++i)
    reported |= failed(
        checkBinder(cx, i, cx.operandId(i), cx.params<Derivative>().jaxpr, i));
  return failure(reported);
}

/// ad/tangent.1. Invalid: values of this type have no tangents.
static TypeId tangentType(Context &cx, TypeId id) {
  Type type = cx.type(id);
  if (!type.isArray())
    return TypeId();
  if (!isFloat(type.dtype) && !isComplex(type.dtype))
    type.dtype = DType::Float0;
  return cx.intern(type);
}

/// Is this type one by max or min, which has no cotangents?
static bool isPartialExtreme(const Type &type) {
  auto extreme = [](ReductionKind kind) {
    return kind != ReductionKind::None && kind != ReductionKind::Sum;
  };
  return (!type.sharding.unreduced.empty() && extreme(type.sharding.kind)) ||
         (!type.manual.unreduced.empty() && extreme(type.manual.kind));
}

/// ad/cotangent.1. Invalid: values of this type have no cotangents.
static TypeId cotangentType(Context &cx, TypeId id) {
  TypeId tangent = tangentType(cx, id);
  if (!tangent.valid())
    return TypeId();
  Type type = cx.type(tangent);
  if (isPartialExtreme(type))
    return TypeId();
  auto kindOf = [](AxisSet unreduced) {
    return unreduced.empty() ? ReductionKind::None : ReductionKind::Sum;
  };
  std::swap(type.sharding.unreduced, type.sharding.reduced);
  type.sharding.kind = kindOf(type.sharding.unreduced);
  std::swap(type.manual.unreduced, type.manual.reduced);
  type.manual.kind = kindOf(type.manual.unreduced);
  return cx.intern(type);
}

/// Does an operand have the type that a derivative of `wanted` has? With
/// `placed` its sharding counts.
static bool isTyped(TypingContext &cx, TypeId given, TypeId wanted,
                    bool placed) {
  Context &types = cx.context();
  if (!placed || cx.options().vma == Vma::Infer) {
    // Only what does not depend on shardings, or on the axes they vary over.
    const Type &to = types.type(wanted);
    if (!types.type(given).isArray())
      return false;
    given = withManual(types, given, to.manual, to.sharding.mesh);
    if (!placed)
      given = types.withSharding(given, to.sharding);
  }
  return typematch(types, given, wanted);
}

static LogicalResult refuseOperand(TypingContext &cx, StringRef what,
                                   unsigned number, unsigned operand,
                                   TypeId wanted) {
  TypeId given = cx.operandId(operand);
  ErrorBuilder error =
      cx.error(diag::DerivativeOperand, what, number, given, wanted);
  error.mark(operand);
  const Type to = cx.context().type(wanted);
  if (!isTyped(cx, given, wanted, /*placed=*/false))
    return error;
  if (cx.operand(operand).isArray() && cx.operand(operand).manual != to.manual)
    error.castOperand(operand, to.manual);
  else
    error.fixOperand(operand, to.sharding);
  return error;
}

/// Says that nothing looks into the derivative; Findings keeps the first.
static void noteUnchecked(TypingContext &cx, StringRef what) {
  cx.error(diag::DerivativeUnchecked, cx.name(), what); // ad/unchecked.1
}

//===--- ad_vjp and ad_vjp_apply ------------------------------------------===//

/// ad_vjp/type.1: a call.
static LogicalResult vjpTypes(TypingContext &cx) {
  if (failed(partsOf(cx, 1, /*cotangents=*/false)))
    return failure();
  return callTypes(cx, cx.params<Derivative>().jaxpr, cx.operands(), cx.mesh(),
                   true);
}

/// Does an operand pass wherever it is placed? JAX broadcasts such to what they
/// belong to.
static bool passesAnyPlace(TypingContext &cx, Typed own, unsigned operand) {
  const Type &type = cx.operand(operand);
  bool isWhole = type.isArray() && !type.sharding.hasUR() &&
                 !type.sharding.partitioned() && type.manual.trivial();
  return own.open || cx.operandTyped(operand).open ||
         (isWhole && (type.rank() == 0 || cx.params<Derivative>().batched));
}

/// ad_vjp_apply/operand.1, .2
static LogicalResult checkCotangent(TypingContext &cx, unsigned number,
                                    unsigned operand, Typed result) {
  if (!result.type.valid())
    return success(); // An error in the forward function.
  TypeId wanted = cotangentType(cx.context(), result.type);
  if (!wanted.valid())
    return cx.error(diag::RuleMissingBare, cx.name(),
                    "results that have no cotangents: " + cx.arg(result.type));
  if (isTyped(cx, cx.operandId(operand), wanted,
              !passesAnyPlace(cx, result, operand)))
    return success();
  return refuseOperand(cx, "cotangent", number, operand, wanted);
}

static LogicalResult applyTypes(TypingContext &cx) {
  FailureOr<Parts> parts = partsOf(cx, 1, /*cotangents=*/true);
  if (failed(parts))
    return failure();
  if (cx.numResults() != parts->primals)
    return cx.error(diag::ResultCount, cx.name(), parts->primals,
                    cx.numResults());
  bool reported = failed(checkInputs(cx, *parts));
  // The forward function runs where its `ad_vjp` stands. If it has errors they
  // are reported here, for the operands may be others.
  std::vector<Typed> forward =
      triedResults(cx, cx.params<Derivative>().jaxpr,
                   cx.operands().take_front(parts->inputs()));
  for (unsigned i = 0; i < parts->results && i < forward.size(); ++i)
    reported |= failed(checkCotangent(cx, i, parts->inputs() + i, forward[i]));
  for (unsigned i = 0; i < parts->primals; ++i) { // ad_vjp_apply/type.1
    Typed primal = cx.operandTyped(parts->closures + i);
    TypeId type = cotangentType(cx.context(), primal.type);
    if (type.valid()) {
      cx.setResult(i, type, primal.open);
      continue;
    }
    if (cx.operand(parts->closures + i).kind == Type::Ref)
      return cx.unknownPrimitive(cx.name()); // JAX's own rule for Refs.
    reported = true;
    (void)cx
        .error(diag::RuleMissingBare, cx.name(),
               "primals that have no cotangents: " + cx.arg(primal.type))
        .mark(parts->closures + i); // ad/cotangent.2
  }
  if (!reported)
    noteUnchecked(cx, "the backward pass that");
  return failure(reported);
}

//===--- ad_jvp -----------------------------------------------------------===//

/// ad_jvp/operand.1, .2. A tangent that is sharded otherwise than its primal
/// passes JAX's jvp, and what becomes of it depends on every rule inside.
static LogicalResult checkTangent(TypingContext &cx, unsigned number,
                                  unsigned primal, unsigned operand) {
  TypeId wanted = tangentType(cx.context(), cx.operandId(primal));
  if (!wanted.valid())
    return cx.unknownPrimitive(cx.name());
  const Typed own = cx.operandTyped(primal), given = cx.operandTyped(operand);
  if (isTyped(cx, given.type, wanted, !passesAnyPlace(cx, own, operand)))
    return success();
  bool linearized = cx.params<Derivative>().api == "linearize";
  if (!linearized && isTyped(cx, given.type, wanted, /*placed=*/false))
    return cx.unknownPrimitive(cx.name());
  return refuseOperand(cx, "tangent", number, operand, wanted);
}

static LogicalResult jvpTypes(TypingContext &cx) {
  FailureOr<Parts> parts = partsOf(cx, 2, /*cotangents=*/false);
  if (failed(parts))
    return failure();
  JaxprId jaxpr = cx.params<Derivative>().jaxpr;
  unsigned outs = cx.program().jaxpr(jaxpr).outs.size();
  if (cx.numResults() != outs + parts->results)
    return cx.error(diag::ResultCount, cx.name(), outs + parts->results,
                    cx.numResults());
  bool reported = failed(checkInputs(cx, *parts));
  for (unsigned i = 0; i < parts->primals; ++i) {
    reported |=
        failed(checkTangent(cx, i, parts->closures + i, parts->inputs() + i));
    if (!cx.unknown().empty())
      return failure();
  }
  TypingHost::Body body = cx.host().typeBody(
      jaxpr, cx.operands().take_front(parts->inputs()), cx.mesh());
  for (unsigned i = 0; i < outs; ++i) // ad_jvp/type.1
    cx.setResult(i, body.results[i].type, body.results[i].open);
  for (unsigned i = 0; i < parts->results; ++i) {
    Typed result = body.results[i];
    if (!result.type.valid())
      continue;
    TypeId tangent = tangentType(cx.context(), result.type);
    if (!tangent.valid())
      return cx.unknownPrimitive(cx.name());
    cx.setResult(outs + i, tangent, result.open);
  }
  if (!reported && !body.hadErrors)
    noteUnchecked(cx, "the tangents that");
  return failure(reported);
}

//===--- Evaluation -------------------------------------------------------===//

/// Every element is `fill`.
static LogicalResult fullLikeEval(EvalContext &cx) {
  const Value *fill = cx.param("fill");
  double value = 0;
  bool isNumber =
      fill && (fill->kind == Value::Int || fill->kind == Value::Bool);
  if (isNumber)
    value = static_cast<double>(fill->integer);
  else if (fill && fill->kind == Value::Float && fill->text.valid())
    isNumber = !cx.context().str(fill->text).getAsDouble(value);
  Tensor result = cx.makeResult();
  if (!isNumber || isKey(result.dtype()) || result.dtype() == DType::Float0)
    return cx.fail("has a value that cannot be read");
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

//===--- Rows -------------------------------------------------------------===//

template <auto Type> static constexpr Primitive derivative(StringRef name) {
  return {.info = {name, schemaOf<Derivative>},
          .decode = decodeFor<Derivative, 0, AnyNumber>,
          .dims = NoRule{NoRule::NotApplicable, "its body has them"},
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{Type}};
}

static const Primitive Rows[] = {
    derivative<vjpTypes>("ad_vjp"),
    derivative<applyTypes>("ad_vjp_apply"),
    derivative<jvpTypes>("ad_jvp"),
    {.info = {"full_like", schemaOf<FullLike>},
     .decode = decodeFor<FullLike, 1>,
     .dims = unaryDims,
     .linearity = {},
     .open = OpenRule::Pointwise, // full_like/open.1
     .type = Custom{fullLikeType},
     .eval = fullLikeEval},
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
                      .varying = varying::operand}}};

ArrayRef<Primitive> shardtype::markers() { return Rows; }
