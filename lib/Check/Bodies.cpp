// Bodies.cpp - jaxprs inside equations, typed once per tuple of arguments.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Engine.h"
#include "Findings.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

std::vector<Val> Engine::runEntry(ArrayRef<Val> arguments) {
  JaxprId id = program_.entry.jaxpr;
  MeshId mesh = meshes().now();
  out_.mesh = mesh;
  // What its equations have unless they say otherwise; most may be of a region.
  if (program_.jaxpr(id).mesh.valid())
    mesh = meshes().rewrite(program_.jaxpr(id).mesh);
  out_.entryInstance =
      runInstance(id, arguments, {mesh, false, entryVma(id, mesh), {}}, {});
  return instanceResults_[out_.entryInstance.index()].vals;
}

/// A body that stands alone shows by its types whether JAX checked it.
Vma Engine::entryVma(JaxprId id, MeshId mesh) const {
  if (context_.meshOrEmpty(mesh).axesOf(AxisType::Manual).empty())
    return Vma::Off;
  const Jaxpr &jaxpr = program_.jaxpr(id);
  for (uint32_t i = 0; i < jaxpr.numVars; ++i) {
    TypeId type = program_.var(jaxpr.var(i)).type;
    if (type.valid() && !context_.type(type).manual.trivial())
      return Vma::On;
  }
  return Vma::Off;
}

InstanceId Engine::runInstance(JaxprId id, ArrayRef<Val> inputs,
                               const Surroundings &where,
                               BodyInputs bodyInputs) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  InstanceId instance(out_.instances.size());
  out_.instances.emplace_back();
  instanceResults_.emplace_back();

  ActiveFrame frame;
  frame.parent = frame_;
  frame.id = id;
  frame.jaxpr = &jaxpr;
  frame.instance = instance;
  frame.mesh = where.mesh;
  frame.backward = where.backward;
  frame.vma = where.vma;
  frame.inputs = bodyInputs;
  frame.stays = where.stays;
  frame.vals.resize(jaxpr.numVars);
  for (uint32_t i = 0; i < jaxpr.numConsts; ++i)
    frame.vals[i] =
        Val(meshes().constant(program_.var(jaxpr.constvar(i)).type), 0);
  std::copy(inputs.begin(), inputs.end(), frame.vals.begin() + jaxpr.numConsts);
  frame_ = &frame;
  shared_->typed += jaxpr.numEqns;
  if (shared_->typed <= out_.options.maxTyped) {
    for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
      typeEqn(frame, jaxpr.eqn(i));
  } else if (!shared_->limitReached) {
    shared_->limitReached = true;
    out_.diagnostics.add(diag::InputLimit,
                         {"the number of equations typed",
                          std::to_string(out_.options.maxTyped)});
  }
  frame_ = frame.parent;
  keepInstance(frame);
  return instance;
}

void Engine::keepInstance(ActiveFrame &frame) {
  Instance &kept = out_.instances[frame.instance.index()];
  kept.jaxpr = frame.id;
  kept.mesh = frame.mesh;
  kept.hadErrors = frame.hadErrors;
  kept.recast = typing_.recast;
  kept.bodies = std::move(frame.held);
  kept.assumed = std::move(frame.assumed);
  kept.types.reserve(frame.vals.size());
  bool anyOpen = false;
  for (Val val : frame.vals) {
    kept.types.push_back(val.type());
    anyOpen |= val.is(Val::Open);
  }
  if (anyOpen)
    for (Val val : frame.vals)
      kept.open.push_back(val.is(Val::Open));
  InstanceResults &results = instanceResults_[frame.instance.index()];
  for (Atom out : frame.jaxpr->outs) {
    Val val = out.isLiteral() ? literal(out.literal()) : frame.val(out.var());
    results.vals.push_back(val);
    results.typed.push_back({val.type(), val.is(Val::Open)});
  }
}

TypingHost::Body Engine::typeBody(JaxprId id, ArrayRef<Typed> args, MeshId mesh,
                                  BodyInputs inputs, std::optional<Vma> vma) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  AxisSet stays = running_.stays | inputs.stays;
  MeshId bodyMesh = withoutManual(meshes().ofBody(jaxpr.mesh, mesh), stays);
  Surroundings where = {bodyMesh, running_.backward, vma.value_or(typing_.vma),
                        stays};
  SmallVector<Val, 16> vals;
  bool recast = typing_.recast || inputs.recast;
  bool retyped = typing_.retyped || inputs.retyped || recast;
  SmallVector<uint32_t, 32> key = {
      id.raw(), bodyMesh.raw(),
      (recast ? 16u : 0u) | static_cast<uint32_t>(where.vma) << 2 |
          (retyped ? 2u : 0u) | (where.backward ? 1u : 0u)};
  if (!stays.empty())
    key.append({static_cast<uint32_t>(stays.bits()),
                static_cast<uint32_t>(stays.bits() >> 32)});
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i) {
    Val val;
    // What recorded types do not say is in the arguments.
    bool takesArgs = where.vma == Vma::Infer && i < args.size();
    TypeId recorded = retyped ? TypeId() : binder(id, i);
    if (recorded.valid() && !takesArgs) {
      if (program_.fromText && i < args.size())
        recorded = withKindOf(context_, recorded, args[i].type);
      val = Val(recorded, 0);
    } else if (i < args.size()) {
      val = Val(args[i].type, args[i].open ? Val::Open : 0u);
    }
    if (unsigned at = inputs.operand(i); at < running_.operands.size()) {
      uint32_t flags = running_.operands[at].flags();
      val = val.with(flags & (Val::Guess | Val::Assumed));
      if (val.is(Val::Open))
        val = val.with(flags & Val::Tainted);
    }
    vals.push_back(val);
    key.push_back(val.key());
  }
  uint64_t hash = WordTable::hash(key); // structure/instance.1
  uint32_t found = instanceTable_.find(key, hash);
  InstanceId instance(found);
  if (found == WordTable::None) {
    std::swap(typing_.retyped, retyped);
    std::swap(typing_.recast, recast);
    instance = runInstance(id, vals, where, inputs);
    std::swap(typing_.retyped, retyped);
    std::swap(typing_.recast, recast);
    instanceTable_.insert(key, hash, instance.raw());
  }
  running_.bodies.push_back({EqnId(), id, instance, inputs});
  return {id, instance, instanceResults_[instance.index()].typed,
          out_.instances[instance.index()].hadErrors};
}

std::vector<Typed> Engine::tryBody(JaxprId body, ArrayRef<Typed> args,
                                   MeshId mesh) {
  if (!findings_)
    return {}; // Trials in trials would multiply.
  CheckedProgram scratch(program_);
  scratch.options = out_.options;
  Engine trial(*this, scratch);
  // Recorded types inside the body are for the recorded arguments.
  trial.typing_.retyped = trial.typing_.recast = true;
  trial.running_.backward = running_.backward;
  trial.running_.stays = running_.stays;
  Body tried = trial.typeBody(body, args, mesh, {}, std::nullopt);
  if (tried.hadErrors)
    return {};
  for (Typed result : tried.results)
    if (!result.type.valid())
      return {};
  return tried.results.vec();
}

TypeId Engine::binder(JaxprId body, unsigned input) {
  const Jaxpr &jaxpr = program_.jaxpr(body);
  if (typing_.retyped || input >= jaxpr.numInputs)
    return TypeId();
  return program_.var(jaxpr.input(input)).type;
}

/// structure/retype.4: parameters keep their specs, on the mesh that this
/// gives.
MeshId Engine::rewriteMesh(MeshId recorded) {
  return withoutManual(meshes().rewrite(recorded), running_.stays);
}
