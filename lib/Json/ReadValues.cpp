// ReadValues.cpp - parameter values from JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Values.h"

using namespace shardtype;
using namespace shardtype::json;

static Value ofKind(Value::Kind kind) {
  Value value;
  value.kind = kind;
  return value;
}

ValueReader::ValueReader(Tables &tables)
    : tables_(tables), program_(tables.program), ints_(1024) {
  none_ = program_.intern(ofKind(Value::None));
  Value boolean = ofKind(Value::Bool);
  false_ = program_.intern(boolean);
  boolean.integer = 1;
  true_ = program_.intern(boolean);
}

ValueId ValueReader::readInt(int64_t number) {
  bool small = number >= 0 && number < static_cast<int64_t>(ints_.size());
  if (small && ints_[number].valid())
    return ints_[number];
  Value value = ofKind(Value::Int);
  value.integer = number;
  ValueId id = program_.intern(value);
  if (small)
    ints_[number] = id;
  return id;
}

ValueId ValueReader::read(Ref json) {
  switch (json.kind()) {
  case Node::Null:
    return none_;
  case Node::False:
    return false_;
  case Node::True:
    return true_;
  case Node::Int:
    return readInt(json.node().integer);
  case Node::Array: {
    Value tuple = ofKind(Value::Tuple);
    for (Ref item : Items(json))
      tuple.elements.push_back(read(item));
    return program_.intern(tuple);
  }
  case Node::Object:
    return readTagged(json);
  case Node::Big:
  case Node::Float:
  case Node::String: {
    Value value = ofKind(json.isString()            ? Value::Str
                         : json.kind() == Node::Big ? Value::BigInt
                                                    : Value::Float);
    value.text = tables_.cx.intern(json.chars());
    return program_.intern(value);
  }
  }
  llvm_unreachable("all kinds are handled");
}

/// {"int": digits}: as a number if it is one of 64 bits.
void ValueReader::readBigInt(Value &value, Part part) {
  if (part.payload.isInt()) {
    value.integer = part.payload.integer();
    return;
  }
  StringRef text = part.payload.string(), digits = text;
  digits.consume_front("-");
  if (digits.empty() || !llvm::all_of(digits, llvm::isDigit))
    bad(part.payload, "expected decimal digits");
  if (text.getAsInteger(10, value.integer)) {
    value = ofKind(Value::BigInt);
    value.text = tables_.cx.intern(text);
  }
}

void ValueReader::readText(Value &value, Part part) {
  value.text = tables_.string(part.payload);
}

void ValueReader::readTrue(Value &, Part part) {
  if (!part.payload.boolean())
    bad(part.payload, "expected true");
}

void ValueReader::readElements(Value &value, Part part) {
  for (Ref item : Items(part.payload.array()))
    value.elements.push_back(read(item));
}

void ValueReader::readFloat(Value &value, Part part) {
  readText(value, part);
  if (Ref bits = part.fields.getIfNotNull("bits")) {
    if (bits.string().empty() || !llvm::all_of(bits.chars(), llvm::isHexDigit))
      bad(bits, "expected hexadecimal digits");
    value.text2 = tables_.string(bits);
  }
}

void ValueReader::readComplex(Value &value, Part part) {
  if (part.payload.array().size() != 2)
    bad(part.payload, "a complex number has two parts");
  readElements(value, part);
}

void ValueReader::readDict(Value &value, Part part) {
  for (Ref pair : Items(part.payload.array())) {
    if (pair.array().size() != 2)
      bad(pair, "expected a key and a value");
    for (Ref item : Items(pair))
      value.elements.push_back(read(item));
  }
}

void ValueReader::readEnum(Value &value, Part part) {
  readText(value, part);
  value.text2 = tables_.string(part.fields.need("name"));
  Ref given = part.fields.get("value");
  if (!given)
    return;
  value.elements.push_back(read(given));
  if (given.isInt())
    value.integer = given.integer();
}

void ValueReader::readStruct(Value &value, Part part) {
  readText(value, part);
  for (Field field : Members(part.fields.need("fields").object())) {
    value.names.push_back(tables_.cx.intern(field.key.chars()));
    value.elements.push_back(read(field.value));
  }
}

void ValueReader::readJaxpr(Value &value, Part part) {
  value.integer = tables_.jaxpr(part.payload);
}

