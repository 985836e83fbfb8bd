// Context.cpp - interning of names, meshes and types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/Context.h"
#include "shardtype/Support/Intern.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

using namespace shardtype;

static llvm::hash_code hashIds(ArrayRef<StringId> ids) {
  llvm::hash_code hash = llvm::hash_value(ids.size());
  for (StringId id : ids)
    hash = llvm::hash_combine(hash, id.raw());
  return hash;
}

static llvm::hash_code hash(const Mesh &mesh) {
  llvm::hash_code code = llvm::hash_combine(
      mesh.concrete, mesh.device.has_value(), mesh.extra.raw(),
      llvm::hash_combine_range(mesh.devices.begin(), mesh.devices.end()));
  for (const MeshAxis &axis : mesh.axes)
    code = llvm::hash_combine(code, axis.name.raw(), axis.size,
                              static_cast<unsigned>(axis.type));
  return code;
}

static llvm::hash_code hash(const Type &type) {
  llvm::hash_code code = llvm::hash_combine(
      static_cast<unsigned>(type.kind), static_cast<unsigned>(type.dtype),
      type.weak, static_cast<unsigned>(type.memory),
      llvm::hash_combine_range(type.shape.begin(), type.shape.end()),
      type.sharding.mesh.raw(), type.sharding.unreduced.bits(),
      type.sharding.reduced.bits(), static_cast<unsigned>(type.sharding.kind),
      type.manual.varying.bits(), type.manual.unreduced.bits(),
      type.manual.reduced.bits(), type.layout.raw());
  for (const AxisList &dim : type.sharding.dims)
    code = llvm::hash_combine(code,
                              llvm::hash_combine_range(dim.begin(), dim.end()));
  StringId ids[] = {type.text, type.extra};
  return llvm::hash_combine(code, type.inner.raw(), hashIds(ids));
}

struct Context::Impl {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver{allocator};
  llvm::DenseMap<StringRef, StringId> stringIds;
  std::vector<StringRef> strings;
  InternTable<Mesh, MeshId> meshes;
  InternTable<Type, TypeId> types;
  Mesh emptyMesh;
};

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::~Context() = default;

StringId Context::intern(StringRef text) {
  auto [it, isNew] = impl_->stringIds.try_emplace(text, StringId());
  if (!isNew)
    return it->second;
  StringId id(impl_->strings.size());
  // The key must live as long as the context, not as long as the argument.
  StringRef kept = impl_->saver.save(text);
  impl_->stringIds.erase(it);
  impl_->stringIds.try_emplace(kept, id);
  impl_->strings.push_back(kept);
  return id;
}

MeshId Context::intern(const Mesh &mesh) {
  assert(mesh.axes.size() <= MaxMeshAxes && "a mesh with too many axes");
  return impl_->meshes.intern(mesh, hash(mesh));
}

TypeId Context::intern(const Type &type) {
  assert((!type.isArray() || type.sharding.dims.size() == type.shape.size()) &&
         "a sharding needs one entry a dim");
  return impl_->types.intern(type, hash(type));
}

StringRef Context::str(StringId id) const { return impl_->strings[id.index()]; }
const Mesh &Context::mesh(MeshId id) const { return impl_->meshes[id]; }
const Type &Context::type(TypeId id) const { return impl_->types[id]; }
const Mesh &Context::meshOrEmpty(MeshId id) const {
  return id.valid() ? mesh(id) : impl_->emptyMesh;
}

MeshId Context::forTypes(MeshId id) {
  if (!id.valid() || mesh(id).empty())
    return MeshId();
  if (!mesh(id).concrete && !mesh(id).device && !mesh(id).extra.valid())
    return id;
  Mesh abstract;
  abstract.axes = mesh(id).axes;
  return intern(abstract);
}

MeshId Context::withAxisTypes(MeshId id, AxisSet axes, AxisType type) {
  if (!id.valid())
    return id;
  Mesh changed = mesh(id);
  for (uint8_t axis : axes.list())
    changed.axes[axis].type = type;
  return intern(changed);
}

TypeId Context::array(DType dtype, ArrayRef<int64_t> shape) {
  Type type;
  type.dtype = dtype;
  type.shape.assign(shape.begin(), shape.end());
  type.sharding.dims.resize(shape.size());
  return intern(type);
}

TypeId Context::token() {
  Type type;
  type.kind = Type::Token;
  return intern(type);
}

TypeId Context::withSharding(TypeId id, const Sharding &sharding) {
  Type changed = type(id);
  changed.sharding = sharding;
  return intern(changed);
}

TypeId Context::withWeak(TypeId id, bool weak) {
  if (type(id).weak == weak)
    return id;
  Type changed = type(id);
  changed.weak = weak;
  return intern(changed);
}
