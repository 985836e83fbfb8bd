// Branches.cpp - cond and switch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bodies.h"
#include "Families.h"
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

namespace {
struct Cond {
  SmallVector<JaxprId, 2> branches;
  static constexpr auto fields = std::tuple(
      field("branches", &Cond::branches, Hide::Never, ParamField::Jaxprs),
      ignored("branches_platforms", form::list));
};
/// The branches of one equation, typed.
struct Branches {
  SmallVector<TypingHost::Body, 2> bodies;
  bool hadErrors = false;
};
} // namespace

/// cond/type.1; a bool was converted before (cond/type.4).
static LogicalResult checkIndex(TypingContext &cx) {
  const Type &type = cx.operand(0);
  if (type.isArray() && type.rank() == 0 && type.dtype == DType::I32)
    return success();
  return cx.error(diag::CondIndex, cx.operandId(0)).mark(0);
}

/// What it costs at most to give a result this type, over the branches.
static std::vector<CommStep> dearest(TypingContext &cx, const Branches &all,
                                     unsigned result, TypeId wanted) {
  std::vector<CommStep> most;
  for (const TypingHost::Body &body : all.bodies) {
    TypeId type = body.results[result].type;
    if (!type.valid())
      continue;
    std::vector<CommStep> steps = reshardCost(cx.context(), type, wanted);
    if (totalSent(steps) > totalSent(most) || most.empty())
      most = std::move(steps);
  }
  return most;
}

/// The type that each branch's result can be cast to; invalid: there is none.
static TypeId joinAll(Context &cx, const Branches &all, unsigned result) {
  TypeId joined;
  for (const TypingHost::Body &body : all.bodies) {
    Typed own = body.results[result];
    if (!own.type.valid())
      continue;
    joined = joined.valid() ? joinVarying(cx, joined, own.type) : own.type;
    if (!joined.valid())
      return TypeId();
  }
  return joined;
}

/// manual/infer.4: a result varies over what it does in any branch.
static Typed inferredResult(TypingContext &cx, const Branches &all,
                            unsigned result) {
  Typed found;
  for (const TypingHost::Body &body : all.bodies) {
    TypeId own = body.results[result].type;
    if (!found.type.valid())
      found.type = own;
    else if (TypeId joined = joinVarying(cx.context(), found.type, own);
             joined.valid())
      found.type = joined;
  }
  return found;
}

/// manual/branch.1: in each branch, a cast over what others vary over.
static void offerCasts(TypingContext &cx, const Branches &all, unsigned result,
                       TypeId joined, ErrorBuilder &error) {
  Context &types = cx.context();
  auto differs = [&](const TypingHost::Body &body) {
    TypeId own = body.results[result].type;
    return own.valid() && !typematch(types, own, joined);
  };
  bool several = llvm::count_if(all.bodies, differs) > 1;
  for (auto [k, body] : llvm::enumerate(all.bodies)) {
    TypeId own = body.results[result].type;
    if (!differs(body))
      continue;
    Fix fix = castFix(cx, own, joined, "...");
    fix.result = fix.bodyResult = result;
    fix.group = several;
    fix.code = "return " + fix.code + " from branch " + std::to_string(k);
    error.fix(fix);
  }
}

/// manual/control.2: what devices decide each for themselves differs, but JAX
/// does not give that to the results.
static void checkPredicate(TypingContext &cx, ArrayRef<JaxprId> branches) {
  AxisSet axes = cx.operand(0).manual.varying;
  if (axes.empty())
    return;
  checkCollectives(cx, branches, axes, "branch index");
  resultsVary(cx, axes, "the index of the branch does");
}

