// Convolution.cpp - conv_general_dilated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "IndexDims.h"
#include "Shapes.h"
#include "WindowShape.h"
#include "shardtype/Kernels/Conv.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

namespace {
struct Convolution {
  const Value *numbers = nullptr;
  /// Batch, feature, spatial dims of lhs and result; out feature, in feature,
  /// spatial dims of rhs.
  SmallVector<int64_t, 4> lhsSpec, rhsSpec, outSpec;
  int64_t batchGroups = 1, featureGroups = 1;
  SmallVector<int64_t, 4> lhsDilation, rhsDilation, strides;
  SmallVector<SmallVector<int64_t, 3>, 4> pads;
  std::optional<DType> preferred;
  ShardingParam outSharding;
  static constexpr auto fields = std::tuple(
      field("batch_group_count", &Convolution::batchGroups),
      valueField("dimension_numbers", &Convolution::numbers, form::numbers),
      field("feature_group_count", &Convolution::featureGroups),
      field("lhs_dilation", &Convolution::lhsDilation),
      optionalField("out_sharding", &Convolution::outSharding),
      field("padding", &Convolution::pads), ignored("precision", form::choices),
      optionalField("preferred_element_type", &Convolution::preferred),
      field("rhs_dilation", &Convolution::rhsDilation),
      field("window_strides", &Convolution::strides));
};
} // namespace

static bool isPermutation(ArrayRef<int64_t> dims, size_t rank) {
  SmallVector<bool, 8> seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || static_cast<size_t>(dim) >= rank || seen[dim])
      return false;
    seen[dim] = true;
  }
  return dims.size() == rank;
}

/// JAX raises a ValueError for all of these.
static ErrorBuilder convShapeError(TypingContext &cx,
                                   const std::string &message) {
  return indexError(cx, message, diag::ShapeInvalid);
}

static FailureOr<std::shared_ptr<const void>> decodeConv(TypingContext &cx) {
  FailureOr<std::shared_ptr<const void>> decoded =
      decodeFor<Convolution, 2>(cx);
  if (failed(decoded))
    return failure();
  auto conv = std::make_shared<Convolution>(
      *static_cast<const Convolution *>(decoded->get()));
  if (failed(readDimNumbers(cx, *conv->numbers,
                            {{"lhs_spec", &conv->lhsSpec},
                             {"rhs_spec", &conv->rhsSpec},
                             {"out_spec", &conv->outSpec}})))
    return failure();
  return std::shared_ptr<const void>(std::move(conv));
}

//===--- Shape ------------------------------------------------------------===//

/// conv_general_dilated/shape.1
static LogicalResult checkRanks(TypingContext &cx, const Convolution &p) {
  size_t rank = cx.shape(0).size();
  if (cx.shape(1).size() != rank || rank < 2)
    return convShapeError(
        cx, "both operands need one rank of at least 2, but are " +
                cx.arg(cx.operandId(0)) + " and " + cx.arg(cx.operandId(1)));
  if (!isPermutation(p.lhsSpec, rank) || !isPermutation(p.rhsSpec, rank) ||
      !isPermutation(p.outSpec, rank))
    return convShapeError(cx, "dimension_numbers must permute the dims");
  size_t spatial = rank - 2;
  if (p.strides.size() != spatial || p.lhsDilation.size() != spatial ||
      p.rhsDilation.size() != spatial || p.pads.size() != spatial ||
      llvm::any_of(p.pads, [](const auto &pad) { return pad.size() != 2; }))
    return convShapeError(cx, "strides, dilations and padding need one entry a "
                              "spatial dim");
  return success();
}

/// conv_general_dilated/shape.2: group counts divide what they group.
static LogicalResult checkGroups(TypingContext &cx, const Convolution &p) {
  int64_t features = cx.shape(0)[p.lhsSpec[1]];
  int64_t batch = cx.shape(0)[p.lhsSpec[0]];
  int64_t inFeatures = cx.shape(1)[p.rhsSpec[1]];
  int64_t outFeatures = cx.shape(1)[p.rhsSpec[0]];
  if (p.featureGroups < 1 || p.batchGroups < 1 ||
      (p.featureGroups > 1 && p.batchGroups > 1))
    return convShapeError(cx, "group counts are positive and one of them is 1");
  if (features % p.featureGroups || features / p.featureGroups != inFeatures)
    return convShapeError(
        cx, "the lhs has " + std::to_string(features) + " features in " +
                std::to_string(p.featureGroups) +
                " groups, but the rhs takes " + std::to_string(inFeatures));
  if (outFeatures % p.featureGroups || outFeatures % p.batchGroups ||
      batch % p.batchGroups)
    return convShapeError(
        cx, "group counts do not divide batch or output features");
  return success();
}

