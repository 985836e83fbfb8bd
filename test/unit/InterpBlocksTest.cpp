// InterpBlocksTest.cpp - values in blocks, help with large ones, kept memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InterpFixture.h"
#include "shardtype/Kernels/Combine.h"
#include "shardtype/Tensor/Element.h"
#include <cstring>
#include <thread>

using namespace shardtype;

/// A region on mesh i=2, j=2.
static std::string regionOf(const std::string &result, const std::string &in,
                            const std::string &out, const std::string &body,
                            const std::string &operand) {
  return result + R"( = shard_map[
      check_vma=False
      in_specs=()" +
         in + R"(,)
      jaxpr={ lambda ; )" +
         body + R"( }
      mesh=AbstractMesh('i': 2, 'j': 2, axis_types=(Auto, Auto))
      newly_manual_axes=frozenset({'i', 'j'})
      out_specs=()" +
         out + ",)\n    ] " + operand + "\n    ";
}
static const char *const OnFour = "#! mesh i=2:Auto,j=2:Auto\n";

static const char *const Negate = "c:f32[2,4]. let d:f32[2,4] = neg c in (d,)";
static const char *const Pass = "c:f32[2,4]. let in (c,)";

/// The blocks of an array of 4 x 8 over i, j.
static std::shared_ptr<DeviceBlocks> blocksOf(Context &cx, const Tensor &whole,
                                              bool both) {
  Mesh mesh;
  mesh.axes.push_back({cx.intern(StringRef("i")), 2, AxisType::Explicit});
  mesh.axes.push_back({cx.intern(StringRef("j")), 2, AxisType::Explicit});
  auto held = std::make_shared<DeviceBlocks>();
  held->layout = {cx.intern(mesh), AxisSet::firstN(2), {{0}, {}}};
  if (both)
    held->layout.dims[1].push_back(1);
  int64_t columns = both ? 4 : 8;
  Tensor copies[2];
  for (int64_t device = 0; device < 4; ++device) {
    if (!both && device % 2 == 1) {
      held->blocks.push_back(copies[device / 2]);
      continue;
    }
    Tensor block = Tensor::uninitialised(DType::F32, {2, columns});
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t c = 0; c < columns; ++c)
        block.fill<float>()[r * columns + c] =
            whole.as<float>()[(device / 2 * 2 + r) * 8 +
                              (both ? device % 2 * 4 : 0) + c];
    copies[device / 2] = block;
    held->blocks.push_back(std::move(block));
  }
  return held;
}

TEST_CASE("blocks are passed from region to region") {
  std::string spec = "P('i', 'j')";
  Running program(OnFour + std::string("{ lambda ; a:f32[4,8]. let\n    ") +
                  regionOf("b:f32[4,8]", spec, spec, Pass, "a") +
                  "c:f32[4,8] = jit[name=f jaxpr={ lambda ; x:f32[4,8]. let " +
                  regionOf("y:f32[4,8]", spec, spec, Pass, "x") +
                  "in (y,) }] b\n    " +
                  regionOf("d:f32[4,8]", spec, spec, Negate, "a") +
                  "e:f32[4,8] = neg d\n    f:f32[4,8] = neg e\n"
                  "  in (c, f) }");
  Tensor whole = counting(DType::F32, {4, 8}, 1);
  auto held = blocksOf(program.cx, whole, /*both=*/true);
  RunOptions options;
  options.keepBlocks = true;
  Interpreter interpreter(*program.checked, program.primitives, options);
  REQUIRE(interpreter.errors().empty());
  RunResult result = interpreter.runHeld({Argument(held)});
  REQUIRE(!result.error);
  REQUIRE(result.blocks[0]);
  for (size_t device = 0; device < 4; ++device)
    CHECK(result.blocks[0]->blocks[device].sameMemory(held->blocks[device]));
  // Where it is asked for whole it is put together.
  CHECK(!result.blocks[1]);
  for (int64_t i = 0; i < 32; ++i)
    CHECK(result.results[1].as<float>()[i] == -whole.as<float>()[i]);
  // An array for an argument, arrays for results.
  std::vector<Tensor> values = program.values({whole});
  CHECK(values[0].as<float>() == whole.as<float>());
}

