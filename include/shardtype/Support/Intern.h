// Intern.h - a store that gives equal objects one id.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_SUPPORT_INTERN_H
#define SHARDTYPE_SUPPORT_INTERN_H

#include "llvm/ADT/Hashing.h"
#include <cstdint>
#include <deque>
#include <vector>

namespace shardtype {

/// Objects in order of arrival, found by hash with open addressing. Objects do
/// not move, so references stay good.
template <typename T, typename IdType> class InternTable {
public:
  IdType intern(const T &object, size_t hash) {
    if ((objects_.size() + 1) * 2 > slots_.size())
      grow();
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      if (slots_[i].id == Empty) {
        slots_[i] = {static_cast<uint32_t>(objects_.size()),
                     static_cast<uint32_t>(hash)};
        hashes_.push_back(hash);
        objects_.push_back(object);
        return IdType(slots_[i].id);
      }
      if (slots_[i].hash == static_cast<uint32_t>(hash) &&
          objects_[slots_[i].id] == object)
        return IdType(slots_[i].id);
    }
  }
  const T &operator[](IdType id) const { return objects_[id.index()]; }
  size_t size() const { return objects_.size(); }

private:
  static constexpr uint32_t Empty = ~0u;
  struct Slot {
    uint32_t id = Empty, hash = 0;
  };
  size_t mask() const { return slots_.size() - 1; }
  void grow() {
    std::vector<Slot> slots(slots_.empty() ? 64 : slots_.size() * 2);
    slots_.swap(slots);
    for (uint32_t id = 0; id < hashes_.size(); ++id) {
      size_t i = hashes_[id] & mask();
      while (slots_[i].id != Empty)
        i = (i + 1) & mask();
      slots_[i] = {id, static_cast<uint32_t>(hashes_[id])};
    }
  }
  std::vector<Slot> slots_;
  std::vector<size_t> hashes_;
  std::deque<T> objects_;
};

} // namespace shardtype

#endif
