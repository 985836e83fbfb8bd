// CheckCommand.cpp - `shardtype check` and `shardtype types`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RulesFile.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Primitives/All.h"
#include "llvm/Support/JSON.h"
#include <deque>

using namespace shardtype;

namespace {
/// One program of a command, whatever became of it.
struct Job {
  InputText input;
  std::optional<Program> program;
  std::optional<CheckedProgram> checked;
  DiagnosticList inputErrors;
  bool usable() const { return checked && !inputErrors.hasErrors(); }
  int exitCode() const;
};

/// Checks every program named on the command line.
class Run {
public:
  Run(const Options &options, Streams streams)
      : options_(options), streams_(streams), primitives_(allPrimitives()) {}

  /// False: the options are unusable, and that has been said.
  bool prepare();
  int exitCode() const;
  int check();
  int types();

private:
  void addFile(StringRef path);
  void addSection(InputText input);
  ReportOptions report(const Job &job);
  void reportText(const Job &job, raw_ostream &os);
  void reportJson(bool withEquations);
  void reportSarif();
  int verifyAll();
  int fixAll();
  bool staysTyped(StringRef bytes);
  bool isList() const { return jobs_.size() > 1 || options_.split; }

  const Options &options_;
  Streams streams_;
  Context context_;
  OwnPrimitives own_;
  PrimitiveSet primitives_;
  CheckOptions check_;
  LevelOptions levels_;
  std::deque<Job> jobs_; // Programs do not move once they are checked.
  std::unique_ptr<Sources> sources_;
};
} // namespace

/// A spec asked for that the program cannot have: what it leaves undecided is
/// checked all the same, but the option is wrong.
static bool isAboutAskedSpec(const Diagnostic &d) {
  return d.level == Level::Error && !d.eqn.valid() &&
         d.code != diag::ArgumentUntyped && d.code != diag::OutMismatch &&
         (StringRef(d.path).starts_with("arguments/") ||
          StringRef(d.path).starts_with("results/"));
}

int Job::exitCode() const {
  if (!usable() || llvm::any_of(checked->diagnostics.all(), isAboutAskedSpec))
    return 2;
  return checked->ok() ? 0 : 1;
}

bool Run::prepare() {
  auto fail = [&](StringRef message) {
    streams_.err << "shardtype: " << message << '\n';
    return false;
  };
  if (failed(resolveOptions(context_, options_, check_, levels_, streams_.err)))
    return false;
  if (failed(addOwnRules(options_, own_, primitives_, streams_.err)))
    return false;
  if (options_.fixAll && (options_.programs.size() != 1 || options_.split))
    return fail("--fix-all takes one program");
  if (!options_.fixAll && !options_.output.empty())
    return fail("-o names what --fix-all writes");
  if (options_.fixAll && options_.verify)
    return fail("--verify and --fix-all do not go together");
  if (options_.format != OutputFormat::Text &&
      (options_.verify || options_.fixAll))
    return fail("--format is for reports; --verify and --fix-all write none");
  sources_ = std::make_unique<Sources>(options_.sourceRoot);
  for (const std::string &path : options_.programs)
    addFile(path);
  return true;
}

void Run::addFile(StringRef path) {
  DiagnosticList errors;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path, errors);
  std::string name = path == "-" ? "<stdin>" : path.str();
  if (!buffer) {
    Job &job = jobs_.emplace_back();
    job.input.name = name;
    job.inputErrors = std::move(errors);
    return;
  }
  if (!options_.split) {
    // The common case reads the file where it lies.
    Job &job = jobs_.emplace_back();
    job.input.name = name;
    if (options_.verify)
      job.input.bytes = buffer->getBuffer().str();
    job.program = loadProgram(context_, buffer->getBuffer(), name, primitives_,
                              job.inputErrors, limitsOf(options_));
    if (job.program)
      job.checked = shardtype::check(*job.program, primitives_, check_);
  } else {
    for (InputText &section : splitSections(name, buffer->getBuffer(), true))
      addSection(std::move(section));
  }
}

void Run::addSection(InputText input) {
  Job &job = jobs_.emplace_back();
  job.input = std::move(input);
  job.program = loadProgram(context_, job.input.bytes, job.input.name,
                            primitives_, job.inputErrors, limitsOf(options_));
  if (job.program)
    job.checked = shardtype::check(*job.program, primitives_, check_);
}

int Run::exitCode() const {
  int worst = 0;
  for (const Job &job : jobs_)
    worst = std::max(worst, job.exitCode());
  return worst;
}

/// Findings that mean an option did not fit the program: exit 2.
static void splitUsageErrors(CheckedProgram &checked, DiagnosticList &usage) {
  std::vector<Diagnostic> kept;
  for (Diagnostic &d : checked.diagnostics.all())
    if (d.code == diag::OptionInvalid)
      usage.add(std::move(d));
    else
      kept.push_back(std::move(d));
  checked.diagnostics.all() = std::move(kept);
}

ReportOptions Run::report(const Job &job) {
  ReportOptions report;
  report.program = job.input.name;
  report.all = options_.all;
  report.maxErrors = options_.maxErrors;
  report.sources = sources_.get();
  report.color = useColor(options_, streams_.out);
  return report;
}

void Run::reportText(const Job &job, raw_ostream &os) {
  if (!job.inputErrors.empty())
    printInputErrors(streams_.err, job.inputErrors, report(job));
  if (job.usable())
    printCheck(os, *job.checked, report(job));
}

