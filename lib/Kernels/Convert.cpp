// Convert.cpp - between element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements go by way of the widest type of their kind, which holds all of them:
// so each of the thirty types has one loop from and a few loops to it. The
// pairs that programs are full of are converted directly.
#include "shardtype/Kernels/Convert.h"
#include "Integers.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
constexpr int64_t Chunk = 256;
template <typename W> using Wide = std::array<W, Chunk>;
} // namespace

//===--- Single values ----------------------------------------------------===//

/// Of a whole number of 64 bits, a double that rounds to any shorter float as
/// the number itself does: what does not fit is kept in the last bit ("round to
/// odd"), and shorter floats have at most 24 of the 53.
template <typename W> static double roundToOdd(W value) {
  using U = uint64_t;
  bool negative = value < 0;
  U size = negative ? U(0) - static_cast<U>(value) : static_cast<U>(value);
  if (size >> 53) {
    constexpr U low = (U(1) << 11) - 1;
    size = (size & ~low) | ((size & low) != 0 ? low + 1 : 0);
  }
  double wide = static_cast<double>(size);
  return negative ? -wide : wide;
}

/// Truncated and saturated; NaN is 0.
template <typename T> static T saturate(double value) {
  using C = ComputeType<T>;
  constexpr unsigned bits = bitsOf<T>;
  constexpr bool isSigned = ElementTraits<T>::kind == DTypeKind::Signed;
  if (std::isnan(value))
    return T(C(0));
  // The first value above and the least one; both are doubles.
  double above = std::ldexp(1.0, static_cast<int>(bits - isSigned));
  double least = isSigned ? -above : 0;
  if (value >= above)
    return T(static_cast<C>(lowBits(bits - isSigned)));
  if (value <= least)
    return T(static_cast<C>(isSigned ? ~uint64_t(0) << (bits - 1) : 0));
  if constexpr (isSigned)
    return T(static_cast<C>(static_cast<int64_t>(value)));
  else
    return T(static_cast<C>(static_cast<uint64_t>(value)));
}

template <typename T> static T fromDouble(double value) {
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (isIntElement<T>)
    return saturate<T>(value);
  else if constexpr (isComplexElement<T>)
    return T(static_cast<typename T::value_type>(value));
  else
    return T(value);
}

/// W is int64_t or uint64_t.
template <typename T, typename W> static T fromWhole(W value) {
  if constexpr (std::is_same_v<T, bool>)
    return value != 0;
  else if constexpr (isIntElement<T>)
    return T(static_cast<ComputeType<T>>(value));
  else if constexpr (isComplexElement<T>)
    return T(static_cast<typename T::value_type>(value));
  else if constexpr (sizeof(T) < sizeof(float))
    return T(roundToOdd(value));
  else
    return static_cast<T>(value);
}

//===--- Chunks -----------------------------------------------------------===//

template <typename W>
static void store(Tensor &to, int64_t begin, const Wide<W> &from,
                  int64_t count) {
  dispatch(to.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *out = to.fill<T>().data() + begin;
    for (int64_t i = 0; i < count; ++i) {
      W value = from[static_cast<size_t>(i)];
      if constexpr (std::is_same_v<W, C128>) {
        if constexpr (isComplexElement<T>)
          out[i] = T(value);
        else
          out[i] = fromDouble<T>(value.real());
      } else if constexpr (std::is_same_v<W, double>) {
        out[i] = fromDouble<T>(value);
      } else {
        out[i] = fromWhole<T>(value);
      }
    }
  });
}

template <typename T> static void convertFrom(const Tensor &x, Tensor &to) {
  constexpr DTypeKind kind = ElementTraits<T>::kind;
  using C = ComputeType<T>;
  using W = std::conditional_t<
      kind == DTypeKind::Complex, C128,
      std::conditional_t<
          kind == DTypeKind::Float, double,
          std::conditional_t<kind == DTypeKind::Unsigned, uint64_t, int64_t>>>;
  Wide<W> wide;
  const T *from = x.as<T>().data();
  for (int64_t begin = 0; begin < x.size(); begin += Chunk) {
    int64_t count = std::min(Chunk, x.size() - begin);
    for (int64_t i = 0; i < count; ++i)
      wide[static_cast<size_t>(i)] =
          static_cast<W>(static_cast<C>(from[begin + i]));
    store<W>(to, begin, wide, count);
  }
}

