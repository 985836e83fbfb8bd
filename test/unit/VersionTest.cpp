// VersionTest.cpp - where JAX 0.11 and 0.12 decide differently, a note says so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleFixture.h"
#include <catch2/catch.hpp>

using namespace shardtype;
using namespace shardtype::test;

/// The last finding, as `code: message`.
static std::string last(const RuleOutcome &outcome) {
  if (outcome.diagnostics.empty())
    return "";
  const Diagnostic &d = outcome.diagnostics.back();
  return info(d.code).code.str() + ": " + d.message;
}

TEST_CASE("version: 0.12 accepts what 0.11 refuses") {
  RuleFixture f;
  RuleOutcome now = f.run("neg", {"f32[8]{U:X}"});
  CHECK(now.accepted);
  REQUIRE(now.diagnostics.size() == 1);
  CHECK(now.diagnostics[0].level == Level::Note);
  CHECK(StringRef(last(now)).starts_with(
      "version-difference: JAX 0.11 refuses this: "));
  f.options.jax = JaxVersion::V0_11;
  RuleOutcome old = f.run("neg", {"f32[8]{U:X}"});
  CHECK_FALSE(old.accepted);
  CHECK(old.code() == "rule-missing-unreduced");
  CHECK(last(old) == "version-difference: JAX 0.12 accepts this and gives "
                     "f32[8]{U:X}");
}

TEST_CASE("version: hashes and folded keys") {
  RuleFixture f;
  std::vector<std::string> four(4, "u32[8]{R:X}");
  CHECK(f.run("threefry2x32", four, {}, 2).code() == "rule-missing-ur");
  f.options.jax = JaxVersion::V0_11;
  RuleOutcome old = f.run("threefry2x32", four, {}, 2); // hash/unreduced.2
  CHECK(old.accepted);
  CHECK(StringRef(last(old)).starts_with("version-difference: JAX 0.12"));
}

TEST_CASE("version: no note where both releases agree") {
  RuleFixture f;
  CHECK(f.run("neg", {"f32[8@X]"}).diagnostics.empty());
  CHECK(f.run("neg", {"f32[8]{R:X}"}).diagnostics.empty());
  CHECK(f.run("transpose", {"f32[8,4]{U:X}"}, {{"permutation", "(1, 0)"}})
            .diagnostics.empty());
}

TEST_CASE("sound: axes of size 1 are never in the way") {
  RuleFixture f("X=1,Y=2");
  RuleOutcome sort =
      f.run("sort", {"f32[8@X]"},
            {{"dimension", "0"}, {"is_stable", "True"}, {"num_keys", "1"}});
  CHECK_FALSE(sort.accepted);
  REQUIRE(sort.diagnostics[0].wanted.valid());
  CHECK(sort.results == "f32[8]");
  // An axis of size 2 is.
  CHECK_FALSE(
      f.run("sort", {"f32[8@Y]"},
            {{"dimension", "0"}, {"is_stable", "True"}, {"num_keys", "1"}})
          .diagnostics[0]
          .wanted.valid());
  // Partial sums over one device are complete, whatever the operation.
  RuleOutcome sine = f.run("sin", {"f32[8@Y]{U:X}"}, {{"accuracy", "None"}});
  REQUIRE(sine.diagnostics[0].wanted.valid());
  CHECK(sine.results == "f32[8@Y]");
}
