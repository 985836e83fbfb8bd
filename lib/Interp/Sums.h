// Sums.h - the partial sums of an equation's results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_SUMS_H
#define SHARDTYPE_LIB_INTERP_SUMS_H

#include "Plan.h"

namespace shardtype::interp {

/// What devices hold of the results of a kernel's equation: found by running
/// the kernel on the blocks of each place along their unreduced axes. Null for
/// results that are not unreduced.
SmallVector<PartialSumsRef, 1> sumsOf(const Step &step, EvalHost &host,
                                      const EvalOptions &options,
                                      ArrayRef<Datum *> operands);

/// Results of a row that runs bodies: those that came without their partial
/// sums have lost them, and those that are whole have none.
void settleSums(const Step &step, MutableArrayRef<Datum> results);

} // namespace shardtype::interp

#endif
