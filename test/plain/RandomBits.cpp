// RandomBits.cpp - the plain evaluator's generators (threefry).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Operations.h"

using namespace shardtype;
using namespace shardtype::plain;

using Pair = std::array<uint32_t, 2>;

/// Spec 09, 14.
static Pair threefry(Pair key, Pair x) {
  const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  const unsigned turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x[0] += k[0];
  x[1] += k[1];
  for (uint32_t group = 1; group <= 5; ++group) {
    for (unsigned r : turns[(group + 1) % 2]) {
      x[0] += x[1];
      x[1] = (x[1] << r | x[1] >> (32 - r)) ^ x[0];
    }
    x[0] += k[group % 3];
    x[1] += k[(group + 1) % 3] + group;
  }
  return x;
}
static Pair threefry(Pair key, uint64_t counter) {
  return threefry(key, Pair{static_cast<uint32_t>(counter >> 32),
                            static_cast<uint32_t>(counter)});
}

static bool isThreefry(Operation &op, const Tensor &keys) {
  const EqnInfo &info = op.program.info(op.eqn.info);
  bool known = keys.dtype() == DType::KeyFry && !info.context.valid();
  if (!known)
    unsupported(op);
  return known;
}
static Pair keyAt(const Tensor &keys, int64_t i) {
  return {keys.as<uint32_t>()[2 * i], keys.as<uint32_t>()[2 * i + 1]};
}
static void setKey(Tensor &keys, int64_t i, Pair key) {
  keys.fill<uint32_t>()[2 * i] = key[0];
  keys.fill<uint32_t>()[2 * i + 1] = key[1];
}
/// The key of a seed.
static Pair seedKey(const Tensor &seeds, int64_t i) {
  auto value = static_cast<uint64_t>(load(seeds, i).i);
  bool wide = itemSize(seeds.dtype()) == 8;
  return {wide ? static_cast<uint32_t>(value >> 32) : 0,
          static_cast<uint32_t>(value)};
}

static void bits(Operation &op) {
  const Tensor &keys = op.in[0];
  if (!isThreefry(op, keys))
    return;
  int64_t each = keys.size() ? op.out[0].size() / keys.size() : 0;
  int64_t width = op["bit_width"].number();
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    Pair x = threefry(keyAt(keys, i / each), uint64_t(i % each));
    uint64_t word = width == 64 ? uint64_t(x[0]) << 32 | x[1] : x[0] ^ x[1];
    store(op.out[0], i, {0, 0, static_cast<Wide>(word)});
  }
}
static void split(Operation &op) {
  const Tensor &keys = op.in[0];
  if (!isThreefry(op, keys))
    return;
  int64_t each = keys.size() ? op.out[0].size() / keys.size() : 0;
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    setKey(op.out[0], i, threefry(keyAt(keys, i / each), uint64_t(i % each)));
}
static void seed(Operation &op) {
  if (isThreefry(op, op.out[0]))
    for (int64_t i = 0; i < op.in[0].size(); ++i)
      setKey(op.out[0], i, seedKey(op.in[0], i));
}
static void foldIn(Operation &op) {
  if (isThreefry(op, op.in[0]))
    for (int64_t i = 0; i < op.out[0].size(); ++i)
      setKey(op.out[0], i, threefry(keyAt(op.in[0], i), seedKey(op.in[1], i)));
}
/// Keys and their words are stored alike.
static void words(Operation &op) {
  llvm::copy(op.in[0].as<uint32_t>(), op.out[0].fill<uint32_t>().begin());
}
static void hash(Operation &op) {
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    auto word = [&](unsigned k) {
      return static_cast<uint32_t>(
          load(op.in[k], op.in[k].rank() == 0 ? 0 : i).i);
    };
    Pair x = threefry(Pair{word(0), word(1)}, Pair{word(2), word(3)});
    store(op.out[0], i, integer(x[0]));
    store(op.out[1], i, integer(x[1]));
  }
}
static void counters(Operation &op) {
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    store(op.out[0], i, integer(i >> 32));
    store(op.out[1], i, integer(i & 0xffffffff));
  }
}

Function plain::randomNamed(StringRef name) {
  static const llvm::StringMap<Function> table = {
      {"random_bits", bits},        {"random_split", split},
      {"random_seed", seed},        {"random_fold_in", foldIn},
      {"random_wrap", words},       {"random_unwrap", words},
      {"random_clone", words},      {"threefry2x32", hash},
      {"iota_2x32_shape", counters}};
  return table.lookup(name);
}

Function plain::functionNamed(StringRef name) {
  for (auto family : {movementNamed, sumNamed, randomNamed})
    if (Function function = family(name))
      return function;
  return nullptr;
}
