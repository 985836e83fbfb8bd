// ContractionTest.cpp - what dot_general offers where it refuses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RuleFixture.h"
#include <catch2/catch.hpp>

using namespace shardtype;
using namespace shardtype::test;

static const char *const Matmul = "(([1], [0]), ([], []))";

static RuleOutcome dot(RuleFixture &fixture, std::vector<std::string> operands,
                       const char *numbers, const char *out = "None") {
  return fixture.run("dot_general", std::move(operands),
                     {{"dimension_numbers", numbers},
                      {"out_sharding", out},
                      {"precision", "None"},
                      {"preferred_element_type", "None"}});
}
static RuleOutcome dot(StringRef mesh, std::vector<std::string> operands,
                       const char *numbers = Matmul, const char *out = "None") {
  RuleFixture fixture(mesh);
  return dot(fixture, std::move(operands), numbers, out);
}

TEST_CASE("dot_general/sharding.7: row A28 has four results") {
  RuleOutcome d = dot("X=4,Y=2", {"f32[8,4@X]", "f32[4@X,16]"});
  CHECK(d.code() == "dot-contracting-ambiguous");
  CHECK(d.message() == "both contracting dims are sharded over 'X', so the "
                       "result has more than one possible type");
  CHECK(d.marks() == "0:1 1:0");
  CHECK(d.fixes() == "-> P(None, None) all-reduce X 768 *\n"
                     "-> P('X', None) reduce-scatter X 384\n"
                     "-> P(None, 'X') reduce-scatter X 384\n"
                     "-> P(None, None, unreduced={'X'})\n");
  CHECK(d.results == "f32[8,16]");
}

TEST_CASE("rows A29, A29b and C03 to C05") {
  CHECK(dot("X=4,Y=2", {"f32[8,4@X]", "f32[4@X,16]"}, Matmul, "P('X', None)")
            .results == "f32[8@X,16]");
  CHECK(dot("X=4,Y=2", {"f32[8,4]", "f32[4@X,16]"}).results == "f32[8,16]");
  CHECK(dot("X=2", {"f32[2,4@X]", "f32[4@X,2]"}).code() ==
        "dot-contracting-ambiguous");
  CHECK(dot("X=2", {"f32[2,4@X]", "f32[4@X,2]"}, Matmul, "P(None, None)")
            .results == "f32[2,2]");
  CHECK(dot("X=2", {"f32[2,4@X]", "f32[4@X,2]"}, Matmul,
            "P(None, None, unreduced={'X'})")
            .results == "f32[2,2]{U:X}");
}

TEST_CASE("the example of the command line") {
  RuleOutcome d =
      dot("data=4,model=2", {"f32[32@data,512@model]", "f32[512@model,128]"});
  CHECK(d.fixes() == "-> P('data', None) all-reduce model 4096 *\n"
                     "-> P('data', 'model') reduce-scatter model 2048\n"
                     "-> P(('data', 'model'), None) reduce-scatter model 2048\n"
                     "-> P('data', None, unreduced={'model'})\n");
}

TEST_CASE("case C01: attention scores over a sharded head dim") {
  RuleOutcome d = dot("D=2,M=4", {"f32[2@D,8,4,32@M]", "f32[2@D,8,4,32@M]"},
                      "(([3], [3]), ([0, 2], [0, 2]))");
  CHECK(d.marks() == "0:3 1:3");
  CHECK(d.results == "f32[2@D,4,8,8]");
  const std::vector<Fix> &fixes = d.diagnostics[0].fixes;
  REQUIRE(fixes.size() == 5); // Heads and both sequence dims divide by 4.
  CHECK(fixes[0].spec == "P('D', None, None, None)");
  REQUIRE(fixes[0].communication.size() == 1);
  CHECK(fixes[0].communication[0].payloadBytes == 1024);
  CHECK(fixes[4].spec == "P('D', None, None, None, unreduced={'M'})");
  CHECK(fixes[4].communication.empty());
}

TEST_CASE("dot_general/sharding.8: case C02, batch dims on one side only") {
  RuleOutcome d = dot("D=2,M=4", {"f32[4@D,8@M,16,32]", "f32[4@D,8,16,32]"},
                      "(([3], [3]), ([0, 1], [0, 1]))");
  CHECK(d.code() == "dot-batch-differ");
  CHECK(d.message() ==
        "batch dims 1 and 1 are sharded differently: M and None");
  CHECK(d.marks() == "0:1 1:1");
  // Local lhs: 2*2*16*32*4 = 8,192 bytes, gathered over M 32,768.
  CHECK(d.fixes() == "1 P('D', 'M', None, None) *\n"
                     "0 P('D', None, None, None) all-gather M 24576\n"
                     "-> P('D', 'M', None, None)\n");
  CHECK(d.results == "f32[4@D,8@M,16,16]");
}

