// CheckLoopsTest.cpp - scan, while, cond and calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"

using namespace shardtype;

//===--- scan -------------------------------------------------------------===//

/// Case C17: an update that shards a parameter.
static const char *const Update = R"({ lambda ; p:f32[8,8] m:f32[8,8]. let
    q:f32[8,8] = scan[
      ft_in=((None,), (None,), ())
      ft_out=((None,), ())
      jaxpr={ lambda ; n:f32[8,8] c:f32[8,8]. let
          s:f32[8,8] = mul n 0.1:f32[]
          r:f32[8,8] = sub c s
        in (r,) }
      length=3
      reverse=False
      unroll=1
    ] m p
  in (q,) })";

TEST_CASE("a carry that leaves otherwise than it enters") {
  // loop/carry.1 to .3
  Checked c(Update);
  c.mesh("X=2").in("p", "P()").in("m", "P(X)").run();
  CHECK(c.codes() == "carry-mismatch");
  const Diagnostic &d = c.finding("carry-mismatch");
  CHECK(d.path == "eqns/0");
  CHECK(
      d.message ==
      "carry 0 enters the loop as f32[8,8] and leaves its body as f32[8@X,8]");
  CHECK(c.hasNote(d, "'X' comes in at 'sub'"));
  // Start sharded: no communication. Else an all-gather of 8 x 8 floats, each
  // of three times.
  CHECK(c.fixes(d) ==
        std::vector<std::string>{"in1 f32[8@X,8]: (assumed)",
                                 "f32[8,8]: all-gather X 256/128 x3"});
  CHECK(d.fixes[0].code == "reshard({0}, P('X', None))");
  CHECK(c.resultType() == "f32[8@X,8]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("the carry can be kept as it enters") {
  Checked c(Update);
  c.mesh("X=2").in("p", "P()").in("m", "P(X)").choose("eqns/0", "P(None,None)");
  c.run();
  CHECK(c.codes() == "carry-mismatch");
  CHECK(c.fixes(c.found()[0])[1] ==
        "f32[8,8]: all-gather X 256/128 x3 (assumed)");
  CHECK(c.resultType() == "f32[8,8]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("a carry that gets cheaper each time is kept as it enters") {
  // In sharded, out whole: slicing is free, gathering at the start is not.
  Checked c(R"({ lambda ; p:f32[8,8]. let
    q:f32[8,8] = scan[
      ft_in=((), (None,), ())
      ft_out=((None,), ())
      jaxpr={ lambda ; c:f32[8,8]. let
          r:f32[8,8] = reshard c
        in (r,) }
      length=3
      reverse=False
      unroll=1
    ] p
  in (q,) })");
  // A text hides reshard's destination; the binder's type is the destination.
  c.mesh("X=2").in("P(X)").run();
  const Diagnostic &d = c.finding("carry-mismatch");
  CHECK(c.fixes(d) ==
        std::vector<std::string>{"f32[8@X,8]: x3 (assumed)",
                                 "in0 f32[8,8]: all-gather X 256/128"});
  CHECK(c.resultType() == "f32[8@X,8]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("the body of a scan sees items and gives rows") {
  // scan/type.1, .3
  Checked c(R"({ lambda ; w:f32[3,4,4] x:f32[8,4]. let
    y:f32[8,4] z:f32[3,8,4] = scan[
      ft_in=((), (None,), (None,))
      ft_out=((None,), (RightsOnly(Right(None)),))
      jaxpr={ lambda ; d:f32[8,4] e:f32[4,4]. let
          f:f32[8,4] = dot_general[dimension_numbers=(([1], [0]), ([], []))] d e
          g:f32[8,4] = tanh f
        in (g, g) }
      length=3
      reverse=False
      unroll=1
    ] x w
  in (y, z) })");
  c.mesh("X=2").in("x", "P(X)").run();
  CHECK(c.codes() == "");
  CHECK(c.resultType(0) == "f32[8@X,4]");
  CHECK(c.resultType(1) == "f32[3,8@X,4]");
}

TEST_CASE("the counts of older files are read too") {
  Checked c(R"({ lambda ; w:f32[3,4] x:f32[4]. let
    y:f32[4] z:f32[3,4] = scan[
      _split_transpose=False
      jaxpr={ lambda ; d:f32[4] e:f32[4]. let f:f32[4] = add d e in (f, d) }
      length=3
      linear=(False, False)
      num_carry=1
      num_consts=0
      reverse=False
      unroll=1
    ] x w
  in (y, z) })");
  c.mesh("X=2").in("x", "P(X)").in("w", "P(None,X)").run();
  CHECK(c.codes() == "");
  CHECK(c.resultType(1) == "f32[3,4@X]");
}

