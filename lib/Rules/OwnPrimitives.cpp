// OwnPrimitives.cpp - rules for primitives that are not JAX's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One custom rule serves them all: the primitive it is handed is a `Row`, which
// holds what the user said.
#include "shardtype/Rules/OwnPrimitives.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

struct OwnPrimitives::Row : Primitive {
  std::string name;
  DimMap map; // Sizes as far as they are given.
  SmallVector<std::string, 8> factors;
  LinearGroups linear;
  std::optional<DType> dtype;

  explicit Row(StringRef of);
  static const Row &of(TypingContext &cx) {
    return static_cast<const Row &>(cx.primitive());
  }
  static FailureOr<std::shared_ptr<const void>> decodeOwn(TypingContext &cx);
  static DimMap fittedDims(TypingContext &cx);
  static LogicalResult typeOwn(TypingContext &cx);
};

OwnPrimitives::Row::Row(StringRef of)
    : Primitive{.info = {"", schemaOf<NoParams>},
                .decode = decodeOwn,
                .dims = fittedDims,
                .linearity = {},
                .open = OpenRule::Opaque,
                .type = Custom{typeOwn}},
      name(of) {
  info.name = name;
}

/// Parameters are the user's own: nothing reads them.
FailureOr<std::shared_ptr<const void>>
OwnPrimitives::Row::decodeOwn(TypingContext &cx) {
  unsigned count = of(cx).map.operands.size();
  if (failed(checkOperandCount(cx, count, count)))
    return failure();
  return std::shared_ptr<const void>();
}

/// Fits the map's sizes to the operands; shapes of results as recorded help.
DimMap OwnPrimitives::Row::fittedDims(TypingContext &cx) {
  DimMap map = of(cx).map;
  SmallVector<ArrayRef<int64_t>, 4> shapes;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    shapes.push_back(cx.shape(i));
  if (fitSizes(map, shapes, {}))
    return map;
  SmallVector<ArrayRef<int64_t>, 2> recorded;
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    TypeId type = cx.recordedResult(i);
    recorded.push_back(type.valid() ? cx.context().type(type).shape
                                    : ArrayRef<int64_t>());
  }
  fitSizes(map, shapes, recorded);
  return map;
}

static int64_t extent(const DimMap &map, const DimMap::Dim &dim) {
  int64_t product = 1;
  for (uint8_t factor : dim)
    if (llvm::MulOverflow(product, map.factors[factor].size, product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

/// Ranks, and extents against the factors' sizes.
static LogicalResult checkShapes(TypingContext &cx, const DimMap &map,
                                 ArrayRef<std::string> names) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.operand(i).isArray() ||
        cx.operand(i).rank() != map.operands[i].size())
      return cx
          .error(diag::ShapeMismatch,
                 "operand " + std::to_string(i) + " has " +
                     std::to_string(map.operands[i].size()) +
                     " dims in the rule of '" + cx.name().str() +
                     "', but its type is " + cx.arg(cx.operandId(i)))
          .mark(i); // own/shape.1
  for (unsigned f = 0; f < map.factors.size(); ++f)
    if (map.factors[f].size == UnknownFactor)
      return cx.error(diag::ShapeMismatch,
                      "no operand tells the size of factor '" + names[f] +
                          "' of '" + cx.name().str() +
                          "'; its rule can, by \"sizes\""); // own/shape.2
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    for (unsigned d = 0; d < map.operands[i].size(); ++d)
      if (int64_t wanted = extent(map, map.operands[i][d]);
          wanted != cx.shape(i)[d])
        return cx
            .error(diag::ShapeMismatch,
                   "dim " + std::to_string(d) + " of operand " +
                       std::to_string(i) + " should be " +
                       std::to_string(wanted) + " by the rule of '" +
                       cx.name().str() + "', not " +
                       std::to_string(cx.shape(i)[d]))
            .mark(i, d); // own/shape.3
  return success();
}

static std::string placeText(unsigned operand, int dim) {
  std::string text = "operand " + std::to_string(operand);
  return dim < 0 ? text : "dim " + std::to_string(dim) + " of " + text;
}

static std::string why(TypingContext &cx, const Refusal &r) {
  std::string first = placeText(r.operand, r.dim);
  std::string second = placeText(r.other, r.otherDim);
  switch (r.kind) {
  case Refusal::Differs: // own/sharding.1
    return first + " and " + second + " are one factor, over " +
           cx.arg(cx.sharding(r.operand).dims[r.dim]) + " and " +
           cx.arg(cx.sharding(r.other).dims[r.otherDim]);
  case Refusal::Twice: // own/sharding.3
    return "an axis of " + first + " would stand twice in a result";
  case Refusal::Whole: // own/sharding.2
    return first + " has to be whole, and is sharded over " +
           cx.arg(cx.sharding(r.operand).dims[r.dim]);
  case Refusal::Uneven: // own/sharding.4
    return "the axes of " + first + " do not end where its factors do";
  case Refusal::Unreduced: // own/reduction.1, own/reduction.2
    return r.operand == r.other
               ? first + " holds partial results, in which it is not linear"
               : first + " holds partial sums, which do not fit those of " +
                     second;
  case Refusal::Reduced: // own/reduction.3
    return first + " and " + second + " are not reduced over the same axes";
  }
  llvm_unreachable("every kind has a text");
}

/// Each way out changes one operand; the engine keeps those that help.
static LogicalResult refuse(TypingContext &cx, const Refusal &r) {
  ErrorBuilder error = cx.error(diag::OwnRule, cx.name(), why(cx, r));
  for (unsigned operand : {r.operand, r.other}) {
    int dim = operand == r.operand ? r.dim : r.otherDim;
    error.mark(operand, dim);
    Sharding to = placed(cx, operand);
    if (r.kind == Refusal::Differs) {
      unsigned from = operand == r.operand ? r.other : r.operand;
      int at = operand == r.operand ? r.otherDim : r.dim;
      to.dims[dim] = cx.sharding(from).dims[at];
      AxisSet taken = AxisSet::of(to.dims[dim]);
      for (int d = 0; d < static_cast<int>(to.dims.size()); ++d)
        if (d != dim && taken.intersects(AxisSet::of(to.dims[d])))
          to.dims[d].clear();
      to.unreduced = to.unreduced - taken;
      to.reduced = to.reduced - taken;
      if (to.unreduced.empty())
        to.kind = ReductionKind::None;
      if (checkDivisible(cx.context(), to, cx.shape(operand)))
        continue;
    } else if (dim >= 0) {
      to.dims[dim].clear();
    } else {
      to =
          r.kind == Refusal::Unreduced ? withoutUnreduced(to) : withoutSets(to);
    }
    error.fixOperand(operand, to);
    if (r.operand == r.other)
      break;
  }
  return error;
}

LogicalResult OwnPrimitives::Row::typeOwn(TypingContext &cx) {
  const Row &row = of(cx);
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!cx.operand(i).isArray())
      return cx.error(diag::DTypeMismatch,
                      "'" + cx.name().str() + "' takes arrays, but operand " +
                          std::to_string(i) + " is " + cx.arg(cx.operandId(i)));
  if (failed(cx.checkContextMesh()) || failed(cx.operandMesh()))
    return failure();
  DimMap map = fittedDims(cx);
  if (failed(checkShapes(cx, map, row.factors)))
    return failure();
  SmallVector<const Sharding *, 4> operands;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    operands.push_back(&cx.sharding(i));
  Derived derived =
      derive(cx.context(), map, row.linear, operands, cx.ruleMesh());
  if (derived.refusal)
    return refuse(cx, *derived.refusal);
  SmallVector<TypeId, 2> results;
  for (unsigned i = 0; i < map.results.size(); ++i) {
    Shape shape;
    for (const DimMap::Dim &dim : map.results[i])
      shape.push_back(extent(map, dim));
    DType dtype = cx.numOperands() ? cx.operand(0).dtype : DType::F32;
    TypeId recorded = row.dtype ? TypeId() : cx.recordedResult(i);
    if (row.dtype)
      dtype = *row.dtype;
    else if (recorded.valid() && cx.context().type(recorded).isArray())
      dtype = cx.context().type(recorded).dtype;
    FailureOr<TypeId> type = cx.makeType(shape, dtype, derived.results[i]);
    if (failed(type))
      return failure();
    results.push_back(*type);
  }
  return setResults(cx, results);
}

