// ManualReductions.cpp - collectives that combine values: psum and its kin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "Manual.h"
#include "ManualEval.h"
#include "Shapes.h"
#include "shardtype/Rules/Communication.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace shardtype;

namespace {
struct Invariant {
  const Value *axes = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axes", &Invariant::axes, form::axes));
};
struct Grouped {
  const Value *axes = nullptr;
  Groups groups;
  static constexpr auto fields =
      std::tuple(valueField("axes", &Grouped::axes, form::axes),
                 optionalField("axis_index_groups", &Grouped::groups));
};
} // namespace

static StringRef equalEffect(TypingContext &cx) {
  return cx.name().contains("psum")
             ? "the result is the value times the number of devices"
             : "the result is the value";
}

//===--- V to invarying ---------------------------------------------------===//

/// manual/psum_invariant.1 and .2
static LogicalResult toInvariant(TypingContext &cx, const NamedAxes &axes) {
  ManualAxisType to = cx.operand(0).manual;
  if (!to.varying.intersects(axes.set) && cx.options().vma != Vma::Infer) {
    ManualAxisType cast = to;
    cast.varying |= axes.set;
    return cx
        .error(diag::CollectiveInvarying, cx.name(), axes.set,
               orNothing(cx, to.varying))
        .mark(0)
        .castOperand(0, cast);
  }
  if (!axes.dims.empty()) // manual/psum_invariant.3
    return cx
        .error(diag::CollectiveArgument, cx.name(), "it takes no dims as axes")
        .markParam("axes");
  if (failed(cx.checkContextMesh()) || failed(refuseSets(cx, axes)))
    return failure();
  if (cx.options().vma == Vma::On)
    warnPartly(cx, axes.set, to.varying, "varying");
  warnEqual(cx, axes, equalEffect(cx));
  to.varying = to.varying - axes.set;
  return setManualResult(cx, cx.operand(0), to);
}

static LogicalResult psumInvariant(TypingContext &cx) {
  if (failed(arraysOnly(cx)))
    return failure();
  FailureOr<NamedAxes> axes =
      namedAxes(cx, *cx.params<Invariant>().axes, "axes");
  return failed(axes) ? failure() : toInvariant(cx, *axes);
}

//===--- Without types: psum ----------------------------------------------===//

/// The operand's type without the dims that are summed as well.
static FailureOr<Type> withoutDims(TypingContext &cx, ArrayRef<int64_t> dims) {
  Type type = cx.operand(0);
  type.weak = false;
  type.memory = MemorySpace::Device;
  llvm::SmallBitVector gone(type.rank());
  for (int64_t dim : dims) {
    FailureOr<unsigned> at = collectiveDim(cx, dim, type.rank(), "axes");
    if (failed(at))
      return failure();
    gone.set(*at);
  }
  for (unsigned d = type.rank(); d-- > 0;)
    if (gone.test(d)) {
      type.shape.erase(type.shape.begin() + d);
      type.sharding.dims.erase(type.sharding.dims.begin() + d);
    }
  return type;
}

/// manual/psum.1 to .3
static LogicalResult plain(TypingContext &cx, const NamedAxes &axes,
                           const Groups &groups) {
  if (groups.given() && !axes.dims.empty()) // manual/psum.2
    return cx
        .error(diag::CollectiveArgument, cx.name(),
               "axis_index_groups go with named axes only")
        .markParam("axis_index_groups");
  if (failed(cx.checkContextMesh()) || failed(refuseSets(cx, axes)))
    return failure();
  FailureOr<Type> type = withoutDims(cx, axes.dims);
  if (failed(type))
    return failure();
  if (cx.sharding(0).hasUR()) // manual/psum.4
    return cx.error(diag::SpecIteration, cx.name()).mark(0);
  const Mesh &mesh = cx.context().meshOrEmpty(cx.mesh());
  bool parts = groupSize(cx, axes, groups) != mesh.size(axes.set);
  AxisSet varying = cx.operand(0).manual.varying;
  AxisSet left = parts ? varying : varying - axes.set;
  switch (cx.options().vma) {
  case Vma::Off: // manual/psum.1
    return setManualResult(cx, *type, {});
  case Vma::On:
    if (!left.empty())
      warnVariationLost(cx, left, "JAX gives 'psum' no variation at all");
    return setManualResult(cx, *type, {});
  case Vma::Infer: // manual/psum.3
    if (!parts)
      warnEqual(cx, axes, equalEffect(cx));
    return setManualResult(cx, *type, {left, {}, {}, ReductionKind::None});
  }
  llvm_unreachable("every mode is named");
}

