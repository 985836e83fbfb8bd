// run.cpp - speed of running programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs are run once before they are timed; one that cannot run fails. Rates
// are of the equations that devices run, or of the bytes that one device sends
// into a collective. `run.py` times the same on JAX. `--program FILE` times one
// more program.
#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Load.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Primitives/All.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <benchmark/benchmark.h>
#include <cblas.h>
#include <dlfcn.h>

using namespace shardtype;

namespace {

/// A program that is ready, and its arguments.
struct Ready {
  Context context;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program;
  std::optional<CheckedProgram> checked;
  std::unique_ptr<Interpreter> interpreter;
  std::vector<Tensor> arguments;
  std::string error;

  explicit Ready(StringRef text, StringRef name = "bench",
                 RunOptions options = {}) {
    DiagnosticList diags;
    program = loadProgram(context, text, name, primitives, diags);
    if (!program) {
      error = "it cannot be read";
      return;
    }
    checked = check(*program, primitives);
    interpreter =
        std::make_unique<Interpreter>(*checked, primitives, std::move(options));
    if (!checked->ok() || !interpreter->errors().empty()) {
      error = "it has errors";
      return;
    }
  }
  void makeArguments() {
    for (TypeId id : checked->argumentTypes)
      arguments.push_back(argument(context.type(id)));
  }
  /// Small numbers that differ.
  static Tensor argument(const Type &type) {
    Tensor value = Tensor::zeros(type.dtype, type.shape);
    if (type.dtype == DType::F32)
      for (auto [i, x] : llvm::enumerate(value.fill<float>()))
        x = static_cast<float>(i % 17) / 16 - 0.5f;
    return value;
  }
};

void time(benchmark::State &state, Ready &ready) {
  if (!ready.error.empty()) {
    state.SkipWithError(ready.error.c_str());
    return;
  }
  ready.makeArguments();
  if (std::optional<RunError> error =
          ready.interpreter->run(ready.arguments).error) {
    state.SkipWithError(error->message.c_str());
    return;
  }
  for (auto _ : state) {
    RunResult result = ready.interpreter->run(ready.arguments);
    benchmark::DoNotOptimize(result.results.data());
  }
}

//===--- Programs of the repository ---------------------------------------===//

void runFile(benchmark::State &state, const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    state.SkipWithError("no such file");
    return;
  }
  Ready ready((*buffer)->getBuffer(), path);
  time(state, ready);
}
BENCHMARK_CAPTURE(runFile, mlp8_value_and_grad,
                  SHARDTYPE_SOURCE_DIR
                  "/spec-examples/golden/json/B65-71.value_and_grad.json")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(runFile, transformer_step,
                  SHARDTYPE_SOURCE_DIR
                  "/test/corpus/programs/transformer_step.json")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

//===--- Collectives ------------------------------------------------------===//

constexpr int64_t Devices = 8, Block = 16 << 20; // 64 MB of f32 a device.

/// One collective in a region over `i=8`.
std::string region(StringRef body, StringRef out, StringRef spec) {
  return ("#! mesh i=8:Auto\n{ lambda ; a:f32[" + llvm::Twine(Devices * Block) +
          "]. let\n b:f32[" + out +
          "] = shard_map[\n check_vma=False\n"
          " in_specs=(P('i',),)\n jaxpr={ lambda ; c:f32[" +
          llvm::Twine(Block) + "]. let\n " + body +
          "\n in (d,) }\n"
          " mesh=AbstractMesh('i': 8, axis_types=(Auto,))\n"
          " newly_manual_axes=frozenset({'i'})\n out_specs=(" +
          spec + ",)\n ] a\n in (b,) }")
      .str();
}

