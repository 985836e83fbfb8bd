// InterpRefusalTest.cpp - what cannot be computed is said before anything runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InterpFixture.h"
#include <set>

using namespace shardtype;

TEST_CASE("rows that cannot be evaluated are these, each with its reason") {
  static const std::set<std::string> expected = {
      // A recording's derivatives have types only.
      "ad_jvp", "ad_vjp", "ad_vjp_apply",
      // The program does not hold what they do.
      "buffer_callback", "call_exported", "call_hi_primitive_linearized",
      "custom_lin", "dot_product_attention_bwd",
      "dot_product_attention_bwd_wrapper", "dot_product_attention_fp8_bwd",
      "dot_product_attention_fp8_bwd_wrapper", "dot_product_attention_fp8_fwd",
      "dot_product_attention_fp8_fwd_wrapper", "dot_product_attention_fwd",
      "dot_product_attention_fwd_wrapper", "ffi_call", "io_callback",
      "mosaic_gpu_p", "mpmd_map", "pallas_call", "pure_callback",
      "tpu_custom_call", "unreachable",
      // Kernels of a library for GPUs.
      "scaled_matmul", "scaled_matmul_wrapper",
      // No numbers are defined.
      "check", "create_linear", "dim_as_value", "rng_uniform"};
  std::set<std::string> found;
  PrimitiveSet primitives = allPrimitives();
  for (const Primitive *row : primitives.rows()) {
    if (row->eval)
      continue;
    found.insert(row->info.name.str());
    INFO(row->info.name.str());
    StringRef why = row->eval.none().why;
    CHECK(!why.empty());
    CHECK(!why.contains("yet"));
  }
  CHECK(found == expected);
}

/// What stands against running a program.
static std::vector<RunError> errorsOf(const std::string &text) {
  Running running(text);
  Interpreter interpreter(*running.checked, running.primitives);
  return interpreter.errors();
}

TEST_CASE("a branch that is not taken is refused too, with its place") {
  std::vector<RunError> errors =
      errorsOf("{ lambda ; i:i32[] a:f32[]. let\n"
               "    b:f32[3] = cond[\n"
               "      branches=(\n"
               "        { lambda ; c:f32[]. let\n"
               "            d:f32[3] = rng_uniform[shape=(3,)] c c\n"
               "          in (d,) }\n"
               "        { lambda ; e:f32[]. let\n"
               "            f:f32[3] = broadcast_in_dim[\n"
               "              broadcast_dimensions=()\n"
               "              shape=(3,)\n"
               "              sharding=None\n"
               "            ] e\n"
               "          in (f,) }\n"
               "      )\n"
               "    ] i a\n"
               "  in (b,) }");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message ==
        "'rng_uniform' cannot be evaluated: nothing in the program says which "
        "numbers it draws");
  CHECK(errors[0].path == "eqns/0/params/branches/0/eqns/0");
}

TEST_CASE("types that a kernel does not take are refused before the run") {
  auto gamma = [](StringRef key, StringRef dtype) {
    std::string array = dtype.str() + "[3]";
    return errorsOf("{ lambda ; i:i32[] k:" + key.str() + "[] a:" + array +
                    ". let\n"
                    "    b:" +
                    array +
                    " = cond[\n"
                    "      branches=(\n"
                    "        { lambda ; c:" +
                    key.str() + "[] d:" + array +
                    ". let\n"
                    "            e:" +
                    array +
                    " = random_gamma[log_space=True] c d\n"
                    "          in (e,) }\n"
                    "        { lambda ; f:" +
                    key.str() + "[] g:" + array +
                    ". let  in (g,) }\n"
                    "      )\n"
                    "    ] i k a\n"
                    "  in (b,) }");
  };
  CHECK(gamma("key<fry>", "f32").empty());
  std::vector<RunError> errors = gamma("key<rbg>", "f32");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message == "'random_gamma' cannot be evaluated: it has no "
                             "kernel for key<rbg>");
  CHECK(errors[0].path == "eqns/0/params/branches/0/eqns/0");
  errors = gamma("key<fry>", "bf16");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].message == "'random_gamma' cannot be evaluated: it has no "
                             "kernel for samples of bf16");
}
