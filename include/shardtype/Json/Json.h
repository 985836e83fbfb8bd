// Json.h - the exchange format (spec 04, 6) and the config file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_JSON_JSON_H
#define SHARDTYPE_JSON_JSON_H

#include "shardtype/IR/Primitive.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

struct JsonLimits {
  unsigned depth = 512; // Of JSON nesting.
  uint64_t bytes = 4ull << 30;
};

/// Reads a program in one pass over the text. Errors carry a JSON pointer in
/// `path`, and line and column for syntax; then there is no result. Unknown
/// fields, tags and parameters are kept.
std::optional<Program> readJson(Context &context, StringRef text,
                                InfoLookup lookup, DiagnosticList &diags,
                                const JsonLimits &limits = {});
/// Writes the format, one line, keys in a fixed order.
void writeJson(raw_ostream &os, const Program &program);

/// A JSON value for config files: strings, numbers, lists and objects with
/// keys in file order.
struct JsonValue {
  enum Kind : uint8_t { Null, Bool, Number, String, List, Object } kind = Null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<JsonValue> list;
  std::vector<std::pair<std::string, JsonValue>> object;
  const JsonValue *get(StringRef key) const;
};
std::optional<JsonValue> readJsonValue(StringRef text, DiagnosticList &diags,
                                       const JsonLimits &limits = {});

} // namespace shardtype

#endif
