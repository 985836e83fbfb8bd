// Refs.cpp - making, reading and writing Refs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Declared.h"
#include "Families.h"
#include "RefIndex.h"
#include "RefsEval.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

namespace {
struct NewRef {
  const Value *space = nullptr;
  static constexpr auto fields =
      std::tuple(ignored("kind", form::choice),
                 optionalValue("memory_space", &NewRef::space, form::object),
                 ignored("pin", form::flag));
};
struct EmptyRef {
  const Value *space = nullptr, *type = nullptr;
  static constexpr auto fields =
      std::tuple(optionalValue("memory_space", &EmptyRef::space, form::object),
                 ignored("pin", form::flag),
                 valueField("ty", &EmptyRef::type, form::avals));
};
struct Tree {
  static constexpr auto fields = std::tuple(ignored("tree", form::tree));
};
struct BroadcastTo {
  SmallVector<int64_t, 4> shape;
  static constexpr auto fields =
      std::tuple(field("shape", &BroadcastTo::shape));
};
struct Space {
  const Value *space = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("memory_space", &Space::space, form::object));
};
struct Linear {
  static constexpr auto fields = std::tuple(
      ignored("memory_space", form::object), ignored("ty", form::any));
};
struct Pin {
  static constexpr auto fields = std::tuple(ignored("to", form::choice));
};
} // namespace

//===--- Making Refs ------------------------------------------------------===//

/// As it prints between `Ref<` and `>`; empty for none.
static std::string spaceText(TypingContext &cx, const Value *space) {
  if (!space || space->kind == Value::None || !space->text.valid())
    return {};
  std::string text = cx.context().str(space->text).str();
  if (space->kind == Value::Enum && space->text2.valid())
    text += "." + cx.context().str(space->text2).str();
  return text;
}

static TypeId refOf(TypingContext &cx, TypeId inner, StringRef space) {
  Type ref;
  ref.kind = Type::Ref;
  if (cx.context().type(inner).isArray()) {
    Type held = cx.context().type(inner);
    held.weak = false;
    held.memory = MemorySpace::Device; // The Ref has the space.
    inner = cx.context().intern(held);
  }
  ref.inner = inner;
  if (!space.empty())
    ref.text = cx.context().intern(space);
  return cx.context().intern(ref);
}

/// new_ref/type.1: a Ref of the value's type, strong, in its memory space.
static LogicalResult newRef(TypingContext &cx) {
  if (cx.operand(0).kind == Type::Ref)
    return cx.error(diag::ShapeInvalid, "a Ref holds no Ref").mark(0);
  std::string space = spaceText(cx, cx.params<NewRef>().space);
  if (space.empty() && cx.operand(0).isArray())
    switch (cx.operand(0).memory) {
    case MemorySpace::Device:
      break;
    case MemorySpace::Host:
      space = "MemorySpace.Host";
      break;
    case MemorySpace::Any:
      space = "MemorySpace.Any";
      break;
    }
  return setResults(cx, {refOf(cx, cx.operandId(0), space)});
}

/// empty_ref/type.1: a Ref of the type `ty`.
static LogicalResult emptyRef(TypingContext &cx) {
  const auto &p = cx.params<EmptyRef>();
  if (auto type = typeOfValue(cx, *p.type))
    return setResults(cx, {refOf(cx, *type, spaceText(cx, p.space))});
  TypeId recorded = declaredResult(cx, 0);
  return recorded.valid() ? setResults(cx, {recorded}) : undeclared(cx);
}

static LogicalResult needsRef(TypingContext &cx) {
  if (cx.operand(0).kind == Type::Ref)
    return success();
  return cx
      .error(diag::ShapeInvalid, "'" + cx.name().str() + "' takes a Ref, not " +
                                     cx.arg(cx.operandId(0)))
      .mark(0);
}

/// ref/type.1, freeze/type.1: what the Ref holds.
static LogicalResult freeze(TypingContext &cx) {
  if (failed(needsRef(cx)))
    return failure();
  return setResults(cx, {cx.operand(0).inner});
}

/// ref/type.2
static LogicalResult freeRef(TypingContext &cx) {
  if (failed(needsRef(cx)))
    return failure();
  return setResults(cx, {});
}

