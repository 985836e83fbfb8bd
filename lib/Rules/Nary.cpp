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
// keeps its own where they leave room. Where no single reshard helps (three
// operands with three entries), all are resharded to what the first ones have.
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

/// Takes over an operand's entries where they fit; false if some do not.
static bool mergeInto(Sharding &merged, TypingContext &cx, unsigned operand) {
  bool allFit = true;
  for (unsigned d = 0; d < cx.shape(operand).size(); ++d) {
    const AxisList &entry = cx.sharding(operand).dims[d];
    if (entry.empty() || entry == merged.dims[d])
      continue;
    if (merged.dims[d].empty() && !merged.axes().intersects(AxisSet::of(entry)))
      merged.dims[d] = entry;
    else
      allFit = false;
  }
  return allFit;
}

/// Proposes that the operand be resharded to have its part of `result`, and to
/// be reduced over what others are reduced over.
static void proposeReshard(TypingContext &cx, unsigned operand,
                           const Sharding &result, ErrorBuilder &error) {
  Sharding to = placed(cx, operand);
  for (unsigned d = 0; d < to.dims.size(); ++d)
    to.dims[d] = cx.shape(operand)[d] == 1 ? AxisList() : result.dims[d];
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    to.reduced |= cx.sharding(i).reduced - to.unreduced;
  to.reduced = to.reduced - to.axes();
  if (!to.axes().intersects(to.unreduced) &&
      !checkDivisible(cx.context(), to, cx.shape(operand)))
    error.fixOperand(operand, to);
}

/// Proposes the reshards that make all operands agree.
static ErrorBuilder &offerReshards(TypingContext &cx, unsigned rank,
                                   ErrorBuilder &error) {
  Sharding inOrder = replicated(cx.ruleMesh(), rank);
  SmallVector<unsigned, 4> misfits;
  for (unsigned last = 0; last < cx.numOperands(); ++last) {
    if (!mergeInto(inOrder, cx, last))
      misfits.push_back(last);
    Sharding others = replicated(cx.ruleMesh(), rank);
    bool allFit = true;
    for (unsigned i = 0; i < cx.numOperands(); ++i)
      if (i != last)
        allFit &= mergeInto(others, cx, i);
    if (allFit && !mergeInto(others, cx, last))
      proposeReshard(cx, last, others, error);
  }
  if (error.diagnostic().fixes.empty())
    for (unsigned i : misfits)
      proposeReshard(cx, i, inOrder, error);
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
  SmallVector<AxisList, 4> entries;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).rank() != 0 && !cx.sharding(i).dims[dim].empty() &&
        !llvm::is_contained(entries, cx.sharding(i).dims[dim]))
      entries.push_back(cx.sharding(i).dims[dim]);
  std::string text = cx.arg(entries[0]);
  for (unsigned i = 1; i < entries.size(); ++i)
    text += (i + 1 < entries.size() ? ", " : " and ") + cx.arg(entries[i]);
  ErrorBuilder error = cx.error(diag::NaryConflict, cx.name(), dim, text);
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
                                  cx.illegalResult(result)); // nary/sharding.3
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
  AxisSet varying = cx.operand(i).manual.varying;
  AxisSet both = (gathered.axes() | varying) & reduced;
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
    AxisSet varying = cx.operand(i).manual.varying;
    AxisSet whole = all - s.axes() - s.unreduced - s.reduced - varying;
    if (whole.intersects(reduced)) { // nary/reduced.2
      Sharding same = placed(cx, i);
      same.reduced = reduced - same.axes() - same.unreduced;
      return cx.error(diag::NaryReplicatedVsReduced, i, whole & reduced)
          .mark(i)
          .mark(*from)
          .fixOperand(i, same);
    }
    if ((s.axes() | varying).intersects(reduced)) // nary/reduced.3
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
      return refuseUnreduced(cx, i, diag::NonlinearUnreduced);
  return ReductionSets{{}, *reduced, ReductionKind::None};
}
