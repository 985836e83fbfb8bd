// Bodies.cpp - what rows that hold jaxprs share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bodies.h"
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/Manual.h"
#include "llvm/ADT/DenseSet.h"

using namespace shardtype;

LogicalResult shardtype::checkBodyCounts(TypingContext &cx, JaxprId body,
                                         unsigned operands, int results) {
  const Jaxpr &jaxpr = cx.program().jaxpr(body);
  if (jaxpr.numInputs != operands)
    return cx.error(diag::CallArity, cx.name(), operands, jaxpr.numInputs);
  if (results >= 0 && jaxpr.outs.size() != static_cast<size_t>(results))
    return cx.error(diag::ResultCount, cx.name(), jaxpr.outs.size(), results);
  return success();
}

LogicalResult shardtype::checkBinder(TypingContext &cx, unsigned operand,
                                     TypeId given, JaxprId body,
                                     unsigned input) {
  TypeId binder = cx.host().binder(body, input);
  if (!binder.valid() || binder == given)
    return success();
  const Type &type = cx.context().type(given);
  if (cx.program().fromText)
    binder = withKindOf(cx.context(), binder, given);
  if (cx.options().vma == Vma::Infer && type.isArray() &&
      cx.context().type(binder).isArray()) // The trace says nothing of V.
    binder = withManual(cx.context(), binder, type.manual, type.sharding.mesh);
  if (typematch(cx.context(), binder, given))
    return success();
  return cx.error(diag::CallOperand, operand, given, binder).mark(operand);
}

// call/type.1
LogicalResult shardtype::callTypes(TypingContext &cx, JaxprId body,
                                   ArrayRef<Typed> args, MeshId mesh,
                                   bool compare) {
  if (failed(checkBodyCounts(cx, body, cx.numOperands(),
                             static_cast<int>(cx.numResults()))))
    return failure();
  bool reported = false;
  for (unsigned i = 0; i < cx.numOperands() && compare; ++i)
    reported |= failed(checkBinder(cx, i, cx.operandId(i), body, i));
  TypingHost::Body typed = cx.host().typeBody(body, args, mesh);
  for (unsigned i = 0; i < cx.numResults(); ++i)
    cx.setResult(i, typed.results[i].type, typed.results[i].open);
  return failure(reported);
}

TypeId shardtype::withoutLeadingDim(Context &cx, TypeId id) {
  Type type = cx.type(id);
  type.shape.erase(type.shape.begin());
  type.sharding.dims.erase(type.sharding.dims.begin());
  return cx.intern(type);
}

TypeId shardtype::withLeadingDim(Context &cx, TypeId id, int64_t size) {
  Type type = cx.type(id);
  if (!type.isArray())
    return id;
  type.shape.insert(type.shape.begin(), size);
  type.sharding.dims.insert(type.sharding.dims.begin(), AxisList());
  return cx.intern(type);
}

bool shardtype::differInSharding(Context &cx, TypeId from, TypeId to) {
  const Type &ta = cx.type(from), &tb = cx.type(to);
  return ta.isArray() && tb.isArray() && ta.dtype == tb.dtype &&
         ta.shape == tb.shape && ta.memory == tb.memory &&
         ta.manual == tb.manual && ta.sharding.mesh == tb.sharding.mesh &&
         !refusedReshard(cx, ta.sharding, tb.sharding);
}

//===--- States over Manual axes ------------------------------------------===//

TypeId shardtype::joinVarying(Context &cx, TypeId a, TypeId b) {
  if (!a.valid() || !b.valid() || !cx.type(a).isArray() ||
      !cx.type(b).isArray())
    return TypeId();
  Type join = cx.type(a), other = cx.type(b);
  ManualAxisType to = join.manual;
  to.varying |= other.manual.varying;
  to.reduced = (to.reduced | other.manual.reduced) - to.varying;
  MeshId mesh =
      join.sharding.hasMesh() ? join.sharding.mesh : other.sharding.mesh;
  if (!mesh.valid())
    return a == b ? a : TypeId();
  join.sharding.mesh = mesh;
  if (!other.sharding.hasMesh())
    other.sharding.mesh = mesh;
  uint64_t bytes = bytesPerDevice(cx, a);
  if (to.varying.intersects(to.unreduced) ||
      !castPath(cx, mesh, join.manual, to, bytes) ||
      !castPath(cx, mesh, other.manual, to, bytes) ||
      join.manual.unreduced != other.manual.unreduced)
    return TypeId();
  join.manual = other.manual = to;
  TypeId joined = cx.intern(join);
  return typematch(cx, joined, cx.intern(other)) ? joined : TypeId();
}

