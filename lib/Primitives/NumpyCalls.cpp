// NumpyCalls.cpp - functions of jax.numpy that show in a trace as calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NumpyCalls.h"
#include "llvm/ADT/DenseMap.h"

using namespace shardtype;

//===--- where ------------------------------------------------------------===//

namespace {
/// The body of a `jnp.where`: its operands in one dtype and one shape, and a
/// select of them.
struct WhereBody {
  Shape shape;
  /// Of each input the result's dim that each of its dims becomes: the last
  /// ones, unless the call was batched.
  SmallVector<int64_t, 4> dims[3];
};
} // namespace

/// Adds the dims that a broadcast_in_dim gives its operand's.
static bool mapDims(const Program &program, const Eqn &eqn,
                    SmallVectorImpl<int64_t> &dims) {
  ValueId id = program.param(eqn.params, "broadcast_dimensions");
  ArrayRef<ValueId> to;
  if (id.valid())
    to = program.value(id).elements;
  for (int64_t &dim : dims) {
    if (dim < 0 || static_cast<size_t>(dim) >= to.size())
      return false;
    dim = program.value(to[dim]).integer;
  }
  return true;
}

/// Is a sharding given, by somebody else than JAX when it was recorded?
static bool isPlaced(const Program &program, const Eqn &eqn, StringRef key) {
  ValueId id = program.param(eqn.params, key);
  return id.valid() && program.value(id).kind == Value::Sharding &&
         program.value(id).by != Value::Jax;
}

/// Nothing if the body is no `jnp.where`, or one that was traced with
/// shardings, where the reshards are equations. In a recording they are too,
/// but JAX wrote them for no sharding.
static std::optional<WhereBody>
whereBody(const TypingContext &cx, const Program &program, const Jaxpr &jaxpr) {
  if (jaxpr.numInputs != 3 || jaxpr.numEqns == 0 || jaxpr.outs.size() != 1)
    return std::nullopt;
  WhereBody body;
  llvm::DenseMap<VarId, unsigned> inputOf;
  for (unsigned i = 0; i < 3; ++i) {
    inputOf[jaxpr.input(i)] = i;
    for (unsigned d = 0; d < cx.operand(i).rank(); ++d)
      body.dims[i].push_back(d);
  }
  for (uint32_t i = 0; i + 1 < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    StringRef name = program.name(eqn);
    if (eqn.numOperands == 0 || eqn.numResults != 1)
      return std::nullopt;
    Atom from = program.operandsOf(eqn)[0];
    auto input = from.isLiteral() ? inputOf.end() : inputOf.find(from.var());
    bool broadcasts = name == "broadcast_in_dim";
    bool known = broadcasts || name == "convert_element_type" || name == "ne" ||
                 name == "reshard";
    if (!known || isPlaced(program, eqn, "sharding") ||
        isPlaced(program, eqn, "dst_sharding") || input == inputOf.end() ||
        (broadcasts && !mapDims(program, eqn, body.dims[input->second])))
      return std::nullopt;
    unsigned which = input->second;
    inputOf[program.result(eqn, 0)] = which;
  }
  const Eqn &last = program.eqn(jaxpr.eqn(jaxpr.numEqns - 1));
  if (last.numResults != 1)
    return std::nullopt;
  TypeId type = program.var(program.result(last, 0)).type;
  if (program.name(last) != "select_n" || jaxpr.outs[0].isLiteral() ||
      jaxpr.outs[0].var() != program.result(last, 0) || !type.valid())
    return std::nullopt;
  body.shape = program.context().type(type).shape;
  return body;
}

/// jit/where.2: where shapes differ, JAX reads the entries of the first operand
/// of the highest rank, then pads those of each operand in turn; both fail on
/// partial sums and reduced axes.
static LogicalResult
refuseWhereSets(TypingContext &cx, ArrayRef<unsigned> operands, unsigned rank) {
  unsigned highest = *llvm::find_if(
      operands, [&](unsigned i) { return cx.operand(i).rank() == rank; });
  auto fix = [&](ErrorBuilder error, unsigned operand) {
    return error.mark(operand).fixOperand(operand,
                                          withoutSets(cx.sharding(operand)));
  };
  if (cx.sharding(highest).hasUR())
    return fix(cx.error(diag::SpecIteration, "jnp.where"), highest);
  for (unsigned i : operands)
    if (cx.sharding(i).hasUR())
      return fix(cx.error(diag::AccidentalTypeError, "jnp.where",
                          "it pads the spec of an operand that is unreduced or "
                          "reduced"),
                 i);
  return success();
}

