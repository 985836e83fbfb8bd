// RefIndex.cpp - indexing of Refs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RefIndex.h"
#include "shardtype/Rules/Manual.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;
namespace json = llvm::json;

namespace {
/// One dim of an index: a slice, or a number or array of numbers.
struct DimIndex {
  bool isSlice = false;
  std::optional<int64_t> start, size, stride; // Nothing: an operand.
  std::optional<unsigned> operand;            // Of the equation; no slice.
};
} // namespace

static std::optional<DimIndex> readIndex(const json::Value &value,
                                         unsigned firstIndex) {
  DimIndex index;
  const json::Object *object = value.getAsObject();
  if (!object) {
    index.start = value.getAsInteger();
    return index.start ? std::optional(index) : std::nullopt;
  }
  if (std::optional<int64_t> k = object->getInteger("operand")) {
    if (*k < 0 || *k > std::numeric_limits<int32_t>::max())
      return std::nullopt;
    index.operand = firstIndex + static_cast<unsigned>(*k);
    return index;
  }
  const json::Array *slice = object->getArray("slice");
  if (!slice || slice->size() < 2)
    return std::nullopt;
  index.isSlice = true;
  index.start = (*slice)[0].getAsInteger();
  index.size = (*slice)[1].getAsInteger();
  index.stride = slice->size() > 2 ? (*slice)[2].getAsInteger() : 1;
  return index;
}

/// A whole dim: the only slice of one that is sharded.
static bool isWhole(const DimIndex &index, int64_t size) {
  return index.start == 0 && index.size == size && index.stride == 1;
}

/// ref_index/sharding.1, .2
static LogicalResult checkIndexed(TypingContext &cx, const Type &type,
                                  ArrayRef<DimIndex> indices) {
  if (type.sharding.hasUR()) // ref_index/reduction.1
    return cx.error(diag::SpecIteration, cx.name()).mark(0);
  if (!type.sharding.partitioned())
    return success();
  for (auto [d, index] : llvm::enumerate(indices))
    if (!index.isSlice)
      return cx.error(diag::RefIndexSharded, d)
          .mark(0, static_cast<int>(d)); // ref_index/sharding.1
  for (auto [d, index] : llvm::enumerate(indices))
    if (!type.sharding.dims[d].empty() && !isWhole(index, type.shape[d]))
      return cx
          .error(diag::RefSliceSharded, d,
                 str(cx.context(), type.sharding.mesh,
                     AxisSet::of(type.sharding.dims[d])))
          .mark(0, static_cast<int>(d)); // ref_index/sharding.2
  return success();
}

/// The dims that numbers leave: those of the arrays among them.
static FailureOr<Shape> numberShape(TypingContext &cx,
                                    ArrayRef<DimIndex> indices) {
  Shape shape;
  for (const DimIndex &index : indices) {
    if (index.isSlice || !index.operand)
      continue;
    if (*index.operand >= cx.numOperands() ||
        !cx.operand(*index.operand).isArray())
      return cx.error(diag::ShapeInvalid,
                      "an index of the Ref is no operand of its equation");
    if (cx.shape(*index.operand).size() > shape.size())
      shape.assign(cx.shape(*index.operand).begin(),
                   cx.shape(*index.operand).end());
  }
  return shape;
}

/// ref_index/shape.1: slices keep their dims in order; dims of numbers stand
/// where the first number is, or in front if slices are between them.
static FailureOr<Shape> indexedShape(TypingContext &cx,
                                     ArrayRef<DimIndex> indices) {
  Shape slices;
  std::optional<unsigned> first;
  unsigned runs = 0;
  for (auto [d, index] : llvm::enumerate(indices)) {
    if (!index.isSlice) {
      first = first ? first : static_cast<unsigned>(slices.size());
      runs += d == 0 || indices[d - 1].isSlice;
      continue;
    }
    if (!index.size || *index.size < 0)
      return cx.error(diag::ShapeInvalid,
                      "a slice of the Ref has a size that is not known");
    slices.push_back(*index.size);
  }
  FailureOr<Shape> numbers = numberShape(cx, indices);
  if (failed(numbers) || !first)
    return failed(numbers) ? numbers : FailureOr<Shape>(slices);
  slices.insert(slices.begin() + (runs == 1 ? *first : 0), numbers->begin(),
                numbers->end());
  return slices;
}

