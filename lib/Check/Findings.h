// Findings.h - from outcomes of rules to diagnostics of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_FINDINGS_H
#define SHARDTYPE_LIB_CHECK_FINDINGS_H

#include "Engine.h"
#include "Provenance.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace shardtype {

/// Collects what a run finds: once per equation and code, with its place, where
/// shardings came from, and the choices made.
class Findings {
public:
  Findings(const Program &program, CheckedProgram &out);

  /// Reports an outcome's findings for one equation. `flags` are those of its
  /// operands, with Guess if it is part of a backward pass. A choice made for
  /// this place changes the equation's results in the frame.
  /// True: every error was mended by a choice.
  bool report(Engine &engine, ActiveFrame &frame, EqnId id,
              const Outcome &outcome, uint32_t flags);
  void binderMismatch(Engine &engine, ActiveFrame &frame, EqnId id,
                      unsigned result, TypeId computed, TypeId recorded);
  /// An equation of a backward pass was typed.
  void backward(ActiveFrame &frame, EqnId id);
  /// Counts of unknown primitives, the warning about backward passes, choices
  /// that fit nowhere.
  void finish();

  /// Notes a result whose sharding nothing decides, and where it was made.
  void openResult(unsigned index, const std::string &name);
  /// Says where the sharding of an entry's result came from.
  void noteResult(Engine &engine, unsigned index, Diagnostic &d);

  /// Adds one finding unless there are too many of its code.
  void add(Diagnostic diagnostic);
  /// Where every note gets names from; made when first needed.
  const VarNames &names();

  /// `eqns/6/params/jaxpr/eqns/2`
  std::string path(const ActiveFrame &frame, EqnId id) const;
  /// The equation's frames, else those of the equation that holds it.
  StackId stack(const ActiveFrame &frame, EqnId id) const;

  /// Which arguments have their spec from `--in`.
  std::vector<bool> fromOption;

private:
  struct Unknown {
    size_t diagnostic = 0; // In CheckedProgram::diagnostics.
    StringRef why;
    llvm::DenseSet<EqnId> uses;
  };
  struct Place {
    EqnId eqn;
    std::string path;
    StackId stack;
  };
  void reportUnknown(Engine &engine, ActiveFrame &frame, EqnId id,
                     StringId name);
  void noteDerivative(const ActiveFrame &frame, EqnId id, Diagnostic d);
  std::string nameOf(EqnId id, int operand);
  bool isSaidOfLine(const ActiveFrame &frame, const Diagnostic &d);
  bool isSaidOfValue(ActiveFrame &frame, EqnId id, const Diagnostic &d);
  bool followsFromError(ActiveFrame &frame, EqnId id, const Diagnostic &d,
                        uint32_t flags);
  void assumeRecorded(Engine &engine, EqnId id, Diagnostic &d);
  void noteOrigins(Engine &engine, ActiveFrame &frame, EqnId id, Diagnostic &d);
  void noteOrigin(Provenance &provenance, const Site *site, VarId var,
                  const Trail &trail, MeshId mesh, Diagnostic &d);
  void noteAssumption(ActiveFrame &frame, EqnId id, Diagnostic &d,
                      uint32_t flags);
  std::string argumentText(unsigned argument);
  void applyChoice(Engine &engine, ActiveFrame &frame, EqnId id, Diagnostic &d);
  bool chooseResult(Engine &engine, ActiveFrame &frame, EqnId id,
                    const Choice &choice, Diagnostic &d, std::string &miss);
  bool chooseCasts(ArrayRef<unsigned> choices, Diagnostic &d);
  void mend(const Choice &choice, Diagnostic &d);
  bool choose(Engine &engine, ActiveFrame &frame, EqnId id,
              ArrayRef<unsigned> choices, Diagnostic &d);
  bool chooseOperands(Engine &engine, ActiveFrame &frame, EqnId id,
                      ArrayRef<unsigned> choices, Diagnostic &d,
                      std::string &miss);
  bool fits(const Choice &choice, const Diagnostic &d) const;

  const Program &program_;
  Context &context_;
  CheckedProgram &out_;
  std::unique_ptr<VarNames> names_;
  std::vector<std::string> argumentPaths_;
  llvm::DenseSet<std::pair<EqnId, unsigned>> seen_; // By equation and code.
  // Values that an expression uses in a region without a cast on entry.
  llvm::DenseSet<std::pair<VarId, StackId>> uncast_;
  // Errors by place, code and message: JAX writes a line of a function that is
  // differentiated more than once.
  struct Said {
    size_t diagnostic = 0; // In CheckedProgram::diagnostics.
    bool derived = false;  // In a derivative.
    unsigned more = 0;
  };
  std::map<std::tuple<StackId, unsigned, std::string>, Said> said_;
  std::vector<uint32_t> perCode_;
  llvm::DenseMap<StringId, Unknown> unknown_; // By name.
  llvm::DenseSet<EqnId> assumed_;             // Equations with an assumed fix.
  std::vector<unsigned> choiceUses_;
  std::vector<std::string> choiceMisses_;
  // The backward pass (structure/backward.2).
  llvm::DenseSet<EqnId> backward_, untyped_;
  Place firstBackward_, firstUntyped_;
  // Derivatives that nothing looks into, and what is said at the first.
  llvm::DenseSet<EqnId> derivatives_;
  std::optional<Diagnostic> derivative_;
};

} // namespace shardtype

#endif
