// ReshardPlan.cpp - planning a change of sharding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan moves digits (Placement.h) one step after another from where they are
// to where they shall be. Each step is one collective over all the digits that
// take it together:
//
//   Partial -> At       reduce-scatter          Whole -> At     slice, free
//   Partial -> Whole    all-reduce              At -> Partial   free
//   At -> elsewhere     all-to-all, or permute  Whole -> Partial free
//   At -> Whole         all-gather
//
// The order keeps arrays small: slices, then reduce-scatters, then what leaves
// the size alone, then all-reduces, and all-gathers last. A digit can move only
// if no other digit is in its way; so the steps are tried in this order again
// until nothing is left. Where the blocks of some digits merely change places
// ((X,Y) -> (Y,X), or X -> Y of the same size) one permute does it. Example,
// X=4 and Y=2: f32[8@X,4@Y] -> f32[8@Y,4@X]. Y and the first half of X have
// blocks of the same size and change places (permute over X and Y); the second
// half of X goes from dim 0 to dim 1 (all-to-all over X).
//
// Digits that block each other in a circle of unequal blocks go in one permute
// over all of them: a device may have to send all it holds. Plans are good, not
// proved best.
#include "ReshardPlan.h"
#include "shardtype/Rules/Cost.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

using Wide = unsigned __int128;

void ReshardPlan::emit(CommStep::Kind kind, ArrayRef<unsigned> digits,
                       uint64_t payload) {
  CommStep step;
  step.kind = kind;
  step.payloadBytes = payload;
  AxisSet axes;
  uint64_t n = 1;
  for (unsigned d : digits) {
    axes.insert(digits_[d].axis);
    n = llvm::SaturatingMultiply<uint64_t>(n, digits_[d].size);
  }
  for (uint8_t axis : axes.list())
    step.axes.push_back(cx_.str(mesh_.axes[axis].name).str());
  step.devices = n;
  step.sentBytes = sentBytes(kind, payload, n);
  steps_.push_back(std::move(step));
}

uint64_t ReshardPlan::localBytes() const {
  if (!isCounted(elements_))
    return elements_;
  uint64_t parts = 1;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (now_[d].kind == Place::At)
      parts = llvm::SaturatingMultiply<uint64_t>(parts, digits_[d].size);
  Wide bits = llvm::divideCeil(elements_, parts);
  return amountOf((bits * bitsEach_ + 7) / 8);
}

/// The parts that a slot is split in from this digit up; saturates.
static int64_t below(const Place &place, const AxisDigit &digit) {
  int64_t parts;
  return llvm::MulOverflow(place.above, digit.size, parts)
             ? std::numeric_limits<int64_t>::max()
             : parts;
}

bool ReshardPlan::moves(unsigned digit) const {
  return now_[digit] != to_[digit];
}

/// Whether the digits of one slot cannot be there at once.
bool ReshardPlan::conflicts(unsigned a, Place placeA, unsigned b,
                            Place placeB) const {
  if (placeA.kind != Place::At || placeB.kind != Place::At ||
      placeA.slot != placeB.slot)
    return false;
  int64_t belowA = below(placeA, digits_[a]);
  int64_t belowB = below(placeB, digits_[b]);
  return placeB.above % belowA != 0 && placeA.above % belowB != 0;
}

bool ReshardPlan::isFree(unsigned digit, Place target) const {
  for (unsigned other = 0; other < digits_.size(); ++other)
    if (other != digit && conflicts(digit, target, other, now_[other]))
      return false;
  return true;
}

void ReshardPlan::settle(ArrayRef<unsigned> digits) {
  for (unsigned d : digits)
    now_[d] = to_[d];
}

bool ReshardPlan::slice() {
  bool any = false;
  for (unsigned d = 0; d < digits_.size(); ++d) {
    if (!moves(d) || now_[d].kind != Place::Whole)
      continue;
    if (to_[d].kind == Place::At && !isFree(d, to_[d]))
      continue;
    now_[d] = to_[d];
    any = true;
  }
  return any;
}

