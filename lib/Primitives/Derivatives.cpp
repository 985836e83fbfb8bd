// Derivatives.cpp - equations that stand for derivatives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recorded program has one equation where JAX would build many from types:
// the function that is differentiated is typed, and what JAX makes of it has
// the types that derivatives have.
#include "Bodies.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

namespace {
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

namespace {
/// How much of a type is compared.
enum class Compare : uint8_t {
  All,
  ButSharding, // What it varies over counts, its sharding does not.
  Shape        // Only what no mesh decides.
};
} // namespace

/// Does an operand have the type that a derivative of `wanted` has?
static bool isTyped(TypingContext &cx, TypeId given, TypeId wanted,
                    Compare how) {
  Context &types = cx.context();
  const Type to = types.type(wanted);
  bool anyState = how == Compare::Shape ||
                  (cx.options().vma == Vma::Infer && cx.options().assumeVma);
  if (!types.type(given).isArray())
    return given == wanted;
  if (anyState)
    given = withManual(types, given, to.manual, to.sharding.mesh);
  if (how != Compare::All)
    given = types.withSharding(given, to.sharding);
  return typematch(types, given, wanted);
}

/// Says that an operand has another type, and how it gets the wanted one.
static LogicalResult refuseOperand(TypingContext &cx, diag::Code code,
                                   StringRef what, unsigned number,
                                   unsigned operand, TypeId wanted) {
  TypeId given = cx.operandId(operand);
  ErrorBuilder error = cx.error(code, what, number, given, wanted);
  error.mark(operand);
  const Type to = cx.context().type(wanted);
  if (!isTyped(cx, given, wanted, Compare::Shape))
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

/// Does JAX itself make the cotangents or tangents?
static bool makesSeeds(StringRef api) {
  return api == "grad" || api == "value_and_grad" || api == "jacrev" ||
         api == "jacfwd";
}

/// What counts of an operand's type. JAX broadcasts what it makes itself to
/// what that belongs to; where nothing has placed a value, it may lie anywhere.
static Compare compared(TypingContext &cx, Typed own, unsigned operand) {
  const Type &type = cx.operand(operand);
  const auto &p = cx.params<Derivative>();
  bool isWhole = type.isArray() && !type.sharding.hasUR() &&
                 !type.sharding.partitioned() && type.manual.trivial();
  if (isWhole && makesSeeds(p.api) && (type.rank() == 0 || p.batched))
    return Compare::Shape;
  bool anywhere = own.open || cx.operandTyped(operand).open;
  return anywhere ? Compare::ButSharding : Compare::All;
}

/// ad/jacobian.1. JAX maps over a basis that it shards as the primal is.
static LogicalResult checkJacobian(TypingContext &cx, unsigned primal) {
  StringRef api = cx.params<Derivative>().api;
  const Type &type = cx.operand(primal);
  if ((api != "jacrev" && api != "jacfwd") || !type.isArray() ||
      !type.sharding.hasUR())
    return success();
  return cx.error(diag::SpecIteration, api).mark(primal);
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
  if (isTyped(cx, cx.operandId(operand), wanted, compared(cx, result, operand)))
    return success();
  return refuseOperand(cx, diag::DerivativeOperand, "cotangent", number,
                       operand, wanted);
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
    reported |= failed(checkJacobian(cx, parts->closures + i));
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
    noteUnchecked(cx, "the types of the backward pass that");
  return failure(reported);
}

//===--- ad_jvp -----------------------------------------------------------===//

/// ad_jvp/operand.1, .2. `odd`: JAX's jvp takes the tangent, though it is not
/// sharded as its primal is.
static LogicalResult checkTangent(TypingContext &cx, unsigned number,
                                  unsigned primal, unsigned operand,
                                  bool &odd) {
  TypeId wanted = tangentType(cx.context(), cx.operandId(primal));
  if (!wanted.valid())
    return cx.unknownPrimitive(cx.name());
  const Typed own = cx.operandTyped(primal), given = cx.operandTyped(operand);
  if (isTyped(cx, given.type, wanted, compared(cx, own, operand)))
    return success();
  bool linearized = cx.params<Derivative>().api == "linearize";
  if (linearized || !isTyped(cx, given.type, wanted, Compare::Shape))
    return refuseOperand(cx, diag::DerivativeOperand, "tangent", number,
                         operand, wanted);
  odd = true;
  return success();
}

/// Which results of a jaxpr depend on some of its inputs.
static SmallVector<bool, 8>
dependents(const Program &program, const Jaxpr &jaxpr, ArrayRef<bool> inputs) {
  std::vector<bool> reached(jaxpr.numVars);
  auto isReached = [&](Atom atom) {
    return !atom.isLiteral() && reached[atom.var().raw() - jaxpr.firstVar];
  };
  for (unsigned i = 0; i < inputs.size(); ++i)
    reached[jaxpr.input(i).raw() - jaxpr.firstVar] = inputs[i];
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    bool any = llvm::any_of(program.operandsOf(eqn), isReached);
    for (unsigned r = 0; r < eqn.numResults; ++r)
      reached[program.result(eqn, r).raw() - jaxpr.firstVar] = any;
  }
  SmallVector<bool, 8> outs;
  for (Atom out : jaxpr.outs)
    outs.push_back(isReached(out));
  return outs;
}

/// The number of the input that a jaxpr returns as this result; -1: none.
static int forwardedInput(const Jaxpr &jaxpr, unsigned result) {
  Atom out = jaxpr.outs[result];
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i)
    if (!out.isLiteral() && out.var() == jaxpr.input(i))
      return static_cast<int>(i);
  return -1;
}