TEST_CASE("what is scanned must be whole along its first dim") {
  // scan/type.2
  Checked c(R"({ lambda ; w:f32[4,4] x:f32[4]. let
    y:f32[4] = scan[
      ft_in=((), (None,), (None,))
      ft_out=((None,), ())
      jaxpr={ lambda ; d:f32[4] e:f32[4]. let f:f32[4] = add d e in (f,) }
      length=4
      reverse=False
      unroll=1
    ] x w
  in (y,) })");
  c.mesh("X=2").in("w", "P(X)").run();
  CHECK(c.codes() == "scan-xs-sharded");
  const Diagnostic &d = c.found()[0];
  CHECK(d.message == "the scanned dim 0 of operand 1 is sharded over 'X'");
  CHECK(c.fixes(d) ==
        std::vector<std::string>{"in1 f32[4,4]: all-gather X 64/32 (assumed)"});
  CHECK(c.hasNote(d, "w is the argument w, P('X', None) from --in"));
  CHECK(c.resultType() == "f32[4]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("an error inside a body silences its carries") {
  // structure/recovery.5
  Checked c(R"({ lambda ; p:f32[8,8] m:f32[8,8]. let
    q:f32[8,8] = scan[
      ft_in=((None,), (None,), ())
      ft_out=((None,), ())
      jaxpr={ lambda ; n:f32[8,8] c:f32[8,8]. let
          s:f32[8,8] = cumsum[axis=0 reverse=False] n
          r:f32[8,8] = sub c n
        in (r,) }
      length=3
      reverse=False
      unroll=1
    ] m p
  in (q,) })");
  c.mesh("X=2").in("m", "P(X)").run();
  CHECK(c.codes() == "cumulative-dim-sharded result-undecided");
}

TEST_CASE("each of two carries is reported, and one way out serves both") {
  Checked c(R"({ lambda ; p:f32[8] q:f32[8] m:f32[8]. let
    a:f32[8] b:f32[8] = scan[
      ft_in=((None,), (None, None), ())
      ft_out=((None, None), ())
      jaxpr={ lambda ; n:f32[8] c:f32[8] d:f32[8]. let
          r:f32[8] = add c n
          s:f32[8] = add d r
        in (r, s) }
      length=2
      reverse=False
      unroll=1
    ] m p q
  in (a, b) })");
  c.mesh("X=2").in("m", "P(X)").run();
  CHECK(c.codes() == "carry-mismatch carry-mismatch");
  CHECK(c.resultType(0) == "f32[8@X]");
  CHECK(c.resultType(1) == "f32[8@X]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("scans of the wrong counts are errors") {
  struct Case {
    const char *in, *out, *length, *code;
  } cases[] = {
      {"((), (None,), (None,))", "((None,), ())", "4", ""},
      {"((None,), (None,), (None,))", "((None,), ())", "4", "param-invalid"},
      {"((), (None,), (None,))", "((None,), ())", "5", "shape-mismatch"},
      {"(None,)", "((None,), ())", "4", "param-invalid"}};
  for (const Case &one : cases) {
    Checked c(std::string(R"({ lambda ; w:f32[4,4] x:f32[4]. let
    y:f32[4] = scan[
      ft_in=)") +
              one.in + "\n      ft_out=" + one.out + R"(
      jaxpr={ lambda ; d:f32[4] e:f32[4]. let f:f32[4] = add d e in (f,) }
      length=)" +
              one.length +
              R"(
      reverse=False
      unroll=1
    ] x w
  in (y,) })");
    c.run();
    INFO(one.in << " " << one.length);
    CHECK(c.codes() == one.code);
  }
}

