// Shared.h - results that devices with equal operands take from one another.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_SHARED_H
#define SHARDTYPE_LIB_INTERP_SHARED_H

#include "shardtype/Rules/Eval.h"
#include <array>
#include <mutex>
#include <unordered_map>

namespace shardtype::interp {

class Device;

inline uint64_t mixHash(uint64_t a, uint64_t b) {
  uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) *
               0xbf58476d1ce4e5b9ull;
  x ^= x >> 29;
  x *= 0x94d049bb133111ebull;
  return x ^ (x >> 32);
}

/// One equation at one moment, for the devices at one place along the axes that
/// its operands vary over.
struct SharedKey {
  uint64_t moment = 0, equation = 0, axes = 0, place = 0;
  friend bool operator==(const SharedKey &, const SharedKey &) = default;
};

class SharedResults {
public:
  enum class Found {
    Taken,   // The results are there.
    Claimed, // The caller is the first: it computes and publishes them.
    Pending  // Another device is computing them.
  };
  /// `takers`: how many devices come here, all in all.
  Found take(const SharedKey &key, unsigned takers,
             SmallVectorImpl<Datum> &results);
  /// The devices that waited.
  std::vector<Device *> publish(const SharedKey &key, ArrayRef<Datum> results);
  /// Notes that `device` waits; false: there is nothing to wait for any more.
  bool wait(const SharedKey &key, Device *device);

private:
  struct Entry {
    bool ready = false;
    unsigned left = 0; // Devices that have still to come.
    SmallVector<Datum, 1> results;
    std::vector<Device *> waiters;
  };
  struct Hash {
    size_t operator()(const SharedKey &key) const {
      return mixHash(mixHash(key.moment, key.equation),
                     mixHash(key.axes, key.place));
    }
  };
  struct Part {
    std::mutex mutex;
    std::unordered_map<SharedKey, Entry, Hash> entries;
  };
  Part &partOf(const SharedKey &key) { return parts_[Hash()(key) % NumParts]; }
  static constexpr size_t NumParts = 32;
  std::array<Part, NumParts> parts_;
};

} // namespace shardtype::interp

#endif
