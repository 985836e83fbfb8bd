// Results.cpp - types of results: open ones, and those after an error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Engine.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

/// The type with its dims whole on a mesh.
TypeId shardtype::wholeOn(Context &cx, TypeId type, MeshId mesh) {
  if (!cx.type(type).isArray())
    return type;
  return cx.withSharding(type, replicated(mesh, cx.type(type).rank()));
}

//===--- Regions of other kinds of axes -----------------------------------===//

/// Do two meshes differ in the kinds of their axes only?
static bool differInKinds(const Mesh &a, const Mesh &b) {
  if (a.rank() != b.rank())
    return false;
  for (unsigned axis = 0; axis < a.rank(); ++axis)
    if (a.axes[axis].name != b.axes[axis].name ||
        a.axes[axis].size != b.axes[axis].size)
      return false;
  return true;
}

/// Operands that were not cast on entry of a region (structure/context.1):
/// checking goes on as if they were.
void Engine::nameAxisMode(TypingContext &cx, const Eqn &eqn,
                          ArrayRef<Typed> operands) {
  auto d = llvm::find_if(cx.diagnostics(), [](const Diagnostic &found) {
    return found.code == diag::MeshContext && !found.marks.empty();
  });
  if (d == cx.diagnostics().end())
    return;
  unsigned marked = d->marks.front().index;
  const Mesh here = context_.meshOrEmpty(cx.mesh());
  auto isCast = [&](unsigned i) {
    return cx.operand(i).isArray() && cx.sharding(i).hasMesh() &&
           cx.sharding(i).mesh != cx.mesh() &&
           differInKinds(context_.mesh(cx.sharding(i).mesh), here);
  };
  if (!isCast(marked))
    return;
  d->code = diag::AxisModeMismatch;
  d->message = formatDiag(
      d->code, {std::to_string(marked),
                shortMesh(context_, context_.mesh(cx.sharding(marked).mesh)),
                shortMesh(context_, here)});
  SmallVector<Typed, 8> cast(operands);
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (!isCast(i))
      continue;
    Fix fix;
    fix.operand = static_cast<int>(i);
    Sharding to = onMesh(context_, cx.sharding(i), cx.mesh());
    fix.type = context_.withSharding(cx.operandId(i), to);
    fix.spec = pasteable(context_, to);
    fix.code = "reshard({0}, " + fix.spec + ")";
    // What a Manual axis cuts must be whole before.
    Sharding whole = cx.sharding(i);
    AxisSet manual = here.axesOf(AxisType::Manual);
    for (AxisList &dim : whole.dims)
      llvm::erase_if(dim, [&](uint8_t axis) { return manual.contains(axis); });
    fix.communication =
        reshardCost(context_, cx.operandId(i),
                    context_.withSharding(cx.operandId(i), whole));
    cast[i] = {fix.type, operands[i].open};
    d->fixes.push_back(std::move(fix));
  }
  TypingContext entered(context_, program_, cx.primitive(), cx.paramsId(), cast,
                        cx.mesh(), eqn.numResults, typing_, *this);
  SmallVector<TypeId, 4> recorded;
  for (unsigned i = 0; i < eqn.numResults; ++i)
    recorded.push_back(recordedType(eqn, i));
  entered.setRecordedResults(recorded);
  if (StringId derived = infoState(eqn.info).derived; derived.valid())
    entered.setDerived(context_.str(derived));
  if (failed(entered.run()) || !entered.diagnostics().empty())
    return;
  for (Fix &fix : d->fixes) {
    fix.assumed = true;
    fix.group = d->fixes.size() > 1;
  }
  for (unsigned i = 0; i < eqn.numResults; ++i)
    cx.setResult(i, entered.results()[i].type, entered.results()[i].open);
}

//===--- Open shardings and recovery --------------------------------------===//

const Value *shardtype::givenSharding(const Program &program, ParamsId params) {
  for (StringRef key : {"out_sharding", "sharding", "dst_sharding"}) {
    ValueId id = program.param(params, key);
    if (id.valid() && program.value(id).kind == Value::Sharding &&
        program.value(id).by != Value::Jax)
      return &program.value(id);
  }
  return nullptr;
}

/// Does a parameter stand where JAX copied a sharding from a recorded type?
static bool isCopiedByJax(const Program &program, ParamsId params) {
  return llvm::any_of(program.params(params), [&](const Param &param) {
    const Value &value = program.value(param.value);
    return value.kind == Value::Sharding && value.by == Value::Jax;
  });
}

