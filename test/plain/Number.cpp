// Number.cpp - arithmetic of the plain evaluator, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Number.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>
#include <cstring>

using namespace shardtype;
using namespace shardtype::plain;

__extension__ typedef unsigned __int128 UWide;
using Complex = std::complex<double>;

template <typename T> static Number read(const T &x) {
  if constexpr (isComplexElement<T>)
    return {x.real(), x.imag(), 0};
  else if constexpr (isFloatElement<T>)
    return {static_cast<double>(static_cast<ComputeType<T>>(x)), 0, 0};
  else
    return {0, 0, static_cast<Wide>(static_cast<ComputeType<T>>(x))};
}
template <typename T> static T make(const Number &x) {
  if constexpr (isComplexElement<T>)
    return T(static_cast<typename T::value_type>(x.re),
             static_cast<typename T::value_type>(x.im));
  else if constexpr (isFloatElement<T>)
    return T(x.re);
  else if constexpr (std::is_same_v<T, bool>)
    return x.i != 0;
  else
    return T(static_cast<uint64_t>(x.i));
}

Number plain::load(const Tensor &from, int64_t at) {
  return dispatch(from.dtype(), [&](auto tag) {
    return read(from.as<typename decltype(tag)::type>()[at]);
  });
}
void plain::store(Tensor &to, int64_t at, const Number &x) {
  dispatch(to.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    to.fill<T>()[at] = make<T>(x);
  });
}
Number plain::rounded(DType dtype, const Number &x) {
  return dispatch(dtype, [&](auto tag) {
    return read(make<typename decltype(tag)::type>(x));
  });
}
uint64_t plain::bitsOf(DType dtype, const Number &x) {
  return dispatch(dtype, [&](auto tag) {
    auto element = make<typename decltype(tag)::type>(x);
    uint64_t bits = 0;
    std::memcpy(&bits, &element, std::min(sizeof(element), sizeof(bits)));
    return bits;
  });
}
Number plain::fromBits(DType dtype, uint64_t bits) {
  return dispatch(dtype, [&](auto tag) {
    typename decltype(tag)::type element;
    std::memcpy(static_cast<void *>(&element), &bits,
                std::min(sizeof(element), sizeof(bits)));
    return read(element);
  });
}

//===--- Order ------------------------------------------------------------===//

bool plain::isNaN(DType dtype, const Number &x) {
  return (isFloat(dtype) || isComplex(dtype)) &&
         (std::isnan(x.re) || std::isnan(x.im));
}
bool plain::less(DType dtype, const Number &a, const Number &b) {
  if (isComplex(dtype))
    return a.re < b.re || (a.re == b.re && a.im < b.im);
  return isFloat(dtype) ? a.re < b.re : a.i < b.i;
}
bool plain::equal(DType dtype, const Number &a, const Number &b) {
  if (isComplex(dtype) || isFloat(dtype))
    return a.re == b.re && a.im == b.im;
  return a.i == b.i;
}
int64_t plain::totalKey(DType dtype, const Number &x) {
  if (!isFloat(dtype)) // Unsigned ones of 64 bits below the signed.
    return dtype == DType::U64 ? static_cast<int64_t>(x.i - (Wide(1) << 63))
                               : static_cast<int64_t>(x.i);
  double magnitude = std::fabs(x.re);
  auto key = std::isnan(x.re)
                 ? std::numeric_limits<int64_t>::max()
                 : static_cast<int64_t>(std::bit_cast<uint64_t>(magnitude));
  return std::signbit(x.re) ? -1 - key : key;
}
static Number extreme(DType dtype, const Number &a, const Number &b, bool max) {
  if (isFloat(dtype) && isNaN(dtype, a))
    return a;
  if (isFloat(dtype) && isNaN(dtype, b))
    return b;
  if (isFloat(dtype) && a.re == b.re)
    return std::signbit(a.re) == max ? b : a;
  return (max ? less(dtype, b, a) : less(dtype, a, b)) ? a : b;
}
Number plain::larger(DType d, const Number &a, const Number &b) {
  return extreme(d, a, b, true);
}
Number plain::smaller(DType d, const Number &a, const Number &b) {
  return extreme(d, a, b, false);
}

static unsigned width(DType dtype) { return info(dtype).bits; }
static bool isSigned(DType dtype) {
  return info(dtype).kind == DTypeKind::Signed;
}

