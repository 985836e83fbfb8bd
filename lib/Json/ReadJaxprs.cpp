// ReadJaxprs.cpp - jaxprs and their equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jaxprs.h"

using namespace shardtype;
using namespace shardtype::json;

void JaxprReader::begin(uint32_t offset) {
  now_ = Current();
  now_.offset = offset;
  now_.jaxpr.firstEqn = program_.eqns.size();
  now_.jaxpr.firstVar = program_.vars.size();
  scope_.begin();
  if (parts_ == Parts::Rest)
    now_.binders = std::move(allBinders_[program_.jaxprs.size()]);
}

Want JaxprReader::field(StringRef name, uint32_t offset) {
  if (now_.has(name))
    throw Bad{diag::JsonDuplicateKey, offset, {name.str()}};
  now_.fields.push_back(name.str());
  now_.field = name.str();
  bool binders = name == "constvars" || name == "invars";
  if (binders && parts_ == Parts::All && now_.bound)
    throw Deferred();
  if (binders)
    return parts_ == Parts::Rest ? Want::Skip : Want::Whole;
  if (parts_ == Parts::Binders)
    return Want::Skip;
  if (name == "eqns") {
    if (parts_ == Parts::All && !now_.has("invars"))
      throw Deferred();
    bindAll();
    return Want::Each;
  }
  if (name == "consts")
    now_.constsOffset = offset;
  return Want::Whole;
}

void JaxprReader::bindAll() {
  if (now_.bound)
    return;
  now_.bound = true;
  now_.jaxpr.numConsts = now_.binders.consts.size();
  now_.jaxpr.numInputs = now_.binders.inputs.size();
  for (const Binder &binder : now_.binders.consts)
    scope_.bind(binder);
  for (const Binder &binder : now_.binders.inputs)
    scope_.bind(binder);
}

void JaxprReader::value(Ref value) {
  StringRef name = now_.field;
  Jaxpr &jaxpr = now_.jaxpr;
  if (name == "constvars")
    return readBinders(value, now_.binders.consts);
  if (name == "invars")
    return readBinders(value, now_.binders.inputs);
  if (name == "consts")
    return readConsts(value);
  if (name == "outs")
    return readOuts(value);
  if (name == "effects")
    return readEffects(value);
  if (name == "mesh")
    jaxpr.mesh = tables_.meshOrNull(value);
  else if (name == "debug")
    readDebug(value);
  else if (name == "high")
    jaxpr.high = value.boolean();
  else if (name == "name")
    jaxpr.name = tables_.stringOrNull(value);
  else
    now_.extra.add(name, value);
}

void JaxprReader::readConsts(Ref list) {
  for (Ref item : Items(list.array()))
    now_.jaxpr.constArrays.push_back(
        item.isNull() ? -1 : tables_.index(item, Table::Arrays));
}

void JaxprReader::readOuts(Ref list) {
  SmallVector<Atom, 4> &outs = now_.jaxpr.outs;
  for (Ref item : Items(list.array())) {
    if (item.isObject()) {
      outs.push_back(readLiteral(item));
      continue;
    }
    now_.outs.push_back({outs.size(), item.integer(0), item.offset()});
    outs.emplace_back();
  }
}

void JaxprReader::readEffects(Ref list) {
  for (Ref item : Items(list.array())) {
    Ref var;
    now_.jaxpr.effects.push_back(readEffect(tables_, item, var));
    if (var)
      now_.effects.push_back(
          {now_.jaxpr.effects.size() - 1, var.integer(), var.offset()});
  }
}

void JaxprReader::readDebug(Ref value) {
  if (value.isNull())
    return;
  Jaxpr &jaxpr = now_.jaxpr;
  jaxpr.hasDebug = true;
  Fields fields(value, {"for", "src", "args", "results"});
  if (Ref traced = fields.getIfNotNull("for"))
    jaxpr.debugFor = tables_.string(traced);
  if (Ref source = fields.getIfNotNull("src"))
    jaxpr.debugSource = tables_.string(source);
  if (Ref args = fields.getIfNotNull("args")) {
    jaxpr.hasArgNames = true;
    tables_.strings(args, jaxpr.argNames);
  }
  if (Ref results = fields.getIfNotNull("results")) {
    jaxpr.hasResultPaths = true;
    tables_.strings(results, jaxpr.resultPaths);
  }
  if (!fields.extra().empty())
    now_.extra.add("debug", value);
}

