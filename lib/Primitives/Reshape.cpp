// Reshape.cpp - reshape.
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
#include "Families.h"
#include "ReshapeDims.h"
#include "Shapes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

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

/// Why the rule gives no sharding.
struct Refusal {
  enum Kind : uint8_t { Unsupported, Index, Leftover } kind = Unsupported;
  std::string why;
  /// New sizes with the parts in another order that would do, if there are any.
  SmallVector<int64_t, 4> betterSizes;
  std::optional<Sharding> sound; // What JAX misses by accident.
};
using Outcome = std::variant<Sharding, Refusal>;
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

//===--- Splits and merges of one dim -------------------------------------===//

namespace {
/// A dim's size, and the sizes it is split into (one: it is not).
using Parts = SmallVector<int64_t, 4>;
struct SplitSearch {
  enum Kind : uint8_t { No, Yes, Refused } kind = No;
  SmallVector<Parts, 6> parts; // Yes: per dim that is not of size 1.
  Refusal refusal;
};
} // namespace

static SmallVector<int64_t, 6> withoutOnes(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t, 6> result;
  llvm::copy_if(sizes, std::back_inserter(result),
                [](int64_t size) { return size != 1; });
  return result;
}

static SplitSearch refused(Refusal::Kind kind, const char *why) {
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
      return refused(Refusal::Index, "it changes the number of elements");
    Parts &parts = found.parts.emplace_back();
    if (a[i] == b[j]) {
      parts.push_back(a[i]);
      continue;
    }
    if (++splits > 1)
      return refused(Refusal::Unsupported,
                     "it splits or merges at more than one place");
    if (Dim::isSymbolic(a[i]) || llvm::any_of(b, Dim::isSymbolic))
      return refused(Refusal::Unsupported, "a size is not a number");
    if (!takeParts(a[i], b, j, parts))
      return {};
    if (j == b.size())
      return refused(Refusal::Index, "a size is 0");
  }
  if (i < a.size())
    return refused(Refusal::Leftover, "it changes the number of elements");
  found.kind = SplitSearch::Yes;
  return found;
}

//===--- Where the axes go ------------------------------------------------===//

