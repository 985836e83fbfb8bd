// Fixes.cpp - a program with the assumed fixes written into it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program is written anew, one jaxpr per instance, so that a body which two
// calls use with different types gets two texts. In it
//
// - a fix of an operand is a `reshard` in front of the equation;
// - a fix of a result is the primitive's own parameter (`out_sharding`) where
// it
//   has one; else the equation runs where all axes are Auto, as JAX does it for
//   `.at[...].get(out_sharding=...)`: operands are cast on entry, the result is
//   resharded behind it;
// - what an equation resolved by rule F gets a `reshard` in front of it;
// - a body whose result differs from that of its equation ends in a `reshard`:
//   a carry that must leave as it entered, a branch that follows another.
//
// The result checks without errors if every error had an assumed fix; a test
// says so.
#include "Engine.h"
#include "shardtype/Rules/Emit.h"
#include "shardtype/Rules/Manual.h"
#include <map>

using namespace shardtype;

namespace {
class FixWriter {
public:
  FixWriter(const CheckedProgram &checked, const PrimitiveSet &primitives,
            std::vector<MadeChoice> &made)
      : checked_(checked), program_(*checked.program),
        context_(program_.context()), primitives_(primitives), made_(made),
        meshes_(program_, checked.options), out_(program_.clone()),
        builder_(out_), emit_(out_, builder_, primitives) {
    out_.eqns.clear();
    out_.operands.clear();
    out_.vars.clear();
    out_.jaxprs.clear();
  }

  Program write();

private:
  /// An instance, and the types its results must end with.
  using Wanted = std::vector<TypeId>;
  /// One jaxpr while it is written.
  struct Body {
    InstanceId instance;
    const Jaxpr *jaxpr;
    std::vector<Atom> vars; // By old variable, from the first.
    std::string path;
  };

  JaxprId writeInstance(InstanceId id, const Wanted &wanted,
                        const std::string &path);
  JaxprId copyJaxpr(JaxprId id);
  void describe(const Jaxpr &from, Body &body, MeshId mesh);
  void writeEqn(Body &body, EqnId id, ParamsId params);
  void wantInputs(const Body &body, EqnId id, ArrayRef<TypeId> types,
                  MutableArrayRef<Typed> wanted);
  void writeInAutoRegion(Body &body, EqnId id, ParamsId params,
                         ArrayRef<Atom> operands, ArrayRef<TypeId> types,
                         TypeId result);
  bool writeCast(Body &body, EqnId id, ArrayRef<TypeId> types);
  void wantVarying(const Body &body, const Eqn &eqn,
                   MutableArrayRef<Typed> wanted) const;
  void bind(Body &body, const Eqn &eqn, unsigned result, Atom atom);
  ParamsId writeBodies(const Body &body, EqnId id);
  ParamsId setSharding(const Eqn &eqn, ParamsId params, TypeId type);
  Wanted wantedOf(const Body &body, EqnId id, InstanceId held) const;
  ValueId rewrite(ValueId id, llvm::function_ref<JaxprId(JaxprId)> map);
  EqnInfoId rewriteInfo(const Body &body, EqnInfoId id);
  Atom mapped(const Body &body, Atom atom) const {
    return atom.isLiteral()
               ? atom
               : body.vars[atom.var().raw() - body.jaxpr->firstVar];
  }
  /// The context mesh of an equation, as it was typed.
  MeshId contextMesh(const Body &body, const Eqn &eqn) {
    if (eqn.info.valid() && program_.info(eqn.info).hasContextMesh)
      return meshes_.rewrite(program_.info(eqn.info).contextMesh);
    return checked_.instances[body.instance.index()].mesh;
  }
  ArrayRef<Instance::Assumed> fixesOf(const Body &body, EqnId id) const;
  void note(const Body &body, EqnId id, const Fix &fix);

  const CheckedProgram &checked_;
  const Program &program_;
  Context &context_;
  const PrimitiveSet &primitives_;
  std::vector<MadeChoice> &made_;
  Meshes meshes_;
  Program out_;
  Builder builder_;
  Emitter emit_;
  std::map<std::pair<InstanceId, Wanted>, JaxprId> written_;
  llvm::DenseMap<JaxprId, JaxprId> copied_;
};
} // namespace

Program FixWriter::write() {
  if (!checked_.entryInstance.valid())
    return program_.clone();
  out_.entry.jaxpr =
      writeInstance(checked_.entryInstance, checked_.resultTypes, "");
  out_.contextMeshAtTop = checked_.mesh;
  return std::move(out_);
}

//===--- Jaxprs -----------------------------------------------------------===//

