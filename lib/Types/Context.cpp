// Context.cpp - interning of names, meshes and types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/Context.h"
#include "shardtype/Support/Intern.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Allocator.h"

using namespace shardtype;

namespace {

/// A hash over words. Types are looked up for every result of every equation,
/// and llvm::hash_combine takes a microsecond for one.
class Hasher {
public:
  void add(uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ull;
    state_ ^= state_ >> 32;
  }
  size_t get() const { return state_; }

private:
  uint64_t state_ = 0x243f6a8885a308d3ull;
};

} // namespace

static size_t hash(const Mesh &mesh) {
  Hasher hasher;
  hasher.add(mesh.conversions.size() << 2 | mesh.concrete << 1 |
             mesh.device.has_value());
  for (int64_t device : mesh.devices)
    hasher.add(device);
  for (const MeshAxis &axis : mesh.axes) {
    hasher.add(axis.name.raw() | uint64_t(axis.type) << 32);
    hasher.add(axis.size);
  }
  return hasher.get();
}

static uint64_t pair(uint32_t high, uint32_t low) {
  return uint64_t(high) << 32 | low;
}

static size_t hash(const Type &type) {
  Hasher hasher;
  const Sharding &sharding = type.sharding;
  const ManualAxisType &manual = type.manual;
  hasher.add(uint64_t(type.kind) | uint64_t(type.dtype) << 8 |
             uint64_t(type.weak) << 16 | uint64_t(type.memory) << 24 |
             uint64_t(sharding.kind) << 32 | uint64_t(manual.kind) << 40 |
             uint64_t(type.shape.size()) << 48);
  for (int64_t size : type.shape)
    hasher.add(size);
  for (const AxisList &dim : sharding.dims) {
    uint64_t packed = dim.size(); // Exact up to seven axes.
    for (uint8_t axis : dim)
      packed = packed << 8 ^ axis;
    hasher.add(packed);
  }
  hasher.add(pair(sharding.mesh.raw(), type.layout.raw()));
  for (uint64_t bits :
       {sharding.unreduced.bits(), sharding.reduced.bits(),
        manual.varying.bits(), manual.unreduced.bits(), manual.reduced.bits()})
    hasher.add(bits);
  hasher.add(pair(type.inner.raw(), type.text.raw()));
  hasher.add(type.extra.raw());
  return hasher.get();
}

struct Context::Impl {
  llvm::BumpPtrAllocator allocator;
  llvm::DenseMap<StringRef, StringId> stringIds;
  std::vector<StringRef> strings;
  InternTable<Mesh, MeshId> meshes;
  InternTable<Type, TypeId> types;
  Mesh emptyMesh;
};

Context::Context() : impl_(std::make_unique<Impl>()) {}
Context::~Context() = default;

StringId Context::intern(StringRef text) {
  if (auto it = impl_->stringIds.find(text); it != impl_->stringIds.end())
    return it->second;
  StringId id(impl_->strings.size());
  // The key must live as long as the context, not as long as the argument.
  // Copied here, not by LLVM's library: that is not built with a sanitizer and
  // would not mark the bytes as used.
  StringRef kept = text.copy(impl_->allocator);
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
  abstract.relative = mesh(id).relative;
  abstract.conversions = mesh(id).conversions;
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
