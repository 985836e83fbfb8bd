// RaggedDot.cpp - products by groups, and of scaled operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DotParts.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Dot.h"
#include "shardtype/Tensor/Element.h"

using namespace shardtype;
using namespace shardtype::kernels;

using Dims = SmallVector<int64_t, 6>;

//===--- Groups -----------------------------------------------------------===//

static std::vector<int64_t> integersOf(const Tensor &x) {
  return dispatchInt(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<int64_t> values;
    for (T value : x.as<T>())
      values.push_back(static_cast<ComputeType<T>>(value));
    return values;
  });
}

namespace {
enum class Ragged : uint8_t { Free, Contracting, Batch };

/// A part of an array: where it begins in each dim and how far it goes.
struct Part {
  Dims starts, sizes;
  explicit Part(ArrayRef<int64_t> shape) : starts(shape.size()), sizes(shape) {}
  void cut(int64_t dim, int64_t start, int64_t size) {
    starts[dim] = start;
    sizes[dim] = size;
  }
  Tensor of(const Tensor &x) const { return blockOf(x, starts, sizes); }
};

class RaggedProduct {
public:
  RaggedProduct(const Tensor &lhs, const Tensor &rhs, const DotNumbers &n,
                int64_t ragged, std::optional<int64_t> group)
      : lhs_(lhs), rhs_(rhs), n_(n), ragged_(ragged), group_(group) {
    mode_ = llvm::is_contained(n.lhsContract, ragged) ? Ragged::Contracting
            : llvm::is_contained(n.lhsBatch, ragged)  ? Ragged::Batch
                                                      : Ragged::Free;
    for (int64_t d = 0; d < lhs.rank(); ++d)
      if (!llvm::is_contained(n.lhsContract, d) &&
          !llvm::is_contained(n.lhsBatch, d))
        lhsFree_.push_back(d);
  }

  Tensor run(const Tensor &groupSizes, DType dtype) {
    if (mode_ == Ragged::Batch) // Entries are products by themselves.
      return dotGeneral(lhs_, rhs_, n_, dtype);
    Dims prefix = prefixDims(groupSizes.rank() - 1);
    std::vector<int64_t> sizes = integersOf(groupSizes);
    int64_t groups = groupSizes.shape().back();
    DType computed = dotComputedIn(lhs_.dtype(), rhs_.dtype(), dtype);
    result_ = Tensor::zeros(computed, resultShape(groups));
    Dims index(prefix.size());
    for (size_t at = 0; groups > 0 && at < sizes.size(); at += groups) {
      addGroups(prefix, index, ArrayRef(sizes).slice(at, groups));
      for (unsigned d = prefix.size(); d-- > 0;) {
        if (++index[d] < lhs_.dim(prefix[d]))
          break;
        index[d] = 0;
      }
    }
    return dotRounded(result_, dtype);
  }

private:
  /// The dims of the lhs that have group sizes of their own.
  Dims prefixDims(unsigned count) const {
    Dims dims;
    if (count == 0)
      return dims;
    dims.append(n_.lhsBatch.begin(), n_.lhsBatch.end());
    for (int64_t d :
         mode_ == Ragged::Free ? ArrayRef<int64_t>(lhsFree_) : n_.lhsContract) {
      if (d == ragged_)
        break;
      dims.push_back(d);
    }
    return dims;
  }

  Shape resultShape(int64_t groups) const {
    Shape shape;
    if (mode_ == Ragged::Contracting)
      shape.push_back(groups);
    for (int64_t d : n_.lhsBatch)
      shape.push_back(lhs_.dim(d));
    for (int64_t d : lhsFree_)
      shape.push_back(lhs_.dim(d));
    for (int64_t d = 0; d < rhs_.rank(); ++d)
      if (d != group_ && !llvm::is_contained(n_.rhsContract, d) &&
          !llvm::is_contained(n_.rhsBatch, d))
        shape.push_back(rhs_.dim(d));
    return shape;
  }

