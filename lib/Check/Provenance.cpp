// Provenance.cpp - where a value's sharding came from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Provenance.h"
#include "Findings.h"
#include "shardtype/IR/Paths.h"

using namespace shardtype;

/// Steps a walk takes at most; what is further away is not worth a note.
static constexpr unsigned MaxSteps = 400;

bool shardtype::has(const Type &type, const Trail &trail) {
  const Sharding &sharding = type.sharding;
  switch (trail.where) {
  case Trail::Dim:
    return trail.dim >= 0 &&
           static_cast<size_t>(trail.dim) < sharding.dims.size() &&
           AxisSet::of(sharding.dims[trail.dim]).contains(trail.axes);
  case Trail::Unreduced:
    return (sharding.unreduced | type.manual.unreduced).contains(trail.axes);
  case Trail::Reduced:
    return (sharding.reduced | type.manual.reduced).contains(trail.axes);
  case Trail::Varying:
    return type.manual.varying.contains(trail.axes);
  }
  llvm_unreachable("every place is named");
}

const Site *Provenance::active(ActiveFrame &frame) {
  Site site;
  site.parent = frame.parent ? active(*frame.parent) : nullptr;
  site.frame = &frame;
  site.instance = frame.instance;
  site.jaxpr = frame.id;
  if (frame.parent)
    site.eqn = frame.parent->current;
  site.inputs = frame.inputs;
  return &sites_.emplace_back(site);
}

const Site *Provenance::entry() {
  Site site;
  site.instance = engine_.out().entryInstance;
  site.jaxpr = engine_.program().entry.jaxpr;
  return &sites_.emplace_back(site);
}

const Site *Provenance::done(const Site *parent, const Instance::Held &held) {
  Site site;
  site.parent = parent;
  site.instance = held.instance;
  site.jaxpr = held.body;
  site.eqn = held.eqn;
  site.inputs = held.inputs;
  return &sites_.emplace_back(site);
}

TypeId Provenance::type(const Site *site, Atom atom) const {
  if (atom.isLiteral())
    return engine_.literal(atom.literal()).type();
  if (site->frame)
    return site->frame->val(atom.var()).type();
  const Jaxpr &jaxpr = engine_.program().jaxpr(site->jaxpr);
  const Instance &done = engine_.out().instances[site->instance.index()];
  return done.types[atom.var().raw() - jaxpr.firstVar];
}

const std::vector<Instance::Held> &Provenance::held(const Site *site) const {
  return site->frame ? site->frame->held
                     : engine_.out().instances[site->instance.index()].bodies;
}

StackId Provenance::stack(const Site *site, EqnId eqn) const {
  const Program &program = engine_.program();
  for (; site && eqn.valid(); eqn = site->eqn, site = site->parent) {
    EqnInfoId info = program.eqn(eqn).info;
    if (info.valid() && !program.stack(program.info(info).stack).empty())
      return program.info(info).stack;
  }
  return StackId();
}

EqnId shardtype::definingEqn(const Program &program, const Jaxpr &jaxpr,
                             VarId var) {
  // The last equation whose results do not begin behind the variable; equations
  // without results stand on the same variable as the next.
  uint32_t low = 0, high = jaxpr.numEqns;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (program.eqn(jaxpr.eqn(middle)).firstResult.raw() <= var.raw())
      low = middle + 1;
    else
      high = middle;
  }
  for (; low > 0; --low) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(low - 1));
    if (var.raw() - eqn.firstResult.raw() < eqn.numResults)
      return jaxpr.eqn(low - 1);
  }
  return EqnId();
}

EqnId Provenance::definition(const Site *site, VarId var,
                             unsigned &result) const {
  const Program &program = engine_.program();
  EqnId id = definingEqn(program, program.jaxpr(site->jaxpr), var);
  if (id.valid())
    result = var.raw() - program.eqn(id).firstResult.raw();
  return id;
}

std::optional<DimMap> Provenance::dims(const Site *site, EqnId id) {
  const Program &program = engine_.program();
  const Eqn &eqn = program.eqn(id);
  const Primitive *row = engine_.row(eqn);
  if (!hasRule(row) || !row->dims)
    return std::nullopt;
  SmallVector<Typed, 4> operands;
  for (Atom atom : program.operandsOf(eqn)) {
    operands.push_back({type(site, atom), false});
    if (!operands.back().type.valid())
      return std::nullopt;
  }
  MeshId mesh = site->frame
                    ? site->frame->mesh
                    : engine_.out().instances[site->instance.index()].mesh;
  TypingContext cx(engine_.context(), program, *row, eqn.params, operands,
                   engine_.contextMesh(mesh, eqn), eqn.numResults,
                   engine_.typing(), engine_);
  bool failedRule = failed(cx.run());
  if (failedRule && !cx.haveShape())
    return std::nullopt;
  return row->dims(cx);
}

