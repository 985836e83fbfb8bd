// TypesTextTest.cpp - types, specs and meshes as text, both ways.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TypesFixture.h"

using namespace shardtype;

namespace {
struct Text : TypesFixture {
  /// The type of a text, printed; or its error.
  std::string again(StringRef text, StringRef meshText,
                    TypeForm form = TypeForm::Short) {
    TextResult<TypeId> read = parseType(cx, text, mesh(meshText));
    return read ? str(cx, *read, form) : describe(read.error);
  }
  std::string specAgain(StringRef text) {
    TextResult<PartitionSpec> read = parseSpec(cx, text);
    return read ? str(cx, *read) : describe(read.error);
  }
  std::string meshAgain(StringRef text) {
    TextResult<MeshId> read = parseMesh(cx, text);
    return read ? shortMesh(cx, cx.mesh(*read)) : describe(read.error);
  }
  std::string reprAgain(StringRef text) {
    TextResult<MeshId> read = parseMeshRepr(cx, text);
    return read ? str(cx, cx.mesh(*read)) : describe(read.error);
  }
};
} // namespace

TEST_CASE_METHOD(Text, "the examples of spec 01, 1.6 in both forms") {
  struct {
    StringRef longText, shortText;
  } rows[] = {{"float32[8@x,4]", "f32[8@x,4]"},
              {"float32[8@(x,y)]", "f32[8@(x,y)]"},
              {"float32[8@(y,x),8]", "f32[8@(y,x),8]"},
              {"float32[8,8]{U:(y,z)}", "f32[8,8]{U:(y,z)}"},
              {"float32[8@x,8]{U:y, R:z}", "f32[8@x,8]{U:y, R:z}"},
              {"float32[8,8]{R:(x,z)}", "f32[8,8]{R:(x,z)}"},
              {"float32[8,8]{U_max:x}", "f32[8,8]{U_max:x}"},
              {"float32[8,8]{U_min:(x,y), R:z}", "f32[8,8]{U_min:(x,y), R:z}"},
              {"float32<host>[8@x]", "f32<host>[8@x]"},
              {"float32<any>[8@x]{U:y}", "f32<any>[8@x]{U:y}"},
              {"~float32[]", "f32[]"},
              {"key<fry>[8@x,4]", "key<fry>[8@x,4]"},
              {"float32[8,8]", "f32[8,8]"},
              {"float32[0@x,8]", "f32[0@x,8]"}};
  for (auto [longText, shortText] : rows) {
    INFO(longText.str());
    CHECK(again(longText, "x=2,y=2,z=2", TypeForm::Long) == longText.str());
    CHECK(again(longText, "x=2,y=2,z=2") == shortText.str());
    CHECK(again(shortText, "x=2,y=2,z=2") == shortText.str());
  }
  CHECK(axisTypesText(cx, cx.mesh(mesh("x=2,y=2,z=2"))) ==
        "({Explicit: ('x', 'y', 'z')})");
  CHECK(axisTypesText(cx, cx.mesh(mesh("x=2,y=2:Auto"))) ==
        "({Explicit: ('x',), Auto: ('y',)})");
  CHECK(axisTypesText(cx, Mesh()) == "({})");
}

TEST_CASE_METHOD(Text, "rows A02, A04, A16 and A22: long and short forms") {
  struct {
    StringRef longText, shortText;
  } rows[] = {{"float32[8@X,4@Y]", "f32[8@X,4@Y]"},
              {"float32[4@Y,8@X]", "f32[4@Y,8@X]"},
              {"float32[8@(X,Y),4]", "f32[8@(X,Y),4]"},
              {"float32[8@(Y,X),4]", "f32[8@(Y,X),4]"},
              {"float32[]", "f32[]"},
              {"float32[8@X]", "f32[8@X]"},
              {"float32[3,8@Y]", "f32[3,8@Y]"},
              {"bfloat16[4@X,4@Y]", "bf16[4@X,4@Y]"},
              {"bool[4@X]", "bool[4@X]"},
              {"int8[8@Y]", "i8[8@Y]"},
              {"uint32[8@Y]", "u32[8@Y]"},
              {"complex64[4@X,2@Y]", "c64[4@X,2@Y]"},
              {"key<fry>[4@X]", "key<fry>[4@X]"},
              {"float32[0,4@X]", "f32[0,4@X]"},
              {"float32[8@X]{U:Y}", "f32[8@X]{U:Y}"},
              {"float32[8]{U:(X,Y)}", "f32[8]{U:(X,Y)}"},
              {"float32[8]{R:(X,Y)}", "f32[8]{R:(X,Y)}"},
              {"float32[8]{U:X, R:Y}", "f32[8]{U:X, R:Y}"}};
  for (auto [longText, shortText] : rows) {
    CHECK(again(longText, "X=4,Y=2") == shortText.str());
    CHECK(again(shortText, "X=4,Y=2", TypeForm::Long) == longText.str());
  }
}