/// All of a jaxpr but its variables and equations.
static void copyHead(const Jaxpr &from, Jaxpr &to) {
  to.constArrays = from.constArrays;
  to.high = from.high;
  to.hasDebug = from.hasDebug;
  to.debugFor = from.debugFor;
  to.debugSource = from.debugSource;
  to.argNames = from.argNames;
  to.resultPaths = from.resultPaths;
  to.hasResultPaths = from.hasResultPaths;
  to.name = from.name;
  to.extra = from.extra;
}

JaxprId FixWriter::writeInstance(InstanceId id, const Wanted &wanted,
                                 const std::string &path) {
  auto [it, isNew] = written_.try_emplace({id, wanted}, JaxprId());
  if (!isNew)
    return it->second;
  const Instance &instance = checked_.instances[id.index()];
  const Jaxpr &jaxpr = program_.jaxpr(instance.jaxpr);
  Body body = {id, &jaxpr, {}, path};
  // A builder builds one jaxpr at a time, so bodies come first.
  std::vector<ParamsId> params;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
    params.push_back(writeBodies(body, jaxpr.eqn(i)));
  builder_.begin();
  builder_.jaxpr().mesh = instance.mesh;
  body.vars.resize(jaxpr.numVars);
  for (uint32_t i = 0; i < jaxpr.numConsts + jaxpr.numInputs; ++i) {
    StringId name = program_.var(jaxpr.var(i)).name();
    TypeId type = instance.types[i];
    body.vars[i] = i < jaxpr.numConsts ? builder_.addConst(type, name)
                                       : builder_.addInput(type, name);
  }
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
    writeEqn(body, jaxpr.eqn(i), params[i]);
  SmallVector<Atom, 8> outs;
  for (unsigned i = 0; i < jaxpr.outs.size(); ++i) {
    TypeId is = checked_.type(id, jaxpr.outs[i]);
    Atom atom = mapped(body, jaxpr.outs[i]);
    if (i < wanted.size() && wanted[i].valid() && is.valid() &&
        !typematch(context_, is, wanted[i]))
      atom =
          emit_.convert(atom, is, wanted[i], EqnInfoId(out_.intern(EqnInfo())));
    outs.push_back(atom);
  }
  copyHead(jaxpr, builder_.jaxpr());
  for (Effect effect : jaxpr.effects) {
    if (effect.var.valid())
      effect.var = mapped(body, effect.var).var();
    builder_.jaxpr().effects.push_back(effect);
  }
  JaxprId made = builder_.finish(outs);
  return written_[{id, wanted}] = made;
}

/// A jaxpr that no rule types (a derivative, an update): as it is.
JaxprId FixWriter::copyJaxpr(JaxprId id) {
  auto [it, isNew] = copied_.try_emplace(id, JaxprId());
  if (!isNew)
    return it->second;
  const Jaxpr &jaxpr = program_.jaxpr(id);
  std::vector<ParamsId> params;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    SmallVector<Param, 8> list;
    for (const Param &p : program_.params(program_.eqn(jaxpr.eqn(i)).params))
      list.push_back({p.key, rewrite(p.value, [&](JaxprId inner) {
                        return copyJaxpr(inner);
                      })});
    params.push_back(out_.internParams(list));
  }
  builder_.begin();
  builder_.jaxpr().mesh = jaxpr.mesh;
  Body body = {InstanceId(), &jaxpr, {}, ""};
  body.vars.resize(jaxpr.numVars);
  for (uint32_t i = 0; i < jaxpr.numConsts + jaxpr.numInputs; ++i) {
    const Var &var = program_.var(jaxpr.var(i));
    body.vars[i] = i < jaxpr.numConsts
                       ? builder_.addConst(var.type, var.name())
                       : builder_.addInput(var.type, var.name());
  }
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program_.eqn(jaxpr.eqn(i));
    SmallVector<Atom, 8> operands;
    SmallVector<TypeId, 4> types;
    for (Atom atom : program_.operandsOf(eqn))
      operands.push_back(mapped(body, atom));
    for (unsigned r = 0; r < eqn.numResults; ++r)
      types.push_back(program_.var(program_.result(eqn, r)).type);
    EqnId made = builder_.addEqn(eqn.primitive, operands, params[i], types,
                                 rewriteInfo(body, eqn.info));
    for (unsigned r = 0; r < eqn.numResults; ++r)
      bind(body, eqn, r, out_.result(out_.eqn(made), r));
  }
  SmallVector<Atom, 8> outs;
  for (Atom atom : jaxpr.outs)
    outs.push_back(mapped(body, atom));
  copyHead(jaxpr, builder_.jaxpr());
  return copied_[id] = builder_.finish(outs);
}

