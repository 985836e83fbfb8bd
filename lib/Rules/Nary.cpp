// Nary.cpp - how operands of an elementwise operation agree (spec 01, 4).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each dim of the result takes the entry that the operands with an entry there
// agree on; a whole dim merges with anything, for its owner can slice it
// without communication. Two entries that differ, or an axis that would end up
// on two dims, are refused. The ways out reshard one operand:
//
//   a:f32[8@X,4]  b:f32[8@Y,4]     a -> P('Y', None), or b -> P('X', None)
//   a:i32[4@X,4]  b:i32[4,4@X]     a -> P(None, 'X'), or b -> P('X', None)
//
// In general operand i takes the entries that all others together have, and
// keeps its own where they leave room. With three operands and three different
// entries no single reshard helps, and no fix is offered.
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

//===--- Shapes -----------------------------------------------------------===//

/// The rank of the operands that have one, and the first such operand.
static std::optional<unsigned> firstRanked(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).rank() != 0)
      return i;
  return std::nullopt;
}

/// The common shape; on a clash the operand and dim at fault (dim -1: rank).
static Shape broadcast(TypingContext &cx,
                       std::optional<std::pair<unsigned, int>> &clash) {
  Shape result;
  std::optional<unsigned> first = firstRanked(cx);
  if (!first)
    return result;
  result = cx.operand(*first).shape;
  for (unsigned i = *first + 1; i < cx.numOperands() && !clash; ++i) {
    ArrayRef<int64_t> shape = cx.shape(i);
    if (shape.empty())
      continue;
    if (shape.size() != result.size())
      clash = {i, -1};
    for (unsigned d = 0; d < shape.size() && !clash; ++d) {
      if (result[d] == 1)
        result[d] = shape[d];
      else if (shape[d] != 1 && shape[d] != result[d])
        clash = {i, static_cast<int>(d)};
    }
  }
  return result;
}

static std::string shapesText(TypingContext &cx) {
  std::string text;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    text += (i ? ", " : "") + cx.arg(cx.operandId(i));
  return text;
}

FailureOr<Shape> nary::shape(TypingContext &cx) {
  std::optional<std::pair<unsigned, int>> clash;
  Shape result = broadcast(cx, clash);
  if (!clash)
    return result;
  if (clash->second < 0)
    return cx.error(diag::NaryRank, cx.name(), shapesText(cx))
        .mark(*firstRanked(cx))
        .mark(clash->first);
  return cx.error(diag::NaryShape, cx.name(), clash->second, shapesText(cx))
      .mark(clash->first, clash->second);
}

DimMap nary::dims(TypingContext &cx) {
  std::optional<std::pair<unsigned, int>> clash;
  Shape result = broadcast(cx, clash);
  SmallVector<ArrayRef<int64_t>, 4> operands;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    operands.push_back(cx.shape(i));
  return pointwise(operands, result, cx.numResults());
}

DimMap shardtype::unaryDims(TypingContext &cx) {
  return pointwise({cx.shape(0)}, cx.shape(0), cx.numResults());
}

//===--- Partitions -------------------------------------------------------===//

/// The entries of all operands but `left`, merged; none if they disagree.
static std::optional<Sharding> mergeOthers(TypingContext &cx, unsigned left,
                                           unsigned rank) {
  Sharding merged = replicated(cx.ruleMesh(), rank);
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (i == left || cx.operand(i).rank() == 0)
      continue;
    for (unsigned d = 0; d < rank; ++d) {
      const AxisList &entry = cx.sharding(i).dims[d];
      if (entry.empty() || entry == merged.dims[d])
        continue;
      if (!merged.dims[d].empty() ||
          merged.axes().intersects(AxisSet::of(entry)))
        return std::nullopt;
      merged.dims[d] = entry;
    }
  }
  return merged;
}

namespace {
/// One operand resharded, and the result's sharding after that.
struct Reshard {
  unsigned operand;
  Sharding to, result;
  uint64_t sent;
};
} // namespace

