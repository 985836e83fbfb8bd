// Declared.cpp - callbacks, foreign functions and kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX does not look into them: what comes out is what was declared.
#include "Declared.h"
#include "Bodies.h"
#include "Families.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Manual.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

//===--- Declared types ---------------------------------------------------===//

static std::optional<TypeId> parseDeclared(TypingContext &cx, StringRef text) {
  text = text.trim();
  bool weak = false;
  if (text.consume_front("ShapedArray(")) {
    if (!text.consume_back(")"))
      return std::nullopt;
    weak = text.consume_back(", weak_type=True");
  }
  bool onMesh = text.contains('@') || text.contains('{');
  TextResult<TypeId> type =
      parseType(cx.context(), text, onMesh ? cx.mesh() : MeshId());
  if (!type)
    return std::nullopt;
  return weak ? cx.context().withWeak(*type, true) : *type;
}

std::optional<TypeId> shardtype::typeOfValue(TypingContext &cx,
                                             const Value &value) {
  if (value.kind != Value::Type) {
    if (!value.text.valid())
      return std::nullopt;
    return parseDeclared(cx, cx.context().str(value.text));
  }
  TypeId id(static_cast<uint32_t>(value.integer));
  const Type type = cx.context().type(id);
  if (!type.isArray() || !type.sharding.hasMesh())
    return id;
  MeshId mesh = cx.host().rewriteMesh(type.sharding.mesh);
  return cx.context().withSharding(id,
                                   onMesh(cx.context(), type.sharding, mesh));
}

/// The parts of `(a, b(c, d), e)`, which nests in brackets of any kind.
static SmallVector<StringRef, 4> partsOf(StringRef text) {
  SmallVector<StringRef, 4> parts;
  if (!text.consume_front("(") || !text.consume_back(")"))
    return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c != ',' || depth)
      continue;
    parts.push_back(text.slice(begin, i));
    begin = i + 1;
  }
  if (!text.substr(begin).trim().empty())
    parts.push_back(text.substr(begin));
  return parts;
}

std::optional<SmallVector<TypeId, 4>>
shardtype::typesOfValue(TypingContext &cx, const Value *value) {
  SmallVector<TypeId, 4> types;
  if (!value)
    return std::nullopt;
  if (value->kind == Value::Tuple || value->kind == Value::List) {
    for (ValueId element : value->elements) {
      auto type = typeOfValue(cx, cx.program().value(element));
      if (!type)
        return std::nullopt;
      types.push_back(*type);
    }
    return types;
  }
  if (!value->text.valid())
    return std::nullopt;
  for (StringRef part : partsOf(cx.context().str(value->text))) {
    auto type = parseDeclared(cx, part);
    if (!type)
      return std::nullopt;
    types.push_back(*type);
  }
  return types;
}

TypeId shardtype::declaredResult(TypingContext &cx, unsigned result) {
  TypeId id = cx.recordedResult(result);
  if (!id.valid())
    return id;
  const Type type = cx.context().type(id);
  if (!type.isArray() || !type.sharding.hasMesh())
    return id;
  MeshId mesh = cx.host().rewriteMesh(type.sharding.mesh);
  return cx.context().withSharding(id,
                                   onMesh(cx.context(), type.sharding, mesh));
}

LogicalResult shardtype::undeclared(TypingContext &cx) {
  return cx.unknownPrimitive(cx.name());
}

void shardtype::warnGathered(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (!cx.operand(i).isArray())
      continue;
    const Sharding &s = cx.sharding(i);
    if (!s.partitioned() && s.unreduced.empty())
      continue;
    Sharding whole = replicated(s.mesh, cx.operand(i).rank());
    cx.error(diag::OpaqueGather, cx.name(), i, s.axes() | s.unreduced)
        .mark(i)
        .fixOperand(i, whole); // opaque/warning.1
  }
}

//===--- Calls of foreign functions ---------------------------------------===//

