// Paths.h - names of places in a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PATHS_H
#define SHARDTYPE_IR_PATHS_H

#include "shardtype/IR/Printer.h"

namespace shardtype {

/// `params['layers'][0].w` as `params/layers/0/w`, a `/` inside a key as `~1`
/// (architecture.md, "names of places").
std::string normalPath(StringRef keyPath);

/// The entry's arguments by path: the file's own normalised paths, else its
/// argument names normalised, else what `name` gives its variable (as VarNames
/// does). One per invar.
std::vector<std::string>
argumentPaths(const Program &program,
              llvm::function_ref<std::string(VarId)> name);
/// Its results: `result`, or `result/0`, ... One per out.
std::vector<std::string> resultPaths(const Program &program);

/// The innermost frame of the user's own files; of a library's (`lib` in the
/// file, docs/spec/export.md, E38) if there is no other. Null: no source is
/// known.
const Frame *ownFrame(const Program &program, StackId stack);

/// Does a path fit a pattern? `*` is one part, `**` any number of parts,
/// within a part `*` is any text.
bool matchesPath(StringRef pattern, StringRef path);

/// The bodies an equation holds, in order of its parameters, each with its
/// place below the equation: `params/jaxpr`, `params/branches/1`.
void forEachBody(
    const Program &program, const Eqn &eqn,
    llvm::function_ref<void(const std::string &place, JaxprId body)> visit);

} // namespace shardtype

#endif
