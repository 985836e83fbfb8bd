// InterpSumsTest.cpp - each device's part of unreduced values is JAX's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// record_sums.py says what sums.jsonl holds. Its values are small integers or
// halves of them, so that parts are equal bit for bit.
#include "InterpFixture.h"
#include "SumsFixture.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Tensor/Compare.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
namespace json = llvm::json;

/// Of a recorded array, as f64.
static Tensor arrayOf(const json::Object &recorded) {
  SmallVector<int64_t, 4> shape;
  for (const json::Value &size : *recorded.getArray("shape"))
    shape.push_back(*size.getAsInteger());
  Tensor value = Tensor::uninitialised(DType::F64, shape);
  MutableArrayRef<double> to = value.fill<double>();
  for (auto [x, number] : llvm::zip_equal(to, *recorded.getArray("data")))
    x = *number.getAsNumber();
  return value;
}

static RunResult runRecorded(Running &running, const json::Object &line,
                             RunOptions options) {
  std::vector<Tensor> arguments;
  for (auto [given, type] : llvm::zip_equal(*line.getArray("arguments"),
                                            running.checked->argumentTypes))
    arguments.push_back(kernels::convert(arrayOf(*given.getAsObject()),
                                         running.cx.type(type).dtype));
  return running.run(std::move(arguments), std::move(options));
}

TEST_CASE("each device holds the partial sums that JAX gives it") {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(SHARDTYPE_SOURCE_DIR) +
                                            "/test/unit/sums.jsonl");
  REQUIRE(buffer);
  SmallVector<StringRef, 64> lines;
  (*buffer)->getBuffer().trim().split(lines, '\n');
  CHECK(lines.size() == 54);
  for (StringRef text : lines) {
    llvm::Expected<json::Value> parsed = json::parse(text);
    REQUIRE(static_cast<bool>(parsed));
    const json::Object &line = *parsed->getAsObject();
    INFO(line.getString("name")->str());
    Running running(line.getString("program")->str());
    RunOptions options;
    options.eval.keepSums = true;
    RunResult result = runRecorded(running, line, options);
    REQUIRE(!result.error);
    REQUIRE(result.sums[0]);
    INFO("lost by " << result.sums[0]->lost);
    REQUIRE(result.sums[0]->known());
    for (auto [i, shard] : llvm::enumerate(*line.getArray("shards"))) {
      INFO("device " << i);
      Tensor wanted = arrayOf(*shard.getAsObject());
      Tensor block =
          kernels::convert(blockAt(running.cx, running.checked->resultTypes[0],
                                   *result.sums[0], i),
                           DType::F64);
      Comparison difference = compare(block, wanted, {});
      INFO(describe(difference, block, wanted));
      CHECK(difference.agrees());
    }
    // Nobody looks, so nothing is kept; but a region looks at what enters it.
    bool looks = *line.getString("name") == "through a region";
    CHECK((runRecorded(running, line, {}).sums[0] != nullptr) == looks);
  }
}

TEST_CASE("partial sums of bools are not kept apart") {
  // JAX has them False but on the first device, and computes with that.
  Running running("#! mesh X=2\n"
                  "{ lambda ; a:bool[2]. let\n"
                  "    b:bool[2]{U:X} = reshard[\n"
                  "      dst_sharding=P(None, unreduced={'X'})\n"
                  "    ] a\n"
                  "  in (b,) }");
  RunOptions options;
  options.eval.keepSums = true;
  Tensor mask = Tensor::uninitialised(DType::Bool, {2});
  for (bool &x : mask.fill<bool>())
    x = true;
  RunResult result = running.run({mask}, options);
  REQUIRE(!result.error);
  REQUIRE(result.sums[0]);
  CHECK(!result.sums[0]->known());
  options.eval.jaxNumbers = true;
  result = running.run({mask}, options);
  REQUIRE(result.sums[0]->known());
  CHECK(result.sums[0]->parts[0].as<bool>()[1]);
  CHECK(!result.sums[0]->parts[1].as<bool>()[1]);
}

TEST_CASE("partial sums that are not kept apart are said to be lost") {
  // JAX has the whole value on each device, which is no sum of it.
  std::string ones = "#! mesh X=2\n"
                     "{ lambda ; a:f32[]. let\n"
                     "    b:f32[2]{U:X} = broadcast_in_dim[\n"
                     "      broadcast_dimensions=()\n"
                     "      shape=(2,)\n"
                     "      sharding=P(None, unreduced={'X'})\n"
                     "    ] a\n"
                     "    c:f32[2]{U:X} = neg b\n"
                     "  in (c,) }";
  Running running(ones);
  RunOptions options;
  options.eval.keepSums = true;
  RunResult result = running.run({counting(DType::F32, {}, 1)}, options);
  REQUIRE(!result.error);
  REQUIRE(result.sums[0]);
  CHECK(!result.sums[0]->known());
  CHECK(result.sums[0]->lost == "broadcast_in_dim");
  options.eval.jaxNumbers = true;
  result = running.run({counting(DType::F32, {}, 1)}, options);
  REQUIRE(result.sums[0]->known());
  CHECK(result.sums[0]->parts[1].as<float>()[0] == -1);
  CHECK(running.run({counting(DType::F32, {}, 0)}).sums[0] == nullptr);
}
