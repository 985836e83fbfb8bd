// Special.cpp - special functions, with Boost.Math: its only user.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Special.h"
#include <boost/math/special_functions/bessel.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <limits>

using namespace shardtype;
namespace policies = boost::math::policies;

namespace {
/// Nothing raises: out of domain is NaN, overflow infinite.
using Quiet = policies::policy<
    policies::domain_error<policies::ignore_error>,
    policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::denorm_error<policies::ignore_error>,
    policies::rounding_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>,
    policies::indeterminate_result_error<policies::ignore_error>>;
/// The same in plain doubles: three times as fast, and still to 1e-15.
using Fast = policies::normalise<Quiet, policies::promote_double<false>>::type;
using Wide = long double;
constexpr double NaN = std::numeric_limits<double>::quiet_NaN();
constexpr double Infinity = std::numeric_limits<double>::infinity();
} // namespace

/// e^-x I_order(x) for large x: the asymptotic series, while terms shrink.
static Wide scaledBessel(int order, Wide x) {
  constexpr Wide pi = 3.14159265358979323846264338327950288L;
  Wide term = 1, sum = 1, mu = 4.0L * order * order;
  for (int k = 1; k < 40; ++k) {
    Wide odd = 2 * k - 1;
    Wide next = -term * (mu - odd * odd) / (k * 8 * x);
    if (std::fabs(next) >= std::fabs(term))
      break;
    sum += term = next;
  }
  return sum / std::sqrt(2 * pi * x);
}

static double besselE(int order, double x) {
  if (std::isnan(x))
    return x;
  Wide size = std::fabs(x);
  if (std::isinf(x))
    return order == 1 ? std::copysign(0.0, x) : 0.0;
  Wide value = size > 500 ? scaledBessel(order, size)
                          : std::exp(-size) *
                                boost::math::cyl_bessel_i(order, size, Quiet());
  return static_cast<double>(order == 1 && std::signbit(x) ? -value : value);
}
double special::besselI0e(double x) { return besselE(0, x); }
double special::besselI1e(double x) { return besselE(1, x); }

double special::digamma(double x) {
  if (x == 0)
    return std::copysign(Infinity, -x);
  if (std::isnan(x) || x == -Infinity || (x < 0 && x == std::floor(x)))
    return NaN;
  return std::isinf(x) ? x : boost::math::digamma(x, Quiet());
}

double special::erfInv(double x) {
  if (!(std::fabs(x) < 1))
    return std::fabs(x) == 1 ? std::copysign(Infinity, x) : NaN;
  return x == 0 ? x : boost::math::erf_inv(x, Fast());
}

double special::lgamma(double x) {
  int sign; // std::lgamma writes a global variable.
  return ::lgamma_r(x, &sign);
}

/// The terms of Euler and Maclaurin behind the sum of the first.
static Wide zetaTail(Wide s, Wide q) {
  // B_2k / (2k)!
  static constexpr Wide factors[] = {
      1.0L / 12,          -1.0L / 720,
      1.0L / 30240,       -1.0L / 1209600,
      1.0L / 47900160,    -691.0L / 1307674368000,
      1.0L / 74724249600, -3617.0L / 10670622842880000};
  Wide power = std::pow(q, -s);
  Wide sum = q * power / (s - 1) + power / 2;
  Wide rising = s, shrinking = power / q;
  for (int k = 0; k < 8; ++k) {
    sum += factors[k] * rising * shrinking;
    rising *= (s + 2 * k + 1) * (s + 2 * k + 2);
    shrinking /= q * q;
  }
  return sum;
}

double special::zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || std::isinf(s) || std::isinf(q))
    return NaN;
  bool pole = q <= 0 && q == std::floor(q);
  if (s < 1)
    return s == 0 && pole ? Infinity : NaN;
  if (s == 1 || pole)
    return Infinity;
  if (q < 0 && s != std::floor(s))
    return NaN;
  Wide sum = 0, at = q;
  // Behind 20 the tail is exact to the last bit of a double; a program that
  // asks for less than -10^5 waits for nothing it can use.
  for (unsigned steps = 0; at < 20 && steps < 100'000; ++steps, at += 1)
    sum += std::pow(at, -static_cast<Wide>(s));
  return static_cast<double>(at < 20 ? std::numeric_limits<Wide>::quiet_NaN()
                                     : sum + zetaTail(s, at));
}

double special::polygamma(double n, double x) {
  if (!(n >= 0) || n != std::floor(n))
    return NaN;
  if (n == 0)
    return digamma(x);
  double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::tgamma(n + 1) * zeta(n + 1, x);
}

static bool outsideOfGamma(double a, double x) {
  return std::isnan(a) || std::isnan(x) || a < 0 || x < 0 ||
         (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x));
}
double special::igamma(double a, double x) {
  if (outsideOfGamma(a, x))
    return NaN;
  if (a == 0 || std::isinf(x))
    return 1;
  return x == 0 || std::isinf(a) ? 0 : boost::math::gamma_p(a, x, Quiet());
}
double special::igammac(double a, double x) {
  if (outsideOfGamma(a, x))
    return NaN;
  if (a == 0 || std::isinf(x))
    return 0;
  return x == 0 || std::isinf(a) ? 1 : boost::math::gamma_q(a, x, Quiet());
}

/// Of the lower function's series, term by term.
static Wide gradBySeries(Wide a, Wide x) {
  Wide sum = 0, log = std::log(x);
  Wide psi = boost::math::digamma(a + 1, Quiet());
  Wide term = std::exp(a * log - x - boost::math::lgamma(a + 1, Quiet()));
  for (int k = 1; k < 10'000; ++k) {
    Wide next = term * (log - psi);
    sum += next;
    if (a + k > x && std::fabs(next) < 1e-22L * std::fabs(sum))
      break;
    psi += 1 / (a + k);
    term *= x / (a + k);
  }
  return sum;
}
/// Minus the derivative of the upper function, an integral over t = x + u:
/// Simpson's rule, to where the integrand has died away.
static Wide gradByIntegral(Wide a, Wide x) {
  constexpr int steps = 4000;
  Wide psi = boost::math::digamma(a, Quiet());
  Wide scale = boost::math::lgamma(a, Quiet());
  Wide reach = 60 + 8 * std::sqrt(x), width = reach / steps, sum = 0;
  auto at = [&](Wide t) {
    Wide log = std::log(t);
    return std::exp((a - 1) * log - t - scale) * (log - psi);
  };
  for (int i = 0; i <= steps; ++i)
    sum += at(x + width * i) * (i == 0 || i == steps ? 1 : i % 2 ? 4 : 2);
  return -sum * width / 3;
}
double special::igammaGradA(double a, double x) {
  if (outsideOfGamma(a, x) || a == 0)
    return NaN;
  if (x == 0 || std::isinf(x) || std::isinf(a))
    return 0;
  bool far = x > 40 && x > a + 8 * std::sqrt(a);
  return static_cast<double>(far ? gradByIntegral(a, x) : gradBySeries(a, x));
}

double special::incompleteBeta(double a, double b, double x) {
  if (!(a >= 0) || !(b >= 0) || !(x >= 0 && x <= 1) || (a == 0 && b == 0) ||
      (std::isinf(a) && std::isinf(b)))
    return NaN;
  if (a == 0 || std::isinf(b))
    return x == 0 && a != 0 ? 0 : 1;
  if (b == 0 || std::isinf(a))
    return x == 1 && b != 0 ? 1 : 0;
  return boost::math::ibeta(a, b, x, Quiet());
}
