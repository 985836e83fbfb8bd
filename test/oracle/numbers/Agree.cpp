// Agree.cpp - compares a result with what JAX computed, by the rule of the
// case. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Agree.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>

using namespace shardtype;
using namespace shardtype::oracle;

std::optional<NumberRule> oracle::parseNumberRule(StringRef text) {
  NumberRule rule;
  SmallVector<StringRef, 6> words;
  text.split(words, ' ', -1, false);
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "exact" || words[i] == "any") {
      (words[i] == "any" ? rule.any : rule.exact) = true;
      continue;
    }
    if (words[i] == "columns" || words[i] == "size") {
      (words[i] == "columns" ? rule.columns : rule.sizes) = true;
      continue;
    }
    double number;
    if (i + 1 == words.size() || words[i + 1].getAsDouble(number))
      return std::nullopt;
    double *slot = llvm::StringSwitch<double *>(words[i])
                       .Cases("ulp", "modulus", &rule.ulps)
                       .Case("abs", &rule.absolute)
                       .Case("rel", &rule.relative)
                       .Default(nullptr);
    if (!slot)
      return std::nullopt;
    *slot = std::max(*slot, number);
    ++i;
  }
  return rule;
}

namespace {

/// Numbers of values of a float type, so that neighbours differ by 1.
template <typename T> double position(T value) {
  auto number = [](auto bits, unsigned width) {
    uint64_t sign = uint64_t(1) << (width - 1), pattern = bits;
    double size = static_cast<double>(pattern & (sign - 1));
    return pattern & sign ? -size : size;
  };
  if constexpr (sizeof(T) == 8)
    return number(std::bit_cast<uint64_t>(value), 64);
  else if constexpr (sizeof(T) == 4)
    return number(std::bit_cast<uint32_t>(value), 32);
  else if constexpr (sizeof(T) == 2)
    return number(std::bit_cast<uint16_t>(value), 16);
  else
    return number(std::bit_cast<uint8_t>(value), 8);
}

template <typename T> double wide(T value) {
  return static_cast<double>(static_cast<ComputeType<T>>(value));
}

/// The distance between `size` and the next number of a type of so many
/// mantissa bits.
double spacing(double size, unsigned mantissa, double least) {
  int power = std::ilogb(std::max(size, least));
  return std::ldexp(1.0, power - static_cast<int>(mantissa));
}

/// The distance of two elements, in ulps and absolutely; both 0 if they are
/// equal, infinite if nothing can be said.
struct Distance {
  double ulps = 0, absolute = 0;
  bool tiny = false; // Below the smallest normal number.
};

template <typename T> Distance distance(T ours, T jax) {
  if (std::memcmp(&ours, &jax, sizeof(T)) == 0)
    return {};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if constexpr (isComplexElement<T>) {
    C128 a(ours), b(jax);
    auto isNaN = [](C128 z) {
      return std::isnan(z.real()) || std::isnan(z.imag());
    };
    if (isNaN(a) || isNaN(b))
      return isNaN(a) && isNaN(b) ? Distance() : Distance{infinity, infinity};
    if (a == b || (std::isinf(std::abs(a)) && std::isinf(std::abs(b))))
      return {};
    const DTypeInfo &of = info(ElementTraits<T>::dtype);
    double least = of.bits == 64 ? 0x1p-126 : 0x1p-1022;
    double away = std::abs(a - b);
    return {away / spacing(std::abs(b), of.mantissa, least), away,
            away < least};
  } else if constexpr (isFloatElement<T>) {
    double a = wide(ours), b = wide(jax);
    if (std::isnan(a) || std::isnan(b))
      return std::isnan(a) && std::isnan(b) ? Distance()
                                            : Distance{infinity, infinity};
    double away = a == b ? 0 : std::fabs(a - b);
    const DTypeInfo &of = info(ElementTraits<T>::dtype);
    double least = std::ldexp(1.0, 2 - (1 << (of.exponent - 1)));
    return {std::fabs(position(ours) - position(jax)), away, away < least};
  } else {
    return {infinity, infinity};
  }
}

/// Bits are equal, or both are NaN; of complex numbers, by parts.
template <typename T> bool same(T ours, T jax) {
  if constexpr (isComplexElement<T>) {
    return same(ours.real(), jax.real()) && same(ours.imag(), jax.imag());
  } else if constexpr (isFloatElement<T>) {
    if (std::isnan(wide(ours)) || std::isnan(wide(jax)))
      return std::isnan(wide(ours)) && std::isnan(wide(jax));
  }
  return std::memcmp(&ours, &jax, sizeof(T)) == 0;
}

template <typename T> std::string show(T value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if constexpr (isComplexElement<T>)
    os << show(value.real()) << " + " << show(value.imag()) << " i";
  else if constexpr (isFloatElement<T>)
    os << llvm::format("%.17g", wide(value)) << " (0x"
       << llvm::toHex(StringRef([&] {
            std::string bytes(reinterpret_cast<const char *>(&value),
                              sizeof(T));
            std::reverse(bytes.begin(), bytes.end());
            return bytes;
          }()))
       << ")";
  else
    os << static_cast<int64_t>(static_cast<ComputeType<T>>(value));
  return text;
}

template <typename T>
std::string compare(ArrayRef<T> ours, ArrayRef<T> jax, const NumberRule &rule) {
  double largest = 0;
  if constexpr (isFloatElement<T> || isComplexElement<T>)
    for (T value : jax) {
      double size;
      if constexpr (isComplexElement<T>)
        size = std::abs(C128(value));
      else
        size = std::fabs(wide(value));
      if (std::isfinite(size))
        largest = std::max(largest, size);
    }
  size_t worst = 0, bad = 0;
  double most = -1;
  for (size_t i = 0; i < ours.size(); ++i) {
    if (same(ours[i], jax[i]))
      continue;
    Distance d = distance(ours[i], jax[i]);
    bool passes =
        !rule.exact && (d.ulps <= rule.ulps || d.absolute <= rule.absolute ||
                        d.absolute <= rule.relative * largest || d.tiny);
    if (passes)
      continue;
    ++bad;
    if (d.ulps > most) {
      most = d.ulps;
      worst = i;
    }
  }
  if (!bad)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << bad << " of " << ours.size() << " differ, worst [" << worst << "] ours "
     << show(ours[worst]) << " JAX " << show(jax[worst]) << ", "
     << llvm::format("%g", most) << " ulp, largest "
     << llvm::format("%g", largest);
  return text;
}

} // namespace

