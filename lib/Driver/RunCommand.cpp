// RunCommand.cpp - `shardtype run`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "RunArrays.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Tensor/Compare.h"
#include "shardtype/Tensor/Npz.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/Support/Format.h"
#include <unistd.h>

using namespace shardtype;

//===--- What is said -----------------------------------------------------===//

/// `model.py:41` of the innermost frame, or the equation's path.
static std::string placeOf(const Program &program, const RunError &error) {
  if (error.stack.valid())
    for (FrameId id : program.stack(error.stack)) {
      const Frame &frame = program.frames[id.index()];
      if (frame.file.valid())
        return program.context().str(frame.file).str() + ":" +
               std::to_string(frame.line);
    }
  return error.path;
}

static void printError(raw_ostream &os, const Job &job, StringRef level,
                       const RunError &error) {
  std::string place = placeOf(*job.program, error);
  os << (place.empty() ? job.input.name : place) << ": " << level << ": "
     << error.message;
  if (!error.device.empty())
    os << " (on device " << error.device << ")";
  os << '\n';
  if (!error.path.empty() && place != error.path)
    os << "  at " << error.path << '\n';
  for (const std::string &note : error.notes)
    os << "  " << note << '\n';
}

static void printStatistics(raw_ostream &os, const RunStatistics &statistics) {
  os << llvm::format("total %.3f ms, peak ", statistics.nanoseconds / 1e6)
     << groupedDigits(statistics.peakBytes) << " bytes\n";
  std::vector<std::pair<std::string, RunStatistics::Row>> rows(
      statistics.primitives.begin(), statistics.primitives.end());
  llvm::stable_sort(rows, [](const auto &a, const auto &b) {
    return a.second.nanoseconds > b.second.nanoseconds;
  });
  for (const auto &[name, row] : rows) {
    os << llvm::format("%12.3f ms %8llu x ", row.nanoseconds / 1e6,
                       static_cast<unsigned long long>(row.calls))
       << name;
    if (row.bytes)
      os << "  " << groupedDigits(row.bytes) << " bytes";
    os << '\n';
  }
}

//===--- Results ----------------------------------------------------------===//

static void printValue(raw_ostream &os, const Context &cx,
                       const std::string &name, TypeId type,
                       const Tensor &value) {
  os << name;
  if (type.valid())
    os << ": " << str(cx, type);
  os << '\n' << (value ? numPyStr(value) : "token") << '\n';
}

/// The block of each device, by the result's type.
static void printBlocks(raw_ostream &os, const Context &cx,
                        const std::string &name, TypeId type,
                        const Tensor &value, MeshId placed) {
  os << name << ": " << str(cx, type) << '\n';
  ShardTable table = shardTable(cx, type, placed, {4096, 4096, 4096});
  if (table.shards.empty()) {
    os << numPyStr(value) << '\n';
    return;
  }
  for (const ShardBlock &shard : table.shards) {
    SmallVector<int64_t, 6> starts, sizes;
    for (auto [d, part] : llvm::enumerate(shard.parts)) {
      IndexRange range = table.range(d, part);
      starts.push_back(range.begin);
      sizes.push_back(range.end - range.begin);
    }
    os << "device " << shard.devices.front() << '\n'
       << numPyStr(kernels::blockOf(value, starts, sizes)) << '\n';
  }
}

namespace {
/// One run and what is to be done with it.
class Runner {
public:
  Runner(Jobs &jobs, Job &job)
      : jobs_(jobs), options_(jobs.options), job_(job), cx_(jobs.context),
        out_(jobs.streams.out), err_(jobs.streams.err) {}
  int run();

private:
  int usage(const llvm::Twine &message) {
    err_ << "shardtype run: " << message << '\n';
    return 2;
  }
  bool findTraced(RunOptions &run);
  bool checkMemory(const Interpreter &interpreter);
  int report(RunResult result);
  bool isExpected(const RunResult &result);
  bool write(const RunResult &result);

