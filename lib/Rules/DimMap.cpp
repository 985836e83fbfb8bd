// DimMap.cpp - which dims of operands and results are one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/DimMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include <cassert>

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

namespace {
/// Reads the text of a map. The first fault ends it.
class MapReader {
public:
  MapReader(StringRef text, DimMap &map, SmallVectorImpl<std::string> &names)
      : text_(text), rest_(text), map_(map), names_(names) {}

  std::optional<DimMapFault> read() {
    readSide(map_.operands);
    if (!fault_ && next() == '-' && rest_.starts_with("->"))
      rest_ = rest_.drop_front(2);
    else
      fail("expected '->'");
    readSide(map_.results);
    if (next())
      fail("expected the end of the text");
    return fault_;
  }

private:
  void fail(StringRef message) {
    if (!fault_)
      fault_ = DimMapFault{text_.size() - rest_.size(), message.str()};
  }
  char next() {
    rest_ = rest_.ltrim();
    return rest_.empty() || fault_ ? 0 : rest_.front();
  }
  bool take(char c) {
    if (next() != c)
      return false;
    rest_ = rest_.drop_front();
    return true;
  }
  void readSide(SmallVectorImpl<DimMap::Dims> &side) {
    do {
      if (!take('('))
        return side.empty() ? void() : fail("expected '('");
      side.push_back(readDims());
    } while (take(','));
  }
  DimMap::Dims readDims() {
    DimMap::Dims dims;
    while (next() && next() != ')') {
      DimMap::Dim &dim = dims.emplace_back();
      if (!take('(')) {
        readFactor(dim);
        continue;
      }
      while (next() && next() != ')')
        readFactor(dim);
      close();
    }
    close();
    return dims;
  }
  void close() {
    if (!take(')'))
      fail("expected ')'");
  }
  /// A name is a factor; `1` is a dim, or part of one, without a factor.
  void readFactor(DimMap::Dim &dim) {
    next();
    StringRef name =
        rest_.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty())
      return fail("expected the name of a factor");
    if (name != "1" && llvm::isDigit(name.front()))
      return fail("a factor is a name, or 1");
    if (name != "1") {
      auto [at, isNew] = byName_.try_emplace(name, map_.factors.size());
      if (isNew && map_.factors.size() > 254)
        return fail("more than 255 factors");
      if (isNew) {
        map_.factors.push_back({FactorRole::Pass, UnknownFactor});
        names_.push_back(name.str());
      }
      if (llvm::is_contained(dim, at->second))
        return fail("a factor stands twice in one dim");
      dim.push_back(at->second);
    }
    rest_ = rest_.drop_front(name.size());
  }

  StringRef text_, rest_;
  DimMap &map_;
  SmallVectorImpl<std::string> &names_;
  llvm::StringMap<uint8_t> byName_;
  std::optional<DimMapFault> fault_;
};
} // namespace

/// Gives a size to each factor that is the only unknown one of its dim; true
/// if there was one.
static bool fitSide(DimMap &map, ArrayRef<DimMap::Dims> side,
                    ArrayRef<ArrayRef<int64_t>> shapes) {
  bool any = false;
  for (unsigned i = 0; i < side.size() && i < shapes.size(); ++i)
    for (unsigned d = 0; d < side[i].size() && d < shapes[i].size(); ++d) {
      int64_t rest = shapes[i][d];
      int unknown = -1, count = 0;
      for (uint8_t factor : side[i][d]) {
        int64_t size = map.factors[factor].size;
        if (size == UnknownFactor) {
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

std::optional<DimMapFault>
shardtype::parseDimMap(StringRef text, DimMap &map,
                       SmallVectorImpl<std::string> &names) {
  if (std::optional<DimMapFault> fault = MapReader(text, map, names).read())
    return fault;
  for (uint8_t f = 0; f < map.factors.size(); ++f) {
    bool in = occurs(map.operands, f), out = occurs(map.results, f);
    map.factors[f].role = in && out ? FactorRole::Pass
                          : in      ? FactorRole::Reduce
                                    : FactorRole::Broadcast;
  }
  return std::nullopt;
}

bool shardtype::fitSizes(DimMap &map, ArrayRef<ArrayRef<int64_t>> operands,
                         ArrayRef<ArrayRef<int64_t>> results) {
  for (bool changed = true; changed;) {
    bool inOperands = fitSide(map, map.operands, operands);
    bool inResults = fitSide(map, map.results, results);
    changed = inOperands || inResults;
  }
  return llvm::none_of(map.factors,
                       [](const Factor &f) { return f.size == UnknownFactor; });
}

DimMap shardtype::einsumMap(StringRef text,
                            ArrayRef<ArrayRef<int64_t>> operands,
                            ArrayRef<ArrayRef<int64_t>> results) {
  DimMap map;
  SmallVector<std::string, 8> names;
  std::optional<DimMapFault> fault = parseDimMap(text, map, names);
  assert(!fault && map.operands.size() == operands.size() &&
         map.results.size() == results.size() &&
         "the text of an einsum is malformed");
  (void)fault;
  fitSizes(map, operands, results);
  return map;
}
