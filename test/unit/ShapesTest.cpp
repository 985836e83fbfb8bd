// ShapesTest.cpp - what is offered where reshaping rows refuse.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleFixture.h"
#include <catch2/catch.hpp>

using namespace shardtype;
using namespace shardtype::test;

using Params = std::map<std::string, std::string>;

static RuleOutcome reshape(StringRef mesh, const char *operand,
                           const char *newSizes,
                           const char *sharding = "None") {
  return RuleFixture(mesh).run("reshape", {operand},
                               {{"dimensions", "None"},
                                {"new_sizes", newSizes},
                                {"sharding", sharding}});
}

TEST_CASE("case C03: attention heads are split and merged") {
  CHECK(reshape("D=2,M=2", "f32[8@D,64,48@M]", "(8, 64, 6, 8)").results ==
        "f32[8@D,64,6@M,8]");
  CHECK(reshape("D=2,M=2", "f32[8@D,64,6@M,8]", "(8, 64, 48)").results ==
        "f32[8@D,64,48@M]");
  RuleOutcome merge = reshape("D=2,M=2", "f32[8@D,64,6,8@M]", "(8, 64, 48)");
  CHECK(merge.code() == "reshape-needs-out-sharding");
  CHECK(merge.message() ==
        "this reshape does not say how its result is sharded: dim 3 is sharded "
        "and merged behind dim 2, which is whole");
  CHECK(merge.marks() == "0:3");
  // Local: 4*64*6*4*4 = 24,576 bytes; gathered 49,152.
  CHECK(merge.fixes() == "-> P('D', None, 'M') all-to-all M 12288 *\n"
                         "-> P('D', None, None) all-gather M 24576\n");
  CHECK(merge.results == "f32[8@D,64,48@M]");
  // Six heads over four devices.
  RuleOutcome heads = reshape("D=2,M=4", "f32[8@D,64,48@M]", "(8, 64, 6, 8)");
  CHECK(heads.message() ==
        "this reshape does not say how its result is sharded: dim 2 is split, "
        "and a part of size 6 does not divide by 4, the size of 'M'");
}

TEST_CASE("case C04: a sharded batch dim is split into microbatches") {
  RuleOutcome split = reshape("X=4", "bf16[8@X,2048]", "(2, 4, 2048)");
  CHECK(split.code() == "reshape-needs-out-sharding");
  CHECK(split.marks() == "0:0");
  // Payloads are 8 KiB and 32 KiB (CostTest.cpp has them).
  CHECK(split.fixes() == "-> P(None, 'X', None) all-to-all X 6144 *\n"
                         "-> P(None, None, None) all-gather X 24576\n");
  REQUIRE(split.diagnostics[0].notes.size() == 1);
  CHECK(split.diagnostics[0].notes[0].message ==
        "a reshape to (4, 2, 2048) keeps its sharding");
  CHECK(reshape("X=4", "bf16[8@X,2048]", "(4, 2, 2048)").results ==
        "bf16[4@X,2,2048]");
}

TEST_CASE("reshape/sharding.7: axes go to dims of their own group only") {
  RuleOutcome two = reshape("X=2,Y=2", "f32[4@X,4@Y]", "(2, 2, 2, 2)");
  // X and Y can each stay where they are, to the left or the right part.
  CHECK(two.fixes().substr(0, 29) == "-> P('X', None, 'Y', None) *\n");
  CHECK(two.diagnostics[0].fixes.size() == 9);
  CHECK(two.marks() == "0:0 0:1");
  // Dims that correspond keep theirs; (2 3) to (3 2) has no common factors.
  RuleOutcome mixed = reshape("X=2,Y=3", "f32[4@X,2,3@Y]", "(4, 3, 2)");
  CHECK(mixed.fixes() == "-> P('X', 'Y', None) all-gather Y 32 *\n"
                         "-> P('X', None, None) all-gather Y 32\n");
}

TEST_CASE("reshape/sharding.9: accidents carry a type") {
  RuleOutcome beyond = reshape("X=2,Y=2", "f32[4@X,2]{U:Y}", "(8, 1, 1)");
  CHECK(beyond.code() == "index-error-by-accident");
  CHECK(beyond.results == "f32[8@X,1,1]{U:Y}");
  RuleOutcome leftover = reshape("X=1,Y=2,Z=2", "f32[4@(Y,Z,X)]", "(2, 2)");
  CHECK(leftover.code() == "rejected-by-assertion");
  CHECK(leftover.results == "f32[2@Y,2@Z]");
}