/// The end of a range: infinity, or the largest where there is none.
static Number end(DType dtype, double sign) {
  Number inf{sign * HUGE_VAL, 0, 0};
  if (!isFloat(dtype) && !isComplex(dtype)) {
    if (dtype == DType::Bool)
      return integer(sign > 0);
    if (!isSigned(dtype))
      return {0, 0, sign > 0 ? (Wide(1) << width(dtype)) - 1 : 0};
    Wide half = Wide(1) << (width(dtype) - 1);
    return {0, 0, sign > 0 ? half - 1 : -half};
  }
  if (isComplex(dtype) || std::isinf(rounded(dtype, inf).re))
    return inf;
  Number most;
  for (uint64_t bits = 0; bits < 256; ++bits)
    if (Number x = fromBits(dtype, bits); x.re * sign > most.re * sign)
      most = x;
  return most;
}
Number plain::lowest(DType dtype) { return end(dtype, -1); }
Number plain::highest(DType dtype) { return end(dtype, 1); }
Number plain::one(DType) { return {1, 0, 1}; }
Number plain::integer(int64_t value) {
  return {static_cast<double>(value), 0, value};
}

//===--- Conversions ------------------------------------------------------===//

/// To odd: what is lost shows in the last bit, so that the next rounding is
/// right.
static double toOdd(Wide x) {
  bool negative = x < 0, lost = false;
  UWide rest = negative ? -static_cast<UWide>(x) : static_cast<UWide>(x);
  int shift = 0;
  for (; rest >> 53; ++shift) {
    lost |= rest & 1;
    rest >>= 1;
  }
  double value = std::ldexp(static_cast<double>(rest | UWide(lost)), shift);
  return negative ? -value : value;
}

Number plain::converted(DType from, DType to, const Number &x) {
  bool wasInt = !isFloat(from) && !isComplex(from);
  if (to == DType::Bool)
    return integer(wasInt ? x.i != 0 : x.re != 0);
  if (isFloat(to) || isComplex(to)) {
    if (!wasInt)
      return {x.re, x.im, 0};
    return {to == DType::F64 || to == DType::C128 ? static_cast<double>(x.i)
                                                  : toOdd(x.i),
            0, 0};
  }
  if (wasInt)
    return {0, 0, x.i};
  if (std::isnan(x.re))
    return integer(0);
  Number low = lowest(to), high = highest(to);
  double value = std::trunc(x.re);
  return value <= static_cast<double>(low.i)    ? low
         : value >= static_cast<double>(high.i) ? high
                                                : Number{0, 0, Wide(value)};
}

//===--- Two operands -----------------------------------------------------===//

static bool inIntegers(DType d) { return !isFloat(d) && !isComplex(d); }
static Complex box(const Number &x) { return {x.re, x.im}; }
static Number unbox(Complex x) { return {x.real(), x.imag(), 0}; }

