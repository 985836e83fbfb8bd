// GeneratorState.h - the state of rng_bit_generator (spec 09, 14).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_GENERATORSTATE_H
#define SHARDTYPE_LIB_KERNELS_GENERATORSTATE_H

#include "shardtype/Tensor/Tensor.h"
#include <cstring>

namespace shardtype::kernels {

/// Its words in memory: those of the key, then the counter, the low one first.
struct GeneratorState {
  uint32_t words[4];
  uint64_t counter;

  explicit GeneratorState(const Tensor &state) {
    std::memcpy(words, state.data(), sizeof(words));
    counter = uint64_t(words[3]) << 32 | words[2];
  }
  /// The state with the counter as it is now, in an array like `state`.
  Tensor store(const Tensor &state) {
    words[2] = static_cast<uint32_t>(counter);
    words[3] = static_cast<uint32_t>(counter >> 32);
    Tensor after = Tensor::uninitialised(state.dtype(), state.shape());
    std::memcpy(after.mutableData(), words, sizeof(words));
    return after;
  }
};

} // namespace shardtype::kernels

#endif
