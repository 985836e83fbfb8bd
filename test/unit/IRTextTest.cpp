// IRTextTest.cpp - what programs written as text mean.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

TEST_CASE("names are scoped by their own jaxpr") {
  Read read("{ lambda ; a:f32[3]. let\n"
            "    b:f32[3] = jit[name=f jaxpr={ lambda ; a:f32[3]. let\n"
            "        b:f32[3] = sin a\n"
            "      in (b,) }] a\n"
            "  in (b,) }");
  REQUIRE(read);
  const Eqn &jit = read.eqn(0);
  const Value &body =
      read.program().value(read.program().param(jit.params, "jaxpr"));
  const Jaxpr &inner =
      read.program().jaxpr(JaxprId(static_cast<uint32_t>(body.integer)));
  VarId outerA = read.program().operandsOf(jit)[0].var();
  VarId innerA = read.program().operandsOf(inner.eqn(0))[0].var();
  CHECK(outerA != innerA);
  CHECK(innerA == inner.input(0));
}

TEST_CASE("parameters that print nothing have the value that prints so") {
  Read read("#! mesh X=2\n"
            "{ lambda ; a:f32[4@X,4]. let\n"
            "    b:f32[4@X,4] = exp a\n"
            "    c:f32[4,4] = reshard b\n"
            "    d:f32[4,4] = dot_general[dimension_numbers=(([1], [0]), "
            "([], []))] a c\n"
            "    e:f32[2,4] = broadcast_in_dim[broadcast_dimensions=(1,)] 0\n"
            "  in (d,) }");
  CHECK(read.error() == "6:62: expected a literal with its type, such as "
                        "2.0:f32[]");
  Read good("#! mesh X=2\n"
            "{ lambda ; a:f32[4@X,4]. let\n"
            "    b:f32[4@X,4] = exp a\n"
            "    c:f32[4,4] = reshard b\n"
            "    d:f32[4,4] = dot_general[dimension_numbers=(([1], [0]), "
            "([], []))] a c\n"
            "    e:f32[4] f:i32[] = jit[name=f jaxpr={ lambda ; x:f32[4,4]. "
            "let  in (1.0:f32[], 2:i32[]) }] d\n"
            "  in (d,) }");
  REQUIRE(good);
  CHECK(good.param(good.eqn(0), "accuracy") == "None");
  CHECK(good.param(good.eqn(1), "dst_sharding") == "<hidden>");
  CHECK(good.param(good.eqn(1), "concrete_mesh") == "None");
  CHECK(good.param(good.eqn(2), "out_sharding") == "<hidden>");
  CHECK(good.param(good.eqn(2), "precision") == "None");
  CHECK(good.param(good.eqn(3), "inline") == "<hidden>");
  CHECK(good.param(good.eqn(3), "in_shardings") == "(UnspecifiedValue,)");
  CHECK(good.param(good.eqn(3), "out_shardings") ==
        "(UnspecifiedValue, UnspecifiedValue)");
  CHECK(good.param(good.eqn(3), "out_layouts") == "(None, None)");
  CHECK(good.param(good.eqn(3), "donated_invars") == "(False,)");
  CHECK(good.param(good.eqn(3), "keep_unused") == "False");
  CHECK(good.param(good.eqn(3), "ctx_mesh") ==
        "AbstractMesh((), axis_types=())");
}

TEST_CASE("types are read on the declared mesh") {
  Read read("# A comment.\n"
            "#! mesh X=2 Y=4:Auto\n"
            "#! expect nothing\n"
            "{ lambda a:f32[3]; b:f32[8@X,4]{R:X} c:f32[8]. let  in (b,) }");
  CHECK(read.error() == "4:35: axis 'X' shards dim 0 and is reduced; it may be "
                        "one of these only");
  Read good("# A comment.\n"
            "#! mesh X=2 Y=4:Auto\n"
            "#! expect nothing\n"
            "{ lambda a:f32[3]; b:f32[8@X,4] c:f32[8]. let  in (b,) }");
  REQUIRE(good);
  CHECK(good.type(good.entry().input(0)) == "f32[8@X,4]");
  CHECK(good.mesh(good.entry().mesh) == "X=2, Y=4:Auto");
  // A captured array has no mesh, an argument has the context's.
  auto mesh = [&](VarId var) {
    return good.mesh(good.cx.type(good.program().var(var).type).sharding.mesh);
  };
  CHECK(mesh(good.entry().constvar(0)) == "");
  CHECK(mesh(good.entry().input(1)) == "X=2, Y=4:Auto");
  REQUIRE(good.parsed->directives.size() == 2);
  CHECK(good.parsed->directives[1].text == "expect nothing");
  CHECK(good.parsed->directives[1].line == 3);
}