namespace {
struct Results {
  const Value *avals = nullptr;
};
struct PureCallback : Results {
  static constexpr auto fields = std::tuple(
      ignored("callback", form::object),
      optionalValue("result_avals", &PureCallback::avals, form::avals),
      ignored("sharding", Form{form::ShardingLike}),
      ignored("vmap_method", form::choice));
};
struct IoCallback : Results {
  static constexpr auto fields = std::tuple(
      ignored("callback", form::object), ignored("ordered", form::flag),
      optionalValue("result_avals", &IoCallback::avals, form::avals),
      ignored("sharding", Form{form::ShardingLike}));
};
struct BufferCallback : Results {
  static constexpr auto fields = std::tuple(
      ignored("callback", form::object),
      optionalValue("result_avals", &BufferCallback::avals, form::avals));
};
struct FfiCall : Results {
  static constexpr auto fields = std::tuple(
      ignored("attributes", form::list),
      ignored("custom_call_api_version", form::integer),
      ignored("has_side_effect", form::flag),
      ignored("input_layouts", form::list),
      ignored("input_output_aliases", form::list),
      ignored("legacy_backend_config", form::choice),
      ignored("output_layouts", form::list),
      optionalValue("result_avals", &FfiCall::avals, form::avals),
      ignored("target_name", form::object, Hide::Never, ParamField::Name),
      ignored("vmap_method", form::choice));
};
struct CustomLin : Results {
  static constexpr auto fields = std::tuple(
      ignored("bwd", form::object, Hide::Never, ParamField::Name, "bwd"),
      ignored("in_zeros", form::flags), ignored("num_res", form::integer),
      optionalValue("out_avals", &CustomLin::avals, form::avals, Hide::Always),
      ignored("symbolic_zeros", form::flag));
};
struct Linearized {
  static constexpr auto fields = std::tuple(ignored("_prim", form::any));
};
struct OutAvals : Results {
  static constexpr auto fields =
      std::tuple(optionalValue("out_avals", &OutAvals::avals, form::avals));
};
struct DebugCallback {
  static constexpr auto fields = std::tuple(ignored("callback", form::object),
                                            ignored("effect", form::object),
                                            ignored("partitioned", form::flag));
};
struct DebugPrint {
  // Behind `fmt`, which may hold anything, a text must go on with a known key.
  const Value *placeholders = nullptr;
  static constexpr auto fields = std::tuple(
      ignored("fmt", form::object, Hide::Never, ParamField::Name),
      valueField("has_placeholders", &DebugPrint::placeholders, form::flag),
      ignored("in_tree", form::tree), ignored("logging_record", form::object),
      ignored("np_printoptions", form::list), ignored("ordered", form::flag),
      ignored("partitioned", form::flag), ignored("static_args", form::list));
};
struct PallasCall : Results {
  const Value *aliases = nullptr;
  static constexpr auto fields = std::tuple(
      optionalValue("input_output_aliases", &PallasCall::aliases, form::list),
      optionalValue("out_avals", &PallasCall::avals, form::avals));
};
} // namespace

/// manual/lost.5: what comes out depends on what goes in, whatever is declared.
static void checkVaries(TypingContext &cx) {
  AxisSet axes;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    axes |= cx.operand(i).manual.varying;
  resultsVary(cx, axes, "it is declared without");
}

/// opaque/type.1: what was declared; without a parameter that says it, what is
/// recorded.
static LogicalResult setDeclared(TypingContext &cx, ArrayRef<TypeId> declared) {
  bool said = !declared.empty() || cx.numResults() == 0;
  if (said && failed(setResults(cx, declared)))
    return failure();
  for (unsigned i = 0; i < cx.numResults() && !said; ++i) {
    TypeId type = declaredResult(cx, i);
    if (!type.valid())
      return undeclared(cx);
    cx.setResult(i, type);
  }
  checkVaries(cx);
  return success();
}

/// With `Gathers`, operands that are sharded are gathered first.
template <typename P, bool Gathers>
static LogicalResult opaque(TypingContext &cx) {
  if (Gathers)
    warnGathered(cx);
  auto types = typesOfValue(cx, cx.params<P>().avals);
  return setDeclared(cx, types.value_or(SmallVector<TypeId, 4>()));
}

/// opaque/type.6: what was declared follows the operands it was traced with, so
/// under other shardings nothing is known.
template <typename P> static LogicalResult follows(TypingContext &cx) {
  return cx.options().retyped ? undeclared(cx) : opaque<P, false>(cx);
}
static LogicalResult linearized(TypingContext &cx) {
  return cx.options().retyped ? undeclared(cx) : setDeclared(cx, {});
}