static FailureOr<TypeId> indexed(TypingContext &cx, TypeId id,
                                 const json::Array &list, unsigned firstIndex) {
  Type type = cx.context().type(id);
  SmallVector<DimIndex, 4> indices;
  for (const json::Value &value : list)
    if (auto index = readIndex(value, firstIndex))
      indices.push_back(*index);
  if (indices.size() != list.size() || indices.size() != type.rank())
    return cx.error(diag::ShapeInvalid,
                    "the index has " + std::to_string(list.size()) +
                        " parts for a Ref of " +
                        cx.arg(id)); // ref_index/shape.2
  if (failed(checkIndexed(cx, type, indices)))
    return failure();
  FailureOr<Shape> shape = indexedShape(cx, indices);
  if (failed(shape))
    return failure();
  type.shape = *shape;
  type.sharding.dims.resize(shape->size()); // ref_index/sharding.3
  FailureOr<TypeId> part = cx.makeType(type.shape, type.dtype, type.sharding,
                                       type.weak, type.memory);
  if (failed(part) || type.manual.trivial())
    return part;
  return withManual(cx.context(), *part, type.manual, type.sharding.mesh);
}

/// ref_index/type.1: a transform that only its text describes. Whole Refs only;
/// the result has the shape that is recorded.
static FailureOr<TypeId> otherwise(TypingContext &cx, TypeId id,
                                   unsigned firstIndex) {
  const Type type = cx.context().type(id);
  if (type.sharding.partitioned() || type.sharding.hasUR())
    return cx
        .error(diag::RuleMissingBare, cx.name(),
               "a Ref that is sharded and taken as another shape or dtype")
        .mark(0);
  TypeId shown = firstIndex == 1 ? cx.recordedResult(0) : cx.operandId(1);
  if (!shown.valid() || !cx.context().type(shown).isArray()) {
    (void)cx.unknownPrimitive(cx.name());
    return failure();
  }
  unsigned rank = cx.context().type(shown).rank();
  return cx.context().withSharding(shown, replicated(type.sharding.mesh, rank));
}

FailureOr<TypeId> shardtype::refPart(TypingContext &cx, unsigned firstIndex) {
  if (cx.operand(0).kind != Type::Ref)
    return cx
        .error(diag::ShapeInvalid, "'" + cx.name().str() +
                                       "' takes a Ref, not " +
                                       cx.arg(cx.operandId(0)))
        .mark(0); // ref/type.1
  TypeId id = cx.operand(0).inner;
  if (cx.derived().empty())
    return cx.numOperands() == firstIndex ? FailureOr<TypeId>(id)
                                          : otherwise(cx, id, firstIndex);
  llvm::Expected<json::Value> value = json::parse(cx.derived());
  const json::Array *list = nullptr;
  if (!value)
    llvm::consumeError(value.takeError());
  else if (const json::Object *object = value->getAsObject())
    list = object->getArray("transforms");
  if (!list)
    return otherwise(cx, id, firstIndex);
  for (const json::Value &transform : *list) {
    const json::Object *object = transform.getAsObject();
    const json::Array *index = object ? object->getArray("index") : nullptr;
    if (!cx.context().type(id).isArray())
      return cx.error(diag::ShapeInvalid, "a Ref of no array cannot be indexed")
          .mark(0);
    FailureOr<TypeId> part = index ? indexed(cx, id, *index, firstIndex)
                                   : otherwise(cx, id, firstIndex);
    if (failed(part) || !index)
      return part;
    id = *part;
  }
  return id;
}
