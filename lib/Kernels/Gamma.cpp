// Gamma.cpp - samples of the gamma distribution.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marsaglia, Tsang: A Simple Method for Generating Gamma Variables (2000), with
// the keys drawn in the order that JAX draws them, so that samples are its own
// up to what its exp, log and inverse error function round.
#include "Special.h"
#include "shardtype/Kernels/Random.h"
#include <bit>
#include <cmath>

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
/// Keys and numbers from one key of threefry.
class Keys {
public:
  explicit Keys(bool partitionable) : partitionable_(partitionable) {}

  /// Number `i` of `count` keys.
  Words split(Words key, uint32_t i, uint32_t count) const {
    if (partitionable_)
      return threefry(key, {0, i});
    // Words 2i and 2i+1 of the hashed counts 0 to 2 count - 1.
    return {word(key, 2 * i, count), word(key, 2 * i + 1, count)};
  }
  /// In [low, high).
  template <typename T> T uniform(Words key, T low, T high) const {
    T unit;
    if constexpr (sizeof(T) == 4)
      unit = std::bit_cast<float>(bits32(key) >> 9 | 0x3f800000u) - 1;
    else
      unit = std::bit_cast<double>(bits64(key) >> 12 | 0x3ff0000000000000u) - 1;
    return std::max(low, unit * (high - low) + low);
  }
  template <typename T> T normal(Words key) const {
    T open = uniform<T>(key, std::nextafter(T(-1), T(0)), T(1));
    return static_cast<T>(std::sqrt(2.0)) *
           static_cast<T>(special::erfInv(static_cast<double>(open)));
  }

private:
  static uint32_t word(Words key, uint32_t i, uint32_t half) {
    Words hash = threefry(key, {i % half, half + i % half});
    return i < half ? hash.high : hash.low;
  }
  uint32_t bits32(Words key) const {
    Words hash = threefry(key, {0, 0});
    return partitionable_ ? hash.high ^ hash.low : hash.high;
  }
  uint64_t bits64(Words key) const {
    Words hash = threefry(key, partitionable_ ? Words{0, 0} : Words{0, 1});
    return uint64_t(hash.high) << 32 | hash.low;
  }
  bool partitionable_;
};
} // namespace

template <typename T>
static T sample(const Keys &keys, Words key, T asked, bool logarithm) {
  bool isLarge = asked >= 1; // Otherwise a larger one is made smaller again.
  T alpha = isLarge ? asked : asked + 1;
  constexpr T third = static_cast<T>(1.0 / 3);
  T d = alpha - third, c = third / std::sqrt(d);
  Words boostKey = keys.split(key, 1, 2);
  key = keys.split(key, 0, 2);
  T square = 0, v = 1, u = 2;
  while (u >= 1 - static_cast<T>(0.0331) * (square * square) &&
         std::log(u) >=
             square * static_cast<T>(0.5) + d * ((1 - v) + std::log(v))) {
    Words inner = keys.split(key, 1, 3), uniformKey = keys.split(key, 2, 3);
    key = keys.split(key, 0, 3);
    T x = 0, root = -1;
    while (root <= 0) {
      x = keys.normal<T>(keys.split(inner, 1, 2));
      inner = keys.split(inner, 0, 2);
      root = 1 + x * c;
    }
    square = x * x;
    v = root * root * root;
    u = keys.uniform<T>(uniformKey, 0, 1);
  }
  T unit = keys.uniform<T>(boostKey, 0, 1);
  if (logarithm) {
    T minus = std::log1p(-unit); // Of an exponential sample.
    T boost = isLarge || minus == 0 ? 0 : minus * (1 / asked);
    return std::log(d) + std::log(v) + boost;
  }
  T boost = isLarge ? 1 : std::pow(1 - unit, 1 / asked);
  return d * v * boost;
}

template <typename T>
static Tensor samples(const Tensor &keys, const Tensor &alpha, bool logarithm,
                      const Keys &draw) {
  Tensor to = Tensor::uninitialised(alpha.dtype(), alpha.shape());
  ArrayRef<Words> from = keys.as<Words>();
  size_t count = from.empty() ? 0 : alpha.as<T>().size() / from.size();
  for (auto [i, out, a] : llvm::enumerate(to.fill<T>(), alpha.as<T>()))
    out =
        sample<T>(draw,
                  draw.split(from[i / count], static_cast<uint32_t>(i % count),
                             static_cast<uint32_t>(count)),
                  a, logarithm);
  return to;
}

Tensor kernels::gammaSamples(const Tensor &keys, const Tensor &alpha,
                             bool logarithm, bool partitionable) {
  Keys draw(partitionable);
  return alpha.dtype() == DType::F32
             ? samples<float>(keys, alpha, logarithm, draw)
             : samples<double>(keys, alpha, logarithm, draw);
}
