// Prepare.h - loads what kernels will need, before they do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_PREPARE_H
#define SHARDTYPE_KERNELS_PREPARE_H

#include <thread>

namespace shardtype::kernels {

/// A thread that loads BLAS, which takes milliseconds, while a program is read.
/// Kernels that come first wait for it.
std::thread loadBlas();

} // namespace shardtype::kernels

#endif
