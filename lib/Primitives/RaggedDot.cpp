// RaggedDot.cpp - ragged_dot_general: rows in groups, a matrix for each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Contraction.h"
#include "Families.h"
#include "Running.h"
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Rules/Eval.h"
#include "llvm/ADT/Twine.h"

using namespace shardtype;

namespace {
struct RaggedDot : DotGeneral {
  const Value *numbers = nullptr;
  static constexpr auto fields = std::tuple(
      ignored("group_offset", form::choice),
      optionalField("out_sharding", &RaggedDot::outSharding),
      optionalValue("precision", &RaggedDot::precision, form::choices),
      optionalField("preferred_element_type", &RaggedDot::preferredElementType),
      valueField("ragged_dot_dimension_numbers", &RaggedDot::numbers,
                 form::numbers));
};

/// What the lhs dim that holds the groups is.
enum class Ragged : uint8_t { Free, Contracting, Batch };

/// ragged_dot_dimension_numbers, read.
struct RaggedDims {
  DotDims dot;
  SmallVector<int64_t, 2> lhsRagged, rhsGroup;
};
} // namespace

static ErrorBuilder badNumbers(TypingContext &cx, const std::string &why) {
  return cx.error(diag::ShapeMismatch, "ragged_dot_dimension_numbers: " + why)
      .markParam("ragged_dot_dimension_numbers");
}

static std::optional<RaggedDims> readNumbers(const Program &program,
                                             const Value &v) {
  RaggedDims dims;
  const Value *dot = structField(program, v, "dot_dimension_numbers");
  const Value *ragged = structField(program, v, "lhs_ragged_dimensions");
  const Value *group = structField(program, v, "rhs_group_dimensions");
  if (dot && ragged && group && readParam(program, *dot, dims.dot) &&
      readParam(program, *ragged, dims.lhsRagged) &&
      readParam(program, *group, dims.rhsGroup))
    return dims;
  return std::nullopt;
}

static FailureOr<RaggedDims> readNumbers(TypingContext &cx) {
  if (auto dims = readNumbers(cx.program(), *cx.params<RaggedDot>().numbers))
    return *dims;
  return cx
      .error(diag::ParamInvalid, "ragged_dot_dimension_numbers",
             "has the wrong form")
      .markParam("ragged_dot_dimension_numbers");
}

static FailureOr<Ragged> modeOf(TypingContext &cx, const RaggedDims &dims) {
  if (dims.lhsRagged.size() != 1) // ragged_dot_general/shape.1
    return badNumbers(cx, "one dim of the lhs is ragged");
  int64_t ragged = dims.lhsRagged.front();
  if (ragged < 0 || ragged >= static_cast<int64_t>(cx.shape(0).size()))
    return badNumbers(cx, std::to_string(ragged) + " is not a dim of the lhs");
  if (llvm::is_contained(dims.dot.lhsContract, ragged))
    return Ragged::Contracting;
  if (llvm::is_contained(dims.dot.lhsBatch, ragged))
    return Ragged::Batch;
  return Ragged::Free;
}

/// group_sizes is (g), or has the dims outside the ragged one in front of g.
static LogicalResult checkGroupSizes(TypingContext &cx, const RaggedDims &dims,
                                     Ragged mode) {
  ArrayRef<int64_t> sizes = cx.shape(2);
  if (sizes.empty())
    return cx.error(diag::ShapeMismatch, "the group sizes are no scalar")
        .mark(2);
  if (sizes.size() == 1)
    return success();
  SmallVector<int64_t, 4> prefix;
  ArrayRef<int64_t> own = dims.dot.lhsContract;
  DotSides sides(dims.dot, cx.shape(0).size(), cx.shape(1).size());
  if (mode != Ragged::Batch)
    prefix.append(dims.dot.lhsBatch);
  if (mode == Ragged::Free)
    own = sides.lhsFree;
  if (mode == Ragged::Batch)
    own = dims.dot.lhsBatch;
  for (int64_t d : own) {
    if (d == dims.lhsRagged.front())
      break;
    prefix.push_back(d);
  }
  bool fits = sizes.size() == prefix.size() + 1;
  for (unsigned i = 0; fits && i < prefix.size(); ++i)
    fits = prefix[i] >= 0 &&
           prefix[i] < static_cast<int64_t>(cx.shape(0).size()) &&
           sizes[i] == cx.shape(0)[prefix[i]];
  if (fits)
    return success();
  return cx
      .error(diag::ShapeMismatch,
             "the group sizes " + cx.arg(cx.operandId(2)) +
                 " do not have the dims of the lhs that are outside its ragged "
                 "one, then the groups")
      .mark(2); // ragged_dot_general/shape.2
}

