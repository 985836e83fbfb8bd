// WindowShape.h - extents that windows leave, shared by pooling and
// convolution. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_WINDOWSHAPE_H
#define SHARDTYPE_LIB_PRIMITIVES_WINDOWSHAPE_H

#include "shardtype/Kernels/Window.h"
#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// How a window moves along one dim.
struct WindowDim {
  int64_t size = 1, window = 1, stride = 1;
  int64_t padLow = 0, padHigh = 0;
  int64_t baseDilation = 1, windowDilation = 1;
};
/// Positions of the window, 0 if it does not fit; nothing if a number is out of
/// range (a negative padded size, no stride, overflow).
std::optional<int64_t> windowPositions(const WindowDim &dim);
/// window_dimensions and what goes with them; `pads` are (low, high) pairs.
struct Window {
  SmallVector<int64_t, 4> window, strides, baseDilation, windowDilation;
  SmallVector<SmallVector<int64_t, 3>, 4> pads;
};
/// The same for kernels; dilations that are not given are 1.
SmallVector<kernels::WindowAxis, 4> windowAxes(const Window &window);
/// Do windows over an operand of this shape have these positions? JAX types
/// some windows that nothing can compute.
bool windowsFit(const Window &window, ArrayRef<int64_t> operand,
                ArrayRef<int64_t> positions);
inline constexpr const char *WindowsDoNotFit =
    "its windows do not fit its operands";
/// The shape that windows over an operand leave, after checks of the numbers.
FailureOr<Shape> windowShape(TypingContext &cx, const Window &window,
                             unsigned operand);
/// A result dim is one with the operand's if it keeps its size and no window
/// spans it; otherwise neighbours exchange borders.
DimMap windowDims(TypingContext &cx, unsigned operand);

} // namespace shardtype

#endif
