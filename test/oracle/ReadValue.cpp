// ReadValue.cpp - parameter values of the verdict files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReadValue.h"
#include "shardtype/IR/Parser.h"

using namespace shardtype;

static ValueId withShardings(Program &program, ValueId id, MeshId mesh) {
  Value value = program.value(id);
  if (value.kind == Value::Spec) {
    Value sharding;
    sharding.kind = Value::Sharding;
    sharding.integer = mesh.raw();
    sharding.elements.push_back(id);
    return program.intern(sharding);
  }
  if (value.kind != Value::Tuple)
    return id;
  for (ValueId &element : value.elements)
    element = withShardings(program, element, mesh);
  return program.intern(value);
}

std::optional<ValueId> oracle::readValue(Program &program, StringRef text,
                                         MeshId mesh, std::string &error) {
  if (text == "$hidden") {
    Value hidden;
    hidden.kind = Value::Hidden;
    return program.intern(hidden);
  }
  if (text.starts_with("(ShapedArray(")) { // As a program's reader keeps it.
    Value opaque;
    opaque.kind = Value::OpaqueText;
    opaque.text = program.context().intern(text);
    return program.intern(opaque);
  }
  std::optional<ValueId> value = parseValue(program, text, MeshId(), error);
  if (value)
    value = withShardings(program, *value, mesh);
  return value;
}
