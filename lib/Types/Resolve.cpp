// Resolve.cpp - from specs by name to shardings on a mesh, with JAX's checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/Resolve.h"
#include "shardtype/Support/Bytes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

/// The checks that JAX makes when a spec is built, in its order (spec 01, 2.3).
static std::optional<SpecError> checkSpec(const PartitionSpec &spec) {
  for (StringId axis : spec.unreduced)
    if (llvm::is_contained(spec.reduced, axis))
      return SpecError{SpecError::Overlap, axis};
  if (spec.unreduced.empty() && spec.kind != ReductionKind::None)
    return SpecError{SpecError::KindWithoutU, StringId()};
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    for (StringId axis : entry.axes)
      if (llvm::is_contained(spec.unreduced, axis) ||
          llvm::is_contained(spec.reduced, axis))
        return SpecError{SpecError::Overlap, axis, static_cast<int>(dim)};
  return std::nullopt;
}

static std::optional<SpecError> checkDuplicates(const PartitionSpec &spec) {
  llvm::SmallDenseMap<StringId, int, 8> seen;
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    for (StringId axis : entry.axes) {
      auto [it, isNew] = seen.try_emplace(axis, static_cast<int>(dim));
      if (!isNew)
        return SpecError{SpecError::Duplicate, axis, it->second,
                         static_cast<int>(dim)};
    }
  return std::nullopt;
}

/// The checks that JAX makes when spec and mesh meet, in its order (spec 01,
/// 2.4).
static std::optional<SpecError> checkOnMesh(const PartitionSpec &spec,
                                            const Mesh &mesh) {
  if (auto error = checkDuplicates(spec))
    return error;
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    for (StringId axis : entry.axes)
      if (!mesh.find(axis))
        return SpecError{SpecError::UnknownAxis, axis, static_cast<int>(dim)};
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    if (entry.kind == SpecEntry::Unconstrained &&
        mesh.axesOf(AxisType::Auto).empty())
      return SpecError{SpecError::Unconstrained, StringId(),
                       static_cast<int>(dim)};
  for (ArrayRef<StringId> set :
       {ArrayRef<StringId>(spec.unreduced), ArrayRef<StringId>(spec.reduced)}) {
    for (StringId axis : set)
      if (!mesh.find(axis))
        return SpecError{SpecError::UnknownAxis, axis};
    for (StringId axis : set)
      if (mesh.axes[*mesh.find(axis)].type != AxisType::Explicit)
        return SpecError{SpecError::AxisType, axis};
  }
  return std::nullopt;
}

SpecResult<Sharding> shardtype::resolve(Context &cx, const PartitionSpec &spec,
                                        MeshId meshId, unsigned rank,
                                        bool dropOthers) {
  const Mesh &mesh = cx.meshOrEmpty(meshId);
  if (auto error = checkSpec(spec))
    return {std::nullopt, *error};
  if (auto error = checkOnMesh(spec, mesh))
    return {std::nullopt, *error};
  Sharding sharding;
  sharding.mesh = cx.forTypes(meshId);
  for (const SpecEntry &entry : spec.partitions) {
    AxisList dim;
    for (StringId name : entry.axes) {
      unsigned axis = *mesh.find(name);
      if (!dropOthers || mesh.axes[axis].type == AxisType::Explicit)
        dim.push_back(static_cast<uint8_t>(axis));
    }
    sharding.dims.push_back(std::move(dim));
  }
  for (StringId name : spec.unreduced)
    sharding.unreduced.insert(*mesh.find(name));
  for (StringId name : spec.reduced)
    sharding.reduced.insert(*mesh.find(name));
  if (!spec.unreduced.empty())
    sharding.kind =
        spec.kind == ReductionKind::None ? ReductionKind::Sum : spec.kind;
  // A longer spec is cut only where no axis is Explicit (spec 01, 2.6.4).
  for (size_t dim = rank; dim < sharding.dims.size(); ++dim)
    if (mesh.anyExplicit() || !sharding.dims[dim].empty())
      return {std::nullopt,
              {SpecError::Rank, StringId(), static_cast<int>(dim)}};
  sharding.dims.resize(rank);
  return {std::move(sharding), {}};
}