TEST_CASE_METHOD(Text, "the examples of spec 02, 2") {
  for (StringRef text : {"f32[3]{V:i}", "f32[2,2]{V:(i,j)}", "f32[]{U:i}",
                         "i32[]{V:i}", "bf16<host>[8]{V:i}"})
    CHECK(again(text, "i=2:Manual,j=2:Manual") == text.str());
  CHECK(again("f32[4]{V:seq, U:data}", "data=2:Manual,seq=2:Manual") ==
        "f32[4]{V:seq, U:data}");
  CHECK(again("f32[6,2]{R:(data,seq)}", "data=2:Manual,seq=2:Manual") ==
        "f32[6,2]{R:(data,seq)}");
  CHECK(again("f32[4,8@j]{V:i}", "i=2:Manual,j=2") == "f32[4,8@j]{V:i}");
  // `concatenate` of {U:i} and {R:i}: JAX forbids both at once in specs only.
  CHECK(again("f32[8]{U:i, R:i}", "i=2:Manual,j=2") == "f32[8]{U:i, R:i}");
  CHECK(again("f32[8]{R:i, V:j, U:i}", "i=2:Manual,j=2:Manual") ==
        "f32[8]{V:j, U:i, R:i}");
}

TEST_CASE_METHOD(Text, "names of sets go to the spec or the manual type") {
  StringRef meshText = "i=2:Manual,x=2,j=2:Manual,y=2";
  const Type &type =
      cx.type(this->type("f32[8]{V:j, U_max:(i,x), R:y}", meshText));
  CHECK(type.manual.varying == AxisSet::of({2}));
  CHECK(type.manual.unreduced == AxisSet::of({0}));
  CHECK(type.manual.kind == ReductionKind::Sum); // The prefix is the spec's.
  CHECK(type.sharding.unreduced == AxisSet::of({1}));
  CHECK(type.sharding.kind == ReductionKind::Max);
  CHECK(type.sharding.reduced == AxisSet::of({3}));
  CHECK(cx.type(this->type("f32[]{U_min:i}", meshText)).manual.kind ==
        ReductionKind::Min);
  // Written in any order, printed in the mesh's.
  CHECK(again("f32[8]{R:y, U:(x,i), V:j}", meshText) ==
        "f32[8]{V:j, U:(i,x), R:y}");
}

TEST_CASE_METHOD(Text, "types that are not arrays") {
  for (StringRef text :
       {"Tok", "Ref{f32[8@x]}", "Ref<vmem>{f32[8]}", "AbstractFuture{f32[8]}",
        "Ref{Ref{key<fry>[]}}", "Ref{Foo(1, 2)}"})
    CHECK(again(text, "x=2") == text.str());
  CHECK(again("Ref{f32[8@x]}", "x=2", TypeForm::Long) == "Ref{float32[8@x]}");
  CHECK(again("Ref{~f32[]}", "", TypeForm::Long) == "Ref{float32[]}");
  CHECK(again("AbstractFuture{f32[8]}", "", TypeForm::Long) ==
        "AbstractFuture{f32[8]}");
  CHECK(cx.type(type("Tok", "")).kind == Type::Token);
  CHECK(type("Tok", "") == cx.token());
  const Type &ref = cx.type(type("Ref<vmem>{f32[8]}", ""));
  CHECK(ref.kind == Type::Ref);
  CHECK(cx.str(ref.text) == "vmem");
  CHECK(ref.inner == type("f32[8]", ""));
}

