// EqnParams.cpp - which parameters of an equation print, and in which order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EqnParams.h"
#include "ValueText.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

static bool isUnspecified(const Value &v) {
  return v.kind == Value::Unspecified || v.kind == Value::None;
}
static bool isFalse(const Value &v) {
  return (v.kind == Value::Bool || v.kind == Value::Int) && v.integer == 0;
}
static bool isTuple(const Value &v) {
  return v.kind == Value::Tuple || v.kind == Value::List;
}

static bool allOf(const Program &program, const Value &tuple,
                  bool (*holds)(const Value &)) {
  return isTuple(tuple) && llvm::all_of(tuple.elements, [&](ValueId id) {
           return holds(program.value(id));
         });
}

static bool isEmpty(const Program &program, const Value &v) {
  if (v.kind == Value::Mesh) {
    MeshId mesh(static_cast<uint32_t>(v.integer));
    return program.context().meshOrEmpty(mesh).empty();
  }
  return v.kind == Value::None || (isTuple(v) && v.elements.empty()) ||
         (v.kind == Value::Dict && v.elements.empty());
}

static bool isHidden(const Program &program, const Value &v, Hide hide) {
  if (v.kind == Value::Hidden)
    return true;
  switch (hide) {
  case Hide::Never:
    return false;
  case Hide::IfNone:
    return v.kind == Value::None;
  case Hide::IfEmpty:
    return isEmpty(program, v);
  case Hide::IfFalse:
    return isFalse(v) || allOf(program, v, isFalse);
  case Hide::IfZero:
    return v.kind == Value::Int && v.integer == 0;
  case Hide::IfUnspecified:
    return isUnspecified(v) || allOf(program, v, isUnspecified);
  case Hide::Always:
  case Hide::AlwaysNone:
    return true;
  }
  return false;
}

std::optional<SmallVector<JaxprId, 2>>
shardtype::jaxprTuple(const Program &program, const Value &value) {
  if (value.kind != Value::Tuple)
    return std::nullopt;
  SmallVector<JaxprId, 2> jaxprs;
  for (ValueId id : value.elements) {
    const Value &element = program.value(id);
    if (element.kind != Value::Jaxpr)
      return std::nullopt;
    jaxprs.push_back(JaxprId(static_cast<uint32_t>(element.integer)));
  }
  return jaxprs;
}

const PrimitiveInfo *EqnParams::info(const Eqn &eqn) {
  // Programs grow no primitives while they are printed.
  if (infos_.empty())
    for (const PrimitiveRef &ref : program_.primitives)
      infos_.push_back(ref.info);
  return infos_[eqn.primitive];
}

static uint64_t cacheKey(const Eqn &eqn) {
  return uint64_t(eqn.primitive) << 32 | eqn.params.raw();
}

bool EqnParams::valueHoldsJaxprs(ValueId id) {
  const Value &v = program_.value(id);
  return v.kind == Value::Jaxpr || llvm::any_of(v.elements, [&](ValueId e) {
           return valueHoldsJaxprs(e);
         });
}

bool EqnParams::holdsJaxprs(const Eqn &eqn) {
  size_t index = eqn.params.index();
  if (holds_.size() <= index)
    holds_.resize(index + 1);
  if (!holds_[index])
    holds_[index] = llvm::any_of(program_.params(eqn.params),
                                 [&](const Param &param) {
                                   return valueHoldsJaxprs(param.value);
                                 })
                        ? 1
                        : -1;
  return holds_[index] > 0;
}

/// The high-level primitive in the parameters of call_hi_primitive.
const Value *EqnParams::hiPrim(const Eqn &eqn) {
  PrintStyle how = style(eqn);
  if (how != PrintStyle::HiPrim && how != PrintStyle::HiPrimLin)
    return nullptr;
  ValueId id = program_.param(eqn.params, "_prim");
  if (!id.valid() || program_.value(id).kind != Value::HiPrim)
    return nullptr;
  return &program_.value(id);
}

