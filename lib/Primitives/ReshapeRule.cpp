// ReshapeRule.cpp - the sharding that a reshape's sizes imply.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a sharding parameter the result's sharding is read off the sizes
// (reshape/sharding.2 to .6). Only three forms are understood: dims of size 1
// come and go; one dim is split into several; several are merged into one.
// Splitting deals out the axes of the dim to its parts, major first:
//
//   f32[8@(X,Y)] -> (2, 4): X=2 fills the first part, Y goes to the second
//
// and merging needs the dims in front of a sharded one to be sharded too. All
// else is refused, and the shardings that could be asked for are offered with
// what they would cost. JAX fails by accident (an index error, an assertion) in
// corners: trailing dims of size 1, sizes of 0, leftover axes of size 1.
#include "ReshapeRule.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

//===--- Splits and merges of one dim -------------------------------------===//

namespace {
/// A dim's size, and the sizes it is split into (one: it is not).
using Parts = SmallVector<int64_t, 4>;
struct SplitSearch {
  enum Kind : uint8_t { No, Yes, Refused } kind = No;
  SmallVector<Parts, 6> parts; // Yes: per dim that is not of size 1.
  ReshapeRefusal refusal;
};
} // namespace

SmallVector<int64_t, 6> shardtype::withoutOnes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 6> result;
  llvm::copy_if(sizes, std::back_inserter(result),
                [](int64_t size) { return size != 1; });
  return result;
}

static SplitSearch refused(ReshapeRefusal::Kind kind, const char *why) {
  return {SplitSearch::Refused, {}, {kind, why, {}, {}}};
}

/// Takes parts for one dim from `b` on; false: they overshoot. Running off the
/// end leaves `j` there.
static bool takeParts(int64_t size, ArrayRef<int64_t> b, unsigned &j,
                      Parts &parts) {
  int64_t product = b[j];
  parts.push_back(b[j]);
  while (product != size) {
    if (product > size)
      return false;
    if (++j == b.size())
      return true;
    if (Dim::isSymbolic(b[j]))
      return false;
    if (llvm::MulOverflow(product, b[j], product))
      product = std::numeric_limits<int64_t>::max();
    parts.push_back(b[j]);
  }
  return true;
}

/// Is `to` obtained from `from` by splitting one dim? Dims of size 1 aside.
static SplitSearch findSplit(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t, 6> a = withoutOnes(from), b = withoutOnes(to);
  SplitSearch found;
  if (b.size() <= a.size())
    return found;
  unsigned i = 0, splits = 0;
  for (unsigned j = 0; j < b.size(); ++i, ++j) {
    if (i == a.size())
      return refused(ReshapeRefusal::Index,
                     "it changes the number of elements");
    Parts &parts = found.parts.emplace_back();
    if (a[i] == b[j]) {
      parts.push_back(a[i]);
      continue;
    }
    if (++splits > 1)
      return refused(ReshapeRefusal::Unsupported,
                     "it splits or merges at more than one place");
    // Parts that are numbers make a number; the sizes behind them may be what
    // they are.
    ArrayRef<int64_t> rest = ArrayRef(b).drop_front(j);
    if (Dim::isSymbolic(a[i]) || Dim::isSymbolic(rest.front()))
      return refused(ReshapeRefusal::Unsupported, "a size is not a number");
    if (!takeParts(a[i], b, j, parts))
      return {};
    if (j == b.size())
      return refused(ReshapeRefusal::Index, "a size is 0");
  }
  if (i < a.size())
    return refused(ReshapeRefusal::Leftover,
                   "it changes the number of elements");
  found.kind = SplitSearch::Yes;
  return found;
}

//===--- Where the axes go ------------------------------------------------===//

