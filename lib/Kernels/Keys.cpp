// Keys.cpp - keys of every implementation that JAX registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fry has Random.cpp's functions. rbg makes its keys with them, as two keys of
// fry each, and its bits with XLA's generator; urbg makes its keys with that
// too. fry4, phx2 and phx4 hash counters with functions of their own:
//
//   | kind | hash        | seed: key; block       | split, fold_in | bits     |
//   | fry4 | threefry 4  | high low 0 0; 0 0 0 0  | 0 0 high low   | high low |
//   | phx2 | philox 2    | 0; high low            | high low       |   0 0,   |
//   | phx4 | philox 4    | 0 0; high low 0 0      | 0 0 high low   | 2: high  |
//
// where high and low are the words of a 64-bit seed, index or number folded in
// (of that the low one, after 0). A key is the first words of what comes out.
#include "shardtype/Kernels/Binary.h"
#include "shardtype/Kernels/Random.h"
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/Sequence.h"
#include <cstring>

using namespace shardtype;

static SmallVector<int64_t, 6> joined(ArrayRef<int64_t> a,
                                      ArrayRef<int64_t> b) {
  SmallVector<int64_t, 6> all(a.begin(), a.end());
  all.append(b.begin(), b.end());
  return all;
}

static ArrayRef<uint32_t> wordsIn(const Tensor &keys) {
  return {reinterpret_cast<const uint32_t *>(keys.data()), keys.bytes() / 4};
}
static MutableArrayRef<uint32_t> wordsIn(Tensor &keys) {
  return {reinterpret_cast<uint32_t *>(keys.mutableData()), keys.bytes() / 4};
}

//===--- rbg and urbg -----------------------------------------------------===//

/// The halves of rbg keys, as a last dim; and keys of such halves.
static Tensor halvesOf(const Tensor &keys) {
  return keys.viewedAs(DType::KeyFry, joined(keys.shape(), {2}));
}
static Tensor ofHalves(const Tensor &halves, DType dtype) {
  return halves.viewedAs(dtype, halves.shape().drop_back());
}
/// Each element twice, along a new last dim.
static Tensor twice(const Tensor &x) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  return kernels::broadcastInDim(x, joined(x.shape(), {2}), dims);
}

/// XLA's generator does not run once for each key of an array: the first one
/// makes the numbers of all.
static Tensor fromFirst(const Tensor &keys, DType dtype,
                        ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 6> all = joined(keys.shape(), shape);
  if (keys.size() == 0)
    return Tensor::zeros(dtype, all);
  Tensor state = Tensor::uninitialised(DType::U32, {4});
  std::memcpy(state.mutableData(), keys.data(), state.bytes());
  return kernels::philoxGenerator(state, dtype, all).second;
}

static Tensor splitHalves(const Tensor &keys, ArrayRef<int64_t> shape,
                          bool partitionable) {
  Tensor halves = kernels::splitKeys(halvesOf(keys), shape, partitionable);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, halves.rank()));
  order.erase(order.begin() + keys.rank()); // The halves become the last dim.
  order.push_back(keys.rank());
  return ofHalves(kernels::transpose(halves, order), keys.dtype());
}

/// Every tenth of the generator's blocks is a key.
constexpr int64_t Iterations = 10;

static Tensor splitUnsafe(const Tensor &keys, ArrayRef<int64_t> shape) {
  int64_t count = countElements(shape).value_or(0);
  Tensor words = fromFirst(keys, DType::U32, {Iterations * count, 4});
  Tensor to = Tensor::uninitialised(keys.dtype(), joined(keys.shape(), shape));
  const std::byte *from = words.data();
  for (int64_t i = 0; i < to.size(); ++i)
    std::memcpy(to.mutableData() + 16 * i, from + 16 * Iterations * i, 16);
  return to;
}

static Tensor foldInUnsafe(const Tensor &keys, const Tensor &data,
                           ArrayRef<int64_t> shape) {
  Tensor words = fromFirst(kernels::makeKeys(data, keys.dtype()), DType::U32,
                           {Iterations, 4});
  Tensor last = Tensor::uninitialised(keys.dtype(), data.shape());
  for (int64_t i = 0; i < last.size(); ++i)
    std::memcpy(last.mutableData() + 16 * i,
                words.data() + 16 * (Iterations * i + Iterations - 1), 16);
  Tensor to = kernels::expanded(keys, shape);
  to.makeUnique();
  Tensor hashes = kernels::expanded(last, shape);
  for (auto [out, hash] :
       llvm::zip_equal(wordsIn(to), wordsIn(std::as_const(hashes))))
    out ^= hash;
  return to;
}