TEST_CASE("an axis without a mesh asks for one") {
  Read read("{ lambda ; a:f32[8@X]. let  in (a,) }");
  CHECK(read.error() ==
        "1:20: axis 'X' needs a mesh, and there is none; say which with a line "
        "such as '#! mesh X=4 Y=2' before the program, or with --mesh");
  Read spec("{ lambda ; . let a:f32[8] = iota[dimension=0 dtype=int32 "
            "shape=(8,) sharding=P('X')]  in (a,) }");
  CHECK(spec.error() ==
        "1:78: this spec needs a mesh, and there is none; say which with a "
        "line such as '#! mesh X=4 Y=2' before the program, or with --mesh");
}

TEST_CASE("meshes are gathered from the program") {
  Read read("{ lambda ; a:f32[8@i,4]. let\n"
            "    b:f32[8@i,4] = shard_map[check_vma=True\n"
            "      in_specs=(P('i', None),) jaxpr={ lambda ; c:f32[4,4]{V:i}. "
            "let d:f32[4,4]{V:i} = sin c in (d,) }\n"
            "      mesh=AbstractMesh('i': 2, 'j': 2, axis_types=(Explicit, "
            "Explicit))\n"
            "      newly_manual_axes=frozenset({'i'})\n"
            "      out_specs=(P('i', None),)] a\n"
            "  in (b,) }");
  INFO(read.error());
  REQUIRE(read);
  CHECK(read.mesh(read.entry().mesh) == "i=2, j=2");
  Program &program = read.program();
  const Value &body = program.value(program.param(read.eqn(0).params, "jaxpr"));
  const Jaxpr &inner =
      program.jaxpr(JaxprId(static_cast<uint32_t>(body.integer)));
  CHECK(read.mesh(inner.mesh) == "i=2:Manual, j=2");
  CHECK(read.type(inner.input(0)) == "f32[4,4]{V:i}");
}

TEST_CASE("an explicit region in an Auto mesh is known by its types") {
  Read read("#! mesh X=2:Auto Y=2:Auto\n"
            "{ lambda ; a:f32[4,4]. let\n"
            "    b:f32[4@X,4@Y] = reshard a\n"
            "    c:f32[4@X,4@Y] = sin b\n"
            "    d:f32[] = reduce_sum[axes=(0, 1) out_sharding=None] c\n"
            "    e:f32[] = reshard d\n"
            "    f:f32[] = sin e\n"
            "  in (f,) }");
  REQUIRE(read);
  auto mesh = [&](unsigned i) {
    return read.mesh(read.program().contextMesh(read.entry(), read.eqn(i)));
  };
  CHECK(mesh(0) == "X=2, Y=2");
  CHECK(mesh(1) == "X=2, Y=2");
  CHECK(mesh(2) == "X=2, Y=2");
  CHECK(mesh(3) == "X=2:Auto, Y=2:Auto");
  CHECK(mesh(4) == "X=2:Auto, Y=2:Auto");
}

