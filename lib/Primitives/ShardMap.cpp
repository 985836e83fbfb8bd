// ShardMap.cpp - regions in which each device runs its own program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand enters the body as the block that its spec cuts out; the axes of
// the spec become V of the block, axes that stay Explicit keep their entries. A
// result is put together from the blocks of the devices, over the axes that its
// spec names; over all others the types must prove that blocks are equal.
// ShardMapIn.cpp and ShardMapOut.cpp have the two.
#include "ShardMap.h"
#include "shardtype/Rules/SpecDiagnostics.h"

namespace shardtype {
static bool readParam(const Program &program, const Value &value, Specs &out) {
  if (value.kind != Value::Tuple && value.kind != Value::List)
    return false;
  for (ValueId element : value.elements)
    if (!readParam(program, program.value(element), out.list.emplace_back()))
      return false;
  return true;
}
} // namespace shardtype

using namespace shardtype;
namespace json = llvm::json;

std::string shardtype::specName(StringRef list, unsigned i) {
  return list.str() + "[" + std::to_string(i) + "]";
}

//===--- The region -------------------------------------------------------===//

/// shard_map/mesh.1: the mesh is that of the context, if there is one.
static FailureOr<Region> regionOf(TypingContext &cx) {
  const auto &p = cx.params<ShardMap>();
  if (p.mesh->kind != Value::Mesh)
    return cx.error(diag::ParamInvalid, "mesh", "is no mesh").markParam("mesh");
  Context &types = cx.context();
  Region region;
  region.outer = types.forTypes(
      cx.host().rewriteMesh(MeshId(static_cast<uint32_t>(p.mesh->integer))));
  const Mesh outer = types.meshOrEmpty(region.outer);
  if (outer.empty())
    return cx.error(diag::ParamInvalid, "mesh", "has no axes")
        .markParam("mesh");
  const Mesh &context = types.meshOrEmpty(cx.mesh());
  if (!context.empty() && types.forTypes(cx.mesh()) != region.outer)
    return cx
        .error(diag::RegionMesh, shortMesh(types, outer),
               shortMesh(types, context))
        .markParam("mesh");
  region.wasManual = outer.axesOf(AxisType::Manual);
  bool isSet = p.axes->kind == Value::Set || p.axes->kind == Value::Tuple ||
               p.axes->kind == Value::List;
  if (!isSet)
    return cx
        .error(diag::ParamInvalid, "newly_manual_axes",
               "is no set of axis names")
        .markParam("newly_manual_axes");
  for (ValueId id : ArrayRef<ValueId>(p.axes->elements)) {
    const Value &name = cx.program().value(id);
    std::optional<unsigned> at =
        name.text.valid() ? outer.find(name.text) : std::nullopt;
    if (!at || region.wasManual.contains(*at)) // shard_map/mesh.2
      return cx
          .error(diag::RegionAxis, "newly_manual_axes",
                 name.text.valid() ? types.str(name.text) : "?",
                 at ? "it is Manual already"
                    : "the mesh is " + shortMesh(types, outer))
          .markParam("newly_manual_axes");
    region.axes.insert(*at);
  }
  region.allExplicit = outer.axesOf(AxisType::Explicit).contains(region.axes);
  region.inner =
      types.withAxisTypes(region.outer, region.axes, AxisType::Manual);
  return region;
}

/// shard_map/retype.1: sizes of Manual axes are in shapes, permutations and
/// divisors of the body, where none of them can be found again.
static LogicalResult checkSizes(TypingContext &cx, const Region &region) {
  if (!cx.options().retyped)
    return success();
  const Mesh &was = cx.context().meshOrEmpty(
      MeshId(static_cast<uint32_t>(cx.params<ShardMap>().mesh->integer)));
  const Mesh &is = cx.context().mesh(region.inner);
  for (const MeshAxis &axis : is.axes) {
    std::optional<unsigned> at = was.find(axis.name);
    if (axis.type != AxisType::Manual || !at || was.axes[*at].size == axis.size)
      continue;
    return cx
        .error(diag::RegionShape,
               "'" + cx.context().str(axis.name).str() + "' had " +
                   std::to_string(was.axes[*at].size) +
                   " devices, and here it has " + std::to_string(axis.size))
        .markParam("mesh");
  }
  return success();
}

