// CheckNumpyTest.cpp - what Python writes for the types it sees, done again.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and refusals are JAX 0.12.0.1's, of a native trace of the same Python;
// test/oracle/zoo has these functions as whole programs.
#include "CheckFixture.h"

using namespace shardtype;

//===--- jnp.where --------------------------------------------------------===//

/// `jnp.where(c, x, y)` in an unsharded trace, for the types given; all become
/// f32[8,4]. Dims are aligned at the right.
static std::string where(const std::string &c, const std::string &x,
                         const std::string &y) {
  std::string body, names[3] = {"c", "x", "y"};
  const std::string types[3] = {c, x, y};
  for (unsigned i = 0; i < 3; ++i) {
    StringRef type = types[i];
    if (type.ends_with("[8,4]") || type == "bool[]")
      continue;
    std::string dims = type.contains(",")      ? "(0, 1)"
                       : type.ends_with("[4]") ? "(1,)"
                                               : "()";
    body += "          w" + names[i] + ":" + type.split('[').first.str() +
            "[8,4] = broadcast_in_dim[broadcast_dimensions=" + dims + "] " +
            names[i] + "\n";
    names[i] = "w" + names[i];
  }
  std::string binders = "c:" + c + " x:" + x + " y:" + y + ". let\n";
  return "{ lambda ; " + binders +
         "    z:f32[8,4] = jit[\n      name=_where\n      jaxpr={ lambda ; " +
         binders + body + "          z:f32[8,4] = select_n " + names[0] + " " +
         names[2] + " " + names[1] +
         "\n        in (z,) }\n    ] c x y\n  in (z,) }";
}

TEST_CASE("where brings arrays of different shapes together") {
  // jit/where.1
  struct Case {
    const char *c, *x, *y, *cSpec, *xSpec, *ySpec, *type;
  } cases[] = {
      {"bool[8,4]", "f32[8,4]", "f32[]", "P()", "P(None,Y)", "P()",
       "f32[8,4@Y]"},
      {"bool[8,4]", "f32[8,4]", "f32[]", "P(X)", "P(None,Y)", "P()",
       "f32[8@X,4@Y]"},
      {"bool[8,4]", "f32[8,4]", "f32[]", "P(X,Y)", "P()", "P()",
       "f32[8@X,4@Y]"},
      {"bool[8,4]", "f32[8,4]", "f32[4]", "P(X)", "P()", "P(Y)",
       "f32[8@X,4@Y]"},
      {"bool[]", "f32[8,4]", "f32[]", "P()", "P(X)", "P()", "f32[8@X,4]"},
      {"bool[8,1]", "f32[8,4]", "f32[8,4]", "P(X)", "P()", "P(None,Y)",
       "f32[8@X,4@Y]"},
      // structure/open.5: no operand has the whole shape.
      {"bool[8,1]", "f32[1,4]", "f32[]", "P(X)", "P()", "P()", "f32[8@X,4]"},
      {"bool[8,1]", "f32[4]", "f32[]", "P(X)", "P(Y)", "P()", "f32[8@X,4@Y]"},
  };
  for (const Case &one : cases) {
    Checked c(where(one.c, one.x, one.y));
    c.mesh("X=2,Y=2").in(one.cSpec).in(one.xSpec).in(one.ySpec).run();
    INFO(one.c << " " << one.x << " " << one.y << " " << one.cSpec << " "
               << one.xSpec << " " << one.ySpec);
    CHECK(c.codes() == "");
    CHECK(c.resultType() == one.type);
    CHECK_FALSE(c.result->openResults[0]);
  }
}

TEST_CASE("a batched where has the dims of its body") {
  // vmap(lambda row, a: jnp.where(row > a, row, a)): `a` is batched on dim 0.
  const char *const text = R"({ lambda ; m:bool[8,4] x:f32[8,4] a:f32[8]. let
    z:f32[8,4] = jit[
      name=_where
      jaxpr={ lambda ; m:bool[8,4] x:f32[8,4] a:f32[8]. let
          b:f32[8,4] = broadcast_in_dim[broadcast_dimensions=(0,)] a
          z:f32[8,4] = select_n m b x
        in (z,) }
    ] m x a
  in (z,) })";
  Checked same(text);
  same.mesh("X=2,Y=2").in("P(X,Y)").in("P(X,Y)").in("P(X)").run();
  CHECK(same.codes() == "");
  CHECK(same.resultType() == "f32[8@X,4@Y]");
  Checked other(text);
  other.mesh("X=2,Y=2").in("P(X)").in("P(X)").in("P(Y)").run();
  CHECK(other.codes() == "nary-conflict");
}