bool Provenance::stepIntoBody(const Site *&site, VarId &var, Trail &trail,
                              EqnId eqn, unsigned result) {
  const Program &program = engine_.program();
  for (const Instance::Held &body : llvm::reverse(held(site))) {
    const Jaxpr &jaxpr = program.jaxpr(body.body);
    if (body.eqn != eqn || jaxpr.outs.size() != program.eqn(eqn).numResults)
      continue;
    Atom out = jaxpr.outs[result];
    const Site *inside = done(site, body);
    TypeId outType = type(inside, out);
    TypeId resultType = type(site, program.result(program.eqn(eqn), result));
    if (out.isLiteral() || !outType.valid() || !resultType.valid())
      continue;
    // The results of a scan have one dim more than those of its body.
    Trail inner = trail;
    if (trail.where == Trail::Dim)
      inner.dim -= engine_.context().type(resultType).rank() -
                   engine_.context().type(outType).rank();
    if (!has(engine_.context().type(outType), inner))
      continue;
    site = inside;
    var = out.var();
    trail = inner;
    return true;
  }
  return false;
}

bool Provenance::stepThrough(const Site *site, VarId &var, Trail &trail,
                             EqnId eqn, unsigned result, bool *met,
                             ArrayRef<bool> made) {
  const Program &program = engine_.program();
  ArrayRef<Atom> operands = program.operandsOf(eqn);
  std::optional<DimMap> map;
  if (trail.where == Trail::Dim) {
    map = dims(site, eqn);
    if (!map || result >= map->results.size() || trail.dim < 0 ||
        static_cast<size_t>(trail.dim) >= map->results[result].size())
      return false;
  }
  const Jaxpr &jaxpr = program.jaxpr(site->jaxpr);
  std::optional<std::pair<VarId, Trail>> next;
  for (unsigned i = 0; i < operands.size(); ++i) {
    TypeId id = type(site, operands[i]);
    if (!id.valid() || !engine_.context().type(id).isArray() ||
        operands[i].isLiteral())
      continue;
    const Type &type = engine_.context().type(id);
    SmallVector<Trail, 2> trails;
    if (trail.where != Trail::Dim)
      trails.push_back(trail);
    else if (i < map->operands.size())
      for (uint8_t factor : map->results[result][trail.dim])
        for (auto [operand, dim] : map->uses(factor))
          if (operand == i)
            trails.push_back({Trail::Dim, static_cast<int>(dim), trail.axes});
    for (const Trail &t : trails) {
      if (has(type, t) && !next)
        next = {operands[i].var(), t};
      else if (!has(type, t) && met && !made.empty() &&
               made[operands[i].var().raw() - jaxpr.firstVar])
        *met = true;
    }
  }
  if (!next)
    return false;
  std::tie(var, trail) = *next;
  return true;
}

/// From an input of a body to the operand it is; false: it is none.
static bool leaveBody(const Program &program, const Site *&site, VarId &var,
                      unsigned input) {
  ArrayRef<Atom> operands = program.operandsOf(site->eqn);
  unsigned at = site->inputs.operand(input);
  if (at >= operands.size() || operands[at].isLiteral())
    return false;
  var = operands[at].var();
  site = site->parent;
  return true;
}

Origin Provenance::follow(const Site *site, VarId var, Trail trail) {
  const Program &program = engine_.program();
  Origin origin;
  for (unsigned steps = 0; steps < MaxSteps; ++steps) {
    const Jaxpr &jaxpr = program.jaxpr(site->jaxpr);
    uint32_t at = var.raw() - jaxpr.firstVar;
    if (at < jaxpr.numConsts) {
      origin.kind = Origin::Constant;
      return origin;
    }
    if (at < jaxpr.numConsts + jaxpr.numInputs) {
      unsigned input = at - jaxpr.numConsts;
      if (!site->parent) {
        origin.kind = Origin::Argument;
        origin.argument = input;
        return origin;
      }
      TypeId inner = type(site, var);
      const Site *body = site;
      if (!leaveBody(program, site, var, input)) {
        origin.kind = Origin::Constant;
        return origin;
      }
      // A body sees the scanned arrays without their first dim.
      TypeId outer = type(site, var);
      if (!inner.valid() || !outer.valid())
        return origin;
      if (trail.where == Trail::Dim)
        trail.dim += engine_.context().type(outer).rank() -
                     engine_.context().type(inner).rank();
      // A region turns what a dim is sharded over into V.
      if (!has(engine_.context().type(outer), trail)) {
        origin.kind = Origin::Equation;
        origin.eqn = body->eqn;
        origin.site = site;
        origin.input = static_cast<int>(input);
        return origin;
      }
      continue;
    }
    unsigned result = 0;
    EqnId eqn = definition(site, var, result);
    if (!eqn.valid())
      return origin;
    if (stepIntoBody(site, var, trail, eqn, result))
      continue;
    origin.eqn = eqn;
    origin.site = site;
    if (!stepThrough(site, var, trail, eqn, result, nullptr, {})) {
      origin.kind = Origin::Equation;
      return origin;
    }
  }
  return origin;
}

