// ReadValue.cpp - parameter values of the verdict files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ReadValue.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

namespace {
class Reader {
public:
  Reader(Program &program, StringRef text, MeshId mesh)
      : program_(program), rest_(text.trim()), mesh_(mesh) {}

  ValueId all() {
    StringRef whole = rest_;
    if (whole == "$hidden")
      return make(Value::Hidden);
    std::optional<ValueId> value = one();
    return value && rest_.empty() ? *value : opaque(whole);
  }

private:
  ValueId make(Value::Kind kind, int64_t integer = 0) {
    Value v;
    v.kind = kind;
    v.integer = integer;
    return program_.intern(v);
  }
  ValueId opaque(StringRef text) {
    Value v;
    v.kind = Value::OpaqueText;
    v.text = program_.context().intern(text);
    return program_.intern(v);
  }

  std::optional<ValueId> one() {
    if (rest_.starts_with("P("))
      return spec();
    if (rest_.starts_with("AbstractMesh(")) {
      size_t length = 0;
      TextResult<MeshId> mesh =
          parseMeshRepr(program_.context(), rest_, &length);
      rest_ = rest_.drop_front(mesh ? length : 0);
      return mesh ? std::optional(make(Value::Mesh, mesh->raw()))
                  : std::nullopt;
    }
    if (rest_.starts_with("(") || rest_.starts_with("["))
      return sequence();
    StringRef word = rest_.take_while([](char c) {
      return llvm::isAlnum(c) || StringRef("_.-<>+").contains(c);
    });
    if (word.empty())
      return std::nullopt;
    rest_ = rest_.drop_front(word.size());
    if (rest_.starts_with("("))
      return structure(word);
    int64_t integer;
    if (!word.getAsInteger(10, integer))
      return make(Value::Int, integer);
    if (word == "None")
      return make(Value::None);
    if (word == "True" || word == "False")
      return make(Value::Bool, word == "True");
    return opaque(word);
  }

  std::optional<ValueId> spec() {
    size_t length = 0;
    TextResult<PartitionSpec> spec =
        parseSpec(program_.context(), rest_, &length);
    if (!spec)
      return std::nullopt;
    rest_ = rest_.drop_front(length);
    Value v;
    v.kind = Value::Sharding;
    v.integer = mesh_.raw();
    v.elements.push_back(make(Value::Spec, program_.internSpec(*spec)));
    return program_.intern(v);
  }

  std::optional<ValueId> sequence() {
    Value v;
    v.kind = rest_.starts_with("(") ? Value::Tuple : Value::List;
    StringRef close = v.kind == Value::Tuple ? ")" : "]";
    rest_ = rest_.drop_front().ltrim();
    while (!rest_.consume_front(close)) {
      std::optional<ValueId> element = one();
      if (!element)
        return std::nullopt;
      v.elements.push_back(*element);
      rest_ = rest_.ltrim();
      rest_.consume_front(",");
      rest_ = rest_.ltrim();
    }
    return program_.intern(v);
  }

  std::optional<ValueId> structure(StringRef name) {
    Value v;
    v.kind = Value::Struct;
    v.text = program_.context().intern(name);
    rest_ = rest_.drop_front();
    while (!rest_.consume_front(")")) {
      auto [key, after] = rest_.split('=');
      rest_ = after;
      std::optional<ValueId> element = one();
      if (!element)
        return std::nullopt;
      v.names.push_back(program_.context().intern(key.trim()));
      v.elements.push_back(*element);
      rest_.consume_front(",");
      rest_ = rest_.ltrim();
    }
    return program_.intern(v);
  }

  Program &program_;
  StringRef rest_;
  MeshId mesh_;
};
} // namespace

ValueId oracle::readValue(Program &program, StringRef text, MeshId mesh) {
  return Reader(program, text, mesh).all();
}