/// conv_general_dilated/shape.3
static FailureOr<Shape> convShape(TypingContext &cx) {
  const auto &p = cx.params<Convolution>();
  if (failed(checkRanks(cx, p)) || failed(checkGroups(cx, p)))
    return failure();
  Shape shape(cx.shape(0).size());
  shape[p.outSpec[0]] = cx.shape(0)[p.lhsSpec[0]] / p.batchGroups;
  shape[p.outSpec[1]] = cx.shape(1)[p.rhsSpec[0]];
  for (unsigned i = 0; i < p.strides.size(); ++i) {
    std::optional<int64_t> positions = windowPositions(
        {cx.shape(0)[p.lhsSpec[i + 2]], cx.shape(1)[p.rhsSpec[i + 2]],
         p.strides[i], p.pads[i][0], p.pads[i][1], p.lhsDilation[i],
         p.rhsDilation[i]});
    if (!positions)
      return convShapeError(cx, "stride, dilation or padding of spatial dim " +
                                    std::to_string(i) + " is out of range");
    shape[p.outSpec[i + 2]] = *positions;
  }
  return shape;
}

/// conv_general_dilated/dtype.1
static FailureOr<DType> convDType(TypingContext &cx) {
  DType lhs = cx.operand(0).dtype, rhs = cx.operand(1).dtype;
  if (lhs != rhs)
    return cx
        .error(diag::DTypeMismatch,
               "operands of '" + cx.name().str() + "' have different dtypes: " +
                   cx.arg(cx.operandId(0)) + " and " + cx.arg(cx.operandId(1)))
        .mark(1);
  return cx.params<Convolution>().preferred.value_or(lhs);
}

//===--- Sharding ---------------------------------------------------------===//

static DimMap convDims(TypingContext &cx) {
  const auto &p = cx.params<Convolution>();
  DimMap map;
  map.operands = {DimMap::Dims(cx.shape(0).size()),
                  DimMap::Dims(cx.shape(1).size())};
  map.results = {DimMap::Dims(cx.resultShape().size())};
  auto add = [&](FactorRole role, int64_t size) {
    map.factors.push_back({role, size});
    return DimMap::Dim{static_cast<uint8_t>(map.factors.size() - 1)};
  };
  bool grouped = p.batchGroups > 1 || p.featureGroups > 1;
  FactorRole outer = grouped ? FactorRole::Whole : FactorRole::Pass;
  map.operands[0][p.lhsSpec[0]] = map.results[0][p.outSpec[0]] =
      add(p.batchGroups > 1 ? FactorRole::Whole : FactorRole::Pass,
          cx.shape(0)[p.lhsSpec[0]]);
  map.operands[1][p.rhsSpec[0]] = map.results[0][p.outSpec[1]] =
      add(outer, cx.shape(1)[p.rhsSpec[0]]);
  map.operands[0][p.lhsSpec[1]] = map.operands[1][p.rhsSpec[1]] =
      add(grouped ? FactorRole::Whole : FactorRole::Reduce,
          cx.shape(0)[p.lhsSpec[1]]);
  for (unsigned i = 2; i < p.lhsSpec.size(); ++i) {
    map.operands[0][p.lhsSpec[i]] = map.results[0][p.outSpec[i]] =
        add(FactorRole::Halo, cx.shape(0)[p.lhsSpec[i]]);
    map.operands[1][p.rhsSpec[i]] =
        add(FactorRole::Whole, cx.shape(1)[p.rhsSpec[i]]);
  }
  return map;
}

/// What can be asked for: the batch as the lhs has it, features as the rhs has
/// them; an axis that would occur twice or does not divide is left out.
static Sharding naturalConv(TypingContext &cx, const Convolution &p) {
  Sharding result = replicated(cx.ruleMesh(), cx.resultShape().size());
  AxisSet used;
  auto put = [&](int64_t dim, const AxisList &entry) {
    if (entry.empty() || AxisSet::of(entry).intersects(used) ||
        cx.resultShape()[dim] % cx.context().mesh(result.mesh).size(entry))
      return;
    used |= AxisSet::of(entry);
    result.dims[dim] = entry;
  };
  put(p.outSpec[0], cx.sharding(0).dims[p.lhsSpec[0]]);
  put(p.outSpec[1], cx.sharding(1).dims[p.rhsSpec[0]]);
  for (unsigned i = 2; i < p.lhsSpec.size(); ++i)
    put(p.outSpec[i], cx.sharding(0).dims[p.lhsSpec[i]]);
  return result;
}

