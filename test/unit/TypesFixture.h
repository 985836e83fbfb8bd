// TypesFixture.h - a context with shorthands, for the tests of Types and
// Report. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_TYPESFIXTURE_H
#define SHARDTYPE_TEST_UNIT_TYPESFIXTURE_H

#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"
#include <catch2/catch.hpp>

namespace shardtype {

struct TypesFixture {
  Context cx;

  /// `X=4,Y=2:Auto`; the empty text is no mesh.
  MeshId mesh(StringRef text) {
    if (text.empty())
      return MeshId();
    TextResult<MeshId> parsed = parseMesh(cx, text);
    INFO(text.str() << ": " << parsed.error.message);
    REQUIRE(parsed);
    return *parsed;
  }
  TypeId type(StringRef text, StringRef meshText) {
    TextResult<TypeId> parsed = parseType(cx, text, mesh(meshText));
    INFO(text.str() << ": " << parsed.error.message);
    REQUIRE(parsed);
    return *parsed;
  }
  PartitionSpec spec(StringRef text) {
    TextResult<PartitionSpec> parsed = parseSpec(cx, text);
    INFO(text.str() << ": " << parsed.error.message);
    REQUIRE(parsed);
    return *parsed;
  }
};

/// `message at offset`, as the tests write expected errors.
inline std::string describe(const TextError &error) {
  return error.message + " at " + std::to_string(error.offset);
}

} // namespace shardtype

#endif
