// ShardMapEval.cpp - regions of devices, as they are evaluated (spec 02, 7.9).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The region sees whole values: each device gets the block that the spec cuts
// out for it, and results are put together from the blocks. Of a value that is
// unreduced outside a device gets its own part, if these were kept apart
// (PartialSums.h); otherwise the first device of its axes enters with the sum
// and the others with zeros. What leaves unreduced is summed (of maxima and
// minima: combined).
#include "ShardMap.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Combine.h"
#include <cstring>
#include <map>

using namespace shardtype;

namespace {
/// A spec on the mesh of the region.
struct BlockSpec {
  BlockLayout layout;
  AxisSet split, unreduced;
  ReductionKind kind = ReductionKind::None;
};

/// The devices of a region.
class DeviceGrid {
public:
  DeviceGrid(const Mesh &mesh, AxisSet axes)
      : mesh_(mesh), axes_(axes), count_(mesh.size(axes)) {}
  int64_t count() const { return count_; }
  SmallVector<int64_t, 4> coordinates(int64_t device) const {
    return coordinatesOf(mesh_, axes_, device);
  }
  /// Is it at 0 along all of these?
  bool isFirst(int64_t device, AxisSet axes) const {
    return placeAlong(device, axes) == 0;
  }
  /// The one at the same place, but at 0 along these axes.
  int64_t first(int64_t device, AxisSet axes) const {
    SmallVector<int64_t, 4> at = coordinates(device);
    for (uint8_t axis : axes.list())
      at[axis] = 0;
    return shardtype::placeAlong(mesh_, axes_, at);
  }
  /// Where it is along these axes.
  int64_t placeAlong(int64_t device, AxisSet axes) const {
    return shardtype::placeAlong(mesh_, axes, coordinates(device));
  }
  std::string name(const Context &cx, int64_t device) const {
    return deviceName(cx, mesh_, axes_, coordinates(device));
  }
  const Mesh &mesh() const { return mesh_; }
  AxisSet axes() const { return axes_; }

private:
  const Mesh &mesh_;
  AxisSet axes_;
  int64_t count_;
};
} // namespace

static AxisSet axesOf(const Mesh &mesh, ArrayRef<StringId> names) {
  AxisSet axes;
  for (StringId name : names)
    if (std::optional<unsigned> at = mesh.find(name))
      axes.insert(*at);
  return axes;
}

static BlockSpec specOn(const DeviceGrid &grid, MeshId id,
                        const PartitionSpec &spec, unsigned rank) {
  const Mesh &mesh = grid.mesh();
  BlockSpec result;
  result.layout.mesh = id;
  result.layout.axes = grid.axes();
  result.layout.dims.resize(rank);
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    for (StringId name : entry.axes)
      if (std::optional<unsigned> at = mesh.find(name); at && dim < rank) {
        result.layout.dims[dim].push_back(static_cast<uint8_t>(*at));
        result.split.insert(*at);
      }
  result.unreduced = axesOf(mesh, spec.unreduced);
  result.kind = spec.kind;
  return result;
}

//===--- In ---------------------------------------------------------------===//

/// Gives every device its block of one operand. Equal blocks are one array.
static void cutUp(const Context &cx, const DeviceGrid &grid,
                  const BlockSpec &spec, Datum value,
                  std::vector<std::vector<Datum>> &inputs) {
  AxisSet varying = value.varying | spec.split | spec.unreduced;
  if (value.blocks && spec.unreduced.empty() &&
      value.blocks->layout.isSame(cx, spec.layout)) {
    for (auto [into, block] : llvm::zip_equal(inputs, value.blocks->blocks))
      into.emplace_back(block, varying);
    return;
  }
  value.assemble(cx);
  SmallVector<int64_t, 6> sizes(value.tensor.shape().begin(),
                                value.tensor.shape().end());
  for (auto [axes, size] : llvm::zip_equal(spec.layout.dims, sizes))
    size /= grid.mesh().size(axes);
  std::map<SmallVector<int64_t, 6>, Tensor> blocks;
  Tensor zeros;
  // The parts are over all axes along which the spec has some.
  const PartialSums *sums =
      value.sums && value.sums->known() && value.sums->axes == spec.unreduced
          ? value.sums.get()
          : nullptr;
  for (int64_t device = 0; device < grid.count(); ++device) {
    auto &into = inputs[static_cast<size_t>(device)];
    if (sums) {
      const Tensor &part = sums->parts[static_cast<size_t>(
          grid.placeAlong(device, spec.unreduced))];
      into.emplace_back(
          kernels::viewOf(
              part, spec.layout.startsOf(grid.mesh(), device, sizes), sizes),
          varying);
      continue;
    }
    if (spec.kind == ReductionKind::Sum &&
        !grid.isFirst(device, spec.unreduced)) {
      if (!zeros)
        zeros = Tensor::zeros(value.tensor.dtype(), sizes);
      into.emplace_back(zeros, varying);
      continue;
    }
    SmallVector<int64_t, 6> starts =
        spec.layout.startsOf(grid.mesh(), device, sizes);
    Tensor &block = blocks[starts];
    if (!block)
      block = kernels::viewOf(value.tensor, starts, sizes);
    into.emplace_back(block, varying);
  }
}