/// ad_jvp/operand.2: a tangent of a type that JAX might not give it.
static bool isGuessedTangent(TypingContext &cx, unsigned result) {
  ValueId count = cx.program().param(cx.paramsId(), "nout");
  return llvm::any_of(cx.diagnostics(),
                      [](const Diagnostic &d) {
                        return d.code == diag::TangentSharding;
                      }) &&
         count.valid() &&
         result + cx.program().value(count).integer >= cx.numResults();
}

/// Flags of a result that has a type.
uint32_t Engine::resultFlags(TypingContext &cx, Typed found, unsigned i) {
  const Type &type = context_.type(found.type);
  uint32_t flags = 0;
  for (const Instance::Held &held : running_.bodies) {
    const std::vector<Val> &outs = instanceResults_[held.instance.index()].vals;
    if (outs.size() == cx.numResults())
      flags |= outs[i].flags() & (Val::Guess | Val::Assumed);
  }
  if (cx.primitive().open == OpenRule::Custom) {
    if (found.open)
      flags |= Val::Open;
  } else if (type.isArray() && type.rank() != 0 &&
             isOpenResult(cx.primitive().open, cx)) {
    flags |= Val::Open;
  }
  bool tainted = false;
  for (Val operand : running_.operands)
    tainted |= operand.is(Val::Tainted);
  // An operation that maps an undecided value to a new one decides nothing.
  OpenRule rule = cx.primitive().open;
  if (tainted && (rule == OpenRule::Opaque || rule == OpenRule::Follow) &&
      !givenSharding(program_, cx.paramsId()))
    flags |= Val::Open;
  if (tainted && flags & Val::Open)
    flags |= Val::Tainted;
  if (isGuessedTangent(cx, i))
    flags |= Val::Guess;
  return flags;
}

bool Engine::isOpenResult(OpenRule rule, const TypingContext &cx) const {
  bool anyOpen = false, onlyOpen = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    const Type &type = cx.operand(i);
    if (!type.isArray() || type.rank() == 0)
      continue;
    bool open = running_.operands[i].is(Val::Open);
    anyOpen |= open;
    onlyOpen &= open;
  }
  bool retyped = shared_->meshes.retyped();
  if (isCopiedByJax(program_, cx.paramsId()))
    return true; // structure/open.7
  switch (rule) {
  case OpenRule::Pointwise:
  case OpenRule::Strict:
    return anyOpen && onlyOpen; // structure/open.2
  case OpenRule::Builder:
    return onlyOpen && (retyped || anyOpen) &&
           !givenSharding(program_, cx.paramsId()); // structure/open.1
  case OpenRule::Opaque:
  case OpenRule::Follow:
  case OpenRule::Custom:
    return false;
  }
  llvm_unreachable("every rule is named");
}

/// Of two operands, with all axes Explicit, a scalar that is replicated over
/// axes which the other is reduced over: JAX reshards it before it binds the
/// primitive (spec 01, 4.4).
static void reduceScalars(Context &cx, MeshId id,
                          MutableArrayRef<Typed> operands) {
  const Mesh &mesh = cx.meshOrEmpty(id);
  if (operands.size() != 2 || mesh.empty() || !mesh.allOf(AxisType::Explicit))
    return;
  AxisSet reduced;
  for (const Typed &operand : operands)
    reduced |= cx.type(operand.type).sharding.reduced;
  for (Typed &operand : operands) {
    const Type &type = cx.type(operand.type);
    const Sharding &own = type.sharding;
    if (reduced.empty() || !type.isArray() || type.rank() != 0 ||
        reduced.intersects(own.reduced | own.unreduced))
      continue;
    // What it was partial over is gone, too.
    Sharding sharding = replicated(id, 0);
    sharding.reduced = reduced;
    operand.type = cx.withSharding(operand.type, sharding);
  }
}

/// structure/open.5: where all are open, what some of them must have (smaller
/// operands of `jnp.where`) is what all get.
static void mergeOpen(Context &cx, MutableArrayRef<Typed> operands) {
  const Type *first = nullptr;
  for (const Typed &operand : operands)
    if (const Type &type = cx.type(operand.type); type.isArray() &&
                                                  type.sharding.hasMesh() &&
                                                  type.sharding.partitioned())
      first = &type;
  if (!first)
    return;
  const Shape shape = first->shape;
  Sharding all = replicated(first->sharding.mesh, shape.size());
  for (const Typed &operand : operands)
    if (const Type &type = cx.type(operand.type); type.shape == shape)
      for (unsigned d = 0; d < shape.size(); ++d)
        if (all.dims[d].empty() && !type.sharding.dims.empty())
          all.dims[d] = type.sharding.dims[d];
  for (Typed &operand : operands)
    if (operand.open && cx.type(operand.type).shape == shape)
      operand.type = cx.withSharding(operand.type, all);
}

