// OperandFixes.cpp - which reshards of operands make an equation well typed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule that refuses its operands proposes other shardings for them. Whether a
// proposal is legal, and what the result then is, the row itself knows best: it
// is run again on the changed operands. Proposals that are refused as well are
// dropped, unless no single one helps but all together do.
#include "shardtype/Rules/TypingContext.h"

using namespace shardtype;

std::optional<SmallVector<Typed, 2>>
TypingContext::trial(ArrayRef<Typed> operands) {
  TypingContext other(context_, program_, primitive_, params_, operands, mesh_,
                      numResults(), options_, host_);
  other.recorded_ = recorded_;
  other.isTrial_ = true;
  bool accepted = succeeded(other.run());
  usedRecorded_ |= other.usedRecorded_;
  if (!accepted)
    return std::nullopt;
  return std::move(other.results_);
}

namespace {
/// A fix that the row accepts, and what comes of it.
struct Accepted {
  Fix fix;
  SmallVector<Typed, 2> results;
  bool leavesSums = false;
};
} // namespace

static bool anyUnreduced(Context &context, ArrayRef<Typed> results) {
  return llvm::any_of(results, [&](const Typed &result) {
    return result.type.valid() && context.type(result.type).isArray() &&
           (!context.type(result.type).sharding.unreduced.empty() ||
            !context.type(result.type).manual.unreduced.empty());
  });
}

/// Complete values first, then by bytes sent (architecture.md, "Verdicts").
static bool isBetter(const Accepted &a, const Accepted &b) {
  if (a.leavesSums != b.leavesSums)
    return !a.leavesSums;
  return totalSent(a.fix.communication) < totalSent(b.fix.communication);
}

bool TypingContext::hasResult() const {
  return llvm::any_of(results_,
                      [](const Typed &result) { return result.type.valid(); });
}

/// All proposals at once, the first of each operand.
void TypingContext::tryAllFixes(Diagnostic &diagnostic) {
  SmallVector<Typed, 4> operands(operands_);
  SmallVector<Fix *, 4> taken;
  for (Fix &fix : diagnostic.fixes) {
    bool isFirst = llvm::none_of(
        taken, [&](const Fix *t) { return t->operand == fix.operand; });
    if (fix.operand < 0 || !isFirst)
      continue;
    operands[fix.operand] = {fix.type};
    taken.push_back(&fix);
  }
  if (taken.size() < 2)
    return;
  std::optional<SmallVector<Typed, 2>> results = trial(operands);
  if (!results)
    return;
  diagnostic.notes.push_back(
      {"all of these operands have to be resharded", StackId()});
  if (hasResult())
    return;
  for (Fix *fix : taken)
    fix->assumed = true;
  results_ = std::move(*results);
}

void TypingContext::tryOperandFixes(Diagnostic &diagnostic) {
  SmallVector<Accepted, 4> accepted;
  for (const Fix &fix : diagnostic.fixes) {
    if (fix.operand < 0)
      continue;
    SmallVector<Typed, 4> operands(operands_);
    operands[fix.operand] = {fix.type};
    if (std::optional<SmallVector<Typed, 2>> results = trial(operands))
      accepted.push_back({fix, *results, anyUnreduced(context_, *results)});
  }
  if (accepted.empty())
    return tryAllFixes(diagnostic);
  llvm::stable_sort(accepted, isBetter);
  auto isOperandFix = [](const Fix &fix) { return fix.operand >= 0; };
  size_t at =
      llvm::find_if(diagnostic.fixes, isOperandFix) - diagnostic.fixes.begin();
  // The first fix is the one that is assumed, of an operand or a result.
  if (!diagnostic.wanted.valid() && (at == 0 || !hasResult())) {
    for (Fix &fix : diagnostic.fixes)
      fix.assumed = false;
    accepted.front().fix.assumed = true;
    results_ = accepted.front().results;
  }
  llvm::erase_if(diagnostic.fixes, isOperandFix);
  for (Accepted &a : accepted)
    diagnostic.fixes.insert(diagnostic.fixes.begin() + at++, std::move(a.fix));
}
