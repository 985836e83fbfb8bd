// ReshapeDims.cpp - the factors of a reshape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReshapeDims.h"
#include "Shapes.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

/// Multiplies sizes above 0; anything else, or too large a product, fails.
static bool multiply(int64_t &product, int64_t size) {
  return size > 0 && product > 0 && !llvm::MulOverflow(product, size, product);
}

SmallVector<ReshapeGroup, 6> shardtype::reshapeGroups(ArrayRef<int64_t> from,
                                                      ArrayRef<int64_t> to) {
  SmallVector<ReshapeGroup, 6> groups;
  unsigned i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReshapeGroup group{i, i + 1, j, j + 1};
    int64_t a = from[i], b = to[j];
    bool fits = true;
    while (fits && a != b) {
      if (a < b)
        fits =
            group.fromEnd < from.size() && multiply(a, from[group.fromEnd++]);
      else
        fits = group.toEnd < to.size() && multiply(b, to[group.toEnd++]);
    }
    if (!fits)
      break;
    groups.push_back(group);
    i = group.fromEnd;
    j = group.toEnd;
  }
  auto isOne = [](int64_t size) { return size == 1; };
  if (llvm::all_of(from.drop_front(i), isOne) &&
      llvm::all_of(to.drop_front(j), isOne))
    return groups;
  groups.push_back({i, static_cast<unsigned>(from.size()), j,
                    static_cast<unsigned>(to.size())});
  return groups;
}

/// Cuts the dims of one group at the same places; false if they do not nest.
static bool cutGroup(const ReshapeGroup &group, ArrayRef<int64_t> from,
                     ArrayRef<int64_t> to, DimMap &map, DimMap::Dims &fromDims,
                     DimMap::Dims &toDims) {
  unsigned i = group.fromBegin, j = group.toBegin;
  if (i == group.fromEnd || j == group.toEnd)
    return false;
  int64_t a = from[i], b = to[j];
  while (true) {
    int64_t part = a == b                         ? a
                   : a > 0 && b > 0 && a % b == 0 ? b
                   : a > 0 && b > 0 && b % a == 0 ? a
                                                  : 0;
    if (part == 0)
      return false;
    for (uint8_t factor : addFactor(map, FactorRole::Pass, part)) {
      fromDims[i].push_back(factor);
      toDims[j].push_back(factor);
    }
    bool nextFrom = a == part, nextTo = b == part;
    a = nextFrom ? 0 : a / part;
    b = nextTo ? 0 : b / part;
    if (nextFrom && ++i < group.fromEnd)
      a = from[i];
    if (nextTo && ++j < group.toEnd)
      b = to[j];
    if (i == group.fromEnd || j == group.toEnd)
      return i == group.fromEnd && j == group.toEnd;
  }
}

DimMap shardtype::reshapeMap(ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                             ArrayRef<int64_t> newSizes) {
  SmallVector<int64_t, 6> from;
  for (int64_t dim : order)
    from.push_back(shape[dim]);
  DimMap map;
  DimMap::Dims fromDims(from.size()), toDims(newSizes.size());
  for (const ReshapeGroup &group : reshapeGroups(from, newSizes)) {
    if (cutGroup(group, from, newSizes, map, fromDims, toDims))
      continue;
    for (unsigned i = group.fromBegin; i < group.fromEnd; ++i)
      fromDims[i] = addFactor(map, FactorRole::Whole, from[i]);
    for (unsigned j = group.toBegin; j < group.toEnd; ++j)
      toDims[j] = addFactor(map, FactorRole::Broadcast, newSizes[j]);
  }
  DimMap::Dims &operand = map.operands.emplace_back(shape.size());
  for (auto [i, dim] : llvm::enumerate(order))
    operand[dim] = std::move(fromDims[i]);
  map.results.push_back(std::move(toDims));
  return map;
}
