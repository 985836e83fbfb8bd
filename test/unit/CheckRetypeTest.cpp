// CheckRetypeTest.cpp - one trace under meshes and specs of the user's choice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"

using namespace shardtype;

static const char *const Mlp = R"({ lambda ; a:f32[32,16] b:f32[16,64]. let
    c:f32[32,64] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    d:f32[32,64] = tanh c
  in (d,) })";

TEST_CASE("types follow from the specs of the arguments") {
  // structure/retype.1
  Checked c(Mlp);
  c.mesh("data=4,model=2").in("P(data,None)").in("P(None,model)").run();
  CHECK(c.codes() == "");
  CHECK(c.result->retyped);
  CHECK(c.argumentType(0) == "f32[32@data,16]");
  CHECK(c.resultType() == "f32[32@data,64@model]");
}

TEST_CASE("an argument without a spec is whole, on the mesh") {
  Checked c(Mlp);
  c.mesh("data=4").run();
  CHECK(c.codes() == "");
  CHECK(c.resultType() == "f32[32,64]");
  CHECK(c.cx.type(c.result->argumentTypes[0]).sharding.mesh == c.result->mesh);
}

TEST_CASE("a name or a pattern picks arguments; later ones win") {
  Checked c(Mlp);
  c.mesh("X=4,Y=2").in("a", "P(X)").in("*", "P(Y)").in("b", "P(None,X)").run();
  CHECK(c.codes() == "");
  CHECK(c.argumentType(0) == "f32[32@Y,16]");
  CHECK(c.argumentType(1) == "f32[16,64@X]");
}

TEST_CASE("patterns match paths of the file's arguments") {
  Checked c(Mlp);
  c.program->entry.argPaths = {c.cx.intern("params/layers/0/kernel"),
                               c.cx.intern("params/layers/1/kernel")};
  c.mesh("X=2").in("params/**/kernel", "P(X)").in("params/layers/1/*", "P()");
  c.run();
  CHECK(c.argumentType(0) == "f32[32@X,16]");
  CHECK(c.argumentType(1) == "f32[16,64]");
}

TEST_CASE("a pattern that fits nothing is an error with near names") {
  Checked c(Mlp);
  c.program->entry.argPaths = {c.cx.intern("params/kernel"),
                               c.cx.intern("batch/x")};
  c.mesh("X=2").in("params/kernl", "P(X)").in("P()").in("P()").in("P()").run();
  REQUIRE(c.codes() == "option-invalid option-invalid");
  CHECK(c.found()[0].message ==
        "--in 'params/kernl' fits nothing; there are params/kernel, batch/x");
  CHECK(c.found()[1].message == "--in number 3: the program has only 2");
}

TEST_CASE("specs that cannot be are errors of the argument they are for") {
  struct Case {
    const char *spec, *code, *message;
  } cases[] = {
      {"P(X,X)", "spec-duplicate", ""},
      {"P(Z)", "spec-unknown-axis",
       "argument 'a': axis 'Z' in P('Z',) is not an axis of the mesh X=2, Y=3"},
      {"P(None,None,None)", "type-rank", ""},
      {"P(Y)", "type-indivisible",
       "argument 'a': dim 0 of size 32 does not divide over 'Y' of size 3; "
       "30 or 33 would"},
      {"P(X,unreduced={X})", "spec-overlap", ""},
      {"P(UNCONSTRAINED)", "spec-unconstrained", ""}};
  for (const Case &one : cases) {
    Checked c(Mlp);
    c.mesh("X=2,Y=3").in(one.spec).run();
    INFO(one.spec);
    CHECK(c.codes() == one.code);
    CHECK(c.found()[0].path == "arguments/0");
    if (*one.message)
      CHECK(c.found()[0].message == one.message);
    // It goes on open, so nothing else is reported.
    CHECK(c.argumentType(0) == "f32[32,16]");
  }
}

TEST_CASE("specs without a mesh are unusable for a trace without one") {
  Checked c(Mlp);
  c.in("P(X)").run();
  CHECK(c.codes() == "option-invalid");
  CHECK_FALSE(c.result->entryInstance.valid());
}

TEST_CASE("specs alone re-type a trace on its own mesh") {
  Checked c(R"(#! mesh X=2 Y=2
{ lambda ; a:f32[8@X,4] b:f32[8@X,4]. let
    c:f32[8@X,4] = add a b
  in (c,) })");
  c.in("b", "P(None,Y)").run();
  CHECK(c.codes() == "");
  // The recorded spec stands where none is given.
  CHECK(c.argumentType(0) == "f32[8@X,4]");
  CHECK(c.resultType() == "f32[8@X,4@Y]");
}

TEST_CASE("a recorded spec must fit the new mesh") {
  Checked c(R"(#! mesh X=2
{ lambda ; a:f32[8@X,4]. let
    b:f32[8@X,4] = sin a
  in (b,) })");
  c.mesh("Y=2").run();
  CHECK(c.codes() == "spec-unknown-axis");
  CHECK(c.found()[0].path == "arguments/0");
}