/// A result that varies over `axes` too.
static void joinState(TypingContext &cx, unsigned result, AxisSet axes) {
  Typed typed = cx.results()[result];
  if (!typed.type.valid() || !cx.context().type(typed.type).isArray())
    return;
  ManualAxisType to = cx.context().type(typed.type).manual;
  to.varying |= axes - to.unreduced - to.reduced;
  cx.setResult(result, withManual(cx.context(), typed.type, to, cx.mesh()),
               typed.open);
}

void shardtype::resultsVary(TypingContext &cx, AxisSet axes, StringRef why) {
  AxisSet lost;
  for (const Typed &result : cx.results())
    if (result.type.valid() && cx.context().type(result.type).isArray())
      lost |= axes - cx.context().type(result.type).manual.varying;
  if (lost.empty())
    return;
  if (cx.options().vma == Vma::On)
    return warnVariationLost(cx, lost, why);
  for (unsigned i = 0; i < cx.numResults(); ++i)
    joinState(cx, i, axes);
}

namespace {
/// A collective that some equation runs.
struct UsedCollective {
  StringRef name;
  AxisSet axes;
  StackId stack;
};
} // namespace

static AxisSet axesNamed(const Program &program, const Eqn &eqn,
                         const Mesh &mesh) {
  AxisSet axes;
  for (uint8_t axis : collectiveAxes(program, eqn.params, mesh))
    axes.insert(axis);
  return axes;
}

/// Collectives over some of the axes in a jaxpr and all that it holds.
static void findCollectives(const Program &program, JaxprId id,
                            const Mesh &mesh, AxisSet over,
                            llvm::DenseSet<JaxprId> &seen,
                            SmallVectorImpl<UsedCollective> &found) {
  if (!seen.insert(id).second)
    return;
  const Jaxpr &jaxpr = program.jaxpr(id);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    const PrimitiveInfo *info = program.primitives[eqn.primitive].info;
    if (info && info->collective)
      if (AxisSet axes = axesNamed(program, eqn, mesh); axes.intersects(over))
        found.push_back(
            {program.name(eqn), axes,
             eqn.info.valid() ? program.info(eqn.info).stack : StackId()});
    for (const Param &param : program.params(eqn.params))
      forEachJaxpr(program, param.value, [&](JaxprId body) {
        findCollectives(program, body, mesh, over, seen, found);
      });
  }
}

void shardtype::checkCollectives(TypingContext &cx, ArrayRef<JaxprId> bodies,
                                 AxisSet axes, StringRef what) {
  if (axes.empty())
    return;
  const Mesh mesh = cx.context().meshOrEmpty(cx.mesh());
  llvm::DenseSet<JaxprId> seen;
  SmallVector<UsedCollective, 4> found;
  for (JaxprId body : bodies)
    findCollectives(cx.program(), body, mesh, axes, seen, found);
  if (found.empty())
    return;
  const UsedCollective &first = found.front();
  ErrorBuilder error =
      cx.error(diag::CollectiveUnderVarying, first.name,
               str(cx.context(), cx.mesh(), first.axes), what,
               str(cx.context(), cx.mesh(), first.axes & axes));
  error.note("'" + first.name.str() + "' runs here", first.stack);
  if (found.size() > 1)
    error.note(std::to_string(found.size() - 1) +
               " more collectives of this "
               "'" +
               cx.name().str() + "' run over such axes");
  if (cx.name() == "cond")
    error.mark(0);
}

//===--- Loops ------------------------------------------------------------===//

namespace {
/// A carry that leaves the body otherwise than it enters.
struct Mismatch {
  Carry carry;
  TypeId in, out;
  bool fixable; // Only the sharding differs.
  // With casts: what it varies over at both ends, and how it leaves then.
  TypeId joined, end;
  TypeId start; // What it would have to start as; invalid: no such type.
  uint64_t endSent = 0, startSent = 0;
};
} // namespace

