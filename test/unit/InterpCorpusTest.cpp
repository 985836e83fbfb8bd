// InterpCorpusTest.cpp - the corpus has the numbers that JAX computed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tools/dev/corpus_numbers.py says what test/corpus/numbers.npz holds, and
// makes the same arguments.
#include "CheckFixture.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Tensor/Compare.h"
#include "shardtype/Tensor/Npz.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;

static const std::string corpus =
    std::string(SHARDTYPE_SOURCE_DIR) + "/test/corpus/";

template <typename T, typename Make>
static void fillWith(Tensor &tensor, int64_t position, Make make) {
  for (auto [i, element] : llvm::enumerate(tensor.fill<T>()))
    element = static_cast<T>(
        make((static_cast<int64_t>(i) * 37 + 11 * position) % 61));
}

/// `argument` of corpus_numbers.py.
static Tensor argument(int64_t position, const Type &type, bool positive) {
  Tensor tensor = Tensor::zeros(type.dtype, type.shape);
  switch (type.dtype) {
  case DType::F32:
    fillWith<float>(tensor, position, [&](int64_t index) {
      return static_cast<float>(positive ? index + 1 : index - 30) / 256;
    });
    return tensor;
  case DType::I32:
    fillWith<int32_t>(tensor, position,
                      [](int64_t index) { return index % 4; });
    return tensor;
  case DType::U32:
    fillWith<uint32_t>(tensor, position,
                       [](int64_t index) { return index % 4; });
    return tensor;
  default: { // A key.
    REQUIRE(isKey(type.dtype));
    Tensor words = Tensor::uninitialised(DType::U32, {2});
    words.fill<uint32_t>()[0] = 1;
    words.fill<uint32_t>()[1] = 2;
    return words.viewedAs(type.dtype, type.shape);
  }
  }
}

/// `sample` of corpus_numbers.py.
static Tensor sampled(const Tensor &value, ArrayRef<int64_t> shape) {
  Tensor result = Tensor::uninitialised(value.dtype(), shape);
  const int64_t step = std::max<int64_t>(1, value.size() / 64);
  const unsigned width = itemSize(value.dtype());
  REQUIRE(result.size() ==
          std::min<int64_t>(64, llvm::divideCeil(value.size(), step)));
  for (int64_t i = 0; i < result.size(); ++i)
    memcpy(result.mutableData() + i * width, value.data() + i * step * width,
           width);
  return result;
}

static std::optional<Program> load(Context &cx, const PrimitiveSet &primitives,
                                   const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(corpus + name + ".json");
  REQUIRE(buffer);
  DiagnosticList errors;
  return readJson(
      cx, (*buffer)->getBuffer(),
      [&](StringRef primitive) { return primitives.info(primitive); }, errors);
}

static void runProgram(NpzReader &recorded, const std::string &name) {
  INFO(name);
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program = load(cx, primitives, name);
  REQUIRE(program);
  CheckedProgram checked = check(*program, primitives);
  REQUIRE(checked.ok());
  Interpreter interpreter(checked, primitives);
  REQUIRE(interpreter.errors().empty());
  bool positive = StringRef(name).contains("step");
  std::vector<Tensor> arguments;
  for (auto [i, id] : llvm::enumerate(checked.argumentTypes))
    arguments.push_back(argument(i, cx.type(id), positive));
  RunResult result = interpreter.run(std::move(arguments));
  REQUIRE(!result.error);
  // Those that scan compute in bf16, whose steps XLA rounds less often.
  bool coarse = StringRef(name).contains("scan");
  Tolerance close{.relative = coarse ? 2e-2 : 1e-5, .absolute = 2e-6};
  close.ofLargest = true;
  for (auto [i, value] : llvm::enumerate(result.results)) {
    llvm::Expected<Tensor> expected =
        recorded.read(name + "/" + std::to_string(i), std::nullopt);
    REQUIRE(static_cast<bool>(expected));
    Tensor actual = sampled(value, expected->shape());
    Comparison difference = compare(actual, *expected, close);
    INFO("result " << i << ": " << describe(difference, actual, *expected));
    CHECK(difference.agrees());
  }
}

TEST_CASE("corpus programs have the numbers that JAX computed") {
  llvm::Expected<NpzReader> recorded = NpzReader::open(corpus + "numbers.npz");
  REQUIRE(static_cast<bool>(recorded));
  llvm::StringSet<> names;
  for (const auto &entry : recorded->names())
    names.insert(StringRef(entry).rsplit('/').first);
  CHECK(names.size() == 75);
  for (const auto &name : names)
    runProgram(*recorded, name.first().str());
}
