// Reshape.cpp - reshape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "ReshapeDims.h"
#include "ReshapeRule.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;

namespace {
struct Reshape {
  std::optional<SmallVector<int64_t, 4>> dimensions;
  SmallVector<int64_t, 4> newSizes;
  ShardingParam sharding;
  static constexpr auto fields =
      std::tuple(optionalField("dimensions", &Reshape::dimensions),
                 field("new_sizes", &Reshape::newSizes),
                 optionalField("sharding", &Reshape::sharding));
};
} // namespace

static FailureOr<Shape> reshapeShape(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  if (failed(checkSizes(cx, "new_sizes"))) // reshape/shape.1
    return failure();
  SmallVector<int64_t, 4> sorted;
  if (p.dimensions) {
    sorted = *p.dimensions;
    llvm::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  }
  unsigned rank = cx.shape(0).size();
  if (p.dimensions && (sorted.size() != rank || !areDistinctDims(sorted, rank)))
    return cx
        .error(diag::ShapeMismatch, // reshape/shape.2
               "dimensions " + listText(*p.dimensions) +
                   " do not name all dims of a value of rank " +
                   std::to_string(rank))
        .markParam("dimensions");
  return Shape(p.newSizes.begin(), p.newSizes.end());
}

//===--- Choices ----------------------------------------------------------===//

namespace {
/// A sharding to offer, and what it costs.
struct Choice {
  Sharding sharding;
  uint64_t sent;
  size_t steps;
  uint64_t bytes; // Of the result, per device.
};
} // namespace

/// More are not listed.
static constexpr unsigned MaxChoices = 32;

static SmallVector<int64_t, 6> orderOf(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  if (p.dimensions)
    return {p.dimensions->begin(), p.dimensions->end()};
  return llvm::to_vector<6>(llvm::seq<int64_t>(0, cx.shape(0).size()));
}

static DimMap reshapeDims(TypingContext &cx) {
  return reshapeMap(cx.shape(0), orderOf(cx), cx.params<Reshape>().newSizes);
}

/// The result shardings in which dims that correspond keep their axes, and each
/// axis of other dims goes to a dim beside its own or is gathered.
static SmallVector<Sharding, 8> possibleShardings(TypingContext &cx,
                                                  ErrorBuilder &error) {
  ArrayRef<int64_t> newSizes = cx.params<Reshape>().newSizes;
  SmallVector<int64_t, 6> order = orderOf(cx), sizes;
  for (int64_t dim : order)
    sizes.push_back(cx.shape(0)[dim]);
  const Sharding &s = cx.sharding(0);
  Sharding base = s;
  base.dims.assign(newSizes.size(), {});
  SmallVector<Sharding, 8> found = {base};
  for (const ReshapeGroup &group : reshapeGroups(sizes, newSizes)) {
    bool same = group.fromEnd - group.fromBegin == 1 &&
                group.toEnd - group.toBegin == 1;
    for (unsigned i = group.fromBegin; i < group.fromEnd; ++i) {
      const AxisList &axes = s.dims[order[i]];
      if (same)
        for (Sharding &sharding : found)
          sharding.dims[group.toBegin] = axes;
      if (same || axes.empty())
        continue;
      error.mark(0, order[i]);
      for (uint8_t axis : axes)
        for (size_t n = found.size(), k = 0; k < n && found.size() < MaxChoices;
             ++k)
          for (unsigned j = group.toBegin; j < group.toEnd; ++j) {
            Sharding next = found[k];
            next.dims[j].push_back(axis);
            found.push_back(std::move(next));
          }
    }
  }
  return found;
}

/// Offers them, the cheapest first, then the smallest: reshape/sharding.7.
static void offerChoices(TypingContext &cx, ErrorBuilder &error) {
  SmallVector<Choice, 8> choices;
  DimMap map = reshapeDims(cx);
  for (Sharding &sharding : possibleShardings(cx, error)) {
    if (checkDivisible(cx.context(), sharding, cx.resultShape()))
      continue;
    TypeId type = cx.composed(sharding);
    auto steps = resultCost(cx.context(), map, cx.operandId(0), type);
    choices.push_back({std::move(sharding), totalSent(steps), steps.size(),
                       bytesPerDevice(cx.context(), type)});
  }
  llvm::stable_sort(choices, [](const Choice &a, const Choice &b) {
    return std::tie(a.sent, a.steps, a.bytes) <
           std::tie(b.sent, b.steps, b.bytes);
  });
  for (const Choice &choice : choices)
    error.fix(choice.sharding);
}

//===--- The row ----------------------------------------------------------===//