TEST_CASE_METHOD(Text, "unknown types are kept as text") {
  for (StringRef text : {"key<foo>[4@X]", "PrimalTangentDType{i8/bf16}[3]",
                         "f32<vmem>[8]", "Box[(a, b)]", "Effect<jit(f) -> x>",
                         "<lambda>", "Token", "Reference", "RefSet{3}"}) {
    CHECK(again(text, "X=4") == text.str());
    CHECK(cx.type(type(text, "X=4")).kind == Type::Opaque);
  }
  size_t length = 0;
  for (auto [text, first] :
       {std::pair("Foo{a b} c:f32[2]", "Foo{a b}"),
        std::pair("Foo. let", "Foo"), std::pair("Foo; b:f32[]", "Foo"),
        std::pair("jax.Foo<a b> =", "jax.Foo<a b>"),
        std::pair("Foo, b)", "Foo"), std::pair("a<b c", "a<b")}) {
    TextResult<TypeId> read = parseType(cx, text, MeshId(), &length);
    REQUIRE(read);
    CHECK(str(cx, *read) == first);
    CHECK(length == StringRef(first).size());
  }
}

TEST_CASE_METHOD(Text, "a type is read from the start of a longer text") {
  MeshId x = mesh("x=2");
  for (StringRef rest : {" b:f32[]", ". let", ";", ",", ")", "}", " {", "["}) {
    size_t length = 0;
    std::string text = "f32[8@x]" + rest.str();
    REQUIRE(parseType(cx, text, x, &length));
    CHECK(length == 8);
    CHECK_FALSE(parseType(cx, text, x));
  }
}

TEST_CASE_METHOD(Text, "symbolic dims are kept as text") {
  for (StringRef text : {"f32[b]", "f32[2*b + 1,2*b@x]", "f32[2*max(a, 3)@x]",
                         "f32[floordiv(b, 2),-1*b + 4]", "f32[b^2]"})
    CHECK(again(text, "x=2") == text.str());
  const Type &type = cx.type(this->type("f32[2*b@x,3]", "x=2"));
  CHECK(Dim::isSymbolic(type.shape[0]));
  CHECK(cx.str(Dim::text(type.shape[0])) == "2*b");
  CHECK(type.sharding.dims[0] == AxisList{0});
}

TEST_CASE_METHOD(Text, "every dtype has its long and its short name") {
  struct {
    StringRef longName, shortName;
  } rows[] = {{"float16", "f16"},
              {"float32", "f32"},
              {"float64", "f64"},
              {"bool", "bool"},
              {"bfloat16", "bf16"},
              {"complex64", "c64"},
              {"complex128", "c128"},
              {"int8", "i8"},
              {"int32", "i32"},
              {"int4", "i4"},
              {"int2", "i2"},
              {"uint8", "u8"},
              {"uint32", "u32"},
              {"uint4", "u4"},
              {"float0", "float0"},
              {"float8_e4m3fn", "f8_e4m3fn"},
              {"float8_e5m2", "f8_e5m2"},
              {"float4_e2m1fn", "f4_e2m1fn"},
              {"key<fry>", "key<fry>"},
              {"key<rbg>", "key<rbg>"},
              {"key<urbg>", "key<urbg>"},
              {"key<fry4>", "key<fry4>"},
              {"key<phx2>", "key<phx2>"},
              {"key<phx4>", "key<phx4>"}};
  for (auto [longName, shortName] : rows) {
    INFO(longName.str());
    std::optional<DType> dtype = parseDType(longName);
    REQUIRE(dtype);
    CHECK(parseDType(shortName) == dtype);
    CHECK(info(*dtype).longName == longName);
    CHECK(info(*dtype).shortName == shortName);
  }
  CHECK_FALSE(parseDType("f33"));
  CHECK_FALSE(parseDType(""));
}

