// OwnTest.cpp - primitives of one's own, by the C++ interface.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleFixture.h"
#include "shardtype/Rules/OwnPrimitives.h"
#include <catch2/catch.hpp>

using namespace shardtype;
using namespace shardtype::test;

namespace {
/// A fixture that knows one more primitive, `own`.
struct Own {
  RuleFixture fixture;
  OwnPrimitives primitives;
  std::optional<OwnFault> fault;

  explicit Own(OwnRule rule, StringRef mesh = "X=2,Y=2") : fixture(mesh) {
    rule.name = "own";
    fault = primitives.add(rule);
    primitives.addTo(fixture.rows);
  }
  std::string results(std::vector<std::string> operands, unsigned count = 1) {
    RuleOutcome outcome = fixture.run("own", std::move(operands), {}, count);
    return outcome.accepted ? outcome.results : "!" + outcome.message();
  }
};

OwnRule rule(std::string dims, std::vector<std::string> whole = {},
             LinearGroups linear = {}) {
  OwnRule made;
  made.dims = std::move(dims);
  made.whole = std::move(whole);
  made.linear = std::move(linear);
  return made;
}
} // namespace

TEST_CASE("own: a norm keeps its shardings and wants one dim whole") {
  Own norm(rule("(b s d), (d) -> (b s d)", {"d"}));
  REQUIRE_FALSE(norm.fault);
  CHECK(norm.results({"f32[4@X,8@Y,16]", "f32[16]"}) == "f32[4@X,8@Y,16]");
  CHECK(norm.results({"f32[4,8,16@X]", "f32[16]"}) ==
        "!the rule of 'own' refuses this: dim 2 of operand 0 has to be whole, "
        "and is sharded over X"); // own/sharding.2
  RuleOutcome refused = norm.fixture.run("own", {"f32[4,8,16@X]", "f32[16]"});
  CHECK(refused.marks() == "0:2");
  CHECK(StringRef(refused.fixes()).starts_with("0 P(None, None, None) "));
}

TEST_CASE("own: operands that place a factor on different axes") {
  Own add(rule("(i j), (i j) -> (i j)"));
  CHECK(add.results({"f32[8@X,4]", "f32[8,4@Y]"}) == "f32[8@X,4@Y]");
  RuleOutcome refused = add.fixture.run("own", {"f32[8@X,4]", "f32[8@Y,4]"});
  CHECK(refused.code() == "own-rule"); // own/sharding.1
  CHECK(refused.marks() == "0:0 1:0");
  CHECK(add.results({"f32[8@X,4]", "f32[8,4@X]"}) ==
        "!the rule of 'own' refuses this: an axis of dim 1 of operand 1 would "
        "stand twice in a result"); // own/sharding.3
}

TEST_CASE("own: dims of several factors") {
  Own split(rule("((h k)) -> (h k)"));
  OwnRule sized = rule("((h k)) -> (h k)");
  sized.sizes = {{"h", 4}};
  Own heads(sized);
  CHECK(split.results({"f32[8@X]"}) ==
        "!no operand tells the size of factor 'h' of 'own'; its rule can, by "
        "\"sizes\""); // own/shape.2
  CHECK(heads.results({"f32[8@X]"}) == "f32[4@X,2]");
  CHECK(heads.results({"f32[8@(X,Y)]"}) == "f32[4@(X,Y),2]");
  Own merge(rule("(h k) -> ((h k))"));
  CHECK(merge.results({"f32[2@X,4@Y]"}) == "f32[8@(X,Y)]");
  CHECK(merge.results({"f32[4,2@Y]"}) ==
        "!the rule of 'own' refuses this: the axes of dim 1 of operand 0 do "
        "not end where its factors do"); // own/sharding.4
}

