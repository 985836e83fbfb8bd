// InterpRowsTest.cpp - the seed examples have the numbers that JAX computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spec-examples/record_numbers.py says what numbers.json and numbers.npz hold.
#include "RowsFixture.h"
#include "shardtype/Tensor/Compare.h"

using namespace shardtype;

static Tolerance closeEnough() {
  Tolerance close{.relative = 1e-5, .absolute = 2e-6};
  close.ofLargest = true;
  return close;
}

static void compareArrays(const Tensor &actual, const Tensor &expected) {
  Comparison difference = compare(actual, expected, closeEnough());
  INFO(describe(difference, actual, expected));
  CHECK(difference.agrees());
}

/// Parts of unreduced results that were compared.
static unsigned compared = 0;

static void runRow(const Recorded &recorded, const std::string &name) {
  INFO(name);
  Loaded loaded(recorded, name);
  CheckedProgram checked = check(*loaded.program, loaded.primitives);
  REQUIRE(checked.ok());
  std::vector<Tensor> arguments;
  RunOptions options =
      recordedArguments(recorded, loaded, checked, name, arguments);
  Interpreter interpreter(checked, loaded.primitives, options);
  for (const RunError &error : interpreter.errors())
    UNSCOPED_INFO(error.path << ": " << error.message);
  REQUIRE(interpreter.errors().empty());
  RunResult result = interpreter.run(std::move(arguments));
  if (result.error)
    UNSCOPED_INFO(result.error->path << ": " << result.error->message);
  REQUIRE(!result.error);
  for (unsigned i = 0; i < result.results.size(); ++i) {
    INFO("result " << i);
    std::string key = "out" + std::to_string(i);
    Tensor expected = recorded.value(name, key);
    REQUIRE(expected);
    compareArrays(result.results[i], expected);
    for (unsigned device = 0;; ++device) {
      Tensor part = recorded.part(name, key, device);
      if (!part)
        break;
      INFO("device " << device);
      REQUIRE(result.sums[i]);
      REQUIRE(result.sums[i]->known());
      compareArrays(
          blockAt(loaded.cx, checked.resultTypes[i], *result.sums[i], device),
          part);
      ++compared;
    }
  }
}

TEST_CASE("seed examples have the numbers that JAX computed") {
  Recorded recorded;
  std::vector<std::string> names = recorded.names();
  CHECK(names.size() == 190);
  for (const std::string &name : names)
    runRow(recorded, name);
  CHECK(compared >= 12);
}
