// RandomBits.cpp - generators beside the keys' own, and views of key data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DTypeSets.h"
#include "EvalParams.h"
#include "Evals.h"
#include "Families.h"
#include "Results.h"
#include "shardtype/Kernels/Random.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

namespace {
struct Gamma {
  static constexpr auto fields = std::tuple(ignored("log_space", form::flag));
};
struct IotaShape {
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields = std::tuple(field("shape", &IotaShape::shape));
};
struct BitGenerator {
  DType dtype = DType::U32;
  ShardingParam outSharding;
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields = std::tuple(
      ignored("algorithm", form::choice, Hide::Never, ParamField::Name),
      field("dtype", &BitGenerator::dtype),
      optionalField("out_sharding", &BitGenerator::outSharding),
      field("shape", &BitGenerator::shape));
};
struct Edtype {
  DType dtype = DType::KeyFry;
  static constexpr auto fields = std::tuple(field("edtype", &Edtype::dtype));
};
struct FromEdtype {
  DType dtype = DType::U32;
  static constexpr auto fields = std::tuple(field("dtype", &FromEdtype::dtype));
};
} // namespace

/// Operand dims are those of the first result, as far as there are any.
static DimMap firstDims(TypingContext &cx) {
  DimMap map;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    DimMap::Dims &dims = map.operands.emplace_back();
    for (int64_t size : cx.shape(i))
      dims.push_back(addFactor(map, FactorRole::Pass, size));
  }
  for (const Typed &result : cx.results()) {
    DimMap::Dims &dims = map.results.emplace_back();
    unsigned rank =
        result.type.valid() ? cx.context().type(result.type).rank() : 0;
    if (!map.operands.empty() && map.results.size() == 1)
      dims = map.operands.front();
    dims.resize(rank);
  }
  return map;
}

/// random_clone/type.1: the same keys.
static LogicalResult cloneType(TypingContext &cx) {
  return setResults(cx, {cx.operandId(0)});
}

/// random_gamma/type.1: the type of the second operand, whatever the keys are.
static LogicalResult gammaType(TypingContext &cx) {
  FailureOr<AxisSet> varying = varying::match(cx); // manual/varying.2
  if (failed(varying))
    return failure();
  if (cx.options().vma == Vma::Infer) {
    ManualAxisType own = cx.operand(1).manual;
    own.varying |= *varying;
    return setResults(
        cx, {withManual(cx.context(), cx.operandId(1), own, cx.mesh())});
  }
  return setResults(cx, {cx.operandId(1)});
}

/// iota_2x32_shape/type.1: two counters without a mesh.
static LogicalResult iotaType(TypingContext &cx) {
  const auto &p = cx.params<IotaShape>();
  if (failed(checkSizes(cx, "shape")))
    return failure();
  FailureOr<TypeId> type =
      cx.makeType(p.shape, DType::U32, replicated(MeshId(), p.shape.size()));
  if (failed(type))
    return failure();
  return setResults(cx, {*type, *type});
}

/// rng_uniform/type.1: the first scalar's type with the shape of `shape`.
static LogicalResult uniformType(TypingContext &cx) {
  if (failed(checkArrays(cx)) || failed(checkSizes(cx, "shape")))
    return failure();
  if (cx.operand(0).dtype != cx.operand(1).dtype)
    return cx
        .error(diag::ShapeInvalid, "the bounds of 'rng_uniform' have different "
                                   "dtypes")
        .mark(0)
        .mark(1);
  for (unsigned i = 0; i < 2; ++i)
    if (cx.operand(i).rank() != 0)
      return cx
          .error(diag::ShapeInvalid, "the bounds of 'rng_uniform' are scalars, "
                                     "not " +
                                         cx.arg(cx.operandId(i)))
          .mark(i);
  Sharding sharding = cx.sharding(0);
  sharding.dims.resize(cx.params<IotaShape>().shape.size());
  FailureOr<TypeId> type =
      cx.updateType(0, cx.params<IotaShape>().shape, sharding);
  if (failed(type))
    return failure();
  bool weak = cx.operand(0).weak && cx.operand(1).weak;
  return setResults(cx, {cx.context().withWeak(*type, weak)});
}

//===--- rng_bit_generator ------------------------------------------------===//

static LogicalResult bitShardings(TypingContext &cx,
                                  SmallVectorImpl<Sharding> &out) {
  const auto &p = cx.params<BitGenerator>();
  Sharding bits = replicated(cx.mesh(), p.shape.size());
  if (p.outSharding.given()) {
    FailureOr<Sharding> asked =
        resolveLong(cx, p.outSharding, p.shape.size(), "out_sharding");
    if (failed(asked))
      return failure();
    bits = std::move(*asked);
  }
  // One that is too long for the result is found after sets are refused.
  if (p.outSharding.given() && !cx.sharding(0).hasUR() && !bits.hasUR() &&
      failed(cx.resolveParam(p.outSharding, p.shape.size(), "out_sharding")))
    return failure();
  out.push_back(cx.sharding(0)); // rng_bit_generator/sharding.1
  out.push_back(bits);           // rng_bit_generator/sharding.2
  return success();
}