//===--- Out --------------------------------------------------------------===//

/// The parts of devices that differ along unreduced axes, combined.
static Tensor combined(EvalContext &cx, const DeviceGrid &grid,
                       const BlockSpec &spec, int64_t first,
                       const std::vector<std::vector<Datum>> &outputs,
                       unsigned result) {
  if (spec.unreduced.empty())
    return outputs[static_cast<size_t>(first)][result].tensor;
  std::vector<Tensor> parts;
  AxisSet others = grid.mesh().allAxes() - spec.unreduced;
  for (int64_t device = 0; device < grid.count(); ++device) {
    if (grid.placeAlong(device, others) == grid.placeAlong(first, others))
      parts.push_back(outputs[static_cast<size_t>(device)][result].tensor);
  }
  kernels::Combine how = spec.kind == ReductionKind::Max ? kernels::Combine::Max
                         : spec.kind == ReductionKind::Min
                             ? kernels::Combine::Min
                             : kernels::Combine::Sum;
  if (parts.size() == 1 || !kernels::canCombine(how, parts[0].dtype()))
    return parts[0];
  return kernels::combine(how, parts, cx.options().jaxNumbers);
}

/// Notes the first place where copies that the spec takes to be equal differ.
static void compareCopies(EvalContext &cx, const DeviceGrid &grid,
                          const BlockSpec &spec,
                          const std::vector<std::vector<Datum>> &outputs,
                          unsigned result) {
  AxisSet copies = grid.mesh().allAxes() - spec.split - spec.unreduced;
  for (int64_t device = 0; device < grid.count(); ++device) {
    const Datum &copy = outputs[static_cast<size_t>(device)][result];
    if (!copy.varying.intersects(copies) || grid.isFirst(device, copies))
      continue;
    int64_t first = grid.first(device, copies); // Whose copy is taken.
    const Tensor &a = outputs[static_cast<size_t>(first)][result].tensor,
                 &b = copy.tensor;
    if (a.sameMemory(b) || a.size() == 0 ||
        std::memcmp(a.data(), b.data(), a.bytes()) == 0)
      continue;
    uint64_t item = itemSize(a.dtype());
    int64_t at = 0;
    while (std::memcmp(a.data() + static_cast<uint64_t>(at) * item,
                       b.data() + static_cast<uint64_t>(at) * item, item) == 0)
      ++at;
    std::string index;
    for (int64_t stride : rowMajorStrides(a.shape())) {
      index += (index.empty() ? "" : ", ") + std::to_string(at / stride);
      at %= stride;
    }
    cx.host().note(cx, "result " + std::to_string(result) +
                           " is said to be equal on devices where it differs, "
                           "first at [" +
                           index + "] between " +
                           grid.name(cx.context(), first) + " and " +
                           grid.name(cx.context(), device) +
                           "; the value of the first is taken");
    return;
  }
}

/// The parts that devices leave with.
static PartialSumsRef sumsOf(EvalContext &cx, const DeviceGrid &grid,
                             const BlockSpec &spec,
                             const std::vector<std::vector<Datum>> &outputs,
                             unsigned result) {
  if (spec.unreduced.empty() || !cx.options().keepSums)
    return nullptr;
  AxisSet copies = grid.mesh().allAxes() - spec.split - spec.unreduced;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < grid.mesh().size(spec.unreduced); ++i)
    parts.push_back(
        Tensor::zeros(cx.resultDType(result), cx.resultShape(result)));
  for (int64_t device = 0; device < grid.count(); ++device) {
    if (!grid.isFirst(device, copies))
      continue;
    const Tensor &block = outputs[static_cast<size_t>(device)][result].tensor;
    kernels::putBlock(
        parts[static_cast<size_t>(grid.placeAlong(device, spec.unreduced))],
        spec.layout.startsOf(grid.mesh(), device, block.shape()), block);
  }
  return makeSums(spec.unreduced, std::move(parts));
}

