// Jobs.cpp - the programs of a command that checks them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "RulesFile.h"
#include "shardtype/Primitives/All.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

Jobs::Jobs(const Options &given, Streams to)
    : options(given), streams(to), primitives(allPrimitives()) {}

bool Jobs::fail(StringRef message) {
  streams.err << "shardtype: " << message << '\n';
  return false;
}

/// A spec asked for that names an axis which the mesh does not have: the option
/// is wrong. Other specs that a value cannot have (an axis twice, a dim that
/// does not divide) are errors of the program that was asked for.
static bool isAboutAskedSpec(const Diagnostic &d) {
  return d.level == Level::Error && !d.eqn.valid() &&
         d.code == diag::SpecUnknownAxis &&
         (StringRef(d.path).starts_with("arguments/") ||
          StringRef(d.path).starts_with("results/"));
}

/// Input that can be read, and is a program that JAX would refuse.
static bool isRefused(const DiagnosticList &errors) {
  return !errors.empty() && llvm::all_of(errors.all(), [](const Diagnostic &d) {
    return d.level != Level::Error || d.code == diag::CapturedValue;
  });
}

int Job::exitCode() const {
  if (!usable())
    return isRefused(inputErrors) ? 1 : 2;
  if (llvm::any_of(checked->diagnostics.all(), isAboutAskedSpec))
    return 2;
  // Regions that nobody looked at are no verdict; errors elsewhere are one.
  unsigned errors = 0, unchecked = 0;
  for (const Diagnostic &d : checked->diagnostics.all())
    if (d.level == Level::Error)
      ++(d.code == diag::RegionUnchecked ? unchecked : errors);
  return errors ? 1 : unchecked ? 2 : 0;
}

bool Jobs::prepare() {
  if (failed(resolveOptions(context, options, check, levels, streams.err)) ||
      failed(addOwnRules(options, own, primitives, streams.err)))
    return false;
  sources_ = std::make_unique<Sources>(options.sourceRoot);
  for (const std::string &path : options.programs)
    addFile(path);
  return true;
}

void Jobs::load(Job &job, StringRef bytes) {
  // A text that names no mesh is read on the one asked for.
  LoadLimits limits = limitsOf(options);
  limits.text.mesh = check.mesh;
  job.program = loadProgram(context, bytes, job.input.name, primitives,
                            job.inputErrors, limits);
  if (job.program)
    job.checked = shardtype::check(*job.program, primitives, check);
}

void Jobs::addFile(StringRef path) {
  DiagnosticList errors;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readInput(path, errors);
  std::string name = path == "-" ? "<stdin>" : path.str();
  if (!buffer) {
    Job &job = all.emplace_back();
    job.input.name = name;
    job.inputErrors = std::move(errors);
    return;
  }
  if (!options.split) {
    // The common case reads the file where it lies.
    Job &job = all.emplace_back();
    job.input.name = name;
    if (options.verify)
      job.input.bytes = buffer->getBuffer().str();
    load(job, buffer->getBuffer());
    return;
  }
  for (InputText &section : splitSections(name, buffer->getBuffer(), true)) {
    Job &job = all.emplace_back();
    job.input = std::move(section);
    load(job, job.input.bytes);
  }
}

int Jobs::exitCode() const {
  int worst = 0;
  for (const Job &job : all)
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

void Jobs::settle() {
  for (Job &job : all) {
    if (!job.checked)
      continue;
    splitUsageErrors(*job.checked, job.inputErrors);
    applyLevels(job.checked->diagnostics, *job.program, levels);
  }
}

/// The first fix, and those that go with it, of errors that none is assumed of.
static std::vector<Choice> firstFixes(const CheckedProgram &checked) {
  Context &cx = checked.program->context();
  std::vector<Choice> choices;
  for (const Diagnostic &d : checked.diagnostics.all()) {
    bool assumed =
        llvm::any_of(d.fixes, [](const Fix &fix) { return fix.assumed; });
    if (d.level != Level::Error || !d.eqn.valid() || assumed || d.fixes.empty())
      continue;
    unsigned group = d.fixes.front().group;
    for (const Fix &fix : d.fixes) {
      bool taken = &fix == &d.fixes.front() || (group && fix.group == group);
      if (!taken || !fix.type.valid() || fix.spec.empty() ||
          fix.bodyResult >= 0 || !cx.type(fix.type).isArray())
        continue;
      choices.push_back({d.path, fix.operand,
                         toSpec(cx, cx.type(fix.type).sharding), "",
                         "the first fix of"});
    }
  }
  return choices;
}

void Jobs::chooseFirstFixes() {
  constexpr unsigned MaxRounds = 16; // Each may bring other errors to light.
  Job &job = all.front();
  CheckOptions chosen = check;
  for (unsigned round = 0; round < MaxRounds && job.usable(); ++round) {
    std::vector<Choice> choices = firstFixes(*job.checked);
    if (choices.empty())
      return;
    llvm::append_range(chosen.choices, choices);
    CheckedProgram checked = shardtype::check(*job.program, primitives, chosen);
    DiagnosticList refused;
    splitUsageErrors(checked, refused);
    if (refused.hasErrors())
      return; // A choice that leaves an error: the finding stays as it was.
    applyLevels(checked.diagnostics, *job.program, levels);
    job.checked = std::move(checked);
  }
}

ReportOptions Jobs::report(const Job &job) {
  ReportOptions report;
  report.program = job.input.name;
  report.all = options.all;
  report.maxErrors = options.maxErrors;
  report.sources = sources_.get();
  report.color = useColor(options, streams.out);
  return report;
}

/// The axes of a spec that are Auto on a mesh, each once, by name.
static std::string autoAxes(const Context &cx, const PartitionSpec &spec,
                            const Mesh &mesh) {
  AxisSet isAuto = mesh.axesOf(AxisType::Auto), said;
  std::string names;
  for (const SpecEntry &entry : spec.partitions)
    for (StringId name : entry.axes)
      if (std::optional<unsigned> axis = mesh.find(name);
          axis && isAuto.contains(*axis) && !said.contains(*axis)) {
        said |= AxisSet::of(ArrayRef(static_cast<uint8_t>(*axis)));
        names += (names.empty() ? "" : ", ") + cx.str(name).str();
      }
  return names;
}

/// structure/retype.1: what a spec asks of Auto axes shows nowhere else.
void Jobs::noteAutoAxes(const Job &job) {
  const CheckOptions &asked = job.checked->options;
  const Mesh &mesh = context.meshOrEmpty(job.checked->mesh);
  auto note = [&](const std::vector<ArgumentSpec> &specs) {
    for (const ArgumentSpec &spec : specs) {
      std::string names = autoAxes(context, spec.spec, mesh);
      if (names.empty())
        continue;
      streams.err << "shardtype: note: " << spec.origin << " names '" << names
                  << "', Auto on this mesh: no type shows it, and it is not "
                     "checked\n";
    }
  };
  note(asked.in);
  note(asked.out);
}

void Jobs::reportText(const Job &job, raw_ostream &os) {
  if (!job.inputErrors.empty())
    printInputErrors(streams.err, job.inputErrors, report(job));
  if (job.usable())
    noteAutoAxes(job);
  if (job.usable())
    printCheck(os, *job.checked, report(job));
}

void Jobs::writeJson(
    llvm::function_ref<void(llvm::json::OStream &, const Job &)> write) {
  llvm::json::OStream json(streams.out, 1);
  auto objects = [&] {
    for (const Job &job : all)
      write(json, job);
  };
  if (all.size() > 1 || options.split)
    json.array(objects);
  else
    objects();
  json.flush();
  streams.out << '\n';
}