  /// Cuts a dim of the lhs, the one it is paired with and that of the result.
  void cut(Part &lhs, Part &rhs, Part &result, int64_t dim, int64_t start,
           int64_t size) const {
    lhs.cut(dim, start, size);
    int64_t offset = mode_ == Ragged::Contracting ? 1 : 0;
    if (auto at = llvm::find(n_.lhsContract, dim); at != n_.lhsContract.end())
      return rhs.cut(n_.rhsContract[at - n_.lhsContract.begin()], start, size);
    if (auto at = llvm::find(n_.lhsBatch, dim); at != n_.lhsBatch.end()) {
      int64_t i = at - n_.lhsBatch.begin();
      rhs.cut(n_.rhsBatch[i], start, size);
      return result.cut(offset + i, start, size);
    }
    int64_t i = llvm::find(lhsFree_, dim) - lhsFree_.begin();
    result.cut(offset + n_.lhsBatch.size() + i, start, size);
  }

  void addGroups(ArrayRef<int64_t> prefix, ArrayRef<int64_t> index,
                 ArrayRef<int64_t> sizes) {
    int64_t start = 0, extent = lhs_.dim(ragged_);
    for (auto [g, wanted] : llvm::enumerate(sizes)) {
      int64_t size = std::clamp<int64_t>(wanted, 0, extent - start);
      if (size == 0)
        continue;
      Part lhs(lhs_.shape()), rhs(rhs_.shape()), result(result_.shape());
      for (auto [d, i] : llvm::zip_equal(prefix, index))
        cut(lhs, rhs, result, d, i, 1);
      cut(lhs, rhs, result, ragged_, start, size);
      if (mode_ == Ragged::Contracting)
        result.cut(0, g, 1);
      if (group_)
        rhs.cut(*group_, g, 1);
      Tensor product =
          dotGeneral(lhs.of(lhs_), rhs.of(rhs_), n_, result_.dtype());
      add(result, product.reshaped(result.sizes));
      start += size;
    }
  }

  /// Parts of one place come more than once where contracting dims stand
  /// before the ragged one.
  void add(const Part &part, const Tensor &product) {
    Tensor sum = part.of(result_);
    sum.makeUnique();
    dispatchNumber(sum.dtype(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      using Wide = ComputeType<T>;
      auto values = product.as<T>();
      for (auto [to, value] : llvm::zip_equal(sum.fill<T>(), values)) {
        if constexpr (isIntElement<T>)
          to = T(static_cast<uint64_t>(static_cast<Wide>(to)) +
                 static_cast<uint64_t>(static_cast<Wide>(value)));
        else
          to = T(static_cast<Wide>(to) + static_cast<Wide>(value));
      }
    });
    putBlock(result_, part.starts, sum);
  }

  const Tensor &lhs_, &rhs_;
  const DotNumbers &n_;
  int64_t ragged_;
  std::optional<int64_t> group_;
  Ragged mode_;
  Dims lhsFree_;
  Tensor result_;
};
} // namespace

Tensor kernels::raggedDot(const Tensor &lhs, const Tensor &rhs,
                          const Tensor &groupSizes, const DotNumbers &numbers,
                          int64_t ragged, std::optional<int64_t> group,
                          DType result) {
  return RaggedProduct(lhs, rhs, numbers, ragged, group)
      .run(groupSizes, result);
}

//===--- Scales -----------------------------------------------------------===//

Tensor kernels::scaledOperand(const Tensor &values, const Tensor &scales,
                              DType dtype) {
  Tensor wide = dotWidened(values, DType::F32);
  Tensor factors = dotWidened(scales, DType::F32);
  Tensor result = Tensor::uninitialised(DType::F32, values.shape());
  auto strides = rowMajorStrides(scales.shape());
  Dims index(values.rank());
  MutableArrayRef<float> to = result.fill<float>();
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t at = 0;
    for (unsigned d = 0; d < index.size(); ++d)
      at += index[d] / (values.dim(d) / scales.dim(d)) * strides[d];
    to[i] = wide.as<float>()[i] * factors.as<float>()[at];
    for (unsigned d = index.size(); d-- > 0;) {
      if (++index[d] < values.dim(d))
        break;
      index[d] = 0;
    }
  }
  return dotRounded(result, dtype);
}