static Datum putTogether(EvalContext &cx, const DeviceGrid &grid,
                         const BlockSpec &spec,
                         const std::vector<std::vector<Datum>> &outputs,
                         unsigned result) {
  AxisSet varying;
  for (const std::vector<Datum> &device : outputs)
    varying |= device[result].varying;
  varying = varying - grid.axes();
  AxisSet copies = grid.mesh().allAxes() - spec.split;
  if (spec.split.empty())
    return Datum(combined(cx, grid, spec, 0, outputs, result), varying);
  if (spec.unreduced.empty()) {
    auto blocks = std::make_shared<DeviceBlocks>();
    blocks->layout = spec.layout;
    for (int64_t device = 0; device < grid.count(); ++device)
      blocks->blocks.push_back(
          outputs[static_cast<size_t>(grid.first(device, copies))][result]
              .tensor);
    Datum held;
    held.blocks = std::move(blocks);
    held.varying = varying;
    return held;
  }
  Tensor whole = cx.makeResult(result);
  for (int64_t device = 0; device < grid.count(); ++device) {
    if (!grid.isFirst(device, copies))
      continue;
    Tensor block = combined(cx, grid, spec, device, outputs, result);
    kernels::putBlock(
        whole, spec.layout.startsOf(grid.mesh(), device, block.shape()), block);
  }
  return Datum(std::move(whole), varying);
}

//===--- The equation -----------------------------------------------------===//

Task shardtype::shardMapEval(EvalContext &cx) {
  const auto &p = cx.params<ShardMap>();
  // Sizes of its axes are in the shapes of the body: as recorded.
  MeshId meshId(static_cast<uint32_t>(p.mesh->integer));
  const Mesh &mesh = cx.context().meshOrEmpty(meshId);
  if (MeshId around = cx.host().deviceMesh(); around.valid()) {
    const Mesh &outer = cx.context().mesh(around);
    bool same = outer.rank() == mesh.rank();
    for (unsigned i = 0; same && i < mesh.rank(); ++i)
      same = outer.axes[i].name == mesh.axes[i].name &&
             outer.axes[i].size == mesh.axes[i].size;
    if (!same)
      co_return cx.fail("is on another mesh than the region around it");
  }
  AxisSet axes;
  for (ValueId id : p.axes->elements)
    if (std::optional<unsigned> at = mesh.find(cx.program().value(id).text))
      axes.insert(*at);
  DeviceGrid grid(mesh, axes);
  constexpr int64_t MostDevices = 1 << 16;
  if (grid.count() > MostDevices)
    co_return cx.fail("runs on " + llvm::Twine(grid.count()) +
                      " devices; at most " + llvm::Twine(MostDevices) +
                      " are simulated");
  std::vector<std::vector<Datum>> inputs(static_cast<size_t>(grid.count()));
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    Datum value = cx.takeHeld(i);
    if (value.cell)
      co_return cx.fail("has a Ref as operand, which devices cannot share");
    unsigned rank =
        value.blocks ? value.blocks->layout.dims.size() : value.tensor.rank();
    BlockSpec spec = specOn(grid, meshId, p.in.list[i], rank);
    if (value.sums && !value.sums->known())
      cx.host().note(cx, "operand " + std::to_string(i) +
                             " is unreduced, and partial sums of '" +
                             value.sums->lost +
                             "' are not kept apart; the first device enters "
                             "with the whole sum");
    cutUp(cx.context(), grid, spec, std::move(value), inputs);
  }
  std::vector<std::vector<Datum>> outputs =
      co_await cx.fork(p.jaxpr, meshId, axes, std::move(inputs));
  for (std::vector<Datum> &device : outputs)
    for (Datum &value : device)
      value.assemble(cx.context());
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    if (outputs[0][i].cell)
      co_return cx.fail("has a Ref as result, which devices cannot share");
    BlockSpec spec =
        specOn(grid, meshId, p.out.list[i], outputs[0][i].tensor.rank());
    if (!p.checkVma || cx.options().checkCopies)
      compareCopies(cx, grid, spec, outputs, i);
    Datum whole = putTogether(cx, grid, spec, outputs, i);
    whole.sums = sumsOf(cx, grid, spec, outputs, i);
    cx.setDatum(i, std::move(whole));
  }
  co_return success();
}
