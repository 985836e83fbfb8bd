// Convert.cpp - changes of dtype and precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Convert.h"
#include "DTypeSets.h"
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

namespace {
struct Convert {
  DType newDType = DType::F32;
  ShardingParam sharding;
  bool weak = false;
  static constexpr auto fields =
      std::tuple(field("new_dtype", &Convert::newDType),
                 optionalField("sharding", &Convert::sharding, Hide::Always),
                 field("weak_type", &Convert::weak));
};
struct Bitcast {
  DType newDType = DType::F32;
  static constexpr auto fields =
      std::tuple(field("new_dtype", &Bitcast::newDType));
};
struct ReducePrecision {
  int64_t exponent = 1, mantissa = 0;
  static constexpr auto fields =
      std::tuple(field("exponent_bits", &ReducePrecision::exponent),
                 field("mantissa_bits", &ReducePrecision::mantissa));
};
} // namespace

//===--- convert_element_type ---------------------------------------------===//

/// convert/dtype.1: anything becomes anything.
static FailureOr<DType> convertDType(TypingContext &cx) {
  return cx.params<Convert>().newDType;
}
static bool convertWeak(TypingContext &cx) { return cx.params<Convert>().weak; }

/// The sharding asked for, which may still have more dims than the operand.
/// Text hides the parameter: then the binder's, where it is another than the
/// operand's.
static FailureOr<std::optional<Sharding>> convertAsked(TypingContext &cx) {
  const ShardingParam &param = cx.params<Convert>().sharding;
  if (param.state == ShardingParam::Hidden) {
    std::optional<Sharding> recorded = cx.recordedSharding(0);
    if (recorded && *recorded == cx.sharding(0))
      recorded.reset();
    return recorded;
  }
  if (!param.given())
    return std::optional<Sharding>();
  if (!param.spec.unreduced.empty() &&
      param.spec.kind != ReductionKind::Sum) // convert/unreduced.3
    return cx.error(diag::OutUnreducedKind, str(param.spec.kind), cx.name())
        .markParam("sharding");
  unsigned rank =
      std::max<size_t>(cx.operand(0).rank(), param.spec.partitions.size());
  FailureOr<Sharding> asked = cx.resolveParam(param, rank, "sharding");
  if (failed(asked))
    return failure();
  return std::optional<Sharding>(std::move(*asked));
}

/// convert/sharding.1, convert/sharding.2
static FailureOr<Sharding> convertSharding(TypingContext &cx) {
  FailureOr<std::optional<Sharding>> asked = convertAsked(cx);
  if (failed(asked))
    return failure();
  return *asked ? **asked : cx.sharding(0);
}

/// convert/unreduced.1 to .3: a sharding replaces only the sets it names.
static FailureOr<ReductionSets> convertReduction(TypingContext &cx) {
  FailureOr<std::optional<Sharding>> asked = convertAsked(cx);
  if (failed(asked))
    return failure();
  const Sharding &own = cx.sharding(0);
  AxisSet unreduced = own.unreduced, reduced = own.reduced;
  if (*asked && !(*asked)->reduced.empty())
    reduced = (*asked)->reduced; // convert/unreduced.2
  if (*asked && !(*asked)->unreduced.empty()) {
    unreduced = (*asked)->unreduced;
  } else if (failed(requireSum(cx, 0))) { // convert/unreduced.1
    return failure();
  }
  // JAX looks at the number of dims last, when it builds the type.
  unsigned rank = cx.operand(0).rank();
  if (*asked && (*asked)->dims.size() > rank &&
      !unreduced.intersects(reduced | (*asked)->axes()) &&
      !reduced.intersects((*asked)->axes()) &&
      failed(cx.resolveParam(cx.params<Convert>().sharding, rank, "sharding")))
    return failure();
  return ReductionSets{unreduced, reduced,
                       unreduced.empty() ? ReductionKind::None
                                         : ReductionKind::Sum};
}

