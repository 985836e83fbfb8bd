// Hashes.cpp - philox and the wide threefry.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3
// (2011).
#include "GeneratorState.h"
#include "shardtype/Kernels/Binary.h"
#include "shardtype/Kernels/Random.h"
#include <array>
#include <bit>
#include <cstring>

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
template <size_t N> using Block = std::array<uint32_t, N>;
constexpr uint32_t Golden = 0x9e3779b9u, Root3 = 0xbb67ae85u;
} // namespace

/// Of a product of two words, the high and the low one.
static std::pair<uint32_t, uint32_t> product(uint32_t a, uint32_t b) {
  uint64_t wide = uint64_t(a) * b;
  return {static_cast<uint32_t>(wide >> 32), static_cast<uint32_t>(wide)};
}

static Block<2> philox2(Block<1> key, Block<2> x) {
  for (int round = 0; round < 10; ++round, key[0] += Golden) {
    auto [high, low] = product(0xd256d193u, x[0]);
    x = {high ^ key[0] ^ x[1], low};
  }
  return x;
}

static Block<4> philox4(Block<2> key, Block<4> x) {
  for (int round = 0; round < 10; ++round) {
    auto [high0, low0] = product(0xd2511f53u, x[0]);
    auto [high1, low1] = product(0xcd9e8d57u, x[2]);
    x = {high1 ^ x[1] ^ key[0], low1, high0 ^ x[3] ^ key[1], low0};
    key[0] += Golden;
    key[1] += Root3;
  }
  return x;
}

static Block<4> threefry4(Block<4> key, Block<4> x) {
  static constexpr int rotations[8][2] = {{10, 26}, {11, 21}, {13, 27},
                                          {23, 5},  {6, 20},  {17, 11},
                                          {25, 10}, {18, 20}};
  const uint32_t keys[5] = {key[0], key[1], key[2], key[3],
                            0x1bd11bdau ^ key[0] ^ key[1] ^ key[2] ^ key[3]};
  for (size_t i = 0; i < 4; ++i)
    x[i] += keys[i];
  for (uint32_t round = 0; round < 20; ++round) {
    // Even rounds mix 0 with 1 and 2 with 3, odd ones 0 with 3 and 2 with 1.
    size_t with0 = round % 2 ? 3 : 1, with2 = 4 - with0;
    x[0] += x[with0];
    x[with0] = std::rotl(x[with0], rotations[round % 8][0]) ^ x[0];
    x[2] += x[with2];
    x[with2] = std::rotl(x[with2], rotations[round % 8][1]) ^ x[2];
    if (round % 4 != 3)
      continue;
    uint32_t group = round / 4 + 1;
    for (uint32_t i = 0; i < 4; ++i)
      x[i] += keys[(group + i) % 5];
    x[3] += group;
  }
  return x;
}

template <size_t Keys, size_t Words, typename Hash>
static std::vector<Tensor> hashAll(ArrayRef<const Tensor *> operands,
                                   Hash hash) {
  SmallVector<int64_t, 6> shape = commonShape(operands);
  std::vector<Tensor> in, out;
  for (const Tensor *operand : operands)
    in.push_back(expanded(*operand, shape));
  std::array<uint32_t *, Words> to;
  for (size_t k = 0; k < Words; ++k) {
    out.push_back(Tensor::uninitialised(DType::U32, shape));
    to[k] = out.back().fill<uint32_t>().data();
  }
  for (size_t i = 0, n = static_cast<size_t>(out[0].size()); i < n; ++i) {
    Block<Keys> key;
    Block<Words> block;
    for (size_t k = 0; k < Keys; ++k)
      key[k] = in[k].as<uint32_t>()[i];
    for (size_t k = 0; k < Words; ++k)
      block[k] = in[Keys + k].as<uint32_t>()[i];
    block = hash(key, block);
    for (size_t k = 0; k < Words; ++k)
      to[k][i] = block[k];
  }
  return out;
}

std::vector<Tensor> kernels::philox2x32(ArrayRef<const Tensor *> operands) {
  return hashAll<1, 2>(operands, philox2);
}
std::vector<Tensor> kernels::philox4x32(ArrayRef<const Tensor *> operands) {
  return hashAll<2, 4>(operands, philox4);
}
std::vector<Tensor> kernels::threefry4x32(ArrayRef<const Tensor *> operands) {
  return hashAll<4, 4>(operands, threefry4);
}

/// The key is the first two words of the state; a block is the 64-bit counter
/// behind it, counted up, and the key's words again. Numbers below 32 bits are
/// the low bits of a word, those of 64 take two, the low one first.
std::pair<Tensor, Tensor> kernels::philoxGenerator(const Tensor &state,
                                                   DType dtype,
                                                   ArrayRef<int64_t> shape) {
  Tensor to = Tensor::uninitialised(dtype, shape);
  GeneratorState now(state);
  uint32_t key = now.words[0], more = now.words[1];
  unsigned bytes = itemSize(dtype);
  uint64_t needed = static_cast<uint64_t>(to.size()) * (bytes == 8 ? 2 : 1);
  std::byte *out = to.mutableData();
  for (uint64_t at = 0; at < needed; at += 4, ++now.counter) {
    Block<4> block = philox4(
        {key, more}, {static_cast<uint32_t>(now.counter),
                      static_cast<uint32_t>(now.counter >> 32), key, more});
    for (uint64_t k = 0; k < std::min<uint64_t>(4, needed - at); ++k) {
      size_t width = std::min(bytes, 4u);
      std::memcpy(out, &block[k], width);
      out += width;
    }
  }
  return {now.store(state), std::move(to)};
}
