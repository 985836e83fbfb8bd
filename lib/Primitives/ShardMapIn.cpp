// ShardMapIn.cpp - how operands enter a region of shard_map.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Manual.h"
#include "ShardMap.h"

using namespace shardtype;

/// shard_map/spec.3
static LogicalResult checkDivides(TypingContext &cx, const Region &region,
                                  const RegionSpec &spec, unsigned operand) {
  const Mesh &mesh = cx.context().mesh(region.outer);
  for (auto [dim, axes] : llvm::enumerate(spec.dims)) {
    int64_t size = cx.shape(operand)[dim], parts = mesh.size(axes);
    if (axes.empty() || (!Dim::isSymbolic(size) && size % parts == 0))
      continue;
    int64_t below = size / parts * parts;
    std::string near = below > 0 ? std::to_string(below) + " or " : "";
    return cx
        .error(diag::RegionIndivisible, specName("in_specs", operand), dim,
               size, str(cx.context(), region.outer, ArrayRef<uint8_t>(axes)),
               parts, near + std::to_string(below + parts))
        .mark(operand, static_cast<int>(dim))
        .markParam("in_specs");
  }
  return success();
}

/// The entries over axes that become Manual, which must come first in their dim
/// (shard_map/in.2).
static FailureOr<SmallVector<AxisList, 4>>
manualEntries(TypingContext &cx, const Region &region, unsigned operand) {
  SmallVector<AxisList, 4> entries;
  for (auto [dim, entry] : llvm::enumerate(cx.sharding(operand).dims)) {
    AxisList &kept = entries.emplace_back();
    bool others = false;
    for (uint8_t axis : entry) {
      bool becomes = region.axes.contains(axis);
      if (becomes && others)
        return cx.error(diag::RegionInOrder, operand, dim, entry)
            .mark(operand, static_cast<int>(dim))
            .markParam("in_specs");
      if (becomes)
        kept.push_back(axis);
      others |= !becomes;
    }
  }
  return entries;
}

/// The sharding with which an operand enters as its spec says; axes that stay
/// keep their entries behind it.
static Sharding askedSharding(TypingContext &cx, const Region &region,
                              const RegionSpec &spec, unsigned operand) {
  Sharding to = cx.sharding(operand);
  if (!to.hasMesh())
    to.mesh = region.outer;
  for (auto [dim, entry] : llvm::enumerate(to.dims)) {
    AxisList own = spec.dims[dim];
    for (uint8_t axis : entry)
      if (!region.axes.contains(axis))
        own.push_back(axis);
    entry = std::move(own);
  }
  to.unreduced = (to.unreduced - region.axes) | spec.unreduced;
  to.reduced = (to.reduced - region.axes) | spec.reduced;
  if (!spec.unreduced.empty())
    to.kind = spec.kind;
  if (to.unreduced.empty())
    to.kind = ReductionKind::None;
  return to;
}

/// shard_map/in.1: where all axes are Explicit, an operand is sharded as its
/// spec says.
static LogicalResult checkMet(TypingContext &cx, const Region &region,
                              const RegionSpec &spec, unsigned operand) {
  FailureOr<SmallVector<AxisList, 4>> entries =
      manualEntries(cx, region, operand);
  if (failed(entries))
    return failure();
  const Sharding &own = cx.sharding(operand);
  bool met = true; // JAX looks at values without the dims of vmap.
  for (unsigned dim = 0; dim < spec.dims.size(); ++dim)
    met &= region.isAdded(operand, dim) || (*entries)[dim] == spec.dims[dim];
  if (met && (own.unreduced & region.axes) == spec.unreduced &&
      (own.reduced & region.axes) == spec.reduced &&
      (spec.unreduced.empty() || own.kind == spec.kind))
    return success();
  const PartitionSpec &asked = cx.params<ShardMap>().in.list[operand];
  if (region.inferred) // shard_map/infer.3
    return cx
        .error(diag::RegionUnchecked,
               "it was recorded for " + specName("in_specs", operand) + " " +
                   str(cx.context(), asked) + ", but the operand has " +
                   cx.arg(own))
        .mark(operand)
        .markParam("in_specs");
  ErrorBuilder error =
      cx.error(diag::RegionInMismatch, operand, str(cx.context(), asked), own);
  error.markParam("in_specs").mark(operand);
  Sharding to = askedSharding(cx, region, spec, operand);
  if (!checkDivisible(cx.context(), to, cx.shape(operand))) {
    error.fixOperand(operand, to);
    error.diagnostic().fixes.back().assumed = true;
  }
  return error;
}

/// shard_map/in.3: U and R over the region's axes are those of the spec.
static LogicalResult checkSets(TypingContext &cx, const Region &region,
                               const RegionSpec &spec, unsigned operand) {
  const Sharding &own = cx.sharding(operand);
  AxisSet unreduced = own.unreduced & region.axes;
  ReductionKind kind = unreduced.empty() ? ReductionKind::None : own.kind;
  if (spec.unreduced == unreduced && spec.kind == kind &&
      spec.reduced == (own.reduced & region.axes))
    return success();
  return cx
      .error(diag::RegionInSets, operand,
             str(cx.context(), cx.params<ShardMap>().in.list[operand]),
             cx.operandId(operand))
      .mark(operand)
      .markParam("in_specs");
}

