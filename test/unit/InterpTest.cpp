// InterpTest.cpp - control flow, Refs and memory of a program that runs whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InterpFixture.h"
#include "shardtype/Rules/Params.h"

using namespace shardtype;

static ArrayRef<float> floats(const Tensor &t) { return t.as<float>(); }

TEST_CASE("scan: carries go round, ys are stacked, backwards too") {
  auto text = [](const char *reverse) {
    return std::string(R"({ lambda ; a:f32[] b:f32[4]. let
    d:f32[] e:f32[4] = scan[
      ft_in=((), (None,), (None,))
      ft_out=((None,), (RightsOnly(Right(None)),))
      jaxpr={ lambda ; f:f32[] g:f32[]. let
          h:f32[] = add f g
          i:f32[] = mul h 2.0:f32[]
        in (h, i) }
      length=4
      reverse=)") +
           reverse + R"(
      unroll=1
    ] a b
  in (d, e) })";
  };
  std::vector<Tensor> arguments = {counting(DType::F32, {}, 10),
                                   counting(DType::F32, {4}, 1)};
  auto forwards = Running(text("False")).values(arguments);
  CHECK(floats(forwards[0]) == ArrayRef<float>({20}));
  CHECK(floats(forwards[1]) == ArrayRef<float>({22, 26, 32, 40}));
  auto backwards = Running(text("True")).values(arguments);
  CHECK(floats(backwards[0]) == ArrayRef<float>({20}));
  CHECK(floats(backwards[1]) == ArrayRef<float>({40, 38, 34, 28}));
}

TEST_CASE("scan of length 0: the carry as it was, ys without entries") {
  auto values = Running(R"({ lambda ; a:f32[] b:f32[0,2]. let
    d:f32[] e:f32[0,2] = scan[
      ft_in=((), (None,), (None,))
      ft_out=((None,), (RightsOnly(Right(None)),))
      jaxpr={ lambda ; f:f32[] g:f32[2]. let in (f, g) }
      length=0
      reverse=False
      unroll=1
    ] a b
  in (d, e) })")
                    .values({counting(DType::F32, {}, 7),
                             Tensor::zeros(DType::F32, {0, 2})});
  CHECK(floats(values[0]) == ArrayRef<float>({7}));
  CHECK(values[1].shape() == ArrayRef<int64_t>({0, 2}));
}

TEST_CASE("while: the predicate comes before every trip") {
  const char *text = R"({ lambda ; a:i32[]. let
    b:i32[] c:i32[] = while[
      body_jaxpr={ lambda ; x:i32[] n:i32[]. let
          y:i32[] = mul x 2:i32[]
          m:i32[] = add n 1:i32[]
        in (y, m) }
      body_nconsts=0
      cond_jaxpr={ lambda ; x:i32[] n:i32[]. let
          p:bool[] = lt x 100:i32[]
        in (p,) }
      cond_nconsts=0
    ] a 0:i32[]
  in (b, c) })";
  Running program(text);
  auto some = program.values({Tensor::scalar<int32_t>(DType::I32, 3)});
  CHECK(some[0].item<int32_t>() == 192);
  CHECK(some[1].item<int32_t>() == 6);
  auto none = program.values({Tensor::scalar<int32_t>(DType::I32, 100)});
  CHECK(none[0].item<int32_t>() == 100);
  CHECK(none[1].item<int32_t>() == 0);
}

TEST_CASE("while of several loops: each stops by itself") {
  auto values =
      Running(R"({ lambda ; a:f32[3,2]. let
    b:f32[3,2] = while[
      body_jaxpr={ lambda ; c:f32[3,2]. let d:f32[3,2] = add c 1.0:f32[] in (d,) }
      body_nconsts=0
      cond_jaxpr={ lambda ; e:f32[3,2]. let
          f:f32[3] = reduce_sum[axes=(1,) out_sharding=None] e
          g:bool[3] = lt f 10.0:f32[]
        in (g,) }
      cond_nconsts=0
    ] a
  in (b,) })")
          .values({Tensor::of<float>(DType::F32, {3, 2}, {0, 0, 3, 4, 8, 9})});
  CHECK(floats(values[0]) == ArrayRef<float>({5, 5, 5, 6, 8, 9}));
}

