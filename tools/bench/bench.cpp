// bench.cpp - speed and memory of checking, reading and writing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs are generated, but for those of `--program FILE [--mesh M]`, which
// adds benchmarks of that file. Every program is checked once before it is
// timed: one with an error would measure the making of diagnostics, so it
// fails.
#include "Generate.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Load.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/raw_ostream.h"
#include <benchmark/benchmark.h>
#include <fstream>
#include <malloc.h>

using namespace shardtype;
using namespace shardtype::bench;

namespace {

const PrimitiveSet &primitives() {
  static const PrimitiveSet set = allPrimitives();
  return set;
}

std::string jsonOf(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(os, program);
  return text;
}

std::string textOf(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(os, program);
  return text;
}

std::optional<Program> read(Context &context, StringRef json) {
  DiagnosticList diags;
  auto lookup = [](StringRef name) { return primitives().info(name); };
  return readJson(context, json, lookup, diags);
}

std::string whyNot(const CheckedProgram &checked) {
  for (const Diagnostic &d : checked.diagnostics.all())
    if (d.level == Level::Error)
      return d.message;
  return "";
}

/// Equations as written: what rates count.
double equations(const Program &program) {
  return static_cast<double>(program.eqns.size());
}

void setRate(benchmark::State &state, double perRound, const char *name) {
  state.counters[name] = benchmark::Counter(
      perRound, benchmark::Counter::kIsIterationInvariantRate);
}

//===--- Checking ---------------------------------------------------------===//

void timeCheck(benchmark::State &state, const Program &program,
               const CheckOptions &options) {
  std::string why = whyNot(check(program, primitives(), options));
  if (!why.empty()) {
    state.SkipWithError(why.c_str());
    return;
  }
  for (auto _ : state)
    benchmark::DoNotOptimize(check(program, primitives(), options));
  setRate(state, equations(program), "eqns/s");
  state.counters["eqns"] = equations(program);
}

/// Re-typed: a trace without a mesh, checked on data=4,model=2.
void checkRetyped(benchmark::State &state) {
  Context context;
  Program program =
      generate(context, primitives(), {.equations = uint64_t(state.range(0))});
  timeCheck(state, program, shardedOptions(context, 4, 2));
}

/// A trace made under the mesh: our types are compared with the recorded ones.
void checkRecorded(benchmark::State &state) {
  Context context;
  Program program =
      generate(context, primitives(), {.equations = uint64_t(state.range(0))});
  recordTypes(program,
              check(program, primitives(), shardedOptions(context, 4, 2)));
  timeCheck(state, program, {});
}

/// A region of shard_map: types with states are compared with the recorded
/// ones.
void checkManual(benchmark::State &state) {
  Context context;
  Program program =
      generateManual(context, primitives(), uint64_t(state.range(0)));
  timeCheck(state, program, {});
}

/// 10^5 equations on meshes of different sizes: data, model, further axes.
void checkMesh(benchmark::State &state) {
  Context context;
  Program program = generate(context, primitives(), {.equations = 100'000});
  timeCheck(state, program,
            shardedOptions(context, state.range(0), state.range(1),
                           /*scan=*/false, unsigned(state.range(2))));
}

/// A scan over so many layers.
void checkScan(benchmark::State &state) {
  Context context;
  Program program =
      generate(context, primitives(),
               {.equations = uint64_t(state.range(0)) * 55, .scan = true});
  timeCheck(state, program, shardedOptions(context, 4, 2, /*scan=*/true));
}

//===--- Reading and writing ----------------------------------------------===//

void timeReadJson(benchmark::State &state, StringRef json) {
  double eqns = 0;
  for (auto _ : state) {
    Context context;
    std::optional<Program> program = read(context, json);
    if (!program) {
      state.SkipWithError("not read");
      return;
    }
    eqns = equations(*program);
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * json.size());
  state.counters["bytes/eqn"] = json.size() / eqns;
}

void readJsonText(benchmark::State &state) {
  Context context;
  timeReadJson(state,
               jsonOf(generate(context, primitives(),
                               {.equations = uint64_t(state.range(0))})));
}

void writeJsonText(benchmark::State &state) {
  Context context;
  Program program =
      generate(context, primitives(), {.equations = uint64_t(state.range(0))});
  size_t bytes = 0;
  for (auto _ : state)
    bytes = jsonOf(program).size();
  state.SetBytesProcessed(int64_t(state.iterations()) * bytes);
}

void printText(benchmark::State &state) {
  Context context;
  Program program =
      generate(context, primitives(), {.equations = uint64_t(state.range(0))});
  size_t bytes = 0;
  for (auto _ : state)
    bytes = textOf(program).size();
  state.SetBytesProcessed(int64_t(state.iterations()) * bytes);
  setRate(state, equations(program), "eqns/s");
}

void parseJaxText(benchmark::State &state) {
  std::string text;
  {
    Context context;
    text = textOf(generate(context, primitives(),
                           {.equations = uint64_t(state.range(0))}));
  }
  auto lookup = [](StringRef name) { return primitives().info(name); };
  double eqns = 0;
  for (auto _ : state) {
    Context context;
    DiagnosticList diags;
    std::optional<ParsedText> parsed =
        parseText(context, text, "bench", lookup, diags);
    if (!parsed) {
      state.SkipWithError("not parsed");
      return;
    }
    eqns = equations(parsed->program);
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * text.size());
  setRate(state, eqns, "eqns/s");
}

//===--- Memory -----------------------------------------------------------===//

/// The most memory the process has had in use, in bytes; `reset` begins anew.
double peak(bool reset = false) {
  if (reset)
    std::ofstream("/proc/self/clear_refs") << "5";
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      double kib = 0;
      status >> kib;
      return kib * 1024;
    }
  return 0;
}

double live() {
  struct mallinfo2 info = mallinfo2();
  return double(info.uordblks) + double(info.hblkhd);
}

/// Bytes an equation beyond the file, for reading and a re-typing check: what
/// is kept (`live`), and the highest the process came (`peak`).
void memory(benchmark::State &state) {
  std::string json;
  std::string mesh;
  {
    Context context;
    json = jsonOf(generate(context, primitives(),
                           {.equations = uint64_t(state.range(0))}));
  }
  json.shrink_to_fit();
  for (auto _ : state) {
    malloc_trim(0);
    double before = live(), peakBefore = peak(/*reset=*/true);
    Context context;
    std::optional<Program> program = read(context, json);
    if (!program) {
      state.SkipWithError("not read");
      return;
    }
    double afterRead = live();
    CheckedProgram checked =
        check(*program, primitives(), shardedOptions(context, 4, 2));
    double eqns = equations(*program);
    state.counters["read B/eqn"] = (afterRead - before) / eqns;
    state.counters["live B/eqn"] = (live() - before) / eqns;
    state.counters["peak B/eqn"] = (peak() - peakBefore) / eqns;
    benchmark::DoNotOptimize(checked);
  }
}

BENCHMARK(checkRetyped)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(checkRecorded)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(checkManual)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(checkMesh)
    ->Args({1, 1, 0})
    ->Args({4, 2, 0})
    ->Args({64, 64, 0})
    ->Args({4, 2, 6})
    ->Args({64, 64, 30});
BENCHMARK(checkScan)->RangeMultiplier(10)->Range(1, 10'000);
BENCHMARK(readJsonText)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(writeJsonText)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(printText)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(parseJaxText)->RangeMultiplier(10)->Range(100, 1'000'000);
BENCHMARK(memory)->RangeMultiplier(10)->Range(10'000, 1'000'000)->Iterations(1);

//===--- A given program --------------------------------------------------===//

/// Adds benchmarks of one file; false, with a message: it is not usable.
bool addProgram(StringRef path, StringRef mesh) {
  DiagnosticList diags;
  std::unique_ptr<llvm::MemoryBuffer> file = readInput(path, diags);
  static Context context;
  static std::string json = file ? file->getBuffer().str() : "";
  static std::optional<Program> program = read(context, json);
  if (!program) {
    llvm::errs() << "cannot read '" << path << "'\n";
    return false;
  }
  static CheckOptions options;
  if (!mesh.empty()) {
    TextResult<MeshId> parsed = parseMesh(context, mesh);
    if (!parsed) {
      llvm::errs() << "--mesh: " << parsed.error.message << "\n";
      return false;
    }
    options.mesh = *parsed;
  }
  benchmark::RegisterBenchmark("program/check", [](benchmark::State &state) {
    timeCheck(state, *program, options);
  });
  benchmark::RegisterBenchmark("program/readJson", [](benchmark::State &state) {
    timeReadJson(state, json);
  });
  return true;
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  StringRef program, mesh;
  for (int i = 1; i < argc; i += 2) {
    StringRef option = argv[i];
    if (i + 1 == argc || (option != "--program" && option != "--mesh")) {
      llvm::errs() << "usage: shardtype_bench [--benchmark_...] "
                      "[--program FILE [--mesh X=4,Y=2]]\n";
      return 2;
    }
    (option == "--mesh" ? mesh : program) = argv[i + 1];
  }
  if (!program.empty() && !addProgram(program, mesh))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