/// The number that a product of sizes begins or ends with: 4 of `4*n`.
static int64_t coefficient(StringRef product) {
  int64_t all = 1;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= product.size(); ++at) {
    char c = at < product.size() ? product[at] : '*';
    depth += c == '(';
    depth -= c == ')';
    if (c != '*' || depth > 0)
      continue;
    int64_t factor;
    if (!product.slice(begin, at).trim().getAsInteger(10, factor) &&
        llvm::MulOverflow(all, factor, all))
      return 1;
    begin = at + 1;
  }
  return all;
}

/// Is a symbolic size a multiple, whatever its names stand for? As in JAX, if
/// and only if each summand's number is one.
static bool symbolicDivides(StringRef size, int64_t parts) {
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= size.size(); ++at) {
    char c = at < size.size() ? size[at] : '+';
    depth += c == '(';
    depth -= c == ')';
    if ((c != '+' && c != '-') || depth > 0)
      continue;
    StringRef summand = size.slice(begin, at).trim();
    if (!summand.empty() && coefficient(summand) % parts != 0)
      return false;
    begin = at + 1;
  }
  return true;
}

std::optional<SpecError> shardtype::checkDivisible(const Context &cx,
                                                   const Sharding &sharding,
                                                   ArrayRef<int64_t> shape) {
  const Mesh &mesh = cx.meshOrEmpty(sharding.mesh);
  for (auto [dim, axes] : llvm::enumerate(sharding.dims)) {
    if (axes.empty() || shape[dim] == 0)
      continue;
    int64_t parts = mesh.size(axes);
    bool saturated = parts == std::numeric_limits<int64_t>::max();
    bool divides = Dim::isSymbolic(shape[dim])
                       ? symbolicDivides(cx.str(Dim::text(shape[dim])), parts)
                       : shape[dim] % parts == 0;
    if (saturated || !divides)
      return SpecError{SpecError::Indivisible, mesh.axes[axes[0]].name,
                       static_cast<int>(dim)};
  }
  return std::nullopt;
}

std::optional<SpecError> shardtype::checkManual(const Context &cx,
                                                const ManualAxisType &manual,
                                                MeshId meshId) {
  const Mesh &mesh = cx.meshOrEmpty(meshId);
  AxisSet all = manual.varying | manual.unreduced | manual.reduced;
  AxisSet varyingToo = manual.varying & (manual.unreduced | manual.reduced);
  AxisSet others = all - mesh.axesOf(AxisType::Manual);
  auto name = [&](AxisSet axes) {
    uint8_t first = axes.list().front();
    return first < mesh.rank() ? mesh.axes[first].name : StringId();
  };
  if (!varyingToo.empty())
    return SpecError{SpecError::Overlap, name(varyingToo)};
  if (!mesh.allAxes().contains(all))
    return SpecError{SpecError::UnknownAxis, StringId()};
  if (!others.empty())
    return SpecError{SpecError::AxisType, name(others)};
  if (manual.unreduced.empty() && manual.kind != ReductionKind::None)
    return SpecError{SpecError::KindWithoutU, StringId()};
  return std::nullopt;
}

static void appendNames(const Mesh &mesh, ArrayRef<uint8_t> axes,
                        SmallVectorImpl<StringId> &names) {
  for (uint8_t axis : axes)
    names.push_back(mesh.axes[axis].name);
}

PartitionSpec shardtype::toSpec(const Context &cx, const Sharding &sharding) {
  const Mesh &mesh = cx.meshOrEmpty(sharding.mesh);
  PartitionSpec spec;
  for (const AxisList &dim : sharding.dims) {
    spec.partitions.emplace_back();
    appendNames(mesh, dim, spec.partitions.back().axes);
  }
  appendNames(mesh, sharding.unreduced.list(), spec.unreduced);
  appendNames(mesh, sharding.reduced.list(), spec.reduced);
  spec.kind = sharding.kind;
  return spec;
}

Sharding shardtype::replicated(MeshId mesh, unsigned rank) {
  Sharding sharding;
  sharding.mesh = mesh;
  sharding.dims.resize(rank);
  return sharding;
}

