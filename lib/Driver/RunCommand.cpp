// RunCommand.cpp - `shardtype run`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "RunProgram.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Prepare.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Tensor/Compare.h"
#include "shardtype/Tensor/Npz.h"
#include "shardtype/Tensor/NumPyText.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include <thread>

using namespace shardtype;

//===--- What is said -----------------------------------------------------===//

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
  int report(RunResult result);
  bool findExpected();
  bool isExpected(const RunResult &result);
  bool write(const RunResult &result);

  Jobs &jobs_;
  const Options &options_;
  Job &job_;
  Context &cx_;
  raw_ostream &out_, &err_;
  std::vector<std::string> paths_;
  std::optional<NpzReader> expected_;
  std::vector<std::string> expectedNames_; // By result; empty: no array.
};
} // namespace

bool Runner::findTraced(RunOptions &run) {
  if (options_.trace.empty())
    return true;
  llvm::DenseSet<uint32_t> results;
  for (const Eqn &eqn : job_.program->eqns)
    for (unsigned i = 0; i < eqn.numResults; ++i)
      results.insert(job_.program->result(eqn, i).raw());
  VarNames names(*job_.program);
  std::vector<std::string> known;
  for (const std::string &asked : options_.trace) {
    bool found = false, computed = false;
    for (uint32_t i = 0; i < job_.program->vars.size(); ++i) {
      std::string name = names.name(VarId(i));
      found |= name == asked;
      if (name == asked) {
        run.traced.push_back(VarId(i));
        computed |= results.contains(i);
      }
      known.push_back(std::move(name));
    }
    if (found && !computed) {
      usage("--trace " + asked + ": no equation computes it");
      return false;
    }
    if (!found) {
      err_ << "shardtype run: --trace: there is no value "
           << wordWithNearest(asked, known) << '\n';
      return false;
    }
  }
  return true;
}

//===--- Comparing and writing --------------------------------------------===//

/// Opens the file, and finds an array for each result and nothing else.
bool Runner::findExpected() {
  if (options_.expect.empty())
    return true;
  llvm::Expected<NpzReader> file = NpzReader::open(options_.expect);
  if (!file) {
    usage(options_.expect + ": " + llvm::toString(file.takeError()));
    return false;
  }
  expected_.emplace(std::move(*file));
  std::vector<std::string> known;
  for (auto [i, path] : llvm::enumerate(paths_)) {
    std::string &found = expectedNames_.emplace_back();
    TypeId type = job_.checked->resultTypes[i];
    if (type.valid() && !cx_.type(type).isArray())
      continue; // Tokens are in no file.
    for (const std::string &name : arrayNames(path, i)) {
      known.push_back(name);
      if (found.empty() && expected_->contains(name))
        found = name;
    }
    if (found.empty()) {
      usage(options_.expect + " has no '" + path + "'");
      return false;
    }
  }
  for (const std::string &name : expected_->names())
    if (!llvm::is_contained(expectedNames_, name)) {
      usage(options_.expect + ": no result is called " +
            wordWithNearest(name, known));
      return false;
    }
  return true;
}

