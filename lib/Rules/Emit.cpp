// Emit.cpp - equations that stages write into programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Emit.h"
#include "shardtype/Types/Resolve.h"

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

Atom Emitter::reshard(Atom operand, TypeId to, EqnInfoId info) {
  Context &cx = program_.context();
  Param params[] = {{cx.intern("concrete_mesh"), program_.intern(Value())},
                    {cx.intern("dst_sharding"),
                     shardingValue(program_, cx.type(to).sharding)}};
  std::optional<uint16_t> primitive =
      program_.primitive("reshard", primitives_.info("reshard"));
  if (!primitive)
    return operand; // No program has that many primitives and needs this one.
  EqnId eqn = builder_.addEqn(*primitive, operand,
                              program_.internParams(params), to, info);
  return program_.result(program_.eqn(eqn), 0);
}
