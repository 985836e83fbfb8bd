// Loops.cpp - scan and while.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Loops.h"
#include "Bodies.h"
#include "Families.h"
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

//===--- scan -------------------------------------------------------------===//

/// scan/type.1: from the trees, or from the counts that older files have.
static FailureOr<ScanCounts> scanCounts(TypingContext &cx) {
  const auto &p = cx.params<Scan>();
  std::optional<ScanCounts> counts =
      countsOf(cx.program(), p, cx.numOperands());
  if (!counts)
    return cx
        .error(diag::ParamInvalid, "ft_in",
               "does not say how many constants, carries and scanned arrays "
               "there are")
        .markParam("ft_in");
  uint64_t all = counts->consts + counts->carries + counts->xs;
  if (all != cx.numOperands())
    return cx
        .error(diag::ParamInvalid, "ft_in",
               "is for " + std::to_string(all) + " operands, but there are " +
                   std::to_string(cx.numOperands()))
        .markParam("ft_in");
  if (counts->carries > cx.numResults())
    return cx.error(diag::ParamInvalid, "num_carry",
                    "there are " + std::to_string(cx.numOperands()) +
                        " operands and " + std::to_string(cx.numResults()) +
                        " results");
  return *counts;
}

/// What the body sees of a scanned array; reports one that cannot be scanned,
/// and one whose first dim is sharded, which is then taken as gathered.
static FailureOr<TypeId> scannedItem(TypingContext &cx, unsigned operand,
                                     bool &reported) {
  const auto &p = cx.params<Scan>();
  const Type type = cx.operand(operand);
  if (!type.isArray())
    return cx.operandId(operand);
  if (type.rank() == 0 || type.shape[0] != p.length)
    return cx
        .error(diag::ShapeMismatch,
               "'scan' of length " + std::to_string(p.length) +
                   " cannot scan operand " + std::to_string(operand) + ", " +
                   cx.arg(cx.operandId(operand)))
        .mark(operand);
  TypeId id = cx.operandId(operand);
  if (!type.sharding.dims[0].empty()) { // scan/type.2
    Sharding whole = type.sharding;
    whole.dims[0].clear();
    ErrorBuilder error = cx.error(diag::ScanXs, operand, type.sharding.dims[0]);
    error.mark(operand, 0).fixOperand(operand, whole);
    error.diagnostic().fixes.back().assumed = true;
    reported = true;
    id = cx.context().withSharding(id, whole);
  }
  return withoutLeadingDim(cx.context(), id);
}

static LogicalResult scanTypes(TypingContext &cx) {
  const auto &p = cx.params<Scan>();
  if (failed(checkBodyCounts(cx, p.jaxpr, cx.numOperands(),
                             static_cast<int>(cx.numResults()))))
    return failure();
  FailureOr<ScanCounts> counts = scanCounts(cx);
  if (failed(counts))
    return failure();
  bool reported = false;
  LoopBody loop;
  loop.jaxpr = p.jaxpr;
  loop.trips = Dim::isSymbolic(p.length) ? 1 : p.length;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    Typed arg = cx.operandTyped(i);
    if (i >= counts->consts + counts->carries) {
      FailureOr<TypeId> item = scannedItem(cx, i, reported);
      if (failed(item))
        return failure();
      arg.type = *item;
    }
    reported |= failed(checkBinder(cx, i, arg.type, p.jaxpr, i));
    loop.args.push_back(arg);
  }
  auto consts = static_cast<unsigned>(counts->consts);
  for (unsigned k = 0; k < counts->carries; ++k)
    loop.carries.push_back({consts + k, consts + k, k, false});
  LoopResults found = typeLoop(cx, std::move(loop));
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    Typed result = found.results[i];
    if (i >= counts->carries && result.type.valid()) // scan/type.3
      result.type = withLeadingDim(cx.context(), result.type, p.length);
    cx.setResult(i, result.type, result.open);
  }
  return failure(reported || found.failed);
}

//===--- while ------------------------------------------------------------===//

/// Whether vmap can have made this condition: one bool for each of the first
/// dims that all carries have, which are the operands from `first` on.
static bool isBatchOf(TypingContext &cx, const Type &condition,
                      unsigned first) {
  for (unsigned i = first; i < cx.numOperands(); ++i) {
    if (!cx.operand(i).isArray())
      continue;
    ArrayRef<int64_t> carry = cx.operand(i).shape;
    if (carry.size() < condition.rank() ||
        carry.take_front(condition.rank()) != ArrayRef(condition.shape))
      return false;
  }
  return true;
}

/// while/type.1: the condition gives one bool, or one of each batched loop,
/// sharded or not at all.
static LogicalResult checkPredicate(TypingContext &cx, TypeId type,
                                    unsigned first) {
  if (!type.valid())
    return success();
  const Type &t = cx.context().type(type);
  if (t.isArray() && t.dtype == DType::Bool && isBatchOf(cx, t, first))
    return success();
  return cx.error(diag::WhilePredicate, type).markParam("cond_jaxpr");
}

/// manual/control.2: devices that go round different numbers of times.
static void checkCondition(TypingContext &cx, TypeId condition) {
  const auto &p = cx.params<While>();
  if (!condition.valid() || !cx.context().type(condition).isArray())
    return;
  AxisSet axes = cx.context().type(condition).manual.varying;
  checkCollectives(cx, {p.cond, p.body}, axes, "loop condition");
  resultsVary(cx, axes, "the condition of the loop does");
}

