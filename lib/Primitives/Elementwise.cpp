// Elementwise.cpp - operations on one operand, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "Evals.h"
#include "Families.h"
#include "Running.h"
#include "shardtype/Rules/Helpers.h"
#include <bit>

using namespace shardtype;
using kernels::UnaryOp;

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

//===--- evaluations ------------------------------------------------------===//

static LogicalResult absEval(EvalContext &cx) {
  if (isComplex(cx.operand(0).dtype()))
    return eval::give(cx, kernels::modulus(cx.operand(0)));
  return eval::unary<UnaryOp::Abs>(cx);
}
/// Of a real operand, the complex number without an imaginary part.
static LogicalResult conjEval(EvalContext &cx) {
  if (isComplex(cx.operand(0).dtype()))
    return eval::unary<UnaryOp::Conj>(cx);
  return eval::give(cx, kernels::asComplex(cx.operand(0)));
}
static LogicalResult realEval(EvalContext &cx) {
  return eval::give(cx, kernels::realPart(cx.operand(0)));
}
static LogicalResult imagEval(EvalContext &cx) {
  return eval::give(cx, kernels::imagPart(cx.operand(0)));
}
static LogicalResult isFiniteEval(EvalContext &cx) {
  return eval::give(cx, kernels::isFinite(cx.operand(0)));
}
static LogicalResult integerPowEval(EvalContext &cx) {
  int64_t exponent = cx.params<IntegerPow>().exponent;
  Tensor x = eval::flushed(cx, cx.take(0));
  return eval::give(
      cx, eval::flushed(cx, kernels::integerPow(std::move(x), exponent)));
}
/// The method is an enum, or its number: 0 away from zero, 1 to even.
static LogicalResult roundEval(EvalContext &cx) {
  bool toEven = eval::enumName(cx, "rounding_method").contains("EVEN") ||
                eval::number(cx, "rounding_method", 0) == 1;
  return toEven ? eval::unary<UnaryOp::RoundEven>(cx)
                : eval::unary<UnaryOp::RoundAway>(cx);
}

/// exp(x ln 2), with the product rounded in the type, where JAX's numbers are
/// asked for (spec 09, 3).
static LogicalResult exp2Eval(EvalContext &cx) {
  DType dtype = cx.operand(0).dtype();
  if (!cx.options().jaxNumbers || !isFloat(dtype))
    return eval::unary<UnaryOp::Exp2>(cx);
  constexpr double ln2 = 0.693147180559945309417232121458176568;
  Tensor factor =
      kernels::convert(Tensor::scalar<double>(DType::F64, ln2), dtype);
  Tensor x = kernels::binary(kernels::BinaryOp::Mul, cx.take(0), factor);
  return eval::give(
      cx, eval::flushed(cx, kernels::unary(UnaryOp::Exp, std::move(x))));
}
/// Whose pole at -0 is that at +0 where JAX's numbers are asked for.
static LogicalResult digammaEval(EvalContext &cx) {
  if (!cx.options().jaxNumbers)
    return eval::unary<UnaryOp::Digamma>(cx);
  // A sum with +0 makes +0 of -0 and changes nothing else.
  Tensor x = cx.take(0), zero = Tensor::zeros(x.dtype(), {});
  return eval::give(
      cx, kernels::unary(UnaryOp::Digamma,
                         kernels::binary(kernels::BinaryOp::Add, std::move(x),
                                         std::move(zero))));
}

/// Where denormals count as zero JAX's cube root of one in f32 is this
/// constant, whatever its sign (spec 09, 3).
static LogicalResult cbrtEval(EvalContext &cx) {
  const EvalOptions &options = cx.options();
  if (!options.jaxNumbers || !options.flushDenormals ||
      cx.operand(0).dtype() != DType::F32)
    return eval::unary<UnaryOp::Cbrt>(cx);
  Tensor x = cx.operand(0);
  Tensor result = kernels::unary(UnaryOp::Cbrt, x);
  result.makeUnique();
  for (auto [out, in] : llvm::zip_equal(result.fill<float>(), x.as<float>())) {
    uint32_t size = std::bit_cast<uint32_t>(in) & 0x7fffffffu;
    if (size != 0 && size < 0x00800000u)
      out = -5.595173541877215e-16f;
  }
  return eval::give(cx, std::move(result));
}

/// A row of the common form: unary/shape.1, unary/dtype.1, unary/sharding.1.
/// integer_pow/unreduced.1 is in its own.
template <typename P = NoParams>
static constexpr Primitive
unary(StringRef name, EvalRule evaluation,
      Rule<FailureOr<DType>(TypingContext &)> dtype,
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
                           .varying = varying::operand},
          .eval = evaluation};
}

static constexpr Linearity Linear = {Linearity::Jointly, 1};

