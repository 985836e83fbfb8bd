// ApproxTopK.cpp - approx_top_k.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "Results.h"
#include "shardtype/Kernels/Sort.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace shardtype;

namespace {
struct ApproxTopK {
  bool aggregate = true;
  int64_t k = 1, dim = -1, sizeOverride = -1;
  const Value *recall = nullptr;
  static constexpr auto fields = std::tuple(
      field("aggregate_to_topk", &ApproxTopK::aggregate),
      ignored("is_max_k", form::flag), field("k", &ApproxTopK::k),
      optionalValue("recall_target", &ApproxTopK::recall, form::number),
      field("reduction_dimension", &ApproxTopK::dim),
      optionalField("reduction_input_size_override",
                    &ApproxTopK::sizeOverride));
};
} // namespace

static std::optional<double> number(TypingContext &cx, const Value *value) {
  if (!value || !value->text.valid())
    return std::nullopt;
  double result;
  if (cx.context().str(value->text).getAsDouble(result))
    return std::nullopt;
  return result;
}

/// approx_top_k/shape.4: candidates are kept in windows of one lane tile, as
/// many windows as the recall asks for, their number rounded down to a power of
/// two of the tiles.
static std::optional<int64_t> candidates(TypingContext &cx, int64_t size,
                                         unsigned rank) {
  const auto &p = cx.params<ApproxTopK>();
  const int64_t tile = rank == 1 ? 1024 : 128;
  if (size <= tile)
    return size;
  if (p.k == 1)
    return tile;
  std::optional<double> recall = number(cx, p.recall);
  if (!recall || *recall <= 0 || *recall >= 1)
    return std::nullopt;
  // Expected recall of k results in w windows: (1 - 1/w) ** (k - 1).
  double wanted = (1.0 - static_cast<double>(p.k)) / std::log(*recall);
  if (!(wanted < static_cast<double>(size)))
    return size;
  int64_t windows = std::max<int64_t>(static_cast<int64_t>(wanted), tile);
  unsigned halvings = llvm::Log2_64(static_cast<uint64_t>(size / windows));
  if (halvings == 0)
    return size;
  uint64_t tiles = llvm::divideCeil(static_cast<uint64_t>(size),
                                    static_cast<uint64_t>(tile));
  return static_cast<int64_t>(llvm::divideCeil(tiles, 1ull << halvings)) * tile;
}

static FailureOr<unsigned> checkDim(TypingContext &cx) {
  const auto &p = cx.params<ApproxTopK>();
  auto bad = [&](StringRef key, const std::string &why) {
    return cx.error(diag::ParamInvalid, key, why).markParam(key);
  };
  if (p.k <= 0)
    return bad("k", "is below 1"); // approx_top_k/shape.1
  if (cx.shape(0).empty())
    return cx.error(diag::ShapeMismatch, "'approx_top_k' takes no scalar")
        .mark(0); // approx_top_k/shape.2
  std::optional<unsigned> dim = pythonIndex(p.dim, cx.shape(0).size());
  if (!dim)
    return cx
        .error(diag::AccidentalIndex, cx.name(),
               std::to_string(p.dim) + " is not a dim of a value of rank " +
                   std::to_string(cx.shape(0).size()))
        .markParam("reduction_dimension");
  if (failed(checkKnown(cx, 0, *dim)))
    return failure();
  if (cx.shape(0)[*dim] < p.k)
    return bad("k", std::to_string(p.k) + " is more than the " +
                        std::to_string(cx.shape(0)[*dim]) +
                        " elements of dim " +
                        std::to_string(*dim)); // approx_top_k/shape.3
  if (!isFloat(cx.operand(0).dtype))
    return cx
        .error(diag::ParamInvalid, "operand",
               "has to be of a float dtype, not " + cx.arg(cx.operandId(0)))
        .mark(0); // approx_top_k/dtype.1
  return *dim;
}

