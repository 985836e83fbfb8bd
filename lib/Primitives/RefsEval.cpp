// RefsEval.cpp - making, reading and writing Refs, as it is evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an index names is a list of places in the Ref's array, in the order of
// the elements that are read or written. The whole array needs no list.
#include "RefsEval.h"
#include "shardtype/Kernels/Index.h"
#include "shardtype/Kernels/Shape.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/Support/JSON.h"
#include <cstring>

using namespace shardtype;
namespace json = llvm::json;

namespace {
/// Part of an array: everything, or these elements.
struct Part {
  bool whole = true;
  SmallVector<int64_t, 6> shape;
  std::vector<int64_t> places;
};
/// The numbers along one dim of an index.
struct DimNumbers {
  bool isSlice = false;
  std::vector<int64_t> numbers;
};
} // namespace

//===--- Indices ----------------------------------------------------------===//

static std::optional<int64_t> scalarOf(EvalContext &cx, const json::Value &v,
                                       unsigned first) {
  if (auto number = v.getAsInteger())
    return number;
  const json::Object *object = v.getAsObject();
  auto k = object ? object->getInteger("operand") : std::nullopt;
  if (!k || *k < 0 || first + *k >= cx.numOperands())
    return std::nullopt;
  const Tensor &t = cx.operand(first + static_cast<unsigned>(*k));
  if (!isInteger(t.dtype()) || t.size() != 1)
    return std::nullopt;
  return kernels::integerAt(t, 0);
}

/// One entry of an index; arrays of numbers set `numbersShape`.
static LogicalResult readDim(EvalContext &cx, const json::Value &value,
                             unsigned first, DimNumbers &dim,
                             SmallVectorImpl<int64_t> &numbersShape) {
  const json::Object *object = value.getAsObject();
  if (const json::Array *slice = object ? object->getArray("slice") : nullptr) {
    if (slice->size() < 2)
      return cx.fail("has a slice that cannot be read");
    auto start = scalarOf(cx, (*slice)[0], first),
         size = (*slice)[1].getAsInteger();
    auto stride = slice->size() > 2 ? (*slice)[2].getAsInteger()
                                    : std::optional<int64_t>(1);
    if (!start || !size || !stride)
      return cx.fail("has a slice that cannot be read");
    dim.isSlice = true;
    for (int64_t i = 0; i < *size; ++i)
      dim.numbers.push_back(*start + i * *stride);
    return success();
  }
  if (auto number = scalarOf(cx, value, first)) {
    dim.numbers.push_back(*number);
    return success();
  }
  auto k = object ? object->getInteger("operand") : std::nullopt;
  if (!k || *k < 0 || first + *k >= cx.numOperands() ||
      !isInteger(cx.operand(first + static_cast<unsigned>(*k)).dtype()))
    return cx.fail("has an index that cannot be read");
  const Tensor &t = cx.operand(first + static_cast<unsigned>(*k));
  for (int64_t i = 0; i < t.size(); ++i)
    dim.numbers.push_back(kernels::integerAt(t, i));
  if (t.rank() > numbersShape.size())
    numbersShape.assign(t.shape().begin(), t.shape().end());
  return success();
}

/// Goes through all indices of a shape, row-major.
static void forEachIndex(ArrayRef<int64_t> shape,
                         llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t, 6> index(shape.size());
  while (true) {
    visit(index);
    size_t d = shape.size();
    for (; d > 0; --d) {
      if (++index[d - 1] < shape[d - 1])
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

/// ref_index/shape.1: slices keep their dims; dims of numbers stand where the
/// first number is, or in front if slices are between them.
static LogicalResult applyIndex(EvalContext &cx, const json::Array &list,
                                unsigned first, Part &part) {
  if (list.size() != part.shape.size())
    return cx.fail("has an index of another rank than the Ref");
  SmallVector<DimNumbers, 4> dims(list.size());
  SmallVector<int64_t, 4> numbersShape, slices;
  std::optional<size_t> firstNumber;
  unsigned runs = 0;
  for (auto [d, value] : llvm::enumerate(list)) {
    DimNumbers &dim = dims[d];
    if (failed(readDim(cx, value, first, dim, numbersShape)))
      return failure();
    for (int64_t number : dim.numbers)
      if (number < 0 || number >= part.shape[d])
        return cx.fail("reads or writes " + llvm::Twine(number) + " of dim " +
                       llvm::Twine(d) + ", which has " +
                       llvm::Twine(part.shape[d]) + " entries");
    if (dim.isSlice) {
      slices.push_back(static_cast<int64_t>(dim.numbers.size()));
      continue;
    }
    firstNumber = firstNumber.value_or(slices.size());
    runs += d == 0 || dims[d - 1].isSlice == true;
  }
  size_t at = runs == 1 ? *firstNumber : 0;
  SmallVector<int64_t, 6> shape(slices.begin(), slices.end());
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(at), numbersShape.begin(),
               numbersShape.end());
  SmallVector<int64_t, 6> strides = rowMajorStrides(part.shape),
                          numberStrides = rowMajorStrides(numbersShape);
  std::vector<int64_t> places;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t number = 0, place = 0;
    for (size_t k = 0; k < numbersShape.size(); ++k)
      number += index[at + k] * numberStrides[k];
    size_t slice = 0;
    for (auto [d, dim] : llvm::enumerate(dims)) {
      size_t which;
      if (dim.isSlice) {
        size_t position = slice < at ? slice : slice + numbersShape.size();
        which = static_cast<size_t>(index[position]);
        ++slice;
      } else {
        which = dim.numbers.size() == 1 ? 0 : static_cast<size_t>(number);
      }
      place += dim.numbers[which] * strides[d];
    }
    places.push_back(part.whole ? place
                                : part.places[static_cast<size_t>(place)]);
  });
  part.whole = false;
  part.places = std::move(places);
  part.shape = std::move(shape);
  return success();
}