//===--- fry4, phx2, phx4 -------------------------------------------------===//

namespace {
/// One of the kinds that hash blocks of counters.
struct Hasher {
  unsigned keyWords, blockWords;
  std::vector<Tensor> (*hash)(ArrayRef<const Tensor *>);
};
} // namespace

static Hasher hasherOf(DType dtype) {
  if (dtype == DType::KeyFry4)
    return {4, 4, kernels::threefry4x32};
  if (dtype == DType::KeyPhx2)
    return {1, 2, kernels::philox2x32};
  return {2, 4, kernels::philox4x32};
}

/// Word `word` of each key, for each of `shape` behind it.
static Tensor wordOf(const Tensor &keys, unsigned word, unsigned words,
                     ArrayRef<int64_t> shape) {
  Tensor to = Tensor::uninitialised(DType::U32, joined(keys.shape(), shape));
  int64_t count = countElements(shape).value_or(0);
  uint32_t *out = to.fill<uint32_t>().data();
  ArrayRef<uint32_t> in = wordsIn(keys);
  for (int64_t k = 0; k < keys.size(); ++k)
    for (int64_t i = 0; i < count; ++i)
      *out++ = in[static_cast<size_t>(k) * words + word];
  return to;
}

static Tensor constant(ArrayRef<int64_t> shape) {
  return Tensor::zeros(DType::U32, shape);
}

static std::vector<Tensor> hashed(const Hasher &hasher,
                                  ArrayRef<Tensor> operands) {
  SmallVector<const Tensor *, 8> pointers;
  for (const Tensor &operand : operands)
    pointers.push_back(&operand);
  return hasher.hash(pointers);
}

/// Keys of the first words of hashes.
static Tensor keysFrom(const Hasher &hasher, ArrayRef<Tensor> words,
                       DType dtype) {
  Tensor keys = Tensor::uninitialised(dtype, words[0].shape());
  uint32_t *out = wordsIn(keys).data();
  for (size_t i = 0; i < static_cast<size_t>(words[0].size()); ++i)
    for (unsigned k = 0; k < hasher.keyWords; ++k)
      *out++ = words[k].as<uint32_t>()[i];
  return keys;
}

/// The high and the low words of integers.
static std::pair<Tensor, Tensor> halvesOfSeeds(const Tensor &seeds) {
  Tensor pairs = kernels::keysOfSeeds(seeds); // fry's keys are the seeds.
  return {wordOf(pairs, 0, 2, {}), wordOf(pairs, 1, 2, {})};
}

static Tensor seedHashed(const Tensor &seeds, DType dtype) {
  Hasher hasher = hasherOf(dtype);
  auto [high, low] = halvesOfSeeds(seeds);
  Tensor zero = constant(seeds.shape());
  std::vector<Tensor> operands(hasher.keyWords + hasher.blockWords, zero);
  size_t at = dtype == DType::KeyFry4 ? 0 : hasher.keyWords;
  operands[at] = high;
  operands[at + 1] = low;
  return keysFrom(hasher, hashed(hasher, operands), dtype);
}

/// What a kind makes of each key and a counter for each of `shape`; the counter
/// is the first words of the block, or the last.
static std::vector<Tensor> hashCounters(const Tensor &keys, const Tensor &high,
                                        const Tensor &low,
                                        ArrayRef<int64_t> shape, bool last) {
  Hasher hasher = hasherOf(keys.dtype());
  std::vector<Tensor> operands;
  for (unsigned k = 0; k < hasher.keyWords; ++k)
    operands.push_back(wordOf(keys, k, hasher.keyWords, shape));
  Tensor zero = constant(high.shape());
  unsigned rest = hasher.blockWords - 2;
  if (last)
    operands.insert(operands.end(), rest, zero);
  operands.push_back(high);
  operands.push_back(low);
  if (!last)
    operands.insert(operands.end(), rest, zero);
  return hashed(hasher, operands);
}

