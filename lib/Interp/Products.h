// Products.h - products that are only transposed, as one step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_PRODUCTS_H
#define SHARDTYPE_LIB_INTERP_PRODUCTS_H

#include "shardtype/IR/Program.h"
#include "shardtype/Rules/Eval.h"

namespace shardtype::interp {

/// The parameters of `evalExchanged` if an equation `transpose` of the result
/// of a `dot_general` gives what that gives with its operands exchanged, bit
/// for bit; else null. `types` are those of the product's operands
/// and its result.
std::shared_ptr<const void> exchangedProduct(const Program &program,
                                             const Eqn &product,
                                             const Eqn &transpose,
                                             ArrayRef<TypeId> types);
LogicalResult evalExchanged(EvalContext &cx);

} // namespace shardtype::interp

#endif