  Jobs &jobs_;
  const Options &options_;
  Job &job_;
  Context &cx_;
  raw_ostream &out_, &err_;
  std::vector<std::string> paths_;
  std::optional<NpzReader> expected_;
};
} // namespace

bool Runner::findTraced(RunOptions &run) {
  VarNames names(*job_.program);
  std::vector<std::string> known;
  for (const std::string &asked : options_.trace) {
    bool found = false;
    for (uint32_t i = 0; i < job_.program->vars.size(); ++i) {
      std::string name = names.name(VarId(i));
      found |= name == asked;
      if (name == asked)
        run.traced.push_back(VarId(i));
      known.push_back(std::move(name));
    }
    if (!found) {
      err_ << "shardtype run: --trace: there is no value "
           << wordWithNearest(asked, known) << '\n';
      return false;
    }
  }
  return true;
}

/// `4G`, `512M`, or bytes.
static std::optional<uint64_t> readBytes(StringRef text) {
  uint64_t factor = 1;
  for (auto [suffix, shift] :
       {std::pair("K", 10), std::pair("M", 20), std::pair("G", 30)})
    if (text.consume_back_insensitive(suffix)) {
      factor = uint64_t(1) << shift;
      break;
    }
  uint64_t number;
  if (text.getAsInteger(10, number) || number > UINT64_MAX / factor)
    return std::nullopt;
  return number * factor;
}

bool Runner::checkMemory(const Interpreter &interpreter) {
  uint64_t machine = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                     static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t most = machine / 5 * 4;
  if (!options_.maxMemory.empty()) {
    std::optional<uint64_t> given = readBytes(options_.maxMemory);
    if (!given) {
      usage("--max-memory takes bytes, or a number with K, M or G, not '" +
            options_.maxMemory + "'");
      return false;
    }
    most = *given;
  }
  uint64_t predicted = interpreter.predictedBytes();
  if (predicted <= most)
    return true;
  usage("values would take up to " +
        (isCounted(predicted) ? groupedDigits(predicted)
                              : std::string("more than 2^63")) +
        " bytes at once, and " + groupedDigits(most) +
        " are allowed; --max-memory allows more");
  return false;
}

//===--- Comparing and writing --------------------------------------------===//

bool Runner::isExpected(const RunResult &result) {
  const NpzReader *file = &*expected_;
  bool agrees = true;
  for (auto [i, value] : llvm::enumerate(result.results)) {
    std::string name;
    for (const std::string &candidate :
         {paths_[i], "arr_" + std::to_string(i), std::to_string(i)})
      if (name.empty() && file->contains(candidate))
        name = candidate;
    if (name.empty()) {
      err_ << "shardtype run: " << options_.expect << " has no '" << paths_[i]
           << "'\n";
      agrees = false;
      continue;
    }
    llvm::Expected<Tensor> wanted = file->read(name, value.dtype());
    if (!wanted) {
      err_ << "shardtype run: " << llvm::toString(wanted.takeError()) << '\n';
      agrees = false;
      continue;
    }
    Tolerance tolerance = Tolerance::forDType(value.dtype());
    if (options_.rtol >= 0)
      tolerance.relative = options_.rtol;
    if (options_.atol >= 0)
      tolerance.absolute = options_.atol;
    Comparison comparison = compare(value, *wanted, tolerance);
    if (comparison.agrees()) {
      out_ << paths_[i] << ": as expected\n";
      continue;
    }
    agrees = false;
    out_ << paths_[i] << ": " << describe(comparison, value, *wanted) << '\n';
  }
  return agrees;
}

bool Runner::write(const RunResult &result) {
  if (options_.output.empty())
    return true;
  std::vector<NamedTensor> named;
  for (auto [path, value] : llvm::zip_equal(paths_, result.results))
    if (value)
      named.push_back({path, value});
  if (llvm::Error error = writeNpz(options_.output, named)) {
    usage(options_.output + ": " + llvm::toString(std::move(error)));
    return false;
  }
  return true;
}