/// Starting carries as they leave: the arguments for which they leave as they
/// enter; empty if there are none near.
static std::vector<Typed> fixpoint(TypingContext &cx, const LoopBody &loop,
                                   ArrayRef<Typed> results) {
  std::vector<Typed> args = loop.args;
  SmallVector<Typed, 8> last(results);
  for (unsigned round = 0; round < 4; ++round) {
    bool same = true;
    for (const Carry &carry : loop.carries) {
      TypeId in = args[carry.input].type, out = last[carry.result].type;
      if (last[carry.result].open || typematch(cx.context(), in, out))
        continue;
      if (!differInSharding(cx.context(), in, out))
        return {};
      args[carry.input] = {out, false};
      same = false;
    }
    if (same)
      return args;
    std::vector<Typed> tried = cx.host().tryBody(loop.jaxpr, args, cx.mesh());
    if (tried.empty())
      return {};
    last.assign(tried.begin(), tried.end());
  }
  return {};
}

/// What leaves the body as a carry. One without a sharding of its own takes
/// that of what enters, but not what that varies over.
static TypeId leaving(TypingContext &cx, TypeId in, Typed out) {
  Context &types = cx.context();
  if (!out.open || !out.type.valid())
    return out.type;
  if (cx.options().vma != Vma::On || !types.type(out.type).isArray() ||
      !types.type(in).isArray())
    return in;
  return withManual(types, in, types.type(out.type).manual, cx.mesh());
}

/// Arguments for which all carries leave as they enter, but for casts: what
/// varies on one side varies on the other; empty if there are none. `last`:
/// the body's results, first for the loop's arguments, then for these.
static std::vector<Typed> joinCarries(TypingContext &cx, const LoopBody &loop,
                                      std::vector<Typed> &last) {
  std::vector<Typed> args = loop.args;
  // Each round some carry gets an axis, and meshes have few.
  for (unsigned round = 0; round < 64; ++round) {
    bool same = true;
    for (const Carry &carry : loop.carries) {
      TypeId in = args[carry.input].type;
      TypeId out = leaving(cx, in, last[carry.result]);
      if (!out.valid() || typematch(cx.context(), in, out))
        continue;
      TypeId joined = joinVarying(cx.context(), in, out);
      if (!joined.valid())
        return {};
      same &= joined == in;
      args[carry.input] = {joined, false};
    }
    if (same)
      return args;
    std::vector<Typed> tried = cx.host().tryBody(loop.jaxpr, args, cx.mesh());
    if (tried.empty())
      return {};
    last = std::move(tried);
  }
  return {};
}

Fix shardtype::castFix(TypingContext &cx, TypeId from, TypeId to,
                       StringRef value) {
  Context &types = cx.context();
  Fix fix;
  fix.type = to;
  fix.assumed = true;
  auto path =
      castPath(types, types.type(to).sharding.mesh, types.type(from).manual,
               types.type(to).manual, bytesPerDevice(types, from));
  fix.spec =
      stateSpec(types, types.type(to).sharding.mesh, types.type(to).manual);
  fix.code = path ? path->code : "";
  if (size_t at = fix.code.find("{0}"); at != std::string::npos)
    fix.code.replace(at, 3, value);
  return fix;
}

/// manual/carry.1: casts at the start, at the end of the body, or both.
static void offerCasts(TypingContext &cx, const Mismatch &m,
                       ErrorBuilder &error) {
  bool atStart = m.joined != m.in;
  bool atEnd = !typematch(cx.context(), m.end, m.joined);
  if (atStart) {
    Fix start = castFix(cx, m.in, m.joined, "{0}");
    start.operand = m.carry.operand;
    start.group = atEnd;
    error.fix(start);
  }
  if (atEnd) {
    Fix end = castFix(cx, m.end, m.joined, "...");
    end.result = end.bodyResult = m.carry.result;
    end.code = "return " + end.code + " from the body";
    end.group = atStart;
    error.fix(end);
  }
}

