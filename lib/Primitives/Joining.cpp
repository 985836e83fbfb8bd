// Joining.cpp - concatenate, stack and pad.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "Shapes.h"
#include "shardtype/Kernels/Shape.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

namespace {
struct Concatenate {
  int64_t dimension = 0;
  static constexpr auto fields =
      std::tuple(field("dimension", &Concatenate::dimension));
};

struct Stack {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple(field("axis", &Stack::axis));
};

struct Pad {
  SmallVector<SmallVector<int64_t, 3>, 4> paddingConfig;
  static constexpr auto fields =
      std::tuple(field("padding_config", &Pad::paddingConfig));
};
} // namespace

/// A size that a rule computed, if it is one.
static FailureOr<int64_t> checkedSize(TypingContext &cx, __int128 size) {
  if (size <= std::numeric_limits<int64_t>::max())
    return static_cast<int64_t>(size);
  return cx.error(diag::ShapeMismatch, "a dim of the result of '" +
                                           cx.name().str() +
                                           "' is larger than 2^63-1");
}

//===--- Operands that must be sharded alike ------------------------------===//

static std::string typesText(TypingContext &cx) {
  std::string text;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    text += (i ? ", " : "") + cx.arg(cx.operandId(i));
  return text;
}

static FailureOr<DType> sameDType(TypingContext &cx) {
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (cx.operand(i).dtype != cx.operand(0).dtype)
      return cx.error(diag::DTypesDiffer, cx.name(), typesText(cx)).mark(i);
  return cx.operand(0).dtype;
}

/// The first operand on a mesh; the others may be without one.
static std::optional<unsigned> firstPlaced(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasMesh())
      return i;
  return std::nullopt;
}

/// All operands on a mesh have one sharding, which `result` turns into the
/// result's.
static FailureOr<Sharding>
commonSharding(TypingContext &cx, diag::Code code,
               llvm::function_ref<Sharding(Sharding)> result) {
  std::optional<unsigned> first = firstPlaced(cx);
  if (!first) // concatenate/sharding.3
    return replicated(cx.mesh(), cx.resultShape().size());
  for (unsigned i = *first + 1; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasMesh() && cx.sharding(i) != cx.sharding(*first))
      return reportDiffer(
          cx, cx.error(code, cx.name(), cx.sharding(*first), cx.sharding(i)),
          *first, i);                 // concatenate/sharding.2
  return result(cx.sharding(*first)); // concatenate/sharding.1
}

/// The sets that operands have, if those that have some agree: over Manual axes
/// nothing else makes them do so.
static FailureOr<ReductionSets> commonSets(TypingContext &cx) {
  std::optional<unsigned> first = firstPlaced(cx);
  if (!first)
    return ReductionSets{};
  const Sharding &common = cx.sharding(*first);
  if (!common.unreduced.empty() && common.kind != ReductionKind::Sum &&
      cx.olderJax() && failed(requireSum(cx, *first)))
    return failure(); // concatenate/reduction.2
  auto differ = [&](StringRef what, AxisSet a, AxisSet b, unsigned i) {
    return cx.error(diag::JoinSetsDiffer, cx.name(), what, a, b).mark(i);
  };
  ReductionSets sets;
  for (unsigned i = *first; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    if (s.unreduced.empty())
      continue;
    if (!sets.unreduced.empty() &&
        (s.unreduced != sets.unreduced || s.kind != sets.kind))
      return differ("unreduced", sets.unreduced, s.unreduced,
                    i); // manual/joining.1
    sets.unreduced = s.unreduced;
    sets.kind = s.kind;
  }
  for (unsigned i = *first; i < cx.numOperands(); ++i) {
    const Sharding &s = cx.sharding(i);
    if (s.reduced.empty())
      continue;
    if (!sets.reduced.empty() && s.reduced != sets.reduced)
      return differ("reduced", sets.reduced, s.reduced,
                    i); // manual/joining.1
    sets.reduced = s.reduced;
  }
  return sets; // concatenate/reduction.1
}

//===--- concatenate ------------------------------------------------------===//

