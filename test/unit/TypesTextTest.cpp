// TypesTextTest.cpp - types, specs and meshes as text, both ways.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"
#include <catch2/catch.hpp>

using namespace shardtype;

namespace {
struct Fixture {
  Context cx;
  MeshId mesh(StringRef text) {
    auto parsed = parseMesh(cx, text);
    INFO(parsed.error.message);
    REQUIRE(parsed);
    return *parsed;
  }
  /// The type of a text, printed; or `error: ... at N`.
  std::string again(StringRef text, StringRef meshText,
                    TypeForm form = TypeForm::Short) {
    MeshId id = meshText.empty() ? MeshId() : mesh(meshText);
    auto type = parseType(cx, text, id);
    if (!type)
      return type.error.message + " at " + std::to_string(type.error.offset);
    return str(cx, *type, form);
  }
};
} // namespace

TEST_CASE_METHOD(Fixture, "smoke: types of each kind print as they were") {
  for (const char *text :
       {"f32[]", "f32[8@x,4]", "f32[8@(y,x)]", "f32<host>[8@x]{U_max:(y,z)}",
        "f32[8]{U:x, R:(y,z)}", "key<fry>[8@x]", "float0[3]", "Tok",
        "Ref{f32[8@x]}", "Ref<vmem>{f32[8]}", "AbstractFuture{f32[8]}",
        "key<foo>[4@x]", "PrimalTangentDType{i8/bf16}[3]", "f32[b,2*b + 1]",
        "f32[max(a, 3)@x]"}) {
    CHECK(again(text, "x=2,y=2,z=2") == text);
  }
  CHECK(again("f32[4]{V:i, U:(j,k)}", "i=2:Manual j=2:Manual k=2") ==
        "f32[4]{V:i, U:(j,k)}");
  CHECK(again("f32[8@Q]", "x=2") ==
        "axis 'Q' is not an axis of the mesh x=2 at 6");
  CHECK(again("f32[8", "x=2") == "expected ']', not the end at 5");
}