//===--- Parameters -------------------------------------------------------===//

ValueId FixWriter::rewrite(ValueId id,
                           llvm::function_ref<JaxprId(JaxprId)> map) {
  Value value = program_.value(id);
  bool changed = false;
  if (value.kind == Value::Jaxpr) {
    value.integer = map(JaxprId(static_cast<uint32_t>(value.integer))).raw();
    changed = true;
  } else if (meshes_.retyped() &&
             (value.kind == Value::Sharding || value.kind == Value::Mesh)) {
    MeshId mesh = meshes_.rewrite(MeshId(static_cast<uint32_t>(value.integer)));
    if (mesh.valid()) {
      value.integer = mesh.raw();
      changed = true;
    }
  }
  for (ValueId &element : value.elements) {
    ValueId inner = rewrite(element, map);
    changed |= inner != element;
    element = inner;
  }
  return changed ? out_.intern(value) : id;
}

/// The types that a body's results must have to be those of its equation.
FixWriter::Wanted FixWriter::wantedOf(const Body &body, EqnId id,
                                      InstanceId held) const {
  const Eqn &eqn = program_.eqn(id);
  const Jaxpr &inner = program_.jaxpr(checked_.instances[held.index()].jaxpr);
  Wanted wanted;
  if (inner.outs.size() != eqn.numResults)
    return wanted;
  bool any = false;
  for (unsigned i = 0; i < eqn.numResults; ++i) {
    TypeId is = checked_.type(held, inner.outs[i]);
    TypeId result = checked_.type(body.instance, program_.result(eqn, i));
    wanted.emplace_back();
    if (!is.valid() || !result.valid() || !context_.type(is).isArray() ||
        !context_.type(result).isArray())
      continue;
    // A scan's results have one dim more than its body's.
    Sharding sharding = context_.type(result).sharding;
    const Type &type = context_.type(is);
    if (sharding.dims.size() == type.rank() + 1)
      sharding.dims.erase(sharding.dims.begin());
    // A region's blocks are no values of its equation.
    bool isBlock = sharding.hasMesh() && type.sharding.hasMesh() &&
                   sharding.mesh != type.sharding.mesh;
    if (sharding.dims.size() != type.rank() || isBlock)
      continue;
    Type end = type;
    end.sharding = sharding;
    end.manual = context_.type(result).manual;
    TypeId ends = context_.intern(end);
    if (typematch(context_, is, ends))
      continue;
    wanted.back() = ends;
    any = true;
  }
  return any ? wanted : Wanted();
}

ParamsId FixWriter::writeBodies(const Body &body, EqnId id) {
  const Eqn &eqn = program_.eqn(id);
  std::string path =
      body.path + "eqns/" + std::to_string(id.raw() - body.jaxpr->firstEqn);
  SmallVector<Param, 8> list;
  for (const Param &p : program_.params(eqn.params)) {
    std::string key = context_.str(p.key).str();
    unsigned at = 0;
    bool isTuple = program_.value(p.value).kind == Value::Tuple;
    ValueId value = rewrite(p.value, [&](JaxprId jaxpr) {
      InstanceId held = checked_.body(body.instance, id, jaxpr);
      std::string inner = path + "/params/" + key;
      if (isTuple)
        inner += "/" + std::to_string(at++);
      return held.valid()
                 ? writeInstance(held, wantedOf(body, id, held), inner + "/")
                 : copyJaxpr(jaxpr);
    });
    list.push_back({p.key, value});
  }
  return out_.internParams(list);
}

/// The parameters with the one that gives the result this sharding; invalid:
/// the primitive has none.
ParamsId FixWriter::setSharding(const Eqn &eqn, ParamsId params, TypeId type) {
  const Primitive *row = primitives_.find(program_.name(eqn));
  for (StringRef key : {"out_sharding", "sharding"}) {
    if (!row || !row->info.params.find(key))
      continue;
    Param set = {context_.intern(key),
                 shardingValue(out_, context_.type(type).sharding)};
    SmallVector<Param, 8> list(out_.params(params));
    auto *at = llvm::find_if(
        list, [&](const Param &p) { return context_.str(p.key) >= key; });
    if (at != list.end() && at->key == set.key)
      at->value = set.value;
    else
      list.insert(at, set);
    return out_.internParams(list);
  }
  return ParamsId();
}

EqnInfoId FixWriter::rewriteInfo(const Body &body, EqnInfoId id) {
  EqnInfo info = id.valid() ? program_.info(id) : EqnInfo();
  if (info.hasContextMesh && body.instance.valid())
    info.contextMesh = meshes_.rewrite(info.contextMesh);
  for (Effect &effect : info.effects)
    if (effect.var.valid())
      effect.var = mapped(body, effect.var).var();
  return out_.intern(info);
}

