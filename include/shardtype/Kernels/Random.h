// Random.h - keys and bits of threefry (spec 09, 14), exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_RANDOM_H
#define SHARDTYPE_KERNELS_RANDOM_H

#include "shardtype/Tensor/Tensor.h"
#include <vector>

namespace shardtype::kernels {

// `keysOfSeeds` to `randomBits` are of threefry's keys, fry. Those that end in
// `All`, and `makeKeys`, are of keys of every kind: fry, rbg, urbg, fry4, phx2
// and phx4.
struct Words {
  uint32_t high = 0, low = 0;
  friend bool operator==(Words, Words) = default;
};
/// The hash of a block of two words under a key of two.
Words threefry(Words key, Words block);

/// Element by element: two words of key, two of the block; two results of
/// their common shape.
std::pair<Tensor, Tensor> threefryArrays(const Tensor &key0, const Tensor &key1,
                                         const Tensor &x0, const Tensor &x1);
/// The same for hashes whose blocks have other sizes: the words of the key,
/// then those of the block; one result a word of the block. Of ten rounds
/// (philox) or twenty.
std::vector<Tensor> philox2x32(ArrayRef<const Tensor *> operands);   // 1 + 2
std::vector<Tensor> philox4x32(ArrayRef<const Tensor *> operands);   // 2 + 4
std::vector<Tensor> threefry4x32(ArrayRef<const Tensor *> operands); // 4 + 4
/// Keys of seeds: integers of any dtype.
Tensor keysOfSeeds(const Tensor &seeds);
/// `shape` keys of each key. `partitionable` is JAX's default scheme; the other
/// hashes counts pair by pair.
Tensor splitKeys(const Tensor &keys, ArrayRef<int64_t> shape,
                 bool partitionable);
/// The key of each key and number, which are of one shape.
Tensor foldIn(const Tensor &keys, const Tensor &data);
/// `shape` unsigned integers of 8, 16, 32 or 64 bits for each key.
Tensor randomBits(const Tensor &keys, unsigned bits, ArrayRef<int64_t> shape,
                  bool partitionable);
/// The high and the low word of each index in a row-major array.
std::pair<Tensor, Tensor> iota2x32(ArrayRef<int64_t> shape);
/// rng_bit_generator with THREE_FRY: the state of 128 bits (two u64 or four
/// u32) behind, and bits of an unsigned `dtype`.
std::pair<Tensor, Tensor> threefryGenerator(const Tensor &state, DType dtype,
                                            ArrayRef<int64_t> shape);

/// The same with PHILOX, which DEFAULT is on CPU.
std::pair<Tensor, Tensor> philoxGenerator(const Tensor &state, DType dtype,
                                          ArrayRef<int64_t> shape);

/// Keys of a dtype from seeds, integers of any dtype.
Tensor makeKeys(const Tensor &seeds, DType dtype);
Tensor splitAll(const Tensor &keys, ArrayRef<int64_t> shape,
                bool partitionable);
/// The key of each key and number, which are broadcast to `shape`.
Tensor foldInAll(const Tensor &keys, const Tensor &data,
                 ArrayRef<int64_t> shape);
Tensor bitsOfAll(const Tensor &keys, unsigned bits, ArrayRef<int64_t> shape,
                 bool partitionable);

/// Samples of the gamma distribution, or their logarithms: one for each of
/// `alpha`, f32 or f64, from keys of fry whose dims are the first of alpha's.
Tensor gammaSamples(const Tensor &keys, const Tensor &alpha, bool logarithm,
                    bool partitionable);

} // namespace shardtype::kernels

#endif