TEST_CASE("a broken body is no where") {
  // A broadcast of dims that are not there, and a mask without a body.
  for (const char *equation :
       {"b:f32[8,4] = broadcast_in_dim[broadcast_dimensions=(7,)] y",
        "b:f32[8,4] = broadcast_in_dim[broadcast_dimensions=(-1,)] y",
        "b:f32[8,4] = broadcast_in_dim[broadcast_dimensions=()] y"}) {
    INFO(equation);
    Checked c(std::string("{ lambda ; m:bool[8,4] x:f32[8,4] y:f32[4]. let\n"
                          "    z:f32[8,4] = jit[\n      name=_where\n"
                          "      jaxpr={ lambda ; m:bool[8,4] x:f32[8,4] "
                          "y:f32[4]. let\n          ") +
              equation +
              "\n          z:f32[8,4] = select_n m b x\n        in (z,) }\n"
              "    ] m x y\n  in (z,) }");
    c.mesh("X=2").in("P()").in("P(X)").run();
    CHECK(c.codes() != "");
  }
}

TEST_CASE("a where that was resharded is a program of its own") {
  Checked c(where("bool[8,4]", "f32[8,4]", "f32[]"));
  c.mesh("X=2,Y=2").in("P(X)").in("P(None,Y)").run();
  CHECK(c.fixedCodes() == "");
}

TEST_CASE("where of entries that cannot be one is refused") {
  Checked conflict(where("bool[8,4]", "f32[8,4]", "f32[]"));
  conflict.mesh("X=2,Y=2").in("P(X)").in("P(Y)").run();
  CHECK(conflict.codes() == "nary-conflict");
  CHECK(conflict.found()[0].message ==
        "operands of 'jnp.where' shard dim 0 over different axes: X and Y");
  Checked twice(where("bool[8,1]", "f32[1,4]", "f32[]"));
  twice.mesh("X=2,Y=2").in("P(X)").in("P(None,X)").run();
  CHECK(twice.codes() == "duplicate-axis-multi");
  // Of one shape they are left alone, and the select is strict.
  Checked strict(where("bool[8,4]", "f32[8,4]", "f32[8,4]"));
  strict.mesh("X=2,Y=2").in("P()").in("P(X)").in("P(X)").run();
  CHECK(strict.codes() == "select-predicate");
}

TEST_CASE(
    "where of different shapes trips over partial sums and reduced axes") {
  // jit/where.2. The first operand of the highest rank has its spec indexed.
  for (const char *sets : {"P(unreduced={X})", "P(reduced={X})"}) {
    INFO(sets);
    Checked padded(where("bool[8,4]", "f32[8,4]", "f32[]"));
    padded.mesh("X=2,Y=2").in("P(Y)").in(sets).run();
    CHECK(padded.codes() == "type-error-by-accident");
    CHECK(padded.found()[0].marks[0].index == 1);
    Checked indexed(where("bool[]", "f32[8,4]", "f32[]"));
    indexed.mesh("X=2,Y=2").in("P()").in(sets).run();
    CHECK(indexed.codes() == "rule-missing-ur-spec");
  }
}

TEST_CASE("where of built values only stays open") {
  Checked c(R"({ lambda ; x:f32[8,4]. let
    i:f32[8,4] = iota[dimension=0 dtype=float32 shape=(8, 4) sharding=None]
    m:bool[8,4] = ge i 3.0:f32[]
    w:f32[8,4] = jit[
      name=_where
      jaxpr={ lambda ; c:bool[8,4] x:f32[] y:f32[]. let
          v:f32[8,4] = broadcast_in_dim x
          w:f32[8,4] = broadcast_in_dim y
          z:f32[8,4] = select_n c w v
        in (z,) }
    ] m 0.0:f32[] -1.0:f32[]
    y:f32[8,4] = add x w
  in (w, y) })");
  c.mesh("X=2").in("P(None,X)").run();
  CHECK(c.codes() == "result-undecided");
  CHECK(c.resultType(0) == "f32[8,4]");
  CHECK(c.result->openResults[0]);
  CHECK(c.resultType(1) == "f32[8,4@X]");
}

TEST_CASE("a function of that name that is no jnp.where is left alone") {
  Checked c(R"({ lambda ; c:bool[8,4] x:f32[8,4] y:f32[]. let
    z:f32[8,4] = jit[
      name=_where
      jaxpr={ lambda ; c:bool[8,4] x:f32[8,4] y:f32[]. let
          b:f32[8,4] = broadcast_in_dim y
          d:f32[8,4] = sin b
          z:f32[8,4] = select_n c d x
        in (z,) }
    ] c x y
  in (z,) })");
  c.mesh("X=2").in("P()").in("P(X)").in("P()").run();
  CHECK(c.codes() == "select-predicate");
}

//===--- jnp.roll ---------------------------------------------------------===//

static const char *const Rolled = R"({ lambda ; x:f32[8,4]. let
    y:f32[8,4] = jit[
      name=_roll_static
      jaxpr={ lambda ; a:f32[8,4]. let
          b:f32[4,4] = slice[limit_indices=(8, 4) start_indices=(4, 0) strides=None] a
          c:f32[4,4] = slice[limit_indices=(4, 4) start_indices=(0, 0) strides=None] a
          d:f32[8,4] = concatenate[dimension=0] b c
        in (d,) }
    ] x
  in (y,) })";