TEST_CASE("cond: an index out of range takes the last branch") {
  Running program(R"({ lambda ; a:i32[] b:f32[]. let
    c:f32[] = cond[
      branches=(
        { lambda ; f:f32[]. let h:f32[] = add f 1.0:f32[] in (h,) }
        { lambda ; f:f32[]. let h:f32[] = add f 2.0:f32[] in (h,) }
        { lambda ; f:f32[]. let h:f32[] = add f 3.0:f32[] in (h,) }
      )
    ] a b
  in (c,) })");
  for (auto [index, result] :
       {std::pair(0, 1.f), std::pair(1, 2.f), std::pair(2, 3.f),
        std::pair(3, 3.f), std::pair(-1, 3.f)})
    CHECK(program
              .values({Tensor::scalar<int32_t>(DType::I32, index),
                       counting(DType::F32, {}, 0)})[0]
              .item<float>() == result);
}

TEST_CASE("a Ref is read and written in order") {
  auto values = Running(R"({ lambda ; a:f32[3]. let
    r:Ref{f32[3]} = new_ref a
    b:f32[3] <- r[...]
    c:f32[3] = add b b
    r[...] <- c
    d:f32[3] <- r[...]
    r[...] += a
    e:f32[3] = freeze r
  in (b, d, e) })")
                    .values({counting(DType::F32, {3}, 1)});
  CHECK(floats(values[0]) == ArrayRef<float>({1, 2, 3}));
  CHECK(floats(values[1]) == ArrayRef<float>({2, 4, 6}));
  CHECK(floats(values[2]) == ArrayRef<float>({3, 6, 9}));
}

//===--- Rows of tests ----------------------------------------------------===//

static LogicalResult sameType(TypingContext &cx) {
  cx.setResult(0, cx.operandId(0));
  return success();
}
static std::vector<bool> uniques;
static LogicalResult takeEval(EvalContext &cx) {
  Tensor value = cx.take(0);
  uniques.push_back(value.unique());
  value.makeUnique();
  cx.setResult(0, std::move(value));
  return success();
}
static const Primitive TestRows[] = {{.info = {"take_it", schemaOf<NoParams>},
                                      .decode = decodeParams<NoParams>,
                                      .dims = NoRule{NoRule::NotApplicable, ""},
                                      .linearity = {},
                                      .open = OpenRule::Opaque,
                                      .type = Custom{sameType},
                                      .eval = takeEval},
                                     {.info = {"no_kernel", schemaOf<NoParams>},
                                      .decode = decodeParams<NoParams>,
                                      .dims = NoRule{NoRule::NotApplicable, ""},
                                      .linearity = {},
                                      .open = OpenRule::Opaque,
                                      .type = Custom{sameType}}};

TEST_CASE("the last use of a value may have its memory") {
  uniques.clear();
  Running program(R"({ lambda ; a:f32[4]. let
    b:f32[4] = take_it a
    c:f32[4] = take_it b
    d:f32[4] = take_it b
    e:f32[4] = jit[name=f jaxpr={ lambda ; x:f32[4]. let
        y:f32[4] = take_it x
      in (y,) }] c
    f:f32[4] = take_it 
      e
  in (d, e, f) })",
                  TestRows);
  std::vector<Tensor> arguments;
  arguments.push_back(counting(DType::F32, {4}));
  program.values(std::move(arguments));
  // a is the run's own; b is used twice, then no more; c goes into the call;
  // e is a result.
  CHECK(uniques == std::vector<bool>({true, false, true, true, false}));
}

