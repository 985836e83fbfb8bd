// Recorded.h - what a recording says beside its equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_RECORDED_H
#define SHARDTYPE_LIB_CHECK_RECORDED_H

#include "Findings.h"

namespace shardtype {

/// Reports each sharding that the recorder could not build
/// (structure/record.1).
void reportDropped(const Program &program, Meshes &meshes, Findings &findings);
/// Reports that JAX refuses the bodies of shard_map, where the recorder saw it
/// and nothing else says it (structure/record.5).
void reportRefusedRegions(const Program &program,
                          const DiagnosticList &diagnostics,
                          Findings &findings);
/// Reports carries, branches and results that JAX refuses, where nothing in the
/// recording says it any more (structure/record.7).
void reportPassedChecks(const Program &program,
                        const DiagnosticList &diagnostics, Findings &findings);
/// Reports that JAX refuses an axis name outside of regions, where the recorder
/// saw it and no equation says it (structure/record.6).
void reportUnbound(const Program &program, const DiagnosticList &diagnostics,
                   Findings &findings);
/// Finds the in_specs of regions that were recorded without
/// (shard_map/infer.4).
void collectInSpecs(CheckedProgram &out);
/// The user's calls that rules have to know of, by their index in the table
/// `apis` (structure/record.4); empty for all others.
std::vector<std::string> knownCalls(const Program &program);
/// Which of them an equation comes from; empty: none.
StringRef callOf(const Program &program, const EqnInfo &info,
                 ArrayRef<std::string> known);
/// Why derivatives were traced as JAX does it, once a line of source
/// (structure/record.2).
std::vector<DiagNote> unmarkedDerivatives(const Program &program);

} // namespace shardtype

#endif