/// The pairs that are worth a loop of their own.
template <typename From, typename To>
static bool convertDirectly(const Tensor &x, Tensor &to) {
  if (x.dtype() != ElementTraits<From>::dtype ||
      to.dtype() != ElementTraits<To>::dtype)
    return false;
  const From *from = x.as<From>().data();
  To *out = to.fill<To>().data();
  for (int64_t i = 0, n = x.size(); i < n; ++i)
    out[i] = static_cast<To>(static_cast<ComputeType<From>>(from[i]));
  return true;
}

Tensor kernels::convert(const Tensor &x, DType dtype) {
  if (x.dtype() == dtype)
    return x;
  Tensor to = Tensor::uninitialised(dtype, x.shape());
  if (dtype == DType::Float0 || x.dtype() == DType::Float0) {
    std::memset(to.mutableData(), 0, to.bytes());
    return to;
  }
  if (convertDirectly<float, BF16>(x, to) ||
      convertDirectly<BF16, float>(x, to) ||
      convertDirectly<float, F16>(x, to) ||
      convertDirectly<F16, float>(x, to) ||
      convertDirectly<float, double>(x, to) ||
      convertDirectly<double, float>(x, to) ||
      convertDirectly<int32_t, float>(x, to) ||
      convertDirectly<bool, float>(x, to) ||
      convertDirectly<bool, int32_t>(x, to) ||
      convertDirectly<int32_t, int64_t>(x, to) ||
      convertDirectly<uint32_t, int32_t>(x, to) ||
      convertDirectly<int32_t, uint32_t>(x, to))
    return to;
  dispatch(x.dtype(),
           [&](auto tag) { convertFrom<typename decltype(tag)::type>(x, to); });
  return to;
}

//===--- Bits -------------------------------------------------------------===//

/// Bits of one element as JAX counts them.
static unsigned widthOf(DType dtype) {
  return dtype == DType::Bool ? 8 : info(dtype).bits;
}

/// One element of `bits` bits: from, and to, the byte or bytes it is kept in.
static void unpack(const std::byte *from, unsigned bits, uint64_t *out,
                   int64_t count) {
  unsigned bytes = bits < 8 ? 1 : bits / 8;
  uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, from + i * bytes, bytes);
    out[i] = value & mask;
  }
}
static void pack(std::byte *to, DType dtype, uint64_t bits) {
  unsigned width = widthOf(dtype), bytes = width < 8 ? 1 : width / 8;
  // Signed integers below 8 bits are kept as their value.
  if (width < 8 && info(dtype).kind == DTypeKind::Signed &&
      bits >> (width - 1) & 1)
    bits |= ~uint64_t(0) << width;
  std::memcpy(to, &bits, bytes);
}

Tensor kernels::bitcast(const Tensor &x, DType dtype, ArrayRef<int64_t> shape) {
  unsigned from = widthOf(x.dtype()), into = widthOf(dtype);
  if (from >= 8 && into >= 8)
    return x.viewedAs(dtype, shape);
  // Some width is below 8: parts of `step` bits, the least first.
  Tensor to = Tensor::uninitialised(dtype, shape);
  unsigned fromBytes = itemSize(x.dtype()), toBytes = itemSize(dtype);
  int64_t parts = from > into ? from / into : into / from;
  for (int64_t i = 0, n = std::min(x.size(), to.size()); i < n; ++i) {
    uint64_t word = 0, part;
    if (from > into) {
      unpack(x.data() + i * fromBytes, from, &word, 1);
      for (int64_t k = 0; k < parts; ++k) {
        part = word >> (k * into) & ((uint64_t(1) << into) - 1);
        pack(to.mutableData() + (i * parts + k) * toBytes, dtype, part);
      }
      continue;
    }
    for (int64_t k = 0; k < parts; ++k) {
      unpack(x.data() + (i * parts + k) * fromBytes, from, &part, 1);
      word |= part << (k * from);
    }
    pack(to.mutableData() + i * toBytes, dtype, word);
  }
  return to;
}

