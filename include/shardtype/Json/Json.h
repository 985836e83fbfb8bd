// Json.h - the exchange format (spec 04, 6) and the config file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_JSON_JSON_H
#define SHARDTYPE_JSON_JSON_H

#include "shardtype/IR/Primitive.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

struct JsonLimits {
  static constexpr unsigned MostDepth = 4096;
  unsigned depth = 512;        // Of JSON nesting; at most MostDepth is read.
  uint64_t bytes = 4ull << 30; // Of the text; at most 2^32 - 1 are read.
  /// Values in one equation, one entry of a table, one field of the root: what
  /// is held in memory beside the program.
  uint32_t parts = 1u << 24;
};

/// Reads a program in one pass over the text (in four more if its tables come
/// after what names their entries). The first error ends the reading: it
/// carries a JSON pointer in `path`, or line and column for syntax, and then
/// there is no result. Unknown fields, tags and parameters are kept. That a
/// jaxpr does not hold itself is left to the verifier.
std::optional<Program> readJson(Context &context, StringRef text,
                                InfoLookup lookup, DiagnosticList &diags,
                                const JsonLimits &limits = {});
/// Writes the format, one line, keys in a fixed order. Tables begin with those
/// of the file that was read, so that text kept verbatim may refer to them;
/// what else is needed follows in order of first use.
void writeJson(raw_ostream &os, const Program &program);

struct JsonMember;
/// A JSON value for config files: strings, numbers, lists and objects with
/// keys in file order.
struct JsonValue {
  enum Kind : uint8_t { Null, Bool, Number, String, List, Object } kind = Null;
  bool boolean = false;
  double number = 0;
  std::string string;
  std::vector<JsonValue> list;
  std::vector<JsonMember> object;
  const JsonValue *get(StringRef key) const;
};
/// Not a pair: that cannot be named while the value's type is incomplete.
struct JsonMember {
  std::string key;
  JsonValue value;
};
std::optional<JsonValue> readJsonValue(StringRef text, DiagnosticList &diags,
                                       const JsonLimits &limits = {});

} // namespace shardtype

#endif