static void resolveOpen(Context &cx, MutableArrayRef<Typed> operands) {
  const Typed *first = nullptr;
  bool anyOpen = false;
  for (const Typed &operand : operands) {
    const Type &type = cx.type(operand.type);
    if (!type.isArray() || type.rank() == 0)
      continue;
    anyOpen |= operand.open;
    if (operand.open || !type.sharding.hasMesh())
      continue;
    // A sharded operand says more than a replicated one, such as a mask.
    if (!first || (type.sharding.partitioned() &&
                   !cx.type(first->type).sharding.partitioned()))
      first = &operand;
  }
  if (!anyOpen)
    return;
  if (!first)
    return mergeOpen(cx, operands);
  const Type from = cx.type(first->type);
  // Beside Auto axes JAX's builders drop the reduced axes.
  bool takesReduced =
      cx.meshOrEmpty(from.sharding.mesh).allOf(AxisType::Explicit);
  for (Typed &operand : operands) {
    const Type &type = cx.type(operand.type);
    if (!operand.open || !type.isArray() || type.rank() != from.rank())
      continue;
    Sharding sharding = replicated(from.sharding.mesh, type.rank());
    for (unsigned d = 0; d < type.rank(); ++d)
      if (type.shape[d] == from.shape[d])
        sharding.dims[d] = from.sharding.dims[d];
    if (takesReduced)
      sharding.reduced = from.sharding.reduced;
    operand = {cx.withSharding(operand.type, sharding), false};
  }
}

/// structure/open.3 by dims that are one, where operands differ in rank.
void Engine::followFirst(const Primitive &row, const Eqn &eqn, MeshId mesh,
                         MutableArrayRef<Typed> operands) {
  bool any = llvm::any_of(operands.drop_front(),
                          [](const Typed &operand) { return operand.open; });
  if (!any || operands.front().open || !row.dims)
    return;
  // The row's own dims, for operands as they are.
  TypingContext cx(context_, program_, row, eqn.params, operands, mesh,
                   eqn.numResults, typing_, *this);
  if (failed(cx.run()) && !cx.haveShape())
    return;
  DimMap map = row.dims(cx);
  const Type first = context_.type(operands.front().type);
  for (unsigned i = 1; i < operands.size() && i < map.operands.size(); ++i) {
    Type type = context_.type(operands[i].type);
    if (!operands[i].open || !type.isArray())
      continue;
    type.sharding.mesh = first.sharding.mesh;
    for (unsigned d = 0; d < type.rank(); ++d)
      for (auto [operand, dim] : map.operands[i][d].empty()
                                     ? decltype(map.uses(0))()
                                     : map.uses(map.operands[i][d].front()))
        if (operand == 0 && first.shape[dim] == type.shape[d])
          type.sharding.dims[d] = first.sharding.dims[dim];
    operands[i] = {context_.intern(type), false};
  }
}

void shardtype::adaptOperands(Context &cx, const Primitive &row, MeshId mesh,
                              bool retyped, MutableArrayRef<Typed> operands) {
  if (row.open == OpenRule::Strict)
    resolveOpen(cx, operands);
  else if (retyped && row.open == OpenRule::Pointwise)
    reduceScalars(cx, mesh, operands);
}

/// The type a result goes on with after an error that gave it none
/// (structure/recovery.2). Invalid: not even its shape is known.
TypeId Engine::recoveredType(TypingContext &cx, const Eqn &eqn, unsigned i,
                             uint32_t &flags) {
  TypeId recorded = cx.recordedResult(i);
  if (!typing_.retyped && recorded.valid())
    return recorded;
  MeshId mesh = cx.ruleMesh();
  TypeId whole;
  if (cx.haveShape() && i == 0)
    whole = cx.composed(replicated(mesh, cx.resultShape().size()));
  else if (recorded.valid())
    whole = wholeOn(context_, recorded, mesh);
  if (!whole.valid())
    return TypeId();
  const Type &type = context_.type(whole);
  if (const Value *given = givenSharding(program_, eqn.params);
      given && type.isArray()) {
    MeshId on = meshes().rewrite(MeshId(static_cast<uint32_t>(given->integer)));
    auto sharding =
        resolve(context_, program_.spec(program_.value(given->elements[0])), on,
                type.rank());
    if (sharding && !checkDivisible(context_, *sharding, type.shape))
      return context_.withSharding(whole, *sharding);
  }
  flags = Val::Open | Val::Tainted;
  return whole;
}
