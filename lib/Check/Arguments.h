// Arguments.h - specs that the user gave for arguments and results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_ARGUMENTS_H
#define SHARDTYPE_LIB_CHECK_ARGUMENTS_H

#include "Findings.h"

namespace shardtype {

/// Which spec each path has: the last that fits wins; null: none. A pattern
/// that fits nothing is reported, with near names.
std::vector<const ArgumentSpec *> matchSpecs(ArrayRef<ArgumentSpec> specs,
                                             ArrayRef<std::string> paths,
                                             StringRef option,
                                             DiagnosticList &diagnostics);

/// The entry's arguments as checking takes them (structure/retype.1).
std::vector<Val> argumentValues(const Program &program, Meshes &meshes,
                                CheckedProgram &out, Findings &findings);

/// Results against `--out`; fills CheckedProgram's result types.
void takeResults(Engine &engine, ArrayRef<Val> results, Findings &findings);

} // namespace shardtype

#endif