TEST_CASE("specs in place of shardings are put on the context mesh") {
  Read read("#! mesh X=2 Y=4\n"
            "{ lambda ; a:f32[8,4]. let\n"
            "    b:f32[8@X,4] = reshape[dimensions=None new_sizes=(8, 4) "
            "sharding=P('X', None)] a\n"
            "    c:f32[8] = jit[name=f in_shardings=(P('X'),) jaxpr={ lambda ; "
            "d:f32[8,4]. let  in (1.0:f32[],) }] b\n"
            "  in (b,) }");
  REQUIRE(read);
  CHECK(read.param(read.eqn(0), "sharding") ==
        "NamedSharding(mesh=AbstractMesh('X': 2, 'Y': 4, "
        "axis_types=(Explicit, Explicit)), spec=P('X', None))");
  CHECK(read.param(read.eqn(1), "in_shardings") ==
        "(NamedSharding(mesh=AbstractMesh('X': 2, 'Y': 4, "
        "axis_types=(Explicit, Explicit)), spec=P('X',)),)");
}

TEST_CASE("binders may leave out their types") {
  const char *text = "#! mesh x=2\n"
                     "{ lambda ; a:f32[8@x,4] b:f32[4]. let\n"
                     "    # a comment\n"
                     "    c = mul a a\n"
                     "    d e = foo[n=1] c   # one more\n"
                     "      b\n"
                     "    bar[k=(1, 2)] d\n"
                     "    baz e\n"
                     "    f = sin d\n"
                     "  in (f, e) }";
  Read read(text);
  INFO(read.error());
  REQUIRE(read);
  REQUIRE(read.entry().numEqns == 5);
  CHECK(read.eqn(1).numResults == 2);
  CHECK(read.eqn(1).numOperands == 2);
  CHECK(read.eqn(2).numResults == 0);
  CHECK(read.program().name(read.eqn(3)) == "baz");
  CHECK_FALSE(read.program().var(read.eqn(0).firstResult).type.valid());
  // Such a program prints so that it reads the same.
  Read again("#! mesh x=2\n" + read.print());
  REQUIRE(again);
  CHECK(again.print() == read.print());
}

TEST_CASE("flat programs part equations by semicolons") {
  Read read("{ lambda ; a:f32[1]. let b:f32[1] = sin a; log b; c = cos b; "
            "d:f32[1] = add b c in (d,) }");
  REQUIRE(read);
  REQUIRE(read.entry().numEqns == 4);
  CHECK(read.program().name(read.eqn(1)) == "log");
  CHECK(read.eqn(3).numOperands == 2);
}

TEST_CASE("in, let, nan and inf are names of variables too") {
  Read read("{ lambda ; in:f32[] let:f32[]. let\n"
            "    nan:f32[] = sin in\n"
            "    inf:f32[] = add let in\n"
            "    a:f32[] = max inf nan:f32[]\n"
            "    b:f32[] = max a -inf:f32[]\n"
            "    c:c64[] = mul in (1+2j):c64[]\n"
            "    d:f32[] = sin in\n"
            "  in (in, (1+2j):c64[], nan) }");
  INFO(read.error());
  REQUIRE(read);
  REQUIRE(read.entry().numEqns == 6);
  CHECK(read.program().operandsOf(read.eqn(2))[1].isLiteral());
  CHECK_FALSE(read.program().operandsOf(read.eqn(2))[0].isLiteral());
  CHECK(read.program().operandsOf(read.eqn(4))[1].isLiteral());
  REQUIRE(read.entry().outs.size() == 3);
  CHECK_FALSE(read.entry().outs[2].isLiteral());
  Read flat("{ lambda ; in:f32[]. let a:f32[] = sin in in (a,) }");
  REQUIRE(flat);
  CHECK(flat.eqn(0).numOperands == 1);
}

TEST_CASE("operands may go on over lines") {
  Read read("{ lambda ; a:f32[1] b:f32[1]. let\n"
            "    c:f32[3] = concatenate[dimension=0] a b\n"
            "      a 1.0:f32[]\n"
            "      nan:f32[] b\n"
            "    d:f32[3] = sin c\n"
            "  in (d,) }");
  REQUIRE(read);
  CHECK(read.eqn(0).numOperands == 6);
  CHECK(read.entry().numEqns == 2);
}