/// The size of the dim in the results.
static FailureOr<int64_t> resultSize(TypingContext &cx, unsigned dim) {
  const auto &p = cx.params<ApproxTopK>();
  if (p.aggregate)
    return p.k;
  int64_t size = cx.shape(0)[dim];
  bool plain = p.sizeOverride < 0 || p.sizeOverride == size;
  if (plain)
    if (auto count = candidates(cx, size, cx.shape(0).size()))
      return *count;
  // As the trace says: sharding does not change it.
  TypeId recorded = cx.recordedResult(0);
  if (recorded.valid() &&
      cx.context().type(recorded).rank() == cx.shape(0).size())
    return cx.context().type(recorded).shape[dim];
  return cx
      .error(diag::ParamInvalid, "reduction_input_size_override",
             "decides how many candidates there are, which no recorded type "
             "says")
      .markParam("reduction_input_size_override");
}

static LogicalResult checkSharding(TypingContext &cx, unsigned dim,
                                   ArrayRef<ResultPart> parts,
                                   SmallVectorImpl<Sharding> &out) {
  const Sharding &s = cx.sharding(0);
  if (s.hasUR()) { // approx_top_k/reduction.1
    ErrorBuilder error = refuseSets(cx, diag::SpecIteration, 0);
    if (s.dims[dim].empty())
      return offerReduced(cx, error, parts, {s, s});
    return error;
  }
  if (!s.dims[dim].empty()) // approx_top_k/sharding.1
    return cx.error(diag::ApproxTopKSharded, dim, s.dims[dim])
        .mark(0, dim)
        .fixOperand(0, withWholeDim(s, dim));
  out.assign(2, s); // approx_top_k/sharding.2
  return success();
}

static LogicalResult typeApproxTopK(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  FailureOr<unsigned> dim = checkDim(cx);
  if (failed(dim))
    return failure();
  FailureOr<int64_t> size = resultSize(cx, *dim);
  if (failed(size))
    return failure();
  const Type operand = cx.operand(0);
  ResultPart values{operand.shape, operand.dtype, operand.weak};
  values.shape[*dim] = *size;
  ResultPart indices = values;
  indices.dtype = DType::I32;   // approx_top_k/dtype.2
  cx.setManual(operand.manual); // manual/lost.7
  if (AxisSet sums = operand.manual.unreduced; !sums.empty())
    cx.error(diag::PartialThrough, cx.name(), sums).mark(0); // manual/sets.6
  return finishResults(
      cx, {values, indices},
      [&](auto &shardings) {
        return checkSharding(cx, *dim, {values, indices}, shardings);
      },
      ResultState::AsSet);
}

static DimMap approxTopKDims(TypingContext &cx) {
  const auto &p = cx.params<ApproxTopK>();
  unsigned dim = pythonIndex(p.dim, cx.shape(0).size()).value_or(0);
  DimMap map = sameDims(cx, dim, FactorRole::Whole);
  auto kept = addFactor(map, FactorRole::Broadcast, p.k);
  for (DimMap::Dims &result : map.results)
    result[dim] = kept;
  return map;
}

/// Exact, as JAX's is on CPU.
static LogicalResult approxTopKEval(EvalContext &cx) {
  auto dim = pythonIndex(cx.params<ApproxTopK>().dim, cx.operand(0).rank());
  if (!dim)
    return cx.fail("its dimension is none of the operand's");
  kernels::TopK result =
      kernels::topK(cx.operand(0), *dim, cx.resultShape()[*dim],
                    eval::flag(cx, "is_max_k", true) ? kernels::Extreme::Largest
                                                     : kernels::Extreme::Least);
  cx.setResult(0, std::move(result.values));
  cx.setResult(1, std::move(result.indices));
  return success();
}

static const Primitive Rows[] = {
    {.info = {"approx_top_k", schemaOf<ApproxTopK>},
     .decode = decodeFor<ApproxTopK, 1>,
     .dims = approxTopKDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeApproxTopK},
     .eval = approxTopKEval}};

ArrayRef<Primitive> shardtype::approximate() { return Rows; }
