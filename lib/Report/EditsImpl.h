// EditsImpl.h - the search for the expression that a fix changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_REPORT_EDITSIMPL_H
#define SHARDTYPE_LIB_REPORT_EDITSIMPL_H

#include "Calls.h"

namespace shardtype {

/// The failing equation and the expression that it comes from.
struct Failing {
  const Call *call;
  std::vector<PlacedEqn> places;
  size_t outer = 0; // The first of the places that the expression makes.
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
  std::optional<SourceEdit> ofResult(const Failing &f, const Fix &fix);
  std::optional<SourceEdit> ofOperand(const Failing &f, const Fix &fix);
  /// What an operand of an expression is there.
  struct Given {
    unsigned operand = 0;      // Of the outermost equation.
    std::vector<int64_t> dims; // Which of the failing operand's it has.
    unsigned rank = 0;         // Of the failing operand.
  };
  std::optional<Given> given(const Failing &f, unsigned operand);
  std::optional<std::pair<unsigned, int>> argument(const Failing &f,
                                                   unsigned operand);
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
