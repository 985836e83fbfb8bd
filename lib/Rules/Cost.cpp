// Cost.cpp - what reshards and operations communicate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation runs where each factor is sharded alike in all its arrays. So
// its cost is that of operands resharded to a common placement of the factors,
// and of the result resharded from there; a Reduce factor that is sharded makes
// the result partial. Factors on which the operands agree keep their placement
// where they are reduced (the partial sums that the type promises); for others
// every placement that some array has is tried, and the cheapest taken.
#include "shardtype/Rules/Cost.h"
#include "ReshardPlan.h"
#include "shardtype/Types/Resolve.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

/// Elements of the whole array.
static uint64_t elementsOf(const Type &type) {
  if (llvm::is_contained(type.shape, 0))
    return 0; // Even where another dim is unknown or too large to count.
  uint64_t elements = 1;
  for (int64_t size : type.shape)
    elements =
        multiplyAmounts(elements, Dim::isSymbolic(size) ? UnknownBytes : size);
  return elements;
}
static unsigned bitsOf(const Type &type) { return info(type.dtype).bits; }

std::vector<CommStep> shardtype::reshardCost(Context &cx, TypeId from,
                                             TypeId to) {
  std::vector<CommStep> steps;
  const Type &source = cx.type(from), &target = cx.type(to);
  if (!source.isArray() || !target.isArray() || !target.sharding.hasMesh() ||
      source.rank() != target.rank() || source.rank() > 255)
    return steps;
  SmallVector<Factor, 8> factors;
  DimMap::Dims dims;
  for (unsigned dim = 0; dim < target.rank(); ++dim) {
    factors.push_back({FactorRole::Pass, target.shape[dim]});
    dims.push_back({static_cast<uint8_t>(dim)});
  }
  const Mesh &mesh = cx.mesh(target.sharding.mesh);
  FactoredArray arrays[] = {
      {&dims, onMesh(cx, source.sharding, target.sharding.mesh)},
      {&dims, target.sharding}};
  auto digits = cutAxes(mesh, factors, arrays);
  ReshardPlan(cx, mesh, digits, elementsOf(target), bitsOf(target), steps)
      .run(place(arrays[0], 0, factors, digits),
           place(arrays[1], 1, factors, digits));
  return steps;
}

namespace {
/// A digit in a factor: where the operation runs with it.
struct Placed {
  unsigned digit;
  int64_t above;
  friend bool operator==(const Placed &, const Placed &) = default;
};
/// The digits of one factor.
using Content = SmallVector<Placed, 2>;

/// The arrays of one operation, and the search for where to run it.
class OperationCost {
public:
  OperationCost(Context &cx, const DimMap &dims, ArrayRef<TypeId> operands,
                TypeId wanted);
  std::vector<CommStep> cheapest();

private:
  struct Array {
    FactoredArray dims;
    uint64_t elements = 0;
    unsigned bits = 0;
    llvm::SmallBitVector factors; // Those it has.
    Placement places;
  };
  void addArray(const DimMap::Dims &dims, TypeId type);
  Content content(const Array &array, uint8_t factor) const;
  SmallVector<Content, 3> candidates(uint8_t factor) const;
  std::optional<std::vector<CommStep>>
  stepsFor(ArrayRef<const Content *> chosen) const;
  Placement target(const Array &array, const Placement &common) const;
  void addNeighbours(const Array &array, const Placement &places,
                     std::vector<CommStep> &steps) const;

  ReshardPlan plan(const Array &array, std::vector<CommStep> &steps) const {
    return {cx_, cx_.mesh(mesh_), digits_, array.elements, array.bits, steps};
  }
  const Array &wanted() const { return arrays_.back(); }
  ArrayRef<Array> operands() const { return ArrayRef(arrays_).drop_back(); }

  Context &cx_;
  const DimMap &map_;
  MeshId mesh_;
  std::vector<Array> arrays_; // Operands, then the result.
  SmallVector<AxisDigit, 16> digits_;
};
} // namespace

/// Beyond so many common placements the best found so far is taken.
static constexpr unsigned MaxTries = 256;

void OperationCost::addArray(const DimMap::Dims &dims, TypeId id) {
  const Type &type = cx_.type(id);
  // Operands of other kinds (tokens) and without dims have nothing to place.
  if (!type.isArray() || dims.size() != type.rank())
    return;
  Array array;
  array.dims = {&dims, onMesh(cx_, type.sharding, mesh_)};
  array.elements = elementsOf(type);
  array.bits = bitsOf(type);
  array.factors.resize(map_.factors.size());
  for (const DimMap::Dim &dim : dims)
    for (uint8_t factor : dim)
      array.factors.set(factor);
  arrays_.push_back(std::move(array));
}

OperationCost::OperationCost(Context &cx, const DimMap &dims,
                             ArrayRef<TypeId> operands, TypeId wanted)
    : cx_(cx), map_(dims) {
  for (TypeId id : operands)
    if (!mesh_.valid() && cx.type(id).isArray())
      mesh_ = cx.type(id).sharding.mesh;
  if (cx.type(wanted).isArray() && cx.type(wanted).sharding.hasMesh())
    mesh_ = cx.type(wanted).sharding.mesh;
  if (!mesh_.valid() || dims.results.empty() || !cx.type(wanted).isArray() ||
      dims.results[0].size() != cx.type(wanted).rank())
    return;
  for (auto [i, id] : llvm::enumerate(operands))
    if (i < dims.operands.size())
      addArray(dims.operands[i], id);
  addArray(dims.results[0], wanted);
  SmallVector<FactoredArray, 4> all;
  for (const Array &array : arrays_)
    all.push_back(array.dims);
  digits_ = cutAxes(cx.mesh(mesh_), map_.factors, all);
  for (auto [i, array] : llvm::enumerate(arrays_))
    array.places = place(array.dims, i, map_.factors, digits_);
}