static LogicalResult checkGroupDim(TypingContext &cx, const RaggedDims &dims,
                                   Ragged mode) {
  if (mode != Ragged::Free) {
    if (dims.rhsGroup.empty())
      return success();
    return badNumbers(cx, "the rhs has groups only where the ragged dim is "
                          "neither contracting nor batch");
  }
  if (dims.rhsGroup.size() != 1)
    return badNumbers(cx, "one dim of the rhs holds the groups");
  int64_t group = dims.rhsGroup.front();
  if (group < 0 || group >= static_cast<int64_t>(cx.shape(1).size()))
    return badNumbers(cx, std::to_string(group) + " is not a dim of the rhs");
  if (llvm::is_contained(dims.dot.rhsBatch, group) ||
      llvm::is_contained(dims.dot.rhsContract, group))
    return badNumbers(cx, "the group dim of the rhs is contracted or batch");
  if (cx.shape(1)[group] != cx.shape(2).back())
    return badNumbers(cx, "the rhs has another number of groups than there are "
                          "group sizes")
        .mark(1, group)
        .mark(2);
  return success(); // ragged_dot_general/shape.3
}

/// The dims of the rhs that are in the result: its groups are summed over.
static FailureOr<Shape> raggedShape(TypingContext &cx) {
  FailureOr<RaggedDims> dims = readNumbers(cx);
  if (failed(dims))
    return failure();
  FailureOr<Ragged> mode = modeOf(cx, *dims);
  if (failed(mode) || failed(checkGroupSizes(cx, *dims, *mode)) ||
      failed(checkGroupDim(cx, *dims, *mode)) ||
      failed(checkDotNumbers(cx, dims->dot, "ragged_dot_dimension_numbers")))
    return failure();
  Shape shape;
  if (*mode == Ragged::Contracting)
    shape.push_back(cx.shape(2).back());
  for (int64_t d : dims->dot.lhsBatch)
    shape.push_back(cx.shape(0)[d]);
  DotSides sides(dims->dot, cx.shape(0).size(), cx.shape(1).size());
  for (int64_t d : sides.lhsFree)
    shape.push_back(cx.shape(0)[d]);
  for (int64_t d : sides.rhsFree)
    if (!llvm::is_contained(dims->rhsGroup, d))
      shape.push_back(cx.shape(1)[d]);
  return shape; // ragged_dot_general/shape.4
}

static FailureOr<DType> raggedDType(TypingContext &cx) {
  if (!isInteger(cx.operand(2).dtype))
    return cx
        .error(diag::DTypeRefused, cx.name(),
               info(cx.operand(2).dtype).longName, 2, "integers")
        .mark(2); // ragged_dot_general/dtype.1
  return dotDTypeOf(cx, cx.params<RaggedDot>());
}