std::string EqnParams::name(const Eqn &eqn) {
  if (const Value *prim = hiPrim(eqn)) {
    std::string name = program_.context().str(prim->text).str();
    return style(eqn) == PrintStyle::HiPrim ? name : name + ".linearized";
  }
  return program_.name(eqn).str();
}

/// The name of the function a jaxpr was traced from: the debug source up to a
/// blank.
static StringRef functionName(const Program &program, ValueId id) {
  if (!id.valid() || program.value(id).kind != Value::Jaxpr)
    return "";
  JaxprId jaxpr(static_cast<uint32_t>(program.value(id).integer));
  StringId source = program.jaxpr(jaxpr).debugSource;
  if (!source.valid())
    return "";
  return program.context().str(source).split(' ').first;
}

SmallVector<ShownParam, 8> EqnParams::shownOfClass(const Eqn &eqn) {
  SmallVector<ShownParam, 8> params;
  if (style(eqn) == PrintStyle::HiPrim) {
    const Value *prim = hiPrim(eqn);
    for (auto [key, value] : llvm::zip(prim->names, prim->elements))
      if (StringRef name = program_.context().str(key); !name.starts_with("$"))
        params.push_back({name, value, nullptr, {}});
    return params;
  }
  for (StringRef key : {"nz_in_flat", "nz_out_flat", "has_sres"}) {
    ValueId value = program_.param(eqn.params, key);
    if (value.valid() && !(key == "has_sres" && isFalse(program_.value(value))))
      params.push_back({key, value, nullptr, {}});
  }
  return params;
}

SmallVector<ShownParam, 8> EqnParams::shown(const Eqn &eqn) {
  if (hiPrim(eqn))
    return shownOfClass(eqn);
  SmallVector<ShownParam, 8> params;
  const PrimitiveInfo *known = info(eqn);
  const ParamSchema *schema = known ? &known->params : nullptr;
  bool renamed = false;
  for (const Param &param : program_.params(eqn.params)) {
    StringRef key = program_.context().str(param.key);
    const ParamField *field = schema ? schema->find(key) : nullptr;
    if (isHidden(program_, program_.value(param.value),
                 field ? field->hide : Hide::Never))
      continue;
    if (field && !field->printedAs.empty() && field->printedAs != key) {
      key = field->printedAs;
      renamed = true;
    }
    params.push_back({key, param.value, field, {}});
  }
  if (renamed)
    llvm::stable_sort(params, [](const ShownParam &a, const ShownParam &b) {
      return a.key < b.key;
    });
  if (!schema || !schema->nameFirst)
    return params;
  if (!schema->nameFrom.empty()) {
    ValueId from = program_.param(eqn.params, schema->nameFrom);
    params.insert(params.begin(), ShownParam{"name", ValueId(), nullptr,
                                             functionName(program_, from)});
    return params;
  }
  auto *at = llvm::find_if(
      params, [](const ShownParam &param) { return param.key == "name"; });
  if (at != params.end())
    std::rotate(params.begin(), at, at + 1);
  return params;
}

void EqnParams::addPrinted(ValueId id, bool inClass, JaxprRefs &refs) {
  const Value &v = program_.value(id);
  if (v.kind == Value::Jaxpr)
    refs.printed.push_back(JaxprId(static_cast<uint32_t>(v.integer)));
  else if (std::optional<SmallVector<JaxprId, 2>> all = jaxprTuple(program_, v))
    refs.printed.append(all->begin(), all->end());
  else if (inClass && v.kind == Value::HiPrim)
    for (ValueId element : v.elements)
      addPrinted(element, true, refs);
}

/// JAX looks at values and at the members of tuples, no deeper.
void EqnParams::addWalk(ValueId id, StringRef name, JaxprRefs &refs) {
  const Value &v = program_.value(id);
  auto add = [&](const Value &value) {
    if (value.kind == Value::Jaxpr)
      refs.walk.push_back(
          {JaxprId(static_cast<uint32_t>(value.integer)), name});
  };
  add(v);
  if (v.kind == Value::Tuple || v.kind == Value::Struct)
    for (ValueId element : v.elements)
      add(program_.value(element));
}

