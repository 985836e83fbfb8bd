// IndexDims.cpp - dimension numbers of gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IndexDims.h"
#include "shardtype/Rules/Params.h"

using namespace shardtype;

ErrorBuilder shardtype::indexError(TypingContext &cx,
                                   const std::string &message,
                                   diag::Code code) {
  return cx.error(code, "'" + cx.name().str() + "': " + message);
}

LogicalResult shardtype::checkIndexDType(TypingContext &cx) {
  if (isInteger(cx.operand(1).dtype))
    return success();
  return indexError(cx,
                    "indices are integers, but are " + cx.arg(cx.operandId(1)),
                    diag::ShapeInvalid)
      .mark(1);
}

LogicalResult shardtype::readDimNumbers(TypingContext &cx, const Value &numbers,
                                        ArrayRef<DimNumber> fields) {
  for (const DimNumber &field : fields) {
    const Value *value = structField(cx.program(), numbers, field.name);
    if (value && !readParam(cx.program(), *value, *field.dims))
      return cx
          .error(diag::ParamInvalid, "dimension_numbers",
                 field.name.str() + " is no list of dims")
          .markParam("dimension_numbers");
  }
  return success();
}

LogicalResult shardtype::checkDimList(TypingContext &cx, StringRef name,
                                      ArrayRef<int64_t> dims, int64_t rank,
                                      bool sorted) {
  for (unsigned i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= rank)
      return indexError(cx, name.str() + " holds " + std::to_string(dims[i]) +
                                ", which is no dim below " +
                                std::to_string(rank));
    if (llvm::is_contained(dims.take_front(i), dims[i]))
      return indexError(cx, name.str() + " holds " + std::to_string(dims[i]) +
                                " twice");
    if (sorted && i && dims[i] < dims[i - 1])
      return indexError(cx, name.str() + " must be ascending");
  }
  return success();
}

LogicalResult shardtype::checkBatchingDims(TypingContext &cx,
                                           ArrayRef<int64_t> operand,
                                           ArrayRef<int64_t> indices,
                                           ArrayRef<ArrayRef<int64_t>> others) {
  if (operand.size() != indices.size())
    return indexError(cx, "operand and indices need equally many batching "
                          "dims");
  for (auto [o, i] : llvm::zip_equal(operand, indices)) {
    for (ArrayRef<int64_t> other : others)
      if (llvm::is_contained(other, o))
        return indexError(cx, "dim " + std::to_string(o) +
                                  " is a batching dim and indexed or dropped "
                                  "as well");
    if (cx.shape(0)[o] != cx.shape(1)[i])
      return indexError(cx, "batching dims " + std::to_string(o) + " and " +
                                std::to_string(i) + " differ in size: " +
                                std::to_string(cx.shape(0)[o]) + " and " +
                                std::to_string(cx.shape(1)[i]));
  }
  return success();
}
