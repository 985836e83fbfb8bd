// Check.h - types every equation of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_CHECK_CHECK_H
#define SHARDTYPE_CHECK_CHECK_H

#include "shardtype/Rules/CheckedProgram.h"

namespace shardtype {

/// Types the whole program, reporting every independent error. Linear in the
/// number of equations of distinct instances; the program is not changed.
/// Never fails: what is wrong with program or options is in `diagnostics`.
CheckedProgram check(const Program &program, const PrimitiveSet &primitives,
                     const CheckOptions &options = {});

/// A recorded mesh as it stands under re-typing (structure/retype.3): `to` with
/// the kinds of the axes that `recorded` changed against `from`, the mesh of
/// the trace.
MeshId retypedMesh(Context &cx, MeshId recorded, MeshId from, MeshId to);

/// One fix that `applyFixes` wrote.
struct MadeChoice {
  std::string path; // Of the equation.
  StackId stack;
  std::string type; // What its result or operand became.
  std::vector<CommStep> communication;
};

/// The program with every assumed fix written into it: as parameter where the
/// primitive takes one, else as a reshard before or behind the equation. It is
/// an Explicit program of its own: types are the ones found, sharding
/// parameters and contexts are on the mesh checked for, a body that was typed
/// in several ways is written once for each, and what was left open is
/// resharded where it is used. Choices are appended to `made`.
Program applyFixes(const CheckedProgram &checked,
                   const PrimitiveSet &primitives,
                   std::vector<MadeChoice> &made);

} // namespace shardtype

#endif
