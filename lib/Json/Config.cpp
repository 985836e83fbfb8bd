// Config.cpp - JSON values for config files, and errors as diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Guard.h"

using namespace shardtype;
using namespace shardtype::json;

void json::report(DiagnosticList &diags, StringRef text, const Bad &bad) {
  Diagnostic &diagnostic = diags.add(bad.code, bad.args);
  if (bad.code != diag::JsonSyntax) {
    diagnostic.path = locate(text, bad.offset);
    return;
  }
  // The offset is that of the character at fault.
  StringRef before = text.take_front(bad.offset);
  diagnostic.line = before.count('\n') + 1;
  diagnostic.column = before.size() - (before.rfind('\n') + 1) + 1;
}

const JsonValue *JsonValue::get(StringRef key) const {
  for (const auto &[name, value] : object)
    if (name == key)
      return &value;
  return nullptr;
}

static JsonValue toValue(Ref json) {
  JsonValue value;
  switch (json.kind()) {
  case Node::Null:
    return value;
  case Node::False:
  case Node::True:
    value.kind = JsonValue::Bool;
    value.boolean = json.boolean();
    return value;
  case Node::Int:
    value.kind = JsonValue::Number;
    value.number = static_cast<double>(json.integer());
    return value;
  case Node::Big:
  case Node::Float:
    value.kind = JsonValue::Number;
    if (json.chars().getAsDouble(value.number))
      bad(json, "the number is out of range");
    return value;
  case Node::String:
    value.kind = JsonValue::String;
    value.string = json.chars().str();
    return value;
  case Node::Array:
    value.kind = JsonValue::List;
    for (Ref item : Items(json))
      value.list.push_back(toValue(item));
    return value;
  case Node::Object:
    value.kind = JsonValue::Object;
    for (Field field : Members(json))
      value.object.push_back({field.key.chars().str(), toValue(field.value)});
    return value;
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<JsonValue> shardtype::readJsonValue(StringRef text,
                                                  DiagnosticList &diags,
                                                  const JsonLimits &limits) {
  return guarded(text, diags, limits, [&] {
    JsonValue value;
    scanWhole(text, limits, [&](Ref json) { value = toValue(json); });
    return value;
  });
}