bool ReshardPlan::reduceScatter() {
  for (unsigned d = 0; d < digits_.size(); ++d) {
    DigitList together;
    for (unsigned other = d; other < digits_.size(); ++other)
      if (now_[other].kind == Place::Partial && to_[other].kind == Place::At &&
          to_[other].slot == to_[d].slot && isFree(other, to_[other]))
        together.push_back(other);
    if (together.empty() || together.front() != d)
      continue;
    emit(CommStep::ReduceScatter, together, localBytes());
    settle(together);
    return true;
  }
  return false;
}

bool ReshardPlan::allReduce() {
  DigitList together;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (now_[d].kind == Place::Partial && to_[d].kind == Place::Whole)
      together.push_back(d);
  if (together.empty())
    return false;
  emit(CommStep::AllReduce, together, localBytes());
  settle(together);
  return true;
}

bool ReshardPlan::allGather() {
  for (unsigned d = 0; d < digits_.size(); ++d) {
    if (now_[d].kind != Place::At || to_[d].kind != Place::Whole)
      continue;
    // The dim's axes together; and an axis as a whole, also where it is in two
    // factors.
    DigitList together;
    AxisSet axes;
    axes.insert(digits_[d].axis);
    for (unsigned other = d; other < digits_.size(); ++other)
      if (now_[other].kind == Place::At && to_[other].kind == Place::Whole &&
          (now_[other].slot == now_[d].slot ||
           axes.contains(digits_[other].axis))) {
        together.push_back(other);
        axes.insert(digits_[other].axis);
      }
    settle(together);
    emit(CommStep::AllGather, together, localBytes());
    return true;
  }
  return false;
}

/// A device that holds a block keeps it and has zeros elsewhere.
bool ReshardPlan::keepAsPartial() {
  bool any = false;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (now_[d].kind == Place::At && to_[d].kind == Place::Partial) {
      now_[d] = to_[d];
      any = true;
    }
  return any;
}

bool ReshardPlan::exchange() {
  auto ready = [&](unsigned d) {
    return moves(d) && now_[d].kind == Place::At && to_[d].kind == Place::At &&
           isFree(d, to_[d]);
  };
  for (unsigned d = 0; d < digits_.size(); ++d) {
    if (!ready(d))
      continue;
    DigitList together;
    unsigned from = now_[d].slot, to = to_[d].slot;
    for (unsigned other = 0; other < digits_.size(); ++other)
      if (ready(other) && now_[other].slot == from && to_[other].slot == to)
        together.push_back(other);
    settle(together);
    // The rest of the same axis follows in the same step, where it can: its
    // digits are parts of one exchange.
    for (bool more = true; more;) {
      more = false;
      for (unsigned other = 0; other < digits_.size(); ++other)
        if (digits_[other].axis == digits_[d].axis && ready(other)) {
          together.push_back(other);
          settle(other);
          more = true;
        }
    }
    emit(CommStep::AllToAll, together, localBytes());
    return true;
  }
  return false;
}

bool ReshardPlan::permuteRest() {
  DigitList together;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (moves(d) && now_[d].kind == Place::At)
      together.push_back(d);
  if (together.empty())
    return false;
  emit(CommStep::Permute, together, localBytes());
  settle(together);
  return true;
}

//===--- Blocks that change places ----------------------------------------===//

namespace {
/// What digits take of the slots: runs of `above`, sorted, adjacent ones
/// joined.
struct Run {
  unsigned slot;
  int64_t above, below;
  friend bool operator==(const Run &, const Run &) = default;
};
} // namespace

