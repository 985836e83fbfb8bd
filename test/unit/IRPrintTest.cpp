// IRPrintTest.cpp - equations for messages, names, typed instances.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

TEST_CASE("an equation prints on one line with the types of its operands") {
  Read read("#! mesh X=2 Y=4\n"
            "{ lambda ; a:f32[8@X,4] b:f32[4,16@(X,Y)] t:Tok. let\n"
            "    c:f32[8@X,16] = dot_general[\n"
            "      dimension_numbers=(([1], [0]), ([], []))\n"
            "      preferred_element_type=float32\n"
            "    ] a b\n"
            "    d:f32[8@X,16] = mul c 2.0:f32[]\n"
            "    e:f32[8@X,16] f:i32[] = cond[branches=( { lambda ; g:f32[]. "
            "let  in (g,) } { lambda ; h:f32[]. let  in (h,) } )] 0:i32[] d\n"
            "    foo t\n"
            "  in (d,) }");
  REQUIRE(read);
  VarNames names(read.program());
  auto print = [&](unsigned i, ArrayRef<TypeId> types = {}) {
    return printEqn(read.program(), names, read.entry().eqn(i), types);
  };
  PrintedEqn dot = print(0);
  CHECK(dot.text == "c = dot_general[dimension_numbers=(([1], [0]), ([], [])) "
                    "preferred_element_type=float32] a:f32[8@X,4] "
                    "b:f32[4,16@(X,Y)]");
  auto cut = [](const PrintedEqn &eqn, PrintedEqn::Span span) {
    return eqn.text.substr(span.begin, span.end - span.begin);
  };
  REQUIRE(dot.operands.size() == 2);
  CHECK(cut(dot, dot.operands[0]) == "f32[8@X,4]");
  CHECK(cut(dot, dot.operands[1]) == "f32[4,16@(X,Y)]");
  REQUIRE(dot.dims.size() == 2);
  REQUIRE(dot.dims[1].size() == 2);
  CHECK(cut(dot, dot.dims[0][0]) == "8@X");
  CHECK(cut(dot, dot.dims[0][1]) == "4");
  CHECK(cut(dot, dot.dims[1][1]) == "16@(X,Y)");
  PrintedEqn mul = print(1);
  CHECK(mul.text == "d = mul c:f32[8@X,16] 2.0:f32[]");
  CHECK(cut(mul, mul.operands[1]) == "f32[]");
  CHECK(mul.dims[1].empty());
  CHECK(print(2).text ==
        "e f = cond[branches=( {...} {...} )] 0:i32[] d:f32[8@X,16]");
  PrintedEqn foo = print(3);
  CHECK(foo.text == "foo t:Tok");
  CHECK(foo.dims[0].empty());
  // Types that were found count more than those recorded.
  TypeId other = read.cx.array(DType::BF16, {2, 3});
  CHECK(print(1, {other, TypeId()}).text == "d = mul c:bf16[2,3] 2.0:f32[]");
}

TEST_CASE("messages call variables as the print does") {
  for (const std::string &path :
       filesIn("spec-examples/golden/jaxpr", ".txt")) {
    std::string text = readFile(path);
    if (text.find('@') != std::string::npos || text.size() > 4000)
      continue; // Without a mesh such types cannot be read.
    INFO(path);
    Read read(text);
    if (!read)
      continue;
    Program bare = read.program().clone();
    for (Var &var : bare.vars)
      var.setName(StringId());
    VarNames given(read.program()), computed(bare);
    for (uint32_t i = 0; i < bare.vars.size(); ++i)
      if (!bare.vars[i].dropped)
        CHECK(given.name(VarId(i)) == computed.name(VarId(i)));
  }
}

