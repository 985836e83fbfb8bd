// Sort.h - sorting along one dim.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_SORT_H
#define SHARDTYPE_KERNELS_SORT_H

#include "shardtype/Tensor/Tensor.h"
#include <vector>

namespace shardtype::kernels {

/// Sorts along `dim`, ascending and stable, by the first `numKeys` operands
/// (spec 09, 7): -0 is +0, all NaN are equal and last. All operands move alike.
/// `flushDenormals`: floats below the smallest normal count as 0.
std::vector<Tensor> sort(ArrayRef<Tensor> operands, unsigned dim,
                         unsigned numKeys, bool flushDenormals);

/// Which elements top_k takes first.
enum class Extreme : uint8_t { Largest, Least };
struct TopK {
  Tensor values, indices; // Indices are i32.
};
/// The first `k` elements along `axis`: the largest in total order (+NaN, then
/// infinity), or the least as `sort` has them. Of equal ones the first.
TopK topK(const Tensor &operand, unsigned axis, int64_t k, Extreme extreme);

/// For each element of `query` how many elements of the ascending 1-d `sorted`
/// stand before it: all smaller ones, and with `right` the equal ones too. NaN
/// is larger than all else. i32.
Tensor searchSorted(const Tensor &sorted, const Tensor &query, bool right);

} // namespace shardtype::kernels

#endif
