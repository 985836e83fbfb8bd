// EditsImpl.h - the search for the expression that a fix changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_REPORT_EDITSIMPL_H
#define SHARDTYPE_LIB_REPORT_EDITSIMPL_H

#include "Calls.h"

namespace shardtype {

/// Dims that vmap added to what an equation takes and gives. Nothing where that
/// is not known.
struct BatchDims {
  using Dims = std::optional<SmallVector<int64_t, 2>>;
  std::vector<Dims> operands, results;
  const Dims &operand(size_t i) const { return at(operands, i); }
  const Dims &result(size_t i) const { return at(results, i); }

private:
  static const Dims &at(const std::vector<Dims> &list, size_t i) {
    static const Dims Unknown;
    return i < list.size() ? list[i] : Unknown;
  }
};
BatchDims batchDims(const Program &program, EqnId eqn);

/// The failing equation and the expression that it comes from.
struct Failing {
  const Call *call = nullptr;
  std::vector<PlacedEqn> places;
  size_t outer = 0; // The first of the places that the expression makes.
  /// The expression calls a layer of a library, which makes the equation and
  /// takes `out_sharding` for it.
  bool layer = false;
  bool vmapped = false; // `batch` says how.
  BatchDims batch;
  ArrayRef<TypeId> operandTypes;
};

struct Edits::Impl {
  Impl(const CheckedProgram &of, Sources *from)
      : checked(of), program(*of.program), cx(program.context()),
        sources(from) {
    bool anyFixes = llvm::any_of(of.diagnostics.all(), [](const Diagnostic &d) {
      return !d.fixes.empty();
    });
    if (anyFixes)
      calls = CallTable(program);
  }

  std::optional<Failing> failing(const Diagnostic &d);
  bool within(const Call &call, EqnId eqn) const;
  std::optional<std::string> writtenSpec(const Failing &f, const Fix &fix);
  std::optional<std::string> einsumSpec(const Failing &f, const Fix &fix);
  /// A sharding as it is written: the dims in `order`, without those that vmap
  /// added.
  std::optional<std::string> ownSpec(const Failing &f, Sharding sharding,
                                     ArrayRef<int64_t> order,
                                     const BatchDims::Dims &added);
  std::optional<SourceEdit> ofResult(const Failing &f, const Fix &fix);
  std::optional<SourceEdit> ofOperand(const Failing &f, const Fix &fix);
  /// What an operand of an expression is there.
  struct Given {
    unsigned operand = 0;      // Of the outermost equation.
    std::vector<int64_t> dims; // Which of the failing operand's it has.
    unsigned rank = 0;         // Of the failing operand.
    unsigned failing = 0;      // Its number.
  };
  BatchDims::Dims addedToOperand(const Failing &f, const Given &from,
                                 const Sharding &wanted);
  std::optional<Given> given(const Failing &f, unsigned operand);
  std::optional<std::pair<unsigned, int>> argument(const Failing &f,
                                                   unsigned operand);
  std::optional<std::pair<unsigned, int>> scanned(const Call &call, EqnId id,
                                                  unsigned operand);
  bool indexesByValues(const Failing &f) const;
  bool takesOneValue(const Failing &f) const;
  bool isName(const Failing &f, unsigned argument);
  std::optional<unsigned> einsumFirst(const Failing &f);
  std::optional<EqnId> definition(JaxprId jaxpr, VarId var) const;
  void countUses();
  unsigned alsoAt(const Failing &f);
  FileState state(StringRef file);

  const CheckedProgram &checked;
  const Program &program;
  Context &cx;
  Sources *sources;
  CallTable calls;
  std::map<std::string, FileState> states;
  /// Equations by expression and primitive.
  std::map<std::pair<const Call *, uint16_t>, unsigned> uses;
};

/// Is it `jit`, whose operands and results are those of its body?
bool isPlainCall(StringRef primitive);

} // namespace shardtype

#endif
