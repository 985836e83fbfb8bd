// Dot.cpp - dot_general on blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both operands are seen as batches of matrices, rows by columns, through
// strides: dims that follow each other in memory count as one. Only what has no
// such form is copied. Operands of other dtypes than the one that is computed
// in are converted before.
#include "shardtype/Kernels/Dot.h"
#include "DotParts.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Tensor/Element.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;
using namespace shardtype::kernels;

using Dims = SmallVector<int64_t, 6>;

//===--- Dtypes -----------------------------------------------------------===//

static bool isDouble(DType dtype) {
  return dtype == DType::F64 || dtype == DType::C128;
}

DType kernels::dotComputedIn(DType lhs, DType rhs, DType result) {
  if (isInteger(result) || result == DType::Bool)
    return result;
  bool complex = isComplex(lhs) || isComplex(rhs) || isComplex(result);
  bool wide = isDouble(lhs) || isDouble(rhs) || isDouble(result);
  if (complex)
    return wide ? DType::C128 : DType::C64;
  return wide ? DType::F64 : DType::F32;
}

template <typename To, typename From> static To converted(From from) {
  using Wide = ComputeType<From>;
  if constexpr (isComplexElement<To> && isComplexElement<From>)
    return To(from);
  else if constexpr (isComplexElement<To>)
    return To(static_cast<typename To::value_type>(static_cast<Wide>(from)));
  else if constexpr (isComplexElement<From>)
    return static_cast<To>(from.real());
  else if constexpr (std::is_same_v<To, bool>)
    return static_cast<Wide>(from) != 0;
  else
    return static_cast<To>(static_cast<Wide>(from));
}

template <typename To> static Tensor convertedTo(DType dtype, const Tensor &x) {
  Tensor result = Tensor::uninitialised(dtype, x.shape());
  MutableArrayRef<To> to = result.fill<To>();
  dispatch(x.dtype(), [&](auto tag) {
    using From = typename decltype(tag)::type;
    ArrayRef<From> from = x.as<From>();
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = converted<To>(from[i]);
  });
  return result;
}

Tensor kernels::dotWidened(const Tensor &x, DType dtype) {
  if (x.dtype() == dtype && info(dtype).bits >= 8)
    return x;
  return dispatch(dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    if constexpr (std::is_same_v<To, ComputeType<To>>)
      return convertedTo<To>(dtype, x);
    else // Products of small integers are taken modulo 2^8 first.
      return convertedTo<int8_t>(DType::I8, x);
  });
}

//===--- Layout -----------------------------------------------------------===//

namespace {
/// A group of dims taken as one.
struct Group {
  int64_t size = 1, stride = 1;
};

/// One operand: batch dims one by one, rows and columns as groups.
struct Matrices {
  Tensor tensor;
  Dims batchStrides;
  Group rows, columns;
};
} // namespace

static int64_t sizeOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t size = 1;
  for (int64_t d : dims)
    size *= shape[d];
  return size;
}

/// The dims as one of a single stride, if they follow each other in memory.
static std::optional<Group> grouped(const Tensor &x, ArrayRef<int64_t> dims) {
  auto strides = rowMajorStrides(x.shape());
  Group group;
  bool first = true;
  for (int64_t d : llvm::reverse(dims)) {
    if (x.dim(d) == 1)
      continue;
    if (first)
      group.stride = strides[d];
    else if (strides[d] != group.stride * group.size)
      return std::nullopt;
    first = false;
    group.size *= x.dim(d);
  }
  return group;
}

Tensor kernels::reordered(const Tensor &x, ArrayRef<int64_t> dims) {
  auto strides = rowMajorStrides(x.shape());
  Dims shape, from;
  for (int64_t d : dims) {
    shape.push_back(x.dim(d));
    from.push_back(strides[d]);
  }
  Tensor result = Tensor::uninitialised(x.dtype(), shape);
  copyStrided(result.mutableData(), rowMajorStrides(shape), x.data(), from,
              shape, itemSize(x.dtype()));
  return result;
}

static Matrices matricesOf(const Tensor &x, ArrayRef<int64_t> batch,
                           ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  auto r = grouped(x, rows), c = grouped(x, columns);
  auto unit = [](const Group &g) { return g.stride == 1 || g.size == 1; };
  if (r && c && (unit(*r) || unit(*c))) {
    Matrices result{x, {}, *r, *c};
    auto strides = rowMajorStrides(x.shape());
    for (int64_t d : batch)
      result.batchStrides.push_back(strides[d]);
    return result;
  }
  Dims order(batch);
  llvm::append_range(order, rows);
  llvm::append_range(order, columns);
  Matrices result;
  result.tensor = reordered(x, order);
  result.columns.size = sizeOf(x.shape(), columns);
  result.rows = {sizeOf(x.shape(), rows), result.columns.size};
  int64_t stride = result.rows.size * result.columns.size;
  for (int64_t d : llvm::reverse(batch)) {
    result.batchStrides.insert(result.batchStrides.begin(), stride);
    stride *= x.dim(d);
  }
  return result;
}