TEST_CASE("a product that is only transposed is the transpose of it") {
  auto text = [](const std::string &outs) {
    return R"({ lambda ; a:f32[4,8] b:f32[4,9] c:f32[2,3,5] d:f32[2,5,4]. let
    e:f32[8,9] = dot_general[
      dimension_numbers=(([0], [0]), ([], []))
      preferred_element_type=float32
    ] a b
    f:f32[9,8] = transpose[permutation=(1, 0)] e
    g:f32[2,3,4] = dot_general[
      dimension_numbers=(([2], [1]), ([0], [0]))
      preferred_element_type=float32
    ] c d
    h:f32[2,4,3] = transpose[permutation=(0, 2, 1)] g
    i:f32[2,3,4] = dot_general[
      dimension_numbers=(([2], [1]), ([0], [0]))
      preferred_element_type=float32
    ] c d
    j:f32[3,4,2] = transpose[permutation=(1, 2, 0)] i
    k:f32[3,4,2] = add j j
  in (f, h, k)" +
           outs + ") }";
  };
  std::vector<Tensor> arguments = {
      counting(DType::F32, {4, 8}, 1), counting(DType::F32, {4, 9}, 3),
      counting(DType::F32, {2, 3, 5}, 2), counting(DType::F32, {2, 5, 4}, 1)};
  for (Tensor &argument : arguments)
    for (float &value : argument.fill<float>())
      value = 1 / value; // So that the order of sums shows.
  Running together(text("")), apart(text(", e, g, i"));
  std::vector<Tensor> one = together.values(arguments),
                      all = apart.values(arguments);
  for (size_t i = 0; i < one.size(); ++i)
    CHECK(floats(one[i]) == floats(all[i]));
  for (int64_t row = 0; row < 8; ++row)
    for (int64_t column = 0; column < 9; ++column)
      CHECK(floats(one[0])[column * 8 + row] ==
            floats(all[3])[row * 9 + column]);
}

TEST_CASE("what has no kernel is named before anything runs") {
  Running program(R"({ lambda ; a:f32[4]. let
    b:f32[4] = take_it a
    c:f32[4] = no_kernel b
    d:f32[4] = no_kernel c
  in (d,) })",
                  TestRows);
  Interpreter interpreter(*program.checked, program.primitives);
  REQUIRE(interpreter.errors().size() == 1);
  CHECK(interpreter.errors()[0].message ==
        "'no_kernel' cannot be evaluated: it has no kernel yet");
  CHECK(interpreter.errors()[0].path == "eqns/1");
}

TEST_CASE("memory is predicted from types, and not exceeded") {
  Running program(R"({ lambda ; a:f32[1024]. let
    b:f32[1024] = neg a
    c:f32[1024] = neg b
    d:f32[1024] = add b c
  in (d,) })");
  Interpreter interpreter(*program.checked, program.primitives);
  // a, b, c and d: a is dead behind b, but belongs to the caller.
  CHECK(interpreter.predictedBytes() == 4 * 4096);
  RunResult result = interpreter.run({counting(DType::F32, {1024})});
  CHECK(result.statistics.peakBytes <= 4 * 4096);
  CHECK(result.statistics.peakBytes >= 3 * 4096);
}

TEST_CASE("windows that JAX types but that nothing can compute end the run") {
  for (const char *padding : {"((0, 0),)", "((0,),)", "((0, 0), (0, 0))"}) {
    Running program(std::string(R"({ lambda ; a:f32[3] b:f32[4]. let
    c:f32[4] = select_and_scatter_add[
      padding=)") + padding +
                    R"(
      select_prim=ge
      window_dimensions=(2,)
      window_strides=(2,)
    ] a b
  in (c,) })");
    RunResult result =
        program.run({counting(DType::F32, {3}), counting(DType::F32, {4})});
    REQUIRE(result.error);
    CHECK(StringRef(result.error->message)
              .contains("its windows do not fit its operands"));
  }
}

TEST_CASE("arguments of another count, dtype or shape are an error") {
  Running program("{ lambda ; a:f32[2]. let b:f32[2] = sin a in (b,) }");
  auto refusal = [&](std::vector<Tensor> arguments) {
    RunResult result = program.run(std::move(arguments));
    REQUIRE(result.error);
    CHECK(result.results.empty());
    return result.error->message;
  };
  CHECK(refusal({}) == "the program takes 1 arguments, not 0");
  CHECK(refusal({counting(DType::F32, {3})}) == "argument 0 is no f32[2]");
  CHECK(refusal({Tensor::zeros(DType::I32, {2})}) == "argument 0 is no f32[2]");
  CHECK(refusal({Tensor()}) == "argument 0 is no f32[2]");
}
