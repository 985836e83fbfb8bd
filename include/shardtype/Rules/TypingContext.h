// TypingContext.h - what a rule sees of its equation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_TYPINGCONTEXT_H
#define SHARDTYPE_RULES_TYPINGCONTEXT_H

#include "shardtype/Rules/Cost.h"
#include "shardtype/Rules/Primitive.h"
#include "shardtype/Support/Diagnostic.h"
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"

namespace shardtype {

/// A type, and whether its sharding is open (spec 04, 8.2, rule F).
struct Typed {
  TypeId type;
  bool open = false;
  friend bool operator==(const Typed &, const Typed &) = default;
};

enum class JaxVersion : uint8_t { V0_11, V0_12 };
/// "0.12".
inline StringRef str(JaxVersion version) {
  return version == JaxVersion::V0_11 ? "0.11" : "0.12";
}

/// What is done with the axes that values vary over (spec 02, 3): nothing, as
/// outside of shard_map and with check_vma=False; JAX's rules; or they are
/// found out where JAX does not look (`--assume-vma`).
enum class Vma : uint8_t { Off, On, Infer };

/// A sharding parameter: three states, since text hides some.
struct ShardingParam {
  enum State : uint8_t { None, Given, Hidden } state = None;
  MeshId mesh;        // Given: as recorded (maybe concrete); rewritten by `on`.
  PartitionSpec spec; // Given.
  Value::By by = Value::Unsaid;
  bool given() const { return state == Given; }
};

/// Which operand of its equation each input of a body is: input `i` is operand
/// `i + before` for `i < split`, and `i + after` behind that.
struct BodyInputs {
  unsigned split = 0;
  int before = 0, after = 0;
  bool repeated = false; // The body of a loop.
  /// Its inputs differ from the recorded ones, so no recorded type in it
  /// stands.
  bool retyped = false;
  /// They vary over more than they did in the trace. The casts that JAX writes
  /// by itself are then others: see Options::recast.
  bool recast = false;
  /// Axes that the recording made Manual in the body, and that are not here
  /// (shard_map/vmap.1).
  AxisSet stays = {};
  unsigned operand(unsigned input) const {
    return static_cast<unsigned>(static_cast<int>(input) +
                                 (input < split ? before : after));
  }
  friend bool operator==(const BodyInputs &, const BodyInputs &) = default;
};

/// What a rule cannot know by itself; Check implements it.
class TypingHost {
public:
  virtual ~TypingHost();
  struct Body {
    JaxprId jaxpr;
    InstanceId instance;
    ArrayRef<Typed> results; // Of the jaxpr's outs; an invalid type is poison.
    bool hadErrors = false;  // Silence what follows from them.
  };
  /// Types a body for these arguments (one per input, none of them poison)
  /// under `mesh`, once per distinct tuple, and notes it as held by the current
  /// equation. Where recorded types stand (see BodyInputs), inputs have those
  /// of the body's binders. `vma` is for regions; other bodies do as their
  /// equation.
  virtual Body typeBody(JaxprId body, ArrayRef<Typed> args, MeshId mesh,
                        BodyInputs inputs = {},
                        std::optional<Vma> vma = std::nullopt) = 0;
  /// The results that a body would have for other arguments; nothing is noted
  /// or reported. Empty: it would have errors, or this is such a trial already.
  virtual std::vector<Typed> tryBody(JaxprId body, ArrayRef<Typed> args,
                                     MeshId mesh) = 0;
  /// The recorded type of a body's input, which operands must match; invalid
  /// under re-typing or if none was recorded.
  virtual TypeId binder(JaxprId body, unsigned input) = 0;
  /// A recorded mesh as it is now: itself, or under re-typing spec 04, 8.1.
  virtual MeshId rewriteMesh(MeshId recorded) = 0;
  /// Where a body's result got axes that the type `other` does not have: the
  /// equation in it that put them beside a value made from input `input`
  /// without them (-1: any value), else what they come from. Nothing if there
  /// are none, or it is not known.
  virtual std::optional<DiagNote> origin(const Body &body, unsigned result,
                                         TypeId other, int input = -1) = 0;
};

class TypingContext;

/// Fills in a diagnostic and then turns into the failure a rule returns:
/// `return cx.error(diag::DotBatch, ...).mark(0, l).fix(sharding);`
class ErrorBuilder {
public:
  ErrorBuilder(TypingContext &cx, Diagnostic &diagnostic)
      : cx_(cx), diagnostic_(diagnostic) {}
  /// Points at a dim of an operand (-1: the whole operand).
  ErrorBuilder &mark(int operand, int dim = -1);
  ErrorBuilder &markParam(StringRef key);
  ErrorBuilder &note(std::string message, StackId stack = {});
  /// A legal result sharding for the only result, priced by the row's dims; of
  /// several the first is assumed from there on. Shape and dtype must be known
  /// (they are, in and after a sharding rule).
  ErrorBuilder &fix(const Sharding &result);
  ErrorBuilder &fixes(ArrayRef<Sharding> results);
  /// Give an operand another sharding first; priced as a reshard. The engine
  /// runs the row again with it: such fixes are kept if they are legal (one by
  /// one, or only several together), in order of their cost, and the result of
  /// the first is assumed. Rows whose open rule is Custom keep them as they
  /// are.
  ErrorBuilder &fixOperand(unsigned operand, const Sharding &sharding);
  /// Give an operand another state over Manual axes first, by casts and sums;
  /// nothing if none lead there.
  ErrorBuilder &castOperand(unsigned operand, const ManualAxisType &to);
  ErrorBuilder &fix(Fix fix);
  /// JAX has no rule, but this would be sound: taken as the result from there
  /// on, so that allowing the kind makes the program pass.
  ErrorBuilder &sound(const Sharding &result);
  ErrorBuilder &soundTypes(ArrayRef<TypeId> results);
  Diagnostic &diagnostic() { return diagnostic_; }

