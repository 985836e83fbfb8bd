// Emit.cpp - equations that stages write into programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Emit.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

ValueId shardtype::shardingValue(Program &program, const Sharding &sharding) {
  Context &cx = program.context();
  Value spec;
  spec.kind = Value::Spec;
  spec.integer = program.internSpec(toSpec(cx, sharding));
  Value value;
  value.kind = Value::Sharding;
  value.by = Value::User;
  value.integer =
      (sharding.mesh.valid() ? sharding.mesh : cx.intern(Mesh())).raw();
  value.elements.push_back(program.intern(spec));
  return program.intern(value);
}

Atom Emitter::add(StringRef name, Atom operand, ArrayRef<Param> params,
                  TypeId to, EqnInfoId info) {
  std::optional<uint16_t> primitive =
      program_.primitive(name, primitives_.info(name));
  if (!primitive)
    return operand; // No program has that many primitives and needs this one.
  EqnId eqn = builder_.addEqn(*primitive, operand,
                              program_.internParams(params), to, info);
  return program_.result(program_.eqn(eqn), 0);
}

Atom Emitter::reshard(Atom operand, TypeId to, EqnInfoId info) {
  Context &cx = program_.context();
  Param params[] = {{cx.intern("concrete_mesh"), program_.intern(Value())},
                    {cx.intern("dst_sharding"),
                     shardingValue(program_, cx.type(to).sharding)}};
  return add("reshard", operand, params, to, info);
}

Atom Emitter::cast(StringRef name, Atom operand, AxisSet axes, TypeId to,
                   EqnInfoId info) {
  Context &cx = program_.context();
  const Mesh &mesh = cx.mesh(cx.type(to).sharding.mesh);
  Value list;
  list.kind = Value::Tuple;
  for (uint8_t axis : axes.list()) {
    Value text;
    text.kind = Value::Str;
    text.text = mesh.axes[axis].name;
    list.elements.push_back(program_.intern(text));
  }
  Param params[] = {{cx.intern("axes"), program_.intern(list)}};
  return add(name, operand, params, to, info);
}

Atom Emitter::convert(Atom operand, TypeId from, TypeId to, EqnInfoId info) {
  Context &cx = program_.context();
  const ManualAxisType end = cx.type(to).manual;
  ManualAxisType now = cx.type(from).manual;
  MeshId mesh = cx.type(to).sharding.mesh;
  TypeId type = from;
  auto step = [&](StringRef name, AxisSet axes) {
    if (axes.empty())
      return;
    type = withManual(cx, type, now, mesh);
    operand = cast(name, operand, axes, type, info);
  };
  if (now != end) {
    AxisSet summed = now.unreduced - end.unreduced;
    StringRef sum = now.kind == ReductionKind::Max   ? "unreduced_pmax"
                    : now.kind == ReductionKind::Min ? "unreduced_pmin"
                                                     : "unreduced_psum";
    now.unreduced = now.unreduced - summed;
    step(sum, summed);
    AxisSet copies = now.reduced & end.varying;
    now.reduced = now.reduced - copies;
    now.varying |= copies;
    step("reduced_vary_cast", copies);
    AxisSet whole = end.varying - now.varying;
    now.varying |= whole;
    step("pvary", whole);
    AxisSet reduced = end.reduced - now.reduced;
    now.reduced |= reduced;
    step("preduced", reduced);
    AxisSet parts = now.varying & end.unreduced;
    now.varying = now.varying - parts;
    now.unreduced |= parts;
    step("vary_unreduced_cast", parts);
  }
  if (cx.type(type).sharding != cx.type(to).sharding)
    operand = reshard(operand, to, info);
  return operand;
}