TEST_CASE("reshape/reduction.2: the sets asked for must be the operand's") {
  RuleOutcome lost =
      reshape("X=2,Y=2", "f32[8@X]{U:Y}", "(2, 4)", "P('X', None)");
  CHECK(lost.code() == "reshape-unreduced");
  CHECK(lost.marks() == "0 p.sharding");
  CHECK(lost.fixes() == "-> P('X', None, unreduced={'Y'}) *\n");
  CHECK(lost.results == "f32[2@X,4]{U:Y}");
}

TEST_CASE("reshape/reduction.1 and .3: what JAX 0.11 does") {
  RuleFixture old;
  old.options.jax = JaxVersion::V0_11;
  Params params = {
      {"dimensions", "None"}, {"new_sizes", "(4,)"}, {"sharding", "None"}};
  CHECK(old.run("reshape", {"f32[2@X,2]{U:Y}"}, params).results ==
        "f32[4@X]{U:Y}");
  CHECK(old.run("reshape", {"f32[2@X,2]{U_max:Y}"}, params).code() ==
        "unreduced-kind");
  CHECK(old.run("reshape", {"f32[4@X,1]{U:Y}"}, params).code() ==
        "rule-missing-ur-spec");
}

TEST_CASE("rev/reduction.1: sums and reduced axes could pass") {
  RuleFixture fixture;
  Params params = {{"dimensions", "(0,)"}};
  RuleOutcome sums = fixture.run("rev", {"f32[8,4@X]{U:Y}"}, params);
  CHECK(sums.code() == "rule-missing-ur");
  CHECK(sums.results == "f32[8,4@X]{U:Y}");
  CHECK(sums.fixes() == "0 P(None, 'X') all-reduce Y 64\n");
  CHECK(fixture.run("rev", {"f32[8,4]{U_max:Y}"}, params).results !=
        "f32[8,4]{U_max:Y}");
}

TEST_CASE("concatenate/sharding.2: one operand becomes like the others") {
  RuleFixture fixture("X=2,Y=2");
  RuleOutcome two = fixture.run("concatenate", {"f32[8@X,4]", "f32[8,4]"},
                                {{"dimension", "1"}});
  CHECK(two.code() == "concatenate-differ");
  CHECK(two.marks() == "0 1");
  // Taking a part is free; gathering f32[8,4] costs half of 128 bytes.
  CHECK(two.fixes() == "1 P('X', None) *\n0 P(None, None) all-gather X 64\n");
  CHECK(two.results == "f32[8@X,8]");
  RuleOutcome odd = fixture.run("stack", {"f32[4@X]", "f32[4@Y]", "f32[4@X]"},
                                {{"axis", "0"}});
  CHECK(odd.code() == "stack-differ");
  CHECK(odd.fixes() == "1 P('X',) permute X,Y 8 *\n");
  CHECK(odd.results == "f32[3,4@X]");
  RuleOutcome first =
      fixture.run("stack", {"f32[4]", "f32[4@Y]", "f32[4@Y]"}, {{"axis", "1"}});
  CHECK(first.fixes() == "0 P('Y',) *\n");
  CHECK(first.results == "f32[4@Y,3]");
}

TEST_CASE("concatenate/reduction.2: JAX 0.11 passes sums only") {
  RuleFixture old;
  old.options.jax = JaxVersion::V0_11;
  CHECK(old.run("concatenate", {"f32[8]{U_max:X}", "f32[8]{U_max:X}"},
                {{"dimension", "0"}})
            .code() == "unreduced-kind");
}