void ValueReader::readMesh(Value &value, Part part) {
  value.integer = tables_.mesh(part.payload).raw();
}

void ValueReader::readType(Value &value, Part part) {
  value.integer = tables_.type(part.payload).raw();
}

void ValueReader::readArray(Value &value, Part part) {
  value.integer = tables_.index(part.payload, Table::Arrays);
}

/// An object of which only its print is known. Texts that came from a printed
/// program go by a class of our own.
void ValueReader::readOpaque(Value &value, Part part) {
  value.integer = tables_.index(part.payload, Table::Opaques);
  const OpaqueObject &object = program_.opaques[value.integer];
  if (tables_.cx.str(object.className) != TextClass || !object.repr.valid())
    return;
  value = ofKind(Value::OpaqueText);
  value.text = object.repr;
}

ValueId ValueReader::internSpec(Ref json, Extra &extra) {
  Value spec = ofKind(Value::Spec);
  spec.integer = program_.internSpec(readSpec(tables_, json, extra));
  return program_.intern(spec);
}

void ValueReader::readSpecValue(Value &value, Part part) {
  value.integer =
      program_.internSpec(readSpec(tables_, part.payload, part.fields.extra()));
}

void ValueReader::readSharding(Value &value, Part part) {
  Fields fields(part.payload, {"opaque", "mesh", "spec", "memory_kind", "by"});
  if (Ref opaque = fields.get("opaque")) {
    value.kind = Value::Opaque;
    value.integer = tables_.index(opaque, Table::Opaques);
    value.text = tables_.cx.intern("sharding");
  } else {
    value.integer = tables_.meshOrNull(fields.need("mesh")).raw();
    value.elements.push_back(internSpec(fields.need("spec"), fields.extra()));
    if (Ref memory = fields.getIfNotNull("memory_kind"))
      value.text = tables_.string(memory);
  }
  if (Ref by = fields.getIfNotNull("by")) {
    if (by.string() != "user" && by.chars() != "jax")
      bad(by, "expected 'user' or 'jax'");
    value.by = by.chars() == "jax" ? Value::Jax : Value::User;
  }
  part.inner = fields.extra();
}

void ValueReader::readFlatTree(Value &value, Part part) {
  Fields fields(part.payload, {"counts", "repr"});
  value.elements.push_back(read(fields.need("counts").array()));
  if (Ref repr = fields.getIfNotNull("repr"))
    value.text = tables_.string(repr);
  part.inner = fields.extra();
}

void ValueReader::readTreeDef(Value &value, Part part) {
  readText(value, part);
  Ref leaves = part.fields.getIfNotNull("leaves");
  value.integer = leaves ? leaves.integer(0) : -1;
}

void ValueReader::readPrng(Value &value, Part part) {
  readText(value, part);
  if (Ref name = part.fields.getIfNotNull("name"))
    value.text2 = tables_.string(name);
  if (Ref shape = part.fields.getIfNotNull("key_shape"))
    value.elements.push_back(read(shape.array()));
}

/// An index of an opaque object; -1 if none is named.
int64_t ValueReader::opaqueOrNone(Ref index) {
  return index ? int64_t(tables_.index(index, Table::Opaques)) : -1;
}

void ValueReader::readCallable(Value &value, Part part) {
  Fields fields(part.payload, {"name"});
  if (Ref name = fields.getIfNotNull("name"))
    value.text = tables_.string(name);
  value.integer = opaqueOrNone(part.fields.getIfNotNull("opaque"));
  part.inner = fields.extra();
}

/// The types of a hi-primitive's inputs or outputs, as a named tuple.
void ValueReader::addTypes(Value &value, StringRef name, Ref types) {
  Value tuple = ofKind(Value::Tuple);
  if (types)
    for (Ref type : Items(types.array())) {
      Value element = ofKind(Value::Type);
      element.integer = tables_.type(type).raw();
      tuple.elements.push_back(program_.intern(element));
    }
  value.names.push_back(tables_.cx.intern(name));
  value.elements.push_back(program_.intern(tuple));
}

