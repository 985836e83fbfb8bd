// CheckTest.cpp - the walk, recorded types, recovery.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"

using namespace shardtype;

TEST_CASE("a well-typed program has the types of the rules") {
  Checked c(R"(#! mesh X=2 Y=2
{ lambda ; a:f32[8@X,4]. let
    b = sin a
    c:f32[4,8@X] = transpose[permutation=(1, 0)] b
  in (c,) })");
  c.run();
  CHECK(c.codes() == "");
  CHECK(c.type(0) == "f32[8@X,4]");
  CHECK(c.resultType() == "f32[4,8@X]");
  CHECK(c.result->equations == 2);
  CHECK(c.result->ok());
  CHECK_FALSE(c.result->retyped);
  CHECK(c.result->basis == Basis::Derived);
}

TEST_CASE(
    "a recorded type that the rules do not give is an error, and stands") {
  Checked c(R"(#! mesh X=2
{ lambda ; a:f32[8@X,4]. let
    b:f32[8,4] = sin a
    c:f32[8,4] = cos b
  in (c,) })");
  c.run();
  CHECK(c.codes() == "binder-mismatch");
  const Diagnostic &d = c.finding("binder-mismatch");
  CHECK(d.path == "eqns/0");
  CHECK(d.message ==
        "the recorded type is f32[8,4], but the rules give f32[8@X,4]");
  // structure/recorded.2: what follows is typed from the recorded type.
  CHECK(c.resultType() == "f32[8,4]");
}

TEST_CASE("types that match need not be equal") {
  // structure/recorded.1
  // A literal has no mesh and weak types do not count (spec 01, 2.8).
  Checked c(R"(#! mesh X=2
{ lambda ; a:f32[8@X]. let
    b:f32[8@X] = mul a 2.0:f32[]
    c:f32[] = neg 1.0:f32[]
  in (b, c) })");
  c.run();
  CHECK(c.codes() == "");
}

TEST_CASE("independent errors are all found in one run") {
  // structure/recovery.1
  // Case C43. Equation 3 follows from what is assumed for equation 0.
  Checked c(R"({ lambda ; a:f32[4,8] b:f32[8,4] c:f32[4] d:f32[4,4]. let
    e:f32[4,4] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    f:f32[4] = frobnicate c
    g:f32[4] = cumsum[axis=0 reverse=False] c
    h:f32[4,4] = add e d
  in (e, f, g, h) })");
  c.mesh("X=2").in("P(None,X)").in("P(X,None)").in("P(X)").run();
  CHECK(c.codes() ==
        "dot-contracting-ambiguous no-rule cumulative-dim-sharded");
  CHECK(c.finding("no-rule").message ==
        "no rule for primitive 'frobnicate' (1 use)");
  CHECK(c.finding("cumulative-dim-sharded").path == "eqns/2");
  CHECK(c.type(3) == "f32[4,4]");
  CHECK(c.result->notChecked == 0);
}

TEST_CASE("the same axis twice is found in an argument and in a result") {
  // Case C15.
  Checked c(R"({ lambda ; p:f32[8,8] a:f32[8,4] b:f32[4,8]. let
    c:f32[8,8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
  in (p, c) })");
  c.mesh("X=4,Y=2").in("P(X,X)").in("P(X)").in("P(None,X)").run();
  CHECK(c.codes() == "spec-duplicate duplicate-axis");
  const Diagnostic &argument = c.finding("spec-duplicate");
  CHECK(argument.message == "argument 'p': axis 'X' shards both dim 0 and dim "
                            "1 in P('X', 'X')");
  CHECK(argument.path == "arguments/0");
  const Diagnostic &result = c.finding("duplicate-axis");
  CHECK(result.path == "eqns/0");
  REQUIRE(result.fixes.size() >= 2);
  CHECK(result.fixes.front().assumed);
}