TEST_CASE("own: partial sums and reduced axes") {
  Own product(rule("(i k), (k j) -> (i j)", {}, {{0}, {1}}));
  CHECK(product.results({"f32[8@X,4]", "f32[4,8]"}) == "f32[8@X,8]");
  CHECK(product.results({"f32[8,4]{U:X}", "f32[4,8]"}) == "f32[8,8]{U:X}");
  CHECK(product.results({"f32[8,4]{R:Y}", "f32[4,8]{R:Y}"}) == "f32[8,8]{R:Y}");
  CHECK(StringRef(product.results({"f32[8,4]{U:X}", "f32[4,8]{U:X}"}))
            .starts_with("!")); // own/reduction.1
  CHECK(StringRef(product.results({"f32[8,4]{U_max:X}", "f32[4,8]"}))
            .starts_with("!")); // own/reduction.2
  CHECK(StringRef(product.results({"f32[8,4]{R:Y}", "f32[4,8]"}))
            .starts_with("!")); // own/reduction.3
  Own sum(rule("(i), (i) -> (i)", {}, {{0, 1}}));
  CHECK(sum.results({"f32[8]{U:X}", "f32[8]{U:X}"}) == "f32[8]{U:X}");
  CHECK(StringRef(sum.results({"f32[8]{U:X}", "f32[8]"})).starts_with("!"));
}

TEST_CASE("own: shapes and counts") {
  Own add(rule("(i j), (j) -> (i), (j)"));
  CHECK(add.results({"f32[8@X,4]", "f32[4@Y]"}, 2) == "f32[8@X], f32[4@Y]");
  CHECK(add.results({"f32[8]", "f32[4]"},
                    2) == "!operand 0 has 2 dims in the rule of 'own', but its "
                          "type is f32[8]"); // own/shape.1
  CHECK(add.results({"f32[8,4]", "f32[2]"},
                    2) == "!dim 0 of operand 1 should be 4 by the rule of "
                          "'own', not 2"); // own/shape.3
  CHECK(StringRef(add.results({"f32[8,4]"}, 2)).starts_with("!"));
  CHECK(StringRef(add.results({"f32[8,4]", "f32[4]"}, 3)).starts_with("!"));
}

TEST_CASE("own: element types") {
  OwnRule typed = rule("(i) -> (i)");
  typed.dtype = DType::I32;
  CHECK(Own(typed).results({"f32[8@X]"}) == "i32[8@X]");
  Own plain(rule("(i) -> (i)"));
  plain.fixture.recorded = {plain.fixture.type("bf16[8]")};
  CHECK(plain.results({"f32[8@X]"}) == "bf16[8@X]");
}

TEST_CASE("own: what is wrong with a rule, and where") {
  auto fault = [](OwnRule made) {
    made.name = "own";
    std::optional<OwnFault> found = OwnPrimitives().add(made);
    REQUIRE(found);
    return found->field.str() + ":" + std::to_string(found->index) + ":" +
           std::to_string(found->offset) + ": " + found->message;
  };
  CHECK(fault(rule("(b s -> (b)")) ==
        "dims:-1:5: expected the name of a factor");
  CHECK(fault(rule("(b) (c)")) == "dims:-1:4: expected '->'");
  CHECK(fault(rule("(b) -> (b) x")) ==
        "dims:-1:11: expected the end of the text");
  CHECK(fault(rule("(b), -> (b)")) == "dims:-1:5: expected '('");
  CHECK(fault(rule("(2b) -> (b)")) == "dims:-1:1: a factor is a name, or 1");
  CHECK(fault(rule("((b b)) -> (b)")) ==
        "dims:-1:4: a factor stands twice in one dim");
  CHECK(fault(rule("(b) ->")) == "dims:-1:6: there is no result");
  CHECK(fault(rule("")) == "dims:-1:0: expected '->'");
  CHECK(fault(rule("(b) -> (b)", {"d"})) ==
        "whole:0:0: 'd' is no factor of the map");
  CHECK(fault(rule("(b) -> (b)", {}, {{0}, {1}})) ==
        "linear:1:0: there is no operand 1");
  CHECK(fault(rule("(b) -> (b)", {}, {{0, 0}})) ==
        "linear:0:0: operand 0 stands in it twice");
  OwnRule sized = rule("(b) -> (b)");
  sized.sizes = {{"c", 4}};
  CHECK(fault(sized) == "sizes:0:0: 'c' is no factor of the map");
  CHECK(OwnPrimitives().add(rule("(b) -> (b)"))->field == "name");
}
