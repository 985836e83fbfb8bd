// Blas.h - BLAS and LAPACK, loaded when they are first needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenBLAS takes several milliseconds to load, at each start of a program that
// is linked with it; most commands multiply nothing. So it is opened at the
// first call:
//
//   if (auto *gemm = SHARDTYPE_BLAS(cblas_sgemm))
//     gemm(...);
#ifndef SHARDTYPE_LIB_KERNELS_BLAS_H
#define SHARDTYPE_LIB_KERNELS_BLAS_H

namespace shardtype::kernels {

/// A function of OpenBLAS, or null where there is none on this machine. It
/// computes on the calling thread only.
void *blasSymbol(const char *name);

} // namespace shardtype::kernels

/// The function `name` as its header declares it; looked up once.
#define SHARDTYPE_BLAS(name)                                                   \
  ([]() -> decltype(&name) {                                                   \
    static auto *const function = reinterpret_cast<decltype(&name)>(           \
        ::shardtype::kernels::blasSymbol(#name));                              \
    return function;                                                           \
  }())

#endif
