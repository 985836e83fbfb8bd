// WriteJaxprs.cpp - jaxprs and equations in the exchange format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tree.h"
#include "Writer.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;
using namespace shardtype::json;

void Writer::writeBinder(std::string &out, VarId id) {
  const Var &var = program_.var(id);
  out += '[';
  if (var.dropped)
    out += "null";
  else
    appendInt(out, varIds_[id.index()]);
  out += ',';
  if (var.type.valid())
    appendInt(out, type(var.type));
  else
    out += "null";
  if (StringId name = var.name(); name.valid()) {
    out += ',';
    quoted(out, name);
  }
  out += ']';
}

/// A literal that is only known as text, as a kind that the format has.
static void writeText(std::string &out, StringRef text, const Type *type) {
  ObjectWriter object(out);
  auto is = [&](DTypeKind kind) {
    return type && type->isArray() && info(type->dtype).kind == kind;
  };
  StringRef digits = text;
  digits.consume_front("-");
  if (is(DTypeKind::Bool) && (text == "True" || text == "False")) {
    object.raw("bool", text == "True" ? "true" : "false");
  } else if (is(DTypeKind::Float0)) {
    object.raw("float0", "true");
  } else if ((is(DTypeKind::Signed) || is(DTypeKind::Unsigned)) &&
             !digits.empty() && llvm::all_of(digits, llvm::isDigit)) {
    object.string("int", text);
  } else {
    std::optional<std::string> bits;
    if (is(DTypeKind::Float) || is(DTypeKind::Complex))
      bits = literalBits(text, type->dtype);
    if (bits)
      object.string("bits", *bits);
    object.string("repr", text);
  }
  object.end();
}

void Writer::writeScalar(std::string &out, const Literal &literal) {
  if (literal.kind == Literal::Text)
    return writeText(out, strOrEmpty(literal.repr),
                     literal.type.valid() ? &cx_.type(literal.type) : nullptr);
  ObjectWriter object(out);
  switch (literal.kind) {
  case Literal::Bits:
    object.string("bits", str(literal.bits));
    object.string("repr", strOrEmpty(literal.repr));
    break;
  case Literal::Int:
    object.string("int", str(literal.bits));
    break;
  case Literal::Bool:
    object.raw("bool", literal.array ? "true" : "false");
    break;
  case Literal::Float0:
    object.raw("float0", "true");
    break;
  case Literal::Array:
    object.integer("array", literal.array);
    break;
  case Literal::Text:
    llvm_unreachable("written above");
  }
  object.end();
}

void Writer::writeLiteral(std::string &out, const Literal &literal) {
  ObjectWriter object(out, strOrEmpty(literal.extra));
  if (object.key("lit"))
    writeScalar(out, literal);
  if (literal.type.valid())
    object.integer("t", type(literal.type));
  else
    object.raw("t", "null");
  object.end();
}

void Writer::writeAtom(std::string &out, Atom atom) {
  if (atom.isLiteral())
    writeLiteral(out, program_.literal(atom.literal()));
  else
    appendInt(out, varIds_[atom.var().index()]);
}

void Writer::writeEffect(std::string &out, const Effect &effect) {
  if (effect.kind == Effect::Opaque && effect.extra.valid() &&
      effect.extra == effect.name) {
    out += str(effect.extra); // One that we could not read.
    return;
  }
  ObjectWriter object(out, strOrEmpty(effect.extra));
  switch (effect.kind) {
  case Effect::Axis:
    object.key("axis");
    writeAxisName(out, effect.name);
    break;
  case Effect::Read:
    object.integer("read", varIds_[effect.var.index()]);
    break;
  case Effect::Write:
    object.integer("write", varIds_[effect.var.index()]);
    break;
  case Effect::Accum:
    object.integer("accum", varIds_[effect.var.index()]);
    break;
  case Effect::Opaque:
    object.string("opaque", str(effect.name));
    if (effect.effectClass.valid())
      object.string("class", str(effect.effectClass));
    break;
  }
  object.end();
}

