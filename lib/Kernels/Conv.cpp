// Conv.cpp - convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernel sees at one place of the result is laid out as a row of a
// matrix, which is multiplied with the kernel. Operands are brought into one
// layout before: features last, and of the kernel the out features.
#include "shardtype/Kernels/Conv.h"
#include "DotParts.h"
#include "shardtype/Kernels/Blocks.h"

using namespace shardtype;
using namespace shardtype::kernels;

using Dims = SmallVector<int64_t, 6>;

namespace {
/// All arrays with features last: lhs (n, s..., c), rhs (k..., i, o), result
/// (n, p..., o).
struct Layout {
  ArrayRef<int64_t> lhs, rhs, result;
  unsigned spatial;

  int64_t channels() const { return lhs.back(); }
  int64_t inFeatures() const { return rhs[spatial]; }
  int64_t outFeatures() const { return rhs.back(); }
  /// Elements of a row: what one place of the result depends on.
  int64_t depth() const {
    int64_t n = inFeatures();
    for (int64_t k : rhs.take_front(spatial))
      n *= k;
    return n;
  }
};

template <typename T> class Rows {
public:
  Rows(const Layout &layout, const ConvNumbers &n, const T *lhs)
      : l_(layout), n_(n), lhs_(lhs), strides_(rowMajorStrides(layout.lhs)) {}

  /// Rows for the places `first` to `first + count` of the result, counted
  /// row-major over (n, p...). `batch` and `channel` are where the group
  /// begins.
  void fill(T *to, int64_t first, int64_t count, int64_t batch,
            int64_t channel) const {
    Dims place(l_.spatial + 1), offset(l_.spatial);
    int64_t rest = first;
    for (unsigned d = place.size(); d-- > 0; rest /= l_.result[d])
      place[d] = rest % l_.result[d];
    for (int64_t i = 0; i < count; ++i) {
      to = row(to, place, (batch + place[0]) * strides_[0] + channel);
      for (unsigned d = place.size(); d-- > 0;) {
        if (++place[d] < l_.result[d])
          break;
        place[d] = 0;
      }
    }
  }

private:
  T *row(T *to, ArrayRef<int64_t> place, int64_t base) const {
    Dims k(l_.spatial);
    int64_t features = l_.inFeatures(), taps = l_.depth() / features;
    for (int64_t tap = 0; tap < taps; ++tap, to += features) {
      int64_t at = position(place, k);
      if (at < 0)
        std::fill_n(to, features, T(0));
      else
        std::copy_n(lhs_ + base + at, features, to);
      for (unsigned d = k.size(); d-- > 0;) {
        if (++k[d] < l_.rhs[d])
          break;
        k[d] = 0;
      }
    }
    return to;
  }
  /// The offset of a spatial position; -1: it is padding or a hole.
  int64_t position(ArrayRef<int64_t> place, ArrayRef<int64_t> k) const {
    int64_t offset = 0;
    for (unsigned d = 0; d < l_.spatial; ++d) {
      int64_t at = place[d + 1] * n_.strides[d] + k[d] * n_.rhsDilation[d] -
                   n_.padLow[d];
      if (at < 0 || at % n_.lhsDilation[d] != 0 ||
          at / n_.lhsDilation[d] >= l_.lhs[d + 1])
        return -1;
      offset += at / n_.lhsDilation[d] * strides_[d + 1];
    }
    return offset;
  }

  const Layout &l_;
  const ConvNumbers &n_;
  const T *lhs_;
  SmallVector<int64_t, 6> strides_;
};
} // namespace

template <typename T>
static void convolveInto(Tensor &result, const Tensor &lhs, const Tensor &rhs,
                         const ConvNumbers &n, const Layout &layout) {
  constexpr int64_t Elements = 1 << 20; // Of rows that are laid out at a time.
  int64_t groups = std::max(n.featureGroups, n.batchGroups);
  int64_t out = layout.outFeatures(), outEach = out / groups;
  int64_t depth = layout.depth();
  int64_t places = result.size() / out;
  int64_t chunk = std::clamp<int64_t>(Elements / depth, 1, places);
  Rows<T> rows(layout, n, lhs.as<T>().data());
  std::vector<T> matrix(chunk * depth), product(chunk * outEach);
  T *to = result.fill<T>().data();
  for (int64_t g = 0; g < groups; ++g) {
    int64_t batch = n.batchGroups > 1 ? g * layout.result[0] : 0;
    int64_t channel = n.featureGroups > 1 ? g * layout.inFeatures() : 0;
    MatrixRef<T> kernel{rhs.as<T>().data() + g * outEach, depth, outEach, out,
                        1};
    for (int64_t first = 0; first < places; first += chunk) {
      int64_t count = std::min(chunk, places - first);
      rows.fill(matrix.data(), first, count, batch, channel);
      multiplyOne<T>({matrix.data(), count, depth, depth, 1}, kernel,
                     product.data());
      for (int64_t i = 0; i < count; ++i)
        std::copy_n(product.data() + i * outEach, outEach,
                    to + (first + i) * out + g * outEach);
    }
  }
}

/// Dims as `specs` names them, the one of features moved to the end.
static Dims featuresLast(ArrayRef<int64_t> spec) {
  Dims dims{spec[0]};
  llvm::append_range(dims, spec.drop_front(2));
  dims.push_back(spec[1]);
  return dims;
}

static Tensor inOrder(const Tensor &x, ArrayRef<int64_t> dims) {
  return llvm::is_sorted(dims) ? x : reordered(x, dims);
}

Tensor kernels::convolution(const Tensor &lhs, const Tensor &rhs,
                            const ConvNumbers &n, DType dtype,
                            ArrayRef<int64_t> resultShape) {
  if (lhs.size() == 0 || rhs.size() == 0 || llvm::is_contained(resultShape, 0))
    return Tensor::zeros(dtype, resultShape);
  DType computed = dotComputedIn(lhs.dtype(), rhs.dtype(), dtype);
  Dims kernelDims(n.rhsSpec.drop_front(2));
  kernelDims.append({n.rhsSpec[1], n.rhsSpec[0]});
  Tensor left = inOrder(dotWidened(lhs, computed), featuresLast(n.lhsSpec));
  Tensor right = inOrder(dotWidened(rhs, computed), kernelDims);
  Dims outDims = featuresLast(n.outSpec), shape, back(outDims.size());
  for (auto [i, d] : llvm::enumerate(outDims)) {
    shape.push_back(resultShape[d]);
    back[d] = i;
  }
  Tensor result = Tensor::uninitialised(left.dtype(), shape);
  Layout layout{left.shape(), right.shape(), result.shape(),
                static_cast<unsigned>(n.strides.size())};
  dispatchComputed(result.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>)
      convolveInto<T>(result, left, right, n, layout);
  });
  return dotRounded(inOrder(result, back), dtype);
}
