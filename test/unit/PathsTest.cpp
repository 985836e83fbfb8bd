// PathsTest.cpp - names of places and patterns over them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Paths.h"
#include <catch2/catch.hpp>

using namespace shardtype;

TEST_CASE("key paths become slash paths") {
  CHECK(normalPath("x") == "x");
  CHECK(normalPath("params['layers'][0]['w']") == "params/layers/0/w");
  CHECK(normalPath("state.opt[\"a\"]") == "state/opt/a");
  CHECK(normalPath("p['a/b']") == "p/a~1b");
  CHECK(normalPath("result[0]") == "result/0");
  CHECK(normalPath("p['it's") == "p/['it's"); // Broken, but kept.
}

TEST_CASE("patterns over paths") {
  CHECK(matchesPath("params/**/w", "params/layers/0/w"));
  CHECK(matchesPath("params/**/w", "params/w"));
  CHECK(matchesPath("params/*/w", "params/0/w"));
  CHECK_FALSE(matchesPath("params/*/w", "params/layers/0/w"));
  CHECK(matchesPath("**", "a/b/c"));
  CHECK(matchesPath("**/w*", "a/b/w_in"));
  CHECK_FALSE(matchesPath("**/w*", "a/b/b_in"));
  CHECK_FALSE(matchesPath("params", "params/w"));
  CHECK(matchesPath("a/**/b/**/c", "a/x/b/b/y/c"));
  CHECK_FALSE(matchesPath("a/**/b/**/c", "a/x/c"));
}