//===--- Specs ------------------------------------------------------------===//

static ErrorBuilder reportAxis(TypingContext &cx, const Region &region,
                               const std::string &where, StringId name,
                               StringRef key) {
  return cx
      .error(diag::RegionAxis, where, cx.context().str(name),
             "these are " + str(cx.context(), region.outer, region.axes))
      .markParam(key);
}

FailureOr<RegionSpec> shardtype::resolveSpec(TypingContext &cx,
                                             const Region &region,
                                             const PartitionSpec &spec,
                                             std::optional<unsigned> rank,
                                             StringRef key, unsigned index) {
  const Mesh mesh = cx.context().mesh(region.outer);
  std::string where = specName(key, index);
  RegionSpec result;
  for (auto [dim, entry] : llvm::enumerate(spec.partitions)) {
    AxisList axes;
    for (StringId name : entry.axes) {
      std::optional<unsigned> at = mesh.find(name);
      if (!at || !region.axes.contains(*at))
        return reportAxis(cx, region, where, name, key);
      if (result.split.contains(*at))
        return reportSpecError(cx,
                               {SpecError::Duplicate, name,
                                static_cast<int>(dim), static_cast<int>(dim)},
                               spec, region.outer, rank.value_or(0))
            .markParam(key);
      result.split.insert(*at);
      axes.push_back(static_cast<uint8_t>(*at));
    }
    result.dims.push_back(std::move(axes));
  }
  AxisSet manual = region.axes | region.wasManual;
  for (auto [names, set] :
       {std::pair(ArrayRef<StringId>(spec.unreduced), &result.unreduced),
        std::pair(ArrayRef<StringId>(spec.reduced), &result.reduced)})
    for (StringId name : names) {
      std::optional<unsigned> at = mesh.find(name);
      if (!at || !manual.contains(*at))
        return reportAxis(cx, region, where, name, key);
      set->insert(*at);
    }
  AxisSet twice = (result.split & (result.unreduced | result.reduced)) |
                  (result.unreduced & result.reduced);
  if (!twice.empty())
    return cx
        .error(diag::SpecOverlap, str(cx.context(), region.outer, twice),
               str(cx.context(), spec))
        .markParam(key);
  if (!result.unreduced.empty())
    result.kind =
        spec.kind == ReductionKind::None ? ReductionKind::Sum : spec.kind;
  if (!rank)
    return result;
  if (result.dims.size() > *rank)
    return cx.error(diag::RegionRank, where, str(cx.context(), spec), *rank)
        .markParam(key);
  result.dims.resize(*rank);
  return result;
}

//===--- Recordings -------------------------------------------------------===//

/// The equation's `derived` object; none: it has no such, or no readable one.
static std::optional<json::Object> derivedObject(TypingContext &cx) {
  if (cx.derived().empty())
    return std::nullopt;
  llvm::Expected<json::Value> value = json::parse(cx.derived());
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  return object ? std::optional(*object) : std::nullopt;
}

/// shard_map/infer.2: JAX takes in_specs from types where all axes of the
/// region are Explicit.
static LogicalResult checkInferable(TypingContext &cx, const Region &region) {
  const Mesh &outer = cx.context().mesh(region.outer);
  std::string others;
  for (uint8_t axis : region.axes.list())
    if (outer.axes[axis].type != AxisType::Explicit)
      others += (others.empty() ? "'" : ", '") +
                cx.context().str(outer.axes[axis].name).str() + "' is " +
                str(outer.axes[axis].type).str();
  if (others.empty())
    return success();
  return cx.error(diag::RegionInferKind, others).markParam("in_specs");
}

