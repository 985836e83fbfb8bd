// Sort.cpp - sorting along one dim.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements are mapped to unsigned integers that compare as they do. Where those
// have 32 bits, one is sorted together with its position in a 64-bit word,
// which also makes the order stable.
#include "shardtype/Kernels/Sort.h"
#include "shardtype/Tensor/Element.h"
#include <cmath>

using namespace shardtype;
using namespace shardtype::kernels;

//===--- Keys -------------------------------------------------------------===//

namespace {
enum class Order : uint8_t { Sort, SortFlushed, Total };
} // namespace

static constexpr bool isWide(DType dtype) {
  return dtype == DType::F64 || dtype == DType::I64 || dtype == DType::U64 ||
         dtype == DType::C128;
}

/// Bits of a float (32 or 64) that compare as unsigned numbers.
template <typename Bits, typename Float>
static Bits floatKey(Float value, Order order) {
  constexpr Bits Sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  if (order != Order::Total) {
    if (std::isnan(value))
      return ~Bits(0);
    bool tiny = order == Order::SortFlushed &&
                std::fabs(value) < std::numeric_limits<Float>::min();
    if (value == 0 || tiny)
      return Sign;
  }
  Bits bits = std::bit_cast<Bits>(value);
  return bits & Sign ? ~bits : bits | Sign;
}

/// Of anything but complex numbers.
template <typename T> static uint64_t keyOf(T value, Order order) {
  using Wide = ComputeType<T>;
  if constexpr (std::is_same_v<Wide, double>)
    return floatKey<uint64_t>(static_cast<double>(value), order);
  else if constexpr (isFloatElement<T>) {
    // f16 is normal where it is computed.
    bool f16 = std::is_same_v<T, F16>;
    return floatKey<uint32_t>(static_cast<float>(value),
                              f16 && order == Order::SortFlushed ? Order::Sort
                                                                 : order);
  } else if constexpr (ElementTraits<T>::kind == DTypeKind::Signed) {
    using Bits = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;
    constexpr Bits Sign = Bits(1) << (sizeof(Bits) * 8 - 1);
    return static_cast<Bits>(static_cast<Wide>(value)) ^ Sign;
  } else {
    return static_cast<uint64_t>(static_cast<Wide>(value));
  }
}

namespace {
/// The rows of an array along one dim.
struct RowsOf {
  int64_t length = 1, stride = 1, outer = 1;
  RowsOf(ArrayRef<int64_t> shape, unsigned dim) {
    for (auto [d, size] : llvm::enumerate(shape))
      (d < dim ? outer : d == dim ? length : stride) *= size;
  }
  /// Calls `f` with the offset of each row's first element.
  template <typename F> void each(F &&f) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < stride; ++i)
        f(o * length * stride + i);
  }
};

/// One array's keys along a row.
using Keys = std::vector<uint64_t>;
} // namespace

/// Keys of a row; complex numbers give two lists.
static void appendKeys(const Tensor &x, const RowsOf &rows, int64_t base,
                       Order order, std::vector<Keys> &lists) {
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *from = x.as<T>().data() + base;
    auto list = [&](auto key) {
      Keys &keys = lists.emplace_back();
      keys.reserve(rows.length);
      for (int64_t i = 0; i < rows.length; ++i)
        keys.push_back(key(from[i * rows.stride]));
    };
    if constexpr (isComplexElement<T>) {
      list([&](T v) { return keyOf(v.real(), order); });
      list([&](T v) { return keyOf(v.imag(), order); });
    } else {
      list([&](T v) { return keyOf(v, order); });
    }
  });
}

//===--- Sort -------------------------------------------------------------===//

using Permutation = std::vector<int64_t>;

/// Of keys below 2^32 and fewer positions.
static void sortNarrow(const Keys &keys, Permutation &order) {
  std::vector<uint64_t> words(keys.size());
  for (size_t i = 0; i < keys.size(); ++i)
    words[i] = keys[i] << 32 | i;
  std::sort(words.begin(), words.end());
  for (size_t i = 0; i < keys.size(); ++i)
    order[i] = static_cast<uint32_t>(words[i]);
}