namespace {
/// The computation of one reshape's sharding.
class ReshapeRule {
public:
  ReshapeRule(TypingContext &cx, const Sharding &from,
              ArrayRef<int64_t> newSizes, bool reorders)
      : cx_(cx), s_(from), mesh_(cx.context().meshOrEmpty(s_.mesh)),
        shape_(cx.shape(0)), newSizes_(newSizes), reorders_(reorders) {
    for (unsigned d = 0; d < shape_.size(); ++d)
      if (shape_[d] != 1)
        entries_.push_back({s_.dims[d], d});
  }
  ReshapeOutcome run();

private:
  struct Entry {
    AxisList axes;
    unsigned dim;
  };
  ReshapeOutcome singletons();
  ReshapeOutcome split(ArrayRef<Parts> parts);
  ReshapeOutcome merge(ArrayRef<Parts> parts);
  /// Deals out axes to parts; what is left over is a refusal.
  std::optional<ReshapeRefusal> deal(ArrayRef<uint8_t> axes,
                                     ArrayRef<int64_t> parts,
                                     SmallVectorImpl<AxisList> &out);
  ReshapeOutcome layOut(ArrayRef<AxisList> entries, bool merged);
  Sharding result() const {
    Sharding r = s_;
    r.dims.assign(newSizes_.size(), {});
    return r;
  }
  ReshapeRefusal reorders() const {
    return {ReshapeRefusal::Unsupported, "it also reorders dims", {}, {}};
  }
  std::string axisText(uint8_t axis) const {
    return "'" + cx_.context().str(mesh_.axes[axis].name).str() + "'";
  }

  TypingContext &cx_;
  const Sharding &s_;
  const Mesh &mesh_;
  ArrayRef<int64_t> shape_, newSizes_;
  bool reorders_;
  SmallVector<Entry, 6> entries_; // Of dims that are not of size 1.
};
} // namespace

ReshapeOutcome ReshapeRule::run() {
  if (!s_.partitioned())
    return result(); // reshape/sharding.2
  if (withoutOnes(shape_) == withoutOnes(newSizes_))
    return singletons(); // reshape/sharding.3
  SplitSearch search = findSplit(shape_, newSizes_);
  if (search.kind == SplitSearch::Yes)
    return split(search.parts); // reshape/sharding.4
  if (search.kind == SplitSearch::Refused)
    return search.refusal;
  search = findSplit(newSizes_, shape_);
  if (search.kind == SplitSearch::Yes)
    return merge(search.parts); // reshape/sharding.5
  if (search.kind == SplitSearch::Refused)
    return search.refusal;
  return ReshapeRefusal{ReshapeRefusal::Unsupported,
                        "it neither splits one dim nor merges dims into one",
                        {},
                        {}}; // reshape/sharding.6
}

/// Dims of size 1 come and go, and lose their axes (of size 1).
ReshapeOutcome ReshapeRule::singletons() {
  Sharding r = result();
  unsigned next = 0;
  for (unsigned d = 0; d < newSizes_.size(); ++d)
    if (newSizes_[d] != 1)
      r.dims[d] = entries_[next++].axes;
  return r;
}

std::optional<ReshapeRefusal>
ReshapeRule::deal(ArrayRef<uint8_t> axes, ArrayRef<int64_t> parts,
                  SmallVectorImpl<AxisList> &out) {
  for (int64_t part : parts) {
    AxisList &list = out.emplace_back();
    int64_t rest = part;
    while (rest > 1 && !axes.empty()) {
      int64_t size = mesh_.axes[axes.front()].size;
      if (rest % size != 0)
        return ReshapeRefusal{
            ReshapeRefusal::Unsupported,
            "a part of size " + std::to_string(part) + " does not divide by " +
                std::to_string(size) + ", the size of " +
                axisText(axes.front()) +
                (rest == part ? "" : ", after the axes before it"),
            {},
            {}};
      rest /= size;
      list.push_back(axes.front());
      axes = axes.drop_front();
    }
  }
  if (axes.empty())
    return std::nullopt;
  return ReshapeRefusal{ReshapeRefusal::Leftover,
                        axisText(axes.front()) + ", of size 1, finds no place",
                        {},
                        {}};
}

