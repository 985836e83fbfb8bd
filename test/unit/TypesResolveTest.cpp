// TypesResolveTest.cpp - specs on meshes, divisibility, sizes, type matching.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TypesFixture.h"
#include "shardtype/Support/Bytes.h"

using namespace shardtype;

namespace {
struct Resolve : TypesFixture {
  /// `kind axis dim dim2` of the error, or the sharding as a spec.
  std::string resolved(StringRef text, StringRef meshText, unsigned rank,
                       bool dropOthers = true) {
    auto got = resolve(cx, spec(text), mesh(meshText), rank, dropOthers);
    return got ? str(cx, toSpec(cx, *got)) : fault(got.error);
  }
  std::string fault(const SpecError &error) {
    constexpr StringRef Names[] = {"overlap", "kind",          "duplicate",
                                   "unknown", "unconstrained", "axis-type",
                                   "rank",    "indivisible"};
    std::string text = Names[error.kind].str();
    if (error.axis.valid())
      text += " " + cx.str(error.axis).str();
    for (int dim : {error.dim, error.dim2})
      if (dim >= 0)
        text += " " + std::to_string(dim);
    return text;
  }
  uint64_t bytes(StringRef text, StringRef meshText) {
    return bytesPerDevice(cx, type(text, meshText));
  }
};
} // namespace

TEST_CASE_METHOD(Resolve, "specs of spec 01, 2.3 and 2.4 on a mesh") {
  StringRef m = "x=2,y=2,z=2";
  CHECK(resolved("P(x)", m, 2) == "P('x', None)");
  CHECK(resolved("P((y,x),None)", m, 2) == "P(('y', 'x'), None)");
  CHECK(resolved("P(unreduced={z,x}, unreduced_kind=min)", m, 1) ==
        "P(None, unreduced={'x', 'z'}, unreduced_kind=min)");
  CHECK(resolved("P(reduced={z,x})", m, 0) == "P(reduced={'x', 'z'})");
  CHECK(resolved("P(x, x)", m, 2) == "duplicate x 0 1");
  CHECK(resolved("P((x, x))", m, 2) == "duplicate x 0 0");
  CHECK(resolved("P(None, w)", m, 2) == "unknown w 1");
  CHECK(resolved("P(unreduced={w})", m, 2) == "unknown w");
  CHECK(resolved("P(None, P.UNCONSTRAINED)", m, 2) == "unconstrained 1");
  CHECK(resolved("P(x, unreduced={x})", m, 2) == "overlap x 0");
  CHECK(resolved("P(y, (z, x), reduced={x})", m, 2) == "overlap x 1");
  CHECK(resolved("P(unreduced={x}, reduced={x})", m, 2) == "overlap x");
  CHECK(resolved("P(unreduced_kind=max)", m, 2) == "kind");
  CHECK(resolved("P(unreduced={y})", "x=2,y=2:Auto", 1) == "axis-type y");
  CHECK(resolved("P(reduced={y})", "x=2,y=2:Manual", 1) == "axis-type y");
}

TEST_CASE_METHOD(Resolve, "the first check that fails is JAX's") {
  StringRef m = "x=2,y=2:Auto";
  // Of the spec alone before those of spec and mesh.
  CHECK(resolved("P(x, x, unreduced={w}, reduced={w})", m, 1) == "overlap w");
  CHECK(resolved("P(x, reduced={x}, unreduced_kind=max)", m, 1) == "kind");
  CHECK(resolved("P(w, x, x, unreduced={y})", m, 1) == "duplicate x 1 2");
  CHECK(resolved("P(w, None, unreduced={y})", m, 1) == "unknown w 0");
  CHECK(resolved("P(P.UNCONSTRAINED, w)", "x=2", 1) == "unknown w 1");
  CHECK(resolved("P(P.UNCONSTRAINED, x, unreduced={v})", "x=2", 1) ==
        "unconstrained 0");
  CHECK(resolved("P(x, x)", m, 1) == "duplicate x 0 1");
}

TEST_CASE_METHOD(Resolve, "axes that are not Explicit leave a type") {
  StringRef m = "x=2,y=2:Auto,m=2:Manual";
  CHECK(resolved("P((x,y), m)", m, 2) == "P('x', None)");
  CHECK(resolved("P((y,x), m)", m, 3, false) == "P(('y', 'x'), 'm', None)");
  CHECK(resolved("P(P.UNCONSTRAINED, x)", m, 2) == "P(None, 'x')");
  CHECK(resolved("P(INHERIT, x)", m, 2) == "P(None, 'x')");
}