/// Each index of `shape`, for each of the keys' dims before it.
static std::pair<Tensor, Tensor> counters(const Tensor &keys,
                                          ArrayRef<int64_t> shape) {
  auto [high, low] = kernels::iota2x32(shape);
  SmallVector<int64_t, 6> all = joined(keys.shape(), shape);
  auto dims = llvm::to_vector(
      llvm::seq<int64_t>(keys.rank(), static_cast<int64_t>(all.size())));
  return {kernels::broadcastInDim(high, all, dims),
          kernels::broadcastInDim(low, all, dims)};
}

static Tensor bitsHashed(const Tensor &keys, unsigned bits,
                         ArrayRef<int64_t> shape) {
  auto [high, low] = counters(keys, shape);
  std::vector<Tensor> words = hashCounters(keys, high, low, shape, false);
  bool wide = words.size() == 4, mixes = keys.dtype() == DType::KeyFry4;
  auto word = [&](size_t k, size_t i) { return words[k].as<uint32_t>()[i]; };
  DType dtype = bits == 8    ? DType::U8
                : bits == 16 ? DType::U16
                : bits == 32 ? DType::U32
                             : DType::U64;
  Tensor to = Tensor::uninitialised(dtype, words[0].shape());
  dispatchInt(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (auto [i, out] : llvm::enumerate(to.fill<T>())) {
      if constexpr (std::is_same_v<T, uint64_t>) {
        uint32_t first = word(0, i) ^ (mixes ? word(2, i) : 0);
        uint32_t second = word(1, i) ^ (mixes ? word(3, i) : 0);
        out = uint64_t(first) << 32 | second;
      } else {
        uint32_t all = word(0, i) ^ word(1, i);
        out = static_cast<T>(wide ? all ^ word(2, i) ^ word(3, i) : all);
      }
    }
  });
  return to;
}

//===--- All kinds --------------------------------------------------------===//

Tensor kernels::makeKeys(const Tensor &seeds, DType dtype) {
  if (dtype == DType::KeyFry)
    return keysOfSeeds(seeds);
  if (dtype == DType::KeyRbg || dtype == DType::KeyURbg)
    return ofHalves(twice(keysOfSeeds(seeds)), dtype);
  return seedHashed(seeds, dtype);
}

Tensor kernels::splitAll(const Tensor &keys, ArrayRef<int64_t> shape,
                         bool partitionable) {
  switch (keys.dtype()) {
  case DType::KeyFry:
    return splitKeys(keys, shape, partitionable);
  case DType::KeyRbg:
    return splitHalves(keys, shape, partitionable);
  case DType::KeyURbg:
    return splitUnsafe(keys, shape);
  default: {
    auto [high, low] = counters(keys, shape);
    return keysFrom(hasherOf(keys.dtype()),
                    hashCounters(keys, high, low, shape, true), keys.dtype());
  }
  }
}

Tensor kernels::foldInAll(const Tensor &keys, const Tensor &data,
                          ArrayRef<int64_t> shape) {
  if (keys.dtype() == DType::KeyURbg)
    return foldInUnsafe(keys, data, shape);
  Tensor own = expanded(keys, shape), numbers = expanded(data, shape);
  if (keys.dtype() == DType::KeyFry)
    return foldIn(own, numbers);
  if (keys.dtype() == DType::KeyRbg)
    return ofHalves(foldIn(halvesOf(own), twice(numbers)), keys.dtype());
  Tensor low = halvesOfSeeds(numbers).second;
  return keysFrom(hasherOf(keys.dtype()),
                  hashCounters(own, constant(shape), low, {}, true),
                  keys.dtype());
}

Tensor kernels::bitsOfAll(const Tensor &keys, unsigned bits,
                          ArrayRef<int64_t> shape, bool partitionable) {
  if (keys.dtype() == DType::KeyFry)
    return randomBits(keys, bits, shape, partitionable);
  if (keys.dtype() != DType::KeyRbg && keys.dtype() != DType::KeyURbg)
    return bitsHashed(keys, bits, shape);
  DType dtype = bits == 8    ? DType::U8
                : bits == 16 ? DType::U16
                : bits == 32 ? DType::U32
                             : DType::U64;
  return fromFirst(keys, dtype, shape);
}