static std::optional<Reshard> reshardToOthers(TypingContext &cx, unsigned i,
                                              unsigned rank) {
  std::optional<Sharding> result = mergeOthers(cx, i, rank);
  const Sharding &own = cx.sharding(i);
  if (!result || cx.operand(i).rank() == 0)
    return std::nullopt;
  for (unsigned d = 0; d < rank; ++d)
    if (result->dims[d].empty() &&
        !result->axes().intersects(AxisSet::of(own.dims[d])))
      result->dims[d] = own.dims[d];
  Sharding to = placed(cx, i);
  for (unsigned d = 0; d < rank; ++d)
    to.dims[d] = cx.shape(i)[d] == 1 ? AxisList() : result->dims[d];
  if (to == own || to.axes().intersects(to.unreduced | to.reduced) ||
      checkDivisible(cx.context(), to, cx.shape(i)))
    return std::nullopt;
  TypeId type = cx.context().withSharding(cx.operandId(i), to);
  uint64_t sent = totalSent(reshardCost(cx.context(), cx.operandId(i), type));
  return Reshard{i, std::move(to), std::move(*result), sent};
}

/// The operands to reshard so that all agree, the cheapest first. The first is
/// assumed if the result's sets are then plain.
static ErrorBuilder &offerReshards(TypingContext &cx, unsigned rank,
                                   ErrorBuilder &error) {
  SmallVector<Reshard, 4> reshards;
  bool plain = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    plain &= !cx.sharding(i).hasUR();
    if (std::optional<Reshard> reshard = reshardToOthers(cx, i, rank))
      reshards.push_back(std::move(*reshard));
  }
  llvm::stable_sort(reshards, [](const Reshard &a, const Reshard &b) {
    return a.sent < b.sent;
  });
  for (const Reshard &r : reshards)
    error.fixOperand(r.operand, r.to, plain ? &r.result : nullptr);
  return error;
}

/// Marks the operands' entries on one dim.
static ErrorBuilder &markDim(TypingContext &cx, unsigned dim,
                             ErrorBuilder &error) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).rank() != 0 && !cx.sharding(i).dims[dim].empty())
      error.mark(i, dim);
  return error;
}

static ErrorBuilder reportConflict(TypingContext &cx, unsigned dim,
                                   unsigned rank) {
  std::string entries;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (cx.operand(i).rank() == 0 || cx.sharding(i).dims[dim].empty())
      continue;
    entries +=
        (entries.empty() ? "" : " and ") + cx.arg(cx.sharding(i).dims[dim]);
  }
  ErrorBuilder error = cx.error(diag::NaryConflict, cx.name(), dim, entries);
  return offerReshards(cx, rank, markDim(cx, dim, error));
}

/// The first axis that two dims have, and those dims.
struct Repeated {
  uint8_t axis;
  unsigned first, second;
};
static std::optional<Repeated> findRepeated(const Sharding &sharding) {
  AxisSet seen;
  for (unsigned d = 0; d < sharding.dims.size(); ++d)
    for (uint8_t axis : sharding.dims[d]) {
      if (seen.contains(axis)) {
        unsigned first = 0;
        while (!llvm::is_contained(sharding.dims[first], axis))
          ++first;
        return Repeated{axis, first, d};
      }
      seen.insert(axis);
    }
  return std::nullopt;
}

FailureOr<Sharding> nary::sharding(TypingContext &cx) {
  return sharding(cx, diag::IllegalResult);
}

FailureOr<Sharding> nary::sharding(TypingContext &cx, diag::Code illegal) {
  std::optional<unsigned> first = firstRanked(cx);
  unsigned rank = first ? cx.operand(*first).rank() : 0;
  Sharding result = replicated(cx.ruleMesh(), rank);
  for (unsigned d = 0; d < rank; ++d)
    for (unsigned i = *first; i < cx.numOperands(); ++i) {
      if (cx.operand(i).rank() == 0)
        continue;
      const AxisList &entry = cx.sharding(i).dims[d];
      if (result.dims[d].empty())
        result.dims[d] = entry;
      else if (!entry.empty() && entry != result.dims[d])
        return reportConflict(cx, d, rank); // nary/sharding.2
    }
  if (std::optional<Repeated> twice = findRepeated(result)) {
    AxisSet axis = AxisSet::of({twice->axis});
    ErrorBuilder error = cx.error(illegal, axis, twice->first, twice->second,
                                  result); // nary/sharding.3
    markDim(cx, twice->second, markDim(cx, twice->first, error));
    return offerReshards(cx, rank, error);
  }
  return result; // nary/sharding.1
}

