// Memo.h - outcomes of rules, found by what they depend on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_MEMO_H
#define SHARDTYPE_LIB_CHECK_MEMO_H

#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"
#include <vector>

namespace shardtype {

/// A value while it is typed, in one word: its type and what else is known.
class Val {
public:
  enum Flag : uint32_t {
    Open = 1,    // Rule F: the sharding is not decided.
    Tainted = 2, // Open because of an error: what follows from it is silent.
    Guess = 4,   // From a backward pass that was traced without shardings.
    Assumed = 8  // Depends on a fix that was assumed; no part of any key.
  };
  static constexpr uint32_t MaxTypes = 0x0fffffff; // This index: poison.

  constexpr Val() = default;
  constexpr explicit Val(uint32_t raw) : raw_(raw) {}
  constexpr Val(TypeId type, uint32_t flags)
      : raw_((type.valid() ? type.raw() : MaxTypes) << 4 | flags) {}

  constexpr bool poison() const { return raw_ >> 4 == MaxTypes; }
  constexpr TypeId type() const {
    return poison() ? TypeId() : TypeId(raw_ >> 4);
  }
  constexpr bool is(Flag flag) const { return raw_ & flag; }
  constexpr uint32_t flags() const { return raw_ & 15; }
  constexpr uint32_t raw() const { return raw_; }
  constexpr uint32_t key() const { return raw_ & ~uint32_t(Assumed); }
  constexpr Val with(uint32_t flags) const { return Val(raw_ | flags); }

private:
  uint32_t raw_ = MaxTypes << 4;
};

/// A hash table from short lists of words to indices of entries, with open
/// addressing; keys lie one behind the other.
class WordTable {
public:
  static constexpr uint32_t None = ~0u;

  static uint64_t hash(ArrayRef<uint32_t> key) {
    uint64_t h = key.size() * 0x9e3779b97f4a7c15ull;
    for (uint32_t word : key) {
      h = (h ^ word) * 0xff51afd7ed558ccdull;
      h ^= h >> 29;
    }
    return h ^ (h >> 32);
  }

  /// The entry of a key, or None.
  uint32_t find(ArrayRef<uint32_t> key, uint64_t hash) const {
    if (slots_.empty())
      return None;
    for (size_t i = hash & mask();; i = (i + 1) & mask()) {
      const Slot &slot = slots_[i];
      if (slot.entry == None)
        return None;
      if (slot.hash == static_cast<uint32_t>(hash >> 32) && equal(slot, key))
        return slot.entry;
    }
  }
  /// Adds a key that is not there.
  void insert(ArrayRef<uint32_t> key, uint64_t hash, uint32_t entry) {
    if ((size_ + 1) * 2 > slots_.size())
      grow();
    Slot slot;
    slot.entry = entry;
    slot.hash = static_cast<uint32_t>(hash >> 32);
    slot.low = static_cast<uint32_t>(hash);
    slot.at = words_.size();
    slot.length = key.size();
    words_.insert(words_.end(), key.begin(), key.end());
    place(slot);
    ++size_;
  }

private:
  struct Slot {
    uint32_t entry = None, hash = 0, low = 0, length = 0;
    size_t at = 0;
  };
  size_t mask() const { return slots_.size() - 1; }
  bool equal(const Slot &slot, ArrayRef<uint32_t> key) const {
    return slot.length == key.size() &&
           std::equal(key.begin(), key.end(), words_.begin() + slot.at);
  }
  void place(const Slot &slot) {
    size_t i = slot.low & mask();
    while (slots_[i].entry != None)
      i = (i + 1) & mask();
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 256 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot &slot : old)
      if (slot.entry != None)
        place(slot);
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> words_;
  size_t size_ = 0;
};

} // namespace shardtype

#endif