static Number add(DType d, const Number &a, const Number &b) {
  if (d == DType::Bool)
    return integer(a.i || b.i);
  return {a.re + b.re, a.im + b.im, a.i + b.i};
}
static Number sub(DType, const Number &a, const Number &b) {
  return {a.re - b.re, a.im - b.im, a.i - b.i};
}
static Number mul(DType d, const Number &a, const Number &b) {
  if (isComplex(d))
    return unbox(box(a) * box(b));
  if (isFloat(d))
    return {a.re * b.re, 0, 0};
  return {0, 0, Wide(UWide(a.i) * UWide(b.i))};
}
static Number div(DType d, const Number &a, const Number &b) {
  if (isComplex(d))
    return unbox(box(a) / box(b));
  if (isFloat(d))
    return {a.re / b.re, 0, 0};
  return {0, 0, b.i == 0 ? Wide(-1) : a.i / b.i};
}
static Number rem(DType d, const Number &a, const Number &b) {
  if (isFloat(d))
    return {std::fmod(a.re, b.re), 0, 0};
  return {0, 0, b.i == 0 ? a.i : a.i % b.i};
}
static Number power(DType d, const Number &a, const Number &b) {
  if (isComplex(d))
    return unbox(std::pow(box(a), box(b)));
  return {std::pow(a.re, b.re), 0, 0};
}
static Number atan2Of(DType d, const Number &a, const Number &b) {
  if (isComplex(d)) { // -i log((b + i a) / sqrt(a^2 + b^2))
    Complex size = std::sqrt(box(a) * box(a) + box(b) * box(b));
    return unbox(Complex(0, -1) *
                 std::log((box(b) + Complex(0, 1) * box(a)) / size));
  }
  return {std::atan2(a.re, b.re), 0, 0};
}
static Number complexOf(DType, const Number &a, const Number &b) {
  return {a.re, b.re, 0};
}
static Number conjunction(DType, const Number &a, const Number &b) {
  return {0, 0, a.i & b.i};
}
static Number disjunction(DType, const Number &a, const Number &b) {
  return {0, 0, a.i | b.i};
}
static Number exclusive(DType, const Number &a, const Number &b) {
  return {0, 0, a.i ^ b.i};
}
/// The bits of an integer, and an amount to shift by, at most its width.
static UWide pattern(DType d, Wide x) {
  return UWide(x) & ((UWide(1) << width(d)) - 1);
}
static unsigned amount(DType d, Wide x) {
  return static_cast<unsigned>(std::min<UWide>(pattern(d, x), width(d)));
}
static Number shiftLeft(DType d, const Number &a, const Number &b) {
  return {0, 0, Wide(pattern(d, a.i) << amount(d, b.i))};
}
static Number shiftLogical(DType d, const Number &a, const Number &b) {
  return {0, 0, Wide(pattern(d, a.i) >> amount(d, b.i))};
}
static Number shiftArithmetic(DType d, const Number &a, const Number &b) {
  UWide bits = pattern(d, a.i);
  Wide value = Wide(bits);
  if (bits >> (width(d) - 1))
    value -= Wide(1) << width(d);
  return {0, 0, value >> amount(d, b.i)};
}
static Number highWord(DType d, const Number &a, const Number &b) {
  if (isSigned(d))
    return {0, 0, (a.i * b.i) >> width(d)};
  return {0, 0, Wide((UWide(a.i) * UWide(b.i)) >> width(d))};
}
static Number after(DType d, const Number &a, const Number &b) {
  if (isNaN(d, a) || isNaN(d, b))
    return {NAN, 0, 0};
  if (a.re == b.re)
    return b;
  uint64_t bits = bitsOf(d, a), sign = 1ull << (width(d) - 1);
  if (a.re == 0)
    return fromBits(d, (b.re < 0 ? sign : 0) + 1);
  bool away = (b.re > a.re) == (a.re > 0);
  return fromBits(d, away ? bits + 1 : bits - 1);
}
static Number eq(DType d, const Number &a, const Number &b) {
  return integer(equal(d, a, b));
}
static Number ne(DType d, const Number &a, const Number &b) {
  return integer(!equal(d, a, b));
}
static Number lt(DType d, const Number &a, const Number &b) {
  return integer(less(d, a, b));
}
static Number le(DType d, const Number &a, const Number &b) {
  return integer(less(d, a, b) || equal(d, a, b));
}
static Number gt(DType d, const Number &a, const Number &b) {
  return lt(d, b, a);
}
static Number ge(DType d, const Number &a, const Number &b) {
  return le(d, b, a);
}
static Number eqTo(DType d, const Number &a, const Number &b) {
  if (isComplex(d))
    return integer(totalKey(DType::F64, a) == totalKey(DType::F64, b) &&
                   totalKey(DType::F64, {a.im, 0, 0}) ==
                       totalKey(DType::F64, {b.im, 0, 0}));
  return integer(totalKey(d, a) == totalKey(d, b));
}
static Number ltTo(DType d, const Number &a, const Number &b) {
  return integer(totalKey(d, a) < totalKey(d, b));
}
static Number leTo(DType d, const Number &a, const Number &b) {
  return integer(totalKey(d, a) <= totalKey(d, b));
}

Binary plain::binaryNamed(StringRef name) {
  static const llvm::StringMap<Binary> table = {
      {"add", add},
      {"add_any", add},
      {"sub", sub},
      {"mul", mul},
      {"div", div},
      {"rem", rem},
      {"pow", power},
      {"max", larger},
      {"min", smaller},
      {"atan2", atan2Of},
      {"complex", complexOf},
      {"and", conjunction},
      {"or", disjunction},
      {"xor", exclusive},
      {"shift_left", shiftLeft},
      {"shift_right_logical", shiftLogical},
      {"shift_right_arithmetic", shiftArithmetic},
      {"mulhi", highWord},
      {"nextafter", after},
      {"eq", eq},
      {"ne", ne},
      {"lt", lt},
      {"le", le},
      {"gt", gt},
      {"ge", ge},
      {"eq_to", eqTo},
      {"lt_to", ltTo},
      {"le_to", leTo}};
  return table.lookup(name);
}

//===--- One operand ------------------------------------------------------===//

/// A function of floats that there is for complex numbers too.
template <double (*Real)(double), Complex (*Of)(const Complex &)>
static Number both(DType d, const Number &x) {
  return isComplex(d) ? unbox(Of(box(x))) : Number{Real(x.re), 0, 0};
}
template <double (*Real)(double)> static Number real(DType, const Number &x) {
  return {Real(x.re), 0, 0};
}

