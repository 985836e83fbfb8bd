// Primitive.h - all that the project knows about one primitive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_PRIMITIVE_H
#define SHARDTYPE_RULES_PRIMITIVE_H

#include "shardtype/IR/Primitive.h"
#include "shardtype/Rules/DimMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <variant>
#include <vector>

namespace shardtype {

class TypingContext;
struct CommStep;
struct TypedEqn; // Communication.h
struct BodyRuns;

/// Why a primitive has no rule of some kind. `NotImplemented` is reported to
/// the user by name; reaching a `NotApplicable` rule is a bug of ours.
struct NoRule {
  enum Kind { NotApplicable, NotImplemented } kind;
  StringRef why;
};

/// A function, or the reason there is none. No default constructor and none
/// from nullptr, so a row that forgets a rule does not compile.
template <typename Fn> class Rule {
public:
  constexpr Rule(Fn *fn) : fn_(fn), none_{NoRule::NotApplicable, ""} {}
  constexpr Rule(NoRule none) : fn_(nullptr), none_(none) {}
  Rule(std::nullptr_t) = delete;

  constexpr explicit operator bool() const { return fn_; }
  constexpr NoRule none() const { return none_; }
  template <typename... Args> auto operator()(Args &&...args) const {
    assert(fn_ && "a rule that is not there was called");
    return fn_(std::forward<Args>(args)...);
  }

private:
  Fn *fn_;
  NoRule none_;
};

/// In which operands a primitive is linear.
struct Linearity {
  enum Kind : uint8_t {
    None,
    Jointly, // add: in all of the first `count` together.
    EachOf   // dot_general: in each of the first `count` alone.
  } kind = None;
  uint8_t count = 0;
};

/// The sets that follow a standard rule's partitions (spec 01, 3.0 step 7).
struct ReductionSets {
  AxisSet unreduced, reduced;
  ReductionKind kind = ReductionKind::None;
};

namespace varying {
/// JAX's rule for nearly all: operands vary over the same axes, and so does the
/// result (manual/varying.1).
FailureOr<AxisSet> match(TypingContext &cx);
FailureOr<AxisSet> operand(TypingContext &cx); // That of operand 0.
} // namespace varying

/// The parts of an ordinary single result, run in JAX's order (spec 01, 3.0).
/// `sharding` runs only where some axis is Explicit; its U, R and kind are
/// replaced by those of `reduction`. Where axes are Manual, `varying` and
/// `reduction` give the state over those.
struct Standard {
  Rule<FailureOr<Shape>(TypingContext &)> shape;
  Rule<FailureOr<DType>(TypingContext &)> dtype;
  Rule<bool(TypingContext &)> weak;
  Rule<FailureOr<Sharding>(TypingContext &)> sharding;
  Rule<FailureOr<ReductionSets>(TypingContext &)> reduction;
  Rule<FailureOr<MemorySpace>(TypingContext &)> memory;
  Rule<FailureOr<AxisSet>(TypingContext &)> varying = varying::match;
};

/// For the primitives whose results JAX types all at once: sets every result
/// with `TypingContext::setResult`, or fails having reported.
struct Custom {
  Rule<LogicalResult(TypingContext &)> all;
};

/// How values of unknown sharding pass (spec 04, 8.2, rule F). Only matters
/// under re-typing.
enum class OpenRule : uint8_t {
  Opaque,    // Takes an open operand as replicated; result not open.
  Pointwise, // Open operands give an open result if all others are scalars;
             // beside others they are replicated, which merges with anything.
  Strict,    // As Pointwise, and open operands take the sharding of the first
             // operand that is not open (select_n, concatenate, sort, ...).
  Follow,  // As Opaque, but open operands behind the first take the entries of
           // its dims that they are one with (updates of a scatter).
  Builder, // Makes a value from nothing: open unless a sharding param is
           // given (broadcast_in_dim of a scalar, iota).
  Custom   // The rule reads and sets open flags itself (calls, loops).
};

class EvalContext; // Eval.h
class Task;

/// What computes an equation's results from its operands: a kernel that does
/// so at once, a coroutine where it runs bodies or waits for other devices, or
/// the reason why there is none. Where that holds for some equations only, a
/// function says so before anything runs.
class EvalRule {
public:
  using Kernel = LogicalResult(EvalContext &);
  using Suspending = Task(EvalContext &);
  /// Why it cannot compute an equation, whose operands have types and no values
  /// yet; empty: it can.
  using Refusal = std::string(EvalContext &);
  constexpr EvalRule(Kernel *rule, Refusal *refuses = nullptr)
      : kernel_(rule), refusal_(refuses), none_{} {}
  constexpr EvalRule(Suspending *rule, Refusal *refuses = nullptr)
      : suspending_(rule), refusal_(refuses), none_{} {}
  constexpr EvalRule(NoRule reason) : none_(reason) {}
  EvalRule(std::nullptr_t) = delete;

  constexpr explicit operator bool() const { return kernel_ || suspending_; }
  constexpr Kernel *kernel() const { return kernel_; }
  constexpr Suspending *suspending() const { return suspending_; }
  constexpr NoRule none() const { return none_; }
  constexpr Refusal *refusal() const { return refusal_; }

private:
  Kernel *kernel_ = nullptr;
  Suspending *suspending_ = nullptr;
  Refusal *refusal_ = nullptr;
  NoRule none_;
};

/// One row: all parts must be named, but for what nearly all have alike. A
/// stage that comes later (linearize, transpose, partition) adds its slot when
/// it comes.
struct Primitive {
  PrimitiveInfo info;
  /// Reads the parameters into the row's struct; see ParamsOf in Params.h.
  Rule<FailureOr<std::shared_ptr<const void>>(TypingContext &)> decode;
  Rule<DimMap(TypingContext &)> dims;
  Linearity linearity;
  OpenRule open;
  std::variant<Standard, Custom> type;
  /// The collectives it is itself, whatever else its types imply; failure: its
  /// types do not tell. On equations whose types are known.
  Rule<FailureOr<std::vector<CommStep>>(const TypedEqn &)> communication =
      NoRule{NoRule::NotApplicable, "it is no collective"};
  /// How often it runs the bodies it holds.
  Rule<BodyRuns(const TypedEqn &)> runs =
      NoRule{NoRule::NotApplicable, "it runs each once"};
  EvalRule eval = NoRule{NoRule::NotImplemented, "it has no kernel yet"};
};

/// The primitives a checker knows. Rows are borrowed and must outlive it.
class PrimitiveSet {
public:
  /// Adds rows; a name or alias that is there already is replaced.
  void add(ArrayRef<Primitive> rows);
  const Primitive *find(StringRef name) const;
  /// In order of their names.
  std::vector<const Primitive *> rows() const;
  /// For readers: what IR needs of a primitive.
  const PrimitiveInfo *info(StringRef name) const {
    const Primitive *row = find(name);
    return row ? &row->info : nullptr;
  }

private:
  llvm::StringMap<const Primitive *> byName_;
};

} // namespace shardtype

#endif