void JaxprReader::end() {
  auto need = [&](StringRef name) {
    if (!now_.has(name))
      throw Bad{diag::JsonStructure,
                now_.offset,
                {("field '" + name + "' is missing").str()}};
  };
  need("invars");
  if (parts_ == Parts::Binders) {
    allBinders_.push_back(std::move(now_.binders));
    return;
  }
  need("eqns");
  need("outs");
  Jaxpr &jaxpr = now_.jaxpr;
  if (!now_.has("consts"))
    jaxpr.constArrays.assign(jaxpr.numConsts, -1);
  if (jaxpr.constArrays.size() != jaxpr.numConsts)
    throw Bad{diag::JsonStructure,
              now_.constsOffset,
              {"expected one entry for each of 'constvars'"}};
  for (const Pending &out : now_.outs)
    jaxpr.outs[out.index] = scope_.lookup(out.id, out.offset);
  for (const Pending &effect : now_.effects)
    jaxpr.effects[effect.index].var = scope_.lookup(effect.id, effect.offset);
  jaxpr.numEqns = program_.eqns.size() - jaxpr.firstEqn;
  jaxpr.numVars = program_.vars.size() - jaxpr.firstVar;
  jaxpr.extra = tables_.intern(now_.extra);
  program_.jaxprs.push_back(std::move(jaxpr));
}

JaxprReader::EqnFields JaxprReader::eqnFields(Ref value, Extra &extra) {
  EqnFields fields;
  for (Field field : Members(value.object())) {
    StringRef key = field.key.chars();
    Ref *place = nullptr;
    switch (key.size()) {
    case 1:
      place = key == "p" ? &fields.p : nullptr;
      break;
    case 2:
      place = key == "in" ? &fields.in : key == "ns" ? &fields.ns : nullptr;
      break;
    case 3:
      place = key == "out"   ? &fields.out
              : key == "src" ? &fields.src
              : key == "eff" ? &fields.eff
              : key == "ctx" ? &fields.ctx
                             : nullptr;
      break;
    case 6:
      place = key == "params" ? &fields.params : nullptr;
      break;
    case 7:
      place = key == "derived" ? &fields.derived : nullptr;
      break;
    }
    if (place)
      *place = field.value;
    else
      extra.add(key, field.value);
  }
  for (auto [name, field] : {std::pair<StringRef, Ref>("p", fields.p),
                             {"in", fields.in},
                             {"out", fields.out}})
    if (!field)
      bad(value, "field '" + name + "' is missing");
  return fields;
}

void JaxprReader::eqn(Ref value) {
  Extra extra;
  EqnFields fields = eqnFields(value, extra);
  constexpr uint32_t MaxOperands = (1u << 24) - 1;
  for (Ref list : {fields.in, fields.out})
    if (list.array().size() > MaxOperands)
      badLimit(list.offset(), "the number of operands or results", MaxOperands);

  Eqn eqn;
  eqn.primitive = primitive(fields.p);
  eqn.firstOperand = program_.operands.size();
  eqn.numOperands = fields.in.size();
  for (Ref atom : Items(fields.in))
    program_.operands.push_back(readAtom(atom));
  eqn.params = fields.params ? values_.readParams(fields.params)
                             : program_.internParams({});
  eqn.firstResult = VarId(program_.vars.size());
  eqn.numResults = fields.out.size();
  for (Ref result : Items(fields.out))
    scope_.bind(readBinder(result));
  eqn.info = readInfo(fields, extra);
  program_.eqns.push_back(eqn);
}

uint16_t JaxprReader::primitive(Ref name) {
  auto known = primitives_.find(name.string());
  if (known != primitives_.end())
    return known->second;
  std::optional<uint16_t> index =
      program_.primitive(name.chars(), lookup_(name.chars()));
  if (!index)
    badLimit(name.offset(), "the number of different primitives", 0x10000);
  // The key must stay: the name's text belongs to the context.
  StringRef key = tables_.cx.str(program_.primitives[*index].name);
  return primitives_[key] = *index;
}

EqnInfoId JaxprReader::readInfo(const EqnFields &fields, const Extra &extra) {
  EqnInfo info;
  if (fields.src && !fields.src.isNull())
    info.stack = tables_.stack(fields.src);
  if (fields.ns && !fields.ns.isNull() && !fields.ns.string().empty())
    info.nameStack = tables_.string(fields.ns);
  bool plain = !fields.ctx && !fields.eff && !fields.derived && extra.empty();
  EqnInfoId fresh;
  EqnInfoId &known =
      plain ? infos_[{info.stack.raw() + 1, info.nameStack.raw() + 1}] : fresh;
  if (known.valid())
    return known;
  if (fields.ctx)
    readContext(fields.ctx, info);
  if (fields.eff)
    for (Ref item : Items(fields.eff.array())) {
      Ref var;
      Effect effect = readEffect(tables_, item, var);
      if (var)
        effect.var = scope_.lookup(var.integer(), var.offset());
      info.effects.push_back(effect);
    }
  if (fields.derived && !fields.derived.isNull())
    info.derived = tables_.verbatim(fields.derived.object());
  info.extra = tables_.intern(extra);
  return known = program_.intern(info);
}

void JaxprReader::readContext(Ref value, EqnInfo &info) {
  Fields fields(value, {"mesh"});
  if (Ref mesh = fields.get("mesh")) {
    info.hasContextMesh = true;
    info.contextMesh = tables_.meshOrNull(mesh);
  }
  info.context = tables_.intern(fields.extra());
}
