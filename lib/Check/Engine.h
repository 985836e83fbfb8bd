// Engine.h - the walk that types equations, and what it remembers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_ENGINE_H
#define SHARDTYPE_LIB_CHECK_ENGINE_H

#include "Memo.h"
#include "Retype.h"
#include "llvm/ADT/DenseSet.h"
#include <deque>

namespace shardtype {

class Findings;

/// A jaxpr while its equations are typed.
struct ActiveFrame {
  ActiveFrame *parent = nullptr; // The frame of the equation that holds it.
  JaxprId id;
  const Jaxpr *jaxpr = nullptr;
  InstanceId instance;
  MeshId mesh;           // Default context mesh of its equations.
  Vma vma = Vma::Off;    // What is done with the axes values vary over.
  bool backward = false; // Inside an equation of a backward pass.
  bool hadErrors = false;
  BodyInputs inputs; // Which operands of the parent's equation its inputs are.
  AxisSet stays;     // As in BodyInputs, for all regions around.
  EqnId current;     // The equation that is being typed.
  std::vector<Val> vals;
  std::vector<Instance::Held> held;
  std::vector<Instance::Assumed> assumed;

  Val &val(VarId var) { return vals[var.raw() - jaxpr->firstVar]; }
};

/// Where an equation stands, as far as its row can tell.
struct Surroundings {
  MeshId mesh;
  bool backward = false;
  Vma vma = Vma::Off;
  AxisSet stays;
};

/// What running a row gave: kept and used again for equal equations.
struct Outcome {
  enum Flag : uint8_t {
    Failed = 1,        // An error was reported.
    Assumed = 2,       // Results are those of a fix.
    NeedsRecorded = 4, // The recorded types are part of the key.
    Unknown = 8,       // No rule.
    BodyErrors = 16,   // A body had errors.
    Placeholder = 32   // Only says that the recorded types are needed.
  };
  uint8_t flags = 0;
  uint16_t numBodies = 0;
  uint32_t results = 0;  // Where in Engine::resultWords_.
  uint32_t bodies = 0;   // Where in Engine::heldBodies_.
  int32_t findings = -1; // Which of Engine::findingLists_.
  StringId unknown;      // Under which name to report that there is no rule.
  bool is(Flag flag) const { return flags & flag; }
};

/// Types a program. One engine serves one call of `check`; a trial (see
/// tryBody) is an engine of its own that shares what depends on the program
/// alone.
class Engine : public TypingHost {
public:
  Engine(const Program &program, const PrimitiveSet &primitives,
         CheckedProgram &out, Findings *findings);
  ~Engine() override;

  /// Types the entry for these arguments; its results' values.
  std::vector<Val> runEntry(ArrayRef<Val> arguments);
  /// The trace was made with other shardings, so its backward passes mean
  /// nothing (structure/backward.1).
  void doubtBackward() { shared_->doubtsBackward = true; }

  // TypingHost.
  Body typeBody(JaxprId body, ArrayRef<Typed> args, MeshId mesh,
                BodyInputs inputs, std::optional<Vma> vma) override;
  std::vector<Typed> tryBody(JaxprId body, ArrayRef<Typed> args,
                             MeshId mesh) override;
  TypeId binder(JaxprId body, unsigned input) override;
  MeshId rewriteMesh(MeshId recorded) override;
  std::optional<DiagNote> origin(const Body &body, unsigned result,
                                 TypeId other, int input) override;

  // For findings and their notes.
  const Program &program() const { return program_; }
  Context &context() { return context_; }
  CheckedProgram &out() { return out_; }
  Meshes &meshes() { return shared_->meshes; }
  uint64_t typedEquations() const { return shared_->typed; }
  /// The row of an equation's primitive; null: there is none.
  const Primitive *row(const Eqn &eqn) { return shared_->rows[eqn.primitive]; }
  const TypingContext::Options &typing() const { return typing_; }
  /// The context mesh of an equation in a jaxpr whose default is `mesh`.
  MeshId contextMesh(MeshId mesh, const Eqn &eqn, AxisSet stays = {});
  Val literal(LiteralId id);
  enum class Rerun : uint8_t { OtherOperands, OtherStates, KeepCarries };
  /// Runs the equation's row on other operands, or with loops that keep their
  /// carries; nothing is reported.
  Outcome rerun(EqnId id, ArrayRef<Val> operands, ActiveFrame &frame,
                Rerun how);
  ArrayRef<Instance::Held> bodiesOf(const Outcome &outcome) const {
    return ArrayRef(heldBodies_).slice(outcome.bodies, outcome.numBodies);
  }
  Val result(const Outcome &outcome, unsigned i) const {
    return Val(resultWords_[outcome.results + i]);
  }
  ArrayRef<Diagnostic> findingsOf(const Outcome &outcome) const {
    return outcome.findings < 0
               ? ArrayRef<Diagnostic>()
               : ArrayRef<Diagnostic>(findingLists_[outcome.findings]);
  }

private:
  /// What is known of an EqnInfo under this run.
  struct InfoState {
    MeshId mesh;
    StringId derived; // How a Ref is indexed, among others.
    bool known = false, ownMesh = false;
    BackwardEffect backward = BackwardEffect::Inherit;
  };
  /// What depends on program and options alone.
  struct Shared {
    Shared(const Program &program, const PrimitiveSet &primitives,
           const CheckOptions &options);
    Meshes meshes;
    std::vector<const Primitive *> rows;
    llvm::DenseSet<EqnId> autoExits;
    std::vector<std::string> calls; // By index in the file's `apis`.
    std::vector<InfoState> infos;
    std::vector<Val> literals;
    std::vector<bool> literalKnown;
    uint64_t typed = 0; // Equations typed so far, trials included.
    bool limitReached = false;
    bool doubtsBackward = false;
  };
  struct InstanceResults {
    std::vector<Typed> typed;
    std::vector<Val> vals;
  };