TEST_CASE_METHOD(Text, "broken array types say what is wrong and where") {
  struct {
    StringRef text, error;
  } rows[] = {
      {"f32[8@Q]", "axis 'Q' is not an axis of the mesh x=4, y=2, a=2:Auto, "
                   "m=2:Manual at 6"},
      {"f32[8@a]", "axis 'a' is Auto; dims show Explicit axes only at 6"},
      {"f32[8@m]", "axis 'm' is Manual; dims show Explicit axes only at 6"},
      {"f32[8]{U:a}", "axis 'a' is Auto; types do not show such axes at 9"},
      {"f32[8]{V:x}", "axis 'x' is Explicit; only values over Manual axes vary "
                      "at 9"},
      {"f32[8@x,4@x]", "axis 'x' shards both dim 0 and dim 1 at 10"},
      {"f32[8@(x,x)]", "axis 'x' occurs twice on dim 0 at 9"},
      {"f32[8@x]{U:x}",
       "axis 'x' shards dim 0 and is unreduced; it may be one of these only "
       "at 11"},
      {"f32[8@x]{R:x}",
       "axis 'x' shards dim 0 and is reduced; it may be one of these only at "
       "11"},
      {"f32[8]{U:x, R:x}",
       "axis 'x' is unreduced and is reduced; it may be one of these only at "
       "14"},
      {"f32[8]{V:m, U:m}",
       "axis 'm' is varying and is unreduced; it may be one of these only at "
       "14"},
      {"f32[8]{U:(x,x)}", "axis 'x' stands twice in one set at 12"},
      {"f32[8]{U:x, U_max:y}", "'U' stands twice at 12"},
      {"f32[8]{W:x}", "expected V, U, U_max, U_min or R at 7"},
      {"f32[8]{}", "expected V, U, U_max, U_min or R at 7"},
      {"f32[6@x]", "dim 0 of size 6 does not divide over 'x' of size 4 at 4"},
      {"f32[3,12@(x,y)]",
       "dim 1 of size 12 does not divide over '(x,y)' of size 8 at 6"},
      {"f32[8", "expected ']', not the end at 5"},
      {"f32[8@", "expected an axis, not the end at 6"},
      {"f32[8@x", "expected ']', not the end at 7"},
      {"f32[8@(x", "expected ')', not the end at 8"},
      {"f32[8@x]{U:y", "expected '}', not the end at 12"},
      {"f32[8@x]]", "unexpected ']' at 8"},
      {"f32", "expected '[' after the dtype, not the end at 3"},
      {"f32 [8]", "expected '[' after the dtype, not ' ' at 3"},
      {"f32[8,]", "expected the size of a dim at 6"},
      {"f32[-3]", "expected the size of a dim at 4"},
      {"f32[8x]", "'8x' is no dim at 4"},
      {"f32[8;4]", "unexpected ';' in a dim at 5"},
      {"f32[99999999999999999999]",
       "a dim's size is too large: 99999999999999999999 at 4"},
      {"f32<vmem[8]", "expected '[' after the dtype, not '<' at 3"},
      {"f32<host[8]", "expected '[' after the dtype, not '<' at 3"},
      {"~Tok", "expected an array type after '~' at 1"},
      {"Ref{f32[8}", "unexpected '}' in a dim at 9"},
      {"Ref{f32[8]", "expected '}', not the end at 10"},
      {"Ref<vmem{f32[8]}", "expected '>', not '{' at 8"},
      {"Foo{a", "expected '}', not the end at 5"},
      {"Foo{a]", "unexpected ']' at 5"},
      {"", "expected a type, not the end at 0"},
      {"[8]", "expected a type, not '[' at 0"}};
  for (auto [text, error] : rows)
    CHECK(again(text, "x=4,y=2,a=2:Auto,m=2:Manual") == error.str());
  CHECK(again("f32[8@x]", "") ==
        "axis 'x' needs a mesh, and there is none at 6");
  CHECK(again("f32[9223372036854775807]", "") == "f32[9223372036854775807]");
}

TEST_CASE_METHOD(Text, "no part of a type's text is a type by itself") {
  StringRef meshText = "i=2:Manual,x=2,y=2,z=2";
  for (StringRef text : {"f32<host>[8@(x,y),b*2]{V:i, U_max:z}",
                         "Ref<vmem>{key<fry>[8@x]}", "float0[3]{R:(x,z)}"}) {
    REQUIRE(again(text, meshText) == text.str());
    for (size_t length = text.find_first_of("[{"); length < text.size();
         ++length) {
      if (text[length] == '{' && text[length - 1] == ']')
        continue; // The array type without its sets is one.
      INFO(text.take_front(length).str());
      CHECK_FALSE(parseType(cx, text.take_front(length), mesh(meshText)));
    }
  }
}

TEST_CASE_METHOD(Text, "hostile types end in an error, at once") {
  std::string deep, dims = "f32[1", angles;
  for (int i = 0; i < 100000; ++i) {
    deep += "Ref{";
    dims += ",1";
    angles += "a<";
  }
  CHECK(again(deep, "") ==
        "types stand in each other more than 32 deep at 131");
  CHECK(again(dims + "]", "") == "more than 1024 dims at 2052");
  CHECK(again(angles, "") == angles);
  CHECK(again(std::string("f32[\0]", 6), "") ==
        "unexpected '\\x00' in a dim at 4");
}

