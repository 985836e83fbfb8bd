// Products.cpp - products that are only transposed, as one step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a weight is a product and its transpose: with the operands
// exchanged it is written once, in its final order.
#include "Products.h"
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Rules/Params.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;
using namespace shardtype::interp;

/// Batch dims stay; the free dims of the rhs come before those of the lhs.
static bool exchangesFreeDims(ArrayRef<int64_t> permutation, int64_t batch,
                              int64_t lhsFree) {
  auto rank = static_cast<int64_t>(permutation.size());
  SmallVector<int64_t, 6> wanted;
  llvm::append_range(wanted, llvm::seq<int64_t>(0, batch));
  llvm::append_range(wanted, llvm::seq<int64_t>(batch + lhsFree, rank));
  llvm::append_range(wanted, llvm::seq<int64_t>(batch, batch + lhsFree));
  return permutation == ArrayRef<int64_t>(wanted);
}

std::shared_ptr<const void> interp::exchangedProduct(const Program &program,
                                                     const Eqn &product,
                                                     const Eqn &transpose,
                                                     ArrayRef<TypeId> types) {
  ValueId dims = program.param(product.params, "dimension_numbers");
  ValueId order = program.param(transpose.params, "permutation");
  DotDims numbers;
  SmallVector<int64_t, 6> permutation;
  if (!dims.valid() || !order.valid() ||
      !readParam(program, program.value(dims), numbers) ||
      !readParam(program, program.value(order), permutation) ||
      numbers.lhsContract.size() != 1)
    return nullptr;
  for (TypeId id : types)
    if (!id.valid() || program.context().type(id).dtype != DType::F32)
      return nullptr;
  const Type &lhs = program.context().type(types[0]);
  auto batch = static_cast<int64_t>(numbers.lhsBatch.size());
  auto lhsFree = static_cast<int64_t>(lhs.shape.size()) - batch - 1;
  int64_t terms = lhs.shape[static_cast<size_t>(numbers.lhsContract[0])];
  if (!kernels::sumsInOrder(terms) ||
      !exchangesFreeDims(permutation, batch, lhsFree))
    return nullptr;
  std::swap(numbers.lhsContract, numbers.rhsContract);
  std::swap(numbers.lhsBatch, numbers.rhsBatch);
  return std::make_shared<const DotDims>(std::move(numbers));
}

LogicalResult interp::evalExchanged(EvalContext &cx) {
  const auto &n = cx.params<DotDims>();
  cx.setResult(0, kernels::dotGeneral(
                      cx.operand(1), cx.operand(0),
                      {n.lhsContract, n.rhsContract, n.lhsBatch, n.rhsBatch},
                      cx.resultDType()));
  return success();
}
