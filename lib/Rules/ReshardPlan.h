// ReshardPlan.h - the collectives that take one placement to another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_RULES_RESHARDPLAN_H
#define SHARDTYPE_LIB_RULES_RESHARDPLAN_H

#include "Placement.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// Appends the steps from one placement of an array to another. The array has
/// so many elements of so many bits.
class ReshardPlan {
public:
  ReshardPlan(const Context &cx, const Mesh &mesh, ArrayRef<AxisDigit> digits,
              uint64_t elements, unsigned bitsEach,
              std::vector<CommStep> &steps)
      : cx_(cx), mesh_(mesh), digits_(digits), elements_(elements),
        bitsEach_(bitsEach), steps_(steps) {}

  void run(const Placement &from, const Placement &to);
  /// A step of its own, with the local bytes of this placement.
  void permute(const Placement &placement, AxisSet axes);

private:
  using DigitList = SmallVector<unsigned, 8>;
  bool slice();
  bool reduceScatter();
  bool swapBlocks();
  bool swapBlocksWith(unsigned digit);
  bool dropAbove(ArrayRef<unsigned> members);
  bool exchange();
  bool permuteRest();
  bool allReduce();
  bool allGather();
  bool keepAsPartial();

  bool conflicts(unsigned a, Place placeA, unsigned b, Place placeB) const;
  bool isFree(unsigned digit, Place target) const;
  bool moves(unsigned digit) const;
  DigitList blockOf(unsigned digit) const;
  void settle(ArrayRef<unsigned> digits);
  void emit(CommStep::Kind kind, ArrayRef<unsigned> digits, uint64_t payload);
  uint64_t localBytes() const;

  const Context &cx_;
  const Mesh &mesh_;
  ArrayRef<AxisDigit> digits_;
  uint64_t elements_;
  unsigned bitsEach_;
  std::vector<CommStep> &steps_;
  Placement now_, to_;
};

} // namespace shardtype

#endif