/// ad_jvp/operand.2: what comes of tangents that are sharded otherwise than
/// their primals. One that is passed through keeps its type; the operations of
/// jnp give results the primal's type, those of lax do not, and which of them
/// an equation was is not in the trace.
static void typeOddTangents(TypingContext &cx, const Parts &parts,
                            ArrayRef<bool> odd) {
  const Jaxpr &jaxpr = cx.program().jaxpr(cx.params<Derivative>().jaxpr);
  unsigned outs = jaxpr.outs.size();
  SmallVector<bool, 8> inputs(parts.closures, false);
  inputs.append(odd.begin(), odd.end());
  SmallVector<bool, 8> reached = dependents(cx.program(), jaxpr, inputs);
  bool guessed = false;
  for (unsigned i = 0; i < parts.results; ++i) {
    if (!reached[i])
      continue;
    int input = forwardedInput(jaxpr, i);
    if (input >= 0) // Not a closure, for these have no tangent.
      cx.setResult(outs + i, cx.operandId(parts.primals + input));
    guessed |= input < 0;
  }
  for (unsigned i = 0; guessed && i < parts.primals; ++i)
    if (odd[i])
      (void)refuseOperand(
          cx, diag::TangentSharding, "tangent", i, parts.inputs() + i,
          tangentType(cx.context(), cx.operandId(parts.closures + i)));
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
  SmallVector<bool, 8> odd(parts->primals, false);
  for (unsigned i = 0; i < parts->primals; ++i) {
    unsigned primal = parts->closures + i;
    reported |=
        failed(checkTangent(cx, i, primal, parts->inputs() + i, odd[i]));
    if (!cx.unknown().empty())
      return failure();
    reported |= failed(checkJacobian(cx, primal));
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
  if (!reported && llvm::is_contained(odd, true))
    typeOddTangents(cx, *parts, odd);
  if (!reported && !body.hadErrors)
    noteUnchecked(cx, "the tangents that");
  return failure(reported);
}

//===--- Rows -------------------------------------------------------------===//

template <auto Type> static constexpr Primitive derivative(StringRef name) {
  return {.info = {name, schemaOf<Derivative>},
          .decode = decodeFor<Derivative, 0, AnyNumber>,
          .dims = NoRule{NoRule::NotApplicable, "its body has them"},
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{Type},
          .eval = NoRule{NoRule::NotImplemented,
                         "a recording has types for derivatives, but no "
                         "numbers; export with --mode plain or native"}};
}

static const Primitive Rows[] = {derivative<vjpTypes>("ad_vjp"),
                                 derivative<applyTypes>("ad_vjp_apply"),
                                 derivative<jvpTypes>("ad_jvp")};

ArrayRef<Primitive> shardtype::derivatives() { return Rows; }