TEST_CASE("a dim that is rolled must be whole") {
  // jit/roll.1: the slices and the concatenation alone are legal.
  Checked c(Rolled);
  c.mesh("X=2,Y=2").in("P(X,Y)").run();
  CHECK(c.codes() == "roll-dim-sharded");
  CHECK(c.found()[0].message == "dim 0 is rolled but sharded over X");
  CHECK(
      c.fixes(c.found()[0]) ==
      std::vector<std::string>{"in0 f32[8,4@Y]: all-gather X 64/32 (assumed)"});
  CHECK(c.resultType() == "f32[8,4@Y]");
  CHECK(c.fixedCodes() == "");
  Checked other(Rolled);
  other.mesh("X=2,Y=2").in("P(None,Y)").run();
  CHECK(other.codes() == "");
  CHECK(other.resultType() == "f32[8,4@Y]");
  Checked sets(Rolled);
  sets.mesh("X=2,Y=2").in("P(reduced={X})").run();
  CHECK(sets.codes() == "rule-missing-ur-spec");
}

//===--- Scalars and built values -----------------------------------------===//

TEST_CASE("updates that are built take the operand's entries") {
  // x.at[0].set(0.): natively the broadcast has them.
  Checked c(R"({ lambda ; x:f32[8,4]. let
    i:i32[1] = broadcast_in_dim[broadcast_dimensions=()] 0:i32[]
    u:f32[4] = broadcast_in_dim 0.0:f32[]
    y:f32[8,4] = scatter[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
      indices_are_sorted=True
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=True
      update_consts=()
      update_jaxpr=None
    ] x i u
  in (y,) })");
  c.mesh("X=2").in("P(None,X)").run();
  CHECK(c.codes() == "");
  CHECK(c.resultType() == "f32[8,4@X]");
}

TEST_CASE("updates that at[].set would reshard are refused, and it is said") {
  // structure/python.1: lax.scatter itself refuses them in JAX too.
  Checked c(R"({ lambda ; x:f32[8,4] u:f32[4]. let
    i:i32[1] = broadcast_in_dim[broadcast_dimensions=()] 0:i32[]
    y:f32[8,4] = scatter[
      dimension_numbers=ScatterDimensionNumbers(update_window_dims=(0,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=())
      indices_are_sorted=True
      mode=GatherScatterMode.FILL_OR_DROP
      unique_indices=True
      update_consts=()
      update_jaxpr=None
    ] x i u
  in (y,) })");
  c.mesh("X=2").in("P(None,X)").in("P()").run();
  CHECK(c.codes() == "scatter-needs-out-sharding");
  CHECK(c.hasNote(c.found()[0], "x.at[...].set reshards such updates itself"));
}

TEST_CASE("scalars become reduced beside reduced operands") {
  // structure/retype.5: `x * 2.0` has a reshard of the scalar natively.
  Checked c(R"({ lambda ; x:f32[8]. let
    y:f32[8] = mul x 2.0:f32[]
    z:f32[8] = clamp 0.0:f32[] y 1.0:f32[]
  in (y, z) })");
  c.mesh("X=2").in("P(reduced={X})").run();
  CHECK(c.codes() == "rule-missing-ur"); // Three operands are not repaired.
  CHECK(c.resultType(0) == "f32[8]{R:X}");
  Checked fixed(R"({ lambda ; x:f32[8]. let
    y:f32[8] = mul x 2.0:f32[]
  in (y,) })");
  fixed.mesh("X=2").in("P(reduced={X})").run();
  CHECK(fixed.fixedCodes() == "");
  // Beside Auto axes JAX does not do it.
  Checked mixed(R"({ lambda ; x:f32[8]. let
    y:f32[8] = mul x 2.0:f32[]
  in (y,) })");
  mixed.mesh("X=2,Y=2:Auto").in("P(reduced={X})").run();
  CHECK(mixed.codes() == "nary-replicated-vs-reduced");
}

TEST_CASE("beside Auto axes built values take no reduced axes") {
  // structure/open.3: jnp.triu of such an array is refused there.
  const char *const text = R"({ lambda ; x:f32[8,4]. let
    i:i32[8,4] = iota[dimension=0 dtype=int32 shape=(8, 4) sharding=None]
    m:bool[8,4] = ge i 2:i32[]
    z:f32[8,4] = broadcast_in_dim 0.0:f32[]
    y:f32[8,4] = select_n m z x
  in (y,) })";
  Checked all(text);
  all.mesh("X=2,Y=2").in("P(reduced={X})").run();
  CHECK(all.codes() == "");
  CHECK(all.resultType() == "f32[8,4]{R:X}");
  Checked mixed(text);
  mixed.mesh("X=2,Y=2:Auto").in("P(reduced={X})").run();
  CHECK(mixed.codes() == "select-cases-differ");
}
