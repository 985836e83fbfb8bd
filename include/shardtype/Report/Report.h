// Report.h - what a person or a script reads of a checked program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_REPORT_H
#define SHARDTYPE_REPORT_REPORT_H

#include "shardtype/Report/Sources.h"
#include "shardtype/Rules/CheckedProgram.h"

namespace llvm::json {
class OStream;
}

namespace shardtype {

struct ReportOptions {
  std::string program; // The name to report under, as the user gave it.
  bool color = false;
  bool all = false;           // Every argument, not only the first ones.
  unsigned maxErrors = 50;    // More are counted.
  Sources *sources = nullptr; // Null: no source lines.
};

/// Verdict, signature and all findings, for people (command-line.md).
void printCheck(raw_ostream &os, const CheckedProgram &checked,
                const ReportOptions &options);
/// One object, schema `shardtype-check/1`; `withEquations` adds
/// `equations_typed` (bodies after their equation, each instance once).
void writeCheckJson(llvm::json::OStream &json, const CheckedProgram &checked,
                    const ReportOptions &options, bool withEquations = false);
/// GitHub annotations, one line each.
void printGithub(raw_ostream &os, const CheckedProgram &checked,
                 const ReportOptions &options);
/// The "results" of one SARIF 2.1.0 run; `writeSarif` wraps all programs'.
struct SarifInput {
  const CheckedProgram *checked = nullptr; // Null: only `diagnostics`.
  const DiagnosticList *diagnostics = nullptr;
  std::string program;
};
void writeSarif(raw_ostream &os, ArrayRef<SarifInput> inputs);

/// Input errors: no program came of it.
void printInputErrors(raw_ostream &os, const DiagnosticList &diagnostics,
                      const ReportOptions &options);
void printInputErrorsGithub(raw_ostream &os, const DiagnosticList &diagnostics,
                            const ReportOptions &options);
void writeInputErrorsJson(llvm::json::OStream &json,
                          const DiagnosticList &diagnostics,
                          const ReportOptions &options);

/// Where a finding is: `model.py:41:12` (columns from 1), or the equation's
/// path.
std::string place(const Program &program, const Diagnostic &diagnostic);

/// An amount (Support/Bytes.h) as a number; else null, and in `KEY_is` why:
/// "unknown" or "too many".
void writeAmount(llvm::json::OStream &json, StringRef key, uint64_t amount);

/// "4 KiB", "192 B", "1.5 MiB", "more bytes than can be counted".
std::string humanBytes(uint64_t bytes);
/// "401 408": digits in groups of three; "unknown", "too many".
std::string groupedDigits(uint64_t number);
/// "one all-reduce over model, 4 KiB sent per device".
std::string describe(ArrayRef<CommStep> steps, bool leavesPartial);

} // namespace shardtype

#endif
