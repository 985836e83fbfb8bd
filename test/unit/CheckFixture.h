// CheckFixture.h - checking programs in tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_CHECKFIXTURE_H
#define SHARDTYPE_TEST_UNIT_CHECKFIXTURE_H

#include "shardtype/Check/Check.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/Primitives/All.h"
#include <catch2/catch.hpp>

namespace shardtype {

/// A printed program, and what checking it finds.
struct Checked {
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  DiagnosticList inputErrors;
  std::optional<Program> program;
  CheckOptions options;
  std::optional<CheckedProgram> result;

  explicit Checked(StringRef text);
  Checked(const Checked &) = delete;

  // What to check with; each returns the object.
  Checked &mesh(StringRef text); // `X=2,Y=2`
  Checked &in(StringRef spec);   // The next position.
  Checked &in(StringRef pattern, StringRef spec);
  Checked &out(StringRef pattern, StringRef spec);
  Checked &choose(StringRef place, StringRef spec, int operand = -1);
  Checked &run();

  PartitionSpec spec(StringRef text);
  const std::vector<Diagnostic> &found() { return result->diagnostics.all(); }
  /// `code code ...` of all findings, in order.
  std::string codes();
  /// The one finding of this code; fails the test if there is none.
  const Diagnostic &finding(StringRef code);
  std::string resultType(unsigned i = 0);
  std::string argumentType(unsigned i = 0);
  /// The type of the i-th result of the n-th equation of the entry.
  std::string type(unsigned n, unsigned i = 0);
  std::string typeText(TypeId type) {
    return type.valid() ? str(cx, type) : "?";
  }
  /// `f32[8,8]: all-gather X 256/128 x3 (assumed)` of each fix.
  std::vector<std::string> fixes(const Diagnostic &d);
  bool hasNote(const Diagnostic &d, StringRef part);
  /// The program with its fixes, checked again on its own.
  std::string fixedCodes(std::vector<MadeChoice> *made = nullptr);
};

} // namespace shardtype

#endif