/// shard_map/in.4: an operand as its block enters the body.
static Type blockType(TypingContext &cx, const Region &region,
                      const RegionSpec &spec, unsigned operand) {
  Type type = cx.operand(operand);
  const Mesh &mesh = cx.context().mesh(region.outer);
  AxisSet stays = cx.context().mesh(region.inner).axesOf(AxisType::Explicit);
  for (auto [dim, entry] : llvm::enumerate(type.sharding.dims)) {
    if (!Dim::isSymbolic(type.shape[dim]))
      type.shape[dim] /= mesh.size(spec.dims[dim]);
    llvm::erase_if(entry, [&](uint8_t axis) { return !stays.contains(axis); });
  }
  type.sharding.mesh = region.inner;
  type.sharding.unreduced = type.sharding.unreduced & stays;
  type.sharding.reduced = type.sharding.reduced & stays;
  if (type.sharding.unreduced.empty())
    type.sharding.kind = ReductionKind::None;
  if (region.vma == Vma::Off)
    return type;
  type.manual.varying |= spec.split;
  type.manual.unreduced |= spec.unreduced;
  type.manual.reduced |= spec.reduced;
  if (!spec.unreduced.empty())
    type.manual.kind = spec.kind;
  return type;
}

/// An operand's mesh is the region's, or it has none.
static LogicalResult checkOperandMesh(TypingContext &cx, const Region &region,
                                      unsigned operand) {
  MeshId own = cx.sharding(operand).mesh;
  if (!own.valid() || own == region.outer)
    return success();
  const Mesh &a = cx.context().mesh(own);
  const Mesh &b = cx.context().mesh(region.outer);
  if (a.allOf(AxisType::Auto) && b.allOf(AxisType::Auto))
    return success();
  return cx
      .error(diag::MeshContext, operand, shortMesh(cx.context(), a),
             shortMesh(cx.context(), b))
      .mark(operand);
}

/// shard_map/in.6: a trace has what a body captures as an operand whose binder
/// is still on the mesh outside, or on none.
static bool isCaptured(TypingContext &cx, unsigned operand) {
  Context &context = cx.context();
  const Jaxpr &jaxpr = cx.program().jaxpr(cx.params<ShardMap>().jaxpr);
  TypeId binder = cx.program().var(jaxpr.input(operand)).type;
  return !cx.program().fromText && binder.valid() && jaxpr.mesh.valid() &&
         context.type(binder).isArray() &&
         context.type(binder).sharding.mesh != context.forTypes(jaxpr.mesh) &&
         context.meshOrEmpty(cx.sharding(operand).mesh).anyExplicit();
}

TypeId shardtype::enterRegion(TypingContext &cx, const Region &region,
                              unsigned operand) {
  const auto &p = cx.params<ShardMap>();
  if (!cx.operand(operand).isArray())
    return cx.operandId(operand);
  if (failed(checkOperandMesh(cx, region, operand)))
    return TypeId();
  if (isCaptured(cx, operand)) {
    // Beside Explicit axes that stay, JAX leaves it as it is outside.
    if (cx.context().mesh(region.inner).anyExplicit())
      return cx.operandId(operand);
    cx.error(diag::CapturedValue, "operand " + std::to_string(operand))
        .mark(operand);
  }
  FailureOr<RegionSpec> spec =
      resolveSpec(cx, region, p.in.list[operand], cx.operand(operand).rank(),
                  "in_specs", operand);
  if (failed(spec) || failed(checkDivides(cx, region, *spec, operand)))
    return TypeId();
  bool open = cx.operandTyped(operand).open;
  bool isMet = true;
  if (!open && region.allExplicit)
    isMet = succeeded(checkMet(cx, region, *spec, operand));
  if (isMet && !open && failed(checkSets(cx, region, *spec, operand)))
    return TypeId();
  Type type = blockType(cx, region, *spec, operand);
  if (checkDivisible(cx.context(), type.sharding, type.shape))
    return TypeId(); // Only behind a mismatch, which is reported.
  return cx.context().intern(type);
}

/// shard_map/in.5: blocks are what the body was traced for.
LogicalResult shardtype::checkBlock(TypingContext &cx, const Region &region,
                                    TypeId block, unsigned operand) {
  const Jaxpr &jaxpr = cx.program().jaxpr(cx.params<ShardMap>().jaxpr);
  TypeId recorded = cx.program().var(jaxpr.input(operand)).type;
  if (!recorded.valid() || !cx.context().type(recorded).isArray())
    return success();
  const Type &was = cx.context().type(recorded), &is = cx.context().type(block);
  if (cx.options().retyped) {
    if (was.shape == is.shape)
      return success();
    return cx
        .error(diag::RegionShape, "operand " + std::to_string(operand) +
                                      " enters as " + cx.arg(block) +
                                      ", and it was " + cx.arg(recorded))
        .mark(operand);
  }
  TypeId compared = block;
  if (region.vma == Vma::Infer)
    compared = withManual(cx.context(), block, was.manual, MeshId());
  if (cx.program().fromText)
    recorded = withKindOf(cx.context(), recorded, block);
  if (typematch(cx.context(), compared, recorded))
    return success();
  return cx.error(diag::RegionBinder, operand, block, recorded).mark(operand);
}
