// ShardMap.cpp - regions in which each device runs its own program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand enters the body as the block that its spec cuts out; the axes of
// the spec become V of the block, axes that stay Explicit keep their entries. A
// result is put together from the blocks of the devices, over the axes that its
// spec names; over all others the types must prove that blocks are equal.
#include "Bodies.h"
#include "Families.h"
#include "Manual.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

namespace shardtype {
/// The specs of all operands, or of all results.
struct Specs {
  SmallVector<PartitionSpec, 4> list;
};
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

namespace {
struct ShardMap {
  bool checkVma = true;
  Specs in, out;
  JaxprId jaxpr;
  const Value *mesh = nullptr, *axes = nullptr;
  static constexpr auto fields = std::tuple(
      field("check_vma", &ShardMap::checkVma), field("in_specs", &ShardMap::in),
      field("jaxpr", &ShardMap::jaxpr, Hide::Never, ParamField::Jaxpr),
      valueField("mesh", &ShardMap::mesh, form::mesh),
      valueField("newly_manual_axes", &ShardMap::axes, form::axes),
      field("out_specs", &ShardMap::out));
};

/// The meshes around and in a region.
struct Region {
  MeshId outer, inner;
  AxisSet axes;             // That become Manual.
  AxisSet wasManual;        // Outside already.
  bool allExplicit = false; // They were Explicit: specs must be met.
};

/// A spec of the region on its mesh.
struct RegionSpec {
  SmallVector<AxisList, 4> dims; // As many as the value has.
  AxisSet split, unreduced, reduced;
  ReductionKind kind = ReductionKind::None;
  AxisSet named() const { return split | unreduced | reduced; }
};
} // namespace

static std::string specName(StringRef list, unsigned i) {
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
  for (ValueId id :
       isSet ? ArrayRef<ValueId>(p.axes->elements) : ArrayRef<ValueId>()) {
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

//===--- Specs ------------------------------------------------------------===//

static ErrorBuilder reportAxis(TypingContext &cx, const Region &region,
                               const std::string &where, StringId name,
                               StringRef key) {
  return cx
      .error(diag::RegionAxis, where, cx.context().str(name),
             "these are " + str(cx.context(), region.outer, region.axes))
      .markParam(key);
}

/// shard_map/spec.1 and .2: a spec names axes of the region, and fits a value
/// of that rank, if it is known.
static FailureOr<RegionSpec>
resolveSpec(TypingContext &cx, const Region &region, const PartitionSpec &spec,
            std::optional<unsigned> rank, StringRef key, unsigned index) {
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

//===--- In ---------------------------------------------------------------===//

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
  if (*entries == spec.dims &&
      (own.unreduced & region.axes) == spec.unreduced &&
      (own.reduced & region.axes) == spec.reduced &&
      (spec.unreduced.empty() || own.kind == spec.kind))
    return success();
  const PartitionSpec &asked = cx.params<ShardMap>().in.list[operand];
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
                      const RegionSpec &spec, unsigned operand, Vma vma) {
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
  if (vma == Vma::Off)
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

/// One argument of the body; invalid if there can be none.
static TypeId enter(TypingContext &cx, const Region &region, unsigned operand,
                    Vma vma) {
  const auto &p = cx.params<ShardMap>();
  if (!cx.operand(operand).isArray())
    return cx.operandId(operand);
  if (failed(checkOperandMesh(cx, region, operand)))
    return TypeId();
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
  Type type = blockType(cx, region, *spec, operand, vma);
  if (checkDivisible(cx.context(), type.sharding, type.shape))
    return TypeId(); // Only behind a mismatch, which is reported.
  return cx.context().intern(type);
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

/// shard_map/in.5: blocks are what the body was traced for.
static LogicalResult checkBlock(TypingContext &cx, TypeId block,
                                unsigned operand, Vma vma) {
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
  if (vma == Vma::Infer)
    compared = withManual(cx.context(), block, was.manual, MeshId());
  if (cx.program().fromText)
    recorded = withKindOf(cx.context(), recorded, block);
  if (typematch(cx.context(), compared, recorded))
    return success();
  return cx.error(diag::RegionBinder, operand, block, recorded).mark(operand);
}

//===--- Recordings
//---------------------------------------------------------===//

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

/// Was the body recorded without JAX's check of varying axes, because it does
/// not pass that (export E18)?
static bool isUnchecked(TypingContext &cx) {
  std::optional<json::Object> derived = derivedObject(cx);
  return derived && derived->getString("vma") == StringRef("off");
}

//===--- Out --------------------------------------------------------------===//

/// The equation of a jaxpr that makes a value, and which of its results it is.
static const Eqn *maker(const Program &program, const Jaxpr &jaxpr, Atom atom) {
  if (atom.isLiteral())
    return nullptr;
  for (uint32_t i = jaxpr.numEqns; i-- > 0;) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    if (atom.var().raw() - eqn.firstResult.raw() < eqn.numResults)
      return &eqn;
  }
  return nullptr;
}

/// What can be written for a result that differs between devices although its
/// spec says that it does not.
static void offerWaysOut(TypingContext &cx, const Region &region,
                         const TypingHost::Body &body, unsigned result,
                         AxisSet differs, ErrorBuilder &error) {
  const Type &type = cx.context().type(body.results[result].type);
  std::string axes = axisNamesCode(cx.context(), region.outer, differs);
  const Eqn *eqn = maker(cx.program(), cx.program().jaxpr(body.jaxpr),
                         cx.program().jaxpr(body.jaxpr).outs[result]);
  Fix fix;
  if (eqn && cx.program().name(*eqn) == "all_gather") {
    fix.code = "jax.lax.all_gather(..., to='invarying')";
    error.fix(fix);
    return;
  }
  const PartitionSpec &spec = cx.params<ShardMap>().out.list[result];
  if (type.manual.unreduced.intersects(differs)) {
    fix.code = "jax.lax.psum(..., " + axes + ")";
    fix.communication.push_back(commStep(
        cx.context(), region.outer, CommStep::AllReduce, differs.list(),
        bytesPerDevice(cx.context(), body.results[result].type),
        cx.context().mesh(region.outer).size(differs)));
    error.fix(fix);
    return;
  }
  if (type.rank() != 0) {
    PartitionSpec named = spec;
    named.partitions.resize(std::max<size_t>(named.partitions.size(), 1));
    for (uint8_t axis : differs.list())
      named.partitions[0].axes.push_back(
          cx.context().mesh(region.outer).axes[axis].name);
    fix.code = specName("out_specs", result) + " = " +
               str(cx.context(), named) + " puts the blocks side by side";
    error.fix(fix);
  }
  fix.code = "jax.lax.psum(..., " + axes + ") adds them up";
  fix.communication = {
      commStep(cx.context(), region.outer, CommStep::AllReduce, differs.list(),
               bytesPerDevice(cx.context(), body.results[result].type),
               cx.context().mesh(region.outer).size(differs))};
  error.fix(fix);
}

/// shard_map/out.1: over axes that a spec does not name, blocks are equal.
static LogicalResult checkEqual(TypingContext &cx, const Region &region,
                                const TypingHost::Body &body, unsigned result,
                                const RegionSpec &spec, Vma vma) {
  const Type type = cx.context().type(body.results[result].type);
  const Mesh &mesh = cx.context().mesh(region.outer);
  AxisSet state =
      type.manual.varying | type.manual.unreduced | type.manual.reduced;
  AxisSet differs = state & (mesh.allAxes() - spec.named() - region.wasManual);
  if (differs.empty() || vma == Vma::Off)
    return success();
  std::string asked = str(cx.context(), cx.params<ShardMap>().out.list[result]);
  std::string axes = str(cx.context(), region.outer, differs);
  bool isError = vma == Vma::On || isUnchecked(cx);
  ErrorBuilder error =
      isError ? cx.error(diag::OutputVaries, result, asked, axes,
                         body.results[result].type)
              : cx.error(diag::OutputMayDiffer, result, asked, axes);
  error.markParam("out_specs"); // shard_map/out.4 for Infer
  Type equal = type;
  equal.manual.varying = equal.manual.varying - differs;
  equal.manual.unreduced = equal.manual.unreduced - differs;
  equal.manual.reduced = equal.manual.reduced - differs;
  if (equal.manual.unreduced.empty())
    equal.manual.kind = ReductionKind::None;
  if (auto note = cx.host().origin(body, result, cx.context().intern(equal)))
    error.note(note->message, note->stack);
  offerWaysOut(cx, region, body, result, differs, error);
  return failure(isError);
}

/// shard_map/out.2
static LogicalResult checkOutSets(TypingContext &cx, const RegionSpec &spec,
                                  TypeId id, unsigned result) {
  const Type &type = cx.context().type(id);
  const ManualAxisType &own = type.manual;
  bool kinds = spec.kind == own.kind && (spec.kind == ReductionKind::None ||
                                         type.sharding.unreduced.empty() ||
                                         spec.kind == type.sharding.kind);
  if (spec.unreduced == own.unreduced && spec.reduced == own.reduced && kinds)
    return success();
  return cx
      .error(diag::RegionOutSets, result,
             str(cx.context(), cx.params<ShardMap>().out.list[result]), id)
      .markParam("out_specs");
}

/// shard_map/out.3: the value that the blocks make.
static FailureOr<TypeId> wholeType(TypingContext &cx, const Region &region,
                                   const RegionSpec &spec, TypeId id,
                                   unsigned result) {
  Type type = cx.context().type(id);
  MeshId around =
      cx.mesh().valid() ? cx.context().forTypes(cx.mesh()) : region.outer;
  const Mesh mesh = cx.context().mesh(around);
  AxisSet isExplicit = mesh.axesOf(AxisType::Explicit);
  Sharding sharding = replicated(around, type.rank());
  for (auto [dim, names] : llvm::enumerate(spec.dims)) {
    for (uint8_t axis : names)
      if (isExplicit.contains(axis))
        sharding.dims[dim].push_back(axis);
    llvm::append_range(sharding.dims[dim], type.sharding.dims[dim]);
    if (names.empty() || Dim::isSymbolic(type.shape[dim]))
      continue;
    if (llvm::MulOverflow(type.shape[dim], mesh.size(names), type.shape[dim]))
      return cx
          .error(diag::ShapeMismatch, "a result of 'shard_map' is too large")
          .markParam("out_specs");
  }
  AxisSet hidden = (spec.unreduced | spec.reduced) - isExplicit;
  if (!hidden.empty()) // shard_map/out.5
    return reportSpecError(
               cx, {SpecError::AxisType, mesh.axes[hidden.list().front()].name},
               cx.params<ShardMap>().out.list[result], around, type.rank())
        .markParam("out_specs");
  sharding.unreduced = (spec.unreduced & isExplicit) | type.sharding.unreduced;
  sharding.reduced = (spec.reduced & isExplicit) | type.sharding.reduced;
  if (!sharding.unreduced.empty())
    sharding.kind =
        spec.kind != ReductionKind::None ? spec.kind : type.sharding.kind;
  type.sharding = std::move(sharding);
  type.manual.varying = type.manual.varying & region.wasManual;
  type.manual.unreduced = type.manual.unreduced & region.wasManual;
  type.manual.reduced = type.manual.reduced & region.wasManual;
  if (type.manual.unreduced.empty())
    type.manual.kind = ReductionKind::None;
  return cx.context().intern(type);
}

/// Sets one result; failure: reported.
static LogicalResult leave(TypingContext &cx, const Region &region,
                           const TypingHost::Body &body, unsigned result,
                           Vma vma) {
  TypeId id = body.results[result].type;
  if (!id.valid())
    return success(); // Poison, behind another error.
  const Type type = cx.context().type(id);
  if (!type.isArray()) {
    cx.setResult(result, id);
    return success();
  }
  FailureOr<RegionSpec> spec =
      resolveSpec(cx, region, cx.params<ShardMap>().out.list[result],
                  type.rank(), "out_specs", result);
  if (failed(spec))
    return failure();
  bool reported = failed(checkEqual(cx, region, body, result, *spec, vma));
  if (!reported && vma == Vma::On)
    reported = failed(checkOutSets(cx, *spec, id, result));
  FailureOr<TypeId> whole = wholeType(cx, region, *spec, id, result);
  if (failed(whole))
    return failure();
  // Where no axis is left to choose from, nothing is undecided.
  bool choice =
      !cx.context().mesh(region.inner).axesOf(AxisType::Explicit).empty();
  cx.setResult(result, *whole, choice && body.results[result].open);
  return failure(reported);
}

/// Results of a shard_map that was recorded without in_specs: whole shapes, and
/// the axes of out_specs (shard_map/infer.1). Its body is not looked at.
static LogicalResult inferredTypes(TypingContext &cx,
                                   const json::Object &infer) {
  const json::Array *specs = infer.getArray("out_specs");
  if (!specs || specs->size() != cx.numResults())
    return cx.unknownPrimitive(cx.name());
  Context &types = cx.context();
  MeshId around = types.forTypes(cx.mesh());
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    TypeId recorded = cx.recordedResult(i);
    const json::Object *tagged = (*specs)[i].getAsObject();
    const json::Object *spec = tagged ? tagged->getObject("spec") : nullptr;
    const json::Array *entries = spec ? spec->getArray("p") : nullptr;
    if (!recorded.valid() || !types.type(recorded).isArray() || !entries)
      return cx.unknownPrimitive(cx.name());
    Type type = types.type(recorded);
    PartitionSpec asked;
    for (const json::Value &entry : *entries) {
      SpecEntry &dim = asked.partitions.emplace_back();
      if (const json::Array *names = entry.getAsArray())
        for (const json::Value &name : *names)
          dim.axes.push_back(types.intern(name.getAsString().value_or("")));
    }
    SpecResult<Sharding> sharding = resolve(types, asked, around, type.rank());
    if (!sharding)
      return reportSpecError(cx, sharding.error, asked, around, type.rank())
          .markParam("out_specs");
    if (auto bad = checkDivisible(types, *sharding, type.shape))
      return reportSpecError(cx, *bad, *sharding, type.shape)
          .markParam("out_specs");
    type.sharding = std::move(*sharding);
    cx.setResult(i, types.intern(type));
  }
  return success();
}

//===--- The row ----------------------------------------------------------===//

static LogicalResult shardMapTypes(TypingContext &cx) {
  const auto &p = cx.params<ShardMap>();
  if (std::optional<json::Object> derived = derivedObject(cx))
    if (const json::Object *infer = derived->getObject("infer"))
      return inferredTypes(cx, *infer);
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
  if (failed(checkSizes(cx, *region)))
    return failure();
  Vma vma = p.checkVma ? Vma::On : Vma::Off; // shard_map/vma.1
  bool broken = isUnchecked(cx);             // shard_map/vma.2
  if (cx.options().vma == Vma::Infer || broken ||
      (!p.checkVma && cx.options().assumeVma))
    vma = Vma::Infer;
  std::vector<Typed> args;
  bool reported = false, complete = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    size_t before = cx.diagnostics().size();
    TypeId block = enter(cx, *region, i, vma);
    complete &= block.valid() && succeeded(checkBlock(cx, block, i, vma));
    reported |= cx.diagnostics().size() != before;
    args.push_back({block, false});
  }
  if (!complete && cx.options().retyped)
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
  TypingHost::Body body =
      cx.host().typeBody(p.jaxpr, args, region->inner, {}, vma);
  if (!named)
    return failure();
  for (unsigned i = 0; i < cx.numResults(); ++i)
    reported |= failed(leave(cx, *region, body, i, vma));
  return failure(reported);
}

static constexpr Primitive Rows[] = {
    {.info = {"shard_map", schemaOf<ShardMap>},
     .decode = decodeFor<ShardMap, 0, AnyNumber>,
     .dims = NoRule{NoRule::NotApplicable, "its body has them"},
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{shardMapTypes}}};

ArrayRef<Primitive> shardtype::shardMaps() { return Rows; }
