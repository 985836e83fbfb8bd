// Combine.cpp - reductions over the members of a group.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Combine.h"
#include "Vector.h"
#include "shardtype/Kernels/Parallel.h"
#include "shardtype/Tensor/Element.h"
#include <cmath>

using namespace shardtype;
using kernels::Combine;
using kernels::Stores;
using kernels::vectorLoops;

bool kernels::canCombine(Combine how, DType dtype) {
  if (isKey(dtype) || dtype == DType::Float0)
    return false;
  return how == Combine::Sum || !isComplex(dtype);
}

namespace {
/// Sums of small floats are kept in f32 over all members.
template <typename T>
constexpr bool roundsOnce =
    isFloatElement<T> && !std::is_same_v<T, F16> && sizeof(T) <= 2;

template <Combine How, bool DropNaN, typename C> C join(C a, C b) {
  if constexpr (std::is_same_v<C, bool>) {
    return How == Combine::Min ? a && b : a || b;
  } else if constexpr (How == Combine::Sum) {
    if constexpr (std::is_integral_v<C>) {
      using U = std::make_unsigned_t<C>;
      return static_cast<C>(
          static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  } else if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(a))
      return DropNaN ? b : a;
    if (std::isnan(b))
      return DropNaN ? a : b;
    if (a == b && DropNaN)
      return a;
    if (a == b) // Zeros of two signs.
      return std::signbit(a) == (How == Combine::Max) ? b : a;
    return (a > b) == (How == Combine::Max) ? a : b;
  } else if constexpr (std::is_integral_v<C>) {
    return (a > b) == (How == Combine::Max) ? a : b;
  } else {
    return a; // Complex numbers have no order here.
  }
}

/// What a sum begins with, so that one of -0s is 0; others take the first. Of
/// NaNs alone that are left out an infinity is left.
template <Combine How, bool DropNaN, typename C> C begin(C first) {
  if constexpr (How == Combine::Sum && !std::is_same_v<C, bool>)
    return join<How, false, C>(C(), first);
  if constexpr (DropNaN && std::is_floating_point_v<C>)
    if (std::isnan(first))
      return How == Combine::Max ? -std::numeric_limits<C>::infinity()
                                 : std::numeric_limits<C>::infinity();
  return first;
}

constexpr int64_t ChunkSize = 2048;

template <Combine How, bool DropNaN, typename T>
void combineRange(ArrayRef<Tensor> members, T *to, int64_t at, int64_t end) {
  using C = ComputeType<T>;
  using Kept = std::conditional_t<roundsOnce<T>, C, T>;
  Kept kept[ChunkSize];
  for (; at < end; at += ChunkSize) {
    int64_t count = std::min(ChunkSize, end - at);
    const T *first = members.front().as<T>().data() + at;
    for (int64_t i = 0; i < count; ++i)
      kept[i] =
          static_cast<Kept>(begin<How, DropNaN, C>(static_cast<C>(first[i])));
    for (const Tensor &member : members.drop_front()) {
      const T *from = member.as<T>().data() + at;
      for (int64_t i = 0; i < count; ++i)
        kept[i] = static_cast<Kept>(join<How, DropNaN, C>(
            static_cast<C>(kept[i]), static_cast<C>(from[i])));
    }
    for (int64_t i = 0; i < count; ++i)
      to[at + i] = static_cast<T>(kept[i]);
  }
}

/// Sums of what is added as it is stored: all members at once.
template <typename T>
void addRange(ArrayRef<Tensor> members, T *to, int64_t at, int64_t end,
              Stores stores) {
  constexpr unsigned Most = 8;
  bool many = members.size() > Most;
  for (; at < end; at += ChunkSize) {
    int64_t count = many ? std::min(ChunkSize, end - at) : end - at;
    for (size_t first = 0; first < members.size(); first += Most) {
      SmallVector<const T *, Most> from;
      for (const Tensor &member : members.slice(first).take_front(
               std::min<size_t>(Most, members.size() - first)))
        from.push_back(member.as<T>().data() + at);
      vectorLoops<T>().addAll(to + at, from.data(), from.size(), first == 0,
                              many ? Stores::Cached : stores, count);
    }
    if (!many)
      return;
  }
}

template <Combine How, bool DropNaN, typename T>
void combineAll(ArrayRef<Tensor> members, Tensor &into) {
  constexpr bool isAdded = How == Combine::Sum && std::is_floating_point_v<T>;
  // Smaller ones are soon read.
  constexpr uint64_t Large = 8 << 20;
  [[maybe_unused]] Stores stores =
      into.bytes() >= Large ? Stores::Streamed : Stores::Cached;
  T *to = into.fill<T>().data();
  kernels::inRanges(into.size(), 32 * ChunkSize,
                    [&](int64_t begin, int64_t end) {
                      if constexpr (isAdded)
                        addRange(members, to, begin, end, stores);
                      else
                        combineRange<How, DropNaN>(members, to, begin, end);
                    });
}
} // namespace

Tensor kernels::combine(Combine how, ArrayRef<Tensor> members, bool dropNaN) {
  const Tensor &like = members.front();
  assert(canCombine(how, like.dtype()));
  Tensor result = Tensor::uninitialised(like.dtype(), like.shape());
  dispatch(like.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (how) {
    case Combine::Sum:
      return combineAll<Combine::Sum, false, T>(members, result);
    case Combine::Max:
      return dropNaN ? combineAll<Combine::Max, true, T>(members, result)
                     : combineAll<Combine::Max, false, T>(members, result);
    case Combine::Min:
      return dropNaN ? combineAll<Combine::Min, true, T>(members, result)
                     : combineAll<Combine::Min, false, T>(members, result);
    }
  });
  return result;
}