static ErrorBuilder convError(TypingContext &cx, const Convolution &p,
                              const std::string &why, int operand, int dim) {
  ErrorBuilder error = cx.error(diag::ConvUnsupported, why).mark(operand, dim);
  Sharding natural = naturalConv(cx, p);
  error.fix(natural);
  if (!natural.replicated())
    error.fix(replicated(natural.mesh, natural.dims.size()));
  Sharding whole = cx.sharding(operand);
  whole.dims[dim].clear();
  return error.fixOperand(operand, whole);
}

/// As JAX asks it: over how many devices is there more than one part?
static bool isFullyReplicated(TypingContext &cx, const Sharding &sharding) {
  if (!sharding.hasMesh())
    return true;
  const Mesh &mesh = cx.context().mesh(sharding.mesh);
  return mesh.numDevices() == 1 ||
         (sharding.unreduced.empty() && mesh.size(sharding.axes()) == 1);
}

/// The first dim that is split over more than one device; -1: none is.
static int shardedDim(TypingContext &cx, const Sharding &sharding) {
  for (unsigned i = 0; i < sharding.dims.size(); ++i)
    if (cx.context().meshOrEmpty(sharding.mesh).size(sharding.dims[i]) > 1)
      return i;
  return -1;
}

static FailureOr<Sharding> convSharding(TypingContext &cx) {
  const auto &p = cx.params<Convolution>();
  if (p.outSharding.given()) // conv_general_dilated/sharding.1
    return resolveLong(cx, p.outSharding, cx.resultShape().size(),
                       "out_sharding");
  // conv_general_dilated/sharding.2
  if (!isFullyReplicated(cx, cx.sharding(1))) {
    int dim = shardedDim(cx, cx.sharding(1));
    if (dim < 0)
      return cx
          .error(diag::ConvUnsupported, "the kernel holds partial sums over " +
                                            cx.arg(cx.sharding(1).unreduced))
          .mark(1)
          .fixOperand(1, withoutUnreduced(cx.sharding(1)));
    return convError(cx, p,
                     "dim " + std::to_string(dim) +
                         " of the kernel is sharded over " +
                         cx.arg(cx.sharding(1).dims[dim]),
                     1, dim);
  }
  if (failed(refuseSpecSets(cx, 0))) // conv_general_dilated/reduction.1
    return failure();
  int64_t feature = p.lhsSpec[1];
  if (!cx.sharding(0).dims[feature].empty())
    return convError(cx, p,
                     "the feature dim " + std::to_string(feature) +
                         " is sharded over " +
                         cx.arg(cx.sharding(0).dims[feature]),
                     0, feature);
  // conv_general_dilated/sharding.3: dim by dim, as JAX has it.
  return varyingShape(cx, 0, cx.resultShape());
}

/// conv_general_dilated/reduction.1: JAX has no rule, so the result cannot be
/// asked to be unreduced or reduced either.
static FailureOr<ReductionSets> convReduction(TypingContext &cx) {
  const ShardingParam &param = cx.params<Convolution>().outSharding;
  bool tooLong = param.spec.partitions.size() > cx.resultShape().size();
  bool operandSets = cx.sharding(0).hasUR() || cx.sharding(1).hasUR();
  if (!param.spec.unreduced.empty() || !param.spec.reduced.empty() ||
      (tooLong && operandSets))
    return cx.error(diag::RuleMissingUR, cx.name()).markParam("out_sharding");
  FailureOr<ReductionSets> sets = reduction::missing<convSharding>(cx);
  if (failed(sets))
    return failure();
  return checkLong(cx, param, "out_sharding", *sets);
}

static LogicalResult convEval(EvalContext &cx) {
  const auto &p = cx.params<Convolution>();
  kernels::ConvNumbers n;
  n.lhsSpec = p.lhsSpec;
  n.rhsSpec = p.rhsSpec;
  n.outSpec = p.outSpec;
  n.strides = p.strides;
  n.lhsDilation = p.lhsDilation;
  n.rhsDilation = p.rhsDilation;
  SmallVector<int64_t, 4> low;
  for (const auto &pad : p.pads)
    low.push_back(pad[0]);
  n.padLow = low;
  n.featureGroups = p.featureGroups;
  n.batchGroups = p.batchGroups;
  cx.setResult(0, kernels::convolution(cx.operand(0), cx.operand(1), n,
                                       cx.resultDType(), cx.resultShape()));
  return success();
}

static const Primitive Rows[] = {
    {.info = {"conv_general_dilated", schemaOf<Convolution>},
     .decode = decodeConv,
     .dims = convDims,
     .linearity = {Linearity::EachOf, 2},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = convShape,
                      .dtype = convDType,
                      .weak = weak::all,
                      .sharding = convSharding,
                      .reduction = convReduction,
                      .memory = memory::standard},
     .eval = convEval}};

ArrayRef<Primitive> shardtype::convolution() { return Rows; }
