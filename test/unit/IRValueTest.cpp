// IRValueTest.cpp - parameter values from their print and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

namespace {
struct Values {
  Context cx;
  Program program{cx};
  MeshId mesh = *parseMeshText("X=2,Y=4:Auto");

  std::optional<MeshId> parseMeshText(StringRef text);
  std::optional<ValueId> read(StringRef text, MeshId on = {}) {
    std::string error;
    return parseValue(program, text, on, error);
  }
  std::string back(StringRef text) {
    std::optional<ValueId> id = read(text);
    return id ? printValue(program, *id) : "(nothing)";
  }
  Value::Kind kind(StringRef text) {
    std::optional<ValueId> id = read(text);
    REQUIRE(id);
    return program.value(*id).kind;
  }
};
} // namespace

std::optional<MeshId> Values::parseMeshText(StringRef text) {
  return *parseMesh(cx, text);
}

TEST_CASE("values that Python printed print so again") {
  // All printed by Python 3.13 and JAX 0.12.0.1.
  const char *const printed[] = {
      "None",
      "True",
      "-3",
      "170141183460469231731687303715884105727",
      "1e-05",
      "-inf",
      "nan",
      "0.10000000149011612",
      "(1+2j)",
      "(nan-0.5j)",
      "()",
      "(1,)",
      "(1, (2, 3), ((),))",
      "[1, 2]",
      "[]",
      "(([1], [0]), ([], []))",
      "{'a': 1, 'b': (2,)}",
      "{}",
      "frozenset({'i', 'j'})",
      "frozenset({})",
      "frozenset({1, 2, 10})",
      "(frozenset(),)",
      "('i',)",
      "(\"it's\", 'a\"b', 'x\\n\\\\')",
      "float32",
      "bfloat16",
      "key<fry>",
      "(dtype('float32'), dtype(bfloat16), key<fry>)",
      "GatherScatterMode.FILL_OR_DROP",
      "(<GatherScatterMode.CLIP: 1>,)",
      "(Precision.HIGHEST, Precision.DEFAULT)",
      "(ArrayCopySemantics.ALWAYS_COPY,)",
      "HIGHEST",
      "(Explicit, Auto)",
      "GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
      "start_index_map=(0,), operand_batching_dims=(), "
      "start_indices_batching_dims=())",
      "CpuDevice(id=0)",
      "P()",
      "P('X',)",
      "P(('X', 'Y'), None)",
      "P(UNCONSTRAINED, 'Y')",
      "P(None, None, unreduced={'x'}, unreduced_kind=sum)",
      "P(None, reduced={'x'})",
      "(P('X', None), P())",
      "AbstractMesh('X': 2, 'Y': 4, axis_types=(Explicit, Auto))",
      "AbstractMesh('X': 2, axis_types=(Manual,), device_kind=cpu, "
      "num_cores=None, platform=cpu)",
      "AbstractMesh((), axis_types=())",
      "Mesh('X': 2, axis_types=(Explicit,))",
      "Mesh()",
      "(Mesh(axis_sizes=(1,), axis_names=('X',), axis_types=(Explicit,)),)",
      "NamedSharding(mesh=AbstractMesh('X': 2, axis_types=(Explicit,)), "
      "spec=P('X', None))",
      "(NamedSharding(mesh=Mesh('X': 1, axis_types=(Explicit,)), "
      "spec=P('X',), memory_kind=device),)",
      "UnspecifiedValue",
      "(UnspecifiedValue, UnspecifiedValue)",
      "PyTreeDef((*, {'a': [*, None]}))",
      "(np.int64(1), 2, np.float32(1.5), np.True_)",
  };
  Values values;
  for (const char *text : printed) {
    INFO(text);
    CHECK(values.back(text) == text);
  }
}

TEST_CASE("values have the kind that rules look for") {
  Values values;
  CHECK(values.kind("float32") == Value::DType);
  CHECK(values.kind("HIGHEST") == Value::Str);
  CHECK(values.kind("GatherScatterMode.CLIP") == Value::Enum);
  CHECK(values.kind("(1, 2)") == Value::Tuple);
  CHECK(values.kind("P('X')") == Value::Spec);
  CHECK(values.kind("frozenset({'i'})") == Value::Set);
  CHECK(values.kind("9223372036854775807") == Value::Int);
  CHECK(values.kind("9223372036854775808") == Value::BigInt);
  CHECK(values.kind("nan") == Value::Float);
  const Value &sharding =
      values.program.value(*values.read("P('X', None)", values.mesh));
  REQUIRE(sharding.kind == Value::Sharding);
  CHECK(MeshId(static_cast<uint32_t>(sharding.integer)) == values.mesh);
  const Value &number = values.program.value(*values.read("0.5"));
  CHECK(values.cx.str(number.text2) == "3fe0000000000000");
}

