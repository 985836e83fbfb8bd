// MoreCalls.cpp - rarer equations whose results are those of a jaxpr.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bodies.h"
#include "BodyEval.h"
#include "Families.h"

using namespace shardtype;

namespace {
struct Composite {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      ignored("attributes", form::list),
      field("call_jaxpr", &Composite::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("name", form::object, Hide::Never, ParamField::Name),
      ignored("version", form::integer));
};
struct Ordered {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("call_jaxpr", &Ordered::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("enforce", form::flag), ignored("exclude_mask", form::flags),
      ignored("strict_in", form::flags), ignored("strict_out", form::flags));
};
struct CustomVmap {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("call", &CustomVmap::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("in_tree", form::tree), ignored("out_tree", form::tree),
      ignored("rule", form::object));
};
struct Partitioning {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("call", &Partitioning::jaxpr, Hide::Never, ParamField::Jaxpr));
};
struct RematOpt {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      ignored("fun_jaxpr_thunk", form::object, Hide::Never, ParamField::Name),
      field("fwd_jaxpr", &RematOpt::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("num_consts", form::integer), ignored("num_res", form::integer));
};
struct LinearCall {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("callee", &LinearCall::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("num_callee_consts", form::integer),
      ignored("num_res", form::integer),
      ignored("transpose_thunk", form::object, Hide::Never, ParamField::Name));
};
struct Held {
  JaxprId jaxpr;
  static constexpr auto fields =
      std::tuple(field("jaxpr", &Held::jaxpr, Hide::Never, ParamField::Jaxpr));
};
struct ComputeOn {
  JaxprId jaxpr;
  const Value *spaces = nullptr;
  static constexpr auto fields = std::tuple(
      ignored("compiler_options_json", form::object),
      ignored("compute_type", form::object, Hide::Never, ParamField::Name),
      field("jaxpr", &ComputeOn::jaxpr, Hide::Never, ParamField::Jaxpr),
      optionalValue("out_memory_spaces", &ComputeOn::spaces, form::list));
};
struct LinearSolve {
  const Value *lengths = nullptr, *jaxprs = nullptr;
  static constexpr auto fields = std::tuple(
      valueField("const_lengths", &LinearSolve::lengths, form::numbers),
      valueField("jaxprs", &LinearSolve::jaxprs, form::numbers));
};
struct RunState {
  JaxprId jaxpr;
  const Value *initialized = nullptr;
  static constexpr auto fields = std::tuple(
      optionalValue("is_initialized", &RunState::initialized, form::flags),
      field("jaxpr", &RunState::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("which_linear", form::flags));
};
} // namespace

/// call/type.1; JAX compares operands of none of these but program_order.
template <typename P, bool Compare>
static LogicalResult plainCall(TypingContext &cx) {
  return callTypes(cx, cx.params<P>().jaxpr, cx.operands(), cx.mesh(), Compare);
}

/// compute_on/type.1: the results are in the memory spaces that it names.
static LogicalResult computeOn(TypingContext &cx) {
  const auto &p = cx.params<ComputeOn>();
  if (failed(callTypes(cx, p.jaxpr, cx.operands(), cx.mesh(), false)))
    return failure();
  if (!p.spaces || p.spaces->elements.size() != cx.numResults())
    return success();
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    EnumParam space;
    TypeId id = cx.results()[i].type;
    if (!id.valid() || !cx.context().type(id).isArray() ||
        !readParam(cx.program(), cx.program().value(p.spaces->elements[i]),
                   space))
      continue;
    Type type = cx.context().type(id);
    type.memory = space.name == "Host"  ? MemorySpace::Host
                  : space.name == "Any" ? MemorySpace::Any
                                        : MemorySpace::Device;
    cx.setResult(i, cx.context().intern(type), cx.results()[i].open);
  }
  return success();
}

//===--- custom_linear_solve ----------------------------------------------===//

