// Diagnostic.h - what went wrong, where, and what to write instead.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_SUPPORT_DIAGNOSTIC_H
#define SHARDTYPE_SUPPORT_DIAGNOSTIC_H

#include "shardtype/Support/Bytes.h"
#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"
#include <vector>

namespace shardtype {

enum class Level : uint8_t { Ignored, Note, Warning, Error };

namespace diag {
/// All kinds; the tables are in Support/Diag/*.def.
enum Code : uint16_t {
#define DIAG(Name, code, level, jaxId, jaxClass, format) Name,
#include "shardtype/Support/Diag/All.def"
  NumCodes
};
} // namespace diag

/// What is fixed about a kind of diagnostic.
struct DiagInfo {
  StringRef code;     // "dot-contracting-ambiguous": stable, searchable.
  Level level;        // By default.
  StringRef jaxId;    // Id in spec 01, Appendix B, or spec 02; may be empty.
  StringRef jaxClass; // "STE": the class JAX raises; empty: it does not.
  StringRef format;   // With {0}, {1}... for arguments.
};
const DiagInfo &info(diag::Code code);
/// The kind with this kebab-case code.
std::optional<diag::Code> findCode(StringRef code);
/// Known codes nearest to a mistyped one, best first, at most three.
SmallVector<StringRef, 3> nearestCodes(StringRef code);

/// A step of communication: bytes are per device (architecture.md, "cost of a
/// fix").
struct CommStep {
  enum Kind : uint8_t {
    AllReduce,
    ReduceScatter,
    AllGather,
    AllToAll,
    Permute,
    Broadcast,
    RaggedAllToAll
  } kind = AllReduce;
  SmallVector<std::string, 2> axes;
  /// How many devices take part in one of the groups that run it.
  uint64_t devices = 1;
  /// Amounts (Bytes.h): they may be unknown, or too large to count.
  uint64_t payloadBytes = 0, sentBytes = 0;
  friend bool operator==(const CommStep &, const CommStep &) = default;
};
StringRef str(CommStep::Kind kind); // "all-reduce", "reduce-scatter", ...
/// The kind of this name.
std::optional<CommStep::Kind> findCollective(StringRef name);
/// All names, in the order of the kinds.
ArrayRef<StringRef> collectiveNames();

/// What a diagnostic points at in its equation.
struct Mark {
  enum Kind : uint8_t { Operand, Result, Param } kind = Operand;
  int index = 0;
  int dim = -1;      // Of an operand or result; -1: all of it.
  std::string param; // Param: its key.
};

/// A further fact. With `stack`, where in the user's source it comes from.
struct DiagNote {
  std::string message;
  StackId stack;
};

/// One legal way out.
struct Fix {
  /// The result (or, with `operand`, that operand) gets this type.
  TypeId type;
  int operand = -1; // -1: a result.
  int result = 0;
  std::string spec; // As a PartitionSpec: `P('X', None)`.
  /// What to write, where that is not `out_sharding=spec`: a whole expression
  /// such as `reshard(w, P('X', None))`. {0} stands for the operand's name.
  std::string code;
  bool assumed = false; // Checking went on as if it had been taken.
  bool chosen = false;  // And the user said so: the finding is mended.
  /// Instead of the result itself: this result of each body that has it.
  int bodyResult = -1;
  std::vector<CommStep> communication;
  uint64_t times = 1;   // How often it runs: the trips of a loop.
  bool perTrip = false; // It runs in the body of a loop.
  /// Fixes of one group help only if all of them are made; 0: it helps alone.
  unsigned group = 0;
};

/// One finding. Names of variables do not occur in `message`: marks are shown
/// on the printed equation, so the same finding serves every equation alike.
struct Diagnostic {
  diag::Code code{};
  Level level = Level::Error;
  std::string message;
  // Where in a program: the equation, or an argument or result by number.
  EqnId eqn;
  std::string path; // `eqns/6/params/jaxpr/eqns/2`, `arguments/0`.
  StackId stack;    // The user's frames, innermost first.
  std::vector<TypeId> operandTypes; // Of the equation as it was typed.
  // Where in a file: line from 1 (0: unknown), column from 1, or in `path` a
  // JSON pointer.
  unsigned line = 0, column = 0;
  std::vector<Mark> marks;
  std::vector<DiagNote> notes;
  std::vector<Fix> fixes;
  TypeId wanted; // The type JAX merely has no rule for (see Verdicts), if any.
  /// The user chose one of the fixes, so this counts as if it were written.
  bool mended() const {
    return llvm::any_of(fixes, [](const Fix &fix) { return fix.chosen; });
  }
};

/// Collects diagnostics in order.
class DiagnosticList {
public:
  /// Formats the kind's text with `args` and appends it at the kind's level.
  Diagnostic &add(diag::Code code, ArrayRef<std::string> args = {});
  Diagnostic &add(Diagnostic diagnostic) {
    return all_.emplace_back(std::move(diagnostic));
  }
  bool hasErrors() const;
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }
  std::vector<Diagnostic> &all() { return all_; }
  const std::vector<Diagnostic> &all() const { return all_; }

private:
  std::vector<Diagnostic> all_;
};

/// The kind's text with its places filled.
std::string formatDiag(diag::Code code, ArrayRef<std::string> args);

} // namespace shardtype

#endif
