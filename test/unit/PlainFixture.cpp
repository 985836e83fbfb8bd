// PlainFixture.cpp - one program on both evaluators.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PlainFixture.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace shardtype;
using plain::Number;

std::vector<Number> shardtype::edgesOf(DType dtype, bool finite) {
  std::vector<Number> values;
  if (isFloat(dtype) || isComplex(dtype)) {
    for (double x : {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1.5, -2.5, 5.0, 0.1,
                     7.25, 1e-3, 300.0})
      values.push_back(plain::rounded(dtype, {x, 0, 0}));
    if (!finite)
      for (double x : {HUGE_VAL, -HUGE_VAL, double(NAN), 3e38, -3e38, 65504.0,
                       1e-38, 1e-40, -1e-7})
        values.push_back(plain::rounded(dtype, {x, 0, 0}));
    for (size_t i = 0; isComplex(dtype) && i < values.size(); ++i)
      values[i].im = values[(i * 5 + 3) % values.size()].re;
    return values;
  }
  if (dtype == DType::Bool)
    return {plain::integer(0), plain::integer(1)};
  plain::Wide low = plain::lowest(dtype).i, high = plain::highest(dtype).i;
  for (plain::Wide x :
       {plain::Wide(0), plain::Wide(1), plain::Wide(-1), plain::Wide(2), low,
        high, low + 1, high - 1, plain::Wide(3), plain::Wide(7),
        plain::Wide(-5), plain::Wide(8), plain::Wide(31), plain::Wide(32)})
    values.push_back(plain::rounded(dtype, {0, 0, x}));
  return values;
}

static Tensor filled(DType dtype, ArrayRef<int64_t> shape,
                     llvm::function_ref<Number(int64_t)> value) {
  Tensor result = Tensor::zeros(dtype, shape);
  if (dtype == DType::Float0)
    return result;
  if (isKey(dtype)) {
    uint32_t next = 1;
    for (uint32_t &word : result.fill<uint32_t>())
      word = next *= 2654435761u;
    return result;
  }
  for (int64_t i = 0; i < result.size(); ++i)
    plain::store(result, i, value(i));
  return result;
}

Tensor shardtype::edges(DType dtype, ArrayRef<int64_t> shape,
                        unsigned argument) {
  if (isKey(dtype) || dtype == DType::Float0)
    return filled(dtype, shape, {});
  std::vector<Number> values = edgesOf(dtype);
  return filled(dtype, shape, [&](int64_t i) {
    return values[(static_cast<size_t>(i) * (2 * argument + 1) + argument * 5) %
                  values.size()];
  });
}
Tensor shardtype::small(DType dtype, ArrayRef<int64_t> shape,
                        unsigned argument) {
  return filled(dtype, shape, [&](int64_t i) {
    int64_t value = (i * 7 + argument * 3) % 5 - 2;
    Number x = plain::integer(dtype == DType::Bool ? value > 0 : value);
    if (isComplex(dtype))
      x.im = static_cast<double>((i * 3 + argument) % 3 - 1);
    return x;
  });
}
Tensor shardtype::distinct(DType dtype, ArrayRef<int64_t> shape,
                           unsigned argument) {
  return filled(dtype, shape, [&](int64_t i) {
    int64_t value = i * (argument ? -1 : 1) - 3 * argument + 1;
    Number x = plain::integer(dtype == DType::Bool ? i & 1 : value);
    x.im = isComplex(dtype) ? -x.re : 0;
    return x;
  });
}

