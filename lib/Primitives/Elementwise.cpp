// Elementwise.cpp - operations on one operand, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "Families.h"
#include "Running.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

namespace {
struct Accuracy {
  static constexpr auto fields =
      std::tuple(ignored("accuracy", form::choice, Hide::IfNone));
};
struct Round {
  static constexpr auto fields =
      std::tuple(ignored("rounding_method", form::choice));
};
struct Conj {
  static constexpr auto fields =
      std::tuple(ignored("input_dtype", form::dtype));
};
struct IntegerPow {
  int64_t exponent = 0;
  static constexpr auto fields = std::tuple(field("y", &IntegerPow::exponent));
};
} // namespace

/// unary/dtype.2
static FailureOr<DType> isFiniteDType(TypingContext &cx) {
  if (failed(checkDType(cx, 0, Floats)))
    return failure();
  return DType::Bool;
}

/// integer_pow/dtype.1
static FailureOr<DType> integerPowDType(TypingContext &cx) {
  if (failed(checkDType(cx, 0, Numbers)))
    return failure();
  DType dtype = cx.operand(0).dtype;
  if (cx.params<IntegerPow>().exponent < 0 && isInteger(dtype))
    return cx
        .error(diag::DTypeMismatch,
               "integers have no negative powers, but y is " +
                   cx.arg(cx.params<IntegerPow>().exponent))
        .mark(0)
        .markParam("y");
  return dtype;
}

/// unary/unreduced.2: the sum of the negatives is the negative of the sum.
/// JAX 0.11 had no rule for it.
static FailureOr<ReductionSets> negReduction(TypingContext &cx) {
  const Sharding &s = cx.sharding(0);
  if (failed(requireSum(cx, 0)))
    return failure();
  if (!s.unreduced.empty() && cx.olderJax())
    return cx.error(diag::RuleMissingU, cx.name())
        .mark(0)
        .fixOperand(0, withoutUnreduced(s))
        .sound(s);
  return reduction::pass(cx);
}

/// A row of the common form: unary/shape.1, unary/dtype.1, unary/sharding.1.
/// integer_pow/unreduced.1 is in its own.
template <typename P = NoParams>
static constexpr Primitive
unary(StringRef name, Rule<FailureOr<DType>(TypingContext &)> dtype,
      Rule<FailureOr<ReductionSets>(TypingContext &)> reduction =
          reduction::nonlinear,
      Linearity linearity = {},
      Rule<FailureOr<MemorySpace>(TypingContext &)> memory = memory::standard) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, 1>,
          .dims = unaryDims,
          .linearity = linearity,
          .open = OpenRule::Pointwise,
          .type = Standard{.shape = shape::operand,
                           .dtype = dtype,
                           .weak = weak::all,
                           .sharding = sharding::operand,
                           .reduction = reduction,
                           .memory = memory,
                           .varying = varying::operand}};
}

static constexpr Linearity Linear = {Linearity::Jointly, 1};

static const Primitive Rows[] = {
    unary("abs", realOf<Signeds | Inexact | WideOnly>),
    unary("acos", dtypeOf<Inexact>),
    unary("acosh", dtypeOf<Inexact>),
    unary("asin", dtypeOf<Inexact>),
    unary("asinh", dtypeOf<Inexact>),
    unary("atan", dtypeOf<Inexact>),
    unary("atanh", dtypeOf<Inexact>),
    unary("bessel_i0e", dtypeOf<Floats>),
    unary("bessel_i1e", dtypeOf<Floats>),
    unary<Accuracy>("cbrt", dtypeOf<Floats>),
    unary("ceil", dtypeOf<Floats>),
    unary("clz", dtypeOf<Ints>),
    unary<Conj>("conj", complexOf<ComplexParts | Complexes>,
                reduction::linearRefused, Linear),
    unary<Accuracy>("cos", dtypeOf<Inexact>),
    unary("cosh", dtypeOf<Inexact>),
    unary("digamma", dtypeOf<Floats>),
    unary("erf", dtypeOf<Floats>),
    unary("erf_inv", dtypeOf<Floats>),
    unary<Accuracy>("erfc", dtypeOf<Floats>),
    unary<Accuracy>("exp", dtypeOf<Inexact>),
    unary<Accuracy>("exp2", dtypeOf<Inexact>),
    unary<Accuracy>("expm1", dtypeOf<Inexact>),
    unary("floor", dtypeOf<Floats>),
    unary("imag", realOf<Complexes>, reduction::linearRefused, Linear),
    unary<IntegerPow>("integer_pow", integerPowDType,
                      reduction::missing<sharding::operand>),
    unary("is_finite", isFiniteDType),
    unary("lgamma", dtypeOf<Floats>, reduction::nonlinear, {},
          runs::unlessLowered),
    unary<Accuracy>("log", dtypeOf<Inexact>),
    unary<Accuracy>("log1p", dtypeOf<Inexact>),
    unary<Accuracy>("log2", dtypeOf<Inexact>),
    unary<Accuracy>("logistic", dtypeOf<Inexact>),
    unary("neg", dtypeOf<Numbers>, negReduction, Linear),
    unary("not", dtypeOf<Bits>),
    unary("one_minus_square", dtypeOf<Numbers>),
    unary("population_count", dtypeOf<Ints>),
    unary("real", realOf<Complexes>, reduction::linearRefused, Linear),
    unary<Round>("round", dtypeOf<Floats>),
    unary<Accuracy>("rsqrt", dtypeOf<Inexact>),
    unary("sign", dtypeOf<Numbers>),
    unary<Accuracy>("sin", dtypeOf<Inexact>),
    unary("sinh", dtypeOf<Inexact>),
    unary<Accuracy>("sqrt", dtypeOf<Inexact>),
    unary("square", dtypeOf<Numbers>),
    unary<Accuracy>("tan", dtypeOf<Inexact>),
    unary<Accuracy>("tanh", dtypeOf<Inexact>),
};

ArrayRef<Primitive> shardtype::elementwise() { return Rows; }