/// What a recording says of in_specs that are not written (export E17).
static LogicalResult readInferred(TypingContext &cx, Region &region,
                                  const json::Object &infer) {
  if (failed(checkInferable(cx, region)))
    return failure();
  region.inferred = infer.getBoolean("given").value_or(false);
  if (region.inferred)
    return success();
  return cx // shard_map/infer.1
      .error(diag::RegionUnchecked,
             "its in_specs are those of its operands' types, which were not "
             "known when it was recorded")
      .markParam("in_specs");
}

//===--- The row ----------------------------------------------------------===//

static LogicalResult shardMapTypes(TypingContext &cx) {
  const auto &p = cx.params<ShardMap>();
  std::optional<json::Object> derived = derivedObject(cx);
  if (p.in.list.size() != cx.numOperands() ||
      p.out.list.size() != cx.numResults())
    return cx
        .error(diag::ParamInvalid,
               p.in.list.size() != cx.numOperands() ? "in_specs" : "out_specs",
               "there is not one spec for each value")
        .markParam("in_specs");
  if (failed(checkBodyCounts(cx, p.jaxpr, cx.numOperands(),
                             static_cast<int>(cx.numResults()))))
    return failure();
  FailureOr<Region> region = regionOf(cx);
  if (failed(region))
    return failure();
  if (derived && failed(leaveToVmaps(cx, *region, *derived)))
    return failure();
  if (derived)
    if (const json::Object *infer = derived->getObject("infer"))
      if (failed(readInferred(cx, *region, *infer)))
        return failure();
  if (failed(checkSizes(cx, *region)))
    return failure();
  region->unchecked = // shard_map/vma.2
      derived && derived->getString("vma") == StringRef("off");
  region->vma = p.checkVma ? Vma::On : Vma::Off; // shard_map/vma.1
  if (cx.options().vma == Vma::Infer || region->unchecked ||
      (!p.checkVma && cx.options().assumeVma))
    region->vma = Vma::Infer;
  std::vector<Typed> args;
  bool reported = false, complete = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    size_t before = cx.diagnostics().size();
    TypeId block = enterRegion(cx, *region, i);
    complete &= block.valid() && succeeded(checkBlock(cx, *region, block, i));
    reported |= cx.diagnostics().size() != before;
    args.push_back({block, false});
  }
  bool stale = region->inferred &&
               llvm::any_of(cx.diagnostics(), [](const Diagnostic &d) {
                 return d.code == diag::RegionUnchecked;
               });
  if (stale || (!complete && cx.options().retyped))
    return failure();
  if (!complete) // What the body says of itself still counts.
    for (unsigned i = 0; i < args.size(); ++i)
      args[i].type = cx.host().binder(p.jaxpr, i);
  for (const Typed &arg : args)
    if (!arg.type.valid())
      return failure();
  bool named = true; // JAX looks at names before it traces the body.
  for (unsigned i = 0; i < cx.numResults(); ++i)
    named &= succeeded(
        resolveSpec(cx, *region, p.out.list[i], std::nullopt, "out_specs", i));
  BodyInputs inputs;
  inputs.stays = region->mapped;
  TypingHost::Body body =
      cx.host().typeBody(p.jaxpr, args, region->inner, inputs, region->vma);
  if (!named)
    return failure();
  for (unsigned i = 0; i < cx.numResults(); ++i)
    reported |= failed(leaveRegion(cx, *region, body, i));
  return failure(reported);
}

static constexpr Primitive Rows[] = {
    {.info = {"shard_map", schemaOf<ShardMap>},
     .decode = decodeFor<ShardMap, 0, AnyNumber>,
     .dims = NoRule{NoRule::NotApplicable, "its body has them"},
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{shardMapTypes},
     .eval = shardMapEval}};

ArrayRef<Primitive> shardtype::shardMaps() { return Rows; }