Content OperationCost::content(const Array &array, uint8_t factor) const {
  Content found;
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (array.places[d].kind == Place::At && array.places[d].slot == factor)
      found.push_back({d, array.places[d].above});
  return found;
}

SmallVector<Content, 3> OperationCost::candidates(uint8_t factor) const {
  FactorRole role = map_.factors[factor].role;
  SmallVector<Content, 3> found;
  auto add = [&](Content content) {
    if (!llvm::is_contained(found, content))
      found.push_back(std::move(content));
  };
  if (role != FactorRole::Whole && role != FactorRole::Broadcast)
    for (const Array &operand : operands())
      if (operand.factors[factor])
        add(content(operand, factor));
  if (role == FactorRole::Reduce && found.size() == 1)
    return found;
  if (role != FactorRole::Whole && wanted().factors[factor])
    add(content(wanted(), factor));
  add({});
  return found;
}

/// Where an array must be for the operation to run with this common placement.
Placement OperationCost::target(const Array &array,
                                const Placement &common) const {
  Placement places(digits_.size());
  for (unsigned d = 0; d < digits_.size(); ++d) {
    if (common[d].kind == Place::At) {
      if (array.factors[common[d].slot])
        places[d] = common[d];
    } else if (array.places[d].kind == Place::Partial) {
      places[d].kind = Place::Partial; // Sums pass where they may come in.
    }
  }
  return places;
}

/// Borders and reversed blocks: each device sends at most what it holds.
void OperationCost::addNeighbours(const Array &array, const Placement &places,
                                  std::vector<CommStep> &steps) const {
  AxisSet axes;
  for (unsigned d = 0; d < digits_.size(); ++d) {
    if (places[d].kind != Place::At)
      continue;
    FactorRole role = map_.factors[places[d].slot].role;
    if (role == FactorRole::Halo || role == FactorRole::Permute)
      axes.insert(digits_[d].axis);
  }
  if (!axes.empty())
    plan(array, steps).permute(places, axes);
}

/// The steps with each factor placed as chosen; nothing if a digit would be in
/// two factors.
std::optional<std::vector<CommStep>>
OperationCost::stepsFor(ArrayRef<const Content *> chosen) const {
  Placement common(digits_.size());
  for (auto [factor, content] : llvm::enumerate(chosen))
    for (const Placed &placed : *content) {
      if (common[placed.digit].kind == Place::At)
        return std::nullopt;
      common[placed.digit] = {Place::At, static_cast<unsigned>(factor),
                              placed.above};
    }
  std::vector<CommStep> steps;
  Placement made = target(wanted(), common);
  for (unsigned d = 0; d < digits_.size(); ++d)
    if (made[d].kind == Place::Partial)
      made[d].kind = Place::Whole; // Unless an operand brings it.
  for (const Array &operand : operands()) {
    Placement places = target(operand, common);
    plan(operand, steps).run(operand.places, places);
    addNeighbours(operand, places, steps);
    for (unsigned d = 0; d < digits_.size(); ++d)
      if (places[d].kind == Place::Partial ||
          (places[d].kind == Place::At && !wanted().factors[places[d].slot]))
        made[d].kind = Place::Partial;
  }
  plan(wanted(), steps).run(made, wanted().places);
  return steps;
}

std::vector<CommStep> OperationCost::cheapest() {
  if (arrays_.empty())
    return {};
  std::vector<SmallVector<Content, 3>> choices;
  for (unsigned factor = 0; factor < map_.factors.size(); ++factor)
    choices.push_back(candidates(factor));
  SmallVector<unsigned, 8> at(choices.size());
  std::optional<std::vector<CommStep>> best;
  uint64_t bestSent = 0;
  const Content nothing; // Gathering everything is always possible.
  auto consider = [&](ArrayRef<const Content *> chosen) {
    auto steps = stepsFor(chosen);
    if (!steps)
      return;
    uint64_t sent = totalSent(*steps);
    if (best &&
        std::pair(sent, steps->size()) >= std::pair(bestSent, best->size()))
      return;
    bestSent = sent;
    best = std::move(steps);
  };
  for (unsigned tries = 0; tries < MaxTries; ++tries) {
    SmallVector<const Content *, 8> chosen;
    for (auto [factor, i] : llvm::enumerate(at))
      chosen.push_back(&choices[factor][i]);
    consider(chosen);
    unsigned factor = 0;
    for (; factor < at.size() && ++at[factor] == choices[factor].size();
         ++factor)
      at[factor] = 0;
    if (factor == at.size())
      break;
  }
  if (!best)
    consider(SmallVector<const Content *, 8>(choices.size(), &nothing));
  return best ? *best : std::vector<CommStep>();
}

std::vector<CommStep> shardtype::resultCost(Context &cx, const DimMap &dims,
                                            ArrayRef<TypeId> operands,
                                            TypeId wanted) {
  return OperationCost(cx, dims, operands, wanted).cheapest();
}

uint64_t shardtype::sentBytes(CommStep::Kind kind, uint64_t payload,
                              uint64_t n) {
  if (n <= 1)
    return 0;
  bool sendsAll = kind == CommStep::Permute || kind == CommStep::Broadcast ||
                  kind == CommStep::RaggedAllToAll;
  if (sendsAll || !isCounted(payload))
    return payload;
  unsigned __int128 all = payload;
  if (kind == CommStep::AllReduce)
    all *= 2;
  return amountOf(all - all / n);
}

uint64_t shardtype::totalSent(ArrayRef<CommStep> steps) {
  uint64_t sent = 0;
  for (const CommStep &step : steps)
    sent = addAmounts(sent, step.sentBytes);
  return sent;
}