TEST_CASE_METHOD(Resolve, "a spec longer than the rank (spec 01, 2.6.4)") {
  CHECK(resolved("P(None, None)", "x=2", 1) == "rank 1");
  CHECK(resolved("P(x)", "x=2", 0) == "rank 0");
  CHECK(resolved("P(None, None)", "x=2,y=2:Auto", 1) == "rank 1");
  CHECK(resolved("P(None, None)", "x=2:Auto", 1) == "P(None,)");
  CHECK(resolved("P(None, x)", "x=2:Auto", 1) == "P(None,)");
  CHECK(resolved("P(None, x)", "x=2:Auto", 1, false) == "rank 1");
  CHECK(resolved("P(None, None)", "", 1) == "P(None,)");
  CHECK(resolved("P(x)", "", 1) == "unknown x 0");
}

TEST_CASE_METHOD(Resolve, "a sharding names the abstract mesh") {
  Mesh concrete = cx.mesh(mesh("x=2"));
  concrete.concrete = true;
  concrete.devices = {1, 0};
  auto got = resolve(cx, spec("P(x)"), cx.intern(concrete), 1);
  REQUIRE(got);
  CHECK((*got).mesh == mesh("x=2"));
  Mesh none;
  none.concrete = true;
  auto empty = resolve(cx, spec("P()"), cx.intern(none), 1);
  REQUIRE(empty);
  CHECK_FALSE((*empty).hasMesh());
}

TEST_CASE_METHOD(Resolve, "dims divide over their axes (spec 01, 2.6)") {
  auto check = [&](StringRef text, StringRef meshText,
                   ArrayRef<int64_t> shape) -> std::string {
    auto got = resolve(cx, spec(text), mesh(meshText), shape.size());
    REQUIRE(got);
    auto error = checkDivisible(cx, *got, shape);
    return error ? fault(*error) : "ok";
  };
  CHECK(check("P(x)", "x=2,y=2", {8, 8}) == "ok");
  CHECK(check("P(x)", "x=2,y=2", {7, 8}) == "indivisible x 0");
  CHECK(check("P(None, (y,x))", "x=2,y=2", {7, 6}) == "indivisible y 1");
  CHECK(check("P(y)", "x=2,y=2:Auto", {7, 8}) == "ok");
  CHECK(check("P((x,y))", "x=2,y=2:Auto", {8, 8}) == "ok");
  CHECK(check("P(x)", "x=2", {0}) == "ok");
  CHECK(check("P(x)", "x=2", {1}) == "indivisible x 0");
  // As JAX: a symbolic size divides if the numbers of all its summands do.
  auto symbolic = [&](StringRef text) {
    return check("P(x)", "x=2", {Dim::symbolic(cx.intern(text))}) == "ok";
  };
  for (StringRef good : {"2*n", "b*2", "4*m*n + 2*m", "2*n + 2", "2*max(n, 3)",
                         "2*floordiv(n, 2)", "2*n - 4"})
    CHECK(symbolic(good));
  for (StringRef bad : {"n", "2*n + 1", "3*n", "max(2*n, 2)", "floordiv(n, 2)",
                        "n^2 + n", "2*n + max(2*n, 2*m)", "n - 2"})
    CHECK_FALSE(symbolic(bad));
  StringRef huge = "x=9223372036854775807,y=2";
  CHECK(check("P((x,y))", huge, {0}) == "ok");
  CHECK(check("P((x,y))", huge, {INT64_MAX}) == "indivisible x 0");
}

TEST_CASE_METHOD(Resolve, "a sharding moves to another mesh by name") {
  auto moved = [&](StringRef text, StringRef from, StringRef to) {
    auto got = resolve(cx, spec(text), mesh(from), 2);
    REQUIRE(got);
    Sharding on = onMesh(cx, *got, mesh(to));
    CHECK(on.mesh == mesh(to));
    return str(cx, toSpec(cx, on));
  };
  StringRef spec =
      "P((x,y), z, unreduced={u}, reduced={r}, unreduced_kind=max)";
  StringRef from = "x=2,y=2,z=2,u=2,r=2";
  CHECK(moved(spec, from, from) ==
        "P(('x', 'y'), 'z', unreduced={'u'}, reduced={'r'}, "
        "unreduced_kind=max)");
  CHECK(moved(spec, from, "r=2,u=2,z=2,y=2,x=2") ==
        "P(('x', 'y'), 'z', unreduced={'u'}, reduced={'r'}, "
        "unreduced_kind=max)");
  CHECK(moved(spec, from, "y=4,z=2:Auto,u=2:Manual,r=2") ==
        "P('y', None, reduced={'r'})");
  CHECK(moved(spec, from, "") == "P(None, None)");
}