TEST_CASE_METHOD(Text, "specs as people write them") {
  struct {
    StringRef text, printed;
  } rows[] = {
      {"P(X,None)", "P('X', None)"},
      {" P ( X , None ) ", "P('X', None)"},
      {"P((X,Y))", "P(('X', 'Y'),)"},
      {"P([X, Y],)", "P(('X', 'Y'),)"},
      {"jax.P('X')", "P('X',)"},
      {"jax.sharding.PartitionSpec(\"X\")", "P('X',)"},
      {"P(X, unreduced={Y})", "P('X', unreduced={'Y'}, unreduced_kind=sum)"},
      {"P(unreduced={X}, unreduced_kind=max, reduced={Y})",
       "P(unreduced={'X'}, reduced={'Y'}, unreduced_kind=max)"},
      {"P(reduced=frozenset({'X', 'Y',}))", "P(reduced={'X', 'Y'})"},
      {"P(reduced={X, X})", "P(reduced={'X'})"},
      {"P(unreduced={}, reduced=set())", "P()"},
      {"P(UNCONSTRAINED, X)", "P(UNCONSTRAINED, 'X')"},
      {"P(PartitionSpec.UNCONSTRAINED)", "P(UNCONSTRAINED,)"},
      {"P(INHERIT, None)", "P(INHERIT, None)"},
      {"P('None', 'UNCONSTRAINED')", "P('None', 'UNCONSTRAINED')"},
      {"P('a b', 'it\\'s', 'caf\\u00e9')", "P('a b', \"it's\", 'caf\u00e9')"},
      {"P(data.1, model-2)", "P('data.1', 'model-2')"},
      {"P(Nonesuch)", "P('Nonesuch',)"}};
  for (auto [text, printed] : rows) {
    CHECK(specAgain(text) == printed.str());
    CHECK(specAgain(printed) == printed.str());
  }
  PartitionSpec quoted = spec("P('UNCONSTRAINED')");
  CHECK(quoted.partitions[0].kind == SpecEntry::Axes);
  size_t length = 0;
  REQUIRE(parseSpec(cx, "P('x',), memory_kind=device", &length));
  CHECK(length == 7);
}

TEST_CASE_METHOD(Text, "broken specs say what is wrong and where") {
  struct {
    StringRef text, error;
  } rows[] = {
      {"", "expected a spec such as P('X', None) at 0"},
      {"X", "expected a spec such as P('X', None) at 0"},
      {"Q(X)", "expected a spec such as P('X', None) at 0"},
      {"P(X", "expected ',' or ')', not the end at 3"},
      {"P(X) Y", "unexpected 'Y' at 5"},
      {"P(X,,Y)", "expected an axis, None or a tuple, not ',' at 4"},
      {"P((X,(Y)))", "a tuple of axes may not hold another tuple at 5"},
      {"P((X,None))", "a tuple of axes may not hold None at 5"},
      {"P((X", "expected ',' or ')', not the end at 4"},
      {"P({X})", "expected an axis, None or a tuple, not '{' at 2"},
      {"P('X)", "quote is not closed at 2"},
      {"P('\\q')", "unknown escape in a quoted name at 3"},
      {"P('\\ud800')", "escape of no character in a quoted name at 3"},
      {"P(unreduced=X)", "expected a set such as {'X'}, not 'X' at 12"},
      {"P(unreduced=[X])", "expected a set such as {'X'}, not '[' at 12"},
      {"P(unreduced={None})", "None may not be unreduced or reduced at 13"},
      {"P(unreduced={X}, unreduced={Y})", "'unreduced' is given twice at 17"},
      {"P(unreduced={X}, Y)",
       "a dim's entry may not follow 'unreduced=' at 17"},
      {"P(unreduced={X}, unreduced_kind=avg)",
       "expected sum, max or min, not 'avg' at 32"},
      {"P(axes={X})", "no argument 'axes' of a spec; expected unreduced, "
                      "reduced or unreduced_kind at 2"},
      {"P(P.X)", "expected P.UNCONSTRAINED at 2"}};
  for (auto [text, error] : rows)
    CHECK(specAgain(text) == error.str());
}

