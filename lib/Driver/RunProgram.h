// RunProgram.h - makes a program ready to run, and runs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_RUNPROGRAM_H
#define SHARDTYPE_LIB_DRIVER_RUNPROGRAM_H

#include "RunArrays.h"
#include "shardtype/Interp/Interp.h"

namespace shardtype {

/// `model.py:41: error: ...` and where; `name` is the program's.
void printRunError(raw_ostream &os, const Program &program, StringRef name,
                   StringRef level, const RunError &error);

/// A program and the arrays that the options give it.
class PreparedRun {
public:
  PreparedRun(const CheckedProgram &checked, const PrimitiveSet &primitives,
              const Options &options, StringRef verb, StringRef name)
      : checked_(checked), primitives_(primitives), options_(options),
        verb_(verb), name_(name) {}
  /// 0: `run` may follow, once. Otherwise the exit code, and `err` says why.
  int prepare(RunOptions &options, raw_ostream &err);
  RunResult run();
  /// Until `run`.
  ArrayRef<Tensor> arguments() const { return arrays_.arguments; }

private:
  const CheckedProgram &checked_;
  const PrimitiveSet &primitives_;
  const Options &options_;
  StringRef verb_, name_;
  RunArrays arrays_;
  std::unique_ptr<Interpreter> interpreter_;
};

} // namespace shardtype

#endif
