// Retype.cpp - what becomes of recorded meshes and types under re-typing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Retype.h"

using namespace shardtype;

// structure/python.1: only what primitives decide can be found again.

/// The mesh a trace was made under: its context's, else the one that most of
/// its equations have (which may be that of a region), else the first one that
/// an argument's type names.
static MeshId meshOfTrace(const Program &program) {
  Context &cx = program.context();
  const Jaxpr &jaxpr = program.jaxpr(program.entry.jaxpr);
  for (MeshId mesh : {program.contextMeshAtTop, jaxpr.mesh})
    if (MeshId id = cx.forTypes(mesh); id.valid())
      return cx.mesh(id).conversions.empty() ? id : MeshId();
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i) {
    TypeId type = program.var(jaxpr.input(i)).type;
    if (type.valid() && cx.type(type).isArray() &&
        cx.type(type).sharding.hasMesh())
      return cx.type(type).sharding.mesh;
  }
  return MeshId();
}

/// Was the program recorded, so that its types say nothing of shardings?
static bool isRecorded(const Program &program) {
  const Context &cx = program.context();
  return cx.meshOrEmpty(program.contextMeshAtTop).relative ||
         cx.meshOrEmpty(program.jaxpr(program.entry.jaxpr).mesh).relative;
}

/// Such a mesh as one of its own.
static MeshId asAbsolute(Context &cx, Mesh mesh) {
  mesh.relative = false;
  mesh.conversions.clear();
  return mesh.empty() ? MeshId() : cx.forTypes(cx.intern(mesh));
}

/// structure/retype.7: the conversions one after another, then what is Manual.
static MeshId converted(Context &cx, const Mesh &recorded, MeshId to) {
  Mesh result = cx.meshOrEmpty(to);
  for (const MeshConversion &step : recorded.conversions)
    for (MeshAxis &axis : result.axes) {
      bool is = step.which == MeshConversion::All ||
                (step.which == MeshConversion::WereExplicit &&
                 axis.type == AxisType::Explicit) ||
                llvm::is_contained(step.names, axis.name);
      if (is && axis.type != AxisType::Manual)
        axis.type = step.to;
    }
  for (const MeshAxis &axis : recorded.axes)
    if (std::optional<unsigned> at = result.find(axis.name);
        at && axis.type == AxisType::Manual)
      result.axes[*at].type = AxisType::Manual;
  return asAbsolute(cx, std::move(result));
}

Meshes::Meshes(const Program &program, const CheckOptions &options)
    : program_(program), context_(program.context()),
      recorded_(isRecorded(program)), retyped_(recorded_ || options.retypes()),
      from_(meshOfTrace(program)), to_(from_) {
  if (options.mesh.valid())
    to_ = context_.forTypes(options.mesh);
  else if (to_.valid() && recorded_)
    to_ = asAbsolute(context_, context_.mesh(to_));
}

MeshId shardtype::retypedMesh(Context &cx, MeshId recorded, MeshId from,
                              MeshId to) {
  // structure/retype.3: what the trace converted (Auto inside auto_axes, Manual
  // inside shard_map) stays converted; all else is as on the new mesh.
  if (cx.meshOrEmpty(recorded).relative)
    return converted(cx, Mesh(cx.mesh(recorded)), to);
  const Mesh was = cx.meshOrEmpty(recorded), base = cx.meshOrEmpty(from);
  Mesh result = cx.meshOrEmpty(to);
  for (MeshAxis &axis : result.axes) {
    std::optional<unsigned> inWas = was.find(axis.name),
                            inBase = base.find(axis.name);
    if (inWas && inBase && was.axes[*inWas].type != base.axes[*inBase].type)
      axis.type = was.axes[*inWas].type;
  }
  return result.empty() ? MeshId() : cx.forTypes(cx.intern(result));
}

MeshId Meshes::rewrite(MeshId recorded) {
  if (!recorded.valid() && !retyped_)
    return recorded;
  auto [it, isNew] = rewritten_.try_emplace(recorded, MeshId());
  if (!isNew)
    return it->second;
  MeshId mesh = retyped_ ? retypedMesh(context_, recorded, from_, to_)
                         : context_.forTypes(recorded);
  return rewritten_[recorded] = mesh;
}

MeshId Meshes::ofBody(MeshId recorded, MeshId caller) {
  if (program_.fromText && !recorded.valid())
    return caller;
  return rewrite(recorded);
}

/// The same axes by name on another mesh; those that are not Manual there go.
static AxisSet moved(const Mesh &from, const Mesh &to, AxisSet axes) {
  AxisSet result;
  for (unsigned axis = 0; axis < from.rank(); ++axis) {
    std::optional<unsigned> at =
        axes.contains(axis) ? to.find(from.axes[axis].name) : std::nullopt;
    if (at && to.axes[*at].type == AxisType::Manual)
      result.insert(*at);
  }
  return result;
}

ManualAxisType shardtype::onMesh(Context &cx, const ManualAxisType &type,
                                 MeshId from, MeshId to) {
  if (type.trivial() || from == to)
    return type;
  const Mesh &was = cx.meshOrEmpty(from), &is = cx.meshOrEmpty(to);
  ManualAxisType result;
  result.varying = moved(was, is, type.varying);
  result.unreduced = moved(was, is, type.unreduced);
  result.reduced = moved(was, is, type.reduced);
  if (!result.unreduced.empty())
    result.kind = type.kind;
  return result;
}

TypeId Meshes::constant(TypeId recorded) {
  if (!retyped_ || !recorded.valid())
    return recorded;
  const Type &type = context_.type(recorded);
  if (!type.isArray() || !type.sharding.hasMesh())
    return recorded;
  MeshId from = type.sharding.mesh, to = rewrite(from);
  Type now = type;
  now.sharding = onMesh(context_, type.sharding, to);
  now.manual = onMesh(context_, type.manual, from, to);
  return context_.intern(now);
}

TypeId Meshes::argument(TypeId recorded) {
  if (!retyped_ || !recorded.valid())
    return recorded;
  const Type &type = context_.type(recorded);
  if (!type.isArray() || type.sharding.hasMesh())
    return constant(recorded);
  return context_.withSharding(recorded, replicated(to_, type.rank()));
}

BackwardEffect shardtype::backwardEffect(StringRef nameStack) {
  // structure/backward.1
  size_t transposed = nameStack.rfind("transpose(");
  size_t again = nameStack.rfind("rematted_computation");
  if (transposed == StringRef::npos && again == StringRef::npos)
    return BackwardEffect::Inherit;
  // A name of the user's may contain either word; only the last one counts.
  if (again == StringRef::npos ||
      (transposed != StringRef::npos && transposed > again))
    return BackwardEffect::Backward;
  return BackwardEffect::Forward;
}
