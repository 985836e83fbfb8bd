// Jobs.h - the programs of a command that checks them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_JOBS_H
#define SHARDTYPE_LIB_DRIVER_JOBS_H

#include "Options.h"
#include "shardtype/Rules/OwnPrimitives.h"
#include <deque>

namespace shardtype {

/// One program of a command, whatever became of it.
struct Job {
  InputText input;
  std::optional<Program> program;
  std::optional<CheckedProgram> checked;
  DiagnosticList inputErrors;
  bool usable() const { return checked && !inputErrors.hasErrors(); }
  int exitCode() const;
};

/// Reads and checks every program named on the command line.
class Jobs {
public:
  Jobs(const Options &options, Streams streams);

  /// False: the options are unusable, and that has been said.
  bool prepare();
  /// Parts findings about options from the others and gives those the levels
  /// asked for.
  void settle();
  /// After `settle`: where checking goes on with something else than a fix (the
  /// sound result of what JAX merely has no rule for), the first fix is taken.
  void chooseFirstFixes();
  int exitCode() const; // The worst.

  ReportOptions report(const Job &job);
  /// Input errors to the error stream, and what `check` says of the program to
  /// `os`.
  void reportText(const Job &job, raw_ostream &os);
  /// Says on the error stream which specs asked for name Auto axes.
  void noteAutoAxes(const Job &job);
  /// One object for each job, or a list of them.
  void
  writeJson(llvm::function_ref<void(llvm::json::OStream &, const Job &)> job);
  bool fail(StringRef message);

  const Options &options;
  Streams streams;
  Context context;
  OwnPrimitives own;
  PrimitiveSet primitives;
  CheckOptions check;
  LevelOptions levels;
  std::deque<Job> all; // Programs do not move once they are checked.

private:
  void addFile(StringRef path);
  void load(Job &job, StringRef bytes);
  std::unique_ptr<Sources> sources_;
};

} // namespace shardtype

#endif