void Run::reportJson(bool withEquations) {
  llvm::json::OStream json(streams_.out, 1);
  auto all = [&] {
    for (const Job &job : jobs_)
      if (job.usable())
        writeCheckJson(json, *job.checked, report(job), withEquations);
      else
        writeInputErrorsJson(json, job.inputErrors, report(job));
  };
  if (isList())
    json.array(all);
  else
    all();
  json.flush();
  streams_.out << '\n';
}

void Run::reportSarif() {
  std::vector<SarifInput> inputs;
  for (const Job &job : jobs_)
    inputs.push_back({job.usable() ? &*job.checked : nullptr, &job.inputErrors,
                      job.input.name});
  writeSarif(streams_.out, inputs);
}

int Run::verifyAll() {
  unsigned bad = 0;
  for (const Job &job : jobs_) {
    if (!job.checked)
      bad +=
          verifyExpectations(job.input, job.inputErrors, nullptr, streams_.err);
    else
      bad += verifyExpectations(job.input, job.checked->diagnostics,
                                &*job.program, streams_.err);
  }
  if (bad)
    streams_.err << bad << " expectations failed\n";
  return bad ? 1 : 0;
}

/// Findings that no fix was assumed for: the written program has them still.
static unsigned unfixed(const DiagnosticList &diagnostics) {
  return llvm::count_if(diagnostics.all(), [](const Diagnostic &d) {
    return d.level == Level::Error &&
           llvm::none_of(d.fixes, [](const Fix &f) { return f.assumed; });
  });
}

/// Checks what is about to be written, with the types it says it has; if there
/// are errors, reports them.
bool Run::staysTyped(StringRef bytes) {
  Job &job = jobs_.emplace_back();
  job.input.name = "the program with the fixes";
  job.program = loadProgram(context_, bytes, job.input.name, primitives_,
                            job.inputErrors, limitsOf(options_));
  if (job.program) {
    CheckOptions plain = check_;
    plain.mesh = MeshId();
    plain.in.clear();
    plain.out.clear();
    plain.choices.clear();
    job.checked = shardtype::check(*job.program, primitives_, plain);
    applyLevels(job.checked->diagnostics, *job.program, levels_);
  }
  if (job.exitCode() == 0)
    return true;
  reportText(job, streams_.err);
  return false;
}

int Run::fixAll() {
  const Job &job = jobs_.front();
  if (job.usable() && isOutputAnInput(options_) && job.program->fromText) {
    streams_.err << "shardtype: -o '" << options_.output
                 << "' is the text that is read; --fix-all writes JSON\n";
    return 2;
  }
  if (exitCode() == 2) {
    reportText(job, streams_.err);
    streams_.err << "shardtype: nothing was written\n";
    return 2;
  }
  if (unfixed(job.checked->diagnostics)) {
    reportText(job, streams_.err);
    streams_.err << "shardtype: some errors have no fix to assume; nothing was "
                    "written\n";
    return 1;
  }
  std::vector<MadeChoice> made;
  Program fixed = applyFixes(*job.checked, primitives_, made);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  writeJson(os, fixed);
  if (!staysTyped(bytes)) {
    streams_.err << "shardtype: with these fixes the program has other errors; "
                    "nothing was written\n";
    return 1;
  }
  if (failed(writeOutput(options_.output, bytes, streams_)))
    return 2;
  for (const MadeChoice &choice : made)
    streams_.err << choice.path << ": " << choice.type << ", "
                 << describe(choice.communication, false) << '\n';
  return 0;
}

int Run::check() {
  for (Job &job : jobs_) {
    if (!job.checked)
      continue;
    splitUsageErrors(*job.checked, job.inputErrors);
    applyLevels(job.checked->diagnostics, *job.program, levels_);
  }
  if (options_.verify)
    return verifyAll();
  if (options_.fixAll)
    return fixAll();
  switch (options_.format) {
  case OutputFormat::Text:
    for (const Job &job : jobs_)
      reportText(job, streams_.out);
    break;
  case OutputFormat::Json:
    reportJson(false);
    break;
  case OutputFormat::Github:
    for (const Job &job : jobs_)
      if (job.usable())
        printGithub(streams_.out, *job.checked, report(job));
      else
        printInputErrorsGithub(streams_.out, job.inputErrors, report(job));
    break;
  case OutputFormat::Sarif:
    reportSarif();
    break;
  }
  return exitCode();
}

int Run::types() {
  for (Job &job : jobs_) {
    if (!job.checked)
      continue;
    splitUsageErrors(*job.checked, job.inputErrors);
    applyLevels(job.checked->diagnostics, *job.program, levels_);
  }
  if (options_.format == OutputFormat::Json) {
    reportJson(true);
    return exitCode();
  }
  for (const Job &job : jobs_) {
    if (!job.usable()) {
      printInputErrors(streams_.err, job.inputErrors, report(job));
      continue;
    }
    PrintOptions print;
    print.source = options_.source;
    printProgram(streams_.out, *job.program, &*job.checked, print);
    streams_.out << '\n';
    if (!job.checked->diagnostics.empty())
      printCheck(streams_.err, *job.checked, report(job));
  }
  return exitCode();
}

int shardtype::checkCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "check", streams.err))
    return 2;
  Run run(options, streams);
  return run.prepare() ? run.check() : 2;
}

int shardtype::typesCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "types", streams.err))
    return 2;
  Run run(options, streams);
  return run.prepare() ? run.types() : 2;
}