//===--- while ------------------------------------------------------------===//

static std::string whileText(const std::string &body, const std::string &cond) {
  return R"({ lambda ; p:f32[8,8] m:f32[8,8] n:i32[]. let
    i:i32[] q:f32[8,8] = while[
      body_jaxpr={ lambda ; m:f32[8,8] i:i32[] c:f32[8,8]. let
          j:i32[] = add i 1:i32[]
)" + body +
         R"(        in (j, r) }
      body_nconsts=1
      cond_jaxpr={ lambda ; n:i32[] i:i32[] c:f32[8,8]. let
)" + cond +
         R"(        in (b,) }
      cond_nconsts=1
    ] n m 0:i32[] p
  in (q,) })";
}

TEST_CASE("while compares what goes round") {
  Checked same(whileText("          r:f32[8,8] = mul c 2.0:f32[]\n",
                         "          b:bool[] = lt i n\n"));
  same.mesh("X=2").in("p", "P(X)").run();
  CHECK(same.codes() == "");
  CHECK(same.resultType() == "f32[8@X,8]");
  Checked c(whileText("          r:f32[8,8] = sub c m\n",
                      "          b:bool[] = lt i n\n"));
  c.mesh("X=2").in("m", "P(X)").run();
  CHECK(c.codes() == "carry-mismatch");
  CHECK(
      c.found()[0].message ==
      "carry 1 enters the loop as f32[8,8] and leaves its body as f32[8@X,8]");
  // The start is operand 3, behind both bodies' constants.
  CHECK(c.fixes(c.found()[0])[0] == "in3 f32[8@X,8]: (assumed)");
  CHECK(c.hasNote(c.found()[0], "'X' comes in at 'sub'"));
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("the condition of while is one bool") {
  // while/type.1
  Checked c(whileText("          r:f32[8,8] = mul c 2.0:f32[]\n",
                      "          b:i32[] = add i n\n"));
  c.run();
  CHECK(c.codes() == "while-predicate");
}

TEST_CASE("an error in the condition is found where it is") {
  Checked c(whileText("          r:f32[8,8] = mul c 2.0:f32[]\n",
                      R"(          d:f32[8,8] = cumsum[axis=0 reverse=False] c
          b:bool[] = lt i n
)"));
  c.mesh("X=2").in("p", "P(X)").run();
  CHECK(c.codes() == "cumulative-dim-sharded");
  CHECK(c.found()[0].path == "eqns/0/params/cond_jaxpr/eqns/0");
}

//===--- cond -------------------------------------------------------------===//

static const char *const Pick = R"({ lambda ; k:i32[] a:f32[8] b:f32[8]. let
    c:f32[8] = cond[
      branches=(
        { lambda ; x:f32[8] y:f32[8]. let z:f32[8] = neg x in (z,) }
        { lambda ; x:f32[8] y:f32[8]. let z:f32[8] = sin y in (z,) }
      )
    ] k a b
  in (c,) })";

TEST_CASE("branches must give the same types") {
  // cond/type.2, .3
  Checked same(Pick);
  same.mesh("X=2").in("a", "P(X)").in("b", "P(X)").run();
  CHECK(same.codes() == "");
  CHECK(same.resultType() == "f32[8@X]");
  Checked c(Pick);
  c.mesh("X=2").in("a", "P(X)").run();
  CHECK(c.codes() == "branch-mismatch");
  const Diagnostic &d = c.found()[0];
  CHECK(d.message == "result 0 is f32[8@X] in branch 0 and f32[8] in branch 1");
  CHECK(c.hasNote(d, "'X' comes from the argument a of branch 0"));
  // To the sharded type slices only; to the whole one gathers 8 floats.
  CHECK(c.fixes(d) == std::vector<std::string>{"f32[8@X]: (assumed)",
                                               "f32[8]: all-gather X 32/16"});
  CHECK(c.resultType() == "f32[8@X]");
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("an error inside a branch silences the comparison") {
  Checked c(R"({ lambda ; k:i32[] a:f32[8] b:f32[8]. let
    c:f32[8] = cond[
      branches=(
        { lambda ; x:f32[8] y:f32[8]. let
            z:f32[8] = cumsum[axis=0 reverse=False] x
          in (z,) }
        { lambda ; x:f32[8] y:f32[8]. let z:f32[8] = sin y in (z,) }
      )
    ] k a b
  in (c,) })");
  c.mesh("X=2").in("a", "P(X)").in("b", "P(X)").run();
  CHECK(c.codes() == "cumulative-dim-sharded result-undecided");
  CHECK(c.found()[0].path == "eqns/0/params/branches/0/eqns/0");
}