TEST_CASE("definitions may refer to later ones") {
  Read read("let f = { lambda ; a:f32[1]. let\n"
            "    b:f32[1] = jit[name=g jaxpr=g x] a\n"
            "    c:f32[1] = jit[name=g jaxpr=g x] b\n"
            "  in (c,) } in\n"
            "let g x = { lambda ; d:f32[1]. let e:f32[1] = sin d in (e,) } in\n"
            "{ lambda ; h:i32[] i:f32[1]. let\n"
            "    j:f32[1] = cond[branches=( f g x )] h i\n"
            "    k:f32[1] = cond[branches=(\n"
            "        g x\n"
            "        { lambda ; l:f32[1]. let  in (l,) }\n"
            "        f\n"
            "      )] h j\n"
            "  in (k,) }");
  INFO(read.error());
  REQUIRE(read);
  auto branches = [&](unsigned i) {
    return read.program()
        .value(read.program().param(read.eqn(i).params, "branches"))
        .elements;
  };
  REQUIRE(branches(0).size() == 2);
  REQUIRE(branches(1).size() == 3);
  CHECK(branches(0)[0] == branches(1)[2]);
  CHECK(branches(0)[1] == branches(1)[0]);
}

TEST_CASE("a definition runs on the mesh of the call that holds it") {
  Read read("let body = { lambda ; c:f32[4]{V:X}. let\n"
            "    d:f32[4]{V:X} = sin c\n"
            "  in (d,) } in\n"
            "{ lambda ; a:f32[8@X]. let\n"
            "    b:f32[8@X] = shard_map[check_vma=True in_specs=(P('X'),) "
            "jaxpr=body mesh=AbstractMesh('X': 2, axis_types=(Explicit,)) "
            "newly_manual_axes=frozenset({'X'}) out_specs=(P('X'),)] a\n"
            "  in (b,) }");
  INFO(read.error());
  CHECK(read);
}

TEST_CASE("strings are delimited by the keys that follow") {
  Read read("{ lambda ; a:f32[4]. let\n"
            "    debug_print[fmt=x = {} and [ {y} # k=3 has_placeholders=True "
            "in_tree=PyTreeDef(((*,), {'y': *})) logging_record=None "
            "np_printoptions=(('a', 3),) ordered=False partitioned=False "
            "static_args=()] a a\n"
            "    b:f32[4] = name[name=my name] a\n"
            "    c:f32[4] = unknown[b=<function f.<locals>.<lambda> at 0xXX> "
            "c=some words (x=1) here d=1] b\n"
            "  in (c,) }");
  INFO(read.error());
  REQUIRE(read);
  CHECK(read.param(read.eqn(0), "fmt") == "x = {} and [ {y} # k=3");
  CHECK(read.param(read.eqn(1), "name") == "my name");
  CHECK(read.param(read.eqn(2), "b") ==
        "<function f.<locals>.<lambda> at 0xXX>");
  CHECK(read.param(read.eqn(2), "c") == "some words (x=1) here");
  CHECK(read.param(read.eqn(2), "d") == "1");
}

TEST_CASE("reads and writes of Refs say how they index") {
  Read read("{ lambda ; r:Ref{f32[4,6]} i:i32[]. let\n"
            "    a:f32[] <- r[i,1]\n"
            "    b:f32[2,6] <- r[i:i+2,:]\n"
            "    c:f32[], r[0,0] <- r[0,0], a\n"
            "    r[...] <- 1.0:f32[4,6]\n"
            "    r[i,2:4] += b\n"
            "  in (a,) }");
  INFO(read.error());
  REQUIRE(read);
  auto derived = [&](unsigned i) {
    return read.cx.str(read.program().info(read.eqn(i).info).derived).str();
  };
  CHECK(read.program().name(read.eqn(0)) == "get");
  CHECK(read.eqn(0).numOperands == 2);
  CHECK(derived(0) == "{\"transforms\":[{\"index\":[{\"operand\":0},1],"
                      "\"shape\":[4,6]}]}");
  CHECK(derived(1) == "{\"transforms\":[{\"index\":[{\"slice\":[{\"operand\":"
                      "0},2,1]},{\"slice\":[0,6,1]}],\"shape\":[4,6]}]}");
  CHECK(read.program().name(read.eqn(2)) == "swap");
  CHECK(read.eqn(2).numOperands == 2);
  CHECK(derived(3) == "{\"transforms\":[]}");
  CHECK(read.eqn(3).numResults == 1);
  CHECK(read.program().name(read.eqn(4)) == "addupdate");
  CHECK(read.eqn(4).numOperands == 3);
}