static SmallVector<Run, 4> runsOf(ArrayRef<unsigned> members,
                                  const Placement &places,
                                  ArrayRef<AxisDigit> digits) {
  SmallVector<Run, 4> runs;
  for (unsigned d : members)
    if (places[d].kind == Place::At)
      runs.push_back(
          {places[d].slot, places[d].above, below(places[d], digits[d])});
  llvm::sort(runs, [](const Run &a, const Run &b) {
    return std::tie(a.slot, a.above) < std::tie(b.slot, b.above);
  });
  SmallVector<Run, 4> joined;
  for (const Run &run : runs) {
    if (!joined.empty() && joined.back().slot == run.slot &&
        joined.back().below == run.above)
      joined.back().below = run.below;
    else
      joined.push_back(run);
  }
  return joined;
}

/// The digits that stand in each other's way, from `digit` on.
ReshardPlan::DigitList ReshardPlan::blockOf(unsigned digit) const {
  DigitList members = {digit};
  for (unsigned i = 0; i < members.size(); ++i)
    for (unsigned other = 0; other < digits_.size(); ++other) {
      if (llvm::is_contained(members, other) || !moves(other))
        continue;
      unsigned d = members[i];
      if (conflicts(d, to_[d], other, now_[other]) ||
          conflicts(d, now_[d], other, to_[other]))
        members.push_back(other);
    }
  return members;
}

/// What `before` has and `after` has not, where that is one run below the rest.
static std::optional<Run> leftOver(ArrayRef<Run> before, ArrayRef<Run> after) {
  std::optional<Run> left;
  for (const Run &run : before) {
    const Run *same = llvm::find_if(after, [&](const Run &other) {
      return other.slot == run.slot && other.above == run.above;
    });
    int64_t from = same == after.end() ? run.above : same->below;
    if (from == run.below)
      continue;
    if (from > run.below || left)
      return std::nullopt;
    left = Run{run.slot, from, run.below};
  }
  return left;
}

/// An axis above others goes away: it changes places with them first, while
/// the blocks are small, and is gathered later. (X,Y) -> Y by (Y,X).
bool ReshardPlan::dropAbove(ArrayRef<unsigned> members) {
  auto before = runsOf(members, now_, digits_);
  std::optional<Run> left = leftOver(before, runsOf(members, to_, digits_));
  if (!left)
    return false;
  Placement next = now_;
  for (unsigned d : members) {
    if (now_[d].kind != Place::At)
      return false;
    next[d] = to_[d];
    if (to_[d].kind == Place::At)
      continue;
    next[d] = {Place::At, left->slot, left->above};
    left->above = below(next[d], digits_[d]);
  }
  // All that was taken must be taken again, by blocks of the same sizes.
  if (runsOf(members, next, digits_) != before)
    return false;
  emit(CommStep::Permute, members, localBytes());
  now_ = next;
  return true;
}

bool ReshardPlan::swapBlocksWith(unsigned digit) {
  DigitList members = blockOf(digit);
  if (members.size() < 2)
    return false;
  for (unsigned d : members)
    if (now_[d].kind == Place::Partial || to_[d].kind == Place::Partial)
      return false;
  if (runsOf(members, now_, digits_) != runsOf(members, to_, digits_))
    return dropAbove(members);
  emit(CommStep::Permute, members, localBytes());
  settle(members);
  return true;
}

bool ReshardPlan::swapBlocks() {
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (moves(d) && to_[d].kind == Place::At && swapBlocksWith(d))
      return true;
  return false;
}

//===--- Plans ------------------------------------------------------------===//

void ReshardPlan::run(const Placement &from, const Placement &to) {
  if (elements_ == 0)
    return;
  now_ = from;
  to_ = to;
  while (slice() || reduceScatter() || swapBlocks() || exchange() ||
         allReduce() || allGather() || keepAsPartial() || permuteRest())
    ;
  assert(now_ == to_ && "a plan that does not arrive");
}

void ReshardPlan::permute(const Placement &placement, AxisSet axes) {
  if (elements_ == 0)
    return;
  now_ = placement;
  DigitList over;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (axes.contains(digits_[d].axis))
      over.push_back(d);
  if (!over.empty())
    emit(CommStep::Permute, over, localBytes());
}