  Engine(Engine &parent, CheckedProgram &out);
  InstanceId runInstance(JaxprId id, ArrayRef<Val> inputs,
                         const Surroundings &where, BodyInputs bodyInputs);
  Vma entryVma(JaxprId id, MeshId mesh) const;
  void keepInstance(ActiveFrame &frame);
  void typeEqn(ActiveFrame &frame, EqnId id);
  void poisonResults(ActiveFrame &frame, const Eqn &eqn, MeshId mesh);
  void bindResults(ActiveFrame &frame, EqnId id, const Outcome &outcome,
                   uint32_t flags);
  bool isNoRegion(const Eqn &eqn);
  uint32_t lookUp(EqnId id, const Surroundings &where);
  uint32_t runRow(EqnId id, ArrayRef<Val> operands, const Surroundings &where);
  Outcome runKnown(const Primitive &row, const Eqn &eqn, MeshId mesh,
                   MutableArrayRef<Val> results);
  void followFirst(const Primitive &row, const Eqn &eqn, MeshId mesh,
                   MutableArrayRef<Typed> operands);
  void unknownResults(const Eqn &eqn, MeshId mesh,
                      MutableArrayRef<Val> results);
  void nameAxisMode(TypingContext &cx, const Eqn &eqn,
                    ArrayRef<Typed> operands);
  uint32_t resultFlags(TypingContext &cx, Typed found, unsigned i);
  bool isOpenResult(OpenRule rule, const TypingContext &cx) const;
  TypeId recoveredType(TypingContext &cx, const Eqn &eqn, unsigned i,
                       uint32_t &flags);
  const InfoState &infoState(EqnInfoId id);
  TypeId recordedType(const Eqn &eqn, unsigned i) const {
    return program_.vars[eqn.firstResult.raw() + i].type;
  }
  bool matches(TypeId a, TypeId b);
  MeshId withoutManual(MeshId mesh, AxisSet stays);

  const Program &program_;
  Context &context_;
  const PrimitiveSet &primitives_;
  CheckedProgram &out_;
  Findings *findings_; // Null: a trial, nothing is reported.
  std::shared_ptr<Shared> shared_;
  TypingContext::Options typing_;
  ActiveFrame *frame_ = nullptr;

  WordTable outcomeTable_, instanceTable_;
  std::vector<Outcome> outcomes_;
  std::vector<uint32_t> resultWords_;
  std::vector<Instance::Held> heldBodies_;
  std::deque<std::vector<Diagnostic>> findingLists_;
  std::deque<InstanceResults> instanceResults_; // By InstanceId.
  llvm::DenseMap<std::pair<TypeId, TypeId>, bool> matched_;
  /// Of the equation whose row runs.
  struct Running {
    ArrayRef<Val> operands;
    bool backward = false;
    AxisSet stays;
    std::vector<Instance::Held> bodies;
  } running_;
  SmallVector<uint32_t, 32> key_; // Scratch; not live while a row runs.
};

/// Operands as JAX would have traced them for these types. Open ones of a
/// Strict row take the sharding of the first operand that is not open, dim by
/// dim where the sizes agree (structure/open.3). Under re-typing, a scalar
/// beside a reduced operand is made reduced too (structure/retype.5). `mesh` is
/// the context's.
void adaptOperands(Context &cx, const Primitive &row, MeshId mesh, bool retyped,
                   MutableArrayRef<Typed> operands);

/// The sharding that a parameter gives the result; null: none does.
const Value *givenSharding(const Program &program, ParamsId params);

/// The type with its dims whole on a mesh.
TypeId wholeOn(Context &cx, TypeId type, MeshId mesh);

/// Is there a rule that types such equations?
bool hasRule(const Primitive *row);

} // namespace shardtype

#endif