Sharding shardtype::onMesh(const Context &cx, const Sharding &sharding,
                           MeshId meshId) {
  if (sharding.mesh == meshId)
    return sharding;
  const Mesh &from = cx.meshOrEmpty(sharding.mesh);
  const Mesh &to = cx.meshOrEmpty(meshId);
  auto map = [&](ArrayRef<uint8_t> axes) {
    AxisList kept;
    for (uint8_t axis : axes)
      if (std::optional<unsigned> at = to.find(from.axes[axis].name);
          at && to.axes[*at].type == AxisType::Explicit)
        kept.push_back(static_cast<uint8_t>(*at));
    return kept;
  };
  Sharding moved;
  moved.mesh = to.empty() ? MeshId() : meshId;
  for (const AxisList &dim : sharding.dims)
    moved.dims.push_back(map(dim));
  moved.unreduced = AxisSet::of(map(sharding.unreduced.list()));
  moved.reduced = AxisSet::of(map(sharding.reduced.list()));
  moved.kind = moved.unreduced.empty() ? ReductionKind::None : sharding.kind;
  return moved;
}

uint64_t shardtype::bytesPerDevice(const Context &cx, TypeId id) {
  const Type &type = cx.type(id);
  if (!type.isArray())
    return 0;
  const Mesh &mesh = cx.meshOrEmpty(type.sharding.mesh);
  if (llvm::is_contained(type.shape, 0))
    return 0; // Even where another dim is unknown or too large to count.
  uint64_t elements = 1;
  for (auto [size, axes] : llvm::zip_equal(type.shape, type.sharding.dims)) {
    uint64_t local =
        Dim::isSymbolic(size)
            ? UnknownBytes
            : llvm::divideCeil(static_cast<uint64_t>(size), mesh.size(axes));
    elements = multiplyAmounts(elements, local);
  }
  uint64_t bits = info(type.dtype).bits;
  if (bits == 0 || !isCounted(elements))
    return bits == 0 ? 0 : elements;
  return amountOf((static_cast<unsigned __int128>(elements) * bits + 7) / 8);
}

/// Equal sets of axes, by name: the meshes may differ.
static bool sameAxes(const Mesh &a, AxisSet as, const Mesh &b, AxisSet bs) {
  if (as.size() != bs.size())
    return false;
  return llvm::all_of(as.list(), [&](uint8_t axis) {
    std::optional<unsigned> at = b.find(a.axes[axis].name);
    return at && bs.contains(*at);
  });
}

static bool sameManual(const Context &cx, const Type &a, const Type &b) {
  if (a.sharding.mesh == b.sharding.mesh)
    return a.manual == b.manual;
  const Mesh &am = cx.meshOrEmpty(a.sharding.mesh);
  const Mesh &bm = cx.meshOrEmpty(b.sharding.mesh);
  return a.manual.kind == b.manual.kind &&
         sameAxes(am, a.manual.varying, bm, b.manual.varying) &&
         sameAxes(am, a.manual.unreduced, bm, b.manual.unreduced) &&
         sameAxes(am, a.manual.reduced, bm, b.manual.reduced);
}

static bool arraysMatch(const Context &cx, const Type &a, const Type &b) {
  const Sharding &as = a.sharding, &bs = b.sharding;
  bool compare =
      as.hasMesh() && bs.hasMesh() &&
      (cx.mesh(as.mesh).anyExplicit() || cx.mesh(bs.mesh).anyExplicit());
  return a.dtype == b.dtype && a.shape == b.shape && a.memory == b.memory &&
         (!compare || as == bs) && sameManual(cx, a, b);
}

bool shardtype::typematch(const Context &cx, TypeId aId, TypeId bId) {
  while (aId != bId) {
    const Type &a = cx.type(aId), &b = cx.type(bId);
    if (a.kind != b.kind)
      return false;
    if (a.isArray())
      return arraysMatch(cx, a, b);
    // A Ref without a memory space goes with any.
    if (a.kind != Type::Ref ||
        (a.text.valid() && b.text.valid() && a.text != b.text))
      return false;
    aId = a.inner;
    bId = b.inner;
  }
  return true;
}
