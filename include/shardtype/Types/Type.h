// Type.h - distributed array types and the other types of values.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_TYPE_H
#define SHARDTYPE_TYPES_TYPE_H

#include "shardtype/Support/AxisSet.h"
#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"
#include "shardtype/Types/DType.h"
#include "shardtype/Types/PartitionSpec.h"

namespace shardtype {

/// Extents of an array's dims. A negative one is a symbolic dim: -1 - the index
/// of its text among Context's strings (see `Dim`).
using Shape = SmallVector<int64_t, 6>;

/// Symbolic extents (`b*2`) are kept and printed, never computed with.
struct Dim {
  static bool isSymbolic(int64_t size) { return size < 0; }
  static int64_t symbolic(StringId text) {
    return -1 - static_cast<int64_t>(text.index());
  }
  static StringId text(int64_t size) {
    return StringId(static_cast<uint32_t>(-1 - size));
  }
};

enum class MemorySpace : uint8_t { Device, Host, Any };

/// A spec resolved on the mesh it belongs to: one entry per dim of the array.
/// Axes are positions in that mesh. Invariants (spec 01, 2.3 to 2.6): no axis
/// occurs twice in dims, unreduced and reduced; `kind` is None iff `unreduced`
/// is empty. An invalid `mesh` means "no mesh", which prints like replicated
/// and is not the same (architecture.md, Decisions).
struct Sharding {
  MeshId mesh; // Abstract and without a device, or invalid.
  SmallVector<AxisList, 4> dims;
  AxisSet unreduced, reduced;
  ReductionKind kind = ReductionKind::None;

  bool hasMesh() const { return mesh.valid(); }
  bool replicated() const {
    return unreduced.empty() && reduced.empty() &&
           llvm::all_of(dims, [](const AxisList &d) { return d.empty(); });
  }
  bool partitioned() const {
    return llvm::any_of(dims, [](const AxisList &d) { return !d.empty(); });
  }
  bool hasUR() const { return !unreduced.empty() || !reduced.empty(); }
  /// Every axis that some dim is split over.
  AxisSet axes() const {
    AxisSet set;
    for (const AxisList &dim : dims)
      set |= AxisSet::of(dim);
    return set;
  }
  friend bool operator==(const Sharding &, const Sharding &) = default;
};

/// State over the Manual axes of the type's mesh (spec 02, 1).
struct ManualAxisType {
  AxisSet varying, unreduced, reduced;
  ReductionKind kind = ReductionKind::None;
  bool trivial() const {
    return varying.empty() && unreduced.empty() && reduced.empty();
  }
  friend bool operator==(const ManualAxisType &,
                         const ManualAxisType &) = default;
};

/// The type of a value. Arrays use everything down to `layout`; a Ref has an
/// `inner`; anything else is `Opaque` and only its text is known.
struct Type {
  enum Kind : uint8_t { Array, Token, Ref, Future, Opaque } kind = Array;
  DType dtype = DType::F32;
  bool weak = false; // Weakly typed; printed only as `~` in the long form.
  MemorySpace memory = MemorySpace::Device;
  Shape shape;
  Sharding sharding; // sharding.dims.size() == shape.size()
  ManualAxisType manual;
  StringId layout; // Invalid: automatic. Never printed.
  TypeId inner;    // Of a Ref or Future.
  StringId text;   // Opaque: as printed. Ref: its memory space, if any.
  StringId extra;  // Fields of the file that we do not interpret, verbatim.

  bool isArray() const { return kind == Array; }
  unsigned rank() const { return shape.size(); }
  friend bool operator==(const Type &, const Type &) = default;
};

} // namespace shardtype

#endif