//===--- Reduced axes -----------------------------------------------------===//

/// Two operands are reduced over different axes: each can take the other's.
static ErrorBuilder reportReducedDiffer(TypingContext &cx, unsigned a,
                                        unsigned b) {
  AxisSet reducedA = cx.sharding(a).reduced, reducedB = cx.sharding(b).reduced;
  ErrorBuilder error =
      cx.error(diag::NaryReducedDiffer, cx.name(), reducedA, reducedB);
  error.mark(a).mark(b);
  Sharding toA = cx.sharding(b), toB = cx.sharding(a);
  toA.reduced = reducedA;
  toB.reduced = reducedB;
  if (!reducedA.intersects(toA.axes() | toA.unreduced))
    error.fixOperand(b, toA);
  if (!reducedB.intersects(toB.axes() | toB.unreduced))
    error.fixOperand(a, toB);
  return error;
}

/// An operand is sharded over axes that another is reduced over: it can be
/// gathered and made reduced, or the other can give up being reduced.
static ErrorBuilder reportShardedVsReduced(TypingContext &cx, unsigned i,
                                           unsigned other, AxisSet reduced) {
  Sharding gathered = cx.sharding(i);
  AxisSet both = gathered.axes() & reduced;
  ErrorBuilder error = cx.error(diag::NaryShardedVsReduced, i, both);
  for (unsigned d = 0; d < gathered.dims.size(); ++d) {
    AxisList &entry = gathered.dims[d];
    if (!AxisSet::of(entry).intersects(both))
      continue;
    error.mark(i, d);
    llvm::erase_if(entry, [&](uint8_t a) { return both.contains(a); });
  }
  error.mark(other);
  gathered.reduced |= reduced - gathered.unreduced;
  Sharding plain = cx.sharding(other);
  plain.reduced = plain.reduced - both;
  return error.fixOperand(other, plain).fixOperand(i, gathered);
}

FailureOr<AxisSet> nary::reduced(TypingContext &cx) {
  std::optional<unsigned> from;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (cx.sharding(i).reduced.empty())
      continue;
    if (!from)
      from = i;
    else if (cx.sharding(i).reduced != cx.sharding(*from).reduced)
      return reportReducedDiffer(cx, *from, i); // nary/reduced.1
  }
  if (!from)
    return AxisSet();
  AxisSet reduced = cx.sharding(*from).reduced;
  // Without a context mesh JAX takes no operand as replicated.
  AxisSet all = cx.context().meshOrEmpty(cx.mesh()).allAxes();
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    AxisSet whole = all - s.axes() - s.unreduced - s.reduced;
    if (whole.intersects(reduced)) { // nary/reduced.2
      Sharding same = placed(cx, i);
      same.reduced = reduced - same.axes() - same.unreduced;
      return cx.error(diag::NaryReplicatedVsReduced, i, whole & reduced)
          .mark(i)
          .mark(*from)
          .fixOperand(i, same);
    }
    if (s.axes().intersects(reduced)) // nary/reduced.3
      return reportShardedVsReduced(cx, i, *from, reduced);
  }
  return reduced;
}

FailureOr<ReductionSets> nary::nonlinear(TypingContext &cx) {
  FailureOr<AxisSet> reduced = nary::reduced(cx);
  if (failed(reduced))
    return failure();
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (failed(requireSum(cx, i)))
      return failure();
    else if (!cx.sharding(i).unreduced.empty()) // nary/unreduced.1
      return cx
          .error(diag::NonlinearUnreduced, cx.name(), cx.sharding(i).unreduced)
          .mark(i)
          .fixOperand(i, withoutUnreduced(cx.sharding(i)));
  return ReductionSets{{}, *reduced, ReductionKind::None};
}