/// ref/type.3
static LogicalResult sameType(TypingContext &cx) {
  return setResults(cx, {cx.operandId(0)});
}

//===--- Reading and writing ----------------------------------------------===//

/// What its operands from the `first` on vary over.
static AxisSet indexVarying(TypingContext &cx, unsigned first) {
  AxisSet axes;
  for (unsigned i = first; i < cx.numOperands(); ++i)
    axes |= cx.operand(i).manual.varying;
  return axes;
}

/// get/type.1: what is read has the type of that part of the Ref.
static LogicalResult get(TypingContext &cx) {
  FailureOr<TypeId> part = refPart(cx, 1);
  if (failed(part))
    return failure();
  const Type type = cx.context().type(*part);
  AxisSet lost = indexVarying(cx, 1) - type.manual.varying;
  if (type.isArray() && !lost.empty() && cx.options().vma == Vma::On)
    warnVariationLost(cx, lost,
                      "JAX does not look at the index"); // ref/manual.2
  if (type.isArray() && !lost.empty() && cx.options().vma == Vma::Infer) {
    ManualAxisType state = type.manual;
    state.varying |= lost;
    return setResults(
        cx, {withManual(cx.context(), *part, state, type.sharding.mesh)});
  }
  return setResults(cx, {*part});
}

/// ref/manual.1: what is stored varies over what the Ref does, and the index
/// over nothing more.
static LogicalResult checkStoredVarying(TypingContext &cx) {
  const Type &inner = cx.context().type(cx.operand(0).inner);
  if (cx.options().vma != Vma::On || !inner.isArray())
    return success();
  AxisSet ref = inner.manual.varying, value = cx.operand(1).manual.varying;
  bool indexFits = ref.contains(indexVarying(cx, 2));
  if (value == ref && indexFits)
    return success();
  ErrorBuilder error =
      cx.error(diag::RefStoreVaries, cx.name(), cx.arg(cx.operandId(1)),
               cx.arg(cx.operandId(0)));
  error.mark(0).mark(1);
  if (indexFits && ref.contains(value)) {
    ManualAxisType to = cx.operand(1).manual;
    to.varying = ref;
    to.reduced = to.reduced - ref;
    error.castOperand(1, to);
  }
  return error;
}

/// swap/shape.1: what is stored has the part's shape and dtype.
static LogicalResult checkStored(TypingContext &cx, TypeId part) {
  const Type &to = cx.context().type(part), &value = cx.operand(1);
  if (value.kind == Type::Ref)
    return cx.error(diag::ShapeInvalid, "a Ref cannot be stored in a Ref")
        .mark(1);
  if (!to.isArray() ||
      (value.isArray() && value.shape == to.shape && value.dtype == to.dtype))
    return success();
  return cx
      .error(diag::ShapeInvalid, "the Ref takes " + cx.arg(part) +
                                     " there, but the value is " +
                                     cx.arg(cx.operandId(1)))
      .mark(0)
      .mark(1);
}

static bool anyExplicit(TypingContext &cx, const Sharding &sharding) {
  return cx.context().meshOrEmpty(sharding.mesh).anyExplicit();
}

/// swap/type.1: what was there before.
static LogicalResult swap(TypingContext &cx) {
  FailureOr<TypeId> part = refPart(cx, 2);
  if (failed(part) || failed(checkStored(cx, *part)) ||
      failed(checkStoredVarying(cx)))
    return failure();
  const Type &to = cx.context().type(*part);
  if (to.isArray() && cx.sharding(1).hasMesh() &&
      anyExplicit(cx, cx.sharding(1)) && cx.sharding(1) != to.sharding)
    cx.error(diag::RefStoreSharding, cx.sharding(1), to.sharding)
        .mark(0)
        .mark(1)
        .fixOperand(1, to.sharding); // swap/sharding.1
  return setResults(cx, {*part});
}

/// addupdate/type.1: nothing comes out.
static LogicalResult addUpdate(TypingContext &cx) {
  FailureOr<TypeId> part = refPart(cx, 2);
  if (failed(part) || failed(checkStored(cx, *part)) ||
      failed(checkStoredVarying(cx)))
    return failure();
  const Type &to = cx.context().type(*part);
  if (to.isArray() && cx.sharding(1) != to.sharding &&
      (anyExplicit(cx, to.sharding) || anyExplicit(cx, cx.sharding(1)))) {
    ErrorBuilder error =
        cx.error(diag::RefUpdateSharding, to.sharding, cx.sharding(1));
    error.mark(0).mark(1);
    if (to.sharding.hasMesh())
      error.fixOperand(1, to.sharding);
    return error; // addupdate/sharding.1
  }
  return setResults(cx, {});
}

