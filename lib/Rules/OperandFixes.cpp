// OperandFixes.cpp - which reshards of operands make an equation well typed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule that refuses its operands proposes other shardings for them. Whether a
// proposal is legal, and what the result then is, the row itself knows best: it
// is run again on the changed operands, and what it proposes then is followed
// further. So the ways out are, nearest first,
//
// - one operand resharded;
// - the first proposals for all operands together;
// - several operands, or one further than the rule proposed at first: what the
//   row proposes for the changed operands, until it accepts them;
// - an operand resharded and the result's sharding said, where that gives what
//   saying it alone gives, for less.
//
// Proposals that lead nowhere are dropped.
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Support/Bytes.h"

using namespace shardtype;

/// How often a row is run for one finding.
static constexpr unsigned MaxTrials = 64;
/// Ways with several reshards that are offered, and reshards in one.
static constexpr unsigned MaxGroups = 4, MaxSteps = 8;

namespace {
/// Operands that may be, what they came from, and what comes of them.
struct Way {
  SmallVector<Typed, 4> operands;
  SmallVector<std::optional<Fix>, 4> edits; // Of each operand.
  SmallVector<Typed, 2> results;            // If accepted.
  std::vector<Fix> proposals;               // If not.
  std::optional<Fix> result;                // Said in addition.
  bool accepted = false, leavesSums = false;
  uint64_t sent = 0;
};
} // namespace

namespace shardtype {
/// Runs the row of a context on other operands.
class FixSearch {
public:
  FixSearch(TypingContext &cx, Diagnostic &diagnostic)
      : cx_(cx), diagnostic_(diagnostic) {}
  void run();

private:
  Way start() const;
  bool change(Way &way, const Fix &fix) const;
  Fix reshard(unsigned operand, const Sharding &sharding) const;
  void tryOut(Way &way);
  SmallVector<Way, 4> single();
  std::optional<Way> together();
  SmallVector<Way, 4> further();
  std::optional<Way> withoutAnySets();
  std::optional<Way> besideResult(ArrayRef<Way> refused);
  void keep(ArrayRef<Way> ways);
  void assume(const Way &way, ArrayRef<Fix> fixes);

  TypingContext &cx_;
  Diagnostic &diagnostic_;
  SmallVector<Way, 4> refused_; // With one operand changed.
  unsigned trials_ = 0;
};
} // namespace shardtype

/// The edits of a way, in the order of the operands.
static std::vector<Fix> fixesOf(const Way &way) {
  std::vector<Fix> fixes;
  for (const std::optional<Fix> &edit : way.edits)
    if (edit)
      fixes.push_back(*edit);
  if (way.result)
    fixes.push_back(*way.result);
  return fixes;
}

Way FixSearch::start() const {
  Way way;
  way.operands.assign(cx_.operands_.begin(), cx_.operands_.end());
  way.edits.resize(way.operands.size());
  return way;
}

Fix FixSearch::reshard(unsigned operand, const Sharding &sharding) const {
  Diagnostic made;
  ErrorBuilder(cx_, made).fixOperand(operand, sharding);
  return made.fixes.front();
}

/// Makes a proposal; false if it is none for an operand, or no reshard does it.
bool FixSearch::change(Way &way, const Fix &fix) const {
  if (fix.operand < 0 || !fix.type.valid() ||
      way.operands[fix.operand].type == fix.type)
    return false;
  const Type from = cx_.operand(fix.operand), to = cx_.context().type(fix.type);
  std::optional<Fix> &edit = way.edits[fix.operand];
  if (!from.isArray() || !to.isArray())
    return false;
  if (from.manual != to.manual) {
    // A path of casts; after another edit it would start elsewhere.
    if (edit)
      return false;
    edit = fix;
    edit->assumed = false;
  } else {
    if (refusedReshard(cx_.context(), from.sharding, to.sharding))
      return false;
    edit.reset();
    if (fix.type != cx_.operandId(fix.operand))
      edit = reshard(fix.operand, to.sharding);
  }
  way.operands[fix.operand] = {fix.type};
  return true;
}