/// What the equation's index names; its operands begin at `first`.
static LogicalResult partOf(EvalContext &cx, unsigned first, Part &part) {
  const Tensor &value = cx.datum(0).cell->value;
  part.shape.assign(value.shape().begin(), value.shape().end());
  if (cx.derived().empty()) {
    if (cx.numOperands() == first)
      return success();
    return cx.fail("has an index that is not in the program");
  }
  llvm::Expected<json::Value> parsed = json::parse(cx.derived());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return cx.fail("has an index that cannot be read");
  }
  const json::Object *object = parsed->getAsObject();
  const json::Array *list = object ? object->getArray("transforms") : nullptr;
  if (!list)
    return cx.fail("has an index that cannot be read");
  for (const json::Value &transform : *list) {
    const json::Object *one = transform.getAsObject();
    const json::Array *index = one ? one->getArray("index") : nullptr;
    if (!index)
      return cx.fail("takes the Ref in a way that only its text says");
    if (failed(applyIndex(cx, *index, first, part)))
      return failure();
  }
  return success();
}

static AxisSet varyingOf(EvalContext &cx) {
  AxisSet axes = cx.control();
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    axes |= cx.datum(i).varying;
  return axes;
}

static Tensor read(const Tensor &from, const Part &part) {
  if (part.whole)
    return from;
  Tensor result = Tensor::uninitialised(from.dtype(), part.shape);
  dispatchSize(itemSize(from.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto source = from.as<T>();
    for (auto [to, place] : llvm::zip_equal(result.fill<T>(), part.places))
      to = source[static_cast<size_t>(place)];
  });
  return result;
}

//===--- Rows -------------------------------------------------------------===//

LogicalResult shardtype::newRefEval(EvalContext &cx) {
  Datum value = cx.takeDatum(0);
  Datum ref;
  ref.varying = value.varying;
  ref.cell = std::make_shared<RefCell>(
      RefCell{std::move(value.tensor), value.varying | cx.control()});
  cx.setDatum(0, std::move(ref));
  return success();
}

LogicalResult shardtype::emptyRefEval(EvalContext &cx) {
  const Type &inner = cx.context().type(cx.resultType().inner);
  if (!inner.isArray())
    return cx.fail("makes a Ref of something that is no array");
  Datum ref;
  ref.cell = std::make_shared<RefCell>(
      RefCell{Tensor::zeros(inner.dtype, inner.shape), cx.control()});
  cx.setDatum(0, std::move(ref));
  return success();
}

LogicalResult shardtype::freezeEval(EvalContext &cx) {
  const RefCell &cell = *cx.datum(0).cell;
  cx.setDatum(0, Datum(cell.value, cell.varying));
  return success();
}

LogicalResult shardtype::getEval(EvalContext &cx) {
  Part part;
  if (failed(partOf(cx, 1, part)))
    return failure();
  const RefCell &cell = *cx.datum(0).cell;
  cx.setDatum(0, Datum(read(cell.value, part), cell.varying));
  return success();
}

LogicalResult shardtype::swapEval(EvalContext &cx) {
  Part part;
  if (failed(partOf(cx, 2, part)))
    return failure();
  RefCell &cell = *cx.datum(0).cell;
  AxisSet before = cell.varying;
  cell.varying |= varyingOf(cx);
  Tensor value = cx.take(1);
  if (part.whole) {
    std::swap(cell.value, value);
    cx.setDatum(0, Datum(std::move(value), before));
    return success();
  }
  cx.setDatum(0, Datum(read(cell.value, part), before));
  cell.value.makeUnique();
  dispatchSize(itemSize(value.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto to = cell.value.fill<T>();
    for (auto [x, place] : llvm::zip_equal(value.as<T>(), part.places))
      to[static_cast<size_t>(place)] = x;
  });
  return success();
}

LogicalResult shardtype::addUpdateEval(EvalContext &cx) {
  Part part;
  if (failed(partOf(cx, 2, part)))
    return failure();
  RefCell &cell = *cx.datum(0).cell;
  cell.varying |= varyingOf(cx);
  const Tensor &value = cx.operand(1);
  if (info(value.dtype()).kind == DTypeKind::Bool ||
      info(value.dtype()).kind == DTypeKind::Float0 || isKey(value.dtype()))
    return cx.fail("adds values that are no numbers");
  cell.value.makeUnique();
  dispatchNumber(value.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    auto to = cell.value.fill<T>();
    auto from = value.as<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      T &x = to[part.whole ? i : static_cast<size_t>(part.places[i])];
      if constexpr (std::is_integral_v<C>)
        x = static_cast<T>(static_cast<std::make_unsigned_t<C>>(
            static_cast<std::make_unsigned_t<C>>(static_cast<C>(x)) +
            static_cast<std::make_unsigned_t<C>>(static_cast<C>(from[i]))));
      else
        x = static_cast<T>(static_cast<C>(x) + static_cast<C>(from[i]));
    }
  });
  return success();
}

LogicalResult shardtype::broadcastToEval(EvalContext &cx) {
  SmallVector<int64_t, 6> dims;
  auto missing =
      static_cast<int64_t>(cx.resultShape().size()) - cx.operand(0).rank();
  for (unsigned i = 0; i < cx.operand(0).rank(); ++i)
    dims.push_back(missing + i);
  cx.setResult(0,
               kernels::broadcastInDim(cx.operand(0), cx.resultShape(), dims));
  return success();
}