void EqnParams::addWalkOfClass(const Value &hiPrim, JaxprRefs &refs) {
  StringRef name;
  for (auto [key, id] : llvm::zip(hiPrim.names, hiPrim.elements))
    if (program_.context().str(key) == "name" &&
        program_.value(id).kind == Value::Str)
      name = program_.context().str(program_.value(id).text);
  for (ValueId id : hiPrim.elements) {
    if (program_.value(id).kind == Value::HiPrim)
      addWalkOfClass(program_.value(id), refs);
    else
      addWalk(id, name, refs);
  }
}

const JaxprRefs &EqnParams::refs(const Eqn &eqn) {
  static const JaxprRefs None;
  if (!holdsJaxprs(eqn))
    return None;
  JaxprRefs *&found = refsOf_[cacheKey(eqn)];
  if (found)
    return *found;
  found = &refs_.emplace_back();
  bool inClass = style(eqn) == PrintStyle::HiPrim && hiPrim(eqn);
  for (const ShownParam &param : shown(eqn))
    if (param.value.valid())
      addPrinted(param.value, inClass, *found);
  if (inClass) {
    addWalkOfClass(*hiPrim(eqn), *found);
    return *found;
  }
  StringRef name;
  ValueId nameId = program_.param(eqn.params, "name");
  if (nameId.valid() && program_.value(nameId).kind == Value::Str)
    name = program_.context().str(program_.value(nameId).text);
  const PrimitiveInfo *known = info(eqn);
  StringRef first = known ? known->params.walkFirst : StringRef();
  for (bool early : {true, false})
    for (const Param &param : program_.params(eqn.params))
      if ((program_.context().str(param.key) == first) == early)
        addWalk(param.value, name, *found);
  return *found;
}

PrintedParam EqnParams::print(const ShownParam &param, bool inClass) {
  PrintedParam result;
  result.key = param.key.str();
  result.value = param.value;
  if (!param.value.valid()) {
    result.text = param.text.str();
    return result;
  }
  const Value &v = program_.value(param.value);
  if (v.kind == Value::Jaxpr) {
    result.kind = PrintedParam::Jaxpr;
    result.jaxprs.push_back(JaxprId(static_cast<uint32_t>(v.integer)));
    return result;
  }
  if (std::optional<SmallVector<JaxprId, 2>> all = jaxprTuple(program_, v)) {
    result.kind = PrintedParam::Jaxprs;
    result.jaxprs = std::move(*all);
    return result;
  }
  llvm::raw_string_ostream os(result.text);
  if (inClass && v.kind == Value::HiPrim) {
    result.kind = PrintedParam::HiPrim;
    os << program_.context().str(v.text);
    for (auto [key, value] : llvm::zip(v.names, v.elements))
      if (StringRef name = program_.context().str(key); !name.starts_with("$"))
        result.params.push_back(print({name, value, nullptr, {}}, true));
    return result;
  }
  if (valueHoldsJaxprs(param.value)) {
    result.kind = PrintedParam::Whole;
    return result;
  }
  ValueText text(program_, [](raw_ostream &, JaxprId) {});
  if (inClass && v.kind == Value::Type)
    shardtype::print(os, program_.context(),
                     TypeId(static_cast<uint32_t>(v.integer)));
  else if (v.kind == Value::Callable && v.text.valid() &&
           (inClass || (param.field && param.field->reads == ParamField::Name)))
    os << program_.context().str(v.text);
  else if (param.field && param.field->reads == ParamField::DotDims)
    text.dotDims(os, param.value);
  else
    text.str(os, param.value);
  return result;
}

const std::vector<PrintedParam> &EqnParams::printed(const Eqn &eqn) {
  std::vector<PrintedParam> *&found = printedOf_[cacheKey(eqn)];
  if (found)
    return *found;
  found = &printed_.emplace_back();
  bool inClass = style(eqn) == PrintStyle::HiPrim && hiPrim(eqn);
  for (const ShownParam &param : shown(eqn))
    found->push_back(print(param, inClass));
  return *found;
}
