// Mesh.h - meshes of devices with named axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_MESH_H
#define SHARDTYPE_TYPES_MESH_H

#include "shardtype/Support/AxisSet.h"
#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// Who decides how arrays lie over an axis (spec 01, 2.1): the compiler, the
/// types, or the program's own collectives.
enum class AxisType : uint8_t { Auto, Explicit, Manual };
StringRef str(AxisType type); // "Auto", "Explicit", "Manual"

struct MeshAxis {
  StringId name;
  int64_t size = 1; // At least 1.
  AxisType type = AxisType::Explicit;
  friend bool operator==(const MeshAxis &, const MeshAxis &) = default;
};

/// The device an abstract mesh was taken from. Printed in parameters; types are
/// compared without it (spec 04, 1.5).
struct AbstractDevice {
  std::string kind, numCores, platform; // As printed: "cpu", "None", "cpu".
  friend bool operator==(const AbstractDevice &,
                         const AbstractDevice &) = default;
};

/// A step from the mesh that a recorded program is checked on to the mesh of a
/// region in it (export E3).
struct MeshConversion {
  enum Which : uint8_t {
    WereExplicit, // The axes that are Explicit at that point.
    All,
    Named
  } which = WereExplicit;
  AxisType to = AxisType::Auto;
  SmallVector<StringId, 2> names; // Named.
  friend bool operator==(const MeshConversion &,
                         const MeshConversion &) = default;
};

/// A mesh: ordered axes and, for a concrete one, device ids in row-major order.
/// Types name abstract meshes without device or extra; the rest is for
/// parameters.
struct Mesh {
  SmallVector<MeshAxis, 4> axes; // At most MaxMeshAxes.
  std::optional<AbstractDevice> device;
  bool concrete = false;        // A `Mesh`, not an `AbstractMesh`.
  std::vector<int64_t> devices; // Ids, if concrete and known.
  StringId extra; // Fields of the file that we do not interpret, verbatim.
  /// Recorded: how it is made from whatever mesh the program is checked on;
  /// its axes are what that gives if all of those are Explicit.
  bool relative = false;
  SmallVector<MeshConversion, 1> conversions;

  bool empty() const { return axes.empty(); }
  unsigned rank() const { return axes.size(); }
  /// Position of an axis by name, or none.
  std::optional<unsigned> find(StringId name) const;
  /// The axes of one type, the axes of any.
  AxisSet axesOf(AxisType type) const;
  AxisSet allAxes() const { return AxisSet::firstN(axes.size()); }
  bool anyExplicit() const { return !axesOf(AxisType::Explicit).empty(); }
  bool allOf(AxisType type) const { return axesOf(type) == allAxes(); }
  /// Product of the sizes of axes; saturates at the largest int64.
  int64_t size(ArrayRef<uint8_t> axes) const;
  int64_t size(AxisSet axes) const;
  int64_t numDevices() const { return size(allAxes()); }
  friend bool operator==(const Mesh &, const Mesh &) = default;
};

} // namespace shardtype

#endif
