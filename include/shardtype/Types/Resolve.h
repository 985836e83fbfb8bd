// Resolve.h - from specs by name to shardings on a mesh, with JAX's checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_RESOLVE_H
#define SHARDTYPE_TYPES_RESOLVE_H

#include "shardtype/Types/Context.h"

namespace shardtype {

/// Which rule of specs, shardings or types was broken (spec 01, 2.3 to 2.7).
struct SpecError {
  enum Kind : uint8_t {
    Overlap,       // One axis in two of partitions, unreduced, reduced (or
                   // varying).
    KindWithoutU,  // A kind, but nothing unreduced.
    Duplicate,     // One axis twice in the partitions.
    UnknownAxis,   // Not an axis of the mesh.
    Unconstrained, // Not allowed: no axis of the mesh is Auto.
    AxisType,      // Unreduced or reduced over an axis that is not Explicit,
                   // or a manual type over one that is not Manual.
    Rank,          // More entries than dims.
    Indivisible    // A dim's size is no multiple of its axes' size.
  } kind;
  StringId axis; // The axis at fault, where there is one.
  int dim = -1;  // The dim at fault, where there is one.
  int dim2 = -1; // Duplicate: the other dim.
};

template <typename T> struct SpecResult {
  std::optional<T> value; // Empty: see `error`.
  SpecError error{};
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
};

/// Makes the checks of NamedSharding (spec 01, 2.4) and pads the spec to `rank`
/// dims (2.6): a spec that is longer is an error when some axis of the mesh is
/// Explicit or an extra entry is not None. Axes that are Auto or Manual in the
/// mesh are removed when `dropOthers` (as types have it), else kept.
SpecResult<Sharding> resolve(Context &cx, const PartitionSpec &spec,
                             MeshId mesh, unsigned rank,
                             bool dropOthers = true);
/// The checks that need a shape: every dim divides (2.6). None: all is well.
std::optional<SpecError> checkDivisible(const Context &cx,
                                        const Sharding &sharding,
                                        ArrayRef<int64_t> shape);
/// The checks of a manual axis type (spec 02, 1): every axis is Manual in the
/// mesh (`AxisType`), what varies is in no other set (`Overlap`; JAX has values
/// that are unreduced and reduced over one axis, which is a warning where they
/// are made), and a kind only where something is unreduced.
std::optional<SpecError> checkManual(const Context &cx,
                                     const ManualAxisType &manual, MeshId mesh);
/// The spec of a sharding, one entry a dim, names in mesh order.
PartitionSpec toSpec(const Context &cx, const Sharding &sharding);
/// A sharding with all dims whole.
Sharding replicated(MeshId mesh, unsigned rank);
/// The same sharding on another mesh, axes matched by name; axes that are not
/// there or not Explicit there are dropped.
Sharding onMesh(const Context &cx, const Sharding &sharding, MeshId mesh);
/// Bytes one device holds of a value of this type, as an amount
/// (Support/Bytes.h). Zero for types that are not arrays.
uint64_t bytesPerDevice(const Context &cx, TypeId type);
/// typematch (spec 01, 2.8): equal but for weak type and layout; shardings
/// count only where both meshes are there and one has an Explicit axis.
bool typematch(const Context &cx, TypeId a, TypeId b);

} // namespace shardtype

#endif
