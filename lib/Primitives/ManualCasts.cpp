// ManualCasts.cpp - changes of state over Manual axes that move no data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each is the identity on every device. JAX asks only that some of the axes be
// in the state that is cast from; where others are not, a warning says so.
#include "Families.h"
#include "Manual.h"
#include "Shapes.h"
#include "shardtype/Rules/Eval.h"

using namespace shardtype;

namespace {
struct Cast {
  const Value *axes = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axes", &Cast::axes, form::axes));
};
} // namespace

static FailureOr<NamedAxes> castAxes(TypingContext &cx) {
  if (failed(arraysOnly(cx)))
    return failure();
  return namedAxes(cx, *cx.params<Cast>().axes, "axes");
}

/// The axes of a cast to V, without those that the operand varies over by now:
/// JAX would not have written them (manual/recast.1).
static FailureOr<NamedAxes> axesToVary(TypingContext &cx) {
  FailureOr<NamedAxes> axes = castAxes(cx);
  if (succeeded(axes) && cx.options().recast)
    axes->set = axes->set - cx.operand(0).manual.varying;
  return axes;
}

/// manual/pvary.1
static LogicalResult pvary(TypingContext &cx) {
  FailureOr<NamedAxes> axes = axesToVary(cx);
  if (failed(axes) || failed(refuseSets(cx, *axes)) ||
      failed(refuseVarying(cx, axes->set)))
    return failure();
  Type type = cx.operand(0);
  if (cx.mesh().valid())
    type.sharding = onMesh(cx.context(), type.sharding, cx.mesh());
  ManualAxisType to = type.manual;
  to.varying |= axes->set;
  return setManualResult(cx, type, to);
}

/// manual/preduced.1
static LogicalResult preduced(TypingContext &cx) {
  FailureOr<NamedAxes> axes = castAxes(cx);
  if (failed(axes) || failed(refuseVarying(cx, axes->set)))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (AxisSet both = to.reduced & axes->set; !both.empty())
    return cx.error(diag::CastReduced, cx.name(), axes->set, both).mark(0);
  if (failed(sumsOnly(cx)))
    return failure();
  if (!cx.sharding(0).hasMesh() && !axes->set.empty()) // manual/preduced.2
    return cx
        .error(diag::AccidentalReject, cx.name(),
               "a value without a mesh is reduced over nothing")
        .mark(0);
  to.reduced |= axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

/// manual/vary_unreduced.1
static LogicalResult varyUnreduced(TypingContext &cx) {
  FailureOr<NamedAxes> axes = castAxes(cx);
  if (failed(axes) || failed(refuseSets(cx, *axes)))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (!to.varying.intersects(axes->set))
    return cx
        .error(diag::CastNeedsVarying, cx.name(), axes->set,
               orNothing(cx, to.varying))
        .mark(0);
  warnPartly(cx, axes->set, to.varying, "varying");
  to.varying = to.varying - axes->set;
  to.unreduced |= axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

/// manual/reduced_vary.1
static LogicalResult reducedVary(TypingContext &cx) {
  FailureOr<NamedAxes> axes = axesToVary(cx);
  if (failed(axes))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (cx.options().recast && axes->set.empty())
    return setManualResult(cx, cx.operand(0), to);
  if (!to.reduced.intersects(axes->set))
    return cx
        .error(diag::CastNeedsReduced, cx.name(), axes->set,
               orNothing(cx, to.reduced))
        .mark(0);
  if (failed(refuseVarying(cx, axes->set)) || failed(sumsOnly(cx)))
    return failure();
  warnPartly(cx, axes->set, to.reduced, "reduced");
  to.reduced = to.reduced - axes->set;
  to.varying |= axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

static DimMap castDims(TypingContext &cx) {
  return sameDims(cx, {}, FactorRole::Pass);
}

template <auto Type>
static constexpr Primitive row(StringRef name, ArrayRef<StringRef> aliases = {},
                               bool castsToVarying = false) {
  return {.info = {.name = name,
                   .params = schemaOf<Cast>,
                   .aliases = aliases,
                   .castsToVarying = castsToVarying},
          .decode = decodeFor<Cast, 1>,
          .dims = castDims,
          .linearity = {Linearity::Jointly, 1},
          .open = OpenRule::Pointwise,
          .type = Custom{Type},
          .eval = eval::pass};
}

static constexpr StringRef OldVaryUnreduced[] = {"vary_unreduced_cast_p"};
static constexpr StringRef OldReducedVary[] = {"reduced_vary_cast_p"};

static const Primitive Rows[] = {
    row<pvary>("pvary", {}, true), row<preduced>("preduced"),
    row<varyUnreduced>("vary_unreduced_cast", OldVaryUnreduced),
    row<reducedVary>("reduced_vary_cast", OldReducedVary, true)};

ArrayRef<Primitive> shardtype::manualCasts() { return Rows; }
