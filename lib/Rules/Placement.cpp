// Placement.cpp - cutting mesh axes into digits and placing them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Placement.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

namespace {
/// Walks down the factors of one dim, most major first, as axes use them up.
class DimWalk {
public:
  DimWalk(ArrayRef<uint8_t> dim, ArrayRef<Factor> factors)
      : dim_(dim), factors_(factors) {}

  /// How much of a digit of this size fits into the current factor; 0: it
  /// would cross into the next one unevenly.
  int64_t fits(int64_t size) {
    while (at_ + 1 < dim_.size() && above_ == extent())
      nextFactor();
    if (dim_.empty())
      return 0;
    if (at_ + 1 == dim_.size())
      return size; // Types are divisible, so the last factor takes the rest.
    int64_t rest = extent() / above_;
    if (rest % size == 0)
      return size;
    return rest > 1 && size % rest == 0 ? rest : 0;
  }
  Place take(int64_t size) {
    Place place{Place::At, dim_[at_], above_};
    if (llvm::MulOverflow(above_, size, above_))
      above_ = std::numeric_limits<int64_t>::max();
    return place;
  }

private:
  int64_t extent() const { return factors_[dim_[at_]].size; }
  void nextFactor() {
    ++at_;
    above_ = 1;
  }
  ArrayRef<uint8_t> dim_;
  ArrayRef<Factor> factors_;
  unsigned at_ = 0;
  int64_t above_ = 1;
};
} // namespace

/// Cuts of an axis: products of the sizes of its first digits.
using Cuts = SmallVector<int64_t, 4>;

static void addCuts(const Mesh &mesh, ArrayRef<Factor> factors,
                    const FactoredArray &array,
                    SmallVectorImpl<Cuts> &cutsOfAxis) {
  for (unsigned dim = 0; dim < array.sharding.dims.size(); ++dim) {
    DimWalk walk((*array.dims)[dim], factors);
    for (uint8_t axis : array.sharding.dims[dim]) {
      int64_t rest = mesh.axes[axis].size;
      while (rest > 1) {
        int64_t part = walk.fits(rest);
        if (part == 0)
          break;
        walk.take(part);
        rest /= part;
        if (rest > 1)
          cutsOfAxis[axis].push_back(mesh.axes[axis].size / rest);
      }
    }
  }
}

/// Appends the prime factors of `size` as digits. Trial division stops at
/// 65,536: what is left stays one digit, which only makes plans coarser.
static void addDigits(uint8_t axis, int64_t size,
                      SmallVectorImpl<AxisDigit> &digits) {
  for (int64_t prime = 2; prime < 65536 && prime * prime <= size; ++prime)
    for (; size % prime == 0; size /= prime)
      digits.push_back({axis, prime});
  if (size > 1)
    digits.push_back({axis, size});
}

SmallVector<AxisDigit, 16> shardtype::cutAxes(const Mesh &mesh,
                                              ArrayRef<Factor> factors,
                                              ArrayRef<FactoredArray> arrays) {
  SmallVector<Cuts, 8> cutsOfAxis(mesh.rank());
  for (const FactoredArray &array : arrays)
    addCuts(mesh, factors, array, cutsOfAxis);
  SmallVector<AxisDigit, 16> digits;
  for (unsigned axis = 0; axis < mesh.rank(); ++axis) {
    Cuts &cuts = cutsOfAxis[axis];
    cuts.push_back(mesh.axes[axis].size);
    llvm::sort(cuts);
    int64_t last = 1;
    for (int64_t cut : cuts) {
      if (cut % last != 0)
        continue; // Two arrays cut it incompatibly; one is placed coarsely.
      addDigits(axis, cut / last, digits);
      last = cut;
    }
  }
  return digits;
}

Placement shardtype::place(const FactoredArray &array, unsigned id,
                           ArrayRef<Factor> factors,
                           ArrayRef<AxisDigit> digits) {
  Placement places(digits.size());
  for (unsigned d = 0; d < digits.size(); ++d)
    if (array.sharding.unreduced.contains(digits[d].axis))
      places[d].kind = Place::Partial;
  for (unsigned dim = 0; dim < array.sharding.dims.size(); ++dim) {
    DimWalk walk((*array.dims)[dim], factors);
    bool uneven = false;
    // Below one that does not fit, all places are in doubt.
    unsigned ownSlot = factors.size() + (id << 16) + dim;
    int64_t above = 1;
    for (uint8_t axis : array.sharding.dims[dim])
      for (unsigned d = 0; d < digits.size(); ++d) {
        if (digits[d].axis != axis)
          continue;
        uneven |= walk.fits(digits[d].size) != digits[d].size;
        if (!uneven) {
          places[d] = walk.take(digits[d].size);
          continue;
        }
        places[d] = {Place::At, ownSlot, above};
        if (llvm::MulOverflow(above, digits[d].size, above))
          above = std::numeric_limits<int64_t>::max();
      }
  }
  return places;
}
