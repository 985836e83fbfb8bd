// PrintPlan.h - what is shared and what it is called, before anything prints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_PRINTPLAN_H
#define SHARDTYPE_LIB_IR_PRINTPLAN_H

#include "EqnParams.h"
#include "shardtype/IR/Printer.h"
#include "llvm/ADT/DenseSet.h"

namespace shardtype {

/// `a`, ..., `z`, `ba`, `bb`: the n-th name of a variable (spec 04, 4.4).
std::string variableName(uint64_t n);

/// How a variable is called, in one word.
class VarName {
public:
  VarName() = default;
  static VarName underscore() { return VarName(1); }
  static VarName fresh(uint32_t n) { return VarName(2 + n); }
  static VarName given(StringId name) { return VarName(name.raw() | GivenBit); }
  bool known() const { return raw_ != 0; }
  bool isUnderscore() const { return raw_ == 1; }
  /// The text, in `buffer` if it is stored nowhere else. `_` if not known.
  StringRef str(const Context &cx, SmallVectorImpl<char> &buffer) const;
  uint32_t raw() const { return raw_; }
  static VarName ofRaw(uint32_t raw) { return VarName(raw); }

private:
  explicit VarName(uint32_t raw) : raw_(raw) {}
  static constexpr uint32_t GivenBit = 0x80000000u;
  uint32_t raw_ = 0;
};

/// A jaxpr as it prints once: with a view, one instance of it.
struct PrintUnit {
  JaxprId jaxpr;
  InstanceId instance;     // Invalid: recorded types.
  bool shared = false;     // Printed as a definition.
  std::string name;        // Of the definition.
  size_t firstName = 0;    // Of its first variable in PrintPlan's names.
  unsigned uses = 0;       // Occurrences in the walk: 0, 1, or 2 for more.
  StringRef proposed = {}; // By the first equation that gives a name.
  bool hasProposed = false;
};

/// Finds the units below a jaxpr, decides which print as definitions (spec 04,
/// 4.9) and names all variables (4.4), without printing anything.
class PrintPlan {
public:
  struct Root {
    JaxprId jaxpr;
    InstanceId instance; // Invalid: recorded types.
  };
  PrintPlan(const Program &program, const TypeView *view, Root root,
            bool keepNames);

  EqnParams &params() { return params_; }
  const PrintUnit &unit(unsigned index) const { return units_[index]; }
  /// The unit a jaxpr is when an equation of `parent` holds it.
  unsigned held(unsigned parent, EqnId eqn, JaxprId body) const;
  /// The root is unit 0; the definitions in printing order.
  ArrayRef<unsigned> definitions() const { return definitions_; }

  unsigned numUnits() const { return units_.size(); }
  /// Not known for a variable that is printed nowhere in place.
  VarName name(unsigned unit, VarId var) const {
    return names_[slot(unit, var)];
  }

private:
  void findUnits(Root root);
  void countUses();
  void nameDefinitions();
  void nameVariables(bool keepNames);
  void nameUnit(unsigned unit, unsigned depth);
  void nameBodies(unsigned unit, EqnId eqn, unsigned depth);
  void nameVar(unsigned unit, VarId var);
  void suggest(unsigned unit, EqnId eqn);
  void suggestLike(unsigned body, ArrayRef<Atom> names, unsigned unit,
                   ArrayRef<Atom> like);
  void markDead();
  VarName freshName();
  unsigned addUnit(JaxprId jaxpr, InstanceId instance);
  InstanceId instanceOf(const PrintUnit &parent, EqnId eqn, JaxprId body) const;
  size_t slot(unsigned unit, VarId var) const {
    const PrintUnit &u = units_[unit];
    return u.firstName + var.raw() - program_.jaxpr(u.jaxpr).firstVar;
  }

  const Program &program_;
  const TypeView *view_;
  EqnParams params_;
  std::vector<PrintUnit> units_;
  llvm::DenseMap<uint64_t, unsigned> unitOf_; // By instance and jaxpr.
  std::vector<std::vector<unsigned>> held_;   // Bodies of a unit, with repeats.
  std::vector<unsigned> definitions_;
  std::vector<VarName> names_;
  llvm::DenseSet<uint64_t> taken_; // Numbers of names that are in use.
  uint64_t nextFresh_ = 0;
  bool keepNames_;
};

} // namespace shardtype

#endif
