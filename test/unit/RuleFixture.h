// RuleFixture.h - runs the row of one primitive on operands given as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_RULEFIXTURE_H
#define SHARDTYPE_TEST_UNIT_RULEFIXTURE_H

#include "shardtype/Primitives/All.h"
#include "shardtype/Rules/TypingContext.h"
#include <map>

namespace shardtype::test {

/// What a row made of an equation, as text.
struct RuleOutcome {
  bool accepted = false;
  std::string results; // Types as in the verdict files (`np:~f32[]`), or "-".
  std::vector<Diagnostic> diagnostics;

  std::string code() const {
    return diagnostics.empty() ? "" : info(diagnostics[0].code).code.str();
  }
  const std::string &message() const { return diagnostics.at(0).message; }
  /// "0:1 2": operand 0 at dim 1, all of operand 2; `p.key` for parameters.
  std::string marks() const;
  /// A line a fix: `0 P('Y', None) all-gather X 64*` (operand or `->` for a
  /// result, spec, steps with bytes sent per device, `*` if assumed).
  std::string fixes() const;
};

class RuleFixture {
public:
  /// `X=2,Y=2:Auto`; empty: no mesh.
  explicit RuleFixture(StringRef meshText = "X=2,Y=2");

  /// Operands as in the verdict files; parameters as they print, or `<hidden>`
  /// for one that a printed program hides.
  RuleOutcome run(StringRef primitive, std::vector<std::string> operands,
                  const std::map<std::string, std::string> &params = {},
                  unsigned numResults = 1);
  TypeId type(StringRef text);
  std::string text(TypeId type);

  TypingContext::Options options;
  std::vector<TypeId> recorded; // Recorded types of the results.

  Context context;
  MeshId mesh;
  MeshId paramMesh; // Of specs in parameters: `mesh` at first.
  PrimitiveSet rows = allPrimitives();
};

} // namespace shardtype::test

#endif
