// Index.h - reading and writing at places that values name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_INDEX_H
#define SHARDTYPE_KERNELS_INDEX_H

#include "shardtype/Kernels/Combination.h"
#include "shardtype/Tensor/Tensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <vector>

namespace shardtype::kernels {

/// The value of an integer; unsigned ones above the largest int64 are that.
int64_t integerAt(const Tensor &x, int64_t position);

/// The block of `sizes` elements at `starts` (scalars), each clamped so that
/// the block lies within the operand (spec 09, 9).
Tensor dynamicSlice(const Tensor &operand, ArrayRef<const Tensor *> starts,
                    ArrayRef<int64_t> sizes);
/// The operand with `update` written there. Writes in place if it can.
Tensor dynamicUpdateSlice(Tensor operand, const Tensor &update,
                          ArrayRef<const Tensor *> starts);

/// What becomes of windows that do not lie wholly within the operand.
enum class OutOfBounds : uint8_t {
  Clip, // They are moved inside. Also where indices are promised to be right.
  Drop  // gather gives the fill value, scatter does nothing.
};

/// GatherDimensionNumbers with slice_sizes; lists as JAX has them.
struct GatherNumbers {
  ArrayRef<int64_t> offset, collapsed, startIndexMap, operandBatching,
      indicesBatching, sliceSizes;
};
/// `fill` is a scalar of the operand's dtype, for `Drop`.
Tensor gather(const Tensor &operand, const Tensor &indices,
              const GatherNumbers &numbers, OutOfBounds mode,
              const Tensor &fill, ArrayRef<int64_t> resultShape);

/// ScatterDimensionNumbers; lists as JAX has them.
struct ScatterNumbers {
  ArrayRef<int64_t> updateWindow, insertedWindow, toOperand, operandBatching,
      indicesBatching;
};
/// Updates are applied one by one in row-major order of the indices, each
/// rounded in the operand's dtype. Writes in place if it can.
Tensor scatter(Tensor operand, const Tensor &indices, const Tensor &updates,
               const ScatterNumbers &numbers, OutOfBounds mode,
               Combination combine);
/// The pairs (position in the operand, position in the updates) of a scatter,
/// in the order in which they are applied.
void scatterPairs(ArrayRef<int64_t> operandShape, const Tensor &indices,
                  ArrayRef<int64_t> updateShape, const ScatterNumbers &numbers,
                  OutOfBounds mode,
                  llvm::function_ref<void(int64_t, int64_t)> apply);

/// Where elements are not 0 (NaN is not): for each of the dims `axes` its
/// index, row-major over those, the first `count` of them; where there are
/// fewer, the scalar of `fills` for that dim, or 0. The other dims stand in
/// front.
std::vector<Tensor> nonzero(const Tensor &x, ArrayRef<int64_t> axes,
                            int64_t count, ArrayRef<const Tensor *> fills,
                            DType dtype);

/// What gather fills with unless told otherwise: NaN, the least signed and the
/// largest unsigned integer, true (spec 09, 9). A scalar.
Tensor defaultFill(DType dtype);

} // namespace shardtype::kernels

#endif
