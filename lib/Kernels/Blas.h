// Blas.h - BLAS and LAPACK, loaded when they are first needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OpenBLAS takes several milliseconds to load, at each start of a program that
// is linked with it; most commands multiply nothing. So it is opened at the
// first call:
//
//   if (auto gemm = SHARDTYPE_BLAS(cblas_sgemm))
//     gemm(...);
#ifndef SHARDTYPE_LIB_KERNELS_BLAS_H
#define SHARDTYPE_LIB_KERNELS_BLAS_H

#include <mutex>
#include <type_traits>
#include <utility>

namespace shardtype::kernels {

/// A function of OpenBLAS, or null where there is none on this machine. It
/// computes on the calling thread only.
void *blasSymbol(const char *name);

/// Builds of OpenBLAS without threads share memory between calls without a
/// lock, so that two calls at once spoil each other's numbers: while this
/// stands, there is no other. With other builds it locks nothing.
std::unique_lock<std::mutex> blasTurn();

/// A function that takes its turn.
template <typename Function> class BlasFunction {
public:
  explicit BlasFunction(Function *function) : function_(function) {}
  explicit operator bool() const { return function_; }
  template <typename... Args> auto operator()(Args &&...args) const {
    std::unique_lock<std::mutex> turn = blasTurn();
    return function_(std::forward<Args>(args)...);
  }

private:
  Function *function_;
};

} // namespace shardtype::kernels

/// The function `name` as its header declares it; looked up once.
#define SHARDTYPE_BLAS(name)                                                   \
  ([] {                                                                        \
    using Function = std::remove_reference_t<decltype(name)>;                  \
    static auto *const function =                                              \
        reinterpret_cast<Function *>(::shardtype::kernels::blasSymbol(#name)); \
    return ::shardtype::kernels::BlasFunction<Function>(function);             \
  }())

#endif