TEST_CASE_METHOD(Resolve, "manual types keep their rules (spec 02, 1)") {
  MeshId id = mesh("i=2:Manual,j=2:Manual,x=2");
  auto check = [&](AxisSet v, AxisSet u, AxisSet r,
                   ReductionKind kind = ReductionKind::None) -> std::string {
    auto error = checkManual(cx, {v, u, r, kind}, id);
    return error ? fault(*error) : "ok";
  };
  AxisSet none, i = AxisSet::of({0}), j = AxisSet::of({1}),
                x = AxisSet::of({2});
  CHECK(check(i, j, none, ReductionKind::Sum) == "ok");
  CHECK(check(none, none, i | j) == "ok");
  CHECK(check(i, i, none, ReductionKind::Sum) == "overlap i");
  CHECK(check(i | j, none, j) == "overlap j");
  CHECK(check(none, i, i, ReductionKind::Max) == "ok"); // Of concatenate.
  CHECK(check(x, none, none) == "axis-type x");
  CHECK(check(AxisSet::of({3}), none, none) == "unknown");
  CHECK(check(none, none, none, ReductionKind::Sum) == "kind");
}

TEST_CASE_METHOD(Resolve, "bytes of a device's part") {
  StringRef m = "x=2,y=4";
  CHECK(bytes("f32[8,4]", "") == 128);
  CHECK(bytes("f32[8@x,4@y]", m) == 16);
  CHECK(bytes("f32[8@(x,y),4]", m) == 16);
  CHECK(bytes("f32[8@x,4]{U:y}", m) == 64); // Each holds a whole part.
  CHECK(bytes("f32[]", m) == 4);
  CHECK(bytes("bool[3]", m) == 3);
  CHECK(bytes("c64[3]", m) == 24);
  CHECK(bytes("bf16[3]", m) == 6);
  CHECK(bytes("i4[3]", m) == 2); // Packed, the last byte half full.
  CHECK(bytes("i2[8@x]", m) == 1);
  CHECK(bytes("f6_e2m3fn[4]", m) == 3);
  CHECK(bytes("key<fry>[4@x]", m) == 16); // Two words of four bytes each.
  CHECK(bytes("key<rbg>[4@x]", m) == 32);
  CHECK(bytes("float0[8]", m) == 0);
  CHECK(bytes("f32[b,4]", m) == UnknownBytes);
  CHECK(bytes("f32[0@x,4]", m) == 0);
  CHECK(bytes("f32[4,9223372036854775807,9223372036854775807,0]", m) == 0);
  CHECK(bytes("f32[9223372036854775807,9223372036854775807]", m) == UINT64_MAX);
  CHECK(bytes("Tok", m) == 0);
  CHECK(bytes("Ref{f32[8]}", m) == 0);
}

TEST_CASE_METHOD(Resolve, "key data are words behind the logical dims") {
  for (DType dtype : {DType::KeyFry, DType::KeyRbg, DType::KeyURbg,
                      DType::KeyFry4, DType::KeyPhx2, DType::KeyPhx4}) {
    ArrayRef<int64_t> words = keyDataShape(dtype);
    INFO(info(dtype).longName.str());
    REQUIRE(words.size() == 1);
    CHECK(info(dtype).bits == 32 * words[0]);
  }
  CHECK(keyDataShape(DType::U32).empty());
}

TEST_CASE_METHOD(Resolve, "the table of matching types (spec 01, 2.8)") {
  StringRef m = "x=2,y=2,z=2", a = "x=2:Auto", b = "q=2:Auto";
  auto match = [&](StringRef left, StringRef leftMesh, StringRef right,
                   StringRef rightMesh) {
    TypeId l = type(left, leftMesh), r = type(right, rightMesh);
    CHECK(typematch(cx, l, r) == typematch(cx, r, l));
    return typematch(cx, l, r);
  };
  CHECK_FALSE(match("f32[8@x]", m, "f32[8]", m));
  CHECK(match("f32[8@x]", m, "f32[8]", ""));
  CHECK(match("f32[8]", a, "f32[8]", b));
  CHECK_FALSE(match("f32[8]", m, "f32[8]", "x=2:Auto,y=2:Auto,z=2:Auto"));
  CHECK_FALSE(match("f32[8]{U:x}", m, "f32[8]", m));
  CHECK_FALSE(match("f32[8@(x,y)]", m, "f32[8@(y,x)]", m));
  CHECK(match("~f32[8]", m, "f32[8]", m));
  CHECK_FALSE(match("f32[8]", "", "i32[8]", ""));
  CHECK_FALSE(match("f32[8]", "", "f32<host>[8]", ""));
  CHECK_FALSE(match("Tok", "", "f32[]", ""));
  CHECK_FALSE(match("AbstractFuture{~f32[]}", "", "AbstractFuture{f32[]}", ""));
  // The manual axes count by name, whatever the meshes.
  CHECK(match("f32[8]{V:i}", "i=2:Manual", "f32[8]{V:i}",
              "j=2:Manual,i=2:Manual"));
  CHECK_FALSE(match("f32[8]{V:i}", "i=2:Manual", "f32[8]{V:j}",
                    "j=2:Manual,i=2:Manual"));
  Type laidOut = cx.type(type("f32[8@x]", m));
  laidOut.layout = cx.intern("Layout");
  CHECK(typematch(cx, cx.intern(laidOut), type("f32[8@x]", m)));
}