EqnId Provenance::meeting(const Site *site, VarId var, Trail trail, int input,
                          const Site *&where) {
  const Program &program = engine_.program();
  const Jaxpr &jaxpr = program.jaxpr(site->jaxpr);
  // Which values are made from the input.
  SmallVector<bool, 32> made(jaxpr.numVars, input < 0);
  if (input >= 0)
    made[jaxpr.numConsts + input] = true;
  for (uint32_t i = 0; i < jaxpr.numEqns && input >= 0; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    bool any = llvm::any_of(program.operandsOf(eqn), [&](Atom atom) {
      return !atom.isLiteral() && made[atom.var().raw() - jaxpr.firstVar];
    });
    for (unsigned r = 0; any && r < eqn.numResults; ++r)
      made[program.result(eqn, r).raw() - jaxpr.firstVar] = true;
  }
  EqnId found;
  where = site;
  for (unsigned steps = 0; steps < MaxSteps; ++steps) {
    if (var.raw() - jaxpr.firstVar < jaxpr.numConsts + jaxpr.numInputs)
      break;
    unsigned result = 0;
    EqnId eqn = definition(site, var, result);
    bool met = false;
    if (!eqn.valid() || !stepThrough(site, var, trail, eqn, result, &met, made))
      break;
    if (met)
      found = eqn;
  }
  return found;
}

/// The first axes that `a` has and `b` does not have in the same place.
static std::optional<Trail> missing(const Type &a, const Type &b) {
  if (AxisSet axes = a.manual.varying - b.manual.varying; !axes.empty())
    return Trail{Trail::Varying, -1, axes};
  Sharding mine = a.sharding, other = b.sharding;
  mine.unreduced |= a.manual.unreduced;
  mine.reduced |= a.manual.reduced;
  other.unreduced |= b.manual.unreduced;
  other.reduced |= b.manual.reduced;
  for (unsigned d = 0; d < mine.dims.size(); ++d) {
    AxisSet axes = AxisSet::of(mine.dims[d]);
    if (d < other.dims.size())
      axes = axes - AxisSet::of(other.dims[d]);
    if (!axes.empty())
      return Trail{Trail::Dim, static_cast<int>(d), axes};
  }
  if (AxisSet axes = mine.unreduced - other.unreduced; !axes.empty())
    return Trail{Trail::Unreduced, -1, axes};
  if (AxisSet axes = mine.reduced - other.reduced; !axes.empty())
    return Trail{Trail::Reduced, -1, axes};
  return std::nullopt;
}

/// The first equation that uses what a cast gives; null: it is no cast, or
/// nothing in the jaxpr does.
static const Eqn *castFor(const Program &program, const Jaxpr &jaxpr,
                          EqnId cast) {
  const PrimitiveInfo *info = program.primitiveInfo(program.eqn(cast));
  if (!info || !info->castsToVarying)
    return nullptr;
  Atom given = program.result(program.eqn(cast), 0);
  for (EqnId id(cast.raw() + 1); id.raw() < jaxpr.firstEqn + jaxpr.numEqns;
       id = EqnId(id.raw() + 1))
    if (llvm::is_contained(program.operandsOf(id), given))
      return &program.eqn(id);
  return nullptr;
}

std::optional<DiagNote> Engine::origin(const Body &body, unsigned result,
                                       TypeId other, int input) {
  Atom out = program_.jaxpr(body.jaxpr).outs[result];
  TypeId type = body.results[result].type;
  if (!findings_ || !frame_ || out.isLiteral() || !type.valid())
    return std::nullopt;
  std::optional<Trail> trail =
      missing(context_.type(type), context_.type(other));
  if (!trail)
    return std::nullopt;
  std::string axes =
      "'" + str(context_, context_.type(type).sharding.mesh, trail->axes) +
      "' ";
  Provenance provenance(*this);
  Instance::Held held = {frame_->current, body.jaxpr, body.instance, {}};
  for (const Instance::Held &pending : running_.bodies)
    if (pending.instance == body.instance)
      held.inputs = pending.inputs;
  const Site *site = provenance.done(provenance.active(*frame_), held);
  const Site *where = nullptr;
  EqnId eqn = provenance.meeting(site, out.var(), *trail, input, where);
  if (!eqn.valid()) {
    Origin from = provenance.follow(site, out.var(), *trail);
    if (from.kind == Origin::Argument)
      return DiagNote{axes + "comes from the argument " +
                          argumentPaths(program_,
                                        [&](VarId var) {
                                          return findings_->names().name(var);
                                        })[from.argument],
                      provenance.stack(from.site, from.eqn)};
    if (from.kind != Origin::Equation)
      return std::nullopt;
    eqn = from.eqn;
    where = from.site;
  }
  std::string at = "'" + program_.name(program_.eqn(eqn)).str() + "'";
  // JAX writes some casts by itself, for an operation behind.
  if (const Eqn *user = castFor(program_, program_.jaxpr(where->jaxpr), eqn))
    at += " for '" + program_.name(*user).str() + "'";
  return DiagNote{axes + "comes in at " + at, provenance.stack(where, eqn)};
}