TEST_CASE("dot_general/reduction.6: case C13, one side is replicated") {
  RuleOutcome d = dot("X=2,Y=2", {"f32[4,8]", "f32[8@Y,16@X]"}, Matmul,
                      "P(None, 'X', unreduced={'Y'})");
  CHECK(d.code() == "dot-unreduced-contracting");
  CHECK(d.marks() == "0:1 1:0 p.out_sharding");
  CHECK(d.fixes() == "0 P(None, 'Y') *\n");
  CHECK(d.results == "f32[4,16@X]{U:Y}");
  // What was asked for is not to be had by a reshard: it is completed.
  RuleOutcome other = dot("X=2,Y=2", {"f32[4,8]", "f32[8@Y,16]"}, Matmul,
                          "P(None, None, unreduced={'X'})");
  CHECK(other.fixes() == "-> P(None, None) all-gather Y 256 *\n");
  RuleOutcome axes = dot("X=2,Y=2", {"f32[4,8@Y]", "f32[8@Y,16]"}, Matmul,
                         "P(None, None, unreduced={'X'})");
  CHECK(axes.code() == "dot-unreduced-axes");
  CHECK(axes.fixes() == "-> P(None, None) all-reduce Y 256 *\n"
                        "-> P(None, None, unreduced={'Y'})\n");
}

TEST_CASE("case C12: partial over two axes") {
  const char *rows = "(([0], [0]), ([], []))";
  CHECK(dot("X=2,Y=2", {"f32[8@(X,Y),6]", "f32[8@(X,Y)]"}, rows,
            "P(None, unreduced={'X', 'Y'})")
            .results == "f32[6]{U:(X,Y)}");
  CHECK(dot("X=2,Y=2", {"f32[8@(X,Y)]", "f32[8@(X,Y)]"}, rows,
            "P(unreduced={'X', 'Y'})")
            .results == "f32[]{U:(X,Y)}");
}

TEST_CASE("dot_general/sharding.9: case C15, an axis on two dims") {
  RuleOutcome d = dot("X=4,Y=2", {"f32[8@X,4]", "f32[4,8@X]"});
  CHECK(d.code() == "duplicate-axis");
  CHECK(d.message() == "the result would be sharded over 'X' on both dim 0 and "
                       "dim 1: f32[8@X,8@X]");
  CHECK(d.marks() == "0:0 1:1");
  // Either operand has 128 bytes in all.
  CHECK(d.fixes() == "-> P('X', None) all-gather X 96 *\n"
                     "-> P(None, 'X') all-gather X 96\n"
                     "0 P(None, None) all-gather X 96\n"
                     "1 P(None, None) all-gather X 96\n");
}

TEST_CASE("contracting dims over different axes") {
  RuleOutcome d = dot("X=2,Y=2", {"f32[4,8@X]", "f32[8@Y,16]"});
  CHECK(d.code() == "dot-contracting-conflict");
  CHECK(d.message() ==
        "the contracting dims are sharded over different axes: X and Y");
  // The lhs (128 bytes) goes over to Y, whose parts then have to be added; to
  // gather both costs as much.
  CHECK(d.fixes() == "-> P(None, None) permute X,Y 64 all-reduce Y 256 *\n"
                     "0 P(None, None) all-gather X 64\n"
                     "1 P(None, None) all-gather Y 256\n");
}

TEST_CASE("dot_general/reduction.1: partial sums of one operand") {
  RuleOutcome d = dot("X=2,Y=2", {"f32[4,8]{U:X}", "f32[8,16@Y]"});
  CHECK(d.code() == "dot-unreduced-operand");
  CHECK(d.fixes() == "0 P(None, None) all-reduce X 128\n");
  CHECK(d.results == "f32[4,16@Y]{U:X}");
  RuleOutcome both = dot("X=2,Y=2", {"f32[4,8]{U:X}", "f32[8,16]{U:X}"});
  CHECK(both.results == "f32[4,16]"); // Both resharded.
  RuleOutcome sharded = dot("X=2,Y=2", {"f32[4,8]{U:X}", "f32[8,16@X]"});
  CHECK(sharded.results == "f32[4,16@X]");
}

TEST_CASE("dot_general/sharding.6: out_sharding that a text hides") {
  RuleFixture fixture("X=4,Y=2");
  auto hidden = [&](const char *recorded, std::vector<std::string> operands) {
    fixture.recorded = {fixture.type(recorded)};
    return dot(fixture, std::move(operands), Matmul, "<hidden>");
  };
  std::vector<std::string> ambiguous = {"f32[8,4@X]", "f32[4@X,16]"};
  CHECK(hidden("f32[8@X,16]", ambiguous).results == "f32[8@X,16]");
  CHECK(hidden("f32[8,16]{U:X}", ambiguous).results == "f32[8,16]{U:X}");
  CHECK(hidden("f32[8@X,16]", {"f32[8@X,4]", "f32[4,16]"}).results ==
        "f32[8@X,16]");
  CHECK(hidden("f32[8@X,16@Y]", {"f32[8@X,4]", "f32[4,16]"}).results ==
        "f32[8@X,16@Y]");
  // Re-typed, what the rule gives counts.
  fixture.options.retyped = true;
  CHECK(hidden("f32[8@X,16@Y]", {"f32[8@X,4]", "f32[4,16]"}).results ==
        "f32[8@X,16]");
  CHECK(hidden("f32[8@X,16]", ambiguous).results == "f32[8@X,16]");
  CHECK(hidden("np:f32[8,16]", ambiguous).code() ==
        "dot-contracting-ambiguous");
}
