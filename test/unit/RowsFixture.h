// RowsFixture.h - the seed examples' recorded programs and arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// spec-examples/record_numbers.py says what numbers.json and numbers.npz hold.
#ifndef SHARDTYPE_TEST_UNIT_ROWSFIXTURE_H
#define SHARDTYPE_TEST_UNIT_ROWSFIXTURE_H

#include "CheckFixture.h"
#include "SumsFixture.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Tensor/Npz.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace shardtype {
namespace json = llvm::json;

inline std::string readFile(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(SHARDTYPE_SOURCE_DIR) +
                                            "/spec-examples/" + name);
  INFO(name);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

/// The recorded programs and their arrays.
class Recorded {
public:
  Recorded() {
    llvm::Expected<json::Value> manifest =
        json::parse(readFile("numbers.json"));
    REQUIRE(static_cast<bool>(manifest));
    programs_ = *manifest->getAsObject();
    llvm::Expected<NpzReader> arrays = NpzReader::open(
        std::string(SHARDTYPE_SOURCE_DIR) + "/spec-examples/numbers.npz");
    REQUIRE(static_cast<bool>(arrays));
    arrays_.emplace(std::move(*arrays));
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &[name, value] : programs_)
      result.push_back(name.str());
    llvm::sort(result);
    return result;
  }
  /// The text of a program that has no file.
  std::optional<StringRef> text(StringRef name) const {
    return programs_.getObject(name)->getString("program");
  }
  /// What one device holds of a value of partial sums.
  Tensor part(StringRef program, const std::string &key,
              unsigned device) const {
    std::optional<int64_t> index = programs_.getObject(program)->getInteger(
        key + "_d" + std::to_string(device));
    return index ? array(*index) : Tensor();
  }
  /// `in0`, `out1`; the sum of what devices hold parts of. Invalid: none.
  Tensor value(StringRef program, const std::string &key) const {
    const json::Object &keys = *programs_.getObject(program);
    if (std::optional<int64_t> index = keys.getInteger(key))
      return array(*index);
    Tensor sum;
    for (unsigned device = 0;; ++device) {
      std::optional<int64_t> index =
          keys.getInteger(key + "_d" + std::to_string(device));
      if (!index)
        return sum;
      sum = sum ? added(sum, array(*index)) : array(*index);
    }
  }

private:
  Tensor array(int64_t index) const {
    llvm::Expected<Tensor> tensor =
        arrays_->read(std::to_string(index), std::nullopt);
    REQUIRE(static_cast<bool>(tensor));
    return *tensor;
  }
  static Tensor added(const Tensor &a, const Tensor &b) {
    REQUIRE(a.dtype() == DType::F32);
    Tensor sum = Tensor::uninitialised(a.dtype(), a.shape());
    MutableArrayRef<float> out = sum.fill<float>();
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = a.as<float>()[i] + b.as<float>()[i];
    return sum;
  }

  json::Object programs_;
  std::optional<NpzReader> arrays_;
};

struct Loaded {
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program;
  explicit Loaded(StringRef text) {
    auto info = [&](StringRef primitive) { return primitives.info(primitive); };
    DiagnosticList errors;
    if (auto parsed = parseText(cx, text, "test", info, errors))
      program.emplace(std::move(parsed->program));
    for (const Diagnostic &d : errors.all())
      UNSCOPED_INFO(d.line << ": " << d.message);
    REQUIRE(program);
  }
  Loaded(const Recorded &recorded, const std::string &name) {
    auto info = [&](StringRef primitive) { return primitives.info(primitive); };
    DiagnosticList errors;
    if (auto text = recorded.text(name)) {
      if (auto parsed = parseText(cx, *text, name, info, errors))
        program.emplace(std::move(parsed->program));
    } else {
      program =
          readJson(cx, readFile("golden/json/" + name + ".json"), info, errors);
    }
    for (const Diagnostic &d : errors.all())
      UNSCOPED_INFO(d.path << ": " << d.message);
    REQUIRE(program);
  }
};

/// Keys are recorded as their words.
inline Tensor asArgument(const Tensor &value, const Type &type) {
  return isKey(type.dtype) ? value.viewedAs(type.dtype, type.shape) : value;
}

/// The arguments as they were recorded, and what devices hold of them.
inline RunOptions recordedArguments(const Recorded &recorded, Loaded &loaded,
                                    const CheckedProgram &checked,
                                    const std::string &name,
                                    std::vector<Tensor> &arguments) {
  RunOptions options;
  options.eval.keepSums = true;
  for (unsigned i = 0; i < checked.argumentTypes.size(); ++i) {
    std::string key = "in" + std::to_string(i);
    Tensor value = recorded.value(name, key);
    REQUIRE(value);
    const Type &type = loaded.cx.type(checked.argumentTypes[i]);
    arguments.push_back(asArgument(value, type));
    std::vector<Tensor> parts; // These programs have one axis.
    while (Tensor part = recorded.part(name, key, parts.size()))
      parts.push_back(part);
    if (!parts.empty())
      options.argumentSums[i] =
          makeSums(type.sharding.unreduced, std::move(parts));
  }
  return options;
}

} // namespace shardtype

#endif