TEST_CASE("blocks of another layout are cut anew") {
  Tensor whole = counting(DType::F32, {4, 8}, 1);
  for (bool both : {true, false}) {
    INFO(both);
    Running program(
        OnFour + std::string("{ lambda ; a:f32[4,8]. let\n    ") +
        regionOf("b:f32[4,8]", "P('i', 'j')", "P('i', 'j')", Negate, "a") +
        regionOf("c:f32[4,8]", "P('j', None)", "P('j', None)",
                 "c:f32[2,8]. let d:f32[2,8] = neg c in (d,)", "b") +
        "in (c,) }");
    auto held = blocksOf(program.cx, whole, both);
    Interpreter interpreter(*program.checked, program.primitives);
    RunResult result = interpreter.runHeld({Argument(held)});
    REQUIRE(!result.error);
    CHECK(result.results[0].as<float>() == whole.as<float>());
  }
}

TEST_CASE("loops and branches see whole values") {
  std::string spec = "P('i', 'j')";
  Running program(OnFour +
                  std::string("{ lambda ; a:f32[4,8] n:i32[]. let\n    ") +
                  regionOf("b:f32[4,8]", spec, spec, Negate, "a") +
                  R"(c:f32[4,8] = scan[
      ft_in=((), (None,), ())
      ft_out=((None,), ())
      jaxpr={ lambda ; x:f32[4,8]. let )" +
                  regionOf("y:f32[4,8]", spec, spec, Negate, "x") +
                  R"(in (y,) }
      length=3
      reverse=False
      unroll=1
    ] b
    d:f32[4,8] = cond[
      branches=(
        { lambda ; p:f32[4,8]. let q:f32[4,8] = mul p 2.0:f32[] in (q,) }
        { lambda ; p:f32[4,8]. let in (p,) }
      )
    ] n c
  in (d,) })");
  Tensor whole = counting(DType::F32, {4, 8}, 1);
  for (int32_t branch : {0, 1}) {
    Tensor result =
        program.values({whole, Tensor::scalar<int32_t>(DType::I32, branch)})[0];
    for (int64_t i = 0; i < 32; ++i)
      CHECK(result.as<float>()[i] ==
            whole.as<float>()[i] * (branch == 0 ? 2 : 1));
  }
}

//===--- Large values -----------------------------------------------------===//

/// A collective on eight devices.
static std::string onEight(const std::string &in, const std::string &out,
                           const std::string &body, const std::string &spec) {
  return "#! mesh i=8:Auto\n{ lambda ; a:" + in + ". let\n b:" + out +
         " = shard_map[\n check_vma=False\n in_specs=(P('i',),)\n"
         " jaxpr={ lambda ; " +
         body +
         " in (d,) }\n mesh=AbstractMesh('i': 8, axis_types=(Auto,))\n"
         " newly_manual_axes=frozenset({'i'})\n out_specs=(" +
         spec + ",)\n ] a\n in (b,) }";
}

/// Numbers whose sums depend on the order.
static Tensor uneven(DType dtype, int64_t size) {
  Tensor result = Tensor::uninitialised(dtype, {size});
  uint32_t state = 12345;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_constructible_v<T, float>)
      for (T &x : result.fill<T>()) {
        state = state * 1664525u + 1013904223u;
        int exponent = static_cast<int>(state >> 28) - 8;
        float value = std::ldexp(
            static_cast<float>(state >> 8 & 0xffff) / 65536 - 0.5f, exponent);
        x = static_cast<T>(isIntElement<T> ? value * 1000 : value);
      }
  });
  return result;
}

template <typename T> static void checkSum(DType dtype, const char *name) {
  INFO(name);
  constexpr int64_t Each = 200000;
  std::string block = name + ("[" + std::to_string(Each) + "]"),
              all = name + ("[" + std::to_string(8 * Each) + "]"),
              part = name + ("[" + std::to_string(Each / 8) + "]");
  Running sum(onEight(all, block,
                      "c:" + block + ". let d:" + block +
                          " = psum[axes=('i',) axis_index_groups=None] c",
                      "P()")),
      scatter(onEight(all, block,
                      "c:" + block + ". let d:" + part +
                          " = reduce_scatter[axis_index_groups=None "
                          "axis_name=('i',) axis_size=8 scatter_dimension=0 "
                          "tiled=True] c",
                      "P('i',)"));
  Tensor input = uneven(dtype, 8 * Each);
  std::vector<T> wanted(Each);
  for (int64_t i = 0; i < Each; ++i) {
    ComputeType<T> total = 0;
    for (int64_t device = 0; device < 8; ++device)
      total += static_cast<ComputeType<T>>(
          input.as<T>()[static_cast<size_t>(device * Each + i)]);
    wanted[static_cast<size_t>(i)] = static_cast<T>(total);
  }
  for (unsigned workers : {1u, 2u, 3u, 7u}) {
    INFO(workers);
    RunOptions options;
    options.workers = workers;
    for (Running *program : {&sum, &scatter}) {
      Tensor result = program->values({input}, options)[0];
      CHECK(std::memcmp(result.data(), wanted.data(), result.bytes()) == 0);
    }
  }
}