//===--- Other primitives of state ----------------------------------------===//

/// broadcast_to/type.1: an index of another shape, on no mesh.
static LogicalResult broadcastTo(TypingContext &cx) {
  const auto &p = cx.params<BroadcastTo>();
  if (!cx.operand(0).isArray())
    return cx
        .error(diag::DTypeMismatch,
               "'broadcast_to' takes arrays, not " + cx.arg(cx.operandId(0)))
        .mark(0);
  FailureOr<TypeId> type = cx.makeType(p.shape, cx.operand(0).dtype,
                                       replicated(MeshId(), p.shape.size()));
  if (failed(type))
    return failure();
  return setResults(cx, {*type});
}

/// with_memory_space_constraint/type.1: the operand in another memory space.
static LogicalResult constrainSpace(TypingContext &cx) {
  if (!cx.operand(0).isArray())
    return cx
        .error(diag::RuleMissingBare, cx.name(), "values that are no arrays")
        .mark(0);
  std::string space = spaceText(cx, cx.params<Space>().space);
  StringRef name = StringRef(space).rsplit('.').second;
  Type type = cx.operand(0);
  type.memory = name == "Host" || space == "host" ? MemorySpace::Host
                : name == "Any" || space == "any" ? MemorySpace::Any
                                                  : MemorySpace::Device;
  return setResults(cx, {cx.context().intern(type)});
}

/// linear_buffer/type.1: as recorded; there is no notation for such types.
static LogicalResult asRecorded(TypingContext &cx) {
  if (cx.options().retyped)
    return undeclared(cx);
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    TypeId type = declaredResult(cx, i);
    if (!type.valid())
      return undeclared(cx);
    cx.setResult(i, type);
  }
  return success();
}

template <typename P, unsigned Min, unsigned Max = Min>
static constexpr Primitive row(PrimitiveInfo info,
                               Rule<LogicalResult(TypingContext &)> type,
                               EvalRule eval) {
  return {.info = info,
          .decode = decodeFor<P, Min, Max>,
          .dims = NoRule{NoRule::NotApplicable, "it moves no dims"},
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{type},
          .eval = eval};
}

static const Primitive Rows[] = {
    row<NewRef, 1>({"new_ref", schemaOf<NewRef>}, newRef, newRefEval),
    row<EmptyRef, 0>({"empty_ref", schemaOf<EmptyRef>}, emptyRef, emptyRefEval),
    row<NoParams, 1>({"freeze", schemaOf<NoParams>}, freeze, freezeEval),
    row<NoParams, 1>({"free_ref", schemaOf<NoParams>}, freeRef, eval::nothing),
    row<NoParams, 1>({"accum_grad_in_ref", schemaOf<NoParams>}, sameType,
                     eval::pass),
    row<Tree, 1, AnyNumber>({"get", schemaOf<Tree>, PrintStyle::RefGet}, get,
                            getEval),
    row<Tree, 2, AnyNumber>({"swap", schemaOf<Tree>, PrintStyle::RefSwap}, swap,
                            swapEval),
    row<Tree, 2, AnyNumber>({"addupdate", schemaOf<Tree>, PrintStyle::RefAdd},
                            addUpdate, addUpdateEval),
    row<BroadcastTo, 1>({"broadcast_to", schemaOf<BroadcastTo>}, broadcastTo,
                        broadcastToEval),
    row<Space, 1>({"with_memory_space_constraint", schemaOf<Space>},
                  constrainSpace, eval::pass),
    row<Linear, 0>({"create_linear", schemaOf<Linear>}, asRecorded,
                   NoRule{NoRule::NotApplicable, "nothing wrote its value"}),
    row<Pin, 1>({"pin", schemaOf<Pin>}, asRecorded, eval::pass),
    row<NoParams, 1>({"unpin", schemaOf<NoParams>}, asRecorded, eval::pass),
};

ArrayRef<Primitive> shardtype::refs() { return Rows; }