static bool anyUnreduced(Context &context, ArrayRef<Typed> results) {
  return llvm::any_of(results, [&](const Typed &result) {
    return result.type.valid() && context.type(result.type).isArray() &&
           (!context.type(result.type).sharding.unreduced.empty() ||
            !context.type(result.type).manual.unreduced.empty());
  });
}

void FixSearch::tryOut(Way &way) {
  ++trials_;
  TypingContext other(cx_, way.operands, cx_.mesh_, cx_.options_);
  other.recorded_ = cx_.recorded_;
  way.accepted = succeeded(other.run());
  cx_.usedRecorded_ |= other.usedRecorded_;
  way.results = std::move(other.results_);
  if (!way.accepted && !other.diagnostics_.empty())
    way.proposals = std::move(other.diagnostics_.back().fixes);
  way.leavesSums = anyUnreduced(cx_.context(), way.results);
  way.sent = 0;
  for (const Fix &fix : fixesOf(way))
    way.sent = addAmounts(way.sent, totalSent(fix.communication));
}

/// Complete values first, then by bytes sent (architecture.md, "Verdicts").
static bool isBetter(const Way &a, const Way &b) {
  if (a.leavesSums != b.leavesSums)
    return !a.leavesSums;
  return a.sent < b.sent;
}

SmallVector<Way, 4> FixSearch::single() {
  SmallVector<Way, 4> accepted;
  for (const Fix &fix : diagnostic_.fixes) {
    Way way = start();
    if (!change(way, fix))
      continue;
    tryOut(way);
    (way.accepted ? accepted : refused_).push_back(std::move(way));
  }
  llvm::stable_sort(accepted, isBetter);
  return accepted;
}

/// All proposals at once, the first of each operand.
std::optional<Way> FixSearch::together() {
  Way way = start();
  unsigned count = 0;
  for (const Fix &fix : diagnostic_.fixes)
    if (fix.operand >= 0 && !way.edits[fix.operand])
      count += change(way, fix);
  if (count < 2)
    return std::nullopt;
  tryOut(way);
  return way.accepted ? std::optional(std::move(way)) : std::nullopt;
}

/// What the row proposes for operands it refused, step by step; all ways that
/// are as near as the nearest.
SmallVector<Way, 4> FixSearch::further() {
  SmallVector<Way, 4> now = refused_, accepted;
  std::vector<SmallVector<Typed, 4>> seen;
  for (unsigned step = 0; step < MaxSteps && accepted.empty(); ++step) {
    SmallVector<Way, 4> next;
    for (const Way &from : now)
      for (const Fix &fix : from.proposals) {
        Way way = from;
        if (!change(way, fix) || llvm::is_contained(seen, way.operands) ||
            trials_ >= MaxTrials)
          continue;
        seen.push_back(way.operands);
        way.proposals.clear();
        tryOut(way);
        (way.accepted ? accepted : next).push_back(std::move(way));
      }
    now = std::move(next);
  }
  llvm::stable_sort(accepted, isBetter);
  return accepted;
}

/// Where sets are in the way and the rule has nothing to propose: complete
/// values, and if that is not enough, ones that are not reduced either.
std::optional<Way> FixSearch::withoutAnySets() {
  for (auto without : {withoutUnreduced, withoutSets}) {
    Way whole = start();
    bool any = false;
    for (unsigned i = 0; i < whole.operands.size(); ++i)
      if (const Type &type = cx_.operand(i); type.isArray())
        any |= change(whole, reshard(i, without(type.sharding)));
    if (any)
      tryOut(whole);
    if (whole.accepted)
      return whole;
  }
  return std::nullopt;
}