bool Runner::isExpected(const RunResult &result) {
  bool agrees = true;
  for (auto [i, value] : llvm::enumerate(result.results)) {
    const std::string &name = expectedNames_[i];
    if (name.empty())
      continue;
    llvm::Expected<Tensor> wanted = expected_->read(name, value.dtype());
    if (!wanted) {
      err_ << "shardtype run: " << llvm::toString(wanted.takeError()) << '\n';
      agrees = false;
      continue;
    }
    Tolerance tolerance = Tolerance::forDType(value.dtype());
    if (options_.rtol >= 0 || options_.atol >= 0) // As numpy.allclose.
      tolerance.ofLargest = false;
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

/// One array alone is in a .npy.
static bool isNpy(StringRef path) { return path.ends_with(".npy"); }

bool Runner::write(const RunResult &result) {
  if (options_.output.empty())
    return true;
  std::vector<NamedTensor> named;
  for (auto [path, value] : llvm::zip_equal(paths_, result.results))
    if (value)
      named.push_back({path, value});
  llvm::Error error = isNpy(options_.output) && named.size() == 1
                          ? writeNpy(options_.output, named.front().tensor)
                          : writeNpz(options_.output, named);
  if (error) {
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
    printRunError(err_, *job_.program, job_.input.name,
                  options_.checkRun ? "error" : "warning", note);
  if (result.error) {
    printRunError(err_, *job_.program, job_.input.name, "error", *result.error);
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
    if (options_.devices && value && type.valid()) {
      out_ << paths_[i] << ": " << str(cx_, type) << '\n';
      printBlocks(out_, cx_, type, value, result.sums[i],
                  job_.program->concreteMesh);
    }
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
  // Types of a program with errors do not say which copies are equal.
  run.eval.checkCopies = options_.checkRun || options_.force;
  run.eval.keepSums =
      options_.devices && llvm::any_of(checked.resultTypes, [&](TypeId type) {
        return isUnreduced(cx_, type);
      });
  run.statistics = options_.stats;
  run.workers = options_.workers;
  if (!findTraced(run))
    return 2;
  constexpr int64_t MostDevices = 1 << 16;
  for (TypeId type : checked.resultTypes)
    if (options_.devices && type.valid() && cx_.type(type).isArray() &&
        cx_.meshOrEmpty(cx_.type(type).sharding.mesh).numDevices() >
            MostDevices)
      return usage("--devices prints blocks of up to 65 536 devices, and the "
                   "mesh has more");
  paths_ = resultPaths(*job_.program);
  if (!findExpected())
    return 2;
  PreparedRun prepared{checked, jobs_.primitives, options_, "run",
                       job_.input.name};
  if (int code = prepared.prepare(run, err_))
    return code;
  if (isNpy(options_.output) && paths_.size() != 1)
    return usage(options_.output + ": a .npy holds one array, but there are " +
                 std::to_string(paths_.size()) + " results; name it .npz");
  return report(prepared.run());
}

/// An error after which types need not fit what would be computed: the first
/// that neither has a fix to go on with nor is about shardings alone.
static const Diagnostic *findUnrunnable(const CheckedProgram &checked) {
  for (const Diagnostic &d : checked.diagnostics.all()) {
    bool isOutside = d.code == diag::OutMismatch ||
                     d.code == diag::OutputVaries ||
                     d.code == diag::CollectiveDenied;
    if (d.level == Level::Error && !d.mended() && d.fixes.empty() &&
        !d.wanted.valid() && !isOutside)
      return &d;
  }
  return nullptr;
}

int shardtype::runCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "run", streams.err))
    return 2;
  if (options.programs.size() != 1) {
    streams.err << "shardtype run: takes one program\n";
    return 2;
  }
  // Beside reading the program: most have products.
  std::thread loading = kernels::loadBlas();
  auto join = llvm::make_scope_exit([&] { loading.join(); });
  Jobs jobs(options, streams);
  if (!jobs.prepare())
    return 2;
  jobs.settle();
  if (jobs.all.size() != 1) {
    streams.err << "shardtype run: takes one program, and "
                << options.programs.front() << " has " << jobs.all.size()
                << '\n';
    return 2;
  }
  Job &job = jobs.all.front();
  if (!job.usable() || job.exitCode() == 2) {
    jobs.reportText(job, streams.err);
    return 2;
  }
  const Diagnostic *unrunnable = findUnrunnable(*job.checked);
  if (unrunnable || (job.exitCode() != 0 && !options.force)) {
    jobs.reportText(job, streams.err);
    if (!unrunnable)
      streams.err << "shardtype run: the program does not type-check; --force "
                     "runs it all the same\n";
    else
      streams.err << "shardtype run: the program does not type-check. --force "
                     "runs those whose errors are about shardings and have a "
                     "fix; '"
                  << info(unrunnable->code).code << "' has none\n";
    return 1;
  }
  return Runner(jobs, job).run();
}
