// Check.h - types every equation of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_CHECK_CHECK_H
#define SHARDTYPE_CHECK_CHECK_H

#include "shardtype/IR/Printer.h"
#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// `--in`: a spec for arguments whose path (or position) fits.
struct ArgumentSpec {
  std::string pattern; // A name, a path pattern; empty: by position.
  int position = -1;
  PartitionSpec spec;
};

/// `--choose PLACE=SPEC` or `PLACE:in1=SPEC`.
struct Choice {
  std::string place; // `model.py:41`, `model.py:41:12`, or an equation path.
  int operand = -1;  // -1: the result.
  PartitionSpec spec;
};

enum class Constraints : uint8_t { Assert, Reshard };

struct CheckOptions {
  /// Re-type if and only if a mesh or argument specs are given.
  MeshId mesh;
  std::vector<ArgumentSpec> in;
  std::vector<ArgumentSpec> out; // What results must be.
  std::vector<Choice> choices;
  Constraints constraints = Constraints::Assert;
  JaxVersion jax = JaxVersion::V0_12;
  bool assumeDeclared = false; // Unknown primitives: results as recorded.
  unsigned maxDepth = 256;
  bool retypes() const { return mesh.valid() || !in.empty(); }
};

/// A jaxpr typed for one tuple of argument types. `types[i]` is the type of
/// the jaxpr's i-th variable; an invalid one is poison.
struct Instance {
  JaxprId jaxpr;
  MeshId mesh; // Context mesh at its top.
  std::vector<TypeId> types;
  std::vector<bool> open; // Empty: none is.
  /// Bodies that its equations hold, in order of their equations.
  struct Held {
    EqnId eqn;
    JaxprId body;
    InstanceId instance;
  };
  std::vector<Held> bodies;
  bool hadErrors = false;
};

/// How sure a verdict is (spec 04, 8.3).
enum class Basis : uint8_t { Derived, Matched, Guess };

/// A program with the type of every value. Constant once made; the program and
/// its context must outlive it.
class CheckedProgram : public TypeView {
public:
  explicit CheckedProgram(const Program &of) : program(&of) {}
  TypeId type(InstanceId instance, VarId var) const override;
  InstanceId body(InstanceId instance, EqnId eqn, JaxprId body) const override;
  InstanceId entry() const override { return entryInstance; }

  const Program *program;
  std::vector<Instance> instances;
  InstanceId entryInstance;
  DiagnosticList diagnostics;
  MeshId mesh; // The context mesh of the entry.
  bool retyped = false;
  Basis basis = Basis::Derived;
  uint64_t equations = 0;  // Of the program as written, bodies once each.
  uint64_t notChecked = 0; // Equations with a poison operand.
  std::vector<TypeId> argumentTypes, resultTypes; // Of the entry.
  bool ok() const { return !diagnostics.hasErrors(); }
};

/// Types the whole program, reporting every independent error. Linear in the
/// number of equations of distinct instances; the program is not changed.
/// `inputs` are filled where `--in` matches; a pattern that matches nothing is
/// an OptionInvalid error.
CheckedProgram check(const Program &program, const PrimitiveSet &primitives,
                     const CheckOptions &options = {});

/// The program with every assumed fix written into it as parameter or inserted
/// reshard (`--fix-all`); the choices made are appended to `made`.
struct MadeChoice {
  std::string path;
  StackId stack;
  std::string type;
  std::vector<CommStep> communication;
};
Program applyFixes(const CheckedProgram &checked,
                   const PrimitiveSet &primitives,
                   std::vector<MadeChoice> &made);

} // namespace shardtype

#endif
