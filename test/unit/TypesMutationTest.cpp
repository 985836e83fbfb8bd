// TypesMutationTest.cpp - changed texts are refused or mean what they print.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TypesFixture.h"
#include <random>

using namespace shardtype;

namespace {

/// Copies a text with a few characters removed, doubled, swapped or replaced.
std::string mutate(std::string text, std::mt19937 &random) {
  constexpr StringRef Pieces =
      "[](){}<>,:;@'\"\\~=._-+*# \n0189xyiUVRP\xc3\xff";
  for (unsigned count = random() % 3 + 1; count-- > 0 && !text.empty();) {
    size_t at = random() % text.size();
    char piece = Pieces[random() % Pieces.size()];
    switch (random() % 5) {
    case 0:
      text.erase(at, random() % 3 + 1);
      break;
    case 1:
      text.insert(at, text.substr(at, random() % 6));
      break;
    case 2:
      text[at] = piece;
      break;
    case 3:
      text.insert(at, 1, piece);
      break;
    default:
      std::swap(text[at], text[random() % text.size()]);
    }
  }
  return text;
}

/// Calls `visit` with many changed texts, the same in every run.
void eachMutation(ArrayRef<StringRef> seeds,
                  llvm::function_ref<void(const std::string &)> visit) {
  std::mt19937 random(1);
  for (StringRef seed : seeds)
    for (unsigned i = 0; i < 3000; ++i)
      visit(mutate(seed.str(), random));
}

} // namespace

TEST_CASE_METHOD(TypesFixture, "changed types are refused or print and return",
                 "[exhaustive]") {
  MeshId id = mesh("x=2,y=2,z=2,i=2:Manual");
  unsigned read = 0;
  eachMutation({"f32[8@(x,y),4@z]{V:i}",
                "~bfloat16<host>[8,16]{U_max:(x,y), R:z}",
                "Ref<vmem>{key<fry>[8@x]}", "AbstractFuture{f32[2*b + 1,b@x]}",
                "PrimalTangentDType{i8/bf16}[3] c"},
               [&](const std::string &text) {
                 INFO(text);
                 size_t length = 0;
                 TextResult<TypeId> type = parseType(cx, text, id, &length);
                 if (!type) {
                   CHECK_FALSE(type.error.message.empty());
                   CHECK(type.error.offset <= text.size());
                   return;
                 }
                 ++read;
                 CHECK(length <= text.size());
                 Type told = cx.type(*type);
                 if (told.isArray() && !told.manual.unreduced.empty())
                   told.manual.kind = ReductionKind::Sum; // Not in the text.
                 if (told.kind == Type::Ref || told.kind == Type::Future)
                   return; // Weakness inside is not printed.
                 std::string printed = str(cx, *type, TypeForm::Long);
                 TextResult<TypeId> again = parseType(cx, printed, id);
                 INFO(printed << ": " << again.error.message);
                 REQUIRE(again);
                 CHECK(*again == cx.intern(told));
               });
  CHECK(read > 500);
}

TEST_CASE_METHOD(TypesFixture, "changed specs are refused or print and return",
                 "[exhaustive]") {
  unsigned read = 0;
  eachMutation({"P('x', None, ('y', 'z'), unreduced={'a'}, reduced={'b'})",
                "PartitionSpec(x, P.UNCONSTRAINED, unreduced={a, b}, "
                "unreduced_kind=max)",
                "jax.P([x, 'it\\'s'], \"\\x41\", INHERIT)"},
               [&](const std::string &text) {
                 INFO(text);
                 TextResult<PartitionSpec> spec = parseSpec(cx, text);
                 if (!spec) {
                   CHECK_FALSE(spec.error.message.empty());
                   CHECK(spec.error.offset <= text.size());
                   return;
                 }
                 ++read;
                 std::string printed = str(cx, *spec);
                 TextResult<PartitionSpec> again = parseSpec(cx, printed);
                 INFO(printed << ": " << again.error.message);
                 REQUIRE(again);
                 CHECK(*again == *spec);
               });
  CHECK(read > 500);
}

TEST_CASE_METHOD(TypesFixture, "changed meshes are refused or print and return",
                 "[exhaustive]") {
  unsigned read = 0;
  auto compare = [&](TextResult<MeshId> mesh, size_t size, auto again) {
    if (!mesh) {
      CHECK_FALSE(mesh.error.message.empty());
      CHECK(mesh.error.offset <= size);
      return;
    }
    ++read;
    TextResult<MeshId> returned = again(cx.mesh(*mesh));
    INFO(returned.error.message);
    REQUIRE(returned);
    CHECK(*returned == *mesh);
  };
  eachMutation({"X=4,Y=2:Auto", "data=4 model-1=2:manual 'a b'=3"},
               [&](const std::string &text) {
                 INFO(text);
                 compare(parseMesh(cx, text), text.size(), [&](const Mesh &m) {
                   return parseMesh(cx, shortMesh(cx, m));
                 });
               });
  eachMutation({"AbstractMesh('x': 4, 'y': 2, axis_types=(Explicit, Auto))",
                "Mesh(axis_sizes=(4,), axis_names=('x',), axis_types=(Auto,))"},
               [&](const std::string &text) {
                 INFO(text);
                 TextResult<MeshId> mesh = parseMeshRepr(cx, text);
                 // JAX does not escape quotes in the names it prints.
                 if (mesh && llvm::any_of(cx.mesh(*mesh).axes, [&](auto &axis) {
                       return cx.str(axis.name).find_first_of("'\\\n") !=
                              StringRef::npos;
                     }))
                   return;
                 compare(mesh, text.size(), [&](const Mesh &m) {
                   return parseMeshRepr(cx, str(cx, m));
                 });
               });
  CHECK(read > 500);
}
