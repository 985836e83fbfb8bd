// Window.cpp - windows that slide over arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Window.h"
#include "Combining.h"

using namespace shardtype;
using namespace shardtype::kernels;

using Dims = SmallVector<int64_t, 6>;

int64_t WindowAxis::positions(int64_t extent) const {
  int64_t base = extent == 0 ? 0 : (extent - 1) * baseDilation + 1;
  int64_t reach = size == 0 ? 0 : (size - 1) * dilation + 1;
  int64_t padded = base + padLow + padHigh;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

//===--- Walking ----------------------------------------------------------===//

namespace {
/// For one dim: the elements that each of its window positions holds. Windows
/// of the array are products of those.
struct AxisElements {
  std::vector<int64_t> indices; // Of all positions, one after the other.
  std::vector<size_t> ends;     // Of each position in `indices`.

  AxisElements(const WindowAxis &axis, int64_t extent) {
    int64_t count = axis.positions(extent);
    ends.reserve(count);
    for (int64_t p = 0; p < count; ++p) {
      for (int64_t k = 0; k < axis.size; ++k) {
        int64_t at = p * axis.stride + k * axis.dilation - axis.padLow;
        if (at >= 0 && at % axis.baseDilation == 0 &&
            at / axis.baseDilation < extent)
          indices.push_back(at / axis.baseDilation);
      }
      ends.push_back(indices.size());
    }
  }
  ArrayRef<int64_t> at(int64_t position) const {
    size_t begin = position == 0 ? 0 : ends[position - 1];
    return ArrayRef(indices).slice(begin, ends[position] - begin);
  }
};
} // namespace

/// Row-major over the product of the lists.
template <typename F>
static void forEachElement(ArrayRef<ArrayRef<int64_t>> lists,
                           ArrayRef<int64_t> strides, F &&f) {
  if (llvm::any_of(lists, [](ArrayRef<int64_t> l) { return l.empty(); }))
    return;
  if (lists.empty())
    return f(0);
  Dims index(lists.size());
  unsigned last = lists.size() - 1;
  while (true) {
    int64_t base = 0;
    for (unsigned d = 0; d < last; ++d)
      base += lists[d][index[d]] * strides[d];
    for (int64_t i : lists[last])
      f(base + i * strides[last]);
    unsigned d = last;
    for (; d > 0; --d) {
      if (++index[d - 1] < static_cast<int64_t>(lists[d - 1].size()))
        break;
      index[d - 1] = 0;
    }
    if (d == 0)
      return;
  }
}

template <typename Begin, typename Element>
static void walk(ArrayRef<int64_t> shape, ArrayRef<WindowAxis> axes,
                 Begin &&begin, Element &&element) {
  auto strides = rowMajorStrides(shape);
  SmallVector<AxisElements, 4> elements;
  Dims counts;
  int64_t windows = 1;
  for (auto [axis, extent] : llvm::zip_equal(axes, shape)) {
    elements.emplace_back(axis, extent);
    counts.push_back(elements.back().ends.size());
    windows *= counts.back();
  }
  Dims index(shape.size());
  SmallVector<ArrayRef<int64_t>, 6> lists(shape.size());
  for (int64_t w = 0; w < windows; ++w) {
    for (unsigned d = 0; d < shape.size(); ++d)
      lists[d] = elements[d].at(index[d]);
    begin(w);
    forEachElement(lists, strides, element);
    for (unsigned d = shape.size(); d-- > 0;) {
      if (++index[d] < counts[d])
        break;
      index[d] = 0;
    }
  }
}

WindowElements kernels::windowElements(ArrayRef<int64_t> shape,
                                       ArrayRef<WindowAxis> axes) {
  WindowElements result;
  auto &[positions, ends] = result;
  walk(
      shape, axes, [&](int64_t) { ends.push_back(positions.size()); },
      [&](int64_t position) {
        positions.push_back(position);
        ends.back() = positions.size();
      });
  return result;
}

//===--- Reductions -------------------------------------------------------===//

static Shape windowShape(ArrayRef<int64_t> shape, ArrayRef<WindowAxis> axes) {
  Shape result;
  for (auto [axis, extent] : llvm::zip_equal(axes, shape))
    result.push_back(axis.positions(extent));
  return result;
}

template <typename T, typename F>
static void reduceInto(Tensor &result, const Tensor &operand,
                       ArrayRef<WindowAxis> axes, T identity, F combine) {
  const T *from = operand.as<T>().data();
  T *to = result.fill<T>().data();
  T *at = to;
  walk(
      operand.shape(), axes,
      [&](int64_t window) {
        at = to + window;
        *at = identity;
      },
      [&](int64_t position) { *at = combine(*at, from[position]); });
}

Tensor kernels::reduceWindow(const Tensor &operand, ArrayRef<WindowAxis> axes,
                             WindowReduction reduction) {
  Tensor result = Tensor::uninitialised(operand.dtype(),
                                        windowShape(operand.shape(), axes));
  dispatch(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (reduction) {
    case WindowReduction::Sum:
      return reduceInto<T>(result, operand, axes, T(), addOf<T>);
    case WindowReduction::Max:
      return reduceInto<T>(result, operand, axes, leastOf<T>(), maxOf<T>);
    case WindowReduction::Min:
      return reduceInto<T>(result, operand, axes, mostOf<T>(), minOf<T>);
    }
  });
  return result;
}

