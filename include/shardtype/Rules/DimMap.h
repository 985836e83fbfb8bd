// DimMap.h - which dims of operands and results are one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_DIMMAP_H
#define SHARDTYPE_RULES_DIMMAP_H

#include "shardtype/Support/LLVM.h"
#include <limits>
#include <optional>
#include <string>

namespace shardtype {

/// What becomes of a factor that is sharded.
enum class FactorRole : uint8_t {
  Pass,     // It stands in results as it stands in operands.
  Reduce,   // Operands only; sharded, it leaves partial results.
  Whole,    // Must be whole on every device (sort, cumsum along it).
  Halo,     // Neighbours exchange borders (windows, padding, slicing).
  Permute,  // Blocks change places (rev).
  Broadcast // Results only; every device can make its part.
};

/// A named factor, as the letters of an einsum.
struct Factor {
  FactorRole role = FactorRole::Pass;
  int64_t size = 1;
};

/// Factors of each dim of each operand and result, as in an einsum: a dim has
/// none (its size is 1), one, or several, major to minor (`(i j) k -> i (j
/// k)`).
struct DimMap {
  using Dim = SmallVector<uint8_t, 2>; // Positions in `factors`.
  using Dims = SmallVector<Dim, 4>;
  SmallVector<Factor, 8> factors;
  SmallVector<Dims, 3> operands, results;

  /// The operand dims that hold a factor, as (operand, dim).
  SmallVector<std::pair<unsigned, unsigned>, 4> uses(uint8_t factor) const;
};

/// Every operand and result has these extents, dim by dim the same factor;
/// operands of rank 0 have no dims, operand dims of size 1 no factor.
DimMap pointwise(ArrayRef<ArrayRef<int64_t>> operands, ArrayRef<int64_t> result,
                 unsigned numResults = 1);
/// What is wrong with the text of a map, and at which character (from 0).
struct DimMapFault {
  size_t offset = 0;
  std::string message;
};
/// Reads `(b s (h d)), (d) -> (b s h)`: a list of values, each a list of dims;
/// a dim is a name, `1`, or names in parentheses, major to minor. Factors have
/// no size yet (`fitSizes`) and `names` gets theirs. Factors that only operands
/// have are reduced, those that only results have are broadcast.
std::optional<DimMapFault> parseDimMap(StringRef text, DimMap &map,
                                       SmallVectorImpl<std::string> &names);
/// Sizes of the factors from shapes, as far as they say them; shapes that are
/// not there (an empty list of values) say nothing. False: some have none.
bool fitSizes(DimMap &map, ArrayRef<ArrayRef<int64_t>> operands,
              ArrayRef<ArrayRef<int64_t>> results);
/// The size of a factor that no shape has given.
inline constexpr int64_t UnknownFactor = std::numeric_limits<int64_t>::min();

/// `(b m k), (b k n) -> (b m n)`; letters are factors, parentheses group a
/// dim of several, and sizes come from the shapes.
DimMap einsumMap(StringRef text, ArrayRef<ArrayRef<int64_t>> operands,
                 ArrayRef<ArrayRef<int64_t>> results);

} // namespace shardtype

#endif