/// Each column times the unit factor that brings it nearest to the other's.
template <typename T>
static void alignColumns(Tensor &ours, const Tensor &jax) {
  int64_t columns = ours.shape().back(), rows = ours.dim(ours.rank() - 2);
  int64_t size = rows * columns;
  ArrayRef<T> other = jax.as<T>();
  MutableArrayRef<T> own = ours.fill<T>();
  for (int64_t base = 0; size > 0 && base < ours.size(); base += size)
    for (int64_t j = base; j < base + columns; ++j) {
      C128 product = 0;
      for (int64_t i = 0; i < rows; ++i)
        product += C128(other[j + i * columns]) *
                   std::conj(C128(own[j + i * columns]));
      if (!(std::abs(product) > 0))
        continue;
      product /= std::abs(product);
      for (int64_t i = 0; i < rows; ++i) {
        C128 turned = C128(own[j + i * columns]) * product;
        if constexpr (isComplexElement<T>)
          own[j + i * columns] = T(turned);
        else
          own[j + i * columns] = static_cast<T>(turned.real());
      }
    }
}

/// What the rule does not look at is made equal.
static Tensor adjusted(const Tensor &x, const Tensor &jax,
                       const NumberRule &rule) {
  Tensor result = x;
  result.makeUnique();
  auto adjust = [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (rule.columns)
      alignColumns<T>(result, jax);
    if (rule.sizes)
      for (T &value : result.fill<T>())
        value = std::abs(value);
  };
  switch (x.dtype()) {
  case DType::F32:
    adjust(ElementTag<float>());
    break;
  case DType::F64:
    adjust(ElementTag<double>());
    break;
  case DType::C64:
    adjust(ElementTag<C64>());
    break;
  case DType::C128:
    adjust(ElementTag<C128>());
    break;
  default:
    break;
  }
  return result;
}

std::string oracle::disagreement(const Tensor &ours, const Tensor &jax,
                                 const NumberRule &rule) {
  if (!ours)
    return "no result";
  if (ours.dtype() != jax.dtype() || ours.shape() != jax.shape())
    return "another dtype or shape: " + info(ours.dtype()).shortName.str();
  if (rule.any)
    return "";
  if (rule.columns || rule.sizes) {
    NumberRule rest = rule;
    rest.columns = rest.sizes = false;
    return disagreement(adjusted(ours, jax, rule), adjusted(jax, jax, rule),
                        rest);
  }
  if (isKey(jax.dtype())) {
    bool equal = std::memcmp(ours.data(), jax.data(), jax.bytes()) == 0;
    return equal ? "" : "other keys";
  }
  return dispatch(jax.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return compare<T>(ours.as<T>(), jax.as<T>(), rule);
  });
}
