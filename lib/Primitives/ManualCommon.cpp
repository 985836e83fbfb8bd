// ManualCommon.cpp - what the rows of casts and collectives share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Manual.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/ADT/SmallSet.h"

using namespace shardtype;

//===--- Axes -------------------------------------------------------------===//

static ErrorBuilder reportUnbound(TypingContext &cx, StringId name,
                                  StringRef key) {
  const Mesh &mesh = cx.context().meshOrEmpty(cx.mesh());
  std::optional<unsigned> at = mesh.find(name);
  std::string why = mesh.empty() ? "there is no mesh"
                    : !at ? "the mesh is " + shortMesh(cx.context(), mesh)
                          : "it is " + str(mesh.axes[*at].type).str();
  ErrorBuilder error =
      cx.error(diag::UnboundAxis, cx.context().str(name), cx.name(), why);
  error.markParam(key);
  if (at && mesh.axes[*at].type == AxisType::Explicit)
    error.note("collectives and casts take the axes of a region: write a "
               "reduction over the dim that '" +
               cx.context().str(name).str() +
               "' shards (jnp.sum), or open a region with jax.shard_map");
  else if (at)
    error.note("collectives and casts take the axes of a region: open one "
               "with jax.shard_map");
  return error;
}

FailureOr<NamedAxes> shardtype::namedAxes(TypingContext &cx, const Value &value,
                                          StringRef key) {
  const Program &program = cx.program();
  SmallVector<const Value *, 4> items;
  if (value.kind == Value::Tuple || value.kind == Value::List)
    for (ValueId element : value.elements)
      items.push_back(&program.value(element));
  else
    items.push_back(&value);
  NamedAxes axes;
  const Mesh &mesh = cx.context().meshOrEmpty(cx.mesh());
  for (const Value *item : items) {
    if (item->kind == Value::Int) {
      axes.dims.push_back(item->integer);
      continue;
    }
    if (item->kind != Value::Str && item->kind != Value::OpaqueText)
      return cx.error(diag::ParamInvalid, key, "does not name axes of the mesh")
          .markParam(key);
    std::optional<unsigned> at = mesh.find(item->text);
    if (!at || mesh.axes[*at].type != AxisType::Manual)
      return reportUnbound(cx, item->text, key); // manual/axes.1
    if (axes.set.contains(*at))
      return cx
          .error(diag::ParamInvalid, key,
                 "names '" + cx.context().str(item->text).str() + "' twice")
          .markParam(key);
    axes.set.insert(*at);
    axes.list.push_back(static_cast<uint8_t>(*at));
  }
  return axes;
}

LogicalResult shardtype::arraysOnly(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.operand(i).isArray())
      return cx
          .error(diag::DTypeMismatch, "'" + cx.name().str() +
                                          "' takes arrays, not " +
                                          cx.arg(cx.operandId(i)))
          .mark(i);
  return success();
}

std::string shardtype::orNothing(TypingContext &cx, AxisSet axes) {
  return axes.empty() ? "nothing" : cx.arg(axes);
}

bool shardtype::readParam(const Program &program, const Value &value,
                          Groups &out) {
  if (value.kind == Value::None || value.kind == Value::Hidden)
    return true;
  bool isList = value.kind == Value::Tuple || value.kind == Value::List;
  if (!isList || !readParam(program, value, out.members))
    return false;
  // No group, or an empty one, says nothing.
  return out.given() && !out.members[0].empty();
}

int64_t shardtype::groupSize(TypingContext &cx, const NamedAxes &axes,
                             const Groups &groups) {
  int64_t all = cx.context().meshOrEmpty(cx.mesh()).size(axes.set);
  if (!groups.given())
    return all;
  llvm::SmallSet<int64_t, 16> seen;
  size_t count = 0;
  bool even = true;
  for (const auto &group : groups.members) {
    even &= group.size() == groups.members[0].size();
    count += group.size();
    for (int64_t member : group)
      if (member >= 0 && member < all)
        seen.insert(member);
  }
  if (static_cast<int64_t>(seen.size()) != all ||
      count != static_cast<size_t>(all)) // manual/groups.1
    cx.error(diag::GroupsInvalid, cx.name(),
             "axis_index_groups must hold each of " + std::to_string(all) +
                 " devices once")
        .markParam("axis_index_groups");
  else if (!even)
    cx.error(diag::GroupsInvalid, cx.name(),
             "the groups of axis_index_groups have different sizes")
        .markParam("axis_index_groups");
  return static_cast<int64_t>(groups.members[0].size());
}

