// Parallel.cpp - lets idle threads help with one large kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Parallel.h"
#include <algorithm>
#include <utility>

using namespace shardtype::kernels;

static thread_local Helpers *currentHelpers = nullptr;

Helpers::~Helpers() = default;

Helpers::Scope::Scope(Helpers *helpers)
    : outer_(std::exchange(currentHelpers, helpers)) {}

Helpers::Scope::~Scope() { currentHelpers = outer_; }

void shardtype::kernels::inRanges(
    int64_t count, int64_t grain,
    llvm::function_ref<void(int64_t begin, int64_t end)> body) {
  if (count <= 0)
    return;
  int64_t parts = (count + grain - 1) / grain;
  if (parts == 1 || !currentHelpers)
    return body(0, count);
  currentHelpers->forEach(parts, [&](int64_t part) {
    body(part * grain, std::min(count, (part + 1) * grain));
  });
}
