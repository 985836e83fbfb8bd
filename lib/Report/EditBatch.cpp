// EditBatch.cpp - edits of calls that run under vmap.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under vmap an equation has dims that the user's expression has not. A
// recording says which (docs/spec/export.md, E39). The spec that the user
// writes is without them; JAX gives the dim that vmap added the axes of the
// operands' own, so a fix that wants others there cannot be written in the
// call.
#include "EditsImpl.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

/// A list of lists of dims; null, or anything else, is not known.
static std::vector<BatchDims::Dims> readDims(const llvm::json::Array *list) {
  std::vector<BatchDims::Dims> out;
  if (!list)
    return out;
  for (const llvm::json::Value &item : *list) {
    BatchDims::Dims &dims = out.emplace_back();
    const llvm::json::Array *numbers = item.getAsArray();
    if (!numbers)
      continue;
    dims.emplace();
    for (const llvm::json::Value &number : *numbers)
      dims->push_back(number.getAsInteger().value_or(-1));
  }
  return out;
}

BatchDims shardtype::batchDims(const Program &program, EqnId eqn) {
  BatchDims out;
  EqnInfoId info = program.eqn(eqn).info;
  StringId derived = info.valid() ? program.info(info).derived : StringId();
  if (!derived.valid() || !program.context().str(derived).contains("\"batch\""))
    return out;
  auto parsed = llvm::json::parse(program.context().str(derived));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return out;
  }
  const llvm::json::Object *object = parsed->getAsObject();
  const llvm::json::Object *batch =
      object ? object->getObject("batch") : nullptr;
  if (!batch)
    return out;
  out.operands = readDims(batch->getArray("in"));
  out.results = readDims(batch->getArray("out"));
  return out;
}

/// Has the sharding, at the dims that vmap added, the axes that the operands
/// have at theirs?
static bool inherits(const Context &cx, const Sharding &sharding,
                     ArrayRef<int64_t> added, ArrayRef<TypeId> operandTypes,
                     const BatchDims &batch) {
  std::vector<AxisList> given, wanted;
  auto collect = [](std::vector<AxisList> &out, const Sharding &from,
                    ArrayRef<int64_t> dims) {
    for (int64_t dim : dims) {
      if (dim < 0 || static_cast<size_t>(dim) >= from.dims.size())
        return false;
      if (!from.dims[dim].empty())
        out.push_back(from.dims[dim]);
    }
    return true;
  };
  for (size_t i = 0; i < operandTypes.size(); ++i) {
    const BatchDims::Dims &dims = batch.operand(i);
    if (!operandTypes[i].valid() || !cx.type(operandTypes[i]).isArray())
      continue;
    if (dims && !collect(given, cx.type(operandTypes[i]).sharding, *dims))
      return false;
  }
  if (!collect(wanted, sharding, added))
    return false;
  auto isIn = [](const std::vector<AxisList> &list) {
    return [&](const AxisList &axes) { return llvm::is_contained(list, axes); };
  };
  return llvm::all_of(wanted, isIn(given)) && llvm::all_of(given, isIn(wanted));
}

std::optional<std::string> Edits::Impl::ownSpec(const Failing &f,
                                                Sharding sharding,
                                                ArrayRef<int64_t> order,
                                                const BatchDims::Dims &added) {
  if (f.vmapped) {
    if (!added || (!added->empty() &&
                   !inherits(cx, sharding, *added, f.operandTypes, f.batch)))
      return std::nullopt;
  }
  SmallVector<AxisList, 4> dims(sharding.dims);
  sharding.dims.clear();
  for (int64_t dim : order)
    if (!f.vmapped || !llvm::is_contained(*added, dim))
      sharding.dims.push_back(dims[dim]);
  return pasteable(cx, sharding);
}
