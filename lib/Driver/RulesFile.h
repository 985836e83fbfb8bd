// RulesFile.h - `--rules`: primitives of the user's own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_RULESFILE_H
#define SHARDTYPE_LIB_DRIVER_RULESFILE_H

#include "Options.h"
#include "shardtype/Rules/OwnPrimitives.h"

namespace shardtype {

/// Reads the files of `--rules` (docs/own-primitives.md) and adds what they
/// hold to the known primitives. Failure: `err` has a line with the place and
/// what is expected there.
LogicalResult addOwnRules(const Options &options, OwnPrimitives &own,
                          PrimitiveSet &primitives, raw_ostream &err);

} // namespace shardtype

#endif
