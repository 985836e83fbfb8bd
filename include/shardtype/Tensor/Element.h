// Element.h - C++ types of elements, and dispatch from a dtype to one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small floats and integers are structs of their bits; they convert from and
// to the type that is computed in (`ComputeType`): float for floats below f32,
// int32_t for integers below 8 bits, otherwise the type itself. Each conversion
// to a small float rounds once, to nearest even (spec 09, 4).
#ifndef SHARDTYPE_TENSOR_ELEMENT_H
#define SHARDTYPE_TENSOR_ELEMENT_H

#include "shardtype/Types/DType.h"
#include "llvm/Support/ErrorHandling.h"
#include <bit>
#include <complex>
#include <limits>
#include <type_traits>

namespace shardtype {

/// What a small float does beyond its finite values.
enum class Beyond : uint8_t {
  Ieee, // Infinities and NaNs, as IEEE has them.
  Fn,   // No infinity: overflow is NaN, the one pattern of all ones.
  Fnuz, // Likewise, NaN is the pattern of -0, and there is no -0.
  Clamp // Neither: overflow is the largest value, NaN is -0 (spec 09, 4).
};

namespace detail {
/// The bits of `value` in a format of this many exponent and mantissa bits.
uint32_t encodeFloat(double value, unsigned exponent, unsigned mantissa,
                     int bias, Beyond beyond);
double decodeFloat(uint32_t bits, unsigned exponent, unsigned mantissa,
                   int bias, Beyond beyond);
} // namespace detail

/// A float of one byte.
template <DType Of, unsigned Exponent, unsigned Mantissa, int Bias, Beyond B>
struct ByteFloat {
  uint8_t bits;
  ByteFloat() = default;
  explicit ByteFloat(double value)
      : bits(static_cast<uint8_t>(
            detail::encodeFloat(value, Exponent, Mantissa, Bias, B))) {}
  explicit ByteFloat(float value) : ByteFloat(static_cast<double>(value)) {}
  operator float() const {
    return static_cast<float>(
        detail::decodeFloat(bits, Exponent, Mantissa, Bias, B));
  }
};
using F8E3M4 = ByteFloat<DType::F8E3M4, 3, 4, 3, Beyond::Ieee>;
using F8E4M3 = ByteFloat<DType::F8E4M3, 4, 3, 7, Beyond::Ieee>;
using F8E4M3B11FNUZ = ByteFloat<DType::F8E4M3B11FNUZ, 4, 3, 11, Beyond::Fnuz>;
using F8E4M3FN = ByteFloat<DType::F8E4M3FN, 4, 3, 7, Beyond::Fn>;
using F8E4M3FNUZ = ByteFloat<DType::F8E4M3FNUZ, 4, 3, 8, Beyond::Fnuz>;
using F8E5M2 = ByteFloat<DType::F8E5M2, 5, 2, 15, Beyond::Ieee>;
using F8E5M2FNUZ = ByteFloat<DType::F8E5M2FNUZ, 5, 2, 16, Beyond::Fnuz>;
using F4E2M1FN = ByteFloat<DType::F4E2M1FN, 2, 1, 1, Beyond::Clamp>;
using F6E2M3FN = ByteFloat<DType::F6E2M3FN, 2, 3, 1, Beyond::Clamp>;
using F6E3M2FN = ByteFloat<DType::F6E3M2FN, 3, 2, 3, Beyond::Clamp>;

/// A power of two, 2^(bits - 127), or NaN: no sign, no zero.
struct F8E8M0FNU {
  uint8_t bits;
  F8E8M0FNU() = default;
  explicit F8E8M0FNU(double value);
  explicit F8E8M0FNU(float value) : F8E8M0FNU(static_cast<double>(value)) {}
  operator float() const {
    return bits == 255 ? std::numeric_limits<float>::quiet_NaN()
           : bits == 0 ? 0x1p-127f
                       : std::bit_cast<float>(uint32_t(bits) << 23);
  }
};

struct BF16 {
  uint16_t bits;
  BF16() = default;
  explicit BF16(float value) {
    uint32_t wide = std::bit_cast<uint32_t>(value);
    if ((wide & 0x7fffffffu) > 0x7f800000u)
      bits = static_cast<uint16_t>(wide >> 16 | 0x40u);
    else
      bits = static_cast<uint16_t>((wide + 0x7fffu + (wide >> 16 & 1)) >> 16);
  }
  explicit BF16(double value)
      : bits(static_cast<uint16_t>(
            detail::encodeFloat(value, 8, 7, 127, Beyond::Ieee))) {}
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

struct F16 {
  uint16_t bits;
  F16() = default;
  explicit F16(float value);
  explicit F16(double value)
      : bits(static_cast<uint16_t>(
            detail::encodeFloat(value, 5, 10, 15, Beyond::Ieee))) {}
  operator float() const;
};

/// A signed or unsigned integer below 8 bits, kept in a byte as its value;
/// conversion wraps.
template <unsigned Bits, bool Signed> struct SmallInt {
  std::conditional_t<Signed, int8_t, uint8_t> value;
  SmallInt() = default;
  template <typename T>
    requires std::is_integral_v<T>
  explicit SmallInt(T wide) {
    unsigned low = static_cast<unsigned>(wide) & ((1u << Bits) - 1);
    if (Signed && low >> (Bits - 1))
      low |= ~0u << Bits;
    value = static_cast<decltype(value)>(low);
  }
  operator int32_t() const { return value; }
};
using Int1 = SmallInt<1, true>;
using Int2 = SmallInt<2, true>;
using Int4 = SmallInt<4, true>;
using UInt1 = SmallInt<1, false>;
using UInt2 = SmallInt<2, false>;
using UInt4 = SmallInt<4, false>;

using C64 = std::complex<float>;
using C128 = std::complex<double>;

/// What is known of an element type.
template <typename T> struct ElementTraits;

#define SHARDTYPE_ELEMENT(Type, Name, Compute)                                 \
  template <> struct ElementTraits<Type> {                                     \
    static constexpr DType dtype = DType::Name;                                \
    static constexpr DTypeKind kind = [] {                                     \
      if constexpr (std::is_same_v<Type, bool>)                                \
        return DTypeKind::Bool;                                                \
      else if constexpr (std::is_same_v<Compute, C64> ||                       \
                         std::is_same_v<Compute, C128>)                        \
        return DTypeKind::Complex;                                             \
      else if constexpr (std::is_floating_point_v<Compute>)                    \
        return DTypeKind::Float;                                               \
      else                                                                     \
        return DType::Name >= DType::U1 ? DTypeKind::Unsigned                  \
                                        : DTypeKind::Signed;                   \
    }();                                                                       \
    using ComputeType = Compute;                                               \
  };
#define SHARDTYPE_INTS(ELEMENT)                                                \
  ELEMENT(Int1, I1, int32_t)                                                   \
  ELEMENT(Int2, I2, int32_t)                                                   \
  ELEMENT(Int4, I4, int32_t)                                                   \
  ELEMENT(int8_t, I8, int8_t)                                                  \
  ELEMENT(int16_t, I16, int16_t)                                               \
  ELEMENT(int32_t, I32, int32_t)                                               \
  ELEMENT(int64_t, I64, int64_t)                                               \
  ELEMENT(UInt1, U1, int32_t)                                                  \
  ELEMENT(UInt2, U2, int32_t)                                                  \
  ELEMENT(UInt4, U4, int32_t)                                                  \
  ELEMENT(uint8_t, U8, uint8_t)                                                \
  ELEMENT(uint16_t, U16, uint16_t)                                             \
  ELEMENT(uint32_t, U32, uint32_t)                                             \
  ELEMENT(uint64_t, U64, uint64_t)
#define SHARDTYPE_SMALL_FLOATS(ELEMENT)                                        \
  ELEMENT(F4E2M1FN, F4E2M1FN, float)                                           \
  ELEMENT(F6E2M3FN, F6E2M3FN, float)                                           \
  ELEMENT(F6E3M2FN, F6E3M2FN, float)                                           \
  ELEMENT(F8E3M4, F8E3M4, float)                                               \
  ELEMENT(F8E4M3, F8E4M3, float)                                               \
  ELEMENT(F8E4M3B11FNUZ, F8E4M3B11FNUZ, float)                                 \
  ELEMENT(F8E4M3FN, F8E4M3FN, float)                                           \
  ELEMENT(F8E4M3FNUZ, F8E4M3FNUZ, float)                                       \
  ELEMENT(F8E5M2, F8E5M2, float)                                               \
  ELEMENT(F8E5M2FNUZ, F8E5M2FNUZ, float)                                       \
  ELEMENT(F8E8M0FNU, F8E8M0FNU, float)
#define SHARDTYPE_FLOATS(ELEMENT)                                              \
  SHARDTYPE_SMALL_FLOATS(ELEMENT)                                              \
  ELEMENT(F16, F16, float)                                                     \
  ELEMENT(BF16, BF16, float)                                                   \
  ELEMENT(float, F32, float)                                                   \
  ELEMENT(double, F64, double)
#define SHARDTYPE_COMPLEXES(ELEMENT)                                           \
  ELEMENT(C64, C64, C64)                                                       \
  ELEMENT(C128, C128, C128)
SHARDTYPE_ELEMENT(bool, Bool, bool)
SHARDTYPE_INTS(SHARDTYPE_ELEMENT)
SHARDTYPE_FLOATS(SHARDTYPE_ELEMENT)
SHARDTYPE_COMPLEXES(SHARDTYPE_ELEMENT)
#undef SHARDTYPE_ELEMENT

template <typename T>
using ComputeType = typename ElementTraits<T>::ComputeType;
template <typename T>
inline constexpr bool isFloatElement =
    ElementTraits<T>::kind == DTypeKind::Float;
template <typename T>
inline constexpr bool isComplexElement =
    ElementTraits<T>::kind == DTypeKind::Complex;
template <typename T>
inline constexpr bool isIntElement =
    ElementTraits<T>::kind == DTypeKind::Signed ||
    ElementTraits<T>::kind == DTypeKind::Unsigned;

/// `dispatch` calls its function with one of these: `[](auto tag) { using T =
/// typename decltype(tag)::type; ... }`.
template <typename T> struct ElementTag {
  using type = T;
};

#define SHARDTYPE_CASE(Type, Name, Compute)                                    \
  case DType::Name:                                                            \
    return f(ElementTag<Type>());

/// Of float dtypes of every width.
template <typename F> decltype(auto) dispatchFloat(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_FLOATS(SHARDTYPE_CASE)
  default:
    llvm_unreachable("no float dtype");
  }
}
/// Of f64, f32, bf16 and f16.
template <typename F> decltype(auto) dispatchCommonFloat(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_CASE(F16, F16, float)
    SHARDTYPE_CASE(BF16, BF16, float)
    SHARDTYPE_CASE(float, F32, float)
    SHARDTYPE_CASE(double, F64, double)
  default:
    llvm_unreachable("none of the common float dtypes");
  }
}
template <typename F> decltype(auto) dispatchInt(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_INTS(SHARDTYPE_CASE)
  default:
    llvm_unreachable("no integer dtype");
  }
}
template <typename F> decltype(auto) dispatchComplex(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_COMPLEXES(SHARDTYPE_CASE)
  default:
    llvm_unreachable("no complex dtype");
  }
}
/// Of integers, floats and complex numbers: those that have a sum.
template <typename F> decltype(auto) dispatchNumber(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_INTS(SHARDTYPE_CASE)
    SHARDTYPE_FLOATS(SHARDTYPE_CASE)
    SHARDTYPE_COMPLEXES(SHARDTYPE_CASE)
  default:
    llvm_unreachable("no numeric dtype");
  }
}
/// Of every dtype but keys and float0.
template <typename F> decltype(auto) dispatch(DType dtype, F &&f) {
  switch (dtype) {
    SHARDTYPE_CASE(bool, Bool, bool)
    SHARDTYPE_INTS(SHARDTYPE_CASE)
    SHARDTYPE_FLOATS(SHARDTYPE_CASE)
    SHARDTYPE_COMPLEXES(SHARDTYPE_CASE)
  default:
    llvm_unreachable("a dtype without arithmetic");
  }
}
#undef SHARDTYPE_CASE

/// Sixteen bytes that are moved as one.
struct Bytes16 {
  uint64_t low, high;
};
/// Data movement looks at the size of elements only: calls `f` with the tag of
/// a plain type of `bytes` bytes (1, 2, 4, 8 or 16; see `itemSize`).
template <typename F> decltype(auto) dispatchSize(unsigned bytes, F &&f) {
  switch (bytes) {
  case 1:
    return f(ElementTag<uint8_t>());
  case 2:
    return f(ElementTag<uint16_t>());
  case 4:
    return f(ElementTag<uint32_t>());
  case 8:
    return f(ElementTag<uint64_t>());
  case 16:
    return f(ElementTag<Bytes16>());
  default:
    llvm_unreachable("no size of an element");
  }
}

} // namespace shardtype

#endif
