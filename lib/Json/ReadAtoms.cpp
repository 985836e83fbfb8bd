// ReadAtoms.cpp - binders, operands, literals and effects.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jaxprs.h"

using namespace shardtype;
using namespace shardtype::json;

/// [number or null, type or null] and perhaps a name.
Binder JaxprReader::readBinder(Ref value) {
  if (value.array().size() != 2 && value.size() != 3)
    bad(value, "expected a number, a type and perhaps a name");
  Ref id = value.first(), type = id.next();
  Binder binder{-1, id.offset(), {}};
  if (id.isNull())
    binder.var.dropped = 1;
  else
    binder.id = id.integer(0);
  if (!type.isNull())
    binder.var.type = tables_.type(type);
  if (value.size() == 3)
    if (Ref name = type.next(); !name.isNull())
      binder.var.setName(tables_.string(name));
  return binder;
}

void JaxprReader::readBinders(Ref list, std::vector<Binder> &out) {
  for (Ref binder : Items(list.array()))
    out.push_back(readBinder(binder));
}

Atom JaxprReader::readAtom(Ref value) {
  if (value.isObject())
    return readLiteral(value);
  return scope_.lookup(value.integer(0), value.offset());
}

LiteralId JaxprReader::readLiteral(Ref value) {
  auto [known, isNew] = literals_.try_emplace(value.slice());
  if (!isNew)
    return known->second;
  Fields fields(value, {"lit", "t"});
  Literal literal;
  literal.type = tables_.type(fields.need("t"));
  readScalar(tables_, fields.need("lit"), literal, fields.extra());
  literal.extra = tables_.intern(fields.extra());
  return literals_[value.slice()] = program_.intern(literal);
}

static bool isDecimal(StringRef text) {
  text.consume_front("-");
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

void json::readScalar(Tables &tables, Ref value, Literal &literal,
                      Extra &extra) {
  Fields fields(value, {"bits", "repr", "int", "bool", "float0", "array"});
  Ref repr = fields.getIfNotNull("repr");
  StringRef text;
  if (Ref bits = fields.get("bits")) {
    literal.kind = Literal::Bits;
    if (bits.string().empty() || !llvm::all_of(bits.chars(), llvm::isHexDigit))
      bad(bits, "expected hexadecimal digits");
    literal.bits = tables.string(bits);
    fields.need("repr"); // The digits cannot be found from the bits.
  } else if (Ref number = fields.get("int")) {
    literal.kind = Literal::Int;
    std::string digits;
    number.isString() ? (void)(digits = number.chars().str())
                      : number.append(digits);
    if (!isDecimal(digits))
      bad(number, "expected a whole number");
    literal.bits = tables.cx.intern(digits);
    literal.repr = literal.bits;
  } else if (Ref boolean = fields.get("bool")) {
    literal.kind = Literal::Bool;
    literal.array = boolean.boolean();
    text = literal.array ? "True" : "False";
  } else if (fields.get("float0")) {
    literal.kind = Literal::Float0;
    text = "(b'',)"; // As NumPy prints the empty bytes of an element.
  } else if (Ref array = fields.get("array")) {
    literal.kind = Literal::Array;
    literal.array = tables.index(array, Table::Arrays);
    text = "[...]";
  } else if (!repr) {
    bad(value, "expected a value: 'bits', 'int', 'bool', 'float0' or 'array'");
  }
  if (repr)
    literal.repr = tables.string(repr);
  else if (!literal.repr.valid())
    literal.repr = tables.cx.intern(text);
  bool twice =
      repr && (literal.kind != Literal::Bits && literal.kind != Literal::Text);
  if (!fields.extra().empty() || twice)
    extra.add("lit", value);
}

Effect json::readEffect(Tables &tables, Ref value, Ref &var) {
  Fields fields(value, {"axis", "read", "write", "accum", "opaque", "class"});
  Effect effect;
  var = Ref();
  std::pair<StringRef, Effect::Kind> ofVars[] = {{"read", Effect::Read},
                                                 {"write", Effect::Write},
                                                 {"accum", Effect::Accum}};
  for (auto [name, kind] : ofVars)
    if (Ref named = fields.get(name)) {
      effect.kind = kind;
      named.integer(0);
      var = named;
    }
  if (Ref axis = fields.get("axis")) {
    effect.kind = Effect::Axis;
    effect.name = tables.axisName(axis);
  } else if (Ref text = fields.get("opaque")) {
    effect.kind = Effect::Opaque;
    effect.name = tables.string(text);
    if (Ref name = fields.getIfNotNull("class"))
      effect.effectClass = tables.string(name);
  } else if (!var) {
    effect.kind = Effect::Opaque; // The whole of it is kept as text.
    effect.name = effect.extra = tables.verbatim(value);
    return effect;
  }
  effect.extra = tables.intern(fields.extra());
  return effect;
}