/// The entries of `operands` put together. Reports two that differ and an axis
/// used twice. Open operands have no say.
static FailureOr<Sharding> combined(TypingContext &cx,
                                    ArrayRef<unsigned> operands,
                                    const WhereBody &body) {
  unsigned rank = body.shape.size();
  Sharding all = replicated(cx.ruleMesh(), rank);
  SmallVector<std::pair<unsigned, unsigned>, 4> from(rank);
  for (unsigned i : operands) {
    const Sharding &own = cx.sharding(i);
    for (unsigned d = 0; d < own.dims.size(); ++d) {
      const AxisList &entry = own.dims[d];
      unsigned to = static_cast<unsigned>(body.dims[i][d]);
      AxisList &slot = all.dims[to];
      if (entry.empty() || entry == slot || cx.operandTyped(i).open)
        continue;
      if (!slot.empty())
        return cx
            .error(diag::NaryConflict, "jnp.where", to,
                   cx.arg(slot) + " and " + cx.arg(entry))
            .mark(from[to].first, from[to].second)
            .mark(i, d);
      slot = entry;
      from[to] = {i, d};
    }
  }
  if (failed(checkIllegalResult(cx, all, diag::IllegalResultMulti)))
    return failure();
  return all;
}

/// jit/where.1: `jnp.where` of arrays that differ in shape broadcasts each to
/// the shape and sharding of all together. A trace without shardings has the
/// broadcasts, but not the reshards of arrays that have the shape already. So
/// those are taken with the sharding, and what is smaller is open, as it is
/// made for this place.
static LogicalResult where(TypingContext &cx, const WhereBody &body,
                           NumpyCall &call) {
  SmallVector<unsigned, 3> operands = {1, 2};
  if (cx.operand(0).rank() != 0)
    operands.insert(operands.begin(), 0);
  bool same = true;
  unsigned rank = 0;
  for (unsigned i : operands) {
    if (!cx.operand(i).isArray())
      return success();
    for (int64_t dim : body.dims[i])
      if (dim < 0 || static_cast<size_t>(dim) >= body.shape.size())
        return success();
    same &= cx.operand(i).shape == body.shape;
    rank = std::max<unsigned>(rank, cx.operand(i).rank());
  }
  if (same || !cx.rulesApply())
    return success();
  if (failed(refuseWhereSets(cx, operands, rank)))
    return failure();
  FailureOr<Sharding> sharding = combined(cx, operands, body);
  if (failed(sharding))
    return failure();
  for (unsigned i : operands) {
    Typed &arg = call.args[i];
    if (!arg.open && cx.operand(i).rank() != 0)
      call.result = *sharding;
    if (cx.operand(i).shape != body.shape)
      arg.open = true;
    else if (!arg.open && !checkDivisible(cx.context(), *sharding, body.shape))
      arg.type = cx.context().withSharding(arg.type, *sharding);
  }
  return success();
}

//===--- roll -------------------------------------------------------------===//

/// The dims that `jnp.roll` rolls over: those of the concatenations it writes.
static SmallVector<unsigned, 2> rolledDims(const Program &program,
                                           const Jaxpr &jaxpr, unsigned rank) {
  SmallVector<unsigned, 2> dims;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    ValueId id = program.param(eqn.params, "dimension");
    if (program.name(eqn) != "concatenate" || !id.valid())
      continue;
    int64_t dim = program.value(id).integer;
    if (dim >= 0 && dim < rank && !llvm::is_contained(dims, dim))
      dims.push_back(static_cast<unsigned>(dim));
  }
  return dims;
}

/// jit/roll.1: no dim that is rolled may be sharded, though slices and a
/// concatenation of such a dim may be legal.
static LogicalResult roll(TypingContext &cx, JaxprId body, NumpyCall &call) {
  const Type &type = cx.operand(0);
  if (!type.isArray() || !cx.rulesApply())
    return success();
  SmallVector<unsigned, 2> dims =
      rolledDims(cx.program(), cx.program().jaxpr(body), type.rank());
  const Sharding own = type.sharding;
  if (!dims.empty() && own.hasUR())
    return cx.error(diag::SpecIteration, "jnp.roll")
        .mark(0)
        .fixOperand(0, withoutSets(own));
  for (unsigned dim : dims) {
    if (own.dims[dim].empty() || call.args[0].open)
      continue;
    Sharding whole = own;
    for (unsigned rolled : dims)
      whole.dims[rolled].clear();
    ErrorBuilder error = cx.error(diag::RollSharded, dim, own.dims[dim]);
    error.mark(0, static_cast<int>(dim)).fixOperand(0, whole);
    error.diagnostic().fixes.back().assumed = true;
    call.args[0].type = cx.context().withSharding(cx.operandId(0), whole);
    call.reported = true;
    break;
  }
  return success();
}

FailureOr<NumpyCall> shardtype::numpyCall(TypingContext &cx, StringRef name,
                                          JaxprId body) {
  NumpyCall call;
  call.args.assign(cx.operands().begin(), cx.operands().end());
  if (!cx.options().retyped)
    return call;
  LogicalResult result = success();
  const Jaxpr &jaxpr = cx.program().jaxpr(body);
  if (name == "_where" && call.args.size() == 3) {
    if (auto known = whereBody(cx, cx.program(), jaxpr))
      result = where(cx, *known, call);
  } else if ((name == "_roll_static" && call.args.size() == 1) ||
             (name == "_roll_dynamic" && call.args.size() == 2)) {
    result = roll(cx, body, call);
  }
  if (failed(result))
    return failure();
  return call;
}
