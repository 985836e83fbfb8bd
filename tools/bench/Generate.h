// Generate.h - programs of any size for the benchmarks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TOOLS_BENCH_GENERATE_H
#define SHARDTYPE_TOOLS_BENCH_GENERATE_H

#include "shardtype/Rules/CheckedProgram.h"

namespace shardtype::bench {

struct GenerateOptions {
  /// At least so many equations, in whole layers (some 50 equations each) but
  /// for a last one that is cut short.
  uint64_t equations = 1000;
  /// The layers are the trips of one scan; its body is one layer, so the
  /// program has that many equations whatever `equations` says.
  bool scan = false;
  /// Equations carry source stacks and name stacks, as exported ones do.
  bool sources = true;
};

/// The forward pass of a transformer as JAX traces it without a mesh: recorded
/// types, parameters as JAX gives them. Layers have equal types and share their
/// parameters and source lines, as layers of a Python loop do.
Program generate(Context &context, const PrimitiveSet &primitives,
                 const GenerateOptions &options);

/// Options that re-type such a program (or one with `scan`) on a mesh
/// `data=DATA,model=MODEL` (and further axes of size 2 that nothing uses): the
/// batch over `data`, heads and hidden units over `model`. Sizes must be powers
/// of two up to 64. No equation of a generated program is in error under them.
CheckOptions shardedOptions(Context &context, int64_t data, int64_t model,
                            bool scan = false, unsigned furtherAxes = 0);

/// One region of `shard_map` over two axes with so many equations, rounded up
/// to whole layers of ten: gathers, casts, sums and permutations among
/// products. Types are recorded; no equation is in error.
Program generateManual(Context &context, const PrimitiveSet &primitives,
                       uint64_t equations);

/// Makes the types that a check found the recorded ones: a program traced under
/// the mesh.
void recordTypes(Program &program, const CheckedProgram &checked);

} // namespace shardtype::bench

#endif
