// Program.cpp - interned parts of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Program.h"
#include "shardtype/Support/Intern.h"
#include "llvm/ADT/DenseMap.h"

using namespace shardtype;

namespace {
struct ParamList {
  SmallVector<Param, 6> params;
  friend bool operator==(const ParamList &, const ParamList &) = default;
};
struct FrameList {
  SmallVector<FrameId, 4> frames;
  friend bool operator==(const FrameList &, const FrameList &) = default;
};

template <typename Ids> llvm::hash_code hashIds(const Ids &ids) {
  llvm::hash_code code = llvm::hash_value(ids.size());
  for (auto id : ids)
    code = llvm::hash_combine(code, id.raw());
  return code;
}

llvm::hash_code hash(const Value &v) {
  return llvm::hash_combine(static_cast<unsigned>(v.kind),
                            static_cast<unsigned>(v.by), v.integer,
                            v.text.raw(), v.text2.raw(), v.extra.raw(),
                            hashIds(v.elements), hashIds(v.names));
}

llvm::hash_code hash(const ParamList &list) {
  llvm::hash_code code = llvm::hash_value(list.params.size());
  for (const Param &p : list.params)
    code = llvm::hash_combine(code, p.key.raw(), p.value.raw());
  return code;
}

llvm::hash_code hash(const Literal &l) {
  return llvm::hash_combine(static_cast<unsigned>(l.kind), l.type.raw(),
                            l.repr.raw(), l.bits.raw(), l.array, l.extra.raw());
}

llvm::hash_code hash(const EqnInfo &i) {
  return llvm::hash_combine(
      i.stack.raw(), i.nameStack.raw(), i.contextMesh.raw(), i.hasContextMesh,
      i.context.raw(), i.derived.raw(), i.extra.raw(), i.effects.size());
}

llvm::hash_code hash(const PartitionSpec &spec) {
  llvm::hash_code code =
      llvm::hash_combine(hashIds(spec.unreduced), hashIds(spec.reduced),
                         static_cast<unsigned>(spec.kind));
  for (const SpecEntry &entry : spec.partitions)
    code = llvm::hash_combine(code, static_cast<unsigned>(entry.kind),
                              hashIds(entry.axes));
  return code;
}
} // namespace

struct Program::Impl {
  InternTable<Value, ValueId> values;
  InternTable<ParamList, ParamsId> params;
  InternTable<Literal, LiteralId> literals;
  InternTable<EqnInfo, EqnInfoId> infos;
  InternTable<FrameList, StackId> stacks;
  InternTable<PartitionSpec, ValueId> specs;
  llvm::DenseMap<StringId, uint16_t> primitives;
};

Program::Program(Context &context)
    : context_(&context), impl_(std::make_unique<Impl>()) {}
Program::~Program() = default;
Program::Program(Program &&) noexcept = default;
Program &Program::operator=(Program &&) noexcept = default;

Program Program::clone() const {
  Program copy(*context_);
  *copy.impl_ = *impl_;
  copy.eqns = eqns;
  copy.operands = operands;
  copy.vars = vars;
  copy.jaxprs = jaxprs;
  copy.frames = frames;
  copy.arrays = arrays;
  copy.opaques = opaques;
  copy.primitives = primitives;
  copy.entry = entry;
  copy.contextMeshAtTop = contextMeshAtTop;
  copy.concreteMesh = concreteMesh;
  copy.file = file;
  copy.formatMinor = formatMinor;
  copy.fromText = fromText;
  copy.producer = producer;
  copy.contextExtra = contextExtra;
  copy.extra = extra;
  return copy;
}

ValueId Program::intern(const Value &value) {
  return impl_->values.intern(value, hash(value));
}
const Value &Program::value(ValueId id) const { return impl_->values[id]; }

ParamsId Program::internParams(ArrayRef<Param> params) {
  assert(llvm::is_sorted(params,
                         [&](const Param &a, const Param &b) {
                           return context_->str(a.key) < context_->str(b.key);
                         }) &&
         "parameters must be sorted by key");
  ParamList list;
  list.params.assign(params.begin(), params.end());
  return impl_->params.intern(list, hash(list));
}
ArrayRef<Param> Program::params(ParamsId id) const {
  return impl_->params[id].params;
}
ValueId Program::param(ParamsId id, StringRef key) const {
  for (const Param &param : params(id))
    if (context_->str(param.key) == key)
      return param.value;
  return ValueId();
}

LiteralId Program::intern(const Literal &literal) {
  return impl_->literals.intern(literal, hash(literal));
}
const Literal &Program::literal(LiteralId id) const {
  return impl_->literals[id];
}

EqnInfoId Program::intern(const EqnInfo &info) {
  return impl_->infos.intern(info, hash(info));
}
const EqnInfo &Program::info(EqnInfoId id) const { return impl_->infos[id]; }

StackId Program::internStack(ArrayRef<FrameId> innermostFirst) {
  FrameList list;
  list.frames.assign(innermostFirst.begin(), innermostFirst.end());
  return impl_->stacks.intern(list, hashIds(list.frames));
}
ArrayRef<FrameId> Program::stack(StackId id) const {
  return id.valid() ? ArrayRef<FrameId>(impl_->stacks[id].frames)
                    : ArrayRef<FrameId>();
}

uint32_t Program::internSpec(const PartitionSpec &spec) {
  return impl_->specs.intern(spec, hash(spec)).index();
}
const PartitionSpec &Program::spec(const Value &value) const {
  assert(value.kind == Value::Spec && "not a spec");
  return impl_->specs[ValueId(static_cast<uint32_t>(value.integer))];
}

std::optional<uint16_t> Program::primitive(StringRef name,
                                           const PrimitiveInfo *info) {
  StringId id = context_->intern(name);
  if (auto it = impl_->primitives.find(id); it != impl_->primitives.end())
    return it->second;
  if (primitives.size() >= 0x10000)
    return std::nullopt;
  uint16_t index = static_cast<uint16_t>(primitives.size());
  primitives.push_back({id, info});
  impl_->primitives.try_emplace(id, index);
  return index;
}

StringRef Program::name(const Eqn &eqn) const {
  return context_->str(primitives[eqn.primitive].name);
}

void shardtype::forEachJaxpr(const Program &program, ValueId id,
                             llvm::function_ref<void(JaxprId)> visit) {
  const Value &value = program.value(id);
  switch (value.kind) {
  case Value::Jaxpr:
    return visit(JaxprId(static_cast<uint32_t>(value.integer)));
  case Value::Tuple:
  case Value::List:
  case Value::Struct:
  case Value::HiPrim:
    for (ValueId element : value.elements)
      forEachJaxpr(program, element, visit);
    return;
  default:
    return;
  }
}
