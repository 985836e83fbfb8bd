// Levels.h - which kinds of diagnostics count, and how much.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_LEVELS_H
#define SHARDTYPE_REPORT_LEVELS_H

#include "shardtype/IR/Program.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// `--allow`, `--warn`, `--deny` and the excused lines of a config file
/// (architecture.md, "Verdicts, levels, recovery"). Later changes win.
struct LevelOptions {
  struct Change {
    std::string code; // A kind, or `warnings` (with Error): all warnings.
    Level level = Level::Error;
    std::string origin; // Who says so: `--deny`, `config.json: /deny/0`.
  };
  std::vector<Change> changes;
  /// `--deny all-gather`: a kind of collective that no program may name.
  struct Denied {
    CommStep::Kind kind;
    std::string origin;
  };
  std::vector<Denied> denied;
  std::vector<std::string> excused; // `file:line`
};

/// Checks the codes; the text of the first that is none, with near ones.
std::optional<std::string> unknownCode(const LevelOptions &options);
/// Sets levels and drops what is ignored or excused. Only program findings are
/// touched: input errors stay as they are.
void applyLevels(DiagnosticList &diagnostics, const Program &program,
                 const LevelOptions &options);

} // namespace shardtype

#endif
