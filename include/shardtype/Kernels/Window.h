// Window.h - windows that slide over arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_WINDOW_H
#define SHARDTYPE_KERNELS_WINDOW_H

#include "shardtype/Kernels/Combination.h"
#include "shardtype/Tensor/Tensor.h"
#include <vector>

namespace shardtype::kernels {

/// One dim of a window. Positions outside the array and in holes hold nothing.
struct WindowAxis {
  int64_t size = 1, stride = 1, padLow = 0, padHigh = 0, baseDilation = 1,
          dilation = 1;
  /// How many windows there are over a dim of `extent`.
  int64_t positions(int64_t extent) const;
};

enum class WindowReduction : uint8_t { Sum, Max, Min };
/// reduce_window_sum, _max and _min: row-major in each window, from the
/// identity, in the operand's dtype (spec 09, 11).
Tensor reduceWindow(const Tensor &operand, ArrayRef<WindowAxis> axes,
                    WindowReduction reduction);

/// reduce_window by a function that kernels know: each window from `init`, a
/// scalar, which enters once; padding and holes take no part.
Tensor reduceWindow(const Tensor &operand, ArrayRef<WindowAxis> axes,
                    Combination combine, const Tensor &init);

/// The positions of the elements that each window holds, row-major.
struct WindowElements {
  std::vector<int64_t> positions; // Of all windows, one after the other.
  std::vector<size_t> ends;       // Of each window in `positions`.
  ArrayRef<int64_t> of(size_t window) const {
    size_t begin = window == 0 ? 0 : ends[window - 1];
    return ArrayRef(positions).slice(begin, ends[window] - begin);
  }
};
WindowElements windowElements(ArrayRef<int64_t> shape,
                              ArrayRef<WindowAxis> axes);

/// Which element of a window is chosen: the candidate replaces the current
/// choice where select(current, candidate) is false.
enum class Select : uint8_t { Ge, Gt, Le, Lt };
/// The position that each window chooses; -1: it holds nothing.
std::vector<int64_t> selectedPositions(const Tensor &operand,
                                       ArrayRef<WindowAxis> axes,
                                       Select select);
/// select_and_scatter_add: adds each element of `source` at the position that
/// its window of `operand` chooses, from zeros.
Tensor selectAndScatterAdd(const Tensor &source, const Tensor &operand,
                           ArrayRef<WindowAxis> axes, Select select);
/// select_and_scatter with functions that kernels know: from `init`, a scalar,
/// everywhere.
Tensor selectAndScatter(const Tensor &source, const Tensor &operand,
                        ArrayRef<WindowAxis> axes, Select select,
                        Combination combine, const Tensor &init);
/// select_and_gather_add: the element of `tangents` there, 0 where a window
/// holds nothing.
Tensor selectAndGatherAdd(const Tensor &tangents, const Tensor &operand,
                          ArrayRef<WindowAxis> axes, Select select);

} // namespace shardtype::kernels

#endif
