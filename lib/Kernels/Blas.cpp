// Blas.cpp - BLAS and LAPACK, loaded when they are first needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Blas.h"
#include <dlfcn.h>
#include <initializer_list>

using namespace shardtype;

static void *open() {
  for (const char *name : {"libopenblas.so.0", "libopenblas.so"})
    if (void *library = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) {
      // Builds with threads of their own would compete with the devices'.
      using SetThreads = void(int);
      if (void *set = dlsym(library, "openblas_set_num_threads"))
        reinterpret_cast<SetThreads *>(set)(1);
      return library;
    }
  return nullptr;
}

void *kernels::blasSymbol(const char *name) {
  static void *const library = open();
  return library ? dlsym(library, name) : nullptr;
}