namespace {
/// The body of the only program below, typed twice.
struct TwoInstances : TypeView {
  const Program &program;
  TypeId small, large;
  TwoInstances(Read &read)
      : program(read.program()), small(read.cx.array(DType::F32, {1})),
        large(read.cx.array(DType::F32, {2})) {}
  TypeId type(InstanceId instance, VarId) const override {
    return instance.index() == 1 ? small : large;
  }
  InstanceId body(InstanceId, EqnId eqn, JaxprId) const override {
    const Jaxpr &entry = program.jaxpr(program.entry.jaxpr);
    return InstanceId(eqn == entry.eqn(0) ? 1 : 2);
  }
  InstanceId entry() const override { return InstanceId(0); }
};
} // namespace

TEST_CASE("a jaxpr that was typed twice prints as two definitions") {
  std::string body = "let f = { lambda ; c:f32[2]. let\n";
  for (int i = 0; i < 11; ++i)
    body += "    d" + std::to_string(i) + ":f32[2] = sin c\n";
  body += "  in (c,) } in\n";
  Read read(body + "{ lambda ; a:f32[2]. let\n"
                   "    b:f32[2] = jit[name=f jaxpr=f] a\n"
                   "    c:f32[2] = jit[name=f jaxpr=f] b\n"
                   "    d:f32[2] = jit[name=f jaxpr=f] c\n"
                   "  in (d,) }");
  REQUIRE(read);
  TwoInstances view(read);
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(os, read.program(), &view);
  StringRef printed(text);
  CHECK(printed.starts_with("let f = { lambda ; c:f32[1]. let\n"));
  CHECK(printed.contains("let f1 = { lambda ; c:f32[2]. let\n"));
  CHECK(printed.count("jaxpr=f]") == 1);
  CHECK(printed.count("jaxpr=f1]") == 2);
}

TEST_CASE("a jaxpr inside a twice-used one counts twice") {
  // As JAX's walk has it; 40 levels of two uses each would be 2^40 visits.
  std::string text;
  for (int i = 0; i < 40; ++i) {
    std::string next = "f" + std::to_string(i + 1);
    text += "let f" + std::to_string(i) +
            " = { lambda ; a:f32[1]. let\n"
            "    b:f32[1] = jit[name=" +
            next + " jaxpr=" + next +
            "] a\n"
            "    c:f32[1] = jit[name=" +
            next + " jaxpr=" + next + "] b\n  in (c,) } in\n";
  }
  text += "let f40 = { lambda ; a:f32[1]. let b:f32[1] = sin a in (b,) } in\n"
          "{ lambda ; a:f32[1]. let b:f32[1] = jit[name=f0 jaxpr=f0] a in (b,) "
          "}";
  Read read(text);
  REQUIRE(read);
  PrintOptions options;
  options.keepNames = false;
  std::string printed = read.print(options);
  // f0 is used once and small: it prints in place.
  CHECK(StringRef(printed).count("let f") == 40);
  CHECK(StringRef(printed).starts_with("let f1 = {"));
}

TEST_CASE("the parameters of a row stand in order") {
  const PrimitiveSet rows = allPrimitives();
  for (const Primitive *row : rows.rows()) {
    INFO(row->info.name.str());
    CHECK(llvm::is_sorted(row->info.params.fields,
                          [](const ParamField &a, const ParamField &b) {
                            return a.key < b.key;
                          }));
  }
}

TEST_CASE("options leave out types and add name stacks") {
  Read read("{ lambda ; a:f32[1]. let b:f32[1] = sin a in (b,) }");
  REQUIRE(read);
  PrintOptions options;
  options.types = false;
  CHECK(read.print(options) == "{ lambda ; a. let b = sin a in (b,) }");
  options = {};
  options.nameStack = true;
  EqnInfo info = read.program().info(read.eqn(0).info);
  info.nameStack = read.cx.intern("jvp()");
  read.program().eqns[0].info = read.program().intern(info);
  CHECK(read.print(options) ==
        "{ lambda ; a:f32[1]. let b:f32[1] = sin a in (b,) } # [jvp()]");
}

TEST_CASE("effects behind the results are read over") {
  CHECK(Read("{ lambda ; a:f32[1]. let  in (a,) : { Debug, Read<a> } }"));
}
