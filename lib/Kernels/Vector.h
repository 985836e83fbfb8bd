// Vector.h - loops that are compiled for several instruction sets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_VECTOR_H
#define SHARDTYPE_LIB_KERNELS_VECTOR_H

#include <cstdint>

namespace shardtype::kernels {

// VECTOR_BINARY(Op), VECTOR_UNARY(Op): names of BinaryOp and UnaryOp.
#define SHARDTYPE_VECTOR_BINARY(OP)                                            \
  OP(Add) OP(Sub) OP(Mul) OP(Div) OP(Max) OP(Min)
#define SHARDTYPE_VECTOR_UNARY(OP)                                             \
  OP(Abs) OP(Neg) OP(Sqrt) OP(Square) OP(OneMinusSquare)
#define SHARDTYPE_VECTOR_COMPARE(OP) OP(Eq) OP(Ne) OP(Lt) OP(Le) OP(Gt) OP(Ge)

/// What is written and not soon read need not pass through the caches.
enum class Stores : uint8_t { Cached, Streamed };

/// Loops over elements of a type; results may be where an operand is.
template <typename T> struct VectorLoops {
  using Unary = void (*)(T *to, const T *a, int64_t n);
  using Binary = void (*)(T *to, const T *a, const T *b, int64_t n);
  using Compare = void (*)(bool *to, const T *a, const T *b, int64_t n);
  /// to = from[0] + ... + from[count - 1], or to + from[0] + ..., from left to
  /// right; `count` is from 1 to 8. A sum that does not begin with `to` begins
  /// with +0.
  using AddAll = void (*)(T *to, const T *const *from, unsigned count,
                          bool begins, Stores stores, int64_t n);
  AddAll addAll;
#define OP(Name) Binary bin##Name;
  SHARDTYPE_VECTOR_BINARY(OP)
#undef OP
#define OP(Name) Unary un##Name;
  SHARDTYPE_VECTOR_UNARY(OP)
#undef OP
#define OP(Name) Compare cmp##Name;
  SHARDTYPE_VECTOR_COMPARE(OP)
#undef OP
};

struct VectorSet {
  VectorLoops<float> f32;
  VectorLoops<double> f64;
  /// bf16 to and from f32, each rounding once.
  void (*fromBF16)(float *to, const uint16_t *from, int64_t n);
  void (*toBF16)(uint16_t *to, const float *from, int64_t n);
  /// Copies bytes past the caches.
  void (*streamCopy)(char *to, const char *from, int64_t bytes);
  /// to[i * toStride + j] = from[j * fromStride + i] for i below `rows` and j
  /// below `columns`.
  void (*transpose)(uint32_t *to, int64_t toStride, const uint32_t *from,
                    int64_t fromStride, int64_t rows, int64_t columns);
  /// Both words of threefry's blocks {high, low + i} under a key; low + n does
  /// not overflow.
  void (*threefry)(uint32_t *first, uint32_t *second, const uint32_t key[2],
                   uint32_t high, uint32_t low, int64_t n);
};

extern const VectorSet BaselineVectors, Avx2Vectors;

/// The best set that this processor runs.
const VectorSet &vectors();
template <typename T> const VectorLoops<T> &vectorLoops();
template <> inline const VectorLoops<float> &vectorLoops<float>() {
  return vectors().f32;
}
template <> inline const VectorLoops<double> &vectorLoops<double>() {
  return vectors().f64;
}

} // namespace shardtype::kernels

#endif