int Runner::report(RunResult result) {
  const CheckedProgram &checked = *job_.checked;
  VarNames names(*job_.program);
  for (const Traced &traced : result.traced) {
    out_ << names.name(traced.var);
    if (!traced.device.empty())
      out_ << " on " << traced.device;
    out_ << '\n' << (traced.value ? numPyStr(traced.value) : "token") << '\n';
  }
  for (const RunError &note : result.notes)
    printError(err_, job_, options_.checkRun ? "error" : "warning", note);
  if (result.error) {
    printError(err_, job_, "error", *result.error);
    if (options_.stats)
      printStatistics(out_, result.statistics);
    return 1;
  }
  bool bad = options_.checkRun && !result.notes.empty();
  if (!write(result))
    return 2;
  bool quiet = !options_.output.empty() || !options_.expect.empty() ||
               !options_.trace.empty() || options_.stats || options_.devices ||
               options_.checkRun;
  for (auto [i, value] : llvm::enumerate(result.results)) {
    TypeId type = checked.resultTypes[i];
    if (options_.devices && value && type.valid())
      printBlocks(out_, cx_, paths_[i], type, value,
                  job_.program->concreteMesh);
    if (options_.print || !quiet)
      printValue(out_, cx_, paths_[i], type, value);
  }
  if (options_.stats)
    printStatistics(out_, result.statistics);
  if (!options_.expect.empty())
    bad |= !isExpected(result);
  return bad ? 1 : 0;
}

int Runner::run() {
  CheckedProgram &checked = *job_.checked;
  if (!checked.entryInstance.valid())
    return usage(job_.input.name + " could not be typed");
  RunOptions run;
  run.eval.flushDenormals = options_.flushDenormals;
  run.eval.jaxNumbers = options_.jaxNumbers;
  run.eval.checkCopies = options_.checkRun;
  run.statistics = options_.stats;
  run.workers = options_.workers;
  if (!findTraced(run))
    return 2;
  if (!options_.expect.empty()) {
    llvm::Expected<NpzReader> file = NpzReader::open(options_.expect);
    if (!file)
      return usage(options_.expect + ": " + llvm::toString(file.takeError()));
    expected_.emplace(std::move(*file));
  }
  RunArrays arrays;
  {
    // What cannot run for want of a kernel is said before arrays are read.
    Interpreter probe(checked, jobs_.primitives, run);
    std::vector<RunError> missing;
    for (const RunError &error : probe.errors())
      if (!StringRef(error.message).starts_with("the value of "))
        missing.push_back(error);
    for (const RunError &error : missing)
      printError(err_, job_, "error", error);
    if (!missing.empty())
      return 1;
    if (!checkMemory(probe))
      return 2;
  }
  if (failed(findArrays(checked, options_, arrays, err_)))
    return 2;
  run.constants = std::move(arrays.constants);
  run.constvars = std::move(arrays.constvars);
  Interpreter interpreter(checked, jobs_.primitives, run);
  for (const RunError &error : interpreter.errors())
    printError(err_, job_, "error", error);
  if (!interpreter.errors().empty())
    return 2;
  paths_ = resultPaths(*job_.program);
  return report(interpreter.run(std::move(arrays.arguments)));
}

int shardtype::runCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "run", streams.err))
    return 2;
  if (options.programs.size() != 1) {
    streams.err << "shardtype run: takes one program\n";
    return 2;
  }
  Jobs jobs(options, streams);
  if (!jobs.prepare())
    return 2;
  jobs.settle();
  Job &job = jobs.all.front();
  if (!job.usable() || job.exitCode() == 2) {
    jobs.reportText(job, streams.err);
    return 2;
  }
  if (job.exitCode() != 0 && !options.force) {
    jobs.reportText(job, streams.err);
    streams.err << "shardtype run: the program does not type-check; --force "
                   "runs it all the same\n";
    return 1;
  }
  return Runner(jobs, job).run();
}
