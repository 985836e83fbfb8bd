// WriteValues.cpp - parameter values in the exchange format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tree.h"
#include "Writer.h"

using namespace shardtype;
using namespace shardtype::json;

void Writer::writeValues(std::string &out, ArrayRef<ValueId> values) {
  writeList(out, values, [&](ValueId value) { writeValue(out, value); });
}

void Writer::writeValue(std::string &out, ValueId id) {
  const Value &value = program_.value(id);
  constexpr int64_t Exact = int64_t(1) << 53; // Doubles hold what is below.
  switch (value.kind) {
  case Value::None:
    out += "null";
    return;
  case Value::Bool:
    out += value.integer ? "true" : "false";
    return;
  case Value::Int:
    if (value.extra.valid() || value.integer >= Exact ||
        value.integer <= -Exact)
      break;
    return appendInt(out, value.integer);
  case Value::Str:
    return quoted(out, value.text);
  case Value::Tuple:
    return writeValues(out, value.elements);
  case Value::Raw:
    out += str(value.text);
    return;
  default:
    break;
  }
  writeTagged(out, value);
}

void Writer::writePairs(std::string &out, const Value &value) {
  out += '[';
  for (size_t i = 0; i + 1 < value.elements.size(); i += 2) {
    out += i ? "," : "";
    writeValues(out, ArrayRef(value.elements).slice(i, 2));
  }
  out += ']';
}

void Writer::writeFloat(ObjectWriter &object, const Value &value) {
  object.string("float", str(value.text));
  if (value.text2.valid())
    object.string("bits", str(value.text2));
  else if (auto bits = literalBits(str(value.text), DType::F64))
    object.string("bits", *bits);
}

void Writer::writeSharding(std::string &out, const Value &value,
                           StringRef inner) {
  ObjectWriter object(out, inner);
  if (value.kind == Value::Opaque) {
    object.integer("opaque", value.integer);
  } else {
    object.key("mesh");
    meshOrNull(out, MeshId(static_cast<uint32_t>(value.integer)));
    if (object.key("spec"))
      writeSpec(out, program_.spec(program_.value(value.elements[0])), {});
    object.key("memory_kind");
    quotedOrNull(out, value.text);
  }
  if (value.by != Value::Unsaid)
    object.string("by", value.by == Value::Jax ? "jax" : "user");
  object.end();
}

void Writer::writeHiPrim(std::string &out, const Value &value,
                         StringRef inner) {
  ObjectWriter object(out, inner);
  object.string("name", str(value.text));
  object.key("params");
  out += '[';
  bool first = true;
  ValueId types[2]; // Of inputs, of outputs.
  for (auto [name, element] : llvm::zip(value.names, value.elements)) {
    if (str(name) == "$in" || str(name) == "$out") {
      types[str(name) == "$out"] = element;
      continue;
    }
    out += first ? "[" : ",[";
    first = false;
    quoted(out, name);
    out += ',';
    writeValue(out, element);
    out += ']';
  }
  out += ']';
  for (unsigned i : {0, 1}) {
    object.key(i ? "out" : "in");
    ArrayRef<ValueId> list;
    if (types[i].valid())
      list = program_.value(types[i]).elements;
    writeList(out, list, [&](ValueId id) {
      const Value &element = program_.value(id);
      appendInt(out, type(TypeId(static_cast<uint32_t>(element.integer))));
    });
  }
  if (value.integer >= 0)
    object.integer("opaque", value.integer);
  object.end();
}

void Writer::writeTagged(std::string &out, const Value &value) {
  StringRef extra = strOrEmpty(value.extra), inner;
  for (auto [name, json] : members(extra))
    if (name.empty())
      inner = json;
  ObjectWriter object(out, extra);
  switch (value.kind) {
  case Value::Int:
    object.string("int", std::to_string(value.integer));
    break;
  case Value::BigInt:
    object.string("int", str(value.text));
    break;
  case Value::Float:
    writeFloat(object, value);
    break;
  case Value::Complex:
    object.key("complex");
    writeValues(out, value.elements);
    break;
  case Value::List:
    object.key("list");
    writeValues(out, value.elements);
    break;
  case Value::Dict:
    object.key("dict");
    writePairs(out, value);
    break;
  case Value::Set:
    object.key("set");
    writeValues(out, value.elements);
    break;
  case Value::DType:
    object.string("dtype", str(value.text));
    break;
  case Value::Enum:
    object.string("enum", str(value.text));
    object.string("name", str(value.text2));
    if (!value.elements.empty()) {
      object.key("value");
      writeValue(out, value.elements[0]);
    }
    break;
  case Value::Struct: {
    object.string("struct", str(value.text));
    object.key("fields");
    ObjectWriter fields(out);
    for (auto [name, element] : llvm::zip(value.names, value.elements)) {
      std::string key;
      appendQuoted(key, str(name));
      fields.key(StringRef(key).drop_front().drop_back());
      writeValue(out, element);
    }
    fields.end();
    break;
  }
  case Value::Jaxpr:
    object.integer("jaxpr", value.integer);
    break;
  case Value::Spec:
    if (object.key("spec"))
      writeSpec(out, program_.spec(value), {});
    break;
  case Value::Sharding:
    object.key("sharding");
    writeSharding(out, value, inner);
    break;
  case Value::Mesh:
    object.key("mesh");
    meshOrNull(out, MeshId(static_cast<uint32_t>(value.integer)));
    break;
  case Value::Type:
    object.integer("type", type(TypeId(static_cast<uint32_t>(value.integer))));
    break;
  case Value::Array:
    object.integer("array", value.integer);
    break;
  case Value::FlatTree: {
    object.key("flattree");
    ObjectWriter tree(out, inner);
    if (!value.elements.empty()) {
      tree.key("counts");
      writeValue(out, value.elements[0]);
    }
    if (value.text.valid())
      tree.string("repr", str(value.text));
    tree.end();
    break;
  }
  case Value::TreeDef:
    object.string("treedef", str(value.text));
    if (value.integer >= 0)
      object.integer("leaves", value.integer);
    break;
  case Value::Sym:
    object.string("sym", str(value.text));
    break;
  case Value::Prng:
    object.string("prng", str(value.text));
    if (value.text2.valid())
      object.string("name", str(value.text2));
    if (!value.elements.empty()) {
      object.key("key_shape");
      writeValue(out, value.elements[0]);
    }
    break;
  case Value::HiPrim:
    object.key("hiprim");
    writeHiPrim(out, value, inner);
    break;
  case Value::Callable: {
    object.key("callable");
    ObjectWriter callable(out, inner);
    callable.key("name");
    quotedOrNull(out, value.text);
    callable.end();
    if (value.integer >= 0)
      object.integer("opaque", value.integer);
    break;
  }
  case Value::Opaque:
    if (value.text.valid()) {
      object.key("sharding");
      writeSharding(out, value, inner);
    } else {
      object.integer("opaque", value.integer);
    }
    break;
  case Value::OpaqueText:
    object.integer("opaque", textOpaque(value.text));
    break;
  case Value::Unspecified:
    object.raw("unspecified", "true");
    break;
  case Value::Hidden:
    object.raw("hidden", "true");
    break;
  case Value::None:
  case Value::Bool:
  case Value::Str:
  case Value::Tuple:
  case Value::Raw:
    llvm_unreachable("these are no tagged objects");
  }
  object.end();
}
