// Derive.cpp - the sharding rule that a dimension map implies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A factor is placed on a list of axes, major to minor. A dim of several
// factors gives its axes to them in order: an axis goes to a factor as long as
// the factor's size has room for it, so `(i j)` of 8@(X,Y) with i = 2 and X = 2
// puts X on i and Y on j. Back in a result, a dim may be sharded in a later
// factor only if every earlier one is sharded down to single elements.
#include "shardtype/Rules/Derive.h"

using namespace shardtype;

namespace {
/// Where a factor's axes were seen.
struct Placed {
  AxisList axes;
  unsigned operand = 0;
  int dim = -1;
};

class Derivation {
public:
  Derivation(const Context &cx, const DimMap &map, MeshId mesh)
      : cx_(cx), map_(map), mesh_(mesh), placed_(map.factors.size()) {}

  /// False: refused.
  bool takeOperand(unsigned operand, const Sharding &sharding);
  bool checkWhole();
  std::optional<Sharding> result(const DimMap::Dims &dims);
  const std::optional<Refusal> &refusal() const { return refusal_; }

private:
  int64_t size(uint8_t axis) const { return cx_.mesh(mesh_).axes[axis].size; }
  int64_t size(const AxisList &axes) const {
    int64_t product = 1;
    for (uint8_t axis : axes)
      product *= size(axis);
    return product;
  }
  bool refuse(Refusal refusal) {
    refusal_ = refusal;
    return false;
  }
  bool takeFactor(uint8_t factor, const AxisList &axes, unsigned operand,
                  unsigned dim);

  const Context &cx_;
  const DimMap &map_;
  MeshId mesh_;
  SmallVector<Placed, 8> placed_;
  std::optional<Refusal> refusal_;
};
} // namespace

bool Derivation::takeFactor(uint8_t factor, const AxisList &axes,
                            unsigned operand, unsigned dim) {
  Placed &known = placed_[factor];
  if (axes.empty() || known.axes == axes)
    return true;
  if (!known.axes.empty())
    return refuse({Refusal::Differs, known.operand, known.dim, operand,
                   static_cast<int>(dim)});
  known = {axes, operand, static_cast<int>(dim)};
  return true;
}

bool Derivation::takeOperand(unsigned operand, const Sharding &sharding) {
  const DimMap::Dims &dims = map_.operands[operand];
  for (unsigned d = 0; d < dims.size() && d < sharding.dims.size(); ++d) {
    ArrayRef<uint8_t> rest = sharding.dims[d];
    for (unsigned i = 0; i < dims[d].size(); ++i) {
      AxisList axes;
      int64_t room = map_.factors[dims[d][i]].size;
      bool last = i + 1 == dims[d].size();
      while (!rest.empty() && (last || room % size(rest.front()) == 0)) {
        room /= size(rest.front());
        axes.push_back(rest.front());
        rest = rest.drop_front();
        if (room == 1 && !last)
          break;
      }
      // What is left would have to cut this factor in two.
      if (!last && !rest.empty() && room != 1)
        return refuse({Refusal::Uneven, operand, static_cast<int>(d)});
      if (!takeFactor(dims[d][i], axes, operand, d))
        return false;
    }
  }
  return true;
}

bool Derivation::checkWhole() {
  for (unsigned f = 0; f < placed_.size(); ++f)
    if (map_.factors[f].role == FactorRole::Whole && !placed_[f].axes.empty())
      return refuse({Refusal::Whole, placed_[f].operand, placed_[f].dim});
  return true;
}

std::optional<Sharding> Derivation::result(const DimMap::Dims &dims) {
  Sharding sharding;
  sharding.mesh = mesh_;
  AxisSet seen;
  for (const DimMap::Dim &dim : dims) {
    AxisList &axes = sharding.dims.emplace_back();
    bool partial = false; // A factor before is not sharded to its elements.
    for (uint8_t factor : dim) {
      const Placed &placed = placed_[factor];
      if (partial && !placed.axes.empty()) {
        refuse({Refusal::Uneven, placed.operand, placed.dim});
        return std::nullopt;
      }
      partial |= size(placed.axes) != map_.factors[factor].size;
      for (uint8_t axis : placed.axes) {
        if (seen.contains(axis)) {
          refuse({Refusal::Twice, placed.operand, placed.dim});
          return std::nullopt;
        }
        seen.insert(axis);
        axes.push_back(axis);
      }
    }
  }
  return sharding;
}

LinearGroups shardtype::groupsOf(Linearity linearity, unsigned numOperands) {
  LinearGroups groups;
  unsigned count = std::min<unsigned>(linearity.count, numOperands);
  for (unsigned i = 0; linearity.kind != Linearity::None && i < count; ++i) {
    if (groups.empty() || linearity.kind == Linearity::EachOf)
      groups.emplace_back();
    groups.back().push_back(i);
  }
  return groups;
}

/// The sets of a result.
static std::optional<Refusal>
deriveSets(ArrayRef<SmallVector<unsigned, 2>> linear,
           ArrayRef<const Sharding *> operands, Sharding &sets) {
  if (operands.empty())
    return std::nullopt;
  sets.reduced = operands.front()->reduced;
  std::optional<unsigned> holder;
  for (unsigned i = 0; i < operands.size(); ++i) {
    if (operands[i]->reduced != sets.reduced)
      return Refusal{Refusal::Reduced, 0, -1, i, -1};
    if (!holder && !operands[i]->unreduced.empty())
      holder = i;
  }
  if (!holder)
    return std::nullopt;
  sets.unreduced = operands[*holder]->unreduced;
  sets.kind = operands[*holder]->kind;
  auto group = llvm::find_if(linear, [&](ArrayRef<unsigned> members) {
    return llvm::is_contained(members, *holder);
  });
  // Linear maps commute with sums, not with maxima and minima.
  if (group == linear.end() || sets.kind != ReductionKind::Sum)
    return Refusal{Refusal::Unreduced, *holder, -1, *holder, -1};
  for (unsigned i = 0; i < operands.size(); ++i) {
    bool expected = llvm::is_contained(*group, i);
    bool same = operands[i]->unreduced == sets.unreduced &&
                operands[i]->kind == sets.kind;
    if (expected ? !same : !operands[i]->unreduced.empty())
      return Refusal{Refusal::Unreduced, *holder, -1, i, -1};
  }
  return std::nullopt;
}

Derived shardtype::derive(const Context &cx, const DimMap &map,
                          ArrayRef<SmallVector<unsigned, 2>> linear,
                          ArrayRef<const Sharding *> operands, MeshId mesh) {
  Derivation derivation(cx, map, mesh);
  Sharding sets;
  for (unsigned i = 0; i < operands.size() && i < map.operands.size(); ++i)
    if (!derivation.takeOperand(i, *operands[i]))
      return {{}, derivation.refusal()};
  if (!derivation.checkWhole())
    return {{}, derivation.refusal()};
  Derived derived;
  for (const DimMap::Dims &dims : map.results) {
    std::optional<Sharding> result = derivation.result(dims);
    if (!result)
      return {{}, derivation.refusal()};
    derived.results.push_back(std::move(*result));
  }
  if (std::optional<Refusal> refusal = deriveSets(linear, operands, sets))
    return {{}, refusal};
  for (Sharding &result : derived.results) {
    AxisSet taken = result.axes() & (sets.unreduced | sets.reduced);
    if (!taken.empty())
      return {{}, Refusal{Refusal::Twice, 0, -1, 0, -1}};
    result.unreduced = sets.unreduced;
    result.reduced = sets.reduced;
    result.kind = sets.kind;
  }
  return derived;
}
