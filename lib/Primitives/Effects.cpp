// Effects.cpp - tokens, sinks, and other values that no array rule makes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "Results.h"
#include "shardtype/Rules/Eval.h"

using namespace shardtype;

namespace {
struct Sink {
  static constexpr auto fields =
      std::tuple(ignored("prevent_mlir_dce", form::flag));
};
struct Layouts {
  const Value *layout = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("dst_layout", &Layouts::layout, form::object));
};
struct Platforms {
  static constexpr auto fields = std::tuple(ignored("platforms", form::list));
};
struct AsValue {
  static constexpr auto fields = std::tuple(ignored("dim", form::any));
};
struct DimensionSize {
  int64_t dimension = 0;
  static constexpr auto fields =
      std::tuple(field("dimension", &DimensionSize::dimension));
};
struct Assertion {
  static constexpr auto fields =
      std::tuple(ignored("error_message", form::object));
};
struct Inspect {
  static constexpr auto fields = std::tuple(
      ignored("callback", form::object, Hide::Never, ParamField::Name));
};
struct Metadata {
  static constexpr auto fields =
      std::tuple(ignored("xla_metadata_kvs", form::list));
};
struct Checkify {
  static constexpr auto fields =
      std::tuple(ignored("debug", form::flag),
                 ignored("err_tree", form::tree, Hide::Always));
};
} // namespace

static TypeId tokenType(TypingContext &cx) {
  Type token;
  token.kind = Type::Token;
  return cx.context().intern(token);
}

/// tokens/type.1
static LogicalResult createToken(TypingContext &cx) {
  return setResults(cx, {tokenType(cx)});
}

/// tokens/type.2: tokens in, one token out.
static LogicalResult afterAll(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).kind != Type::Token)
      return cx
          .error(diag::DTypeMismatch, "'after_all' takes tokens, but operand " +
                                          std::to_string(i) + " is " +
                                          cx.arg(cx.operandId(i)))
          .mark(i);
  return setResults(cx, {tokenType(cx)});
}

/// effects/type.1: nothing comes out, whatever goes in.
static LogicalResult noResults(TypingContext &cx) { return setResults(cx, {}); }

/// effects/type.2: the operand's type.
static LogicalResult sameType(TypingContext &cx) {
  return setResults(cx, {cx.operandId(0)});
}

/// relayout/type.1: the operand's type with another layout, which is never
/// printed and no rule looks at.
static LogicalResult relayout(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  Type type = cx.operand(0);
  if (cx.params<Layouts>().layout->text.valid())
    type.layout = cx.params<Layouts>().layout->text;
  return setResults(cx, {cx.context().intern(type)});
}

/// effects/type.3: an i32 without a mesh. `weak` for sizes of dims.
static LogicalResult number(TypingContext &cx, bool weak) {
  FailureOr<TypeId> type =
      cx.makeType({}, DType::I32, replicated(MeshId(), 0), weak);
  if (failed(type))
    return failure();
  return setResults(cx, {*type});
}
static LogicalResult platformIndex(TypingContext &cx) {
  return number(cx, /*weak=*/false);
}
static LogicalResult dimAsValue(TypingContext &cx) {
  return number(cx, /*weak=*/true);
}
static LogicalResult dimensionSize(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  int64_t dim = cx.params<DimensionSize>().dimension;
  if (dim < 0 || dim >= static_cast<int64_t>(cx.shape(0).size()))
    return cx
        .error(diag::ParamInvalid, "dimension",
               std::to_string(dim) + " is not a dim of " +
                   cx.arg(cx.operandId(0)))
        .markParam("dimension");
  return number(cx, /*weak=*/true);
}

/// Dims of operands correspond to none of the results.
static DimMap looseDims(TypingContext &cx) {
  DimMap map;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    map.operands.emplace_back().resize(cx.shape(i).size());
  map.results.resize(cx.numResults());
  return map;
}

//===--- Evaluation -------------------------------------------------------===//

/// The branch of the platform that runs it: that of "cpu", else one for all
/// others, which has no names.
static LogicalResult platformEval(EvalContext &cx) {
  const Value *platforms = cx.param("platforms");
  std::optional<int32_t> found;
  for (auto [i, id] :
       llvm::enumerate(platforms ? ArrayRef<ValueId>(platforms->elements)
                                 : ArrayRef<ValueId>())) {
    const Value &branch = cx.program().value(id);
    bool isCpu = branch.kind == Value::Str && branch.text.valid() &&
                 cx.context().str(branch.text) == "cpu";
    for (ValueId name : branch.elements)
      if (StringId text = cx.program().value(name).text; text.valid())
        isCpu |= cx.context().str(text) == "cpu";
    if (isCpu || (branch.kind == Value::None && !found))
      found = static_cast<int32_t>(i);
    if (isCpu)
      break;
  }
  if (!found)
    return cx.fail("has no branch for the CPU");
  cx.setResult(0, Tensor::scalar<int32_t>(DType::I32, *found));
  return success();
}

static LogicalResult sizeEval(EvalContext &cx) {
  int64_t size = cx.operand(0).dim(
      static_cast<unsigned>(cx.params<DimensionSize>().dimension));
  cx.setResult(0,
               Tensor::scalar<int32_t>(DType::I32, static_cast<int32_t>(size)));
  return success();
}

static LogicalResult zerosEval(EvalContext &cx) {
  cx.setResult(0, Tensor::zeros(cx.resultDType(), cx.resultShape()));
  return success();
}

static LogicalResult assertionEval(EvalContext &cx) {
  const Tensor &holds = cx.operand(0);
  if (holds.dtype() == DType::Bool && !holds.item<bool>())
    return cx.fail("does not hold");
  return success();
}

template <typename P, unsigned Min, unsigned Max = Min, typename Rule>
static constexpr Primitive row(StringRef name, Rule type, EvalRule eval) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, Min, Max>,
          .dims = looseDims,
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Custom{type},
          .eval = eval};
}

template <typename P>
static constexpr Primitive passing(StringRef name,
                                   Rule<LogicalResult(TypingContext &)> type,
                                   EvalRule eval = eval::pass) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, 1>,
          .dims = unaryDims,
          .linearity = {Linearity::Jointly, 1},
          .open = OpenRule::Pointwise,
          .type = Custom{type},
          .eval = eval};
}

static const Primitive Rows[] = {
    row<NoParams, 0>("create_token", createToken, eval::nothing),
    row<NoParams, 0, AnyNumber>("after_all", afterAll, eval::nothing),
    row<Sink, 1>("dce_sink", noResults, eval::nothing),
    row<Inspect, 1>("inspect_sharding", noResults, eval::nothing),
    row<Checkify, 0, AnyNumber>(
        "check", noResults,
        NoRule{NoRule::NotApplicable,
               "JAX runs it only where checkify has taken it out"}),
    row<Assertion, 1, AnyNumber>("shape_assertion", noResults, assertionEval),
    row<Platforms, 0>("platform_index", platformIndex, platformEval),
    row<AsValue, 0>(
        "dim_as_value", dimAsValue,
        NoRule{NoRule::NotApplicable, "the size it stands for is not known"}),
    row<DimensionSize, 1>("dimension_size", dimensionSize, sizeEval),
    passing<NoParams>("stage", sameType),
    passing<NoParams>("zeros_like", sameType, zerosEval),
    passing<Metadata>("xla_metadata_value", sameType),
    passing<Layouts>("relayout", relayout),
};

ArrayRef<Primitive> shardtype::effects() { return Rows; }
