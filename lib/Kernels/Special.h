// Special.h - special functions of a double (spec 09, 3).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Outside of their domain they are NaN; none reports or raises anything.
#ifndef SHARDTYPE_LIB_KERNELS_SPECIAL_H
#define SHARDTYPE_LIB_KERNELS_SPECIAL_H

namespace shardtype::special {

double besselI0e(double x); // e^-|x| I_0(x)
double besselI1e(double x);
double digamma(double x);
double erfInv(double x);
double lgamma(double x);
/// The derivative of order `n` of digamma; NaN unless n is a whole number >= 0.
double polygamma(double n, double x);
double zeta(double s, double q); // Hurwitz.
/// Regularized lower and upper incomplete gamma functions; the derivative of
/// the lower one by `a`.
double igamma(double a, double x);
double igammac(double a, double x);
double igammaGradA(double a, double x);
double incompleteBeta(double a, double b, double x);

} // namespace shardtype::special

#endif