static Dims otherDims(unsigned rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(a, d) && !llvm::is_contained(b, d))
      dims.push_back(d);
  return dims;
}

//===--- All of them ------------------------------------------------------===//

/// Calls `f` with the offsets into both operands of each batch entry.
template <typename F>
static void forEachBatch(ArrayRef<int64_t> sizes, const Matrices &lhs,
                         const Matrices &rhs, F &&f) {
  Dims index(sizes.size());
  int64_t left = 0, right = 0, count = 1;
  for (int64_t size : sizes)
    count *= size;
  for (int64_t i = 0; i < count; ++i) {
    f(left, right);
    for (unsigned d = sizes.size(); d-- > 0;) {
      left += lhs.batchStrides[d];
      right += rhs.batchStrides[d];
      if (++index[d] < sizes[d])
        break;
      left -= lhs.batchStrides[d] * sizes[d];
      right -= rhs.batchStrides[d] * sizes[d];
      index[d] = 0;
    }
  }
}

template <typename T>
static void multiplyAll(ArrayRef<int64_t> batch, const Matrices &lhs,
                        const Matrices &rhs, Tensor &result) {
  const T *left = lhs.tensor.as<T>().data(), *right = rhs.tensor.as<T>().data();
  T *out = result.fill<T>().data();
  int64_t step = lhs.rows.size * rhs.columns.size;
  forEachBatch(batch, lhs, rhs, [&](int64_t l, int64_t r) {
    MatrixRef<T> a{left + l, lhs.rows.size, lhs.columns.size, lhs.rows.stride,
                   lhs.columns.stride};
    MatrixRef<T> b{right + r, rhs.rows.size, rhs.columns.size, rhs.rows.stride,
                   rhs.columns.stride};
    multiplyOne(a, b, out);
    out += step;
  });
}

Tensor kernels::dotRounded(const Tensor &x, DType dtype) {
  if (x.dtype() == dtype && info(dtype).bits >= 8)
    return x;
  return dispatch(dtype, [&](auto tag) {
    using To = typename decltype(tag)::type;
    Tensor result = Tensor::uninitialised(dtype, x.shape());
    MutableArrayRef<To> to = result.fill<To>();
    auto from = [&](auto values) {
      for (size_t i = 0; i < to.size(); ++i)
        to[i] = To(values[i]);
    };
    if constexpr (isIntElement<To>)
      from(x.as<int8_t>());
    else if constexpr (isFloatElement<To>)
      isDouble(x.dtype()) ? from(x.as<double>()) : from(x.as<float>());
    return result;
  });
}

/// Contracting dims in the order in which the lhs has them, so that they can
/// be one.
static std::pair<Dims, Dims> contracting(const DotNumbers &n) {
  SmallVector<unsigned, 4> order =
      llvm::to_vector<4>(llvm::seq<unsigned>(0, n.lhsContract.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return n.lhsContract[a] < n.lhsContract[b];
  });
  std::pair<Dims, Dims> dims;
  for (unsigned i : order) {
    dims.first.push_back(n.lhsContract[i]);
    dims.second.push_back(n.rhsContract[i]);
  }
  return dims;
}

Tensor kernels::dotGeneral(const Tensor &lhs, const Tensor &rhs,
                           const DotNumbers &n, DType dtype) {
  auto [lhsContract, rhsContract] = contracting(n);
  Dims lhsFree = otherDims(lhs.rank(), n.lhsContract, n.lhsBatch);
  Dims rhsFree = otherDims(rhs.rank(), n.rhsContract, n.rhsBatch);
  Dims batch, shape;
  for (int64_t d : n.lhsBatch)
    batch.push_back(lhs.dim(d));
  shape = batch;
  for (int64_t d : lhsFree)
    shape.push_back(lhs.dim(d));
  for (int64_t d : rhsFree)
    shape.push_back(rhs.dim(d));
  int64_t depth = sizeOf(lhs.shape(), lhsContract);
  if (depth == 0 || llvm::is_contained(shape, 0))
    return Tensor::zeros(dtype, shape);
  DType computed = dotComputedIn(lhs.dtype(), rhs.dtype(), dtype);
  Matrices a =
      matricesOf(dotWidened(lhs, computed), n.lhsBatch, lhsFree, lhsContract);
  Matrices b =
      matricesOf(dotWidened(rhs, computed), n.rhsBatch, rhsContract, rhsFree);
  Tensor result = Tensor::uninitialised(a.tensor.dtype(), shape);
  dispatchComputed(result.dtype(), [&](auto tag) {
    multiplyAll<typename decltype(tag)::type>(batch, a, b, result);
  });
  return dotRounded(result, dtype);
}