TEST_CASE("an unknown primitive is named once, with its uses") {
  // structure/unknown.1
  const char *text = R"({ lambda ; a:f32[4]. let
    b:f32[4] = mystery a
    c:f32[4] = mystery b
    d:f32[4] = jit[name=f jaxpr={ lambda ; x:f32[4]. let
        y:f32[4] = mystery x
      in (y,) }] c
    e:f32[4] = other d
  in (e,) })";
  Checked recorded(text);
  recorded.run();
  CHECK(recorded.codes() == "assumed-as-recorded assumed-as-recorded");
  CHECK(recorded.result->ok());
  CHECK(recorded.found()[0].message ==
        "no rule for primitive 'mystery' (3 uses); its results are taken as "
        "recorded");
  Checked retyped(text);
  retyped.mesh("X=2").in("P(X)").run();
  CHECK(retyped.codes() == "no-rule no-rule");
  CHECK(retyped.resultType() == "f32[4]");
  CHECK(retyped.result->openResults[0]);
  Checked declared(text);
  declared.options.assumeDeclared = true;
  declared.mesh("X=2").in("P(X)").run();
  CHECK(declared.codes() == "assumed-as-recorded assumed-as-recorded");
  CHECK_FALSE(declared.result->openResults[0]);
}

TEST_CASE("without a shape a result is poison, and what reads it is counted") {
  // structure/recovery.3
  Checked c(R"({ lambda ; a:f32[4]. let
    b = mystery a
    c = sin b
    d = cos c
    e = sin a
  in (d, e) })");
  c.run();
  CHECK(c.codes() == "no-rule");
  CHECK(c.result->notChecked == 2);
  CHECK(c.resultType(0) == "?");
  CHECK(c.resultType(1) == "f32[4]");
}

TEST_CASE("what follows from an error without a way out is silent") {
  // structure/recovery.2, .4
  // The cumsum is of an unknown sharding behind the frobnicate, so the select
  // that would differ says nothing.
  Checked c(R"({ lambda ; a:f32[8] p:bool[8]. let
    b:f32[8] = frobnicate a
    c:f32[8] = exp b
    d:f32[8] = select_n p c a
    e:f32[8] = select_n p a a
  in (d, e) })");
  c.mesh("X=2").in("P(X)").in("P(None)").run();
  CHECK(c.codes() == "no-rule select-predicate");
  CHECK(c.finding("select-predicate").path == "eqns/3");
}

TEST_CASE("an error after an assumption says so") {
  // structure/recovery.6
  Checked c(R"({ lambda ; a:f32[4,8] b:f32[8,4]. let
    e:f32[4,4] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    f:f32[4,4] = neg e
    g:f32[4,4] = cumsum[axis=0 reverse=False] f
  in (g,) })");
  // Both free dims are sharded, so the assumed result is too.
  c.mesh("X=2,Y=2").in("P(Y,X)").in("P(X,None)").run();
  CHECK(c.codes() == "dot-contracting-ambiguous cumulative-dim-sharded");
  CHECK(c.hasNote(c.finding("cumulative-dim-sharded"),
                  "depends on the type assumed for dot_general"));
}

TEST_CASE("a flood of one kind is counted, not kept") {
  std::string text = "{ lambda ; a:f32[4]. let\n";
  for (int i = 0; i < 50; ++i)
    text += "    v:f32[4] = cumsum[axis=0 reverse=False] a\n";
  // The same name twice is not JAX's, so name them apart.
  std::string named = "{ lambda ; a:f32[4]. let\n";
  for (int i = 0; i < 50; ++i) {
    std::string name = {'v', static_cast<char>('a' + i / 26),
                        static_cast<char>('a' + i % 26)};
    named += "    " + name + ":f32[4] = cumsum[axis=0 reverse=False] a\n";
  }
  Checked c(named + "  in (a,) }");
  c.options.maxPerCode = 7;
  c.mesh("X=2").in("P(X)").run();
  CHECK(c.found().size() == 7);
  CHECK(c.result->omitted == 43);
}

TEST_CASE("there is a limit on how much is typed") {
  Checked c(R"({ lambda ; a:f32[4]. let
    b:f32[4] = sin a
    c:f32[4] = sin b
  in (c,) })");
  c.options.maxTyped = 1;
  c.run();
  CHECK(c.codes() == "input-limit");
  CHECK(c.resultType() == "?");
}

TEST_CASE("bodies that nest too deep are an error, not a crash") {
  std::string text = "a";
  std::string open, close;
  for (int i = 0; i < 40; ++i) {
    open += "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr=";
    close = "] a in (b,) }" + close;
  }
  Checked c(open + "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }" + close);
  c.options.maxDepth = 20;
  c.run();
  CHECK(c.codes() == "jaxpr-depth");
  CHECK_FALSE(c.result->entryInstance.valid());
  c.options.maxDepth = 256;
  c.run();
  CHECK(c.codes() == "");
  CHECK(c.result->typed == 41);
}