TEST_CASE("sums of large values have the same bits for all workers") {
  checkSum<float>(DType::F32, "f32");
  checkSum<double>(DType::F64, "f64");
  checkSum<BF16>(DType::BF16, "bf16");
  checkSum<int32_t>(DType::I32, "i32");
}

TEST_CASE("what was cut out of one array is gathered without a copy") {
  const char *gather = "c:f32[100]. let d:f32[800] = all_gather["
                       "all_gather_dimension=0 axis_index_groups=None "
                       "axis_name=('i',) axis_size=8 tiled=True] c";
  Running program(onEight("f32[800]", "f32[800]", gather, "P()"));
  Tensor input = counting(DType::F32, {800});
  CHECK(program.values({input})[0].sameMemory(input));
  // In another order it is one.
  std::string turned = "c:f32[100]. let e:f32[100] = ppermute[axis_name=('i',) "
                       "perm=((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), "
                       "(6, 7), (7, 0))] c ";
  turned += "d:f32[800] = all_gather[all_gather_dimension=0 "
            "axis_index_groups=None axis_name=('i',) axis_size=8 tiled=True] e";
  Tensor result = Running(onEight("f32[800]", "f32[800]", turned, "P()"))
                      .values({input})[0];
  for (int64_t i = 0; i < 800; ++i)
    CHECK(result.as<float>()[i] == input.as<float>()[(i + 700) % 800]);
}

//===--- Memory and threads -----------------------------------------------===//

TEST_CASE("memory that is kept never exceeds the peak") {
  MemoryPool *pool = MemoryPool::create();
  MemoryAccount *account = MemoryAccount::create(pool);
  constexpr uint64_t Mega = 1 << 20;
  {
    MemoryAccount::Scope scope(account);
    {
      Buffer a = Buffer::allocate(10 * Mega), b = Buffer::allocate(12 * Mega);
      CHECK(pool->kept() == 0);
    }
    CHECK(pool->kept() >= 22 * Mega);
    std::byte *first;
    {
      Buffer a = Buffer::allocate(12 * Mega - 4096); // What b had.
      first = a.data();
      CHECK(pool->kept() < 11 * Mega);
    }
    CHECK(Buffer::allocate(12 * Mega).data() == first);
    // Too large for what is kept: that makes room.
    Buffer c = Buffer::allocate(20 * Mega);
    CHECK(pool->kept() + 20 * Mega <= 23 * Mega);
    Buffer small = Buffer::allocate(100);
    CHECK(account->current() == 20 * Mega + 100);
  }
  CHECK(account->current() == 0);
  CHECK(account->peak() == 22 * Mega);
  Buffer last;
  {
    MemoryAccount::Scope scope(account);
    last = Buffer::allocate(Mega);
  }
  pool->close();
  pool->release();
  account->release();
  last = Buffer(); // The pool lives until here, and keeps nothing.
}

TEST_CASE("runs of one interpreter may overlap") {
  Running program(onEight("f32[80]", "f32[10]",
                          "c:f32[10]. let d:f32[10] = psum[axes=('i',) "
                          "axis_index_groups=None] c",
                          "P()"));
  RunOptions options;
  options.workers = 3;
  Interpreter interpreter(*program.checked, program.primitives, options);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int trip = 0; trip < 50; ++trip) {
        float first = static_cast<float>(t * 100 + trip);
        RunResult result = interpreter.run({counting(DType::F32, {80}, first)});
        for (int64_t i = 0; i < 10; ++i)
          wrong +=
              result.error || result.results[0].as<float>()[i] !=
                                  8 * (first + static_cast<float>(i)) + 280;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}
