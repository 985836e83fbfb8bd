// Context.h - owner of interned names, meshes and types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_CONTEXT_H
#define SHARDTYPE_TYPES_CONTEXT_H

#include "shardtype/Types/Mesh.h"
#include "shardtype/Types/Type.h"
#include <memory>

namespace shardtype {

/// Owns names, meshes and types for as long as it lives; equal things have
/// equal ids. Programs that are compared share one. Not thread safe while it
/// interns; any number of threads may read.
class Context {
public:
  Context();
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  StringId intern(StringRef text);
  MeshId intern(const Mesh &mesh);
  TypeId intern(const Type &type);

  StringRef str(StringId id) const;
  const Mesh &mesh(MeshId id) const;
  const Type &type(TypeId id) const;
  /// The mesh of an id that may name none: then the mesh without axes.
  const Mesh &meshOrEmpty(MeshId id) const;

  /// The same axes as an abstract mesh without a device: the form that types
  /// name. The empty mesh becomes "no mesh" (an invalid id).
  MeshId forTypes(MeshId mesh);
  /// `mesh` with the axes of `axes` made `type`.
  MeshId withAxisTypes(MeshId mesh, AxisSet axes, AxisType type);

  /// The array type on no mesh, of this dtype and shape.
  TypeId array(DType dtype, ArrayRef<int64_t> shape);
  TypeId token();
  /// `type` with another sharding. Its dims must fit the type's rank.
  TypeId withSharding(TypeId type, const Sharding &sharding);
  /// `type` made weak or strong.
  TypeId withWeak(TypeId type, bool weak);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace shardtype

#endif