/// opaque/type.2: results that are declared without a mesh are replicated on
/// the context's.
static LogicalResult ffiCall(TypingContext &cx) {
  warnGathered(cx);
  auto types = typesOfValue(cx, cx.params<FfiCall>().avals);
  SmallVector<TypeId, 4> results = types.value_or(SmallVector<TypeId, 4>());
  if (results.empty())
    for (unsigned i = 0; i < cx.numResults(); ++i)
      if (TypeId type = declaredResult(cx, i); type.valid())
        results.push_back(type);
  for (TypeId &id : results) {
    const Type type = cx.context().type(id);
    if (type.isArray() && !type.sharding.hasMesh())
      id = cx.context().withSharding(id, replicated(cx.mesh(), type.rank()));
  }
  return setDeclared(cx, results);
}

/// opaque/type.3: nothing comes out.
static LogicalResult noResults(TypingContext &cx) { return setResults(cx, {}); }

/// opaque/type.4: as recorded, on no mesh.
static LogicalResult freshResults(TypingContext &cx) {
  warnGathered(cx);
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    TypeId id = cx.recordedResult(i);
    if (!id.valid())
      return undeclared(cx);
    unsigned rank = cx.context().type(id).rank();
    if (cx.context().type(id).isArray())
      id = cx.context().withSharding(id, replicated(MeshId(), rank));
    cx.setResult(i, id);
  }
  return success();
}

/// opaque/type.5: a kernel works on what one device holds, so nothing may be
/// sharded over Explicit axes.
static LogicalResult pallasCall(TypingContext &cx) {
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (!cx.operand(i).isArray())
      continue;
    if (failed(refuseSpecSets(cx, i)))
      return failure();
    if (cx.sharding(i).partitioned())
      return cx
          .error(diag::KernelNeedsManual, cx.name(), i, cx.arg(cx.operandId(i)))
          .mark(i)
          .fixOperand(i, replicated(cx.sharding(i).mesh, cx.operand(i).rank()));
  }
  return opaque<PallasCall, false>(cx);
}

//===--- Rows -------------------------------------------------------------===//

template <typename P>
static constexpr Primitive
row(StringRef name, Rule<LogicalResult(TypingContext &)> type,
    PrintStyle style = PrintStyle::Plain,
    EvalRule eval = NoRule{NoRule::NotImplemented,
                           "what it does is not in the program"}) {
  return {.info = {name, schemaOf<P>, style},
          .decode = decodeFor<P, 0, AnyNumber>,
          .dims = NoRule{NoRule::NotApplicable, "nothing is known of it"},
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{type},
          .eval = eval};
}

static const Primitive Rows[] = {
    row<PureCallback>("pure_callback", opaque<PureCallback, true>),
    row<IoCallback>("io_callback", opaque<IoCallback, true>),
    row<BufferCallback>("buffer_callback", opaque<BufferCallback, true>),
    row<FfiCall>("ffi_call", ffiCall),
    // What they would print is not known; values do not depend on it.
    row<DebugCallback>("debug_callback", noResults, PrintStyle::Plain,
                       eval::nothing),
    row<DebugPrint>("debug_print", noResults, PrintStyle::Plain, eval::nothing),
    row<CustomLin>("custom_lin", follows<CustomLin>),
    row<OutAvals>("unreachable", follows<OutAvals>),
    row<OutAvals>("tpu_custom_call", opaque<OutAvals, true>),
    row<OutAvals>("mpmd_map", opaque<OutAvals, true>),
    row<OutAvals>("call_exported", follows<OutAvals>),
    row<PallasCall>("pallas_call", pallasCall),
    row<Linearized>("call_hi_primitive_linearized", linearized,
                    PrintStyle::HiPrimLin),
    row<NoParams>("mosaic_gpu_p", freshResults),
    row<NoParams>("dot_product_attention_fwd", freshResults),
    row<NoParams>("dot_product_attention_fwd_wrapper", freshResults),
    row<NoParams>("dot_product_attention_bwd", freshResults),
    row<NoParams>("dot_product_attention_bwd_wrapper", freshResults),
    row<NoParams>("dot_product_attention_fp8_fwd", freshResults),
    row<NoParams>("dot_product_attention_fp8_fwd_wrapper", freshResults),
    row<NoParams>("dot_product_attention_fp8_bwd", freshResults),
    row<NoParams>("dot_product_attention_fp8_bwd_wrapper", freshResults),
};

ArrayRef<Primitive> shardtype::declared() { return Rows; }