/// The counts of constants that `matvec`, `vecmat`, `solve` and
/// `transpose_solve` take, which stand in front of the right sides.
static std::optional<SmallVector<int64_t, 4>>
constLengths(TypingContext &cx, const Value &lengths) {
  SmallVector<int64_t, 4> counts;
  for (StringRef name : {"matvec", "vecmat", "solve", "transpose_solve"}) {
    const Value *value = structField(cx.program(), lengths, name);
    int64_t count = 0;
    if (!value || !readParam(cx.program(), *value, count) || count < 0 ||
        count > static_cast<int64_t>(cx.numOperands()))
      return std::nullopt;
    counts.push_back(count);
  }
  return counts;
}

/// Types one of the functions on its constants and the right sides.
static LogicalResult typeSolver(TypingContext &cx, const Value &jaxprs,
                                StringRef name, unsigned before, unsigned count,
                                unsigned total) {
  const Value *value = structField(cx.program(), jaxprs, name);
  JaxprId body;
  if (!value || !readParam(cx.program(), *value, body))
    return success(); // None, or a text that abbreviates it.
  std::vector<Typed> args;
  for (unsigned i = 0; i < count; ++i)
    args.push_back(cx.operandTyped(before + i));
  for (unsigned i = total; i < cx.numOperands(); ++i)
    args.push_back(cx.operandTyped(i));
  if (failed(checkBodyCounts(cx, body, args.size(), -1)))
    return failure();
  cx.host().typeBody(body, args, cx.mesh(),
                     {count, static_cast<int>(before),
                      static_cast<int>(total) - static_cast<int>(count)});
  return success();
}

/// custom_linear_solve/reduction.1: right sides with sets; the solution is then
/// that for whole ones.
static LogicalResult refuseSides(TypingContext &cx, unsigned first) {
  auto hasSets = [&](unsigned i) {
    return cx.operand(i).isArray() && cx.sharding(i).hasUR();
  };
  unsigned at = first;
  while (at < cx.numOperands() && !hasSets(at))
    ++at;
  if (at == cx.numOperands())
    return success();
  for (unsigned i = first; i < cx.numOperands(); ++i)
    cx.setResult(i - first,
                 hasSets(i) ? cx.context().withSharding(
                                  cx.operandId(i), withoutSets(cx.sharding(i)))
                            : cx.operandId(i));
  ErrorBuilder error = cx.error(diag::RuleMissingBare, cx.name(),
                                "right sides that are unreduced or reduced");
  for (unsigned i = first; i < cx.numOperands(); ++i)
    if (hasSets(i)) {
      error.mark(i).fixOperand(i, withoutSets(cx.sharding(i)));
      error.diagnostic().fixes.back().assumed = true;
    }
  return error;
}

/// custom_linear_solve/type.1: the types of the right sides.
static LogicalResult linearSolve(TypingContext &cx) {
  const auto &p = cx.params<LinearSolve>();
  auto counts = constLengths(cx, *p.lengths);
  int64_t total = 0;
  for (int64_t count : counts.value_or(SmallVector<int64_t, 4>()))
    total += count;
  if (!counts || total > static_cast<int64_t>(cx.numOperands()))
    return cx
        .error(diag::ParamInvalid, "const_lengths",
               "does not say how many operands are constants")
        .markParam("const_lengths");
  unsigned first = static_cast<unsigned>(total);
  if (failed(typeSolver(cx, *p.jaxprs, "matvec", 0, (*counts)[0], first)) ||
      failed(typeSolver(cx, *p.jaxprs, "solve", (*counts)[0] + (*counts)[1],
                        (*counts)[2], first)))
    return failure();
  if (failed(refuseSides(cx, first)))
    return failure();
  unsigned sides = cx.numOperands() - first;
  if (cx.numResults() < sides)
    return cx.error(diag::ResultCount, cx.name(), sides, cx.numResults());
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    // What a solver gives beyond the solution is as recorded.
    Typed result = i < sides ? cx.operandTyped(first + i)
                             : Typed{cx.recordedResult(i), false};
    cx.setResult(i, result.type, result.open);
  }
  return success();
}

//===--- run_state --------------------------------------------------------===//

