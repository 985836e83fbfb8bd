// CheckedProgram.h - a program with the type of every value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Check makes and later stages and reports read. It lives here so that
// they need not know Check.
#ifndef SHARDTYPE_RULES_CHECKEDPROGRAM_H
#define SHARDTYPE_RULES_CHECKEDPROGRAM_H

#include "shardtype/IR/Printer.h"
#include "shardtype/Rules/TypingContext.h"
#include <map>

namespace shardtype {

/// `--in` or `--out`: a spec for the arguments or results whose path fits.
struct ArgumentSpec {
  std::string pattern; // A path, `*` for one part, `**` for any; empty: by
  int position = -1;   // position, from 0.
  PartitionSpec spec;
  std::string origin; // Who says so: `--in`, `config.json: /in/2`.
  /// Of a spec of logical names: what was written, and a sentence for each name
  /// that got none of the axes its rules want.
  std::string written;
  std::vector<std::string> conflicts;
};

/// `--choose PLACE=SPEC` or `PLACE:in1=SPEC`; a state over Manual axes in place
/// of the spec chooses casts.
struct Choice {
  std::string place; // `model.py:41`, `model.py:41:12`, or an equation path.
  int operand = -1;  // -1: the result.
  PartitionSpec spec;
  std::string state;  // Instead of a spec: `{V:i}`, for a cast.
  std::string origin; // As in ArgumentSpec.
};

enum class Constraints : uint8_t { Assert, Reshard };

struct CheckOptions {
  /// Re-type if and only if a mesh or argument specs are given.
  MeshId mesh;
  std::vector<ArgumentSpec> in;
  std::vector<ArgumentSpec> out; // What results must be.
  std::vector<Choice> choices;
  Constraints constraints = Constraints::Assert;
  /// A constraint that differs by axes of size 1 only is met.
  bool ignoreUnitAxes = false;
  JaxVersion jax = JaxVersion::V0_12;
  /// Find out what values vary over where check_vma is off.
  bool assumeVma = false;
  bool assumeDeclared = false; // Unknown primitives: results as recorded.
  unsigned maxDepth = 256;     // Of bodies in bodies.
  /// Of equations typed, a body once per distinct tuple of argument types.
  uint64_t maxTyped = 100'000'000;
  unsigned maxPerCode = 1000; // Diagnostics of one code; more are counted.
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
    BodyInputs inputs; // Which operand each input is.
  };
  std::vector<Held> bodies;
  /// The fixes that were assumed in it, in order of their equations.
  struct Assumed {
    EqnId eqn;
    Fix fix;
  };
  std::vector<Assumed> assumed;
  bool hadErrors = false;
  bool recast = false; // As in BodyInputs, for it or what holds it.
  /// The sharding of a variable is open (spec 04, 8.2): it counts and prints as
  /// replicated.
  bool isOpen(uint32_t i) const { return i < open.size() && open[i]; }
};

/// How sure a verdict is (spec 04, 8.3).
enum class Basis : uint8_t { Derived, Matched, Guess };
StringRef str(Basis basis); // "derived", "matched", "guess"

/// A program with the type of every value. Constant once made; the program and
/// its context must outlive it.
class CheckedProgram : public TypeView {
public:
  explicit CheckedProgram(const Program &of) : program(&of) {}
  /// With an invalid instance (a body that no rule types): as recorded.
  TypeId type(InstanceId instance, VarId var) const override;
  InstanceId body(InstanceId instance, EqnId eqn, JaxprId body) const override;
  InstanceId entry() const override { return entryInstance; }
  /// The type of an operand in an instance; literals have their own.
  TypeId type(InstanceId instance, Atom atom) const;

  const Program *program;
  std::vector<Instance> instances;
  InstanceId entryInstance; // Invalid: the program or the options are unusable.
  DiagnosticList diagnostics;
  CheckOptions options; // As given.
  MeshId mesh;          // The context mesh of the entry.
  MeshId recordedMesh;  // The mesh of the trace; invalid: none.
  bool retyped = false;
  Basis basis = Basis::Derived;
  /// The in_specs of regions recorded without (shard_map/infer.1), by number:
  /// one an operand; none: they are not known yet, or not the same everywhere.
  std::map<int64_t, std::vector<std::string>> inSpecs;
  uint64_t equations = 0;  // Of the program as written, bodies once each.
  uint64_t typed = 0;      // Bodies once per instance.
  uint64_t notChecked = 0; // Equations with a poison operand.
  uint64_t omitted = 0;    // Diagnostics beyond `maxPerCode`.
  /// Of the entry. An argument or result that has no type is invalid.
  std::vector<TypeId> argumentTypes, resultTypes;
  std::vector<bool> openResults; // Printed as replicated, but not decided.
  bool ok() const { return !diagnostics.hasErrors(); }
};

} // namespace shardtype

#endif