static LogicalResult bitsType(TypingContext &cx) {
  const auto &p = cx.params<BitGenerator>();
  if (failed(beginResults(cx)) || failed(checkSizes(cx, "shape")))
    return failure();
  const Type key = cx.operand(0);
  ResultPart state{key.shape, key.dtype, key.weak};
  ResultPart bits{Shape(p.shape.begin(), p.shape.end()), p.dtype, false};
  // rng_bit_generator/shape.1, rng_bit_generator/reduction.1
  if (failed(finishResults(
          cx, {state, bits},
          [&](auto &shardings) { return bitShardings(cx, shardings); },
          ResultState::AsSet)))
    return failure();
  AxisSet varying = key.manual.varying; // manual/keys.2
  if (varying.empty())
    return success();
  ManualAxisType kept{varying, {}, {}, ReductionKind::None};
  for (unsigned i = 0; i < 2; ++i)
    if (i == 0 || cx.options().vma == Vma::Infer)
      cx.setResult(
          i, withManual(cx.context(), cx.results()[i].type, kept, cx.mesh()));
  if (cx.options().vma == Vma::On)
    warnVariationLost(cx, varying, "JAX gives the bits no variation");
  return success();
}

//===--- to_edtype, from_edtype -------------------------------------------===//

/// to_edtype/type.1: the data of keys, whole in its last dims, as keys.
static LogicalResult toEdtype(TypingContext &cx) {
  DType dtype = cx.params<Edtype>().dtype;
  if (failed(checkArrays(cx)))
    return failure();
  // Key dtypes allow no conversion in JAX; others have no name here.
  return cx
      .error(diag::ShapeInvalid, "JAX converts no " +
                                     info(cx.operand(0).dtype).longName.str() +
                                     " to " + info(dtype).longName.str() +
                                     "; random_wrap makes keys of data")
      .mark(0);
}

/// from_edtype/type.1
static LogicalResult fromEdtype(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  return cx
      .error(diag::ShapeInvalid,
             "JAX converts no " + info(cx.operand(0).dtype).longName.str() +
                 " to " + info(cx.params<FromEdtype>().dtype).longName.str() +
                 "; random_unwrap gives the data of keys")
      .mark(0);
}

//===--- evaluations ------------------------------------------------------===//

/// XLA draws them from a state of its own.
static constexpr NoRule Unspecified = {
    NoRule::NotApplicable,
    "nothing in the program says which numbers it draws"};

static LogicalResult sameEval(EvalContext &cx) {
  return eval::give(cx, cx.take(0));
}
static LogicalResult viewEval(EvalContext &cx) {
  return eval::give(cx,
                    cx.take(0).viewedAs(cx.resultDType(), cx.resultShape()));
}
static LogicalResult iotaEval(EvalContext &cx) {
  auto [high, low] = kernels::iota2x32(cx.params<IotaShape>().shape);
  cx.setResult(0, std::move(high));
  cx.setResult(1, std::move(low));
  return success();
}
static LogicalResult gammaEval(EvalContext &cx) {
  return eval::give(cx, kernels::gammaSamples(cx.operand(0), cx.operand(1),
                                              eval::flag(cx, "log_space", true),
                                              eval::splitsByIndex(cx)));
}
static std::string gammaRefusal(EvalContext &cx) {
  DType key = cx.operandType(0).dtype, dtype = cx.resultDType();
  if (key != DType::KeyFry)
    return "it has no kernel for " + info(key).shortName.str();
  if (dtype != DType::F32 && dtype != DType::F64)
    return "it has no kernel for samples of " + info(dtype).shortName.str();
  return "";
}
static std::string bitsRefusal(EvalContext &cx) {
  return eval::enumName(cx, "algorithm").empty()
             ? "it has no kernel for this algorithm"
             : "";
}
/// The algorithm is an enum that may stand by its name: RNG_THREE_FRY.
static LogicalResult bitsEval(EvalContext &cx) {
  StringRef name = eval::enumName(cx, "algorithm");
  auto generate = name.contains("THREE_FRY") ? kernels::threefryGenerator
                                             : kernels::philoxGenerator;
  auto [state, bits] =
      generate(cx.operand(0), cx.resultDType(1), cx.resultShape(1));
  cx.setResult(0, std::move(state));
  cx.setResult(1, std::move(bits));
  return success();
}

template <typename P, unsigned Count, typename Type>
static constexpr Primitive row(StringRef name, Type type, OpenRule open,
                               EvalRule evaluation) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, Count>,
          .dims = firstDims,
          .linearity = {},
          .open = open,
          .type = Custom{type},
          .eval = evaluation};
}

static const Primitive Rows[] = {
    row<NoParams, 1>("random_clone", cloneType, OpenRule::Pointwise, sameEval),
    row<Gamma, 2>("random_gamma", gammaType, OpenRule::Opaque,
                  {gammaEval, gammaRefusal}),
    row<IotaShape, 0>("iota_2x32_shape", iotaType, OpenRule::Opaque, iotaEval),
    row<IotaShape, 2>("rng_uniform", uniformType, OpenRule::Opaque,
                      Unspecified),
    row<BitGenerator, 1>("rng_bit_generator", bitsType, OpenRule::Opaque,
                         {bitsEval, bitsRefusal}),
    row<Edtype, 1>("to_edtype", toEdtype, OpenRule::Opaque, viewEval),
    row<FromEdtype, 1>("from_edtype", fromEdtype, OpenRule::Opaque, viewEval),
};

ArrayRef<Primitive> shardtype::randomBits() { return Rows; }