//===--- Equations --------------------------------------------------------===//

ArrayRef<Instance::Assumed> FixWriter::fixesOf(const Body &body,
                                               EqnId id) const {
  const auto &all = checked_.instances[body.instance.index()].assumed;
  auto begin = llvm::find_if(
      all, [&](const Instance::Assumed &a) { return a.eqn == id; });
  auto end = std::find_if(begin, all.end(), [&](const Instance::Assumed &a) {
    return a.eqn != id;
  });
  return ArrayRef(all).slice(begin - all.begin(), end - begin);
}

void FixWriter::note(const Body &body, EqnId id, const Fix &fix) {
  EqnInfoId info = program_.eqn(id).info;
  made_.push_back(
      {body.path + "eqns/" + std::to_string(id.raw() - body.jaxpr->firstEqn),
       info.valid() ? program_.info(info).stack : StackId(),
       fix.type.valid() ? str(context_, fix.type) : "", fix.communication});
}

void FixWriter::bind(Body &body, const Eqn &eqn, unsigned result, Atom atom) {
  VarId old = program_.result(eqn, result);
  body.vars[old.raw() - body.jaxpr->firstVar] = atom;
  Var &var = out_.vars[atom.var().index()];
  if (program_.var(old).name().valid())
    var.setName(program_.var(old).name());
  var.dropped = program_.var(old).dropped;
}

/// A body may have been typed for other shardings than those of the operands.
void FixWriter::wantInputs(const Body &body, EqnId id, ArrayRef<TypeId> types,
                           MutableArrayRef<Typed> wanted) {
  const auto &all = checked_.instances[body.instance.index()].bodies;
  auto from = std::lower_bound(
      all.begin(), all.end(), id,
      [](const Instance::Held &h, EqnId eqn) { return h.eqn < eqn; });
  for (; from != all.end() && from->eqn == id; ++from) {
    if (checked_.body(body.instance, id, from->body) != from->instance)
      continue;
    const Jaxpr &jaxpr = program_.jaxpr(from->body);
    for (unsigned i = 0; i < jaxpr.numInputs; ++i) {
      unsigned operand = from->inputs.operand(i);
      TypeId input = checked_.type(from->instance, jaxpr.input(i));
      if (operand >= wanted.size() || wanted[operand].type != types[operand] ||
          !input.valid() || !types[operand].valid() ||
          !context_.type(input).isArray() ||
          context_.type(input).shape != context_.type(types[operand]).shape ||
          typematch(context_, input, types[operand]))
        continue;
      wanted[operand] = {
          context_.withSharding(types[operand], context_.type(input).sharding),
          false};
    }
  }
}

/// manual/recast.1: casts that JAX would write for what values vary over now,
/// in place of those of the trace.
bool FixWriter::writeCast(Body &body, EqnId id, ArrayRef<TypeId> types) {
  const Eqn &eqn = program_.eqn(id);
  const PrimitiveInfo *info = program_.primitiveInfo(eqn);
  if (!info || !info->castsToVarying)
    return false;
  TypeId result = checked_.type(body.instance, program_.result(eqn, 0));
  Atom operand = mapped(body, program_.operandsOf(eqn)[0]);
  if (!types[0].valid() || !result.valid())
    return false;
  Atom made = typematch(context_, types[0], result)
                  ? operand
                  : emit_.convert(operand, types[0], result,
                                  rewriteInfo(body, eqn.info));
  body.vars[program_.result(eqn, 0).raw() - body.jaxpr->firstVar] = made;
  return true;
}

/// The same for operands of one operation. Where results do not vary over all
/// that operands do, each of them keeps what it is.
void FixWriter::wantVarying(const Body &body, const Eqn &eqn,
                            MutableArrayRef<Typed> wanted) const {
  AxisSet all;
  MeshId mesh;
  for (const Typed &operand : wanted)
    if (const Type &type = context_.type(operand.type); type.isArray()) {
      all |= type.manual.varying;
      if (type.sharding.hasMesh())
        mesh = type.sharding.mesh;
    }
  for (unsigned i = 0; i < eqn.numResults; ++i)
    if (TypeId id = checked_.type(body.instance, program_.result(eqn, i));
        !id.valid() || context_.type(id).manual.varying != all)
      return;
  for (Typed &operand : wanted) {
    const Type &type = context_.type(operand.type);
    if (!type.isArray() || type.manual.varying == all)
      continue;
    ManualAxisType to = type.manual;
    to.varying = all;
    to.reduced = to.reduced - all;
    operand.type = withManual(context_, operand.type, to, mesh);
  }
}

