// AxisSet.h - sets and ordered lists of the axes of one mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_SUPPORT_AXISSET_H
#define SHARDTYPE_SUPPORT_AXISSET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <bit>
#include <cstdint>

namespace shardtype {

/// The most axes one mesh may have, so that a set of them is one word.
inline constexpr unsigned MaxMeshAxes = 64;

/// The axes that shard one dim, as positions in the mesh, major to minor.
/// Empty: the dim is whole on every device.
using AxisList = llvm::SmallVector<uint8_t, 6>;

/// A set of axes of one mesh; iteration is in mesh order.
class AxisSet {
public:
  constexpr AxisSet() = default;
  constexpr explicit AxisSet(uint64_t bits) : bits_(bits) {}
  static AxisSet of(llvm::ArrayRef<uint8_t> axes) {
    AxisSet set;
    for (uint8_t axis : axes)
      set.insert(axis);
    return set;
  }
  /// The first `count` axes.
  static constexpr AxisSet firstN(unsigned count) {
    return AxisSet(count >= 64 ? ~0ull : (1ull << count) - 1);
  }

  constexpr bool empty() const { return bits_ == 0; }
  constexpr unsigned size() const { return std::popcount(bits_); }
  constexpr bool contains(unsigned axis) const { return bits_ >> axis & 1; }
  constexpr bool contains(AxisSet other) const {
    return (other.bits_ & ~bits_) == 0;
  }
  constexpr bool intersects(AxisSet other) const { return bits_ & other.bits_; }
  constexpr void insert(unsigned axis) { bits_ |= 1ull << axis; }
  constexpr void erase(unsigned axis) { bits_ &= ~(1ull << axis); }
  constexpr uint64_t bits() const { return bits_; }
  /// The axes in mesh order.
  AxisList list() const {
    AxisList axes;
    for (uint64_t rest = bits_; rest; rest &= rest - 1)
      axes.push_back(static_cast<uint8_t>(std::countr_zero(rest)));
    return axes;
  }

  friend constexpr AxisSet operator|(AxisSet a, AxisSet b) {
    return AxisSet(a.bits_ | b.bits_);
  }
  friend constexpr AxisSet operator&(AxisSet a, AxisSet b) {
    return AxisSet(a.bits_ & b.bits_);
  }
  friend constexpr AxisSet operator-(AxisSet a, AxisSet b) {
    return AxisSet(a.bits_ & ~b.bits_);
  }
  constexpr AxisSet &operator|=(AxisSet b) {
    bits_ |= b.bits_;
    return *this;
  }
  friend constexpr bool operator==(AxisSet, AxisSet) = default;

private:
  uint64_t bits_ = 0;
};

} // namespace shardtype

#endif
