// Random.cpp - keys and bits of threefry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Random.h"
#include "GeneratorState.h"
#include "Vector.h"
#include "shardtype/Kernels/Binary.h"
#include "shardtype/Tensor/Element.h"
#include <bit>
#include <cstring>

using namespace shardtype;
using namespace shardtype::kernels;

Words kernels::threefry(Words key, Words block) {
  static constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key.high, key.low,
                            key.high ^ key.low ^ 0x1bd11bdau};
  uint32_t x = block.high + keys[0], y = block.low + keys[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (int rotation : rotations[(group - 1) % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  return {x, y};
}

static Words wordsOf(uint64_t value) {
  return {static_cast<uint32_t>(value >> 32), static_cast<uint32_t>(value)};
}

std::pair<Tensor, Tensor> kernels::threefryArrays(const Tensor &key0,
                                                  const Tensor &key1,
                                                  const Tensor &x0,
                                                  const Tensor &x1) {
  SmallVector<int64_t, 6> shape = commonShape({&key0, &key1, &x0, &x1});
  const Tensor in[] = {expanded(key0, shape), expanded(key1, shape),
                       expanded(x0, shape), expanded(x1, shape)};
  Tensor high = Tensor::uninitialised(DType::U32, shape);
  Tensor low = Tensor::uninitialised(DType::U32, shape);
  const uint32_t *a = in[0].as<uint32_t>().data(),
                 *b = in[1].as<uint32_t>().data(),
                 *c = in[2].as<uint32_t>().data(),
                 *d = in[3].as<uint32_t>().data();
  uint32_t *first = high.fill<uint32_t>().data(),
           *second = low.fill<uint32_t>().data();
  for (int64_t i = 0, n = high.size(); i < n; ++i) {
    Words hash = threefry({a[i], b[i]}, {c[i], d[i]});
    first[i] = hash.high;
    second[i] = hash.low;
  }
  return {std::move(high), std::move(low)};
}

//===--- Keys -------------------------------------------------------------===//

static ArrayRef<Words> keysIn(const Tensor &keys) { return keys.as<Words>(); }

/// Of an integer: its words; 32 bits and fewer have no high one.
static Tensor seedWords(const Tensor &seeds) {
  Tensor keys = Tensor::uninitialised(DType::KeyFry, seeds.shape());
  MutableArrayRef<Words> out = keys.fill<Words>();
  dispatchInt(seeds.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    llvm::transform(seeds.as<T>(), out.begin(), [](T seed) {
      auto value = static_cast<ComputeType<T>>(seed);
      if (sizeof(T) < 8)
        return Words{0, static_cast<uint32_t>(value)};
      return wordsOf(static_cast<uint64_t>(value));
    });
  });
  return keys;
}
Tensor kernels::keysOfSeeds(const Tensor &seeds) { return seedWords(seeds); }

/// The keys' shape with `shape` behind.
static SmallVector<int64_t, 6> behind(const Tensor &keys,
                                      ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> all(keys.shape().begin(), keys.shape().end());
  all.append(shape.begin(), shape.end());
  return all;
}

/// What the scheme that is not partitionable makes of the counts 0 to n-1: they
/// are hashed as pairs of the first half and the second, an odd one with 0.
static std::vector<uint32_t> hashCounts(Words key, uint64_t n) {
  uint64_t half = (n + 1) / 2;
  std::vector<uint32_t> out(2 * half);
  for (uint64_t i = 0; i < half; ++i) {
    uint64_t second = half + i < n ? half + i : 0;
    Words hash = threefry(
        key, {static_cast<uint32_t>(i), static_cast<uint32_t>(second)});
    out[i] = hash.high;
    out[half + i] = hash.low;
  }
  out.resize(n);
  return out;
}

Tensor kernels::splitKeys(const Tensor &keys, ArrayRef<int64_t> shape,
                          bool partitionable) {
  Tensor to = Tensor::uninitialised(DType::KeyFry, behind(keys, shape));
  Words *out = to.fill<Words>().data();
  auto count = static_cast<uint64_t>(countElements(shape).value_or(0));
  for (Words key : keysIn(keys)) {
    if (partitionable) {
      for (uint64_t i = 0; i < count; ++i)
        *out++ = threefry(key, wordsOf(i));
      continue;
    }
    std::vector<uint32_t> words = hashCounts(key, 2 * count);
    for (uint64_t i = 0; i < count; ++i)
      *out++ = {words[2 * i], words[2 * i + 1]};
  }
  return to;
}

Tensor kernels::foldIn(const Tensor &keys, const Tensor &data) {
  Tensor seeds = seedWords(data);
  Tensor to = Tensor::uninitialised(DType::KeyFry, keys.shape());
  for (auto [out, key, seed] :
       llvm::zip_equal(to.fill<Words>(), keysIn(keys), keysIn(seeds)))
    out = threefry(key, seed);
  return to;
}

//===--- Bits -------------------------------------------------------------===//

template <typename T>
static void fillPartitionable(Words key, MutableArrayRef<T> out) {
  constexpr size_t chunk = 256; // Divides 2^32, so low words do not overflow.
  const uint32_t words[2] = {key.high, key.low};
  uint32_t first[chunk], second[chunk];
  for (size_t begin = 0; begin < out.size(); begin += chunk) {
    size_t count = std::min(chunk, out.size() - begin);
    Words at = wordsOf(begin);
    vectors().threefry(first, second, words, at.high, at.low,
                       static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i)
      if constexpr (sizeof(T) == 8)
        out[begin + i] = uint64_t(first[i]) << 32 | second[i];
      else
        out[begin + i] = static_cast<T>(first[i] ^ second[i]);
  }
}

template <typename T>
static void fillInOrder(Words key, MutableArrayRef<T> out) {
  uint64_t bytes = out.size() * sizeof(T);
  if constexpr (sizeof(T) == 8) {
    std::vector<uint32_t> words = hashCounts(key, 2 * out.size());
    for (auto [i, word] : llvm::enumerate(out))
      word = uint64_t(words[i]) << 32 | words[out.size() + i];
  } else {
    std::vector<uint32_t> words = hashCounts(key, (bytes + 3) / 4);
    if (bytes) // Words are split from the least significant part.
      std::memcpy(out.data(), words.data(), bytes);
  }
}

Tensor kernels::randomBits(const Tensor &keys, unsigned bits,
                           ArrayRef<int64_t> shape, bool partitionable) {
  DType dtype = bits == 8    ? DType::U8
                : bits == 16 ? DType::U16
                : bits == 32 ? DType::U32
                             : DType::U64;
  Tensor to = Tensor::uninitialised(dtype, behind(keys, shape));
  auto count = static_cast<size_t>(countElements(shape).value_or(0));
  dispatchSize(bits / 8, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, Bytes16>)
      for (auto [i, key] : llvm::enumerate(keysIn(keys))) {
        MutableArrayRef<T> part = to.fill<T>().slice(i * count, count);
        if (partitionable)
          fillPartitionable<T>(key, part);
        else
          fillInOrder<T>(key, part);
      }
  });
  return to;
}