TEST_CASE("a body is typed once for equal arguments") {
  // structure/instance.1
  Checked c(R"(let f = { lambda ; x:f32[8,8]. let
    y:f32[8,8] = sin x
    z:f32[8,8] = cos y
  in (z,) } in
{ lambda ; a:f32[8,8] b:f32[8,8]. let
    c:f32[8,8] = jit[name=f jaxpr=f] a
    d:f32[8,8] = jit[name=f jaxpr=f] c
    e:f32[8,8] = jit[name=f jaxpr=f] b
  in (d, e) })");
  c.mesh("X=2").in("P(X)").in("P(None,X)").run();
  CHECK(c.codes() == "");
  CHECK(c.result->instances.size() == 3); // The entry, and f in two typings.
  CHECK(c.result->typed == 3 + 2 * 2);
  CHECK(c.result->equations == 5);
  CHECK(c.resultType(0) == "f32[8@X,8]");
  CHECK(c.resultType(1) == "f32[8,8@X]");
}

TEST_CASE("a finding in a shared body is given once") {
  Checked c(R"(let f = { lambda ; x:f32[8,8]. let
    y:f32[8,8] = cumsum[axis=0 reverse=False] x
  in (y,) } in
{ lambda ; a:f32[8,8] b:f32[8,8]. let
    c:f32[8,8] = jit[name=f jaxpr=f] a
    d:f32[8,8] = jit[name=f jaxpr=f] b
  in (c, d) })");
  c.mesh("X=2,Y=2").in("P(X)").in("P(X,Y)").run();
  CHECK(c.codes() == "cumulative-dim-sharded");
  CHECK(c.found()[0].path == "eqns/0/params/jaxpr/eqns/0");
}

TEST_CASE("findings have the user's line, or that of the equation outside") {
  // spec 08, 3 rule 6. The inner equation has no source comment.
  Checked c(R"({ lambda ; a:f32[8,8]. let
    b:f32[8,8] = jit[ # model.py:7:4 (outer)
      name=f
      jaxpr={ lambda ; x:f32[8,8]. let
          y:f32[8,8] = cumsum[axis=0 reverse=False] x
        in (y,) }
    ] a
    c:f32[8,8] = cumsum[axis=1 reverse=False] a # model.py:9:2 (outer)
  in (b, c) })");
  c.mesh("X=2,Y=2").in("P(X,Y)").run();
  REQUIRE(c.found().size() == 2);
  auto line = [&](const Diagnostic &d) {
    ArrayRef<FrameId> frames = c.program->stack(d.stack);
    return frames.empty() ? 0 : c.program->frames[frames[0].index()].line;
  };
  CHECK(line(c.found()[1]) == 9);
  CHECK(c.found()[0].path == "eqns/0/params/jaxpr/eqns/0");
}

TEST_CASE("operands that were not cast into a region are named") {
  // structure/context.1
  // Case C52: two meshes that print alike but for the kind of an axis.
  Checked c(R"(#! mesh data=4
{ lambda ; x:f32[8@data,3] n:i32[8]. let
    y:f32[8,3] = reshard x
    z:f32[8,3] = convert_element_type[new_dtype=float32 weak_type=False] y
  in (z,) })");
  Context &cx = c.cx;
  // A text does not tell regions, so the program is changed by hand: eqn 1 runs
  // where `data` is Auto, on x itself.
  Program &p = *c.program;
  const Jaxpr &jaxpr = p.jaxpr(p.entry.jaxpr);
  Eqn &eqn = p.eqns[jaxpr.eqn(1).index()];
  EqnInfo info;
  info.hasContextMesh = true;
  info.contextMesh =
      cx.withAxisTypes(jaxpr.mesh, AxisSet::firstN(1), AxisType::Auto);
  eqn.info = p.intern(info);
  p.operands[eqn.firstOperand] = jaxpr.input(0);
  c.run();
  const Diagnostic &d = c.finding("axis-mode-mismatch");
  CHECK(d.message == "operand 0 is typed for data=4, but here the mesh is "
                     "data=4:Auto; cast it on entry");
  CHECK(c.hasNote(d, "x is the argument x"));
  REQUIRE(d.fixes.size() == 1);
  CHECK(d.fixes[0].code == "reshard({0}, P(None, None))");
}
