// ContractionFixes.cpp - what to do about a dot_general that has no type.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product of sharded dims leaves partial sums. What can be asked for is then,
// in this order (architecture.md, "Fixes and recovery"): the free dims as they
// come, the sums completed by one all-reduce; the sums scattered over one dim
// of the result, whole dims before those that are sharded already; the partial
// sums as they are. f32[8,4@X] times f32[4@X,16]:
//
//   P(None, None)                    all-reduce over X
//   P('X', None), P(None, 'X')       reduce-scatter over X
//   P(None, None, unreduced={'X'})   nothing
#include "Contraction.h"

using namespace shardtype;

//===--- Results ----------------------------------------------------------===//

/// More are not listed.
static constexpr unsigned MaxResults = 16;

/// The sharding itself, or if axes are on two dims, all ways to keep each on
/// one of them.
static SmallVector<Sharding, 2> distinctForms(const Sharding &sharding) {
  SmallVector<Sharding, 2> forms = {sharding};
  auto cut = [](Sharding s, unsigned dim, AxisSet axes) {
    llvm::erase_if(s.dims[dim], [&](uint8_t a) { return axes.contains(a); });
    return s;
  };
  for (unsigned b = 0; b < sharding.dims.size(); ++b)
    for (unsigned a = 0; a < b; ++a)
      for (size_t n = forms.size(), k = 0; k < n; ++k) {
        AxisSet both =
            AxisSet::of(forms[k].dims[a]) & AxisSet::of(forms[k].dims[b]);
        if (both.empty())
          continue;
        if (forms.size() < MaxResults)
          forms.push_back(cut(forms[k], a, both));
        forms[k] = cut(forms[k], b, both);
      }
  return forms;
}

/// The axes that shard contracting dims on both sides alike, in order; all
/// pairs alike (or whole) or not.
struct PartialAxes {
  AxisList axes;
  bool all = true;
};
static PartialAxes partialAxes(const DotSides &sides, const Sharding &lhs,
                               const Sharding &rhs) {
  PartialAxes result;
  const DotDims &n = sides.numbers;
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract)) {
    if (lhs.dims[l] == rhs.dims[r])
      result.axes.append(lhs.dims[l]);
    else
      result.all = false;
  }
  return result;
}

static bool anyUnreduced(TypingContext &cx) {
  return !cx.sharding(0).unreduced.empty() || !cx.sharding(1).unreduced.empty();
}

/// The forms with the partial sums scattered over one dim.
static void offerScattered(ArrayRef<Sharding> forms, const AxisList &axes,
                           ErrorBuilder &error) {
  for (bool whole : {true, false})
    for (const Sharding &form : forms)
      for (unsigned dim = 0; dim < form.dims.size(); ++dim) {
        if (form.dims[dim].empty() != whole ||
            form.axes().intersects(AxisSet::of(axes)))
          continue;
        Sharding scattered = form;
        scattered.dims[dim].append(axes);
        error.fix(scattered);
      }
}

//===--- Operands ---------------------------------------------------------===//

/// An operand with other entries on some dims; axes that these need leave its
/// other dims and sets.
static std::optional<Sharding> withEntries(TypingContext &cx, unsigned operand,
                                           ArrayRef<int64_t> dims,
                                           ArrayRef<AxisList> entries) {
  Sharding to = placed(cx, operand);
  AxisSet taken;
  for (const AxisList &entry : entries)
    taken |= AxisSet::of(entry);
  for (AxisList &entry : to.dims)
    llvm::erase_if(entry, [&](uint8_t a) { return taken.contains(a); });
  for (auto [dim, entry] : llvm::zip_equal(dims, entries))
    to.dims[dim] = entry;
  to.reduced = to.reduced - taken;
  if (to.unreduced.intersects(taken) ||
      checkDivisible(cx.context(), to, cx.shape(operand)))
    return std::nullopt;
  return to;
}

/// The entries of one side's dims.
static SmallVector<AxisList, 2> entriesOf(const Sharding &sharding,
                                          ArrayRef<int64_t> dims) {
  SmallVector<AxisList, 2> entries;
  for (int64_t dim : dims)
    entries.push_back(sharding.dims[dim]);
  return entries;
}

