// ShardMapOut.cpp - how the results of a region of shard_map leave it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Manual.h"
#include "ShardMap.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

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
  Fix sum;
  sum.code = "jax.lax.psum(..., " + axes + ")";
  sum.communication.push_back(
      commStep(cx.context(), region.outer, CommStep::AllReduce, differs.list(),
               bytesPerDevice(cx.context(), body.results[result].type),
               cx.context().mesh(region.outer).size(differs)));
  if (type.manual.unreduced.intersects(differs)) {
    error.fix(sum);
    return;
  }
  if (type.rank() != 0) {
    PartitionSpec named = cx.params<ShardMap>().out.list[result];
    named.partitions.resize(std::max<size_t>(named.partitions.size(), 1));
    for (uint8_t axis : differs.list())
      named.partitions[0].axes.push_back(
          cx.context().mesh(region.outer).axes[axis].name);
    fix.code = specName("out_specs", result) + " = " +
               str(cx.context(), named) + " puts the blocks side by side";
    error.fix(fix);
  }
  sum.code += " adds them up";
  error.fix(sum);
}

/// shard_map/out.1: over axes that a spec does not name, blocks are equal.
static LogicalResult checkEqual(TypingContext &cx, const Region &region,
                                const TypingHost::Body &body, unsigned result,
                                const RegionSpec &spec) {
  const Type type = cx.context().type(body.results[result].type);
  const Mesh &mesh = cx.context().mesh(region.outer);
  AxisSet state =
      type.manual.varying | type.manual.unreduced | type.manual.reduced;
  AxisSet differs = state & (mesh.allAxes() - spec.named() - region.wasManual);
  if (differs.empty() || region.vma == Vma::Off)
    return success();
  std::string asked = str(cx.context(), cx.params<ShardMap>().out.list[result]);
  std::string axes = str(cx.context(), region.outer, differs);
  bool isError = region.vma == Vma::On || region.unchecked;
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

LogicalResult shardtype::leaveRegion(TypingContext &cx, const Region &region,
                                     const TypingHost::Body &body,
                                     unsigned result) {
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
  bool reported = failed(checkEqual(cx, region, body, result, *spec));
  if (!reported && region.vma == Vma::On)
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
