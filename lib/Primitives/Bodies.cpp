// Bodies.cpp - what rows that hold jaxprs share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bodies.h"

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
  if (!binder.valid() || binder == given ||
      typematch(cx.context(), binder, given))
    return success();
  return cx.error(diag::CallOperand, operand, given, binder).mark(operand);
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

bool shardtype::differInSharding(const Context &cx, TypeId a, TypeId b) {
  const Type &ta = cx.type(a), &tb = cx.type(b);
  return ta.isArray() && tb.isArray() && ta.dtype == tb.dtype &&
         ta.shape == tb.shape && ta.memory == tb.memory &&
         ta.manual == tb.manual && ta.sharding.mesh == tb.sharding.mesh &&
         (ta.sharding.kind == tb.sharding.kind ||
          ta.sharding.unreduced.empty() || tb.sharding.unreduced.empty());
}

//===--- Loops ------------------------------------------------------------===//

namespace {
/// A carry that leaves the body otherwise than it enters.
struct Mismatch {
  Carry carry;
  TypeId in, out;
  bool fixable; // Only the sharding differs.
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

static void reportCarry(TypingContext &cx, const LoopBody &loop,
                        const TypingHost::Body &body, const Mismatch &m,
                        bool startFirst) {
  Context &types = cx.context();
  ErrorBuilder error =
      cx.error(diag::CarryMismatch, m.carry.result, m.in, m.out);
  error.mark(m.carry.operand);
  if (auto note = cx.host().origin(body, m.carry.result,
                                   types.type(m.in).sharding, m.carry.input))
    error.note(note->message, note->stack);
  if (m.carry.built)
    error.note("what comes before the loop" + std::string(BuiltNote));
  if (!m.fixable)
    return;
  Fix end, start;
  end.type = m.in;
  end.result = end.bodyResult = m.carry.result;
  end.spec = cx.arg(types.type(m.in).sharding);
  end.code = "return reshard(..., " + end.spec + ") from the body";
  end.communication = reshardCost(types, m.out, m.in);
  end.times = loop.trips;
  end.assumed = !startFirst;
  start.type = m.start;
  start.operand = m.carry.operand;
  if (m.start.valid()) {
    start.spec = cx.arg(types.type(m.start).sharding);
    start.code = "reshard({0}, " + start.spec + ")";
    start.communication = reshardCost(types, m.in, m.start);
    start.assumed = startFirst;
  }
  if (m.start.valid() && startFirst)
    error.fix(start);
  error.fix(end);
  if (m.start.valid() && !startFirst)
    error.fix(start);
}

/// Reports carries that do not match and brings `results` in line with the way
/// out that is assumed: the one that sends less over all trips, for all carries
/// the same (loop/carry.3).
static void settleCarries(TypingContext &cx, const LoopBody &loop,
                          LoopResults &found,
                          SmallVectorImpl<Mismatch> &mismatches) {
  Context &types = cx.context();
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
  bool startFirst =
      !started.empty() && startSent <= endSent && !cx.options().keepCarries;
  for (const Mismatch &m : mismatches)
    reportCarry(cx, loop, found.body, m, startFirst);
  if (startFirst) {
    found.args = started;
    found.body =
        cx.host().typeBody(loop.jaxpr, started, cx.mesh(), loop.inputs);
    found.results.assign(found.body.results.begin(), found.body.results.end());
    return;
  }
  for (const Mismatch &m : mismatches)
    if (m.fixable)
      found.results[m.carry.result] = {m.in, false};
}

LoopResults shardtype::typeLoop(TypingContext &cx, LoopBody loop) {
  LoopResults found;
  // structure/open.4: what a loop starts from is not open to its body.
  for (Carry &carry : loop.carries) {
    carry.built = loop.args[carry.input].open;
    loop.args[carry.input].open = false;
  }
  found.body =
      cx.host().typeBody(loop.jaxpr, loop.args, cx.mesh(), loop.inputs);
  found.results.assign(found.body.results.begin(), found.body.results.end());
  found.args = loop.args;
  SmallVector<Mismatch, 4> mismatches;
  for (const Carry &carry : loop.carries) {
    TypeId binder = cx.host().binder(loop.jaxpr, carry.input);
    TypeId in = binder.valid() ? binder : loop.args[carry.input].type;
    Typed &out = found.results[carry.result];
    if (!out.type.valid() || out.open) {
      out = {in, false};
      continue;
    }
    if (!typematch(cx.context(), in, out.type))
      mismatches.push_back({carry, in, out.type,
                            differInSharding(cx.context(), in, out.type),
                            TypeId()});
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