static void reportCarry(TypingContext &cx, const LoopBody &loop,
                        const TypingHost::Body &body, const Mismatch &m,
                        bool startFirst) {
  Context &types = cx.context();
  ErrorBuilder error =
      cx.error(diag::CarryMismatch, m.carry.result, m.in, m.out);
  error.mark(m.carry.operand);
  if (auto note = cx.host().origin(body, m.carry.result, m.in, m.carry.input))
    error.note(note->message, note->stack);
  if (m.carry.built)
    error.note("what comes before the loop" + std::string(BuiltNote));
  if (m.joined.valid())
    return offerCasts(cx, m, error);
  if (!m.fixable)
    return;
  Fix end, start;
  end.type = m.in;
  end.result = end.bodyResult = m.carry.result;
  end.spec = pasteable(types, types.type(m.in).sharding);
  end.code = "return reshard(..., " + end.spec + ") from the body";
  end.communication = reshardCost(types, m.out, m.in);
  end.times = loop.trips;
  end.perTrip = true;
  end.assumed = !startFirst;
  if (m.start.valid()) {
    start = reshardFix(types, m.carry.operand, m.in, m.start);
    start.assumed = startFirst;
  }
  if (m.start.valid() && startFirst)
    error.fix(start);
  error.fix(end);
  if (m.start.valid() && !startFirst)
    error.fix(start);
}

/// Do two types differ over Manual axes?
static bool differInState(const Context &cx, TypeId a, TypeId b) {
  const Type &x = cx.type(a), &y = cx.type(b);
  return x.isArray() && y.isArray() && x.manual != y.manual;
}

/// Reports carries whose states differ, and goes on as if the casts that bring
/// them together were there; false if there are none.
static bool settleStates(TypingContext &cx, const LoopBody &loop,
                         LoopResults &found,
                         SmallVectorImpl<Mismatch> &mismatches) {
  std::vector<Typed> last = found.results;
  std::vector<Typed> started = joinCarries(cx, loop, last);
  if (started.empty())
    return false;
  for (Mismatch &m : mismatches) {
    m.joined = started[m.carry.input].type;
    m.end = last[m.carry.result].type;
    reportCarry(cx, loop, found.body, m, false);
  }
  // Carries that only now leave otherwise than they enter.
  for (const Carry &carry : loop.carries) {
    bool reported = llvm::any_of(mismatches, [&](const Mismatch &m) {
      return m.carry.input == carry.input;
    });
    if (reported || started[carry.input].type == loop.args[carry.input].type)
      continue;
    Fix fix = castFix(cx, loop.args[carry.input].type,
                      started[carry.input].type, "{0}");
    fix.operand = carry.operand;
    std::vector<Fix> &fixes = cx.diagnostics().back().fixes;
    fixes.push_back(fix);
    for (Fix &together : fixes)
      together.group = 1;
  }
  found.args = started;
  BodyInputs inputs = loop.inputs;
  inputs.recast = found.recast = started != loop.args;
  found.body = cx.host().typeBody(loop.jaxpr, started, cx.mesh(), inputs);
  for (const Carry &carry : loop.carries)
    found.results[carry.result] = started[carry.input];
  for (unsigned i = loop.carries.size(); i < found.results.size(); ++i)
    found.results[i] = found.body.results[i];
  return true;
}

std::vector<Typed> shardtype::triedResults(TypingContext &cx, JaxprId body,
                                           ArrayRef<Typed> args,
                                           BodyInputs inputs) {
  std::vector<Typed> tried = cx.host().tryBody(body, args, cx.mesh());
  // Nothing is reported here, or there are errors anyway.
  if (tried.empty() && !cx.program().jaxpr(body).outs.empty()) {
    TypingHost::Body typed = cx.host().typeBody(body, args, cx.mesh(), inputs);
    tried.assign(typed.results.begin(), typed.results.end());
  }
  return tried;
}

/// manual/infer.4: what a loop makes of the axes its carries vary over.
void shardtype::inferCarries(TypingContext &cx, LoopBody &loop) {
  for (unsigned round = 0; round < 64; ++round) {
    std::vector<Typed> last =
        triedResults(cx, loop.jaxpr, loop.args, loop.inputs);
    bool same = true;
    for (const Carry &carry : loop.carries) {
      Typed &in = loop.args[carry.input];
      TypeId joined =
          joinVarying(cx.context(), in.type, last[carry.result].type);
      if (!joined.valid() || joined == in.type)
        continue;
      same = false;
      in.type = joined;
    }
    if (same)
      return;
  }
}

