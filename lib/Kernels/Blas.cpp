// Blas.cpp - BLAS and LAPACK, loaded when they are first needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Blas.h"
#include "shardtype/Kernels/Prepare.h"
#include "llvm/ADT/StringRef.h"
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <sys/resource.h>
#include <unistd.h>

using namespace shardtype;

/// OpenBLAS goes by the model of the processor, and takes one that it does not
/// know for one of twenty years ago (30 times slower). Features decide.
static void chooseCore() {
  // Builds with threads of their own would compete with the devices', and
  // begin them as they are loaded.
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1);
#if defined(__x86_64__)
  const char *core = nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    core = "SKYLAKEX";
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    core = "HASWELL";
  if (core)
    setenv("OPENBLAS_CORETYPE", core, /*overwrite=*/0);
#endif
}

/// It refers to thousands of its own functions by name: they are found at once
/// where it is searched before the program and all other libraries. Sanitizers
/// refuse that.
static int openMode() {
  int mode = RTLD_LAZY | RTLD_LOCAL;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
    __has_feature(memory_sanitizer)
  return mode;
#endif
#endif
#if defined(RTLD_DEEPBIND) && !defined(__SANITIZE_ADDRESS__) &&                \
    !defined(__SANITIZE_THREAD__)
  mode |= RTLD_DEEPBIND;
#endif
  return mode;
}

/// Once.
static void chooseEnvironment() {
  static const bool chosen = (chooseCore(), true);
  (void)chosen;
}

namespace {
struct Library {
  void *handle = nullptr;
  bool oneAtATime = true;
  Library();
};
} // namespace

/// It asks for its memory again and again where there is none, for ever.
static bool hasRoom() {
  constexpr uint64_t Wanted = uint64_t(256) << 20;
  rlimit addresses;
  if (getrlimit(RLIMIT_AS, &addresses) != 0 ||
      addresses.rlim_cur == RLIM_INFINITY)
    return true;
  uint64_t pages = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%" SCNu64, &pages) != 1)
      pages = 0;
    fclose(file);
  }
  uint64_t used = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return used + Wanted < addresses.rlim_cur;
}

Library::Library() {
  if (!hasRoom())
    return;
  chooseEnvironment();
  for (const char *name : {"libopenblas.so.0", "libopenblas.so"})
    if (!handle)
      handle = dlopen(name, openMode());
  if (!handle)
    return;
  using SetThreads = void(int);
  if (void *set = dlsym(handle, "openblas_set_num_threads"))
    reinterpret_cast<SetThreads *>(set)(1);
  using GetConfig = char *();
  if (void *get = dlsym(handle, "openblas_get_config")) {
    llvm::StringRef config = reinterpret_cast<GetConfig *>(get)();
    oneAtATime =
        config.contains("SINGLE_THREADED") && !config.contains("USE_LOCKING");
  }
}

static const Library &library() {
  static const Library opened;
  return opened;
}

void *kernels::blasSymbol(const char *name) {
  void *handle = library().handle;
  return handle ? dlsym(handle, name) : nullptr;
}

std::thread kernels::loadBlas() {
  chooseEnvironment(); // Which is not for threads to change.
  return std::thread([] { library(); });
}

std::unique_lock<std::mutex> kernels::blasTurn() {
  static std::mutex mutex;
  std::unique_lock<std::mutex> turn(mutex, std::defer_lock);
  if (library().oneAtATime)
    turn.lock();
  return turn;
}