Tensor kernels::reduceWindow(const Tensor &operand, ArrayRef<WindowAxis> axes,
                             Combination combine, const Tensor &init) {
  Tensor result = Tensor::uninitialised(operand.dtype(),
                                        windowShape(operand.shape(), axes));
  dispatch(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    withFunction<T>(combine, [&](auto function) {
      reduceInto<T>(result, operand, axes, init.item<T>(), function);
    });
  });
  return result;
}

//===--- Selections -------------------------------------------------------===//

template <typename T> static bool holds(Select select, T current, T candidate) {
  if constexpr (isComplexElement<T>) {
    auto key = [](T v) { return std::pair(v.real(), v.imag()); };
    switch (select) {
    case Select::Ge:
      return key(current) >= key(candidate);
    case Select::Gt:
      return key(current) > key(candidate);
    case Select::Le:
      return key(current) <= key(candidate);
    case Select::Lt:
      return key(current) < key(candidate);
    }
  } else {
    auto a = static_cast<ComputeType<T>>(current);
    auto b = static_cast<ComputeType<T>>(candidate);
    switch (select) {
    case Select::Ge:
      return a >= b;
    case Select::Gt:
      return a > b;
    case Select::Le:
      return a <= b;
    case Select::Lt:
      return a < b;
    }
  }
  return false;
}

std::vector<int64_t> kernels::selectedPositions(const Tensor &operand,
                                                ArrayRef<WindowAxis> axes,
                                                Select select) {
  std::vector<int64_t> chosen;
  dispatch(operand.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *from = operand.as<T>().data();
    walk(
        operand.shape(), axes, [&](int64_t) { chosen.push_back(-1); },
        [&](int64_t position) {
          int64_t &choice = chosen.back();
          if (choice < 0 || !holds(select, from[choice], from[position]))
            choice = position;
        });
  });
  return chosen;
}

Tensor kernels::selectAndScatter(const Tensor &source, const Tensor &operand,
                                 ArrayRef<WindowAxis> axes, Select select,
                                 Combination combine, const Tensor &init) {
  Tensor result = Tensor::uninitialised(source.dtype(), operand.shape());
  std::vector<int64_t> chosen = selectedPositions(operand, axes, select);
  dispatch(source.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    MutableArrayRef<T> to = result.fill<T>();
    std::fill(to.begin(), to.end(), init.item<T>());
    withFunction<T>(combine, [&](auto function) {
      for (auto [position, value] : llvm::zip_equal(chosen, source.as<T>()))
        if (position >= 0)
          to[position] = function(to[position], value);
    });
  });
  return result;
}

Tensor kernels::selectAndScatterAdd(const Tensor &source, const Tensor &operand,
                                    ArrayRef<WindowAxis> axes, Select select) {
  return selectAndScatter(source, operand, axes, select, Combination::Add,
                          Tensor::zeros(source.dtype(), {}));
}

Tensor kernels::selectAndGatherAdd(const Tensor &tangents,
                                   const Tensor &operand,
                                   ArrayRef<WindowAxis> axes, Select select) {
  Tensor result =
      Tensor::zeros(tangents.dtype(), windowShape(operand.shape(), axes));
  std::vector<int64_t> chosen = selectedPositions(operand, axes, select);
  dispatchSize(itemSize(tangents.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    ArrayRef<T> from = tangents.as<T>();
    for (auto [to, position] : llvm::zip_equal(result.fill<T>(), chosen))
      if (position >= 0)
        to = from[position];
  });
  return result;
}
