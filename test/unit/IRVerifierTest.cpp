// IRVerifierTest.cpp - malformed programs are found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"
#include "shardtype/IR/Builder.h"

using namespace shardtype;

namespace {
/// A program of one jaxpr that a test breaks.
struct Broken {
  Context cx;
  Program program{cx};
  DiagnosticList diags;
  TypeId f32 = cx.array(DType::F32, {4});
  uint16_t sin = *program.primitive("sin", nullptr);
  ParamsId none = program.internParams({});
  EqnInfoId info = program.intern(EqnInfo());

  ParamsId holding(JaxprId body) {
    Value value;
    value.kind = Value::Jaxpr;
    value.integer = body.raw();
    return program.internParams(
        Param{cx.intern("jaxpr"), program.intern(value)});
  }
  /// `{ lambda ; a. let b = sin a in (b,) }`, with these parameters.
  JaxprId simple(ParamsId params, JaxprId reserved = {}) {
    Builder builder(program);
    builder.begin(reserved);
    VarId a = builder.addInput(f32);
    EqnId eqn = builder.addEqn(sin, Atom(a), params, f32, info);
    return builder.finish(Atom(program.eqn(eqn).firstResult));
  }
  std::string check(unsigned maxDepth = 256) {
    diags = DiagnosticList();
    bool failedToVerify = failed(verify(program, diags, maxDepth));
    CHECK(failedToVerify == diags.hasErrors());
    return diags.empty() ? "ok" : info_(diags.all().front());
  }
  static std::string info_(const Diagnostic &d) {
    return (shardtype::info(d.code).code + ": " + d.message).str();
  }
};
} // namespace

TEST_CASE("a well-formed program is found so") {
  Broken b;
  b.program.entry.jaxpr = b.simple(b.holding(b.simple(b.none)));
  CHECK(b.check() == "ok");
}

TEST_CASE("a program needs an entry") {
  Broken b;
  CHECK(b.check() == "json-structure: the program has no entry");
}

TEST_CASE("operands are bound before they are read, in their own jaxpr") {
  Broken b;
  JaxprId inner = b.simple(b.none), outer = b.simple(b.none);
  b.program.entry.jaxpr = outer;
  CHECK(b.check() == "ok");
  const Jaxpr &jaxpr = b.program.jaxpr(outer);
  Atom &operand = b.program.operands[b.program.eqn(jaxpr.eqn(0)).firstOperand];
  operand = b.program.eqn(jaxpr.eqn(0)).firstResult; // Its own result.
  CHECK(b.check() == "jaxpr-scope: variable '#3' is not defined here");
  operand = b.program.jaxpr(inner).var(0); // Of the other jaxpr.
  CHECK(b.check() == "jaxpr-scope: variable '#0' is not defined here");
  CHECK(b.diags.all().front().eqn == jaxpr.eqn(0));
  operand = VarId(1000000);
  CHECK(b.check() == "jaxpr-scope: variable '#1000000' is not defined here");
  operand = Atom();
  CHECK_FALSE(b.check() == "ok");
}

TEST_CASE("results of a jaxpr are bound in it") {
  Broken b;
  b.program.entry.jaxpr = b.simple(b.none);
  b.program.jaxprs[0].outs[0] = VarId(7);
  CHECK(b.check() == "jaxpr-scope: variable '#7' is not defined here");
}

TEST_CASE("ranges stay inside the program") {
  Broken b;
  b.program.entry.jaxpr = b.simple(b.none);
  Jaxpr &jaxpr = b.program.jaxprs[0];
  Jaxpr good = jaxpr;
  jaxpr.numVars = 3;
  CHECK(b.check().starts_with("json-structure"));
  jaxpr = good;
  jaxpr.firstVar = 0xffffffff;
  CHECK(b.check().starts_with("json-structure"));
  jaxpr = good;
  jaxpr.numEqns = 2;
  CHECK(b.check().starts_with("json-structure"));
  jaxpr = good;
  jaxpr.numInputs = 3;
  CHECK(b.check().starts_with("json-structure"));
  jaxpr = good;
  jaxpr.numEqns = 0;
  CHECK(b.check() ==
        "json-structure: a jaxpr has variables that nothing binds");
  jaxpr = good;
  b.program.eqns[0].numOperands = 5;
  CHECK(b.check() == "json-structure: an equation's parts are out of range");
  b.program.eqns[0].numOperands = 1;
  b.program.eqns[0].primitive = 9;
  CHECK(b.check() == "json-structure: an equation's parts are out of range");
  b.program.eqns[0].primitive = 0;
  b.program.eqns[0].firstResult = VarId(0);
  CHECK(b.check() == "json-structure: an equation's results do not follow "
                     "those before it");
  b.program.eqns[0].firstResult = VarId(1);
  b.program.eqns[0].numResults = 2;
  CHECK(b.check() == "json-structure: an equation binds more variables "
                     "than its jaxpr has");
}

TEST_CASE("a body must be there, and may not hold itself") {
  Broken b;
  Builder builder(b.program);
  b.program.entry.jaxpr = b.simple(b.holding(JaxprId(9)));
  CHECK(b.check() == "json-structure: an equation holds a jaxpr that is "
                     "not there");
  Broken c;
  JaxprId id = Builder(c.program).reserve();
  c.simple(c.holding(id), id);
  c.program.entry.jaxpr = id;
  CHECK(c.check() == "jaxpr-cycle: a jaxpr holds itself");
}

TEST_CASE("bodies nest as deep as the limit says") {
  Broken b;
  JaxprId body = b.simple(b.none);
  for (int i = 0; i < 9; ++i)
    body = b.simple(b.holding(body));
  b.program.entry.jaxpr = body;
  CHECK(b.check(10) == "ok");
  CHECK(b.check(9) == "jaxpr-depth: programs nest more than 9 deep");
}
