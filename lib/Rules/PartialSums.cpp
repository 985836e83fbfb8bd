// PartialSums.cpp - what each device holds of an unreduced value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/PartialSums.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Combine.h"

using namespace shardtype;

bool shardtype::isUnreduced(const Context &cx, TypeId id) {
  if (!id.valid())
    return false;
  const Type &type = cx.type(id);
  return type.isArray() && !type.sharding.unreduced.empty();
}

PartialSumsRef shardtype::makeSums(AxisSet axes, std::vector<Tensor> parts) {
  auto *sums = new PartialSums;
  sums->axes = axes;
  sums->parts = std::move(parts);
  return sums;
}

PartialSumsRef shardtype::lostSums(std::string primitive) {
  auto *sums = new PartialSums;
  sums->lost = std::move(primitive);
  return sums;
}

namespace {
/// Where a device's entries are along one dim.
struct DimParts {
  SmallVector<int64_t, 4> numbers; // Of the parts that it has, ascending.
  int64_t length = 0;              // Of each.
};
} // namespace

/// The parts of a dim whose places along `axes` have these coordinates; along
/// other axes that split it, all.
static DimParts partsOf(const Mesh &mesh, const AxisList &split, AxisSet axes,
                        ArrayRef<int64_t> coordinates, int64_t size) {
  DimParts parts;
  int64_t count = mesh.size(split);
  parts.length = size / count;
  if (!AxisSet::of(split).intersects(axes)) {
    parts.length = size;
    parts.numbers.push_back(0);
    return parts;
  }
  for (int64_t part = 0; part < count; ++part) {
    int64_t rest = part;
    bool matches = true;
    for (uint8_t axis : llvm::reverse(split)) {
      matches &= !axes.contains(axis) ||
                 rest % mesh.axes[axis].size == coordinates[axis];
      rest /= mesh.axes[axis].size;
    }
    if (matches)
      parts.numbers.push_back(part);
  }
  return parts;
}

