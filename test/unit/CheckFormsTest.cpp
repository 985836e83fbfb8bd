// CheckFormsTest.cpp - every parameter of a row is checked for its form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"
#include "JsonFixture.h"
#include "llvm/ADT/StringSet.h"

using namespace shardtype;
using namespace jsontest;

/// Whether the equation is refused once its parameter `n` is `value`.
static bool isRefused(const PrimitiveSet &rows, Program &program, uint32_t eqn,
                      unsigned n, const Value &value) {
  ParamsId before = program.eqns[eqn].params;
  SmallVector<Param, 8> params(program.params(before));
  params[n].value = program.intern(value);
  program.eqns[eqn].params = program.internParams(params);
  CheckedProgram checked = check(program, rows);
  program.eqns[eqn].params = before;
  return llvm::any_of(checked.diagnostics.all(), [&](const Diagnostic &d) {
    return d.code == diag::ParamInvalid && d.eqn == EqnId(eqn);
  });
}

/// Whether a Python object that nobody knows may stand there: what such values
/// are is JAX's affair and the user's.
static bool mayBeText(StringRef key) {
  return llvm::is_contained(ArrayRef<StringRef>{"name",
                                                "axes",
                                                "axis_name",
                                                "newly_manual_axes",
                                                "policy",
                                                "jvp_jaxpr_fun",
                                                "fwd_jaxpr_thunk",
                                                "bwd",
                                                "out_trees",
                                                "select_prim",
                                                "accuracy",
                                                "mode",
                                                "rounding_method",
                                                "inline",
                                                "precision",
                                                "layout",
                                                "fill_value",
                                                "update_jaxpr",
                                                "copy_semantics",
                                                "srcs",
                                                "in_layouts",
                                                "out_layouts",
                                                "fmt",
                                                "callback",
                                                "computation",
                                                "target_name",
                                                "kind",
                                                "memory_space",
                                                "implementation",
                                                "algorithm",
                                                "vmap_method",
                                                "effect",
                                                "logging_record",
                                                "legacy_backend_config",
                                                "error_message",
                                                "recall_target",
                                                "use_magma",
                                                "select_callable"},
                            key);
}

namespace {
/// Parameters by `primitive.key`: those met, and those of which at least one
/// equation was refused with each wrong value. (Not all are: what depends on
/// something unknown is not typed.)
struct Tally {
  PrimitiveSet rows = allPrimitives();
  llvm::StringSet<> seen, refused;
  void add(Program &program);
  void add(Program &program, uint32_t eqn, unsigned n, StringRef key);
};
} // namespace

void Tally::add(Program &program, uint32_t eqn, unsigned n, StringRef key) {
  const PrimitiveInfo *row =
      program.primitives[program.eqns[eqn].primitive].info;
  // What a user's own primitive may be is not ours to say.
  if (!row || !row->params.find(key) || key == "_prim")
    return;
  std::string place = (row->name + "." + key).str();
  seen.insert(place);
  if (refused.contains(place))
    return;
  auto refuses = [&](Value::Kind kind, StringRef text) {
    Value wrong;
    wrong.kind = kind;
    if (!text.empty())
      wrong.text = program.context().intern(text);
    return isRefused(rows, program, eqn, n, wrong);
  };
  if (!refuses(Value::Dict, ""))
    return;
  if (mayBeText(key) ||
      (refuses(Value::Str, "wrong") && refuses(Value::Float, "1.5")))
    refused.insert(place);
}

void Tally::add(Program &program) {
  for (uint32_t e = 0; e < program.eqns.size(); ++e) {
    SmallVector<Param, 8> params(program.params(program.eqns[e].params));
    for (unsigned n = 0; n < params.size(); ++n)
      add(program, e, n, program.context().str(params[n].key));
  }
}

TEST_CASE("a value that cannot be is refused for each parameter of each row") {
  Tally tally;
  for (const Sample &sample : samples()) {
    std::string json = slurp(sample.json);
    if (json.size() > 150000)
      continue;
    Context cx;
    std::optional<Program> program = read(cx, json).program;
    REQUIRE(program);
    tally.add(*program);
  }
  // In the samples a sort depends on something that has no row.
  Checked sort("{ lambda ; a:f32[4]. let b:f32[4] = sort[dimension=0 "
               "is_stable=True num_keys=1] a in (b,) }");
  tally.add(*sort.program);
  CHECK(tally.seen.size() > 120);
  for (const auto &place : tally.seen) {
    INFO(place.first().str());
    CHECK(tally.refused.contains(place.first()));
  }
}

TEST_CASE("jit's shardings are lists that fit its values") {
  auto codes = [](StringRef params) {
    Checked c(
        ("#! mesh X=2\n{ lambda ; a:f32[4@X]. let b:f32[4@X] = jit[name=f "
         "jaxpr={ lambda ; c:f32[4@X]. let d:f32[4@X] = neg c in (d,) } " +
         params + "] a in (b,) }")
            .str());
    c.run();
    return c.codes();
  };
  CHECK(codes("") == "");
  CHECK(codes("in_shardings=(UnspecifiedValue,)") == "");
  CHECK(codes("in_shardings=5") == "param-invalid");
  CHECK(codes("in_shardings=(5,)") == "param-invalid");
  CHECK(codes("out_shardings=True") == "param-invalid");
  CHECK(codes("in_shardings=(UnspecifiedValue, UnspecifiedValue)") ==
        "param-invalid");
  CHECK(codes("out_shardings=(None, None)") == "param-invalid");
  CHECK(codes("donated_invars=3.5") == "param-invalid");
  CHECK(codes("keep_unused=(1,)") == "param-invalid");
  CHECK(codes("ctx_mesh=3") == "param-invalid");
}

TEST_CASE("a flag may be an int, as JAX lets it through and prints it") {
  auto codes = [](StringRef stable) {
    Checked c(("{ lambda ; a:f32[4]. let b:f32[4] = sort[dimension=0 "
               "is_stable=" +
               stable + " num_keys=1] a in (b,) }")
                  .str());
    c.run();
    return c.codes();
  };
  CHECK(codes("True") == "");
  CHECK(codes("1") == ""); // jax.lax.sort(x, is_stable=1)
  CHECK(codes("yes") == "param-invalid");
  CHECK(codes("None") == "param-invalid");
  CHECK(codes("1.0") == "param-invalid");
}
