// Cost.h - what a change of sharding communicates, in closed form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_COST_H
#define SHARDTYPE_RULES_COST_H

#include "shardtype/Rules/DimMap.h"
#include "shardtype/Support/Diagnostic.h"
#include "shardtype/Types/Context.h"

namespace shardtype {

/// The steps that turn a value of type `from` into one of type `to` (same
/// shape, same mesh): reductions of unreduced axes, exchanges of axes that move
/// between dims, gathers of axes that go, slices (free) of axes that come.
/// `payload` is the local operand in bytes (for an all-gather the result), and
/// `sent` per device over n: all-reduce 2(n-1)/n of the operand,
/// reduce-scatter and all-to-all (n-1)/n of it, all-gather (n-1)/n of the
/// result, permute, broadcast and ragged all-to-all the operand
/// (architecture.md, "cost of a fix").
std::vector<CommStep> reshardCost(Context &cx, TypeId from, TypeId to);

/// The steps an operation with these dims needs to give a result of type
/// `wanted`: operands are resharded where a factor is sharded differently among
/// them, the operation leaves partial sums over axes that shard a Reduce
/// factor, and those are then reduced or scattered into `wanted`.
std::vector<CommStep> resultCost(Context &cx, const DimMap &dims,
                                 ArrayRef<TypeId> operands, TypeId wanted);

/// What each of `n` devices sends in one step, of this payload (see above);
/// both are amounts, as in Bytes.h. Rounded up. One device alone sends nothing.
uint64_t sentBytes(CommStep::Kind kind, uint64_t payload, uint64_t n);

uint64_t totalSent(ArrayRef<CommStep> steps); // An amount, as in Bytes.h.

} // namespace shardtype

#endif