static Number negative(DType, const Number &x) { return {-x.re, -x.im, -x.i}; }
static Number absolute(DType d, const Number &x) {
  if (isComplex(d))
    return {std::hypot(x.re, x.im), 0, 0};
  return {std::fabs(x.re), 0, x.i < 0 ? -x.i : x.i};
}
static Number signOf(DType d, const Number &x) {
  if (inIntegers(d))
    return integer((x.i > 0) - (x.i < 0));
  if (isComplex(d)) {
    double size = std::hypot(x.re, x.im);
    return size == 0 ? Number{} : Number{x.re / size, x.im / size, 0};
  }
  return {std::isnan(x.re) || x.re == 0 ? x.re : std::copysign(1, x.re), 0, 0};
}
static Number square(DType d, const Number &x) { return mul(d, x, x); }
static Number oneMinusSquare(DType d, const Number &x) {
  return mul(d, rounded(d, sub(d, one(d), x)), rounded(d, add(d, one(d), x)));
}
static Number inverted(DType d, const Number &x) {
  return d == DType::Bool ? integer(x.i == 0) : Number{0, 0, ~x.i};
}
static Number leadingZeros(DType d, const Number &x) {
  UWide bits = pattern(d, x.i);
  int64_t count = width(d);
  for (; bits; bits >>= 1)
    --count;
  return integer(count);
}
static Number bitCount(DType d, const Number &x) {
  int64_t count = 0;
  for (UWide bits = pattern(d, x.i); bits; bits >>= 1)
    count += bits & 1;
  return integer(count);
}
static Number finite(DType, const Number &x) {
  return integer(std::isfinite(x.re));
}
static Number realPart(DType, const Number &x) { return {x.re, 0, 0}; }
static Number imaginary(DType, const Number &x) { return {x.im, 0, 0}; }
static Number conjugate(DType d, const Number &x) {
  return {x.re, isComplex(d) ? -x.im : 0, 0};
}
static Number same(DType, const Number &x) { return x; }

static double rsqrtOf(double x) { return 1 / std::sqrt(x); }
static Complex rsqrtOf(const Complex &x) { return 1.0 / std::sqrt(x); }
static double logisticOf(double x) { return 1 / (1 + std::exp(-x)); }
static Complex logisticOf(const Complex &x) {
  return 1.0 / (1.0 + std::exp(-x));
}
static Complex exp2Of(const Complex &x) { return std::exp(x * std::log(2.0)); }
static Complex expm1Of(const Complex &x) { return std::exp(x) - 1.0; }
static Complex log1pOf(const Complex &x) { return std::log(1.0 + x); }
static Complex log2Of(const Complex &x) { return std::log(x) / std::log(2.0); }
/// By bisection of erf, or of erfc where that has the digits.
static double inverseErf(double x) {
  double size = std::fabs(x);
  if (!(size < 1) || x == 0)
    return x == 0 ? x : size == 1 ? std::copysign(HUGE_VAL, x) : NAN;
  bool small = size < 0.5; // Then it is a little less than `size`.
  long double low = small ? 0.8 * size : 0, high = small ? size : 8,
              rest = 1 - static_cast<long double>(size);
  for (int i = 0; i < 200; ++i) {
    long double mid = (low + high) / 2;
    bool below = small ? std::erf(mid) < size : std::erfc(mid) > rest;
    (below ? low : high) = mid;
  }
  return std::copysign(static_cast<double>(low), x);
}

Unary plain::unaryNamed(StringRef name) {
#define BOTH(Name) {#Name, both<std::Name, std::Name>}
#define REAL(Name) {#Name, real<std::Name>}
  static const llvm::StringMap<Unary> table = {
      {"neg", negative},
      {"abs", absolute},
      {"sign", signOf},
      {"square", square},
      {"one_minus_square", oneMinusSquare},
      {"not", inverted},
      {"clz", leadingZeros},
      {"population_count", bitCount},
      {"is_finite", finite},
      {"real", realPart},
      {"imag", imaginary},
      {"conj", conjugate},
      {"copy", same},
      {"copy_p", same},
      {"stop_gradient", same},
      BOTH(exp),
      BOTH(log),
      BOTH(sqrt),
      BOTH(sin),
      BOTH(cos),
      BOTH(tan),
      BOTH(sinh),
      BOTH(cosh),
      BOTH(tanh),
      BOTH(asin),
      BOTH(acos),
      BOTH(atan),
      BOTH(asinh),
      BOTH(acosh),
      BOTH(atanh),
      REAL(floor),
      REAL(ceil),
      REAL(cbrt),
      REAL(erf),
      REAL(erfc),
      REAL(lgamma),
      {"rsqrt", both<rsqrtOf, rsqrtOf>},
      {"logistic", both<logisticOf, logisticOf>},
      {"exp2", both<std::exp2, exp2Of>},
      {"expm1", both<std::expm1, expm1Of>},
      {"log1p", both<std::log1p, log1pOf>},
      {"log2", both<std::log2, log2Of>},
      {"erf_inv", real<inverseErf>}};
#undef BOTH
#undef REAL
  return table.lookup(name);
}
