// Manual.h - states of values over Manual axes and what changes them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_MANUAL_H
#define SHARDTYPE_RULES_MANUAL_H

#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// What casts and sums turn one state into another: the expression to write,
/// with {0} for the value, and what it communicates.
struct CastPath {
  std::string code;
  std::vector<CommStep> communication;
};
/// Nothing: no casts lead there (manual/cast.1). `mesh` has the axes, `bytes`
/// is the size of the value on one device.
std::optional<CastPath> castPath(const Context &cx, MeshId mesh,
                                 const ManualAxisType &from,
                                 const ManualAxisType &to, uint64_t bytes);

/// One collective over a group of `n` devices; `bytes` is the operand on one
/// device, for an all-gather the result.
CommStep commStep(const Context &cx, MeshId mesh, CommStep::Kind kind,
                  ArrayRef<uint8_t> axes, uint64_t bytes, int64_t n);

/// `'i'`, or `('i', 'j')`: axes as they are written in a call.
std::string axisNamesCode(const Context &cx, MeshId mesh, AxisSet axes);
/// `{V:i, U:j}`, or `nothing`.
std::string stateText(const Context &cx, MeshId mesh,
                      const ManualAxisType &manual);

/// The same as `--choose` reads it: `{V:i}`, or `{}`.
std::string stateSpec(const Context &cx, MeshId mesh,
                      const ManualAxisType &manual);

/// The type with this state over Manual axes, on a mesh that has them.
TypeId withManual(Context &cx, TypeId type, const ManualAxisType &manual,
                  MeshId mesh);

/// A type as a text has it, which does not say by what a value is unreduced
/// over Manual axes, with what `found` says of that.
TypeId withKindOf(Context &cx, TypeId written, TypeId found);

/// Reports that JAX's type of a result says less than is true: it varies over
/// `axes` (manual/lost.1).
void warnVariationLost(TypingContext &cx, AxisSet axes, StringRef why);

} // namespace shardtype

#endif