static FailureOr<Sharding> raggedSharding(TypingContext &cx) {
  const ShardingParam &param = cx.params<RaggedDot>().outSharding;
  unsigned rank = cx.resultShape().size();
  if (param.given()) // ragged_dot_general/sharding.1
    return resolveLong(cx, param, rank, "out_sharding");
  // ragged_dot_general/sharding.2
  ErrorBuilder error = cx.error(diag::RaggedUnsupported);
  for (unsigned i = 0; i < 3; ++i)
    if (cx.sharding(i).partitioned())
      error.mark(i);
  bool sets = false;
  for (unsigned i = 0; i < 3; ++i)
    sets |= cx.sharding(i).hasUR();
  Sharding whole = replicated(cx.ruleMesh(), rank);
  error.fix(whole);
  FailureOr<RaggedDims> dims = readNumbers(cx);
  Sharding rows = whole; // Rows of the lhs stay where they are.
  if (succeeded(dims) && dims->lhsRagged.size() == 1) {
    FailureOr<Ragged> mode = modeOf(cx, *dims);
    DotSides sides(dims->dot, cx.shape(0).size(), cx.shape(1).size());
    unsigned first = dims->dot.lhsBatch.size() +
                     (succeeded(mode) && *mode == Ragged::Contracting);
    for (auto [i, d] : llvm::enumerate(sides.lhsFree))
      rows.dims[first + i] = cx.sharding(0).dims[d];
    if (rows.partitioned() && !sets)
      error.fix(rows);
  }
  if (!whole.partitioned() && !sets &&
      llvm::all_of(cx.operands(), [&](Typed t) {
        return !cx.context().type(t.type).sharding.partitioned();
      }))
    error.sound(whole);
  return error;
}

static FailureOr<ReductionSets> raggedReduction(TypingContext &cx) {
  const ShardingParam &param = cx.params<RaggedDot>().outSharding;
  bool any = !param.spec.unreduced.empty() || !param.spec.reduced.empty();
  for (unsigned i = 0; i < 3; ++i)
    any |= cx.sharding(i).hasUR();
  if (!any)
    return checkLong(cx, param, "out_sharding", {});
  ErrorBuilder error = cx.error(diag::RuleMissingUR, cx.name());
  for (unsigned i = 0; i < 3; ++i)
    if (cx.sharding(i).hasUR())
      error.mark(i).fixOperand(i, withoutSets(cx.sharding(i)));
  return error; // ragged_dot_general/reduction.1
}

/// The ragged dim is cut at places that depend on values.
static DimMap raggedDims(TypingContext &cx) {
  DimMap map;
  for (unsigned i = 0; i < 3; ++i) {
    DimMap::Dims &dims = map.operands.emplace_back();
    for (int64_t size : cx.shape(i))
      dims.push_back(addFactor(map, FactorRole::Whole, size));
  }
  map.results.emplace_back().resize(cx.resultShape().size());
  return map;
}

static LogicalResult raggedEval(EvalContext &cx) {
  auto dims = readNumbers(cx.program(), *cx.params<RaggedDot>().numbers);
  if (!dims)
    return cx.fail("its dimension numbers cannot be read");
  const DotDims &n = dims->dot;
  std::optional<int64_t> group;
  if (!dims->rhsGroup.empty())
    group = dims->rhsGroup.front();
  cx.setResult(0, kernels::raggedDot(
                      cx.operand(0), cx.operand(1), cx.operand(2),
                      {n.lhsContract, n.rhsContract, n.lhsBatch, n.rhsBatch},
                      dims->lhsRagged.front(), group, cx.resultDType()));
  return success();
}

static const Primitive Rows[] = {
    {.info = {"ragged_dot_general", schemaOf<RaggedDot>},
     .decode = decodeFor<RaggedDot, 3>,
     .dims = raggedDims,
     .linearity = {Linearity::EachOf, 2},
     .open = OpenRule::Opaque,
     .type = Standard{.shape = raggedShape,
                      .dtype = raggedDType,
                      .weak = weak::all,
                      .sharding = raggedSharding,
                      .reduction = raggedReduction,
                      .memory = runs::wholeOnly},
     .eval = raggedEval},
};

ArrayRef<Primitive> shardtype::raggedDots() { return Rows; }