  operator LogicalResult() const { return failure(); }
  template <typename T> operator FailureOr<T>() const { return failure(); }

private:
  TypingContext &cx_;
  Diagnostic &diagnostic_;
};

/// One equation while its types are found. Rules take it by reference and keep
/// nothing of it.
class TypingContext {
public:
  struct Options {
    JaxVersion jax = JaxVersion::V0_12;
    bool retyped = false;            // Recorded types are not to be relied on.
    bool constraintsReshard = false; // `--constraints reshard`.
    bool ignoreUnitAxes = false;     // In assertions of constraints.
    bool keepCarries = false; // Loops end as they begin, whatever it costs.
    Vma vma = Vma::Off;
    bool assumeVma = false; // Infer where check_vma is off.
    /// Some values vary over more than they did in the trace, so casts of the
    /// trace to what they are already are none, and others that JAX would write
    /// count as written (manual/recast.1).
    bool recast = false;
    bool withoutUnitAxes = false; // Sharding parameters lose axes of size 1.
  };

  TypingContext(Context &context, const Program &program,
                const Primitive &primitive, ParamsId params,
                ArrayRef<Typed> operands, MeshId mesh, unsigned numResults,
                const Options &options, TypingHost &host);

  Context &context() { return context_; }
  const Program &program() const { return program_; }
  const Primitive &primitive() const { return primitive_; }
  StringRef name() const { return primitive_.info.name; }
  const Options &options() const { return options_; }
  TypingHost &host() { return host_; }

  unsigned numOperands() const { return operands_.size(); }
  unsigned numResults() const { return results_.size(); }
  TypeId operandId(unsigned i) const { return operands_[i].type; }
  Typed operandTyped(unsigned i) const { return operands_[i]; }
  ArrayRef<Typed> operands() const { return operands_; }
  /// The type of an operand; Check has made sure that it is no poison.
  const Type &operand(unsigned i) const;
  const Sharding &sharding(unsigned i) const { return operand(i).sharding; }
  ArrayRef<int64_t> shape(unsigned i) const { return operand(i).shape; }

