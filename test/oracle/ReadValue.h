// ReadValue.h - parameter values of the verdict files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_READVALUE_H
#define SHARDTYPE_TEST_ORACLE_READVALUE_H

#include "shardtype/IR/Program.h"

namespace shardtype::oracle {

/// Reads one printed value; specs, also inside tuples, stand for shardings on
/// `mesh` (which may be none), and `$hidden` for a parameter that text hides.
std::optional<ValueId> readValue(Program &program, StringRef text, MeshId mesh,
                                 std::string &error);

} // namespace shardtype::oracle

#endif
