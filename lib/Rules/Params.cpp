// Params.cpp - readers of parameter values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Params.h"
#include "shardtype/IR/Printer.h"

using namespace shardtype;

static bool isList(const Value &v) {
  return v.kind == Value::Tuple || v.kind == Value::List;
}

bool shardtype::readParam(const Program &, const Value &v, bool &out) {
  if (v.kind == Value::Hidden)
    return true;
  out = v.integer != 0;
  return v.kind == Value::Bool || v.kind == Value::Int;
}

bool shardtype::readParam(const Program &, const Value &v, int64_t &out) {
  if (v.kind == Value::Hidden)
    return true;
  out = v.kind == Value::Sym ? Dim::symbolic(v.text) : v.integer;
  return v.kind == Value::Int || v.kind == Value::Bool || v.kind == Value::Sym;
}

bool shardtype::readParam(const Program &p, const Value &v,
                          std::optional<int64_t> &out) {
  if (v.kind == Value::None || v.kind == Value::Hidden)
    return true;
  out = 0;
  return readParam(p, v, *out);
}

bool shardtype::readParam(const Program &p, const Value &v,
                          SmallVectorImpl<int64_t> &out) {
  if (v.kind == Value::Hidden)
    return true;
  if (!isList(v))
    return false;
  for (ValueId element : v.elements) {
    const Value &item = p.value(element);
    if (item.kind == Value::Sym) {
      out.push_back(Dim::symbolic(item.text));
      continue;
    }
    out.push_back(0);
    if (!readParam(p, item, out.back()))
      return false;
  }
  return true;
}

bool shardtype::readParam(const Program &p, const Value &v,
                          std::optional<SmallVector<int64_t, 4>> &out) {
  if (v.kind == Value::None || v.kind == Value::Hidden)
    return true;
  out.emplace();
  return readParam(p, v, *out);
}

bool shardtype::readParam(const Program &p, const Value &v,
                          SmallVectorImpl<SmallVector<int64_t, 3>> &out) {
  if (v.kind == Value::Hidden)
    return true;
  if (!isList(v))
    return false;
  for (ValueId element : v.elements) {
    out.emplace_back();
    if (!readParam(p, p.value(element), out.back()))
      return false;
  }
  return true;
}

bool shardtype::readParam(const Program &p, const Value &v, DType &out) {
  if (v.kind == Value::Hidden)
    return true;
  StringRef name;
  // A structured numpy dtype: `[('float0', 'V')]`.
  if (v.kind == Value::List && v.elements.size() == 1) {
    const Value &field = p.value(v.elements[0]);
    if (field.kind == Value::Tuple && field.elements.size() == 2)
      return readParam(p, p.value(field.elements[0]), out);
  }
  if (v.kind == Value::DType || v.kind == Value::Str ||
      v.kind == Value::OpaqueText || v.kind == Value::Enum)
    name = p.context().str(v.text);
  std::optional<DType> dtype = parseDType(name == "void" ? "float0" : name);
  if (dtype)
    out = *dtype;
  return dtype.has_value();
}

bool shardtype::readParam(const Program &p, const Value &v,
                          std::optional<DType> &out) {
  if (v.kind == Value::None || v.kind == Value::Hidden)
    return true;
  out.emplace();
  return readParam(p, v, *out);
}

bool shardtype::readParam(const Program &p, const Value &v, EnumParam &out) {
  switch (v.kind) {
  case Value::None:
  case Value::Hidden:
  case Value::Int: // An IntEnum prints as its number.
    return true;
  case Value::Enum:
    out.name = p.context().str(v.text2);
    return true;
  case Value::Str:
  case Value::OpaqueText:
  case Value::Prng:
    // A member may print with its class: `Class.MEMBER`.
    out.name = p.context().str(v.text).rsplit('.').second;
    if (out.name.empty())
      out.name = p.context().str(v.text);
    return true;
  default:
    return false;
  }
}

bool shardtype::readParam(const Program &p, const Value &v, StringRef &out) {
  if (v.kind == Value::None || v.kind == Value::Hidden)
    return true;
  if (v.text.valid())
    out = p.context().str(v.text);
  return v.text.valid();
}

bool shardtype::readParam(const Program &p, const Value &v, DotDims &out) {
  if (!isList(v) || v.elements.size() != 2)
    return false;
  SmallVectorImpl<int64_t> *parts[2][2] = {{&out.lhsContract, &out.rhsContract},
                                           {&out.lhsBatch, &out.rhsBatch}};
  for (unsigned i = 0; i < 2; ++i) {
    const Value &pair = p.value(v.elements[i]);
    if (!isList(pair) || pair.elements.size() != 2)
      return false;
    for (unsigned j = 0; j < 2; ++j)
      if (!readParam(p, p.value(pair.elements[j]), *parts[i][j]))
        return false;
  }
  return true;
}

bool shardtype::readParam(const Program &p, const Value &v,
                          ShardingParam &out) {
  switch (v.kind) {
  case Value::None:
  case Value::Unspecified:
    return true;
  case Value::Hidden:
    out.state = ShardingParam::Hidden;
    return true;
  case Value::Sharding:
    if (v.elements.empty())
      return false;
    // What JAX copied from a recorded type is no one's wish (export E8).
    out.state = v.by == Value::Jax ? ShardingParam::None : ShardingParam::Given;
    out.mesh = MeshId(static_cast<uint32_t>(v.integer));
    out.spec = p.spec(p.value(v.elements[0]));
    out.by = v.by;
    return true;
  default:
    return false;
  }
}

bool shardtype::readParam(const Program &p, const Value &v,
                          PartitionSpec &out) {
  if (v.kind != Value::Spec)
    return false;
  out = p.spec(v);
  return true;
}

bool shardtype::readParam(const Program &, const Value &v, JaxprId &out) {
  if (v.kind != Value::Jaxpr)
    return false;
  out = JaxprId(static_cast<uint32_t>(v.integer));
  return true;
}

bool shardtype::readParam(const Program &p, const Value &v,
                          SmallVectorImpl<JaxprId> &out) {
  if (!isList(v))
    return false;
  for (ValueId element : v.elements)
    if (!readParam(p, p.value(element), out.emplace_back()))
      return false;
  return true;
}

bool shardtype::hasForm(const Program &p, const Value &v, const Form &form) {
  if (v.kind == Value::Hidden || form.kinds >> v.kind & 1)
    return true;
  return isList(v) && form.elements &&
         llvm::all_of(v.elements, [&](ValueId id) {
           Value::Kind kind = p.value(id).kind;
           return kind == Value::Hidden || form.elements >> kind & 1;
         });
}

const Value *shardtype::structField(const Program &p, const Value &v,
                                    StringRef name) {
  for (unsigned i = 0; i < v.names.size(); ++i)
    if (p.context().str(v.names[i]) == name)
      return &p.value(v.elements[i]);
  return nullptr;
}

LogicalResult detail::badParam(TypingContext &cx, StringRef key, bool missing) {
  if (missing)
    return cx.error(diag::ParamInvalid, key, "is missing").markParam(key);
  ValueId id = cx.program().param(cx.paramsId(), key);
  return cx
      .error(diag::ParamInvalid, key,
             "has the wrong form: " + printValue(cx.program(), id))
      .markParam(key);
}