TEST_CASE("a branch index is one int32") {
  // cond/type.1
  Checked c(R"({ lambda ; k:bool[] a:f32[8]. let
    c:f32[8] = cond[
      branches=(
        { lambda ; x:f32[8]. let z:f32[8] = neg x in (z,) }
        { lambda ; x:f32[8]. let z:f32[8] = sin x in (z,) }
      )
    ] k a
  in (c,) })");
  c.run();
  CHECK(c.codes() == "cond-index");
}

//===--- Calls ------------------------------------------------------------===//

TEST_CASE("calls have the results of their jaxpr") {
  // call/type.1
  for (StringRef call :
       {"jit[name=f jaxpr=BODY]", "pjit[name=f jaxpr=BODY]",
        "remat2[differentiated=False jaxpr=BODY policy=None prevent_cse=True]",
        "checkpoint[jaxpr=BODY]", "eval_jaxpr[call_jaxpr=BODY]",
        "closed_call[call_jaxpr=BODY]", "core_call[call_jaxpr=BODY]",
        "custom_jvp_call[name=f call_jaxpr=BODY jvp=g symbolic_zeros=False]",
        "custom_vjp_call[name=f bwd=g call_jaxpr=BODY fwd=h "
        "symbolic_zeros=False]"}) {
    INFO(call.str());
    auto [before, after] = call.split("BODY");
    std::string body =
        "{ lambda ; x:f32[8,4]. let y:f32[8,4] = sin x in (y,) }";
    Checked c("{ lambda ; a:f32[8,4]. let\n    b:f32[8,4] = " + before.str() +
              body + after.str() + " a\n  in (b,) }");
    c.mesh("X=2").in("P(X)").run();
    CHECK(c.codes() == "");
    CHECK(c.resultType() == "f32[8@X,4]");
  }
}

TEST_CASE("operands of a call must match its binders") {
  // call/operand.1
  // Typed as recorded: the jaxpr was traced for another type.
  Checked c(R"(#! mesh X=2
{ lambda ; a:f32[8@X,4]. let
    b:f32[8,4] = jit[
      name=f
      jaxpr={ lambda ; x:f32[8,4]. let y:f32[8,4] = sin x in (y,) }
    ] a
  in (b,) })");
  c.run();
  CHECK(c.codes() == "call-operand");
  CHECK(c.found()[0].message ==
        "operand 0 has type f32[8@X,4], but the called jaxpr takes f32[8,4]");
  CHECK(c.hasNote(c.found()[0], "a is the argument a, P('X', None)"));
}

TEST_CASE("calls with the wrong numbers are errors") {
  Checked operands(R"({ lambda ; a:f32[8]. let
    b:f32[8] = jit[
      name=f
      jaxpr={ lambda ; x:f32[8] y:f32[8]. let z:f32[8] = add x y in (z,) }
    ] a
  in (b,) })");
  operands.run();
  CHECK(operands.codes() == "call-arity");
  Checked results(R"({ lambda ; a:f32[8]. let
    b:f32[8] c:f32[8] = jit[
      name=f
      jaxpr={ lambda ; x:f32[8]. let z:f32[8] = sin x in (z,) }
    ] a
  in (b, c) })");
  results.run();
  CHECK(results.codes() == "result-count");
}