static LogicalResult psum(TypingContext &cx) {
  const auto &p = cx.params<Grouped>();
  if (failed(arraysOnly(cx)))
    return failure();
  FailureOr<NamedAxes> axes = namedAxes(cx, *p.axes, "axes");
  return failed(axes) ? failure() : plain(cx, *axes, p.groups);
}

/// manual/pmax.1: as psum_invariant where types are checked, else as psum.
static LogicalResult extremum(TypingContext &cx) {
  const auto &p = cx.params<Grouped>();
  if (failed(arraysOnly(cx)))
    return failure();
  FailureOr<NamedAxes> axes = namedAxes(cx, *p.axes, "axes");
  if (failed(axes))
    return failure();
  if (cx.options().vma != Vma::On)
    return plain(cx, *axes, p.groups);
  const Mesh &mesh = cx.context().meshOrEmpty(cx.mesh());
  bool parts = groupSize(cx, *axes, p.groups) != mesh.size(axes->set);
  if (failed(toInvariant(cx, *axes)))
    return failure();
  if (parts) // manual/pmax.2
    warnVariationLost(cx, axes->set & cx.operand(0).manual.varying,
                      "each of axis_index_groups has a value of its own");
  return success();
}

//===--- U to invarying ---------------------------------------------------===//

/// manual/unreduced_psum.1
template <ReductionKind Kind> static LogicalResult sumUp(TypingContext &cx) {
  if (failed(arraysOnly(cx)))
    return failure();
  FailureOr<NamedAxes> axes =
      namedAxes(cx, *cx.params<Invariant>().axes, "axes");
  if (failed(axes))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (!to.unreduced.intersects(axes->set))
    return cx
        .error(diag::CastNeedsUnreduced, cx.name(), axes->set,
               orNothing(cx, to.unreduced))
        .mark(0);
  if (failed(refuseVarying(cx, axes->set)))
    return failure();
  if (!axes->dims.empty())
    return cx
        .error(diag::CollectiveArgument, cx.name(), "it takes no dims as axes")
        .markParam("axes");
  if (failed(cx.checkContextMesh()))
    return failure();
  if (to.kind != Kind)
    return cx.error(diag::UnreducedKind, 0, str(to.kind), cx.name(), str(Kind))
        .mark(0);
  warnPartly(cx, axes->set, to.unreduced, "unreduced");
  to.unreduced = to.unreduced - axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

//===--- Rows -------------------------------------------------------------===//

static DimMap reductionDims(TypingContext &cx) {
  return sameDims(cx, {}, FactorRole::Pass);
}

template <auto Type, typename P>
static constexpr Primitive row(StringRef name, Linearity linearity) {
  return {.info = {.name = name, .params = schemaOf<P>, .collective = true},
          .decode = decodeFor<P, 1>,
          .dims = reductionDims,
          .linearity = linearity,
          .open = OpenRule::Pointwise,
          .type = Custom{Type},
          .communication = collective<CommStep::AllReduce>,
          .eval = reductionEval};
}

static constexpr Linearity Linear = {Linearity::Jointly, 1};

static const Primitive Rows[] = {
    row<psum, Grouped>("psum", Linear),
    row<psumInvariant, Invariant>("psum_invariant", Linear),
    row<started<psumInvariant>, Invariant>("psum_invariant_start", Linear),
    row<extremum, Grouped>("pmax", {}),
    row<extremum, Grouped>("pmin", {}),
    row<sumUp<ReductionKind::Sum>, Invariant>("unreduced_psum", Linear),
    row<sumUp<ReductionKind::Max>, Invariant>("unreduced_pmax", {}),
    row<sumUp<ReductionKind::Min>, Invariant>("unreduced_pmin", {})};

ArrayRef<Primitive> shardtype::manualReductions() { return Rows; }
