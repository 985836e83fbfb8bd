// ReadValue.h - parameter values of the verdict files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_READVALUE_H
#define SHARDTYPE_TEST_ORACLE_READVALUE_H

#include "shardtype/IR/Program.h"

namespace shardtype::oracle {

/// Reads one printed value: None, bools, numbers, tuples, lists, specs (on
/// `mesh`), named tuples, meshes; `$hidden`; anything
/// else is opaque text.
ValueId readValue(Program &program, StringRef text, MeshId mesh);

} // namespace shardtype::oracle

#endif