void FixWriter::writeEqn(Body &body, EqnId id, ParamsId params) {
  const Eqn &eqn = program_.eqn(id);
  const Instance &instance = checked_.instances[body.instance.index()];
  SmallVector<Typed, 8> wanted;
  SmallVector<TypeId, 8> types;
  SmallVector<Atom, 8> operands;
  for (Atom atom : program_.operandsOf(eqn)) {
    types.push_back(checked_.type(body.instance, atom));
    bool open = !atom.isLiteral() &&
                instance.isOpen(atom.var().raw() - body.jaxpr->firstVar);
    wanted.push_back({types.back(), open});
    operands.push_back(mapped(body, atom));
  }
  const Primitive *row = primitives_.find(program_.name(eqn));
  bool typed = llvm::all_of(types, [](TypeId type) { return type.valid(); });
  if (row && typed)
    adaptOperands(context_, *row, contextMesh(body, eqn), meshes_.retyped(),
                  wanted);
  if (instance.recast && writeCast(body, id, types))
    return;
  if (instance.recast && row && typed && row->open != OpenRule::Custom)
    wantVarying(body, eqn, wanted);
  ParamsId withSharding;
  TypeId autoResult;
  for (const Instance::Assumed &assumed : fixesOf(body, id)) {
    const Fix &fix = assumed.fix;
    note(body, id, fix);
    if (fix.operand >= 0 && static_cast<size_t>(fix.operand) < wanted.size()) {
      wanted[fix.operand] = {fix.type, false};
    } else if (fix.bodyResult < 0 && fix.type.valid()) {
      withSharding = setSharding(eqn, params, fix.type);
      if (!withSharding.valid())
        autoResult = fix.type;
    }
  }
  wantInputs(body, id, types, wanted);
  EqnInfoId info = rewriteInfo(body, eqn.info);
  for (unsigned i = 0; i < operands.size(); ++i)
    if (wanted[i].type.valid() && wanted[i].type != types[i]) {
      operands[i] = emit_.convert(operands[i], types[i], wanted[i].type, info);
      types[i] = wanted[i].type;
    }
  if (autoResult.valid() && eqn.numResults == 1)
    return writeInAutoRegion(body, id, params, operands, types, autoResult);
  SmallVector<TypeId, 4> results;
  for (unsigned r = 0; r < eqn.numResults; ++r)
    results.push_back(
        instance.types[program_.result(eqn, r).raw() - body.jaxpr->firstVar]);
  EqnId made = builder_.addEqn(eqn.primitive, operands,
                               withSharding.valid() ? withSharding : params,
                               results, info);
  for (unsigned r = 0; r < eqn.numResults; ++r)
    bind(body, eqn, r, out_.result(out_.eqn(made), r));
}

void FixWriter::writeInAutoRegion(Body &body, EqnId id, ParamsId params,
                                  ArrayRef<Atom> operands,
                                  ArrayRef<TypeId> types, TypeId result) {
  const Eqn &eqn = program_.eqn(id);
  MeshId outside = context_.type(result).sharding.mesh;
  MeshId region = context_.withAxisTypes(
      outside, context_.meshOrEmpty(outside).axesOf(AxisType::Explicit),
      AxisType::Auto);
  EqnInfo inside = out_.info(rewriteInfo(body, eqn.info));
  inside.hasContextMesh = true;
  inside.contextMesh = region;
  EqnInfoId insideInfo = out_.intern(inside);
  auto cast = [&](TypeId type) {
    return context_.withSharding(
        type, onMesh(context_, context_.type(type).sharding, region));
  };
  SmallVector<Atom, 8> cast_;
  for (unsigned i = 0; i < operands.size(); ++i) {
    const Type &type = context_.type(types[i]);
    bool placed = type.isArray() && type.sharding.hasMesh();
    cast_.push_back(placed
                        ? emit_.reshard(operands[i], cast(types[i]), insideInfo)
                        : operands[i]);
  }
  EqnId made =
      builder_.addEqn(eqn.primitive, cast_, params, cast(result), insideInfo);
  Atom done = emit_.reshard(out_.result(out_.eqn(made), 0), result,
                            rewriteInfo(body, eqn.info));
  bind(body, eqn, 0, done);
}

Program shardtype::applyFixes(const CheckedProgram &checked,
                              const PrimitiveSet &primitives,
                              std::vector<MadeChoice> &made) {
  return FixWriter(checked, primitives, made).write();
}
