// Bytes.h - amounts of elements and bytes that may have no number.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_SUPPORT_BYTES_H
#define SHARDTYPE_SUPPORT_BYTES_H

#include <cstdint>
#include <limits>

namespace shardtype {

/// An amount is a number below `UnknownBytes`, or one of these. Both compare as
/// greater than every number.
///
/// `TooManyBytes`: so many that 64 bits do not hold them.
constexpr uint64_t TooManyBytes = std::numeric_limits<uint64_t>::max();
/// `UnknownBytes`: it depends on a symbolic dim.
constexpr uint64_t UnknownBytes = TooManyBytes - 1;

inline bool isCounted(uint64_t amount) { return amount < UnknownBytes; }

/// A wide number as an amount.
inline uint64_t amountOf(unsigned __int128 number) {
  return number < UnknownBytes ? static_cast<uint64_t>(number) : TooManyBytes;
}

/// Unknown wins: too many of one thing and an unknown number of another are an
/// unknown number.
inline uint64_t addAmounts(uint64_t a, uint64_t b) {
  if (a == UnknownBytes || b == UnknownBytes)
    return UnknownBytes;
  return amountOf(static_cast<unsigned __int128>(a) + b);
}
/// None times whatever is none.
inline uint64_t multiplyAmounts(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (a == UnknownBytes || b == UnknownBytes)
    return UnknownBytes;
  return amountOf(static_cast<unsigned __int128>(a) * b);
}

} // namespace shardtype

#endif