//===--- bitcast_convert_type ---------------------------------------------===//

static unsigned oldBits(TypingContext &cx) {
  return info(cx.operand(0).dtype).bits;
}
static unsigned newBits(TypingContext &cx) {
  return info(cx.params<Bitcast>().newDType).bits;
}

/// bitcast/shape.1: a wide element is a last dim of narrow ones.
static FailureOr<Shape> bitcastShape(TypingContext &cx) {
  Shape shape = cx.operand(0).shape;
  for (DType dtype : {cx.operand(0).dtype, cx.params<Bitcast>().newDType})
    if (isKey(dtype) || dtype == DType::Float0) // bitcast/dtype.2
      return cx
          .error(diag::ParamInvalid, "new_dtype",
                 "the elements of " + info(dtype).shortName.str() +
                     " are no bits to read as another dtype")
          .mark(0);
  if (oldBits(cx) == newBits(cx))
    return shape;
  if (newBits(cx) != 0 && oldBits(cx) > newBits(cx)) {
    shape.push_back(oldBits(cx) / newBits(cx));
    return shape;
  }
  int64_t last = shape.empty() ? 1 : shape.back();
  int64_t bits = 0;
  if (Dim::isSymbolic(last) ||
      llvm::MulOverflow(last, int64_t(oldBits(cx)), bits) ||
      bits != int64_t(newBits(cx)) || shape.empty())
    return cx
        .error(diag::ParamInvalid, "new_dtype",
               "the last dim of " + cx.arg(cx.operandId(0)) +
                   " does not fill one " +
                   info(cx.params<Bitcast>().newDType).shortName.str())
        .mark(0);
  shape.pop_back();
  return shape;
}

/// bitcast/dtype.1: bools and complex numbers stay what they are.
static FailureOr<DType> bitcastDType(TypingContext &cx) {
  DType from = cx.operand(0).dtype, to = cx.params<Bitcast>().newDType;
  auto fixed = [](DType dtype) {
    return dtype == DType::Bool || isComplex(dtype);
  };
  if (from != to && (fixed(from) || fixed(to)))
    return cx
        .error(diag::DTypeMismatch,
               "'bitcast_convert_type' changes no bools and complex numbers, "
               "but " +
                   info(from).shortName.str() + " is to become " +
                   info(to).shortName.str())
        .mark(0);
  return to;
}

/// bitcast/sharding.1, bitcast/unreduced.1. A last dim that goes takes its
/// entry along (bitcast/sharding.2).
static FailureOr<Sharding> bitcastSharding(TypingContext &cx) {
  Sharding s = cx.sharding(0);
  if (oldBits(cx) == newBits(cx))
    return s;
  if (failed(refuseSpecSets(cx, 0))) // bitcast/unreduced.2
    return failure();
  s.dims.resize(cx.resultShape().size());
  return s;
}

/// The old dims, and the one that comes (made from nothing) or goes (whole, as
/// one element needs all of it).
static DimMap bitcastDims(TypingContext &cx) {
  DimMap map;
  ArrayRef<int64_t> from = cx.shape(0), to = cx.resultShape();
  auto dims = [&](ArrayRef<int64_t> shape, FactorRole extra) {
    DimMap::Dims result;
    for (unsigned d = 0; d < shape.size(); ++d) {
      if (d >= map.factors.size())
        map.factors.push_back(
            {d < std::min(from.size(), to.size()) ? FactorRole::Pass : extra,
             shape[d]});
      result.push_back({static_cast<uint8_t>(d)});
    }
    return result;
  };
  map.operands.push_back(dims(from, FactorRole::Whole));
  map.results.push_back(dims(to, FactorRole::Broadcast));
  return map;
}

//===--- reduce_precision -------------------------------------------------===//