static void sortWide(const std::vector<Keys> &lists, Permutation &order) {
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int64_t>(i);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (const Keys &keys : lists)
      if (keys[a] != keys[b])
        return keys[a] < keys[b];
    return a < b;
  });
}

static void permuteRow(const Tensor &from, Tensor &to, const RowsOf &rows,
                       int64_t base, const Permutation &order) {
  dispatchSize(itemSize(from.dtype()), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *in = from.as<T>().data() + base;
    T *out = to.fill<T>().data() + base;
    for (int64_t i = 0; i < rows.length; ++i)
      out[i * rows.stride] = in[order[i] * rows.stride];
  });
}

std::vector<Tensor> kernels::sort(ArrayRef<Tensor> operands, unsigned dim,
                                  unsigned numKeys, bool flushDenormals) {
  std::vector<Tensor> results;
  for (const Tensor &operand : operands)
    results.push_back(Tensor::uninitialised(operand.dtype(), operand.shape()));
  if (operands.front().size() == 0)
    return results;
  Order how = flushDenormals ? Order::SortFlushed : Order::Sort;
  RowsOf rows(operands.front().shape(), dim);
  bool narrow = numKeys == 1 && !isWide(operands.front().dtype()) &&
                !isComplex(operands.front().dtype()) &&
                rows.length < (int64_t(1) << 32);
  Permutation order(rows.length);
  std::vector<Keys> lists;
  rows.each([&](int64_t base) {
    lists.clear();
    for (unsigned k = 0; k < numKeys; ++k)
      appendKeys(operands[k], rows, base, how, lists);
    if (narrow)
      sortNarrow(lists.front(), order);
    else
      sortWide(lists, order);
    for (size_t i = 0; i < operands.size(); ++i)
      permuteRow(operands[i], results[i], rows, base, order);
  });
  return results;
}

//===--- top_k ------------------------------------------------------------===//

kernels::TopK kernels::topK(const Tensor &operand, unsigned axis, int64_t k,
                            Extreme extreme) {
  Shape shape(operand.shape());
  shape[axis] = k;
  TopK result{Tensor::uninitialised(operand.dtype(), shape),
              Tensor::uninitialised(DType::I32, shape)};
  if (result.values.size() == 0)
    return result;
  RowsOf rows(operand.shape(), axis), kept(shape, axis);
  Permutation order(rows.length);
  std::vector<Keys> lists;
  int32_t *indices = result.indices.fill<int32_t>().data();
  int64_t row = 0;
  rows.each([&](int64_t base) {
    lists.clear();
    bool largest = extreme == Extreme::Largest;
    appendKeys(operand, rows, base, largest ? Order::Total : Order::Sort,
               lists);
    Keys &keys = lists.front();
    if (largest)
      for (uint64_t &key : keys)
        key = ~key;
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int64_t>(i);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int64_t a, int64_t b) {
                        return keys[a] != keys[b] ? keys[a] < keys[b] : a < b;
                      });
    int64_t to = row / kept.stride * k * kept.stride + row % kept.stride;
    dispatchSize(itemSize(operand.dtype()), [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T *in = operand.as<T>().data() + base;
      T *out = result.values.fill<T>().data() + to;
      for (int64_t i = 0; i < k; ++i)
        out[i * kept.stride] = in[order[i] * rows.stride];
    });
    for (int64_t i = 0; i < k; ++i)
      indices[to + i * kept.stride] = static_cast<int32_t>(order[i]);
    ++row;
  });
  return result;
}

Tensor kernels::searchSorted(const Tensor &sorted, const Tensor &query,
                             bool right) {
  std::vector<Keys> lists, wanted;
  appendKeys(sorted, RowsOf(sorted.shape(), 0), 0, Order::Sort, lists);
  appendKeys(query, RowsOf({query.size()}, 0), 0, Order::Sort, wanted);
  const Keys &keys = lists.front();
  Tensor result = Tensor::uninitialised(DType::I32, query.shape());
  for (auto [to, key] :
       llvm::zip_equal(result.fill<int32_t>(), wanted.front())) {
    auto at =
        right ? llvm::upper_bound(keys, key) : llvm::lower_bound(keys, key);
    to = static_cast<int32_t>(at - keys.begin());
  }
  return result;
}