TEST_CASE("high-level primitives carry their class and types") {
  Read read("{ lambda ; a:f32[4]. let b:i32[4] = SearchSorted[side=left "
            "dimension=0] a a in (b,) }");
  REQUIRE(read);
  CHECK(read.program().name(read.eqn(0)) == "call_hi_primitive");
  const Value &prim =
      read.program().value(read.program().param(read.eqn(0).params, "_prim"));
  REQUIRE(prim.kind == Value::HiPrim);
  CHECK(read.cx.str(prim.text) == "SearchSorted");
  REQUIRE(prim.names.size() == 4);
  CHECK(read.cx.str(prim.names[2]) == "$in");
  CHECK(read.program().value(prim.elements[2]).elements.size() == 2);
  CHECK(read.cx.str(prim.names[3]) == "$out");
}

TEST_CASE("sources are those of the text or of its comments") {
  Read read("{ lambda ; a:f32[4]. let\n"
            "    b:f32[4] = sin a    # train.py:12:4 (step)\n"
            "    c:f32[4] = cos b\n"
            "    d:f32[4] = tan c    # lib.py:7 (f.<locals>.g)\n"
            "  in (d,) }");
  REQUIRE(read);
  auto frame = [&](unsigned i) {
    Program &program = read.program();
    ArrayRef<FrameId> stack =
        program.stack(program.info(read.eqn(i).info).stack);
    REQUIRE(stack.size() == 1);
    const Frame &f = program.frames[stack[0].index()];
    return read.cx.str(f.file).str() + ":" + std::to_string(f.line) + ":" +
           std::to_string(f.column) + " " + read.cx.str(f.function).str();
  };
  CHECK(frame(0) == "train.py:12:4 step");
  CHECK(frame(1) == "test.jaxpr:3:4 ");
  CHECK(frame(2) == "lib.py:7:0 f.<locals>.g");
}

TEST_CASE("inputs are weakly typed if a directive says so") {
  Read read("#! weak b\n"
            "{ lambda ; a:f32[] b:f32[]. let  in (a,) }");
  REQUIRE(read);
  auto weak = [&](unsigned i) {
    return read.cx.type(read.program().var(read.entry().input(i)).type).weak;
  };
  CHECK_FALSE(weak(0));
  CHECK(weak(1));
  CHECK(Read("#! weak z\n{ lambda ; a:f32[]. let  in (a,) }").error() ==
        "1:1: no input with a type is called 'z'");
}

TEST_CASE("line ends and byte order marks of other systems do not matter") {
  CHECK(Read("\xef\xbb\xbf#! mesh X=2\r\n{ lambda ; a:f32[4@X]. let\r\n"
             "    b:f32[4@X] = sin a\r\n  in (b,) }\r\n")
            .print() ==
        "{ lambda ; a:f32[4@X]. let b:f32[4@X] = sin a in (b,) }");
}

TEST_CASE("names of a person's text are kept, new ones do not collide") {
  Read read("{ lambda ; x:f32[1] a:f32[1]. let\n"
            "    y:f32[1] = sin x\n"
            "    dead:f32[1] = cos y\n"
            "  in (y,) }");
  REQUIRE(read);
  CHECK(read.print() == "{ lambda ; x:f32[1] a:f32[1]. let\n"
                        "    y:f32[1] = sin x\n"
                        "    dead:f32[1] = cos y\n"
                        "  in (y,) }");
  PrintOptions renamed;
  renamed.keepNames = false;
  CHECK(read.print(renamed) ==
        "{ lambda ; a:f32[1] b:f32[1]. let c:f32[1] = sin a; _:f32[1] = cos c "
        "in (c,) }");
  read.program().vars[0] =
      Var{read.program().vars[0].type}; // x loses its name.
  CHECK(read.print().find("{ lambda ; b:f32[1] a:f32[1]. let") == 0);
}
