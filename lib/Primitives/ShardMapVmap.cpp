// ShardMapVmap.cpp - regions of shard_map under vmap, as they were recorded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recording does not know which axes a mapped dim is sharded over. JAX keeps
// those away from the regions inside: they are not made Manual, and no spec may
// name them. vmap's own spmd_axis_name, which JAX writes into specs, cuts
// blocks in the recording, and does nothing where it is just those axes.
#include "ShardMap.h"

using namespace shardtype;
namespace json = llvm::json;

namespace {
/// One vmap around a region.
struct Vmap {
  SmallVector<int, 4> dims; // Of each operand; -1: it is not mapped.
  SmallVector<StringRef, 2> spmd;
};
} // namespace

static Vmap readVmap(const json::Object &object) {
  Vmap vmap;
  if (const json::Array *dims = object.getArray("in"))
    for (const json::Value &dim : *dims)
      vmap.dims.push_back(static_cast<int>(dim.getAsInteger().value_or(-1)));
  if (const json::Array *names = object.getArray("spmd"))
    for (const json::Value &name : *names)
      vmap.spmd.push_back(name.getAsString().value_or(""));
  return vmap;
}

/// The Explicit axes over which the mapped dim is sharded.
static AxisList mappedAxes(TypingContext &cx, const Region &region,
                           const Vmap &vmap) {
  AxisSet isExplicit =
      cx.context().mesh(region.outer).axesOf(AxisType::Explicit);
  for (auto [operand, dim] : llvm::enumerate(vmap.dims)) {
    if (operand >= cx.numOperands() || !cx.operand(operand).isArray() ||
        dim < 0 || dim >= static_cast<int>(cx.operand(operand).rank()) ||
        cx.operandTyped(operand).open)
      continue;
    AxisList axes = cx.sharding(operand).dims[dim];
    llvm::erase_if(axes,
                   [&](uint8_t axis) { return !isExplicit.contains(axis); });
    if (!axes.empty())
      return axes;
  }
  return {};
}

/// Is spmd_axis_name just these axes, in this order?
static bool isAlike(const Context &types, const Mesh &mesh,
                    ArrayRef<StringRef> names, ArrayRef<uint8_t> axes) {
  if (names.size() != axes.size())
    return false;
  for (auto [name, axis] : llvm::zip(names, axes))
    if (types.str(mesh.axes[axis].name) != name)
      return false;
  return true;
}

static std::string quoted(ArrayRef<StringRef> names) {
  std::string text;
  for (StringRef name : names)
    text += (text.empty() ? "'" : ", '") + name.str() + "'";
  return text;
}

/// shard_map/vmap.1 and .2
static LogicalResult leaveToVmap(TypingContext &cx, Region &region,
                                 const Vmap &vmap, bool allAxes) {
  Context &types = cx.context();
  const Mesh mesh = types.mesh(region.outer);
  for (auto [operand, dim] : llvm::enumerate(vmap.dims)) {
    if (operand >= region.addedDims.size())
      region.addedDims.resize(operand + 1);
    if (dim >= 0)
      region.addedDims[operand].push_back(dim);
  }
  AxisList axes = mappedAxes(cx, region, vmap);
  if (axes.empty())
    return success();
  std::string over = str(types, region.outer, ArrayRef<uint8_t>(axes));
  if (!vmap.spmd.empty() && !isAlike(types, mesh, vmap.spmd, axes))
    return cx.error(diag::VmapAxes, over,
                    "and its spmd_axis_name is " + quoted(vmap.spmd) +
                        "; only one of the two may say where the dim lies");
  if (!vmap.spmd.empty()) // shard_map/vmap.3
    return cx.error(diag::RegionUnchecked,
                    "it was recorded for blocks along the spmd_axis_name " +
                        quoted(vmap.spmd) +
                        " of vmap, over which the mapped dim is sharded "
                        "already, so that there are none");
  AxisSet mapped = AxisSet::of(axes);
  if (!allAxes && region.axes.intersects(mapped))
    return cx
        .error(diag::VmapAxes, over,
               "which the axis_names of 'shard_map' inside it name")
        .markParam("newly_manual_axes");
  region.mapped |= mapped & region.axes;
  region.axes = region.axes - mapped;
  return success();
}

/// shard_map/vmap.4
static LogicalResult checkMapped(TypingContext &cx, const Region &region,
                                 const json::Object &derived) {
  AxisSet isExplicit =
      cx.context().mesh(region.outer).axesOf(AxisType::Explicit);
  if (!derived.getBoolean("unmapped").value_or(false) ||
      !region.axes.intersects(isExplicit))
    return success();
  return cx.error(diag::RegionUnchecked,
                  "a vmap around it maps none of its operands, and a recording "
                  "does not know which axes that vmap takes away from it");
}

LogicalResult shardtype::leaveToVmaps(TypingContext &cx, Region &region,
                                      const json::Object &derived) {
  bool allAxes = derived.getBoolean("all_axes").value_or(false);
  if (const json::Array *list = derived.getArray("vmap"))
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject())
        if (failed(leaveToVmap(cx, region, readVmap(*object), allAxes)))
          return failure();
  if (failed(checkMapped(cx, region, derived)))
    return failure();
  if (region.mapped.empty())
    return success();
  Context &types = cx.context();
  region.allExplicit =
      types.mesh(region.outer).axesOf(AxisType::Explicit).contains(region.axes);
  region.inner =
      types.withAxisTypes(region.outer, region.axes, AxisType::Manual);
  return success();
}