TEST_CASE("axes that are Auto do not show in types") {
  // Rows A32, A33: no error, the engine may decide.
  Checked c(R"({ lambda ; a:f32[8,4] b:f32[4,16]. let
    c:f32[8,16] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
  in (c,) })");
  c.mesh("X=4:Auto,Y=2:Auto").in("P(None,X)").in("P(X,None)").run();
  CHECK(c.codes() == "");
  CHECK(c.resultType() == "f32[8,16]");
}

TEST_CASE("captured constants stay without a mesh") {
  // structure/retype.2: JAX accepts a captured array as a case of select_n
  // where it refuses a replicated argument.
  const char *captured = R"({ lambda c:f32[8] ; p:bool[8] a:f32[8]. let
    b:f32[8] = select_n p a c
  in (b,) })";
  Checked constant(captured);
  constant.mesh("X=2").in("P(X)").in("P(X)").run();
  CHECK(constant.codes() == "");
  Checked argument(R"({ lambda ; p:bool[8] a:f32[8] c:f32[8]. let
    b:f32[8] = select_n p a c
  in (b,) })");
  argument.mesh("X=2").in("P(X)").in("P(X)").run();
  CHECK(argument.codes() == "select-cases-differ");
}

TEST_CASE("sharding parameters move to the new mesh") {
  // structure/retype.4
  Checked c(R"(#! mesh X=2 Y=2
{ lambda ; a:f32[8@X,4]. let
    b:f32[8@X,4] = reshape[
      dimensions=None
      new_sizes=(8, 4)
      sharding=NamedSharding(mesh=AbstractMesh('X': 2, 'Y': 2, axis_types=(Explicit, Explicit)), spec=P('Y', None))
    ] a
  in (b,) })");
  c.mesh("Y=4,X=2").in("P(X)").run();
  CHECK(c.resultType() == "f32[8@Y,4]");
  Checked missing(R"(#! mesh X=2 Y=2
{ lambda ; a:f32[8@X,4]. let
    b:f32[8@X,4] = reshape[
      dimensions=None
      new_sizes=(8, 4)
      sharding=NamedSharding(mesh=AbstractMesh('X': 2, 'Y': 2, axis_types=(Explicit, Explicit)), spec=P('Y', None))
    ] a
  in (b,) })");
  missing.mesh("X=2").run();
  CHECK(missing.codes() == "spec-unknown-axis");
}

TEST_CASE("a converted axis stays converted on a new mesh") {
  // structure/retype.3
  Context cx;
  auto mesh = [&](StringRef text) { return *parseMesh(cx, text); };
  // Inside auto_axes('X') of a trace on X=2, Y=2.
  CHECK(retypedMesh(cx, mesh("X=2:Auto,Y=2"), mesh("X=2,Y=2"),
                    mesh("Y=4,X=2,Z=3")) == mesh("Y=4,X=2:Auto,Z=3"));
  // As the trace was: as the new mesh is.
  CHECK(retypedMesh(cx, mesh("X=2,Y=2"), mesh("X=2,Y=2"),
                    mesh("X=2:Auto,Y=2")) == mesh("X=2:Auto,Y=2"));
  // A trace without a mesh.
  CHECK(retypedMesh(cx, MeshId(), MeshId(), mesh("X=2")) == mesh("X=2"));
  // A trace on Auto axes, checked on Explicit ones.
  CHECK(retypedMesh(cx, mesh("X=2:Auto"), mesh("X=2:Auto"), mesh("X=2")) ==
        mesh("X=2"));
}

TEST_CASE("--out says what results must be") {
  // structure/out.1
  Checked c(Mlp);
  c.mesh("data=4,model=2").in("P(data)").in("P(None,model)");
  c.out("result", "P(data,None)").run();
  CHECK(c.codes() == "out-mismatch");
  const Diagnostic &d = c.finding("out-mismatch");
  CHECK(d.path == "results/0");
  CHECK(d.message == "result result has type f32[32@data,64@model], but --out "
                     "asks for f32[32@data,64]");
  REQUIRE(d.fixes.size() == 1);
  // All-gather over model: the result on one device is 8 x 64 floats.
  CHECK(c.fixes(d)[0] ==
        "f32[32@data,64]: all-gather model 2048/1024 (assumed)");
  CHECK(c.hasNote(d, "is sharded over 'model' on dim 1 since dot_general with "
                     "argument b"));
  CHECK(c.resultType() == "f32[32@data,64]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("a result that does not divide") {
  // Case C44: sizes and axis are named, nothing else is.
  Checked c(R"({ lambda ; a:f32[5]. let
    b:f32[5] = neg a
  in (b,) })");
  c.mesh("x=4,y=2").out("result", "P(x)").run();
  CHECK(c.codes() == "type-indivisible");
  CHECK(c.found()[0].path == "results/0");
  CHECK(c.found()[0].message ==
        "result 'result': dim 0 of size 5 does not divide over 'x' of size 4; "
        "4 or 8 would");
}

TEST_CASE("patterns of --out pick results") {
  Checked c(R"({ lambda ; a:f32[8] b:f32[8]. let
    c:f32[8] = neg a
  in (c, b) })");
  c.mesh("X=2").in("P(X)").out("result/0", "P(X)").out("nothing", "P()").run();
  CHECK(c.codes() == "option-invalid");
  CHECK(c.found()[0].message ==
        "--out 'nothing' fits nothing; there are result/0, result/1");
}
