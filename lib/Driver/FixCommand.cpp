// FixCommand.cpp - `shardtype fix`: the assumed fixes in the user's source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jobs.h"
#include "shardtype/Report/Edits.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace shardtype;

namespace {
/// What is to be done to one file.
struct FilePlan {
  std::vector<SourceChange> changes;
  std::vector<std::string> imports;
};

class SourceFixer {
public:
  SourceFixer(const CheckedProgram &checked, Sources &sources,
              const Options &options, Streams streams)
      : checked_(checked), program_(*checked.program),
        edits_(checked, &sources), sources_(sources), options_(options),
        streams_(streams) {}
  int run();

private:
  void plan(const Diagnostic &d);
  void add(const Diagnostic &d, const SourceEdit &edit);
  void leave(const Diagnostic &d, const std::string &why);
  LogicalResult checkFiles();
  LogicalResult checkWritable();
  LogicalResult write(StringRef file, const FilePlan &plan);
  llvm::SmallString<128> pathOf(StringRef file) const {
    llvm::SmallString<128> path(options_.sourceRoot);
    llvm::sys::path::append(path, file);
    return path;
  }

  const CheckedProgram &checked_;
  const Program &program_;
  Edits edits_;
  Sources &sources_;
  const Options &options_;
  Streams streams_;
  std::map<std::string, FilePlan> files_;
  unsigned left_ = 0; // Errors that stay.
};
} // namespace

void SourceFixer::leave(const Diagnostic &d, const std::string &why) {
  streams_.err << place(program_, d) << ": " << info(d.code).code << ": " << why
               << '\n';
  ++left_;
}

/// Is a change of the same expression at the same place another one?
static bool contradicts(const SourceChange &a, const SourceChange &b) {
  return a.line == b.line && a.column == b.column && a.owner == b.owner &&
         a.closes == b.closes && !(a == b);
}

void SourceFixer::add(const Diagnostic &d, const SourceEdit &edit) {
  FilePlan &plan = files_[edit.file];
  for (const SourceChange &change : edit.changes)
    for (const SourceChange &other : plan.changes)
      if (contradicts(change, other))
        return leave(d, "another edit of the same expression was chosen; the "
                        "line runs with different types");
  bool isNew = false;
  for (const SourceChange &change : edit.changes)
    if (!llvm::is_contained(plan.changes, change)) {
      plan.changes.push_back(change);
      isNew = true;
    }
  for (const std::string &line : edit.imports)
    if (!llvm::is_contained(plan.imports, line))
      plan.imports.push_back(line);
  if (!isNew)
    return;
  streams_.err << place(program_, d) << ": " << info(d.code).code << ": "
               << edit.oneLine();
  if (edit.alsoAt)
    streams_.err << " (runs " << edit.alsoAt + 1 << " times in the program)";
  streams_.err << '\n';
}

void SourceFixer::plan(const Diagnostic &d) {
  std::vector<SourceEdit> all;
  for (const Fix &fix : d.fixes) {
    if (!fix.assumed)
      continue;
    std::optional<SourceEdit> edit = edits_.edit(d, fix);
    if (!edit || edit->file.empty())
      return leave(d, "no edit of the source is known for this fix");
    all.push_back(std::move(*edit));
  }
  if (all.empty())
    return leave(d, "there is no fix to assume");
  for (const SourceEdit &edit : all)
    add(d, edit);
}

/// All or none: every file has to be one that its owner lets be written, also
/// where the one who asks may write whatever there is.
LogicalResult SourceFixer::checkWritable() {
  namespace fs = llvm::sys::fs;
  bool good = true;
  for (const auto &[file, plan] : files_) {
    llvm::SmallString<128> path = pathOf(file);
    auto perms = fs::getPermissions(path);
    if (perms && (*perms & fs::all_write) != fs::no_perms &&
        fs::can_write(path))
      continue;
    good = false;
    streams_.err << "shardtype: '" << file << "' is read-only\n";
  }
  return success(good);
}

/// All or none: no file may differ from what was exported.
LogicalResult SourceFixer::checkFiles() {
  bool good = true;
  std::map<std::string, bool> seen;
  for (const Diagnostic &d : checked_.diagnostics.all()) {
    bool counts = d.level == Level::Error || d.mended();
    StringRef file = counts ? edits_.file(d) : StringRef();
    if (file.empty() || !seen.insert({file.str(), true}).second)
      continue;
    Edits::FileState state = edits_.state(file);
    if (state == Edits::FileState::Same)
      continue;
    good = false;
    streams_.err << "shardtype: '" << file << "' "
                 << (state == Edits::FileState::Changed
                         ? "has changed since the program was exported; export "
                           "it again"
                         : "is not below '" + options_.sourceRoot +
                               "'; --source-root FOLDER says where it is")
                 << '\n';
  }
  return success(good);
}

LogicalResult SourceFixer::write(StringRef file, const FilePlan &plan) {
  StringRef text = *sources_.text(file);
  ChangedFile now = changed(text, plan.changes, plan.imports,
                            edits_.importsEnd(file).value_or(0));
  if (!options_.write) {
    printDiff(streams_.out, file, now);
    return success();
  }
  if (failed(writeOutput(pathOf(file), now.text(), streams_)))
    return failure();
  streams_.err << "written: " << file << '\n';
  return success();
}

int SourceFixer::run() {
  if (failed(checkFiles())) {
    streams_.err << "shardtype: nothing was written\n";
    return 2;
  }
  for (const Diagnostic &d : checked_.diagnostics.all())
    if (d.level == Level::Error || d.mended())
      plan(d);
  if (options_.write && failed(checkWritable())) {
    streams_.err << "shardtype: nothing was written\n";
    return 2;
  }
  for (const auto &[file, plan] : files_)
    if (failed(write(file, plan)))
      return 2;
  if (files_.empty() && !left_)
    streams_.err << "nothing to fix\n";
  else if (!files_.empty())
    streams_.err << (options_.write ? "export the program again and check it\n"
                                    : "--write makes these edits\n");
  return left_ ? 1 : 0;
}

int shardtype::fixCommand(const Options &options, Streams streams) {
  if (!checkInputNames(options, "fix", streams.err))
    return 2;
  Jobs jobs(options, streams);
  if (options.programs.size() != 1 || options.split) {
    jobs.fail("fix takes one program");
    return 2;
  }
  if (!jobs.prepare())
    return 2;
  jobs.settle();
  jobs.chooseFirstFixes();
  const Job &job = jobs.all.front();
  if (!job.usable() || jobs.exitCode() == 2) {
    jobs.reportText(job, streams.err);
    jobs.fail("nothing was written");
    return jobs.exitCode();
  }
  return SourceFixer(*job.checked, *jobs.report(job).sources, options, streams)
      .run();
}