/// run_state/type.1: the body sees a Ref of each operand; what they hold in the
/// end has the operands' types.
static LogicalResult runState(TypingContext &cx) {
  const auto &p = cx.params<RunState>();
  if (p.initialized)
    for (ValueId id : p.initialized->elements)
      if (cx.program().value(id).integer == 0)
        return cx
            .error(diag::RuleMissingBare, cx.name(),
                   "Refs that nothing initializes")
            .markParam("is_initialized");
  if (failed(checkBodyCounts(cx, p.jaxpr, cx.numOperands(), -1)))
    return failure();
  std::vector<Typed> args;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    TypeId id = cx.operandId(i);
    if (cx.operand(i).kind != Type::Ref) {
      Type ref;
      ref.kind = Type::Ref;
      ref.inner = cx.operand(i).weak ? cx.context().withWeak(id, false) : id;
      id = cx.context().intern(ref);
    }
    args.push_back({id, false});
  }
  cx.host().typeBody(p.jaxpr, args, cx.mesh());
  SmallVector<TypeId, 4> types;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    types.push_back(cx.operandId(i));
  return setResults(cx, types);
}

//===--- Evaluation -------------------------------------------------------===//

/// `solve`, on its constants and the right sides.
static Task solveEval(EvalContext &cx) {
  const auto &p = cx.params<LinearSolve>();
  const Program &program = cx.program();
  int64_t begin = 0, count = 0, total = 0;
  for (StringRef name : {"matvec", "vecmat", "solve", "transpose_solve"}) {
    const Value *value = structField(program, *p.lengths, name);
    int64_t size = 0;
    if (!value || !readParam(program, *value, size))
      co_return cx.fail("has no count of constants for " + name);
    if (name == "solve") {
      begin = total;
      count = size;
    }
    total += size;
  }
  const Value *value = structField(program, *p.jaxprs, "solve");
  JaxprId body;
  if (!value || !readParam(program, *value, body))
    co_return cx.fail("has no function 'solve'");
  std::vector<Datum> inputs;
  for (int64_t i = 0; i < cx.numOperands(); ++i)
    if ((i >= begin && i < begin + count) || i >= total)
      inputs.push_back(cx.takeDatum(static_cast<unsigned>(i)));
  std::vector<Datum> outs = co_await cx.run(body, std::move(inputs));
  cx.setResults(std::move(outs));
  co_return success();
}

/// Each operand is the content of a Ref while the body runs.
static Task stateEval(EvalContext &cx) {
  std::vector<Datum> inputs = cx.takeOperands();
  std::vector<std::shared_ptr<RefCell>> cells;
  for (Datum &input : inputs) {
    if (!input.cell) {
      input.cell = std::make_shared<RefCell>(
          RefCell{std::move(input.tensor), input.varying});
      input.tensor = Tensor();
    }
    cells.push_back(input.cell);
  }
  co_await cx.run(cx.params<RunState>().jaxpr, std::move(inputs));
  for (unsigned i = 0; i < cx.numResults(); ++i)
    cx.setDatum(i, Datum(cells[i]->value, cells[i]->varying));
  co_return success();
}

//===--- Rows -------------------------------------------------------------===//

template <typename P>
static constexpr Primitive row(StringRef name,
                               Rule<LogicalResult(TypingContext &)> type,
                               EvalRule eval = callEval<P>) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, 0, AnyNumber>,
          .dims = NoRule{NoRule::NotApplicable, "its body has them"},
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{type},
          .eval = eval};
}

static const Primitive Rows[] = {
    row<Composite>("composite", plainCall<Composite, false>),
    row<Ordered>("program_order", plainCall<Ordered, true>),
    row<CustomVmap>("custom_vmap_call", plainCall<CustomVmap, false>),
    row<Partitioning>("custom_partitioning", plainCall<Partitioning, false>),
    row<RematOpt>("remat_opt", plainCall<RematOpt, false>),
    row<LinearCall>("linear_call", plainCall<LinearCall, false>),
    row<Held>("xla_metadata_call", plainCall<Held, false>),
    row<Held>("cudnn_fusion", plainCall<Held, false>),
    row<Held>("custom_fusion", plainCall<Held, false>),
    row<ComputeOn>("compute_on", computeOn),
    row<LinearSolve>("custom_linear_solve", linearSolve, solveEval),
    row<RunState>("run_state", runState, stateEval),
};

ArrayRef<Primitive> shardtype::moreCalls() { return Rows; }
