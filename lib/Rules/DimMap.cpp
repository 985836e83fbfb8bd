// DimMap.cpp - which dims of operands and results are one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/DimMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cassert>
#include <limits>

using namespace shardtype;

SmallVector<std::pair<unsigned, unsigned>, 4>
DimMap::uses(uint8_t factor) const {
  SmallVector<std::pair<unsigned, unsigned>, 4> found;
  for (unsigned i = 0; i < operands.size(); ++i)
    for (unsigned d = 0; d < operands[i].size(); ++d)
      if (llvm::is_contained(operands[i][d], factor))
        found.push_back({i, d});
  return found;
}

DimMap shardtype::pointwise(ArrayRef<ArrayRef<int64_t>> operands,
                            ArrayRef<int64_t> result, unsigned numResults) {
  DimMap map;
  DimMap::Dims all;
  for (int64_t size : result) {
    all.emplace_back();
    if (size == 1)
      continue;
    all.back().push_back(map.factors.size());
    map.factors.push_back({FactorRole::Pass, size});
  }
  for (ArrayRef<int64_t> shape : operands) {
    DimMap::Dims &dims = map.operands.emplace_back();
    for (unsigned d = 0; d < shape.size(); ++d)
      dims.push_back(shape[d] == 1 || d >= all.size() ? DimMap::Dim() : all[d]);
  }
  map.results.assign(numResults, all);
  return map;
}

/// The size of a factor before it is known; no extent, symbolic ones included.
static constexpr int64_t Unknown = std::numeric_limits<int64_t>::min();

namespace {
/// Reads the text of an einsum and fits sizes to it.
class EinsumReader {
public:
  EinsumReader(StringRef text, DimMap &map) : rest_(text), map_(map) {}

  void readSide(SmallVectorImpl<DimMap::Dims> &side) {
    while (next() == '(') {
      take('(');
      side.push_back(readDims());
      take(')');
      if (next() == ',')
        take(',');
    }
  }
  void takeArrow() {
    next();
    bool arrow = rest_.consume_front("->");
    assert(arrow && "an einsum has an arrow");
    (void)arrow;
  }
  bool atEnd() { return next() == 0; }

private:
  char next() {
    rest_ = rest_.ltrim();
    return rest_.empty() ? 0 : rest_.front();
  }
  void take(char c) {
    assert(next() == c && "the text of an einsum is malformed");
    rest_ = rest_.drop_front();
  }
  DimMap::Dims readDims() {
    DimMap::Dims dims;
    for (char c = next(); c && c != ')'; c = next()) {
      DimMap::Dim &dim = dims.emplace_back();
      if (c == '(') {
        take('(');
        while (next() && next() != ')')
          readFactor(dim);
        take(')');
      } else {
        readFactor(dim);
      }
    }
    return dims;
  }
  /// A name is a factor; `1` is a dim, or part of one, without a factor.
  void readFactor(DimMap::Dim &dim) {
    next();
    StringRef name = rest_.take_while(llvm::isAlnum);
    assert(!name.empty() && "a factor is a name");
    rest_ = rest_.drop_front(name.size());
    if (name == "1")
      return;
    auto [at, isNew] = byName_.try_emplace(name, map_.factors.size());
    if (isNew)
      map_.factors.push_back({FactorRole::Pass, Unknown});
    dim.push_back(at->second);
  }

  StringRef rest_;
  DimMap &map_;
  llvm::StringMap<uint8_t> byName_;
};
} // namespace

/// Gives a size to each factor that is the only unknown one of its dim; true
/// if there was one.
static bool fitSizes(DimMap &map, ArrayRef<DimMap::Dims> side,
                     ArrayRef<ArrayRef<int64_t>> shapes) {
  bool any = false;
  for (unsigned i = 0; i < side.size(); ++i)
    for (unsigned d = 0; d < side[i].size(); ++d) {
      int64_t rest = shapes[i][d];
      int unknown = -1, count = 0;
      for (uint8_t factor : side[i][d]) {
        int64_t size = map.factors[factor].size;
        if (size == Unknown) {
          unknown = factor;
          ++count;
        } else if (size > 0) {
          rest /= size;
        }
      }
      if (count != 1)
        continue;
      map.factors[unknown].size = rest;
      any = true;
    }
  return any;
}

static bool occurs(ArrayRef<DimMap::Dims> side, uint8_t factor) {
  for (const DimMap::Dims &dims : side)
    for (const DimMap::Dim &dim : dims)
      if (llvm::is_contained(dim, factor))
        return true;
  return false;
}

DimMap shardtype::einsumMap(StringRef text,
                            ArrayRef<ArrayRef<int64_t>> operands,
                            ArrayRef<ArrayRef<int64_t>> results) {
  DimMap map;
  EinsumReader reader(text, map);
  SmallVector<DimMap::Dims, 3> operandDims, resultDims;
  reader.readSide(operandDims);
  reader.takeArrow();
  reader.readSide(resultDims);
  assert(reader.atEnd() && "the text of an einsum is malformed");
  assert(operandDims.size() == operands.size() &&
         resultDims.size() == results.size() && "the text names all values");
  for (bool changed = true; changed;) {
    bool inOperands = fitSizes(map, operandDims, operands);
    bool inResults = fitSizes(map, resultDims, results);
    changed = inOperands || inResults;
  }
  for (uint8_t f = 0; f < map.factors.size(); ++f) {
    bool in = occurs(operandDims, f), out = occurs(resultDims, f);
    map.factors[f].role = in && out ? FactorRole::Pass
                          : in      ? FactorRole::Reduce
                                    : FactorRole::Broadcast;
  }
  map.operands = std::move(operandDims);
  map.results = std::move(resultDims);
  return map;
}