TEST_CASE_METHOD(Text, "meshes as the command line has them") {
  struct {
    StringRef text, printed;
  } rows[] = {{"X=4", "X=4"},
              {"X=4,Y=2:Auto", "X=4, Y=2:Auto"},
              {"X=4 Y=2:Auto", "X=4, Y=2:Auto"},
              {" X = 4 , Y = 2 : manual ", "X=4, Y=2:Manual"},
              {"X=4:Explicit", "X=4"},
              {"data.1=3 model-2=1", "data.1=3, model-2=1"},
              {"'a b'=2", "'a b'=2"},
              {"X=9223372036854775807,Y=9223372036854775807",
               "X=9223372036854775807, Y=9223372036854775807"},
              {"()", "()"}};
  for (auto [text, printed] : rows) {
    CHECK(meshAgain(text) == printed.str());
    CHECK(meshAgain(printed) == printed.str());
  }
  std::string many = "a0=1";
  for (int i = 1; i <= 64; ++i)
    many += ",a" + std::to_string(i) + "=1";
  CHECK(meshAgain(many) == "a mesh has at most 64 axes at 374");
}

TEST_CASE_METHOD(Text, "broken meshes say what is wrong and where") {
  struct {
    StringRef text, error;
  } rows[] = {
      {"", "expected an axis such as X=4, not the end at 0"},
      {"X", "expected '=', not the end at 1"},
      {"X=", "expected the size of an axis, not the end at 2"},
      {"X=0", "axis 'X' needs a size of at least 1 at 2"},
      {"X=-1", "expected the size of an axis, not '-' at 2"},
      {"X=4x", "unexpected 'x' at 3"},
      {"X=4,X=2", "axis 'X' stands twice in the mesh at 4"},
      {"X=4,", "expected an axis such as X=4, not the end at 4"},
      {"X=4:Both", "expected Auto, Explicit or Manual, not 'Both' at 4"},
      {"X=4:", "expected Auto, Explicit or Manual, not the end at 4"},
      {"=4", "expected an axis such as X=4, not '=' at 0"},
      {"''=4", "an axis needs a name at 0"},
      {"X=99999999999999999999",
       "the size of an axis is too large: 99999999999999999999 at 2"}};
  for (auto [text, error] : rows)
    CHECK(meshAgain(text) == error.str());
}

TEST_CASE_METHOD(Text, "meshes as JAX prints them") {
  for (StringRef text :
       {"AbstractMesh('X': 4, 'Y': 2, axis_types=(Explicit, Auto))",
        "AbstractMesh('X': 4, axis_types=(Manual,))",
        "AbstractMesh('X': 4, axis_types=(Explicit,), device_kind=NVIDIA H100 "
        "80GB HBM3, num_cores=132, platform=gpu)",
        "AbstractMesh((), axis_types=())", "Mesh()",
        "Mesh('X': 4, 'Y': 2, axis_types=(Explicit, Explicit))"})
    CHECK(reprAgain(text) == text.str());
  CHECK(reprAgain("Mesh(axis_sizes=(4, 2), axis_names=('X', 'Y'), "
                  "axis_types=(Explicit, Explicit))") ==
        "Mesh('X': 4, 'Y': 2, axis_types=(Explicit, Explicit))");
  CHECK(reprAgain("Mesh(axis_sizes=(), axis_names=())") == "Mesh()");
  struct {
    StringRef text, error;
  } rows[] = {
      {"Foo()", "expected a mesh such as AbstractMesh('X': 4, "
                "axis_types=(Explicit,)) at 0"},
      {"Mesh('X': 4, axis_types=(Auto, Auto))",
       "2 axis types for 1 axes at 25"},
      {"Mesh('X': 4, 'X': 4, axis_types=(Auto, Auto))",
       "axis 'X' stands twice in the mesh at 13"},
      {"Mesh('X': 0, axis_types=(Auto,))",
       "axis 'X' needs a size of at least 1 at 10"},
      {"Mesh('X': 4", "expected ')', not the end at 11"},
      {"Mesh('X': 4, axis_types=(Auto,)", "expected ')', not the end at 31"},
      {"Mesh(axis_sizes=(4,), axis_names=('X', 'Y'))",
       "more names than sizes at 39"},
      {"Mesh(axis_sizes=(4, 2), axis_names=('X',))",
       "fewer names than sizes at 41"}};
  for (auto [text, error] : rows)
    CHECK(reprAgain(text) == error.str());
}

TEST_CASE_METHOD(Text, "axes print alone as in a type") {
  MeshId id = mesh("X=2,Y=2,Z=2");
  CHECK(str(cx, id, AxisSet::of({2, 0})) == "(X,Z)");
  CHECK(str(cx, id, AxisSet::of({1})) == "Y");
  CHECK(str(cx, id, ArrayRef<uint8_t>(AxisList{2, 0})) == "(Z,X)");
}