void Writer::writeInfo(ObjectWriter &object, std::string &out,
                       const EqnInfo &info) {
  if (info.hasContextMesh || info.context.valid()) {
    object.key("ctx");
    ObjectWriter context(out, strOrEmpty(info.context));
    if (info.hasContextMesh) {
      context.key("mesh");
      meshOrNull(out, info.contextMesh);
    }
    context.end();
  }
  if (!info.effects.empty()) {
    object.key("eff");
    writeList(out, info.effects,
              [&](const Effect &effect) { writeEffect(out, effect); });
  }
  if (info.stack.valid())
    object.integer("src", stack(info.stack));
  if (info.nameStack.valid())
    object.string("ns", str(info.nameStack));
  if (info.derived.valid())
    object.raw("derived", str(info.derived));
}

void Writer::writeEqn(std::string &out, const Eqn &eqn) {
  const EqnInfo &info = program_.info(eqn.info);
  ObjectWriter object(out, strOrEmpty(info.extra));
  object.string("p", program_.name(eqn));
  object.key("in");
  writeList(out, program_.operandsOf(eqn),
            [&](Atom atom) { writeAtom(out, atom); });
  object.key("params");
  out += '{';
  for (auto [i, param] : llvm::enumerate(program_.params(eqn.params))) {
    out += i ? "," : "";
    quoted(out, param.key);
    out += ':';
    writeValue(out, param.value);
  }
  out += '}';
  object.key("out");
  writeList(out, llvm::seq(0u, static_cast<unsigned>(eqn.numResults)),
            [&](unsigned i) { writeBinder(out, program_.result(eqn, i)); });
  writeInfo(object, out, info);
  object.end();
}

void Writer::writeDebug(std::string &out, const Jaxpr &jaxpr) {
  if (!jaxpr.hasDebug) {
    out += "null";
    return;
  }
  ObjectWriter object(out);
  object.key("for");
  quotedOrNull(out, jaxpr.debugFor);
  object.key("src");
  quotedOrNull(out, jaxpr.debugSource);
  object.key("args");
  if (jaxpr.hasArgNames)
    writeNames(out, jaxpr.argNames);
  else
    out += "null";
  object.key("results");
  if (jaxpr.hasResultPaths)
    writeNames(out, jaxpr.resultPaths);
  else
    out += "null";
  object.end();
}

void Writer::writeJaxpr(std::string &out, const Jaxpr &jaxpr) {
  ObjectWriter object(out, strOrEmpty(jaxpr.extra));
  if (jaxpr.numConsts) {
    object.key("consts");
    writeList(out, jaxpr.constArrays, [&](int32_t array) {
      if (array >= 0)
        appendInt(out, array);
      else
        out += "null";
    });
  }
  object.key("constvars");
  writeList(out, llvm::seq(0u, jaxpr.numConsts),
            [&](unsigned i) { writeBinder(out, jaxpr.constvar(i)); });
  object.key("invars");
  writeList(out, llvm::seq(0u, jaxpr.numInputs),
            [&](unsigned i) { writeBinder(out, jaxpr.input(i)); });
  if (jaxpr.mesh.valid())
    object.integer("mesh", mesh(jaxpr.mesh));
  object.key("eqns");
  writeList(out, llvm::seq(0u, jaxpr.numEqns),
            [&](unsigned i) { writeEqn(out, program_.eqn(jaxpr.eqn(i))); });
  object.key("outs");
  writeList(out, jaxpr.outs, [&](Atom atom) { writeAtom(out, atom); });
  object.key("effects");
  writeList(out, jaxpr.effects,
            [&](const Effect &effect) { writeEffect(out, effect); });
  if (object.key("debug"))
    writeDebug(out, jaxpr);
  if (jaxpr.high)
    object.raw("high", "true");
  if (jaxpr.name.valid())
    object.string("name", str(jaxpr.name));
  object.end();
}