/// The operand is given as a block per device, each in memory of its own, and
/// results stay as the devices hold them: as arrays of JAX are.
void collective(benchmark::State &state, const std::string &text) {
  RunOptions options;
  options.keepBlocks = true;
  Ready ready(text, "bench", std::move(options));
  if (!ready.error.empty()) {
    state.SkipWithError(ready.error.c_str());
    return;
  }
  Mesh mesh;
  mesh.axes.push_back(
      {ready.context.intern(StringRef("i")), Devices, AxisType::Auto});
  auto held = std::make_shared<DeviceBlocks>();
  held->layout = {ready.context.intern(mesh), AxisSet::firstN(1), {{0}}};
  Type block = ready.context.type(ready.checked->argumentTypes[0]);
  block.shape = {Block};
  for (int64_t device = 0; device < Devices; ++device)
    held->blocks.push_back(Ready::argument(block));
  uint64_t peak = 0, result = 0;
  auto once = [&] {
    RunResult ran = ready.interpreter->runHeld({Argument(held)});
    peak = std::max(peak, ran.statistics.peakBytes);
    if (!ran.error)
      result = ran.blocks[0] ? Argument(ran.blocks[0]).bytes()
                             : ran.results[0].bytes();
    return ran;
  };
  if (std::optional<RunError> error = once().error) {
    state.SkipWithError(error->message.c_str());
    return;
  }
  for (auto _ : state) {
    RunResult ran = once();
    benchmark::DoNotOptimize(ran.results.data());
  }
  state.SetBytesProcessed(state.iterations() * Block * 4);
  // The most memory at once, of the operand and the result.
  state.counters["memory"] = static_cast<double>(peak) /
                             static_cast<double>(Devices * Block * 4 + result);
}
void psum(benchmark::State &state) {
  collective(state, region("d:f32[16777216] = psum[axes=('i',) "
                           "axis_index_groups=None] c",
                           "16777216", "P()"));
}
BENCHMARK(psum)->UseRealTime()->Unit(benchmark::kMillisecond);
void allGather(benchmark::State &state) {
  collective(state,
             region("d:f32[134217728] = all_gather[all_gather_dimension=0 "
                    "axis_index_groups=None axis_name=('i',) axis_size=8 "
                    "tiled=True] c",
                    "134217728", "P()"));
}
BENCHMARK(allGather)->UseRealTime()->Unit(benchmark::kMillisecond);
void ppermute(benchmark::State &state) {
  collective(state,
             region("d:f32[16777216] = ppermute[axis_name=('i',) "
                    "perm=((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), "
                    "(6, 7), (7, 0))] c",
                    "134217728", "P('i',)"));
}
BENCHMARK(ppermute)->UseRealTime()->Unit(benchmark::kMillisecond);
void psumScatter(benchmark::State &state) {
  collective(state, region("d:f32[2097152] = reduce_scatter["
                           "axis_index_groups=None axis_name=('i',) "
                           "axis_size=8 scatter_dimension=0 tiled=True] c",
                           "16777216", "P('i',)"));
}
BENCHMARK(psumScatter)->UseRealTime()->Unit(benchmark::kMillisecond);

//===--- Equations --------------------------------------------------------===//

/// `range(0)` small additions on each of 8 devices, none of which shares.
void dispatch(benchmark::State &state) {
  std::string body = "d0:i32[] = axis_index[axis_name='i']\n";
  int64_t count = state.range(0);
  for (int64_t i = 0; i < count; ++i)
    body += "d" + std::to_string(i + 1) + ":i32[] = add d" + std::to_string(i) +
            " 1:i32[]\n";
  std::string last = "d" + std::to_string(count);
  std::string text =
      "#! mesh i=8:Auto\n{ lambda ; . let\n b:i32[8] = shard_map[\n"
      " check_vma=False\n in_specs=()\n jaxpr={ lambda ; . let\n " +
      body +
      " e:i32[1] = reshape[dimensions=None new_sizes=(1,) "
      "sharding=None] " +
      last +
      "\n in (e,) }\n"
      " mesh=AbstractMesh('i': 8, axis_types=(Auto,))\n"
      " newly_manual_axes=frozenset({'i'})\n out_specs=(P('i',),)\n ]\n"
      " in (b,) }";
  Ready ready(text);
  time(state, ready);
  state.SetItemsProcessed(state.iterations() * Devices * count);
}
BENCHMARK(dispatch)->Arg(1000)->UseRealTime();

void matmul(benchmark::State &state) {
  std::string n = std::to_string(state.range(0));
  std::string type = "f32[" + n + "," + n + "]";
  Ready ready("{ lambda ; a:" + type + " b:" + type + ". let\n c:" + type +
              " = dot_general[dimension_numbers=(([1], [0]), ([], [])) "
              "out_sharding=None precision=None preferred_element_type=float32"
              "] a b\n in (c,) }");
  time(state, ready);
  double n3 = static_cast<double>(state.range(0));
  state.counters["flop/s"] = benchmark::Counter(
      2 * n3 * n3 * n3, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(matmul)->Arg(256)->Arg(1024)->UseRealTime();

/// The same by CBLAS alone: the one that `matmul` has loaded.
void cblas(benchmark::State &state) {
  void *loaded = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  auto *gemm = loaded ? reinterpret_cast<decltype(&cblas_sgemm)>(
                            dlsym(loaded, "cblas_sgemm"))
                      : nullptr;
  if (!gemm) {
    state.SkipWithError("run matmul before it");
    return;
  }
  int n = static_cast<int>(state.range(0));
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  for (auto _ : state) {
    gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n,
         b.data(), n, 0, c.data(), n);
    benchmark::DoNotOptimize(c.data());
  }
  state.counters["flop/s"] = benchmark::Counter(
      2.0 * n * n * n, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(cblas)->Arg(256)->Arg(1024)->UseRealTime();

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc || StringRef(argv[i]) != "--program") {
      llvm::errs() << "usage: shardtype_bench_run [--benchmark_...] "
                      "[--program FILE]...\n";
      return 2;
    }
    std::string path = argv[i + 1];
    std::string name = "program/" + llvm::sys::path::stem(path).str();
    benchmark::RegisterBenchmark(
        name.c_str(), [path](benchmark::State &state) { runFile(state, path); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