/// The new sizes with the parts of one dim, from the `first` that is not 1, the
/// other way round.
static SmallVector<int64_t, 4> turned(ArrayRef<int64_t> newSizes,
                                      unsigned first, ArrayRef<int64_t> part) {
  SmallVector<int64_t, 4> result(newSizes);
  unsigned at = 0;
  for (int64_t &size : result) {
    if (size == 1)
      continue;
    if (at >= first && at < first + part.size())
      size = part[part.size() - 1 - (at - first)];
    ++at;
  }
  return result;
}

ReshapeOutcome ReshapeRule::split(ArrayRef<Parts> parts) {
  SmallVector<AxisList, 6> entries;
  for (auto [part, entry] : llvm::zip_equal(parts, entries_)) {
    if (part.size() == 1) {
      entries.push_back(entry.axes);
      continue;
    }
    if (!entry.axes.empty() && reorders_)
      return reorders();
    unsigned first = entries.size();
    std::optional<ReshapeRefusal> refusal = deal(entry.axes, part, entries);
    if (!refusal)
      continue;
    refusal->why =
        "dim " + std::to_string(entry.dim) + " is split, and " + refusal->why;
    SmallVector<AxisList, 6> ignored;
    if (refusal->kind == ReshapeRefusal::Unsupported &&
        !deal(entry.axes, Parts(llvm::reverse(part)), ignored))
      refusal->betterSizes = turned(newSizes_, first, part);
    return *refusal;
  }
  return layOut(entries, /*merged=*/false);
}

ReshapeOutcome ReshapeRule::merge(ArrayRef<Parts> parts) {
  SmallVector<AxisList, 6> entries;
  ArrayRef<Entry> rest = entries_;
  for (const Parts &part : parts) {
    ArrayRef<Entry> merged = rest.take_front(part.size());
    rest = rest.drop_front(part.size());
    AxisList axes;
    const Entry *gap = nullptr, *behind = nullptr;
    for (const Entry &entry : merged) {
      if (entry.axes.empty() && !gap)
        gap = &entry;
      if (!entry.axes.empty() && gap && !behind)
        behind = &entry;
      axes.append(entry.axes);
    }
    if (merged.size() == 1 || axes.empty()) {
      entries.push_back(axes);
      continue;
    }
    if (reorders_)
      return reorders();
    if (behind)
      return ReshapeRefusal{ReshapeRefusal::Unsupported,
                            "dim " + std::to_string(behind->dim) +
                                " is sharded and merged behind dim " +
                                std::to_string(gap->dim) + ", which is whole",
                            {},
                            {}};
    int64_t size = 1;
    for (int64_t factor : part)
      size *= factor;
    if (std::optional<ReshapeRefusal> refusal = deal(axes, size, entries))
      return *refusal;
  }
  return layOut(entries, /*merged=*/true);
}

/// Entries to the dims that are not of size 1, in order; one of size 1 gets the
/// entry of the operand's dim at the same position, if that has size 1 too:
/// reshape/sharding.8.
ReshapeOutcome ReshapeRule::layOut(ArrayRef<AxisList> entries, bool merged) {
  Sharding r = result();
  bool beyond = false;
  unsigned next = 0;
  for (unsigned d = 0; d < newSizes_.size(); ++d) {
    if (newSizes_[d] != 1)
      r.dims[d] = entries[next++];
    else if (d < shape_.size() && shape_[d] == 1)
      r.dims[d] = s_.dims[d];
    beyond |= newSizes_[d] == 1 && d >= shape_.size();
  }
  if (merged && beyond)
    return ReshapeRefusal{
        ReshapeRefusal::Index,
        "a dim of size 1 stands behind the operand's last dim",
        {},
        r};
  return r;
}

ReshapeOutcome shardtype::inferReshape(TypingContext &cx, const Sharding &from,
                                       ArrayRef<int64_t> newSizes,
                                       bool reorders) {
  return ReshapeRule(cx, from, newSizes, reorders).run();
}