/// What a reshape that JAX trips over gives: without axes of size 1 it may be
/// an ordinary one, else the whole value. Sets pass, whatever their kind.
static Sharding withoutAccident(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  ReshapeOutcome outcome =
      inferReshape(cx, dropUnitAxes(cx.context(), cx.sharding(0)), p.newSizes,
                   p.dimensions.has_value());
  if (auto *sharding = std::get_if<Sharding>(&outcome))
    return *sharding;
  Sharding whole = cx.sharding(0);
  whole.dims.assign(cx.resultShape().size(), {});
  return whole;
}

static ErrorBuilder report(TypingContext &cx, const ReshapeRefusal &refusal) {
  if (refusal.kind == ReshapeRefusal::Unsupported) {
    ErrorBuilder error = cx.error(diag::ReshapeUnsupported, refusal.why);
    if (!refusal.betterSizes.empty())
      error.note("a reshape to " + listText(refusal.betterSizes) +
                 " keeps its sharding");
    offerChoices(cx, error);
    return error;
  }
  // reshape/sharding.9
  ErrorBuilder error = cx.error(refusal.kind == ReshapeRefusal::Index
                                    ? diag::AccidentalIndex
                                    : diag::AccidentalRejectBare,
                                cx.name(), refusal.why);
  error.mark(0);
  error.sound(refusal.sound ? *refusal.sound : withoutAccident(cx));
  return error;
}

static FailureOr<Sharding> reshapeSharding(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  if (p.sharding.given()) // reshape/sharding.1
    return resolveLong(cx, p.sharding, p.newSizes.size(), "sharding");
  if (cx.sharding(0).partitioned() && cx.sharding(0).hasUR() &&
      withoutOnes(cx.shape(0)) == withoutOnes(p.newSizes) && cx.olderJax())
    return refuseSets(cx, diag::SpecIteration, 0); // reshape/reduction.3
  ReshapeOutcome outcome =
      inferReshape(cx, cx.sharding(0), p.newSizes, p.dimensions.has_value());
  if (auto *refusal = std::get_if<ReshapeRefusal>(&outcome))
    return report(cx, *refusal);
  return std::get<Sharding>(std::move(outcome));
}

/// The sets of the operand and of the parameter differ.
static ErrorBuilder reportSets(TypingContext &cx, diag::Code code,
                               const Sharding &asked) {
  const Sharding &s = cx.sharding(0);
  ErrorBuilder error = cx.error(code, s, asked);
  error.mark(0).markParam("sharding");
  Sharding same = asked;
  same.unreduced = s.unreduced;
  same.reduced = s.reduced;
  same.kind = s.kind;
  if (!same.axes().intersects(same.unreduced | same.reduced))
    error.fix(same);
  return error;
}

static FailureOr<ReductionSets> reshapeReduction(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  const Sharding &s = cx.sharding(0);
  if (!p.sharding.given())
    return passKinds(cx); // reshape/reduction.1
  FailureOr<Sharding> asked =
      resolveLong(cx, p.sharding, p.newSizes.size(), "sharding");
  if (failed(asked))
    return failure();
  bool old = (s.hasUR() || asked->hasUR()) && cx.olderJax();
  if (old && failed(requireSum(cx, 0)))
    return failure();
  if (s.unreduced != asked->unreduced) // reshape/reduction.2
    return reportSets(cx, diag::ReshapeUnreduced, *asked);
  if (!old && s.kind != asked->kind)
    return reportSets(cx, diag::ReshapeKind, *asked);
  if (s.reduced != asked->reduced)
    return reportSets(cx, diag::ReshapeReduced, *asked);
  ReductionSets sets{s.unreduced, s.reduced, s.kind};
  return checkLong(cx, p.sharding, "sharding", sets);
}

/// With `dimensions`, of the operand transposed so.
static LogicalResult reshapeEval(EvalContext &cx) {
  const auto &order = cx.params<Reshape>().dimensions;
  Tensor x = order ? kernels::transpose(cx.operand(0), *order) : cx.take(0);
  return eval::give(cx, x.reshaped(cx.resultShape()));
}

static const Primitive Rows[] = {
    {.info = {"reshape", schemaOf<Reshape>},
     .decode = decodeFor<Reshape, 1>,
     .dims = reshapeDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = reshapeShape,
                      .dtype = dtype::operand,
                      .weak = weak::all,
                      .sharding = reshapeSharding,
                      .reduction = reshapeReduction,
                      .memory = memory::standard},
     .eval = reshapeEval}};

ArrayRef<Primitive> shardtype::reshape() { return Rows; }