/// manual/infer.4: what the condition varies over, all carries vary over, for
/// devices go round different numbers of times.
static void inferWhile(TypingContext &cx, std::vector<Typed> &condArgs,
                       LoopBody &loop) {
  const auto &p = cx.params<While>();
  Context &types = cx.context();
  AxisSet known;
  while (true) {
    inferCarries(cx, loop);
    for (const Carry &carry : loop.carries)
      condArgs[p.condConsts + carry.result] = loop.args[carry.input];
    std::vector<Typed> cond = triedResults(cx, p.cond, condArgs);
    if (!cond[0].type.valid() || !types.type(cond[0].type).isArray())
      return;
    AxisSet axes = types.type(cond[0].type).manual.varying;
    if (axes == known)
      return;
    known = axes;
    for (const Carry &carry : loop.carries) {
      Typed &arg = loop.args[carry.input];
      if (!arg.type.valid() || !types.type(arg.type).isArray())
        continue;
      ManualAxisType to = types.type(arg.type).manual;
      to.varying |= axes;
      arg.type = withManual(types, arg.type, to, cx.mesh());
    }
  }
}

static LogicalResult whileTypes(TypingContext &cx) {
  const auto &p = cx.params<While>();
  unsigned results = cx.numResults();
  if (p.condConsts < 0 || p.bodyConsts < 0 ||
      static_cast<uint64_t>(p.condConsts) + p.bodyConsts + results !=
          cx.numOperands())
    return cx.error(diag::ParamInvalid, "body_nconsts",
                    "with cond_nconsts leaves not " + std::to_string(results) +
                        " of " + std::to_string(cx.numOperands()) +
                        " operands to go round");
  unsigned condConsts = p.condConsts, bodyConsts = p.bodyConsts;
  unsigned firstCarry = condConsts + bodyConsts;
  if (failed(checkBodyCounts(cx, p.cond, condConsts + results, 1)) ||
      failed(checkBodyCounts(cx, p.body, bodyConsts + results,
                             static_cast<int>(results))))
    return failure();
  std::vector<Typed> condArgs;
  LoopBody loop;
  loop.jaxpr = p.body;
  loop.trips = 1;
  loop.inputs = {0, 0, static_cast<int>(condConsts)};
  BodyInputs condInputs = {condConsts, 0, static_cast<int>(bodyConsts), true};
  bool reported = false;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    Typed arg = cx.operandTyped(i);
    if (i < condConsts || i >= firstCarry) {
      reported |= failed(checkBinder(cx, i, arg.type, p.cond, condArgs.size()));
      condArgs.push_back({arg.type, arg.open && i < condConsts});
    }
    if (i >= condConsts) {
      reported |=
          failed(checkBinder(cx, i, arg.type, p.body, loop.args.size()));
      loop.args.push_back(arg);
    }
  }
  for (unsigned k = 0; k < results; ++k)
    loop.carries.push_back({firstCarry + k, bodyConsts + k, k, false});
  if (cx.options().vma == Vma::Infer)
    inferWhile(cx, condArgs, loop);
  TypingHost::Body cond =
      cx.host().typeBody(p.cond, condArgs, cx.mesh(), condInputs);
  reported |= failed(checkPredicate(cx, cond.results[0].type, firstCarry));
  LoopResults found = typeLoop(cx, std::move(loop));
  // A carry that starts or goes on otherwise does so for the condition too.
  bool restarted = false;
  for (unsigned k = 0; k < results; ++k) {
    Typed &arg = condArgs[condConsts + k], now = found.args[bodyConsts + k];
    restarted |= arg.type != now.type;
    arg = now;
  }
  condInputs.retyped = true;
  condInputs.recast = found.recast;
  if (restarted)
    cond = cx.host().typeBody(p.cond, condArgs, cx.mesh(), condInputs);
  for (unsigned i = 0; i < results; ++i)
    cx.setResult(i, found.results[i].type, found.results[i].open);
  checkCondition(cx, cond.results[0].type);
  return failure(reported || found.failed);
}

//===--- Rows -------------------------------------------------------------===//

static BodyRuns scanRuns(const TypedEqn &eqn) {
  const Value *length = eqn.param("length");
  if (!length || length->kind != Value::Int || length->integer < 0 ||
      Dim::isSymbolic(length->integer))
    return {BodyRuns::Unknown, 1};
  return {BodyRuns::Times, static_cast<uint64_t>(length->integer)};
}
/// Values decide; the condition runs once more than the body.
static BodyRuns whileRuns(const TypedEqn &) { return {BodyRuns::Unknown, 1}; }

static constexpr NoRule NoDims = {NoRule::NotApplicable,
                                  "its bodies have them"};
static constexpr ParamSchema WhileSchema = {
    schemaOf<While>.fields, false, {}, "cond_jaxpr"};

static const Primitive Rows[] = {{.info = {"scan", schemaOf<Scan>},
                                  .decode = decodeFor<Scan, 0, AnyNumber>,
                                  .dims = NoDims,
                                  .linearity = {},
                                  .open = OpenRule::Custom,
                                  .type = Custom{scanTypes},
                                  .runs = scanRuns,
                                  .eval = scanEval},
                                 {.info = {"while", WhileSchema},
                                  .decode = decodeFor<While, 0, AnyNumber>,
                                  .dims = NoDims,
                                  .linearity = {},
                                  .open = OpenRule::Custom,
                                  .type = Custom{whileTypes},
                                  .runs = whileRuns,
                                  .eval = whileEval}};

ArrayRef<Primitive> shardtype::loops() { return Rows; }