TEST_CASE("dims that must be whole are offered so") {
  RuleFixture fixture("X=4,Y=2");
  // Case C09, with 160 bytes in all.
  RuleOutcome cum = RuleFixture("X=4").run(
      "cumsum", {"f32[8@X,5]"}, {{"axis", "0"}, {"reverse", "False"}});
  CHECK(cum.code() == "cumulative-dim-sharded");
  CHECK(cum.message() == "'cumsum' runs along dim 0, which is sharded over X");
  CHECK(cum.marks() == "0:0");
  CHECK(cum.fixes() == "0 P(None, None) all-gather X 120 *\n");
  CHECK(
      RuleFixture("X=4")
          .run("cumsum", {"f32[8@X,5]"}, {{"axis", "1"}, {"reverse", "False"}})
          .results == "f32[8@X,5]");
  RuleOutcome unstack =
      fixture.run("unstack", {"f32[2@Y,8@X]"}, {{"axis", "0"}}, 2);
  CHECK(unstack.fixes() == "0 P(None, 'X') all-gather Y 8 *\n");
  CHECK(unstack.results == "f32[8@X], f32[8@X]");
  RuleOutcome tile =
      fixture.run("tile", {"f32[8@X,4@Y]"}, {{"reps", "(2, 1)"}});
  CHECK(tile.fixes() == "0 P(None, 'Y') all-gather X 48 *\n");
  CHECK(tile.results == "f32[16,4@Y]");
  Params sort = {{"dimension", "1"}, {"is_stable", "True"}, {"num_keys", "1"}};
  RuleOutcome sorted = fixture.run("sort", {"f32[8@X,4@Y]"}, sort);
  CHECK(sorted.fixes() == "0 P('X', None) all-gather Y 16 *\n");
  RuleOutcome both = fixture.run("sort", {"f32[8,4@Y]", "f32[8,4@Y]"}, sort, 2);
  CHECK(both.code() == "sort-dim-sharded");
  RuleOutcome topK =
      fixture.run("top_k", {"f32[8@X,4@Y]"},
                  {{"axis", "1"}, {"is_stable", "True"}, {"k", "2"}}, 2);
  CHECK(topK.fixes() == "0 P('X', None) all-gather Y 16 *\n");
  CHECK(topK.results == "f32[8@X,2], i32[8@X,2]");
}

TEST_CASE("operations without rules for sets say what would be sound") {
  RuleFixture fixture("X=2,Y=2");
  Params axis = {{"axis", "1"}, {"reverse", "False"}};
  RuleOutcome cumsum = fixture.run("cumsum", {"f32[8@X,4]{U:Y}"}, axis);
  CHECK(cumsum.code() == "rule-missing-ur-spec");
  CHECK(cumsum.results == "f32[8@X,4]{U:Y}");
  RuleOutcome cummax = fixture.run("cummax", {"f32[8@X,4]{U:Y}"}, axis);
  CHECK(cummax.results == "f32[8@X,4]"); // That of the reshard.
  CHECK(fixture.run("cummax", {"f32[8@X,4]{R:Y}"}, axis).results ==
        "f32[8@X,4]{R:Y}");
  CHECK(
      fixture.run("unstack", {"f32[2,4@X]{U:Y}"}, {{"axis", "0"}}, 2).results ==
      "f32[4@X]{U:Y}, f32[4@X]{U:Y}");
  CHECK(fixture.run("reduce_prod", {"f32[8@X,4]{R:Y}"}, {{"axes", "(1,)"}})
            .results == "f32[8@X]{R:Y}");
  CHECK(fixture
            .run("argmax", {"f32[8@X,4]{R:Y}"},
                 {{"axes", "(1,)"}, {"index_dtype", "int32"}})
            .results == "i32[8@X]{R:Y}");
  CHECK(fixture
            .run("top_k", {"f32[8@X,4]{R:Y}"},
                 {{"axis", "1"}, {"is_stable", "True"}, {"k", "2"}}, 2)
            .results == "f32[8@X,2]{R:Y}, i32[8@X,2]{R:Y}");
}