//===--- Denormals --------------------------------------------------------===//

template <typename Bits>
static void flush(MutableArrayRef<Bits> values, unsigned mantissa) {
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  Bits exponent = Bits(~sign) >> mantissa << mantissa;
  for (Bits &bits : values)
    if ((bits & exponent) == 0)
      bits &= sign;
}

Tensor kernels::flushDenormals(Tensor x) {
  switch (x.dtype()) {
  case DType::BF16:
    x.makeUnique();
    flush(x.fill<uint16_t>(), 7);
    return x;
  case DType::F32:
  case DType::C64:
    x.makeUnique();
    flush(x.fill<uint32_t>(), 23);
    return x;
  case DType::F64:
  case DType::C128:
    x.makeUnique();
    flush(x.fill<uint64_t>(), 52);
    return x;
  default:
    return x;
  }
}

//===--- reduce_precision -------------------------------------------------===//

/// `value` is one of a type of `exponentOf` and `mantissaOf` bits.
static double reduced(double value, int exponent, int mantissa, int exponentOf,
                      int mantissaOf) {
  if (value == 0 || !std::isfinite(value))
    return value;
  if (mantissa < mantissaOf) {
    int power = std::ilogb(value);
    double steps = std::ldexp(value, mantissa - power);
    // Without a mantissa, the even one of two powers is that of the even
    // pattern; the biases of all types are odd.
    bool keep = mantissa == 0 && std::fabs(steps) == 1.5 && power % 2 != 0;
    value = keep ? std::copysign(std::ldexp(1.0, power), value)
                 : std::ldexp(std::rint(steps), power - mantissa);
  }
  if (exponent < exponentOf) {
    int bias = (1 << (exponent - 1)) - 1;
    double size = std::fabs(value);
    if (size >= std::ldexp(1.0, bias + 1))
      return std::copysign(std::numeric_limits<double>::infinity(), value);
    if (size < std::ldexp(1.0, 1 - bias))
      return std::copysign(0.0, value);
  }
  return value;
}

Tensor kernels::reducePrecision(const Tensor &x, int64_t exponentBits,
                                int64_t mantissaBits) {
  Tensor to = Tensor::uninitialised(x.dtype(), x.shape());
  const DTypeInfo &of = info(x.dtype());
  dispatchFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    llvm::transform(x.as<T>(), to.fill<T>().begin(), [&](T value) {
      double wide = static_cast<double>(static_cast<ComputeType<T>>(value));
      if (wide == 0 || !std::isfinite(wide))
        return value; // NaN keeps its bits.
      return T(reduced(
          wide, static_cast<int>(exponentBits), static_cast<int>(mantissaBits),
          static_cast<int>(of.exponent), static_cast<int>(of.mantissa)));
    });
  });
  return to;
}

//===--- iota -------------------------------------------------------------===//

Tensor kernels::iota(DType dtype, ArrayRef<int64_t> shape, int64_t dim) {
  Tensor to = Tensor::uninitialised(dtype, shape);
  if (to.size() == 0)
    return to;
  auto at = static_cast<size_t>(dim);
  int64_t length = shape[at], inner = 1;
  for (int64_t size : shape.drop_front(at + 1))
    inner *= size;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T *out = to.fill<T>().data();
    // One run along `dim`, then copies of it.
    for (int64_t i = 0; i < length; ++i)
      std::fill_n(out + i * inner, inner, fromWhole<T>(i));
    int64_t run = length * inner;
    for (int64_t begin = run; begin < to.size(); begin += run)
      std::copy_n(out, run, out + begin);
  });
  return to;
}