/// Calls `body` with the start of each block in the value, and in the array
/// that these blocks make when they are put side by side.
static void forEachBlock(
    ArrayRef<DimParts> dims,
    llvm::function_ref<void(ArrayRef<int64_t>, ArrayRef<int64_t>)> body) {
  SmallVector<size_t, 4> index(dims.size(), 0);
  SmallVector<int64_t, 6> from(dims.size()), to(dims.size());
  if (llvm::any_of(dims, [](const DimParts &d) { return d.numbers.empty(); }))
    return;
  while (true) {
    for (auto [d, dim] : llvm::enumerate(dims)) {
      from[d] = dim.numbers[index[d]] * dim.length;
      to[d] = static_cast<int64_t>(index[d]) * dim.length;
    }
    body(from, to);
    size_t d = dims.size();
    for (; d > 0; --d) {
      if (++index[d - 1] < dims[d - 1].numbers.size())
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

static SmallVector<DimParts, 4> dimsOf(const Mesh &mesh,
                                       ArrayRef<AxisList> split, AxisSet axes,
                                       ArrayRef<int64_t> coordinates,
                                       ArrayRef<int64_t> shape) {
  SmallVector<DimParts, 4> dims;
  for (auto [list, size] : llvm::zip_equal(split, shape))
    dims.push_back(partsOf(mesh, list, axes, coordinates, size));
  return dims;
}

static SmallVector<int64_t, 6> lengthsOf(ArrayRef<DimParts> dims) {
  SmallVector<int64_t, 6> lengths;
  for (const DimParts &dim : dims)
    lengths.push_back(dim.length);
  return lengths;
}

Tensor shardtype::blockAlong(const Mesh &mesh, ArrayRef<AxisList> split,
                             AxisSet axes, ArrayRef<int64_t> coordinates,
                             const Tensor &value) {
  if (llvm::none_of(split, [&](const AxisList &list) {
        return AxisSet::of(list).intersects(axes);
      }))
    return value;
  auto dims = dimsOf(mesh, split, axes, coordinates, value.shape());
  SmallVector<int64_t, 6> shape, lengths = lengthsOf(dims);
  for (const DimParts &dim : dims)
    shape.push_back(static_cast<int64_t>(dim.numbers.size()) * dim.length);
  Tensor block = Tensor::uninitialised(value.dtype(), shape);
  forEachBlock(dims, [&](ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    kernels::moveBlock(block, to, value, from, lengths);
  });
  return block;
}

/// The axes among `added` whose blocks stay where they are: all that goes from
/// the dim's axes is a minor part of them, and becomes unreduced. Otherwise XLA
/// gathers the dim first.
static AxisSet stayingAxes(const Sharding &from, const Sharding &to,
                           AxisSet added) {
  AxisSet staying;
  if (from.mesh != to.mesh || from.dims.size() != to.dims.size())
    return staying; // It comes from no mesh.
  for (auto [before, after] : llvm::zip_equal(from.dims, to.dims)) {
    if (after.size() > before.size() ||
        !std::equal(after.begin(), after.end(), before.begin()))
      continue;
    AxisSet gone = AxisSet::of(ArrayRef(before).drop_front(after.size()));
    if (added.contains(gone))
      staying |= gone;
  }
  return staying;
}

/// The parts that differ along `axes` only, combined.
static Tensor combined(const Mesh &mesh, const PartialSums &before,
                       AxisSet axes, ReductionKind kind,
                       SmallVector<int64_t, 4> coordinates) {
  std::vector<Tensor> members;
  for (int64_t i = 0; i < mesh.size(axes); ++i) {
    auto at = coordinatesOf(mesh, axes, i);
    for (uint8_t axis : axes.list())
      coordinates[axis] = at[axis];
    members.push_back(partAt(before, mesh, coordinates));
  }
  return members.size() == 1 ? members[0]
                             : kernels::combine(kind == ReductionKind::Max
                                                    ? kernels::Combine::Max
                                                : kind == ReductionKind::Min
                                                    ? kernels::Combine::Min
                                                    : kernels::Combine::Sum,
                                                members);
}

PartialSumsRef shardtype::placedSums(const Context &cx, const Sharding &from,
                                     const Sharding &to, const Tensor &value,
                                     const PartialSumsRef &before) {
  const Mesh &mesh = cx.meshOrEmpty(to.mesh);
  AxisSet added = to.unreduced - from.unreduced,
          done = from.unreduced - to.unreduced;
  bool hasParts = !from.unreduced.empty();
  if (hasParts && (!before || !before->known() || from.mesh != to.mesh))
    return before && !before->known() ? before : lostSums("reshard");
  if (!added.empty() && to.kind != ReductionKind::Sum)
    return lostSums("reshard"); // JAX refuses it; zeros would be wrong.
  AxisSet staying = stayingAxes(from, to, added);
  Tensor zeros;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < mesh.size(to.unreduced); ++i) {
    auto at = coordinatesOf(mesh, to.unreduced, i);
    bool isFirst = llvm::all_of((added - staying).list(),
                                [&](uint8_t axis) { return at[axis] == 0; });
    Tensor part = hasParts && isFirst
                      ? combined(mesh, *before, done, from.kind, at)
                      : value;
    if (!isFirst || !staying.empty()) {
      if (!zeros)
        zeros = Tensor::zeros(value.dtype(), value.shape());
      Tensor own = isFirst ? Tensor::zeros(value.dtype(), value.shape())
                           : zeros; // One array for all of them.
      if (isFirst) {
        auto dims = dimsOf(mesh, from.dims, staying, at, value.shape());
        auto lengths = lengthsOf(dims);
        forEachBlock(dims, [&](ArrayRef<int64_t> start, ArrayRef<int64_t>) {
          kernels::moveBlock(own, start, part, start, lengths);
        });
      }
      part = own;
    }
    parts.push_back(std::move(part));
  }
  return makeSums(to.unreduced, std::move(parts));
}
