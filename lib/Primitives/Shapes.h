// Shapes.h - what the rows that change shapes share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_SHAPES_H
#define SHARDTYPE_LIB_PRIMITIVES_SHAPES_H

#include "shardtype/Rules/Helpers.h"

namespace shardtype {

/// As a count of Linearity: all operands, however many there are.
inline constexpr uint8_t AllOperands = 255;

//===--- Parameters -------------------------------------------------------===//

/// Reports a size below 0 in a parameter that is a list of sizes. (In the
/// decoded list a negative number is a symbolic size.)
LogicalResult checkSizes(TypingContext &cx, StringRef key);
/// Does a list hold a symbolic size, at whatever depth?
bool holdsSymbol(const Program &program, ValueId id);
/// Where a rule would have to compute with a symbolic size: the size of the
/// result's dim as the trace has it; without one, that is reported.
FailureOr<int64_t> tracedSize(TypingContext &cx, unsigned operand, unsigned dim,
                              unsigned resultDim);
/// Reports a dim whose symbolic size a rule would have to compute with.
LogicalResult checkKnown(TypingContext &cx, unsigned operand, unsigned dim);
/// An index as Python takes it, negative ones from the end.
std::optional<unsigned> pythonIndex(int64_t index, unsigned rank);
/// Whether all are dims of a value of this rank, none twice.
bool areDistinctDims(ArrayRef<int64_t> dims, unsigned rank);
std::string listText(ArrayRef<int64_t> list); // `(1, 0)`

/// A sharding parameter on a result of this rank. Entries beyond the rank are
/// cut; a row's reduction rule reports them by `checkLong` in the end, since
/// JAX finds them after all else.
FailureOr<Sharding> resolveLong(TypingContext &cx, const ShardingParam &param,
                                unsigned rank, StringRef key);
/// Gives the sets back unless the parameter is too long for the result.
FailureOr<ReductionSets> checkLong(TypingContext &cx,
                                   const ShardingParam &param, StringRef key,
                                   ReductionSets sets);

//===--- Shardings --------------------------------------------------------===//

/// `'X'`, or `'X' and 'Y'`.
std::string quoted(TypingContext &cx, ArrayRef<uint8_t> axes);
/// The entries of the dims not in `removed`; mesh and sets as they are.
Sharding withoutDims(const Sharding &sharding, ArrayRef<int64_t> removed);
Sharding withWholeDim(Sharding sharding, unsigned dim);

/// Operand 0's sets pass with their kind; 0.11 passes sums only.
FailureOr<ReductionSets> passKinds(TypingContext &cx);
/// These partitions with the sets of operand 0, where passing them on is right:
/// reduced axes always, sums if the operation is linear. Nothing otherwise.
std::optional<Sharding> soundSets(TypingContext &cx, Sharding partitions,
                                  bool linear);
/// Refuses an operand with U or R where JAX trips over its spec or has no rule;
/// offers to reshard it.
ErrorBuilder refuseSets(TypingContext &cx, diag::Code code, unsigned operand);

/// Completes an error about operands that must be sharded alike: `a` is the
/// first on a mesh, `b` differs from it. Proposes that those which differ from
/// `a` become like it, or `a` like all the others.
ErrorBuilder reportDiffer(TypingContext &cx, ErrorBuilder error, unsigned a,
                          unsigned b);

//===--- Dimension maps ---------------------------------------------------===//

/// A dim with a new factor of its own, or without one if its size is 1.
DimMap::Dim addFactor(DimMap &map, FactorRole role, int64_t size);
/// One operand and results of the same rank, dim by dim the same; `special`
/// dims have another role than Pass.
DimMap sameDims(TypingContext &cx, ArrayRef<int64_t> special, FactorRole role);

//===--- Several results --------------------------------------------------===//

/// The steps of spec 01, 3.0 for an operation of operand 0 with several
/// results of these shapes: meshes agree, `sharding` (run only where some axis
/// is Explicit) gives one sharding for each, and the operand's other parts
/// pass on. Its state over Manual axes follows the standard rules with partial
/// sums passing, or, with `keepsState`, none.
LogicalResult typeResults(
    TypingContext &cx, ArrayRef<Shape> shapes,
    llvm::function_ref<LogicalResult(SmallVectorImpl<Sharding> &)> sharding,
    bool keepsState = false);

} // namespace shardtype

#endif