FailureOr<unsigned> shardtype::collectiveDim(TypingContext &cx, int64_t dim,
                                             unsigned rank, StringRef key) {
  if (dim >= 0 && dim < static_cast<int64_t>(rank))
    return static_cast<unsigned>(dim);
  return cx // manual/axes.2
      .error(diag::ParamInvalid, key,
             std::to_string(dim) + " is no dim of a value of rank " +
                 std::to_string(rank))
      .markParam(key);
}

//===--- States -----------------------------------------------------------===//

LogicalResult shardtype::refuseSets(TypingContext &cx, const NamedAxes &axes) {
  const ManualAxisType &own = cx.operand(0).manual;
  if (AxisSet both = own.unreduced & axes.set; !both.empty()) {
    ManualAxisType summed = own;
    summed.unreduced = own.unreduced - both;
    return cx.error(diag::CollectiveUnreduced, cx.name(), axes.set, both)
        .mark(0)
        .castOperand(0, summed);
  }
  if (failed(sumsOnly(cx)))
    return failure();
  if (AxisSet both = own.reduced & axes.set; !both.empty()) {
    ManualAxisType cast = own;
    cast.reduced = own.reduced - both;
    cast.varying = own.varying | both;
    return cx.error(diag::CollectiveReduced, cx.name(), axes.set, both)
        .mark(0)
        .castOperand(0, cast);
  }
  return success();
}

LogicalResult shardtype::sumsOnly(TypingContext &cx) {
  const ManualAxisType &own = cx.operand(0).manual;
  if (own.unreduced.empty() || own.kind == ReductionKind::Sum)
    return success();
  return cx
      .error(diag::UnreducedKind, 0, str(own.kind), cx.name(),
             str(ReductionKind::Sum))
      .mark(0);
}

LogicalResult shardtype::refuseVarying(TypingContext &cx, AxisSet axes) {
  AxisSet both = cx.operand(0).manual.varying & axes;
  if (both.empty())
    return success();
  return cx.error(diag::CastVarying, cx.name(), axes, both).mark(0);
}

void shardtype::warnPartly(TypingContext &cx, AxisSet axes, AxisSet have,
                           StringRef state) {
  if (AxisSet rest = axes - have; !rest.empty())
    cx.error(diag::CastPartly, cx.name(), axes, rest, state).mark(0);
}

FailureOr<AxisSet> shardtype::collectiveVarying(TypingContext &cx,
                                                const NamedAxes &axes) {
  const ManualAxisType &own = cx.operand(0).manual;
  if (cx.options().vma == Vma::Off)
    return AxisSet();
  if (cx.options().vma == Vma::Infer || own.varying.contains(axes.set))
    return own.varying;
  ManualAxisType cast = own;
  cast.varying |= axes.set;
  return cx
      .error(diag::CollectiveInvarying, cx.name(), axes.set,
             orNothing(cx, own.varying))
      .mark(0)
      .castOperand(0, cast);
}

void shardtype::warnEqual(TypingContext &cx, const NamedAxes &axes,
                          StringRef effect) {
  AxisSet equal = axes.set - cx.operand(0).manual.varying;
  if (cx.options().vma == Vma::Infer && !equal.empty())
    cx.error(diag::PsumOfEqual, cx.name(), axes.set, equal, effect).mark(0);
}

LogicalResult shardtype::setManualResult(TypingContext &cx, Type type,
                                         ManualAxisType manual) {
  if (cx.numResults() != 1)
    return cx.error(diag::ResultCount, cx.name(), 1, cx.numResults());
  AxisSet sums = manual.varying & manual.unreduced;
  AxisSet copies = manual.varying & manual.reduced;
  if (!sums.empty()) // manual/state.1
    return cx.error(diag::ManualState, cx.name(), "varying and unreduced",
                    sums);
  if (!copies.empty())
    return cx.error(diag::ManualState, cx.name(), "varying and reduced",
                    copies);
  if (!(manual.unreduced & manual.reduced).empty()) // manual/sets.5
    cx.error(diag::ManualOverlap, manual.unreduced & manual.reduced);
  if (type.sharding.dims.size() != type.shape.size())
    return cx
        .error(diag::TypeRank, type.sharding, type.sharding.dims.size(),
               type.shape.size())
        .mark(0);
  if (auto bad = checkDivisible(cx.context(), type.sharding, type.shape))
    return reportSpecError(cx, *bad, type.sharding, type.shape);
  // What has no state needs no mesh.
  MeshId mesh = manual.trivial() ? type.sharding.mesh : cx.mesh();
  cx.setResult(
      0, withManual(cx.context(), cx.context().intern(type), manual, mesh));
  return success();
}