static FailureOr<Shape> concatenateShape(TypingContext &cx) {
  int64_t dim = cx.params<Concatenate>().dimension;
  Shape result = cx.operand(0).shape;
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (cx.operand(i).rank() != result.size())
      return cx
          .error(diag::ShapeMismatch,
                 "operands of 'concatenate' have different ranks: " +
                     typesText(cx))
          .mark(i); // concatenate/shape.1
  if (dim < 0 || dim >= static_cast<int64_t>(result.size()))
    return cx
        .error(diag::ShapeMismatch,
               std::to_string(dim) + " is not a dim of values of rank " +
                   std::to_string(result.size()))
        .markParam("dimension"); // concatenate/shape.2
  __int128 total = 0;
  std::optional<unsigned> symbolic;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    for (unsigned d = 0; d < result.size(); ++d)
      if (d != dim && cx.shape(i)[d] != result[d])
        return cx
            .error(diag::ShapeMismatch,
                   "operands of 'concatenate' differ on dim " +
                       std::to_string(d) + ": " + typesText(cx))
            .mark(i, d); // concatenate/shape.3
    if (Dim::isSymbolic(cx.shape(i)[dim]))
      symbolic = i;
    total += cx.shape(i)[dim];
  }
  FailureOr<int64_t> size =
      symbolic ? tracedSize(cx, *symbolic, dim, dim) : checkedSize(cx, total);
  if (failed(size))
    return failure();
  result[dim] = *size; // concatenate/shape.4
  return result;
}

static FailureOr<Sharding> concatenateSharding(TypingContext &cx) {
  return commonSharding(cx, diag::ConcatDiffer, [](Sharding s) { return s; });
}

static DimMap concatenateDims(TypingContext &cx) {
  return sameDims(cx, cx.params<Concatenate>().dimension, FactorRole::Halo);
}

//===--- stack ------------------------------------------------------------===//

/// Where Python's list.insert puts an item: negative positions count from the
/// end, and those outside go to the ends.
static unsigned insertPosition(int64_t at, unsigned size) {
  if (at < 0)
    at = std::max<int64_t>(at + size, 0);
  return std::min<int64_t>(at, size);
}

static FailureOr<Shape> stackShape(TypingContext &cx) {
  Shape result = cx.operand(0).shape;
  for (unsigned i = 1; i < cx.numOperands(); ++i)
    if (cx.operand(i).shape != result)
      return cx
          .error(diag::ParamInvalid, "axis",
                 "operands of 'stack' have different shapes: " + typesText(cx))
          .mark(i); // stack/shape.1
  unsigned at = insertPosition(cx.params<Stack>().axis, result.size());
  result.insert(result.begin() + at, cx.numOperands());
  return result; // stack/shape.2
}

static FailureOr<Sharding> stackSharding(TypingContext &cx) {
  return commonSharding(
      cx, diag::StackDiffer, [&cx](Sharding s) { // stack/sharding.1
        unsigned at = insertPosition(cx.params<Stack>().axis, s.dims.size());
        s.dims.insert(s.dims.begin() + at, AxisList());
        return s;
      });
}

static DimMap stackDims(TypingContext &cx) {
  DimMap map = sameDims(cx, {}, FactorRole::Pass);
  DimMap::Dims &result = map.results[0];
  unsigned at = insertPosition(cx.params<Stack>().axis, result.size());
  result.insert(result.begin() + at,
                addFactor(map, FactorRole::Broadcast, cx.numOperands()));
  return map;
}

//===--- pad --------------------------------------------------------------===//