/// Do recorded types of the loop's results, which stand, say that a carry
/// leaves as it enters?
static bool recordedAsEntered(TypingContext &cx, ArrayRef<Mismatch> all) {
  if (cx.options().retyped)
    return false;
  return llvm::any_of(all, [&](const Mismatch &m) {
    TypeId recorded = cx.recordedResult(m.carry.result);
    return recorded.valid() && m.fixable &&
           typematch(cx.context(), recorded, m.in);
  });
}

/// Reports carries that do not match and brings `results` in line with the way
/// out that is assumed: the one that sends less over all trips, for all carries
/// the same (loop/carry.3).
static void settleCarries(TypingContext &cx, const LoopBody &loop,
                          LoopResults &found,
                          SmallVectorImpl<Mismatch> &mismatches) {
  Context &types = cx.context();
  bool states = llvm::any_of(mismatches, [&](const Mismatch &m) {
    return differInState(types, m.in, m.out);
  });
  if (states && settleStates(cx, loop, found, mismatches))
    return;
  std::vector<Typed> started = fixpoint(cx, loop, found.results);
  uint64_t startSent = 0, endSent = 0;
  for (Mismatch &m : mismatches) {
    if (!m.fixable)
      continue;
    endSent = addAmounts(
        endSent, multiplyAmounts(totalSent(reshardCost(types, m.out, m.in)),
                                 loop.trips));
    if (started.empty())
      continue;
    m.start = started[m.carry.input].type;
    startSent =
        addAmounts(startSent, totalSent(reshardCost(types, m.in, m.start)));
  }
  bool startFirst = !started.empty() && startSent <= endSent &&
                    !cx.options().keepCarries &&
                    !recordedAsEntered(cx, mismatches);
  for (const Mismatch &m : mismatches)
    reportCarry(cx, loop, found.body, m, startFirst);
  if (startFirst) {
    found.args = started;
    BodyInputs inputs = loop.inputs;
    inputs.retyped = true;
    found.body = cx.host().typeBody(loop.jaxpr, started, cx.mesh(), inputs);
    found.results.assign(found.body.results.begin(), found.body.results.end());
    return;
  }
  for (const Mismatch &m : mismatches)
    if (m.fixable)
      found.results[m.carry.result] = {m.in, false};
}

LoopResults shardtype::typeLoop(TypingContext &cx, LoopBody loop) {
  LoopResults found;
  loop.inputs.repeated = true;
  // structure/open.4: what a loop starts from is not open to its body.
  for (Carry &carry : loop.carries) {
    carry.built = loop.args[carry.input].open;
    loop.args[carry.input].open = false;
  }
  bool infers = cx.options().vma == Vma::Infer;
  if (infers)
    inferCarries(cx, loop);
  found.body =
      cx.host().typeBody(loop.jaxpr, loop.args, cx.mesh(), loop.inputs);
  found.results.assign(found.body.results.begin(), found.body.results.end());
  found.args = loop.args;
  SmallVector<Mismatch, 4> mismatches;
  for (const Carry &carry : loop.carries) {
    TypeId binder = cx.host().binder(loop.jaxpr, carry.input);
    TypeId in =
        binder.valid() && !infers ? binder : loop.args[carry.input].type;
    Typed &out = found.results[carry.result];
    out = {out.type.valid() ? leaving(cx, in, out) : in, false};
    if (infers && joinVarying(cx.context(), in, out.type) == in)
      out.type = in;
    else if (!typematch(cx.context(), in, out.type))
      mismatches.push_back({carry,
                            in,
                            out.type,
                            differInSharding(cx.context(), out.type, in),
                            {},
                            {},
                            {}});
  }
  if (mismatches.empty())
    return found;
  if (found.body.hadErrors) { // structure/recovery.5
    for (const Mismatch &m : mismatches)
      found.results[m.carry.result] = {m.in, true};
    return found;
  }
  found.failed = true;
  settleCarries(cx, loop, found, mismatches);
  return found;
}