/// reduce_precision/shape.1
static FailureOr<Shape> reducePrecisionShape(TypingContext &cx) {
  const auto &p = cx.params<ReducePrecision>();
  if (p.exponent < 1)
    return cx
        .error(diag::ParamInvalid, "exponent_bits",
               "is " + cx.arg(p.exponent) + ", but must be above 0")
        .markParam("exponent_bits");
  if (p.mantissa < 0)
    return cx
        .error(diag::ParamInvalid, "mantissa_bits",
               "is " + cx.arg(p.mantissa) + ", but must not be negative")
        .markParam("mantissa_bits");
  return cx.operand(0).shape;
}

static LogicalResult convertEval(EvalContext &cx) {
  DType from = cx.operand(0).dtype(), to = cx.resultDType();
  Tensor x = cx.take(0);
  // JAX on CPU rounds numbers of 64 bits twice on their way to small floats,
  // and takes the largest number of f4_e2m1fn for an infinity (spec 09, 4).
  if (cx.options().jaxNumbers) {
    bool wide = from == DType::F64 || from == DType::I64 || from == DType::U64;
    if (wide && to == DType::BF16)
      x = kernels::convert(x, DType::F32);
    if (from == DType::F4E2M1FN && isInteger(to)) {
      x = kernels::convert(x, DType::F32);
      Tensor most = Tensor::scalar<float>(DType::F32, 6);
      Tensor infinite = kernels::binary(
          kernels::BinaryOp::Mul, x,
          Tensor::scalar<float>(DType::F32,
                                std::numeric_limits<float>::infinity()));
      Tensor isMost =
          kernels::compare(kernels::CompareOp::Ge,
                           kernels::unary(kernels::UnaryOp::Abs, x), most);
      x = kernels::selectN(isMost, {&x, &infinite});
    }
  }
  return eval::give(cx, kernels::convert(x, to));
}
static LogicalResult bitcastEval(EvalContext &cx) {
  return eval::give(
      cx, kernels::bitcast(cx.operand(0), cx.resultDType(), cx.resultShape()));
}
static LogicalResult reducePrecisionEval(EvalContext &cx) {
  const auto &params = cx.params<ReducePrecision>();
  return eval::give(cx, kernels::reducePrecision(cx.operand(0), params.exponent,
                                                 params.mantissa));
}

static const Primitive Rows[] = {
    {.info = {"convert_element_type", schemaOf<Convert>},
     .decode = decodeFor<Convert, 1>,
     .dims = unaryDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Pointwise,
     .type = Standard{.shape = shape::operand,
                      .dtype = convertDType,
                      .weak = convertWeak,
                      .sharding = convertSharding,
                      .reduction = convertReduction,
                      .memory = memory::standard},
     .eval = {convertEval, eval::numbersOnly}},
    {.info = {"bitcast_convert_type", schemaOf<Bitcast>},
     .decode = decodeFor<Bitcast, 1>,
     .dims = bitcastDims,
     .linearity = {},
     .open = OpenRule::Pointwise,
     .type = Standard{.shape = bitcastShape,
                      .dtype = bitcastDType,
                      .weak = weak::never, // bitcast/weak.1
                      .sharding = bitcastSharding,
                      .reduction = reduction::missing<bitcastSharding>,
                      .memory = memory::standard},
     .eval = bitcastEval},
    {.info = {"reduce_precision", schemaOf<ReducePrecision>},
     .decode = decodeFor<ReducePrecision, 1>,
     .dims = unaryDims,
     .linearity = {Linearity::Jointly, 1}, // As JAX differentiates it.
     .open = OpenRule::Pointwise,
     .type = Standard{.shape = reducePrecisionShape,
                      .dtype = dtypeOf<Floats>,
                      .weak = weak::all,
                      .sharding = sharding::operand,
                      .reduction = reduction::pass,
                      .memory = memory::operand},
     .eval = reducePrecisionEval},
};

ArrayRef<Primitive> shardtype::conversions() { return Rows; }