/// Changed operands for which the result has to be said still, to be what it is
/// in the finding's first fix, for less.
std::optional<Way> FixSearch::besideResult(ArrayRef<Way> refused) {
  const Fix *first =
      diagnostic_.fixes.empty() ? nullptr : &diagnostic_.fixes.front();
  if (!first || first->operand >= 0 || first->bodyResult >= 0)
    return std::nullopt;
  std::optional<Way> best;
  uint64_t most = totalSent(first->communication);
  for (const Way &way : refused)
    for (const Fix &fix : way.proposals) {
      if (fix.operand >= 0 || fix.type != first->type)
        continue;
      uint64_t sent = addAmounts(way.sent, totalSent(fix.communication));
      if (sent >= most)
        continue;
      most = sent;
      best = way;
      best->result = fix;
      best->results = {{fix.type}};
    }
  return best;
}

/// The way that checking goes on with.
void FixSearch::assume(const Way &way, ArrayRef<Fix> fixes) {
  for (Fix &fix : diagnostic_.fixes)
    fix.assumed = llvm::any_of(fixes, [&](const Fix &taken) {
      return taken.operand == fix.operand && taken.type == fix.type &&
             taken.group == fix.group;
    });
  cx_.results_ = way.results;
}

/// Puts the ways in place of the proposals for operands.
void FixSearch::keep(ArrayRef<Way> ways) {
  auto isOperandFix = [](const Fix &fix) { return fix.operand >= 0; };
  size_t at = llvm::find_if(diagnostic_.fixes, isOperandFix) -
              diagnostic_.fixes.begin();
  llvm::erase_if(diagnostic_.fixes, isOperandFix);
  if (ways.empty())
    return;
  bool first = at == 0 || ways.front().result;
  at = ways.front().result ? 0 : at;
  size_t begin = at;
  unsigned group = 0, lone = 0;
  for (const Way &way : ways) {
    std::vector<Fix> fixes = fixesOf(way);
    unsigned number = fixes.size() > 1 ? ++group : 0;
    lone += number == 0;
    if (number > MaxGroups)
      break;
    for (Fix &fix : fixes) {
      fix.group = number;
      diagnostic_.fixes.insert(diagnostic_.fixes.begin() + at++,
                               std::move(fix));
    }
  }
  if (group == 1 && !lone && !ways.front().result)
    diagnostic_.notes.push_back(
        {"all of these operands have to be resharded", StackId()});
  // The first fix is the one that is assumed, of an operand or a result.
  if (diagnostic_.wanted.valid() || (!first && cx_.hasResult()))
    return;
  std::vector<Fix> taken(diagnostic_.fixes.begin() + begin,
                         diagnostic_.fixes.begin() + begin +
                             fixesOf(ways.front()).size());
  assume(ways.front(), taken);
}

void FixSearch::run() {
  SmallVector<Way, 4> ways = single();
  bool anyResult = llvm::any_of(diagnostic_.fixes, [](const Fix &fix) {
    return fix.operand < 0 && fix.type.valid();
  });
  if (ways.empty())
    if (std::optional<Way> all = together())
      ways.push_back(std::move(*all));
  if (ways.empty() && !anyResult)
    ways = further();
  if (ways.empty() && !anyResult)
    if (std::optional<Way> whole = withoutAnySets())
      ways.push_back(std::move(*whole));
  if (std::optional<Way> beside = besideResult(refused_))
    ways.insert(ways.begin(), std::move(*beside));
  keep(ways);
}

bool TypingContext::hasResult() const {
  return llvm::any_of(results_,
                      [](const Typed &result) { return result.type.valid(); });
}

void TypingContext::tryOperandFixes(Diagnostic &diagnostic) {
  bool proposed = llvm::any_of(diagnostic.fixes,
                               [](const Fix &fix) { return fix.operand >= 0; });
  bool sets = llvm::any_of(operands_, [&](const Typed &operand) {
    const Type &type = context_.type(operand.type);
    return type.isArray() && type.sharding.hasUR();
  });
  if (proposed || (sets && diagnostic.fixes.empty()))
    FixSearch(*this, diagnostic).run();
}