/// Proposes that operand `i` take the other's entries on its batch or
/// contracting dims.
static void offerOthers(TypingContext &cx, const DotSides &sides, unsigned i,
                        bool batch, ErrorBuilder &error) {
  const DotDims &n = sides.numbers;
  ArrayRef<int64_t> own = batch ? n.lhsBatch : n.lhsContract;
  ArrayRef<int64_t> others = batch ? n.rhsBatch : n.rhsContract;
  if (i == 1)
    std::swap(own, others);
  if (auto to = withEntries(cx, i, own, entriesOf(cx.sharding(1 - i), others)))
    error.fixOperand(i, *to);
}

//===--- Errors -----------------------------------------------------------===//

/// Operand `i` with whole contracting dims where both sides are sharded: then
/// the other side's sharding decides nothing any more.
static void offerWhole(TypingContext &cx, const DotSides &sides, unsigned i,
                       ErrorBuilder &error) {
  const DotDims &n = sides.numbers;
  Sharding to = cx.sharding(i);
  for (auto [l, r] : llvm::zip_equal(n.lhsContract, n.rhsContract))
    if (!cx.sharding(0).dims[l].empty() && !cx.sharding(1).dims[r].empty())
      to.dims[i == 0 ? l : r].clear();
  error.fixOperand(i, to);
}

// dot_general/sharding.7
void shardtype::offerDotResults(TypingContext &cx, const DotSides &sides,
                                ErrorBuilder &error) {
  const Sharding &lhs = cx.sharding(0), &rhs = cx.sharding(1);
  PartialAxes partial = partialAxes(sides, lhs, rhs);
  if (!anyUnreduced(cx)) {
    auto forms = distinctForms(sides.natural(lhs, rhs));
    error.fixes(forms);
    if (!partial.axes.empty())
      offerScattered(forms, partial.axes, error);
    for (Sharding &form : forms) {
      form.unreduced = AxisSet::of(partial.axes);
      form.kind = ReductionKind::Sum;
      if (partial.all && !form.axes().intersects(form.unreduced))
        error.fix(form);
    }
  }
  if (partial.all)
    return;
  offerWhole(cx, sides, 0, error);
  offerWhole(cx, sides, 1, error);
}

// dot_general/sharding.8
void shardtype::offerDotBatch(TypingContext &cx, const DotSides &sides,
                              ErrorBuilder &error) {
  for (unsigned i : {1u, 0u})
    offerOthers(cx, sides, i, /*batch=*/true, error);
  if (anyUnreduced(cx))
    return;
  // Or the result is said: batch dims as either side has them.
  const DotDims &n = sides.numbers;
  Sharding merged = sides.natural(cx.sharding(0), cx.sharding(1));
  for (unsigned k = 0; k < n.rhsBatch.size(); ++k)
    if (merged.dims[k].empty())
      merged.dims[k] = cx.sharding(1).dims[n.rhsBatch[k]];
  error.fixes(distinctForms(merged));
}

// dot_general/sharding.9
void shardtype::offerDotDistinct(TypingContext &cx, const DotSides &sides,
                                 ErrorBuilder &error) {
  Sharding natural = sides.natural(cx.sharding(0), cx.sharding(1));
  if (!anyUnreduced(cx))
    error.fixes(distinctForms(natural));
  for (unsigned i = 0; i < 2; ++i) {
    AxisSet other = cx.sharding(1 - i).axes();
    Sharding to = cx.sharding(i);
    for (int64_t d : i == 0 ? sides.lhsFree : sides.rhsFree)
      llvm::erase_if(to.dims[d], [&](uint8_t a) { return other.contains(a); });
    error.fixOperand(i, to);
  }
}

// dot_general/reduction.6
void shardtype::offerDotPartial(TypingContext &cx, const DotSides &sides,
                                const Sharding &asked, ErrorBuilder &error) {
  const DotDims &n = sides.numbers;
  PartialAxes partial = partialAxes(sides, cx.sharding(0), cx.sharding(1));
  bool asAsked = false;
  for (unsigned i = 0; i < 2 && !partial.all; ++i) {
    // Both sides then have the other's axes; that must be what was asked for.
    AxisSet axes;
    for (int64_t d : i == 0 ? n.rhsContract : n.lhsContract)
      axes |= AxisSet::of(cx.sharding(1 - i).dims[d]);
    if (axes != asked.unreduced)
      continue;
    offerOthers(cx, sides, i, /*batch=*/false, error);
    asAsked = true;
  }
  if (asAsked)
    return;
  Sharding result = withoutSets(asked);
  error.fix(result);
  result.unreduced = AxisSet::of(partial.axes);
  result.kind = ReductionKind::Sum;
  if (partial.all && !partial.axes.empty() &&
      !result.axes().intersects(result.unreduced))
    error.fix(result);
}