TEST_CASE("shardings of a jit must fit, and change no type") {
  // jit/sharding.1
  const char *text = R"(#! mesh X=2
{ lambda ; a:f32[9]. let
    b:f32[9] = jit[
      name=f
      in_shardings=(NamedSharding(mesh=AbstractMesh('X': 2, axis_types=(Explicit,)), spec=P('X',)),)
      jaxpr={ lambda ; x:f32[9]. let y:f32[9] = sin x in (y,) }
      out_shardings=(NamedSharding(mesh=AbstractMesh('X': 2, axis_types=(Explicit,)), spec=P(None, None)),)
    ] a
  in (b,) })";
  Checked c(text);
  c.run();
  CHECK(c.codes() == "jit-sharding jit-sharding");
  CHECK(c.found()[0].message ==
        "in_shardings[0] of 'jit': dim 0 of size 9 does not divide over 'X' of "
        "size 2; 8 or 10 would");
  CHECK(StringRef(c.found()[1].message).starts_with("out_shardings[0]"));
  CHECK(c.resultType() == "f32[9]");
}

TEST_CASE("high-level primitives are typed by their class") {
  // hi_call/type.1, nonzero/type.1
  const char *text = R"({ lambda ; a:f32[8,4]. let
    b:i32[8,3] = Nonzero[size=3 axes=(1,) out_dtype=int32] a
    c:i32[8,3] = Mystery[size=3] b
  in (c,) })";
  Checked recorded(text);
  recorded.run();
  CHECK(recorded.codes() == "assumed-as-recorded");
  Checked c(text);
  c.mesh("X=2").in("P(X)").run();
  CHECK(c.codes() == "no-rule");
  CHECK(c.found()[0].message == "no rule for primitive 'Mystery' (1 use)");
  CHECK(c.type(0) == "i32[8@X,3]");
  Checked searched(text);
  searched.mesh("X=2").in("P(None,X)").run();
  CHECK(searched.codes() == "rule-missing-case no-rule");
  CHECK(
      searched.fixes(searched.found()[0]) ==
      std::vector<std::string>{"in0 f32[8,4]: all-gather X 128/64 (assumed)"});
}

TEST_CASE("partial sums are not searched") {
  // nonzero/reduction.1
  Checked c(R"({ lambda ; a:f32[8,4]. let
    b:i32[8,3] = Nonzero[size=3 axes=(1,) out_dtype=int32] a
  in (b,) })");
  c.mesh("X=2").in("P(unreduced={X})").run();
  REQUIRE(c.found().size() == 1);
  CHECK(c.found()[0].code == diag::SpecIteration);
  CHECK(c.resultType() == "i32[8,3]");
}

TEST_CASE("a search takes whole arrays, or sharded queries by comparing all") {
  auto text = [](const std::string &method) {
    return "{ lambda ; a:f32[8] b:f32[4]. let\n    c:i32[4] = "
           "SearchSorted[side=left dimension=0 batch_dims=0 method=" +
           method + "] a b\n  in (c,) }";
  };
  // search_sorted/type.1. Seen on JAX 0.12.0.1 for each pair of specs.
  struct Case {
    const char *method, *sorted, *query, *code, *type;
  } cases[] = {{"scan", "P()", "P()", "", "i32[4]"},
               {"scan", "P(X)", "P()", "rule-missing-case", "i32[4]"},
               {"scan", "P()", "P(X)", "rule-missing-case", "i32[4]"},
               {"sort", "P(X)", "P(X)", "rule-missing-case", "i32[4]"},
               {"compare_all", "P()", "P(X)", "", "i32[4@X]"},
               {"compare_all", "P(X)", "P()", "", "i32[4]"},
               {"compare_all", "P(X)", "P(X)", "rule-missing-case", ""}};
  for (const Case &one : cases) {
    INFO(one.method << " " << one.sorted << " " << one.query);
    Checked c(text(one.method));
    c.mesh("X=2").in(one.sorted).in(one.query).run();
    CHECK(c.codes() == one.code);
    if (*one.type)
      CHECK(c.resultType() == one.type);
  }
}