/// Reports two branches that differ; the ways out are the types that branches
/// have. The one assumed comes first (cond/type.3).
static TypeId reportBranches(TypingContext &cx, const Branches &all,
                             unsigned result, unsigned first, unsigned other) {
  Context &types = cx.context();
  TypeId a = all.bodies[first].results[result].type;
  TypeId b = all.bodies[other].results[result].type;
  ErrorBuilder error =
      cx.error(diag::BranchMismatch, result, a, first, b, other);
  for (auto [mine, theirs, branch] :
       {std::tuple(b, a, other), std::tuple(a, b, first)})
    if (types.type(mine).isArray() && types.type(theirs).isArray())
      if (auto note = cx.host().origin(all.bodies[branch], result, theirs))
        error.note(note->message + " of branch " + std::to_string(branch),
                   note->stack);
  for (unsigned branch : {first, other})
    if (all.bodies[branch].results[result].open)
      error.note("branch " + std::to_string(branch) + BuiltNote);
  if (TypeId joined = joinAll(types, all, result); joined.valid()) {
    offerCasts(cx, all, result, joined, error);
    return joined;
  }
  SmallVector<Fix, 2> fixes;
  for (const TypingHost::Body &body : all.bodies) {
    TypeId wanted = body.results[result].type;
    bool known =
        llvm::any_of(fixes, [&](const Fix &fix) { return fix.type == wanted; });
    auto reaches = [&](const TypingHost::Body &o) {
      return !o.results[result].type.valid() ||
             differInSharding(types, o.results[result].type, wanted);
    };
    if (known || !wanted.valid() || !llvm::all_of(all.bodies, reaches))
      continue;
    Fix fix;
    fix.type = wanted;
    fix.result = fix.bodyResult = result;
    fix.spec = pasteable(types, types.type(wanted).sharding);
    fix.code = "return reshard(..., " + fix.spec + ") from every branch";
    fix.communication = dearest(cx, all, result, wanted);
    fixes.push_back(std::move(fix));
  }
  llvm::stable_sort(fixes, [](const Fix &x, const Fix &y) {
    return totalSent(x.communication) < totalSent(y.communication);
  });
  if (fixes.empty())
    return a;
  fixes.front().assumed = true;
  for (const Fix &fix : fixes)
    error.fix(fix);
  return fixes.front().type;
}

/// One result: JAX takes branch 0's type if all match it (cond/type.2). What a
/// branch builds counts as replicated, unless all do so (structure/open.4).
static Typed branchResult(TypingContext &cx, const Branches &all,
                          unsigned result, bool &reported) {
  Typed found;
  unsigned first = 0;
  bool allOpen = true;
  if (cx.options().vma == Vma::Infer)
    return inferredResult(cx, all, result);
  for (auto [k, body] : llvm::enumerate(all.bodies)) {
    Typed own = body.results[result];
    allOpen &= own.open;
    if (!own.type.valid())
      continue;
    if (!found.type.valid()) {
      found = {own.type, false};
      first = k;
      continue;
    }
    if (typematch(cx.context(), found.type, own.type))
      continue;
    if (all.hadErrors)
      return {found.type, true};
    reported = true;
    return {reportBranches(cx, all, result, first, k), false};
  }
  found.open = allOpen;
  return found;
}

static LogicalResult condTypes(TypingContext &cx) {
  const auto &p = cx.params<Cond>();
  if (p.branches.empty())
    return cx.error(diag::ParamInvalid, "branches", "there are none")
        .markParam("branches");
  for (JaxprId branch : p.branches)
    if (failed(checkBodyCounts(cx, branch, cx.numOperands() - 1,
                               static_cast<int>(cx.numResults()))))
      return failure();
  bool reported = failed(checkIndex(cx));
  Branches all;
  for (JaxprId branch : p.branches) {
    for (unsigned i = 1; i < cx.numOperands(); ++i)
      reported |= failed(checkBinder(cx, i, cx.operandId(i), branch, i - 1));
    all.bodies.push_back(cx.host().typeBody(branch, cx.operands().drop_front(),
                                            cx.mesh(), {0, 1, 1}));
    all.hadErrors |= all.bodies.back().hadErrors;
  }
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    Typed result = branchResult(cx, all, i, reported);
    cx.setResult(i, result.type, result.open);
  }
  checkPredicate(cx, p.branches);
  return failure(reported);
}

/// An index out of range takes the last branch (spec 09, 15).
static Task condEval(EvalContext &cx) {
  const auto &p = cx.params<Cond>();
  Datum index = cx.takeDatum(0);
  auto last = static_cast<int64_t>(p.branches.size()) - 1;
  int64_t taken = index.tensor.item<int32_t>();
  if (taken < 0 || taken > last)
    taken = last;
  std::vector<Datum> inputs = cx.takeOperands(1);
  std::vector<Datum> outs = co_await cx.run(
      p.branches[static_cast<size_t>(taken)], std::move(inputs), index.varying);
  cx.setResults(std::move(outs));
  co_return success();
}

static BodyRuns oneBranch(const TypedEqn &) { return {BodyRuns::OneOf, 1}; }

static const Primitive Rows[] = {
    {.info = {"cond", schemaOf<Cond>},
     .decode = decodeFor<Cond, 1, AnyNumber>,
     .dims = NoRule{NoRule::NotApplicable, "its branches have them"},
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{condTypes},
     .runs = oneBranch,
     .eval = condEval}};

ArrayRef<Primitive> shardtype::branches() { return Rows; }