static const Primitive Rows[] = {
    unary("abs", absEval, realOf<Signeds | Inexact | WideOnly>),
    unary("acos", eval::unary<UnaryOp::Acos>, dtypeOf<Inexact>),
    unary("acosh", eval::unary<UnaryOp::Acosh>, dtypeOf<Inexact>),
    unary("asin", eval::unary<UnaryOp::Asin>, dtypeOf<Inexact>),
    unary("asinh", eval::unary<UnaryOp::Asinh>, dtypeOf<Inexact>),
    unary("atan", eval::unary<UnaryOp::Atan>, dtypeOf<Inexact>),
    unary("atanh", eval::unary<UnaryOp::Atanh>, dtypeOf<Inexact>),
    unary("bessel_i0e", eval::unary<UnaryOp::BesselI0e>, dtypeOf<Floats>),
    unary("bessel_i1e", eval::unary<UnaryOp::BesselI1e>, dtypeOf<Floats>),
    unary<Accuracy>("cbrt", cbrtEval, dtypeOf<Floats>),
    unary("ceil", eval::unary<UnaryOp::Ceil>, dtypeOf<Floats>),
    unary("clz", eval::unary<UnaryOp::Clz>, dtypeOf<Ints>),
    unary<Conj>("conj", conjEval, complexOf<ComplexParts | Complexes>,
                reduction::linearRefused, Linear),
    unary<Accuracy>("cos", eval::unary<UnaryOp::Cos>, dtypeOf<Inexact>),
    unary("cosh", eval::unary<UnaryOp::Cosh>, dtypeOf<Inexact>),
    unary("digamma", digammaEval, dtypeOf<Floats>),
    unary("erf", eval::unary<UnaryOp::Erf>, dtypeOf<Floats>),
    unary("erf_inv", eval::unary<UnaryOp::ErfInv>, dtypeOf<Floats>),
    unary<Accuracy>("erfc", eval::unary<UnaryOp::Erfc>, dtypeOf<Floats>),
    unary<Accuracy>("exp", eval::unary<UnaryOp::Exp>, dtypeOf<Inexact>),
    unary<Accuracy>("exp2", exp2Eval, dtypeOf<Inexact>),
    unary<Accuracy>("expm1", eval::unary<UnaryOp::Expm1>, dtypeOf<Inexact>),
    unary("floor", eval::unary<UnaryOp::Floor>, dtypeOf<Floats>),
    unary("imag", imagEval, realOf<Complexes>, reduction::linearRefused,
          Linear),
    unary<IntegerPow>("integer_pow", integerPowEval, integerPowDType,
                      reduction::missing<sharding::operand>),
    unary("is_finite", isFiniteEval, isFiniteDType),
    unary("lgamma", eval::unary<UnaryOp::Lgamma>, dtypeOf<Floats>,
          reduction::nonlinear, {}, runs::unlessLowered),
    unary<Accuracy>("log", eval::unary<UnaryOp::Log>, dtypeOf<Inexact>),
    unary<Accuracy>("log1p", eval::unary<UnaryOp::Log1p>, dtypeOf<Inexact>),
    unary<Accuracy>("log2", eval::unary<UnaryOp::Log2>, dtypeOf<Inexact>),
    unary<Accuracy>("logistic", eval::unary<UnaryOp::Logistic>,
                    dtypeOf<Inexact>),
    unary("neg", eval::unary<UnaryOp::Neg>, dtypeOf<Numbers>, negReduction,
          Linear),
    unary("not", eval::unary<UnaryOp::Not>, dtypeOf<Bits>),
    unary("one_minus_square", eval::unary<UnaryOp::OneMinusSquare>,
          dtypeOf<Numbers>),
    unary("population_count", eval::unary<UnaryOp::PopulationCount>,
          dtypeOf<Ints>),
    unary("real", realEval, realOf<Complexes>, reduction::linearRefused,
          Linear),
    unary<Round>("round", roundEval, dtypeOf<Floats>),
    unary<Accuracy>("rsqrt", eval::unary<UnaryOp::Rsqrt>, dtypeOf<Inexact>),
    unary("sign", eval::unary<UnaryOp::Sign>, dtypeOf<Numbers>),
    unary<Accuracy>("sin", eval::unary<UnaryOp::Sin>, dtypeOf<Inexact>),
    unary("sinh", eval::unary<UnaryOp::Sinh>, dtypeOf<Inexact>),
    unary<Accuracy>("sqrt", eval::unary<UnaryOp::Sqrt>, dtypeOf<Inexact>),
    unary("square", eval::unary<UnaryOp::Square>, dtypeOf<Numbers>),
    unary<Accuracy>("tan", eval::unary<UnaryOp::Tan>, dtypeOf<Inexact>),
    unary<Accuracy>("tanh", eval::unary<UnaryOp::Tanh>, dtypeOf<Inexact>),
};

ArrayRef<Primitive> shardtype::elementwise() { return Rows; }
