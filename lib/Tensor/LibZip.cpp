// LibZip.cpp - libzip, loaded when an archive needs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LibZip.h"
#include <dlfcn.h>
#include <initializer_list>
#include <optional>

using namespace shardtype;

static std::optional<LibZip> load() {
  void *handle = nullptr;
  for (const char *name : {"libzip.so.5", "libzip.so.4", "libzip.so"})
    if (!handle)
      handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    return std::nullopt;
  LibZip lib;
  bool isWhole = true;
#define F(name)                                                                \
  lib.name = reinterpret_cast<decltype(lib.name)>(dlsym(handle, #name));       \
  isWhole &= lib.name != nullptr;
  SHARDTYPE_LIBZIP(F)
#undef F
  return isWhole ? std::optional(lib) : std::nullopt;
}

const LibZip *shardtype::libZip() {
  static const std::optional<LibZip> loaded = load();
  return loaded ? &*loaded : nullptr;
}
