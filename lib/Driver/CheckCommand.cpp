// CheckCommand.cpp - `shardtype check` and `shardtype types`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Report/Edits.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

namespace {
class Run {
public:
  Run(const Options &options, Streams streams) : jobs_(options, streams) {}

  /// False: the options are unusable, and that has been said.
  bool prepare();
  int check();
  int types();

private:
  void reportJson(bool withEquations);
  void reportGithub();
  void reportSarif();
  int verifyAll();
  int fixAll();
  void printMade(const Job &job, const std::vector<MadeChoice> &made);
  bool staysTyped(StringRef bytes);

  Jobs jobs_;
};
} // namespace

bool Run::prepare() {
  const Options &options = jobs_.options;
  for (const LevelOptions::Change &change : options.levels.changes)
    if (change.level == Level::Error && findCollective(change.code))
      return jobs_.fail("--deny " + change.code +
                        ": 'shardtype cost' looks at collectives");
  if (options.fixAll && (options.programs.size() != 1 || options.split))
    return jobs_.fail("--fix-all takes one program");
  if (!options.fixAll && !options.output.empty())
    return jobs_.fail("-o names what --fix-all writes");
  if (options.fixAll && options.verify)
    return jobs_.fail("--verify and --fix-all do not go together");
  if (options.format != OutputFormat::Text &&
      (options.verify || options.fixAll))
    return jobs_.fail(
        "--format is for reports; --verify and --fix-all write none");
  return jobs_.prepare();
}

void Run::reportJson(bool withEquations) {
  jobs_.writeJson([&](llvm::json::OStream &json, const Job &job) {
    if (job.usable())
      writeCheckJson(json, *job.checked, jobs_.report(job), withEquations);
    else
      writeInputErrorsJson(json, job.inputErrors, jobs_.report(job));
  });
}

void Run::reportGithub() {
  raw_ostream &out = jobs_.streams.out;
  for (const Job &job : jobs_.all)
    if (job.usable())
      printGithub(out, *job.checked, jobs_.report(job));
    else
      printInputErrorsGithub(out, job.inputErrors, jobs_.report(job));
}

void Run::reportSarif() {
  std::vector<SarifInput> inputs;
  for (const Job &job : jobs_.all)
    inputs.push_back({job.usable() ? &*job.checked : nullptr, &job.inputErrors,
                      job.input.name});
  writeSarif(jobs_.streams.out, inputs);
}

int Run::verifyAll() {
  unsigned bad = 0;
  for (const Job &job : jobs_.all) {
    if (!job.checked)
      bad += verifyExpectations(job.input, job.inputErrors, nullptr,
                                jobs_.streams.err);
    else
      bad += verifyExpectations(job.input, job.checked->diagnostics,
                                &*job.program, jobs_.streams.err);
  }
  if (bad)
    jobs_.streams.err << bad << " expectations failed\n";
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
  Job &job = jobs_.all.emplace_back();
  job.input.name = "the program with the fixes";
  job.program =
      loadProgram(jobs_.context, bytes, job.input.name, jobs_.primitives,
                  job.inputErrors, limitsOf(jobs_.options));
  if (job.program) {
    CheckOptions plain = jobs_.check;
    plain.mesh = MeshId();
    plain.in.clear();
    plain.out.clear();
    plain.choices.clear();
    job.checked = shardtype::check(*job.program, jobs_.primitives, plain);
    applyLevels(job.checked->diagnostics, *job.program, jobs_.levels);
  }
  if (job.exitCode() == 0)
    return true;
  jobs_.reportText(job, jobs_.streams.err);
  return false;
}

int Run::fixAll() {
  jobs_.chooseFirstFixes();
  const Job &job = jobs_.all.front();
  if (job.usable() && isOutputAnInput(jobs_.options) && job.program->fromText) {
    jobs_.streams.err << "shardtype: -o '" << jobs_.options.output
                      << "' is the text that is read; --fix-all writes JSON\n";
    return 2;
  }
  if (!job.usable() || jobs_.exitCode() == 2) {
    jobs_.reportText(job, jobs_.streams.err);
    jobs_.streams.err << "shardtype: nothing was written\n";
    return jobs_.exitCode();
  }
  if (unfixed(job.checked->diagnostics)) {
    jobs_.reportText(job, jobs_.streams.err);
    jobs_.streams.err
        << "shardtype: some errors have no fix to assume; nothing was "
           "written\n";
    return 1;
  }
  std::vector<MadeChoice> made;
  Program fixed = applyFixes(*job.checked, jobs_.primitives, made);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  writeJson(os, fixed);
  if (!staysTyped(bytes)) {
    jobs_.streams.err
        << "shardtype: with these fixes the program has other errors; "
           "nothing was written\n";
    return 1;
  }
  if (failed(writeOutput(jobs_.options.output, bytes, jobs_.streams)))
    return 2;
  printMade(jobs_.all.front(), made);
  return 0;
}

/// What was chosen, with the edit of the source that it stands for.
void Run::printMade(const Job &job, const std::vector<MadeChoice> &made) {
  raw_ostream &err = jobs_.streams.err;
  const Program &program = *job.program;
  Edits edits(*job.checked, jobs_.report(job).sources);
  for (const MadeChoice &choice : made) {
    err << choice.path << ": " << choice.type << ", "
        << describe(choice.communication, false) << '\n';
    for (const Diagnostic &d : job.checked->diagnostics.all())
      for (const Fix &fix : d.fixes) {
        bool same = fix.assumed && d.path == choice.path && fix.type.valid() &&
                    str(program.context(), fix.type) == choice.type;
        std::optional<SourceEdit> edit;
        if (same)
          edit = edits.edit(d, fix);
        const Frame *frame = ownFrame(program, d.stack);
        if (!edit || !frame)
          continue;
        err << "  " << program.context().str(frame->file) << ':' << frame->line
            << ": " << edit->oneLine() << '\n';
      }
  }
}

int Run::check() {
  jobs_.settle();
  if (jobs_.options.verify)
    return verifyAll();
  if (jobs_.options.fixAll)
    return fixAll();
  switch (jobs_.options.format) {
  case OutputFormat::Text:
    for (const Job &job : jobs_.all)
      jobs_.reportText(job, jobs_.streams.out);
    break;
  case OutputFormat::Json:
    reportJson(false);
    break;
  case OutputFormat::Github:
    reportGithub();
    break;
  case OutputFormat::Sarif:
    reportSarif();
    break;
  }
  return jobs_.exitCode();
}

int Run::types() {
  jobs_.settle();
  if (jobs_.options.format == OutputFormat::Json) {
    reportJson(true);
    return jobs_.exitCode();
  }
  raw_ostream &out = jobs_.streams.out, &err = jobs_.streams.err;
  for (const Job &job : jobs_.all) {
    if (!job.usable()) {
      printInputErrors(err, job.inputErrors, jobs_.report(job));
      continue;
    }
    PrintOptions print;
    print.source = jobs_.options.source;
    printProgram(out, *job.program, &*job.checked, print);
    out << '\n';
    if (!job.checked->diagnostics.empty())
      printCheck(err, *job.checked, jobs_.report(job));
  }
  return jobs_.exitCode();
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