//===--- The set ----------------------------------------------------------===//

OwnPrimitives::OwnPrimitives() = default;
OwnPrimitives::~OwnPrimitives() = default;

static std::optional<OwnFault> readFactors(const OwnRule &rule, DimMap &map,
                                           ArrayRef<std::string> names) {
  auto find = [&](const std::string &name) {
    return llvm::find(names, name) - names.begin();
  };
  for (auto [i, name] : llvm::enumerate(rule.whole)) {
    if (find(name) == static_cast<long>(names.size()))
      return OwnFault{"whole", static_cast<int>(i), 0,
                      "'" + name + "' is no factor of the map"};
    map.factors[find(name)].role = FactorRole::Whole;
  }
  for (auto [i, entry] : llvm::enumerate(rule.sizes)) {
    if (find(entry.first) == static_cast<long>(names.size()))
      return OwnFault{"sizes", static_cast<int>(i), 0,
                      "'" + entry.first + "' is no factor of the map"};
    if (entry.second < 0)
      return OwnFault{"sizes", static_cast<int>(i), 0,
                      "the size of '" + entry.first + "' is below 0"};
    map.factors[find(entry.first)].size = entry.second;
  }
  return std::nullopt;
}

std::optional<OwnFault> OwnPrimitives::add(const OwnRule &rule) {
  if (rule.name.empty())
    return OwnFault{"name", -1, 0, "a primitive has a name"};
  auto row = std::make_unique<Row>(rule.name);
  if (std::optional<DimMapFault> fault =
          parseDimMap(rule.dims, row->map, row->factors))
    return OwnFault{"dims", -1, fault->offset, fault->message};
  if (row->map.results.empty())
    return OwnFault{"dims", -1, rule.dims.size(), "there is no result"};
  if (std::optional<OwnFault> fault = readFactors(rule, row->map, row->factors))
    return fault;
  SmallVector<bool, 4> seen(row->map.operands.size());
  for (auto [i, group] : llvm::enumerate(rule.linear))
    for (unsigned operand : group) {
      if (operand >= seen.size())
        return OwnFault{"linear", static_cast<int>(i), 0,
                        "there is no operand " + std::to_string(operand)};
      if (seen[operand])
        return OwnFault{"linear", static_cast<int>(i), 0,
                        "operand " + std::to_string(operand) +
                            " stands in it twice"};
      seen[operand] = true;
    }
  row->linear = rule.linear;
  row->dtype = rule.dtype;
  rows_.push_back(std::move(row));
  return std::nullopt;
}

void OwnPrimitives::addTo(PrimitiveSet &set) const {
  for (const std::unique_ptr<Row> &row : rows_)
    set.add(ArrayRef<Primitive>(*row));
}