static FailureOr<Shape> padShape(TypingContext &cx) {
  const auto &config = cx.params<Pad>().paddingConfig;
  Shape result;
  auto bad = [&](const std::string &why) {
    return cx.error(diag::ParamInvalid, "padding_config", why)
        .markParam("padding_config");
  };
  if (cx.operand(1).rank() != 0)
    return cx
        .error(diag::ParamInvalid, "padding_value",
               "the padding value is not a scalar")
        .mark(1); // pad/shape.1
  if (config.size() != cx.shape(0).size())
    return bad("has " + std::to_string(config.size()) +
               " entries for a value of rank " +
               std::to_string(cx.shape(0).size())); // pad/shape.2
  // Padding may be negative, so a symbol shows in the parameter itself only.
  ValueId given = cx.program().param(cx.paramsId(), "padding_config");
  bool anySymbolic = given.valid() && holdsSymbol(cx.program(), given);
  for (unsigned d = 0; d < config.size(); ++d) {
    ArrayRef<int64_t> entry = config[d];
    if (entry.size() != 3)
      return bad("an entry is not (low, high, interior)");
    if (entry[2] < 0)
      return bad("interior padding of dim " + std::to_string(d) +
                 " is below 0"); // pad/shape.3
    bool changes = entry[0] != 0 || entry[1] != 0 || entry[2] != 0;
    int64_t size = cx.shape(0)[d];
    if (changes && (Dim::isSymbolic(size) || anySymbolic)) {
      FailureOr<int64_t> traced = tracedSize(cx, 0, d, d);
      if (failed(traced))
        return failure();
      result.push_back(*traced);
      continue;
    }
    __int128 dilated =
        size == 0 ? 0 : size + static_cast<__int128>(entry[2]) * (size - 1);
    __int128 padded = changes ? dilated + entry[0] + entry[1] : size;
    if (changes && padded < 0)
      return bad("dim " + std::to_string(d) +
                 " would have a size below 0"); // pad/shape.4
    FailureOr<int64_t> fits = checkedSize(cx, padded);
    if (failed(fits))
      return failure();
    result.push_back(*fits);
  }
  return result;
}

static FailureOr<Sharding> padSharding(TypingContext &cx) {
  return varyingShape(cx, 0, cx.resultShape()); // pad/sharding.1
}

static DimMap padDims(TypingContext &cx) {
  SmallVector<int64_t, 4> changed;
  for (auto [d, entry] : llvm::enumerate(cx.params<Pad>().paddingConfig))
    if (llvm::any_of(entry, [](int64_t n) { return n != 0; }))
      changed.push_back(d);
  DimMap map = sameDims(cx, changed, FactorRole::Halo);
  map.operands[1].clear();
  return map;
}

static LogicalResult concatenateEval(EvalContext &cx) {
  return eval::give(cx,
                    kernels::concatenate(eval::operandsFrom(cx, 0),
                                         cx.params<Concatenate>().dimension));
}
static LogicalResult stackEval(EvalContext &cx) {
  return eval::give(
      cx, kernels::stack(eval::operandsFrom(cx, 0), cx.params<Stack>().axis));
}
static LogicalResult padEval(EvalContext &cx) {
  SmallVector<int64_t, 6> low, high, interior;
  for (const auto &dim : cx.params<Pad>().paddingConfig) {
    low.push_back(dim[0]);
    high.push_back(dim[1]);
    interior.push_back(dim[2]);
  }
  return eval::give(
      cx, kernels::pad(cx.operand(0), cx.operand(1), low, high, interior));
}

static const Primitive Rows[] = {
    {.info = {"concatenate", schemaOf<Concatenate>},
     .decode = decodeFor<Concatenate, 1, AnyNumber>,
     .dims = concatenateDims,
     .linearity = {Linearity::Jointly, AllOperands},
     .open = OpenRule::Strict,
     .type = Standard{.shape = concatenateShape,
                      .dtype = sameDType,
                      .weak = weak::all,
                      .sharding = concatenateSharding,
                      .reduction = commonSets,
                      .memory = memory::standard},
     .eval = concatenateEval},
    {.info = {"stack", schemaOf<Stack>},
     .decode = decodeFor<Stack, 1, AnyNumber>,
     .dims = stackDims,
     .linearity = {Linearity::Jointly, AllOperands},
     .open = OpenRule::Strict,
     .type = Standard{.shape = stackShape,
                      .dtype = sameDType,
                      .weak = weak::all,
                      .sharding = stackSharding,
                      .reduction = commonSets,
                      .memory = memory::standard},
     .eval = stackEval},
    {.info = {"pad", schemaOf<Pad>},
     .decode = decodeFor<Pad, 2>,
     .dims = padDims,
     .linearity = {Linearity::Jointly, 2},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = padShape,
                      .dtype = sameDType,
                      .weak = weak::all,
                      .sharding = padSharding,
                      .reduction = reduction::pass,
                      .memory = memory::standard},
     .eval = padEval}};

ArrayRef<Primitive> shardtype::joining() { return Rows; }