void Both::run(const std::string &text, const Filler &fill,
               const Tolerance &tolerance) {
  Context context;
  DiagnosticList errors;
  auto info = [&](StringRef name) { return primitives_.info(name); };
  auto parsed = parseText(context, text, "test", info, errors);
  INFO(text);
  if (!parsed)
    FAIL(errors.all().front().message);
  CheckedProgram checked = check(parsed->program, primitives_);
  if (!checked.ok()) {
    ++refused;
    UNSCOPED_INFO(checked.diagnostics.all().front().message);
    return;
  }
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(checked.argumentTypes))
    arguments.push_back(fill(context.type(type).dtype, context.type(type).shape,
                             static_cast<unsigned>(i)));
  plain::Outcome expected = plain::evaluate(checked, arguments);
  if (expected.unsupported)
    FAIL(expected.error);
  for (const Tensor &value : expected.results) {
    elements += value.size();
    for (int64_t i = 0; isFloat(value.dtype()) && i < value.size(); ++i)
      notFinite += !std::isfinite(plain::load(value, i).re);
  }
  for (unsigned count : workers) {
    RunOptions options;
    options.workers = count;
    Interpreter interpreter(checked, primitives_, options);
    if (!interpreter.errors().empty())
      FAIL(interpreter.errors().front().message);
    RunResult result = interpreter.run(arguments);
    INFO(count << " workers; the interpreter: "
               << (result.error ? result.error->message : "runs")
               << "; the plain evaluator: " << expected.error);
    REQUIRE(result.error.has_value() == !expected.error.empty());
    for (auto [ours, theirs] : llvm::zip(result.results, expected.results)) {
      std::string difference;
      if (isKey(ours.dtype())) {
        if (ours.as<uint32_t>() != theirs.as<uint32_t>())
          difference = "keys differ";
      } else {
        difference = describe(compare(ours, theirs, tolerance), ours, theirs);
      }
      if (!difference.empty())
        FAIL(difference);
    }
  }
  ++compared;
}

void Both::survives(const std::string &text, const Filler &fill) {
  Context context;
  DiagnosticList errors;
  auto info = [&](StringRef name) { return primitives_.info(name); };
  INFO(text);
  auto parsed = parseText(context, text, "test", info, errors);
  if (!parsed)
    FAIL(errors.all().front().message);
  CheckedProgram checked = check(parsed->program, primitives_);
  RunOptions options;
  options.workers = 1;
  Interpreter interpreter(checked, primitives_, options);
  if (!checked.ok() || !interpreter.errors().empty()) {
    ++refused;
    return;
  }
  std::vector<Tensor> arguments;
  for (auto [i, type] : llvm::enumerate(checked.argumentTypes))
    arguments.push_back(fill(context.type(type).dtype, context.type(type).shape,
                             static_cast<unsigned>(i)));
  RunResult result = interpreter.run(std::move(arguments));
  if (!result.error)
    for (auto [value, id] :
         llvm::zip_equal(result.results, checked.resultTypes)) {
      CHECK(value.dtype() == context.type(id).dtype);
      CHECK(value.shape() == ArrayRef<int64_t>(context.type(id).shape));
    }
  ++survived;
}

std::string shardtype::shapeText(DType dtype, ArrayRef<int64_t> shape) {
  std::string text = info(dtype).shortName.str() + "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? "," : "") + std::to_string(size);
  return text + "]";
}
std::string shardtype::tupleText(ArrayRef<int64_t> list) {
  std::string text = "(";
  for (auto [i, x] : llvm::enumerate(list))
    text += (i ? ", " : "") + std::to_string(x);
  return text + (list.size() == 1 ? ",)" : ")");
}

std::vector<Shape> shardtype::shapesOf(unsigned rank, int64_t least,
                                       int64_t most) {
  std::vector<Shape> shapes;
  Shape sizes(rank, most - least + 1);
  plain::forEachIndex(sizes, [&](const plain::Index &index) {
    Shape shape = index;
    for (int64_t &size : shape)
      size += least;
    shapes.push_back(shape);
  });
  return shapes;
}
std::vector<SmallVector<int64_t, 4>> shardtype::ordersOf(unsigned n) {
  SmallVector<int64_t, 4> order;
  for (unsigned i = 0; i < n; ++i)
    order.push_back(i);
  std::vector<SmallVector<int64_t, 4>> orders;
  do
    orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}
std::vector<SmallVector<int64_t, 4>> shardtype::subsetsOf(unsigned n) {
  std::vector<SmallVector<int64_t, 4>> subsets;
  for (unsigned bits = 0; bits < 1u << n; ++bits) {
    SmallVector<int64_t, 4> subset;
    for (unsigned i = 0; i < n; ++i)
      if (bits >> i & 1)
        subset.push_back(i);
    subsets.push_back(subset);
  }
  return subsets;
}
