// Parallel.h - lets idle threads help with one large kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_PARALLEL_H
#define SHARDTYPE_KERNELS_PARALLEL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace shardtype::kernels {

/// Who may help the kernels that a thread runs.
class Helpers {
public:
  virtual ~Helpers();
  /// Calls `body` once for each part below `parts`, on this thread and on
  /// idle ones, in any order; returns when all are done. A body neither waits
  /// nor makes tensors.
  virtual void forEach(int64_t parts,
                       llvm::function_ref<void(int64_t part)> body) = 0;

  /// These help kernels of this thread until the scope ends (null: none do).
  class Scope {
  public:
    explicit Scope(Helpers *helpers);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    Helpers *outer_;
  };
};

/// Cuts [0, count) into ranges, of whole `grain`s but for the last, and calls
/// `body` for each, several at once where there are helpers. What is computed
/// may not depend on where it is cut.
void inRanges(int64_t count, int64_t grain,
              llvm::function_ref<void(int64_t begin, int64_t end)> body);

} // namespace shardtype::kernels

#endif
