// Plan.h - an instance of a jaxpr, made ready to be stepped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_PLAN_H
#define SHARDTYPE_LIB_INTERP_PLAN_H

#include "shardtype/Interp/Interp.h"

namespace shardtype::interp {

struct Plan;

/// Where an operand is: a slot of the frame, or a constant of the plan.
struct Place {
  static constexpr uint32_t ConstantBit = 1u << 31, Nowhere = ~0u;
  uint32_t raw = Nowhere;
  bool isConstant() const { return raw & ConstantBit; }
  uint32_t index() const { return raw & ~ConstantBit; }
  bool nowhere() const { return raw == Nowhere; }
};

/// One equation.
struct Step {
  EvalContext::Equation equation;
  SmallVector<Place, 3> operands;
  SmallVector<Place, 2> results;  // `nowhere`: nothing uses it.
  SmallVector<uint32_t, 3> dying; // Slots that hold nothing of use behind it.
  uint64_t lastUses = 0;          // Operands that may be moved out.
  std::shared_ptr<const void> params;
  SmallVector<std::pair<JaxprId, const Plan *>, 1> bodies;
  SmallVector<VarId, 1> traced;
  unsigned statistic = 0; // Its primitive's number.
  /// Devices with equal operands may take one result: it has no state, and is
  /// work enough.
  bool shares = false;
  /// Some operand or result is unreduced over axes that are not Manual.
  bool hasSums = false;
  /// Of a body that it may run; null: no rule typed that one.
  const Plan *planOf(JaxprId body) const {
    for (auto [id, plan] : bodies)
      if (id == body)
        return plan;
    return nullptr;
  }
};

/// A jaxpr typed for one tuple of argument types. Slots are shared by values
/// that are not alive at the same time.
struct Plan {
  InstanceId instance;
  std::string path; // Of its place, `eqns/3/params/jaxpr/`; one of them.
  std::vector<Step> steps;
  std::vector<TypeId> types; // Operand and result types of the steps.
  std::vector<Datum> constants;
  SmallVector<Place, 4> inputs;
  SmallVector<Place, 4> outs;
  std::vector<bool> repeats; // Is an out the same slot as a later one?
  uint32_t numSlots = 0;
};

/// All plans of a program.
class Plans {
public:
  Plans(const CheckedProgram &checked, const PrimitiveSet &primitives,
        const RunOptions &options);
  ~Plans();
  const Plan *entry() const { return entry_; }
  /// Partial sums enter a region, so they have to be kept apart.
  bool readsSums = false;
  std::vector<RunError> errors;
  std::vector<std::string> names; // Of primitives, by Step::statistic.
  const CheckedProgram &checked() const { return checked_; }
  /// Adds an error about a constant or a literal: "the value of `what`".
  void lackValue(const Plan &plan, std::string what);
  /// The equation's place in the program.
  RunError errorAt(const Plan &plan, EqnId eqn, std::string message) const;
  std::string pathOf(const Plan &plan, EqnId eqn) const;

private:
  friend class PlanBuilder;
  const Plan *planFor(InstanceId instance, const std::string &path);

  const CheckedProgram &checked_;
  const PrimitiveSet &primitives_;
  const RunOptions &options_;
  std::vector<std::unique_ptr<Plan>> plans_; // By instance.
  std::map<std::string, unsigned> numbers_;  // Of primitives.
  std::map<int64_t, Tensor> arrays_;         // That were decoded.
  std::map<uint32_t, Tensor> literals_;
  std::map<std::string, unsigned> missing_; // Index in errors.
  std::optional<Primitive> exchanged_;      // dot_general, by evalExchanged.
  const Plan *entry_ = nullptr;
};

} // namespace shardtype::interp

#endif
