// DimMapTest.cpp - which dims of operands and results are one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/DimMap.h"
#include <catch2/catch.hpp>

using namespace shardtype;

/// `(0 1) (1 2) -> (0 2)`: the positions of factors.
static std::string sideText(ArrayRef<DimMap::Dims> side) {
  std::string text;
  for (const DimMap::Dims &dims : side) {
    text += text.empty() ? "[" : " [";
    for (unsigned d = 0; d < dims.size(); ++d) {
      text += d ? " " : "";
      std::string factors;
      for (uint8_t f : dims[d])
        factors += (factors.empty() ? "" : "*") + std::to_string(f);
      text += factors.empty() ? "-" : factors;
    }
    text += "]";
  }
  return text;
}
static std::string mapText(const DimMap &map) {
  return sideText(map.operands) + " -> " + sideText(map.results);
}

TEST_CASE("pointwise dims: a dim of size 1 has no factor") {
  DimMap map = pointwise({{8, 1}, {1, 4}, {}}, {8, 4}, 2);
  CHECK(mapText(map) == "[0 -] [- 1] [] -> [0 1] [0 1]");
  REQUIRE(map.factors.size() == 2);
  CHECK(map.factors[0].size == 8);
  CHECK(map.factors[1].role == FactorRole::Pass);
  CHECK(map.uses(0).size() == 1);
  CHECK(mapText(pointwise({{1, 4}}, {1, 4})) == "[- 0] -> [- 0]");
  // Shapes that a rule refuses do no harm.
  CHECK(mapText(pointwise({{2, 3, 4}}, {2})) == "[0 - -] -> [0]");
}

TEST_CASE("einsum: roles follow from where a factor occurs") {
  DimMap map = einsumMap("(b m k), (b k n) -> (b m n)", {{2, 3, 5}, {2, 5, 7}},
                         {{2, 3, 7}});
  CHECK(mapText(map) == "[0 1 2] [0 2 3] -> [0 1 3]");
  CHECK(map.factors[2].role == FactorRole::Reduce);
  CHECK(map.factors[2].size == 5);
  CHECK(map.factors[3].size == 7);
  CHECK(map.factors[0].role == FactorRole::Pass);
  auto uses = map.uses(2);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0] == std::pair<unsigned, unsigned>(0, 2));
  CHECK(uses[1] == std::pair<unsigned, unsigned>(1, 1));

  map = einsumMap("(i) -> (i j)", {{2}}, {{2, 3}});
  CHECK(map.factors[1].role == FactorRole::Broadcast);
  CHECK(map.factors[1].size == 3);
}

TEST_CASE("einsum: sizes of grouped factors follow from where they are alone") {
  DimMap map = einsumMap("((i j) k) -> (i (j k))", {{6, 5}}, {{2, 15}});
  CHECK(mapText(map) == "[0*1 2] -> [0 1*2]");
  CHECK(map.factors[0].size == 2);
  CHECK(map.factors[1].size == 3);
  CHECK(map.factors[2].size == 5);
  CHECK(mapText(einsumMap("(i 1) -> (i)", {{4, 1}}, {{4}})) == "[0 -] -> [0]");
  // A symbolic extent is as good as a number.
  CHECK(einsumMap("(i) -> (i)", {{-1}}, {{-1}}).factors[0].size == -1);
}
