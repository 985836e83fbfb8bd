// Identity.cpp - operations that give back what they were given.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Evals.h"
#include "Families.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

namespace {
struct Name {
  static constexpr auto fields =
      std::tuple(ignored("name", form::name, Hide::Never, ParamField::Name));
};
struct Layout {
  static constexpr auto fields = std::tuple(ignored("layout", form::layouts));
};
} // namespace

/// identity/type.1: any type, arrays or not, with all its parts.
static LogicalResult sameType(TypingContext &cx) {
  return setResults(cx, {cx.operandId(0)});
}

/// identity/type.2: each result is its operand.
static LogicalResult barrier(TypingContext &cx) {
  if (cx.numResults() != cx.numOperands())
    return cx.error(diag::ResultCount, cx.name(), cx.numOperands(),
                    cx.numResults());
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    cx.setResult(i, cx.operandId(i), cx.operandTyped(i).open);
  return success();
}

/// identity/type.3: the second operand, once the first is there.
static LogicalResult tie(TypingContext &cx) {
  if (cx.numResults() != 1)
    return cx.error(diag::ResultCount, cx.name(), 1, cx.numResults());
  cx.setResult(0, cx.operandId(1), cx.operandTyped(1).open);
  return success();
}

/// The dims of `operand` are those of `result`; the others have dims that
/// occur nowhere else.
static void addIdentity(DimMap &map, TypingContext &cx, unsigned operand,
                        bool inResult) {
  DimMap::Dims dims;
  for (int64_t size : cx.shape(operand)) {
    dims.push_back({static_cast<uint8_t>(map.factors.size())});
    map.factors.push_back({FactorRole::Pass, size});
  }
  map.operands.push_back(dims);
  if (inResult)
    map.results.push_back(dims);
}
static DimMap barrierDims(TypingContext &cx) {
  DimMap map;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    addIdentity(map, cx, i, true);
  return map;
}
static DimMap tieDims(TypingContext &cx) {
  DimMap map;
  addIdentity(map, cx, 0, false);
  addIdentity(map, cx, 1, true);
  return map;
}

static LogicalResult sameEval(EvalContext &cx) {
  return eval::give(cx, cx.take(0));
}
static LogicalResult barrierEval(EvalContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    cx.setResult(i, cx.take(i));
  return success();
}
static LogicalResult tieEval(EvalContext &cx) {
  return eval::give(cx, cx.take(1));
}

template <typename P = NoParams>
static constexpr Primitive identity(StringRef name) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, 1>,
          .dims = unaryDims,
          .linearity = {Linearity::Jointly, 1},
          .open = OpenRule::Pointwise,
          .type = Custom{sameType},
          .eval = sameEval};
}

static const Primitive Rows[] = {
    identity("copy"),
    identity<Layout>("layout_constraint"),
    identity<Name>("name"),
    identity("stop_gradient"),
    {.info = {"optimization_barrier", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 0, AnyNumber>,
     .dims = barrierDims,
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{barrier},
     .eval = barrierEval},
    {.info = {"tie", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 2>,
     .dims = tieDims,
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{tie},
     .eval = tieEval},
};

ArrayRef<Primitive> shardtype::identities() { return Rows; }