  /// Are the rules those of JAX 0.11? Where this is asked and the other release
  /// decides otherwise, a note says so.
  bool olderJax() {
    usedVersion_ = true;
    return options_.jax == JaxVersion::V0_11;
  }

  /// The context mesh of the equation; invalid: none.
  MeshId mesh() const { return mesh_; }
  /// The parameters as the row's struct.
  template <typename P> const P &params() const {
    assert(decoded_ && "the row decodes no parameters");
    return *static_cast<const P *>(decoded_.get());
  }
  ParamsId paramsId() const { return params_; }

  // Manual axes (spec 02).
  /// Are there any here, or an operand with a state over some?
  bool hasManual() const;
  /// The state of a result over Manual axes: V by `varying`, U and R by
  /// `reduction`, which sees those of the operands as if axes were Explicit.
  /// `makeType` and `composed` take it over.
  LogicalResult
  typeManual(const Rule<FailureOr<AxisSet>(TypingContext &)> &varying,
             const Rule<FailureOr<ReductionSets>(TypingContext &)> &reduction);
  void setManual(const ManualAxisType &manual) { resultManual_ = manual; }
  const ManualAxisType &resultManual() const { return resultManual_; }

  // What the standard steps have found so far, for later rules of the row.
  const Shape &resultShape() const { return resultShape_; }
  DType resultDType() const { return resultDType_; }
  bool haveShape() const { return haveShape_; }

  /// The one mesh of the operands, or invalid (spec 01, 2.9.2). Differing
  /// meshes are an error; if all are wholly Auto the result is "no mesh".
  FailureOr<MeshId> operandMesh();
  /// The mesh rules build results on: that of the operands, else the context's.
  MeshId ruleMesh();
  /// Step 5 of spec 01, 3.0: does some mesh have an Explicit axis?
  bool rulesApply();
  /// Steps 3 of spec 01, 3.0: every operand's mesh against the context's.
  LogicalResult checkContextMesh();

  /// A sharding parameter on a value of this rank, on the rewritten mesh, with
  /// the checks of spec 01, 2.4, 2.6 and 2.7. Reports under `key`.
  FailureOr<Sharding> resolveParam(const ShardingParam &param, unsigned rank,
                                   StringRef key);
  /// The recorded sharding of a result's binder on the equation's mesh, where a
  /// text hid the parameter; nothing if no type is recorded.
  std::optional<Sharding> recordedSharding(unsigned result);
  TypeId recordedResult(unsigned result) const;
  /// Has a rule looked at recorded types? Then its outcome depends on them.
  bool usedRecorded() const { return usedRecorded_; }
  void setRecordedResults(ArrayRef<TypeId> types) { recorded_ = types; }
  /// The equation's `derived` field (spec 04, 6.2), JSON; empty: it has none.
  StringRef derived() const { return derived_; }
  void setDerived(StringRef json) { derived_ = json; }

  /// Does nothing where the equation binds fewer results; see `setResults` in
  /// Helpers.h for rules with several.
  void setResult(unsigned i, TypeId type, bool open = false);
  /// The result's type with this sharding, unchecked. Only once the shape is
  /// known (`haveShape`).
  TypeId composed(const Sharding &sharding);
  /// Composes a type and makes the checks of spec 01, 2.6 on it.
  FailureOr<TypeId> makeType(ArrayRef<int64_t> shape, DType dtype,
                             const Sharding &sharding, bool weak = false,
                             MemorySpace memory = MemorySpace::Device);
  /// An operand's type with another shape and sharding, checked likewise.
  FailureOr<TypeId> updateType(unsigned operand, ArrayRef<int64_t> shape,
                               const Sharding &sharding);

