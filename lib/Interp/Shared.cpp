// Shared.cpp - results that are computed once for many devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared.h"

using namespace shardtype;
using namespace shardtype::interp;

SharedResults::Found SharedResults::take(const SharedKey &key, unsigned takers,
                                         SmallVectorImpl<Datum> &results) {
  Part &part = partOf(key);
  std::lock_guard lock(part.mutex);
  auto [at, isNew] = part.entries.try_emplace(key);
  Entry &entry = at->second;
  if (isNew) {
    entry.left = takers - 1;
    return Found::Claimed;
  }
  if (!entry.ready)
    return Found::Pending;
  if (--entry.left > 0) {
    results.assign(entry.results.begin(), entry.results.end());
    return Found::Taken;
  }
  results = std::move(entry.results);
  part.entries.erase(at);
  return Found::Taken;
}

std::vector<Device *> SharedResults::publish(const SharedKey &key,
                                             ArrayRef<Datum> results) {
  Part &part = partOf(key);
  std::lock_guard lock(part.mutex);
  Entry &entry = part.entries.at(key);
  entry.ready = true;
  entry.results.assign(results.begin(), results.end());
  return std::move(entry.waiters);
}

bool SharedResults::wait(const SharedKey &key, Device *device) {
  Part &part = partOf(key);
  std::lock_guard lock(part.mutex);
  auto at = part.entries.find(key);
  if (at == part.entries.end() || at->second.ready)
    return false;
  at->second.waiters.push_back(device);
  return true;
}
