// Interp.h - runs a typed program: whole, and on simulated devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_INTERP_INTERP_H
#define SHARDTYPE_INTERP_INTERP_H

#include "shardtype/Rules/CheckedProgram.h"
#include "shardtype/Rules/Eval.h"
#include <functional>
#include <map>

namespace shardtype {

/// Something that stands against running a program, or ended its run.
struct RunError {
  std::string message;
  std::string path;   // Of the equation; empty: of no single one.
  StackId stack;      // The user's source.
  std::string device; // `x=0,y=1`; empty: outside of shard_map.
  std::vector<std::string> notes;
  /// Of a constant that lacks its value; `RunOptions` may give it.
  bool aboutValue = false;
};

/// A value that was asked for while it was computed.
struct Traced {
  VarId var;
  std::string device;
  Tensor value;
  PartialSumsRef sums; // With EvalOptions::keepSums, of an unreduced value.
};

/// What devices hold of an argument: as `device_put` places it. Null: its type
/// is not unreduced.
PartialSumsRef sumsOfArgument(const Context &cx, TypeId type,
                              const Tensor &value);

struct RunOptions {
  EvalOptions eval;
  unsigned workers = 0; // Threads that step devices; 0: as many as cores.
  bool statistics = false;
  std::vector<VarId> traced;
  /// Values of constants that the file leaves out, by index in
  /// Program::arrays.
  std::map<int64_t, Tensor> constants;
  /// Values of constvars that are in no file at all.
  std::map<uint32_t, Tensor> constvars; // By raw VarId.
  /// What devices hold of unreduced arguments, by position; of others what
  /// `sumsOfArgument` says.
  std::map<unsigned, PartialSumsRef> argumentSums;
  /// Results that a region leaves in blocks are not put together.
  bool keepBlocks = false;
  /// Called before a device is stepped, by tests that delay some.
  std::function<void()> beforeStep;
  /// Counts the run's buffers, and its arguments while it runs; must outlive
  /// it. Null: one of the run's own.
  MemoryAccount *account = nullptr;
};

struct RunStatistics {
  struct Row {
    uint64_t calls = 0, nanoseconds = 0, bytes = 0;
  };
  std::map<std::string, Row> primitives; // Time of kernels and collectives.
  uint64_t nanoseconds = 0, peakBytes = 0;
};

/// A value for an argument: an array, or the blocks that devices hold of it.
/// Those are passed on to a region that asks for the same; anything else puts
/// them together.
struct Argument {
  Tensor array;
  std::shared_ptr<const DeviceBlocks> blocks; // In place of `array`.
  Argument(Tensor whole) : array(std::move(whole)) {}
  Argument(std::shared_ptr<const DeviceBlocks> held)
      : blocks(std::move(held)) {}
  /// Memory that devices share counts once.
  uint64_t bytes() const;
};

struct RunResult {
  std::vector<Tensor> results; // Of the program, whole; none: in `blocks`.
  /// By result; null: it is whole. Only with `RunOptions::keepBlocks`.
  std::vector<std::shared_ptr<const DeviceBlocks>> blocks;
  std::vector<PartialSumsRef> sums; // Of each result, as Traced::sums.
  std::optional<RunError> error;
  std::vector<RunError> notes;
  std::vector<Traced> traced;
  RunStatistics statistics;
};

/// A program made ready to run, any number of times. The checked program must
/// outlive it.
class Interpreter {
public:
  Interpreter(const CheckedProgram &program, const PrimitiveSet &primitives,
              RunOptions options = {});
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;

  /// What stands against running it, such as primitives without a kernel.
  const std::vector<RunError> &errors() const;
  /// The most bytes that values will take at once, by their types; amounts as
  /// in Bytes.h.
  uint64_t predictedBytes() const;
  /// Runs it on one value per argument; others than the arguments' types are
  /// an error in the result. Only if `errors` is empty. Several threads may run
  /// it at once.
  RunResult run(std::vector<Tensor> arguments);
  RunResult runHeld(std::vector<Argument> arguments);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace shardtype

#endif
