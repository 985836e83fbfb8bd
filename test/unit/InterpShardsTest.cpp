// InterpShardsTest.cpp - the seed examples' shards and figures, row by row.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spec-examples/record_shards.py says what shards.json holds.
#include "RowsFixture.h"
#include "shardtype/Kernels/Convert.h"
#include "shardtype/Tensor/Compare.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <set>

using namespace shardtype;

static std::vector<json::Object> shardLines() {
  std::string text = readFile("shards.json");
  SmallVector<StringRef, 0> lines;
  StringRef(text).trim().split(lines, '\n');
  std::vector<json::Object> result;
  for (StringRef line : lines) {
    llvm::Expected<json::Value> parsed = json::parse(line);
    REQUIRE(static_cast<bool>(parsed));
    result.push_back(std::move(*parsed->getAsObject()));
  }
  return result;
}

/// Nested lists as an array of doubles.
static void collect(const json::Value &value, SmallVectorImpl<int64_t> &shape,
                    size_t depth, std::vector<double> &data) {
  if (const json::Array *list = value.getAsArray()) {
    if (depth == shape.size())
      shape.push_back(static_cast<int64_t>(list->size()));
    for (const json::Value &element : *list)
      collect(element, shape, depth + 1, data);
    return;
  }
  data.push_back(*value.getAsNumber());
}

static Tensor arrayOf(const json::Value &value) {
  SmallVector<int64_t, 4> shape;
  std::vector<double> data;
  collect(value, shape, 0, data);
  Tensor array = Tensor::uninitialised(DType::F64, shape);
  llvm::copy(data, array.fill<double>().begin());
  return array;
}

namespace {
/// A program that ran, and what is asked of it.
class Ran {
public:
  Ran(const Recorded &recorded, const json::Object &line);
  /// `in0`, `out1`.
  Tensor value(StringRef key) const {
    return isInput(key) ? inputs_[number(key)] : result_.results[number(key)];
  }
  /// The block of a device.
  Tensor block(StringRef key, size_t device) const {
    TypeId type = isInput(key) ? checked_->argumentTypes[number(key)]
                               : checked_->resultTypes[number(key)];
    PartialSumsRef sums = isInput(key)
                              ? sumsOfArgument(loaded_->cx, type, value(key))
                              : result_.sums[number(key)];
    if (isInput(key))
      if (auto given = sums_.find(number(key)); given != sums_.end())
        sums = given->second;
    if (!sums) // All devices have a block of the same value.
      sums = makeSums(AxisSet(), {value(key)});
    REQUIRE(sums->known());
    return blockAt(loaded_->cx, type, *sums, device);
  }

private:
  static bool isInput(StringRef key) { return key.starts_with("in"); }
  static unsigned number(StringRef key) {
    unsigned n = 0;
    key.drop_until(llvm::isDigit).getAsInteger(10, n);
    return n;
  }
  std::optional<Loaded> loaded_;
  std::optional<CheckedProgram> checked_;
  std::vector<Tensor> inputs_;
  std::map<unsigned, PartialSumsRef> sums_;
  RunResult result_;
};
} // namespace

Ran::Ran(const Recorded &recorded, const json::Object &line) {
  RunOptions options;
  std::optional<StringRef> name = line.getString("program");
  if (name)
    loaded_.emplace(recorded, name->str());
  else
    loaded_.emplace(*line.getString("text"));
  checked_.emplace(check(*loaded_->program, loaded_->primitives));
  REQUIRE(checked_->ok());
  if (name) {
    options =
        recordedArguments(recorded, *loaded_, *checked_, name->str(), inputs_);
  } else {
    options.eval.keepSums = true;
    for (auto [given, type] :
         llvm::zip_equal(*line.getArray("arguments"), checked_->argumentTypes))
      inputs_.push_back(
          kernels::convert(arrayOf(given), loaded_->cx.type(type).dtype));
  }
  sums_ = options.argumentSums;
  Interpreter interpreter(*checked_, loaded_->primitives, options);
  REQUIRE(interpreter.errors().empty());
  result_ = interpreter.run(inputs_);
  REQUIRE(!result_.error);
}

static void compareShards(const Ran &ran, StringRef value,
                          const json::Array &shards) {
  for (auto [device, shard] : llvm::enumerate(shards)) {
    INFO("device " << device);
    Tensor wanted = arrayOf(shard);
    Tensor block = ran.block(value, device);
    Tolerance close; // Of integers and keys' bits none.
    close.relative = isFloat(block.dtype()) ? 1e-5 : 0;
    close.ofLargest = true;
    block = kernels::convert(block, DType::F64);
    Comparison difference = compare(block, wanted, close);
    INFO(describe(difference, block, wanted));
    CHECK(difference.agrees());
  }
}

/// Six digits, of numbers whose sum may cancel.
static void compareFigures(const Tensor &array, const json::Object &line) {
  Tensor doubles = kernels::convert(array, DType::F64);
  double sum = 0, squares = 0;
  int64_t nan = 0;
  for (double x : doubles.as<double>()) {
    nan += std::isnan(x);
    sum += std::isnan(x) ? 0 : x;
    squares += std::isnan(x) ? 0 : x * x;
  }
  double norm = std::sqrt(squares);
  CHECK(*line.getNumber("sum") ==
        Approx(sum).margin(2e-4 * norm).epsilon(1e-5));
  if (auto l2 = line.getNumber("l2"))
    CHECK(*l2 == Approx(norm).epsilon(1e-5));
  if (auto count = line.getInteger("nan"))
    CHECK(*count == nan);
  if (const json::Array *first = line.getArray("first"))
    for (auto [i, known] : llvm::enumerate(*first))
      CHECK(*known.getAsNumber() ==
            Approx(doubles.as<double>()[i]).margin(1e-5 * norm).epsilon(1e-5));
}

TEST_CASE("seed examples have the shards and figures that JAX gave") {
  Recorded recorded;
  std::vector<json::Object> lines = shardLines();
  CHECK(lines.size() == 170);
  std::optional<Ran> ran;
  std::string before;
  for (const json::Object &line : lines) {
    std::string program =
        line.getString("program").value_or(*line.getString("row")).str();
    StringRef value = *line.getString("value");
    INFO(program << " " << value.str());
    if (!line.getString("program") || program != before)
      ran.emplace(recorded, line);
    before = program;
    if (const json::Array *shards = line.getArray("shards"))
      compareShards(*ran, value, *shards);
    else
      compareFigures(ran->value(value), line);
  }
}

TEST_CASE("each seed example with numbers is compared") {
  // B07 and B23 have none: pictures, and an error.
  static constexpr StringRef rows[] = {
      "A11",    "A12_13", "A14_15", "A16",    "A17_18", "A25",    "A35",
      "A36",    "A37",    "B03-06", "B08_09", "B10_11", "B12",    "B13",
      "B14",    "B15-17", "B18",    "B19",    "B20",    "B21",    "B22",
      "B24",    "B25",    "B26",    "B27-30", "B31-34", "B35_36", "B37-39",
      "B40-42", "B43-46", "B47_48", "B51-58", "B59-64", "B65-71", "B72-74",
      "B75_76", "B77_78", "B79-84", "C05",    "C15",    "C16",    "C17"};
  std::set<std::string> compared;
  for (const std::string &name : Recorded().names())
    compared.insert(StringRef(name).split('.').first.str());
  for (const json::Object &line : shardLines())
    compared.insert(line.getString("row")->str());
  for (StringRef row : rows) {
    INFO(row.str());
    CHECK(compared.count(row.str()));
  }
}