  /// Reports; arguments fill {0}, {1}... and may be texts, numbers, TypeIds,
  /// specs (as Sharding) and axis sets (of the operands' mesh).
  template <typename... Args>
  ErrorBuilder error(diag::Code code, const Args &...args) {
    return report(code, {arg(args)...});
  }
  ErrorBuilder report(diag::Code code, std::vector<std::string> args);
  /// The row has no rule for this case, which is reported under `name` together
  /// with the primitives that have no row. `name` must live in the context.
  LogicalResult unknownPrimitive(StringRef name) {
    unknown_ = name;
    return failure();
  }
  StringRef unknown() const { return unknown_; }

  std::string arg(StringRef text) { return text.str(); }
  std::string arg(const std::string &text) { return text; }
  std::string arg(const char *text) { return text; }
  std::string arg(TypeId type) { return str(context_, type); }
  std::string arg(AxisSet axes) { return str(context_, ruleMesh(), axes); }
  std::string arg(const AxisList &axes) {
    return axes.empty() ? "None" : str(context_, ruleMesh(), axes);
  }
  std::string arg(const Sharding &sharding) {
    return str(context_, toSpec(context_, sharding));
  }
  template <typename T>
    requires std::is_integral_v<T>
  std::string arg(T number) {
    return std::to_string(number);
  }
  /// The result's type with a sharding that no type may have, for messages; a
  /// spec where shape and dtype are not known.
  std::string illegalResult(const Sharding &sharding) {
    return haveShape_ ? arg(composed(sharding)) : arg(sharding);
  }

  // For the engine.
  const std::vector<Diagnostic> &diagnostics() const { return diagnostics_; }
  std::vector<Diagnostic> &diagnostics() { return diagnostics_; }
  ArrayRef<Typed> results() const { return results_; }
  /// Decodes parameters and runs the row; results that are still invalid when
  /// it fails are poison or open, as the caller decides.
  LogicalResult run();

private:
  friend class ErrorBuilder;
  LogicalResult runRow();
  LogicalResult runStandard(const Standard &rules);
  FailureOr<ReductionSets>
  manualSets(const Rule<FailureOr<ReductionSets>(TypingContext &)> &reduction);
  void viewManual();
  ManualAxisType manualFrom(ManualAxisType own, const Sharding &sets) const;
  bool hasResult() const;
  friend class FixSearch;
  /// A trial of `of` with other operands, mesh or options.
  TypingContext(const TypingContext &of, ArrayRef<Typed> operands, MeshId mesh,
                const Options &options);
  void tryOperandFixes(Diagnostic &diagnostic);
  void findSound(Diagnostic &diagnostic);
  std::optional<SmallVector<Typed, 2>> withoutUnitAxes();
  std::optional<SmallVector<Typed, 2>> replicatedResults();
  void noteOtherVersion(bool accepted);

  Context &context_;
  const Program &program_;
  const Primitive &primitive_;
  ParamsId params_;
  ArrayRef<Typed> operands_;
  MeshId mesh_;
  const Options &options_;
  TypingHost &host_;
  std::shared_ptr<const void> decoded_;
  SmallVector<Typed, 2> results_;
  ArrayRef<TypeId> recorded_;
  std::vector<Diagnostic> diagnostics_;
  Shape resultShape_;
  DType resultDType_ = DType::F32;
  bool resultWeak_ = false;
  MemorySpace resultMemory_ = MemorySpace::Device;
  ManualAxisType resultManual_;
  /// Operands whose sets over Manual axes stand in their shardings, while a
  /// reduction rule looks at them; else empty.
  std::vector<Type> views_;
  bool haveShape_ = false;
  bool isTrial_ = false;
  bool usedVersion_ = false;
  mutable bool usedRecorded_ = false;
  StringRef unknown_, derived_;
};

} // namespace shardtype

#endif