namespace {
/// The computation of one reshape's sharding.
class ReshapeRule {
public:
  ReshapeRule(TypingContext &cx, ArrayRef<int64_t> newSizes, bool reorders)
      : cx_(cx), s_(cx.sharding(0)), mesh_(cx.context().meshOrEmpty(s_.mesh)),
        shape_(cx.shape(0)), newSizes_(newSizes), reorders_(reorders) {
    for (unsigned d = 0; d < shape_.size(); ++d)
      if (shape_[d] != 1)
        entries_.push_back({s_.dims[d], d});
  }
  Outcome run();

private:
  struct Entry {
    AxisList axes;
    unsigned dim;
  };
  Outcome singletons();
  Outcome split(ArrayRef<Parts> parts);
  Outcome merge(ArrayRef<Parts> parts);
  /// Deals out axes to parts; what is left over is a refusal.
  std::optional<Refusal> deal(ArrayRef<uint8_t> axes, ArrayRef<int64_t> parts,
                              SmallVectorImpl<AxisList> &out);
  Outcome layOut(ArrayRef<AxisList> entries, bool merged);
  Sharding result() const {
    Sharding r = s_;
    r.dims.assign(newSizes_.size(), {});
    return r;
  }
  Refusal reorders() const {
    return {Refusal::Unsupported, "it also reorders dims", {}, {}};
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

Outcome ReshapeRule::run() {
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
  return Refusal{Refusal::Unsupported,
                 "it neither splits one dim nor merges dims into one",
                 {},
                 {}}; // reshape/sharding.6
}

/// Dims of size 1 come and go, and lose their axes (of size 1).
Outcome ReshapeRule::singletons() {
  Sharding r = result();
  unsigned next = 0;
  for (unsigned d = 0; d < newSizes_.size(); ++d)
    if (newSizes_[d] != 1)
      r.dims[d] = entries_[next++].axes;
  return r;
}

std::optional<Refusal> ReshapeRule::deal(ArrayRef<uint8_t> axes,
                                         ArrayRef<int64_t> parts,
                                         SmallVectorImpl<AxisList> &out) {
  for (int64_t part : parts) {
    AxisList &list = out.emplace_back();
    int64_t rest = part;
    while (rest > 1 && !axes.empty()) {
      int64_t size = mesh_.axes[axes.front()].size;
      if (rest % size != 0)
        return Refusal{Refusal::Unsupported,
                       "a part of size " + std::to_string(part) +
                           " does not divide by " + std::to_string(size) +
                           ", the size of " + axisText(axes.front()) +
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
  return Refusal{Refusal::Leftover,
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

Outcome ReshapeRule::split(ArrayRef<Parts> parts) {
  SmallVector<AxisList, 6> entries;
  for (auto [part, entry] : llvm::zip_equal(parts, entries_)) {
    if (part.size() == 1) {
      entries.push_back(entry.axes);
      continue;
    }
    if (!entry.axes.empty() && reorders_)
      return reorders();
    unsigned first = entries.size();
    std::optional<Refusal> refusal = deal(entry.axes, part, entries);
    if (!refusal)
      continue;
    refusal->why =
        "dim " + std::to_string(entry.dim) + " is split, and " + refusal->why;
    SmallVector<AxisList, 6> ignored;
    if (refusal->kind == Refusal::Unsupported &&
        !deal(entry.axes, Parts(llvm::reverse(part)), ignored))
      refusal->betterSizes = turned(newSizes_, first, part);
    return *refusal;
  }
  return layOut(entries, /*merged=*/false);
}

Outcome ReshapeRule::merge(ArrayRef<Parts> parts) {
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
      return Refusal{Refusal::Unsupported,
                     "dim " + std::to_string(behind->dim) +
                         " is sharded and merged behind dim " +
                         std::to_string(gap->dim) + ", which is whole",
                     {},
                     {}};
    int64_t size = 1;
    for (int64_t factor : part)
      size *= factor;
    if (std::optional<Refusal> refusal = deal(axes, size, entries))
      return *refusal;
  }
  return layOut(entries, /*merged=*/true);
}

/// Entries to the dims that are not of size 1, in order; one of size 1 gets the
/// entry of the operand's dim at the same position, if that has size 1 too.
Outcome ReshapeRule::layOut(ArrayRef<AxisList> entries, bool merged) {
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
    return Refusal{Refusal::Index,
                   "a dim of size 1 stands behind the operand's last dim",
                   {},
                   r};
  return r;
}

//===--- Choices ----------------------------------------------------------===//

namespace {
/// A sharding to offer, and what it costs.
struct Choice {
  Sharding sharding;
  uint64_t sent;
  size_t steps;
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

/// Offers them, the cheapest first.
static void offerChoices(TypingContext &cx, ErrorBuilder &error) {
  SmallVector<Choice, 8> choices;
  DimMap map = reshapeDims(cx);
  for (Sharding &sharding : possibleShardings(cx, error)) {
    if (checkDivisible(cx.context(), sharding, cx.resultShape()))
      continue;
    auto steps =
        resultCost(cx.context(), map, cx.operandId(0), cx.composed(sharding));
    choices.push_back({std::move(sharding), totalSent(steps), steps.size()});
  }
  llvm::stable_sort(choices, [](const Choice &a, const Choice &b) {
    return std::tie(a.sent, a.steps) < std::tie(b.sent, b.steps);
  });
  for (const Choice &choice : choices)
    error.fix(choice.sharding);
}

//===--- The row ----------------------------------------------------------===//

static ErrorBuilder report(TypingContext &cx, const Refusal &refusal) {
  if (refusal.kind == Refusal::Unsupported) {
    ErrorBuilder error = cx.error(diag::ReshapeUnsupported, refusal.why);
    if (!refusal.betterSizes.empty())
      error.note("a reshape to " + listText(refusal.betterSizes) +
                 " keeps its sharding");
    offerChoices(cx, error);
    return error;
  }
  ErrorBuilder error =
      cx.error(refusal.kind == Refusal::Index ? diag::AccidentalIndex
                                              : diag::AccidentalReject,
               cx.name(), refusal.why);
  error.mark(0);
  Sharding sound = cx.sharding(0); // Sets pass, whatever their kind.
  sound.dims.assign(cx.resultShape().size(), {});
  error.sound(refusal.sound.value_or(sound));
  return error;
}

static FailureOr<Sharding> reshapeSharding(TypingContext &cx) {
  const auto &p = cx.params<Reshape>();
  if (p.sharding.given()) // reshape/sharding.1
    return resolveLong(cx, p.sharding, p.newSizes.size(), "sharding");
  if (cx.options().jax == JaxVersion::V0_11 && cx.sharding(0).partitioned() &&
      cx.sharding(0).hasUR() &&
      withoutOnes(cx.shape(0)) == withoutOnes(p.newSizes))
    return refuseSets(cx, diag::SpecIteration, 0); // reshape/reduction.3
  Outcome outcome = ReshapeRule(cx, p.newSizes, p.dimensions.has_value()).run();
  if (auto *refusal = std::get_if<Refusal>(&outcome))
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
  if (cx.options().jax == JaxVersion::V0_11 && failed(requireSum(cx, 0)))
    return failure();
  if (s.unreduced != asked->unreduced) // reshape/reduction.2
    return reportSets(cx, diag::ReshapeUnreduced, *asked);
  if (s.kind != asked->kind)
    return reportSets(cx, diag::ReshapeKind, *asked);
  if (s.reduced != asked->reduced)
    return reportSets(cx, diag::ReshapeReduced, *asked);
  ReductionSets sets{s.unreduced, s.reduced, s.kind};
  return checkLong(cx, p.sharding, "sharding", sets);
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
                      .memory = memory::standard}}};

ArrayRef<Primitive> shardtype::reshape() { return Rows; }
