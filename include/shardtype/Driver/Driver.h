// Driver.h - the command line as a function.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_DRIVER_DRIVER_H
#define SHARDTYPE_DRIVER_DRIVER_H

#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// Runs one command; `args` are those after the program's name. Results go to
/// `out`, progress and complaints about usage to `err`. Returns the exit code:
/// 0 nothing found, 1 errors in a program, 2 no work was done. Colours follow
/// `out.has_colors()` unless an option says otherwise.
int runCommandLine(ArrayRef<std::string> args, raw_ostream &out,
                   raw_ostream &err);

} // namespace shardtype

#endif