void ValueReader::readHiPrim(Value &value, Part part) {
  Fields fields(part.payload, {"name", "params", "in", "out", "opaque"});
  value.text = tables_.string(fields.need("name"));
  for (Ref pair : Items(fields.need("params").array())) {
    if (pair.array().size() != 2)
      bad(pair, "expected a key and a value");
    value.names.push_back(tables_.string(pair.first()));
    value.elements.push_back(read(pair.first().next()));
  }
  addTypes(value, "$in", fields.getIfNotNull("in"));
  addTypes(value, "$out", fields.getIfNotNull("out"));
  value.integer = opaqueOrNone(fields.getIfNotNull("opaque"));
  part.inner = fields.extra();
}

/// The tags. `opaque` also stands beside `callable`, so it comes last.
const ValueReader::Tag ValueReader::Tags[] = {
    {{"dtype"}, Value::DType, &ValueReader::readText},
    {{"sharding"}, Value::Sharding, &ValueReader::readSharding},
    {{"spec"}, Value::Spec, &ValueReader::readSpecValue},
    {{"jaxpr"}, Value::Jaxpr, &ValueReader::readJaxpr},
    {{"enum", "name", "value"}, Value::Enum, &ValueReader::readEnum},
    {{"struct", "fields"}, Value::Struct, &ValueReader::readStruct},
    {{"mesh"}, Value::Mesh, &ValueReader::readMesh},
    {{"unspecified"}, Value::Unspecified, &ValueReader::readTrue},
    {{"hidden"}, Value::Hidden, &ValueReader::readTrue},
    {{"set"}, Value::Set, &ValueReader::readElements},
    {{"list"}, Value::List, &ValueReader::readElements},
    {{"dict"}, Value::Dict, &ValueReader::readDict},
    {{"float", "bits"}, Value::Float, &ValueReader::readFloat},
    {{"int"}, Value::Int, &ValueReader::readBigInt},
    {{"complex"}, Value::Complex, &ValueReader::readComplex},
    {{"flattree"}, Value::FlatTree, &ValueReader::readFlatTree},
    {{"treedef", "leaves"}, Value::TreeDef, &ValueReader::readTreeDef},
    {{"sym"}, Value::Sym, &ValueReader::readText},
    {{"prng", "name", "key_shape"}, Value::Prng, &ValueReader::readPrng},
    {{"hiprim"}, Value::HiPrim, &ValueReader::readHiPrim},
    {{"callable", "opaque"}, Value::Callable, &ValueReader::readCallable},
    {{"type"}, Value::Type, &ValueReader::readType},
    {{"array"}, Value::Array, &ValueReader::readArray},
    {{"opaque"}, Value::Opaque, &ValueReader::readOpaque},
};

const ValueReader::Tag *ValueReader::tagOf(Ref object) {
  for (const Tag &tag : Tags)
    for (Field field : Members(object))
      if (field.key.chars() == tag.names[0])
        return &tag;
  return nullptr;
}

ValueId ValueReader::readTagged(Ref object) {
  const Tag *tag = tagOf(object);
  if (!tag) {
    Value raw = ofKind(Value::Raw);
    raw.text = tables_.verbatim(object);
    return program_.intern(raw);
  }
  ArrayRef<StringRef> names(tag->names);
  Fields fields(object,
                names.take_while([](StringRef name) { return !name.empty(); }));
  Value value = ofKind(tag->kind);
  Extra inner;
  (this->*tag->read)(value, {fields.need(names[0]), fields, inner});
  std::string extra = fields.extra().str();
  if (!inner.empty()) {
    extra.empty() ? extra.push_back('{') : (void)(extra.back() = ',');
    extra += "\"\":" + inner.str() + "}";
  }
  if (!extra.empty())
    value.extra = tables_.cx.intern(extra);
  return program_.intern(value);
}

ParamsId ValueReader::readParams(Ref json) {
  auto [known, isNew] = params_.try_emplace(json.object().slice(), ParamsId());
  if (!isNew && known->second.valid())
    return known->second;
  SmallVector<std::pair<StringRef, ValueId>, 16> sorted;
  for (Field field : Members(json))
    sorted.emplace_back(field.key.chars(), read(field.value));
  if (!llvm::is_sorted(sorted, llvm::less_first()))
    llvm::sort(sorted, llvm::less_first());
  SmallVector<Param, 16> params;
  for (auto [key, value] : sorted)
    params.push_back({tables_.cx.intern(key), value});
  return params_[json.slice()] = program_.internParams(params);
}