TEST_CASE("reductions offer what can be asked for") {
  RuleFixture fixture("X=4,Y=2");
  auto sum = [&](const char *operand, const char *axes, const char *out) {
    return fixture.run("reduce_sum", {operand},
                       {{"axes", axes}, {"out_sharding", out}});
  };
  // Row A26.
  CHECK(sum("f32[8@X,4@Y]", "(0,)", "None").results == "f32[4@Y]");
  RuleOutcome other = sum("f32[8@X,4@Y]", "(0,)", "P(None, unreduced={'Y'})");
  CHECK(other.code() == "reduce-unreduced-axes");
  CHECK(other.marks() == "p.out_sharding 0:0");
  // f32[4]: 16 bytes reduced over X, or first gathered over Y.
  CHECK(other.fixes() == "-> P(None,) all-reduce X 12 all-gather Y 8 *\n"
                         "-> P(None, unreduced={'X'}) all-gather Y 8\n");
  RuleOutcome kind = fixture.run(
      "reduce_max", {"f32[8@X,4]"},
      {{"axes", "(0,)"}, {"out_sharding", "P(None, unreduced={'X'})"}});
  CHECK(kind.code() == "reduce-unreduced-kind");
  CHECK(kind.fixes() == "-> P(None, unreduced={'X'}, unreduced_kind=max) *\n");
  RuleOutcome reduced = sum("f32[8@X,4]", "(0,)", "P(None, reduced={'Y'})");
  CHECK(reduced.code() == "reduce-out-reduced");
  CHECK(reduced.fixes() == "-> P(None,) all-reduce X 24 *\n");
}

TEST_CASE("reduce/reduction.4: JAX 0.11 takes sums in reduce_max") {
  RuleFixture fixture("X=2");
  Params params = {{"axes", "(0,)"}, {"out_sharding", "None"}};
  CHECK(fixture.run("reduce_max", {"f32[8,4]{U:X}"}, params).code() ==
        "unreduced-kind");
  fixture.options.jax = JaxVersion::V0_11;
  CHECK(fixture.run("reduce_max", {"f32[8,4]{U:X}"}, params).results ==
        "f32[4]{U_max:X}");
}

TEST_CASE("broadcast_in_dim/shape.4 and sharding.3: hidden parameters") {
  RuleFixture fixture("X=2,Y=2");
  Params hidden = {{"broadcast_dimensions", "(1,)"},
                   {"shape", "<hidden>"},
                   {"sharding", "<hidden>"}};
  fixture.recorded = {fixture.type("f32[8,4@X]")};
  CHECK(fixture.run("broadcast_in_dim", {"f32[4@X]"}, hidden).results ==
        "f32[8,4@X]");
  CHECK(fixture.run("broadcast_in_dim", {"f32[4]"}, hidden).results ==
        "f32[8,4@X]"); // It must have been asked for.
  fixture.options.retyped = true;
  CHECK(fixture.run("broadcast_in_dim", {"f32[4@Y]"}, hidden).results ==
        "f32[8,4@Y]");
  hidden["broadcast_dimensions"] = "()";
  CHECK(fixture.run("broadcast_in_dim", {"np:f32[]"}, hidden).results ==
        "f32[8,4@X]");
  fixture.recorded = {};
  CHECK(fixture.run("broadcast_in_dim", {"np:f32[]"}, hidden).code() ==
        "param-invalid");
}

TEST_CASE("sizes that are no numbers, or too large") {
  RuleFixture fixture("X=2,Y=2");
  CHECK(fixture.run("transpose", {"f32[b,4@X]"}, {{"permutation", "(1, 0)"}})
            .results == "f32[4@X,b]");
  CHECK(fixture.run("concatenate", {"f32[b]", "f32[b]"}, {{"dimension", "0"}})
            .code() == "shape-mismatch");
  CHECK(fixture
            .run("concatenate", {"f32[9223372036854775807]", "f32[2]"},
                 {{"dimension", "0"}})
            .code() == "shape-mismatch");
  CHECK(fixture
            .run("pad", {"f32[4]", "f32[]"},
                 {{"padding_config", "((9223372036854775807, 1, 0),)"}})
            .code() == "shape-mismatch");
  CHECK(fixture.run("tile", {"f32[4611686018427387904]"}, {{"reps", "(4,)"}})
            .code() == "shape-mismatch");
  CHECK(reshape("X=2", "f32[2*b@X]", "(2, 4)").code() ==
        "reshape-needs-out-sharding");
  CHECK(fixture
            .run("iota", {},
                 {{"dimension", "0"},
                  {"dtype", "int32"},
                  {"shape", "(-2,)"},
                  {"sharding", "None"}})
            .code() == "shape-mismatch");
}
