// Communication.cpp - what an equation communicates, and how often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

const Value *TypedEqn::param(StringRef key) const {
  ValueId id = program.param(params, key);
  return id.valid() ? &program.value(id) : nullptr;
}

AxisList shardtype::collectiveAxes(const Program &program, ParamsId params,
                                   const Mesh &mesh) {
  AxisList axes;
  auto add = [&](const Value &value) {
    if (value.kind != Value::Str && value.kind != Value::OpaqueText)
      return;
    std::optional<unsigned> at = mesh.find(value.text);
    if (at && !llvm::is_contained(axes, *at))
      axes.push_back(static_cast<uint8_t>(*at));
  };
  for (StringRef key : {"axes", "axis_name"})
    if (ValueId id = program.param(params, key); id.valid()) {
      add(program.value(id));
      for (ValueId element : program.value(id).elements)
        add(program.value(element));
    }
  return axes;
}

static AxisList axesOf(const TypedEqn &eqn) {
  return collectiveAxes(eqn.program, eqn.params,
                        eqn.context.meshOrEmpty(eqn.mesh));
}

/// How many devices take part together: those of the axes, or one group.
static int64_t devicesOf(const TypedEqn &eqn, const AxisList &axes) {
  const Value *groups = eqn.param("axis_index_groups");
  if (groups && !groups->elements.empty())
    return eqn.program.value(groups->elements[0]).elements.size();
  return eqn.context.meshOrEmpty(eqn.mesh).size(axes);
}

/// Does some device send to another one? A permutation need not.
static bool movesSomething(const TypedEqn &eqn) {
  const Value *pairs = eqn.param("perm");
  if (!pairs)
    return true;
  return llvm::any_of(pairs->elements, [&](ValueId id) {
    const Value &pair = eqn.program.value(id);
    return pair.elements.size() == 2 &&
           eqn.program.value(pair.elements[0]).integer !=
               eqn.program.value(pair.elements[1]).integer;
  });
}

/// The array's type; of what is waited for, that of what comes.
static TypeId arrived(const Context &cx, TypeId id) {
  const Type &type = cx.type(id);
  return type.kind == Type::Future ? type.inner : id;
}

std::vector<CommStep> shardtype::collectiveStep(const TypedEqn &eqn,
                                                CommStep::Kind kind) {
  AxisList axes = axesOf(eqn);
  if (axes.empty() || eqn.operands.empty() || eqn.results.empty())
    return {};
  bool ofResult = kind == CommStep::AllReduce || kind == CommStep::AllGather;
  TypeId payload =
      arrived(eqn.context, ofResult ? eqn.results[0] : eqn.operands[0]);
  CommStep step =
      commStep(eqn.context, eqn.mesh, kind, axes,
               bytesPerDevice(eqn.context, payload), devicesOf(eqn, axes));
  if (kind == CommStep::Permute && !movesSomething(eqn))
    step.sentBytes = 0;
  return {step};
}