TEST_CASE("what a person writes is read like what Python prints") {
  Values values;
  CHECK(values.read("(1,0)") == values.read("(1, 0)"));
  CHECK(values.read("( 1 , 0, )") == values.read("(1, 0)"));
  CHECK(values.read("P(X, None)") == values.read("P('X', None)"));
  CHECK(values.read("frozenset({'j', 'i', 'j'})") ==
        values.read("frozenset({'i', 'j'})"));
}

TEST_CASE("a text that is no value is refused") {
  Values values;
  for (const char *text :
       {"", "(1", "1)", "(1 2)", "(1)", "P('X'", "P('X', 'X'=1)", "Mesh('X')",
        "foo(1)", "{1, 2}", "'open", "(<lambda>,)", "b'x'", "1.2.3", "--1",
        "[1, 2", "(((((", "AbstractMesh('X': 0, axis_types=(Auto,))"}) {
    INFO(text);
    std::string error;
    CHECK_FALSE(parseValue(values.program, text, {}, error));
    CHECK_FALSE(error.empty());
  }
  std::string error;
  std::string deep = std::string(100000, '(');
  CHECK_FALSE(parseValue(values.program, deep, {}, error));
  CHECK(error.find("deep") != std::string::npos);
}

TEST_CASE("a scan's trees are counted by component") {
  auto counts = [](StringRef tree) {
    Read read(("{ lambda ; a:f32[3]. let b:f32[3] = scan[ft_in=" + tree +
               " ft_out=() jaxpr={ lambda ; c:f32[3]. let  in (c,) } length=1 "
               "reverse=False unroll=1] a in (b,) }")
                  .str());
    if (!read)
      return read.error();
    Program &program = read.program();
    const Value &v = program.value(program.param(read.eqn(0).params, "ft_in"));
    CHECK(read.cx.str(v.text) == tree);
    return printValue(program, v.elements[0]);
  };
  // Printed by JAX 0.12.0.1 for the counts that it also gave.
  CHECK(counts("((None, None), (None,), ())") == "(2, 1, 0)");
  CHECK(counts("((), (None,), (None, None))") == "(0, 1, 2)");
  CHECK(
      counts("((None,), (RightsOnly(Right(None)), RightsOnly(Left(None))))") ==
      "(1, 1)");
  CHECK(counts("((None,), ((RightsOnly(Right(None)), "
               "RightsOnly(Left(None))), ()))") == "(1, 1)");
  CHECK(counts("Pytree(vals=[None, None, None, None], tree=PyTreeDef((([], "
               "[]), ([], [*]), ([], [], [*, *, *]))))") == "(0, 1, 3)");
  CHECK(counts("(Pytree(vals=[None], tree=PyTreeDef(([], [*]))), "
               "(Pytree(vals=[None], tree=PyTreeDef([*])), ()))") == "(1, 1)");
  CHECK(counts("(((None,), (None,)), {'k': None}, Static(a(b)))") ==
        "(2, 1, 0)");
  CHECK(counts("Nonsense") == "None");
}

TEST_CASE("literals are rounded to their dtype") {
  auto bits = [](StringRef literal) {
    Read read(("{ lambda ; . let  in (" + literal + ",) }").str());
    if (!read)
      return read.error();
    const Literal &l = read.program().literal(read.entry().outs[0].literal());
    CHECK(read.cx.str(l.repr).str() + ":" + str(read.cx, l.type) == literal);
    return l.bits.valid() ? read.cx.str(l.bits).str() : std::to_string(l.array);
  };
  // Bits by NumPy and ml_dtypes.
  CHECK(bits("2.0:f32[]") == "40000000");
  CHECK(bits("0.1:f32[]") == "3dcccccd");
  CHECK(bits("0.10000000149011612:f32[]") == "3dcccccd");
  CHECK(bits("-1e+30:f32[]") == "f149f2ca");
  CHECK(bits("nan:f32[]") == "7fc00000");
  CHECK(bits("-inf:f64[]") == "fff0000000000000");
  CHECK(bits("0.0999755859375:f16[]") == "2e66");
  CHECK(bits("0.10009765625:bf16[]") == "3dcd");
  CHECK(bits("2.0:f8_e4m3fn[]") == "40");
  CHECK(bits("0.5:f4_e2m1fn[]") == "01");
  CHECK(bits("(1+2j):c64[]") == "400000003f800000");
  CHECK(bits("(nan-1e-05j):c64[]") == "b727c5ac7fc00000");
  CHECK(bits("-5:i32[]") == "-5");
  CHECK(bits("True:bool[]") == "1");
  CHECK(bits("(b'',):float0[]") == "0");
  CHECK(bits("[...]:f32[3]") == "0");
  CHECK(bits("1.5:i32[]") == "1:23: '1.5' is no value of type i32[]");
  CHECK(bits("256:u8[]") == "1:23: '256' is no value of type u8[]");
  CHECK(bits("-129:i8[]") == "1:23: '-129' is no value of type i8[]");
  CHECK(bits("1:bool[]") == "1:23: '1' is no value of type bool[]");
}
