// RunArrays.h - the arrays that a run takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_RUNARRAYS_H
#define SHARDTYPE_LIB_DRIVER_RUNARRAYS_H

#include "Options.h"
#include "shardtype/Rules/PartialSums.h"
#include <map>

namespace shardtype {

/// What `--inputs`, `--random` and `--fill` give: one array per argument, and
/// the constants that the file leaves out.
struct RunArrays {
  std::vector<Tensor> arguments;
  std::map<int64_t, Tensor> constants;  // By index in Program::arrays.
  std::map<uint32_t, Tensor> constvars; // By raw VarId: in no file.
};

/// What an array of a file may be called: the path, or the position, alone or
/// as `numpy.savez` writes it.
SmallVector<std::string, 3> arrayNames(std::string path, size_t position);

/// Failure: `err` says for `verb` which array is missing, left over, or of
/// another type.
LogicalResult findArrays(const CheckedProgram &checked, const Options &options,
                         StringRef verb, RunArrays &arrays, raw_ostream &err);

/// The block of each device, by the type; of an unreduced value that of its own
/// part, or one line that says why parts are not known.
void printBlocks(raw_ostream &os, const Context &cx, TypeId type,
                 const Tensor &value, const PartialSumsRef &sums,
                 MeshId placed);

/// Standard normal floats, integers from 0 to 9, bools and the words of keys,
/// the same for the same seed and number.
Tensor randomArray(DType dtype, ArrayRef<int64_t> shape, uint64_t seed,
                   uint64_t number);

} // namespace shardtype

#endif
