// Common.h - shared by the forms a report takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_REPORT_COMMON_H
#define SHARDTYPE_LIB_REPORT_COMMON_H

#include "shardtype/Report/Edits.h"
#include "shardtype/Report/Report.h"

namespace shardtype {

/// The place of a stack: its innermost frame of the user's own files; null: no
/// source is known.
const Frame *innermost(const Program &program, StackId stack);
/// The frame of a library that the user's own one leads to; null: there is none
/// within it.
const Frame *libraryFrame(const Program &program, StackId stack);
/// `model.py:41:12` (columns from 1), or the equation's path.
std::string place(const Program &program, StackId stack, StringRef path);
/// Does the type hold partial results?
bool leavesPartial(const Context &cx, TypeId type);
/// What a fix says to write: its code with the operand's name in it, or
/// `out_sharding=...`.
std::string fixCode(const Program &program, const VarNames &names,
                    const Diagnostic &diagnostic, const Fix &fix);
/// The same as an edit of the user's call where one is known, on one line.
std::string editText(Edits &edits, const Program &program,
                     const VarNames &names, const Diagnostic &diagnostic,
                     const Fix &fix);
struct Counts {
  unsigned errors = 0, warnings = 0;
};
Counts count(const DiagnosticList &diagnostics);
StringRef levelWord(Level level); // "error", "warning", "note"
/// JSON text must be valid UTF-8; names in a program need not be.
std::string utf8(StringRef text);
/// Parts of a JSON report. `source`: where something comes from, `whole` with
/// column and function; nothing if it is not known.
void writeMesh(llvm::json::OStream &json, const Context &cx, const Mesh &mesh);
/// What every report on a program begins with.
void writeHead(llvm::json::OStream &json, StringRef schema,
               const CheckedProgram &checked, const ReportOptions &options);
void writeDiagnostics(llvm::json::OStream &json, const CheckedProgram &checked,
                      Sources *sources);
void writeSource(llvm::json::OStream &json, const Program &program,
                 StackId stack, bool whole);
/// `mesh X=4, Y=2`, or `no mesh`.
std::string meshText(const CheckedProgram &checked);
/// `1 error`, `3 errors`.
std::string plural(uint64_t n, StringRef word);

} // namespace shardtype

#endif