std::pair<Tensor, Tensor> kernels::iota2x32(ArrayRef<int64_t> shape) {
  Tensor high = Tensor::uninitialised(DType::U32, shape);
  Tensor low = Tensor::uninitialised(DType::U32, shape);
  for (auto [i, a, b] :
       llvm::enumerate(high.fill<uint32_t>(), low.fill<uint32_t>())) {
    Words words = wordsOf(i);
    a = words.high;
    b = words.low;
  }
  return {std::move(high), std::move(low)};
}

/// The dim whose neighbours share a block: the first of even size, else the
/// largest.
static size_t pairedDim(ArrayRef<int64_t> shape) {
  size_t largest = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] % 2 == 0)
      return d;
    if (shape[d] > shape[largest])
      largest = d;
  }
  return largest;
}

/// Two neighbours along the paired dim are the two words of a block; blocks are
/// numbered in row-major order. Returns how many there are.
template <typename T, typename Block>
static uint64_t fillPairs(MutableArrayRef<T> out, ArrayRef<int64_t> shape,
                          Block block) {
  if (out.empty())
    return 0;
  size_t dim = pairedDim(shape);
  auto size = static_cast<uint64_t>(shape.empty() ? 1 : shape[dim]);
  uint64_t inner = 1, half = (size + 1) / 2;
  for (size_t d = dim + 1; d < shape.size(); ++d)
    inner *= static_cast<uint64_t>(shape[d]);
  uint64_t outer = out.size() / (size * inner);
  for (uint64_t o = 0; o < outer; ++o)
    for (uint64_t h = 0; h < half; ++h)
      for (uint64_t i = 0; i < inner; ++i) {
        Words hash = block((o * half + h) * inner + i);
        uint64_t at = (o * size + 2 * h) * inner + i;
        out[at] = static_cast<T>(hash.high);
        if (2 * h + 1 < size)
          out[at + inner] = static_cast<T>(hash.low);
      }
  return outer * half * inner;
}

std::pair<Tensor, Tensor> kernels::threefryGenerator(const Tensor &state,
                                                     DType dtype,
                                                     ArrayRef<int64_t> shape) {
  Tensor to = Tensor::uninitialised(dtype, shape);
  GeneratorState now(state);
  auto block = [&](uint64_t number) {
    Words at = wordsOf(now.counter + number);
    return threefry({now.words[0], now.words[1]}, {at.low, at.high});
  };
  uint64_t blocks = 0;
  dispatchSize(itemSize(dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (sizeof(T) == 8) {
      for (uint64_t &value : to.fill<uint64_t>()) {
        Words hash = block(blocks++);
        value = uint64_t(hash.low) << 32 | hash.high;
      }
    } else if constexpr (sizeof(T) < 8) {
      blocks = fillPairs(to.fill<T>(), shape, block);
    }
  });
  now.counter += blocks;
  return {now.store(state), std::move(to)};
}
