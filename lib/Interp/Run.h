// Run.h - one run of a program: its devices and the workers that step them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_RUN_H
#define SHARDTYPE_LIB_INTERP_RUN_H

#include "Device.h"
#include "Workers.h"
#include "shardtype/Kernels/Parallel.h"
#include <condition_variable>
#include <deque>

namespace shardtype::interp {

/// Where devices meet: one collective equation, reached by one path, for one
/// group of devices.
struct MeetKey {
  uint64_t path = 0, equation = 0, group = 0;
  int64_t others = 0; // The place along axes that the group does not span.
  friend auto operator<=>(const MeetKey &, const MeetKey &) = default;
};

/// A group that is not complete.
struct Waiting {
  std::vector<Meet *> members; // By place; null: has not come.
  unsigned arrived = 0;
  AxisList axes;
  int64_t group = -1;
};

class Run final : public kernels::Helpers {
public:
  Run(const Plans &plans, const RunOptions &options, Workers &workers,
      MemoryPool *memory);
  ~Run() override;
  RunResult run(std::vector<Argument> arguments);
  /// What a worker thread does until the run ends.
  void work();

  // For devices.
  const Plans &plans() const { return plans_; }
  const RunOptions &options() const { return options_; }
  void ready(ArrayRef<Device *> devices);
  void trace(const Device &device, VarId var, const Datum &value);
  void note(RunError note);
  void count(unsigned statistic, uint64_t nanoseconds, uint64_t bytes);
  SharedResults shared;

  // For kernels.
  void forEach(int64_t parts,
               llvm::function_ref<void(int64_t part)> body) override;

private:
  /// A kernel that is computed by parts.
  struct Parts {
    llvm::function_ref<void(int64_t)> body;
    int64_t count;
    std::atomic<int64_t> next{0};
    unsigned helping = 0; // Workers besides its own.
    void work();
  };
  void help(std::unique_lock<std::mutex> &lock);
  void await(std::unique_lock<std::mutex> &lock);
  Device &next(unsigned worker);
  void end();
  void drive(Device &device);
  void arrive(Device &device, Meet &meeting);
  bool placeOf(Device &device, Meet &meeting, MeetKey &key, unsigned &size);
  void complete(std::vector<Meet *> members);
  void startFork(Device &device, Fork &fork);
  void finish(Device &device);
  void fail(RunError error);
  void reportDeadlock();

  const Plans &plans_;
  const RunOptions &options_;
  std::unique_ptr<Device> root_;
  MemoryAccount *account_;
  uint64_t argumentBytes_ = 0; // That the account counts beside buffers.

  std::mutex queueMutex_;
  std::condition_variable wake_;
  std::deque<Device *> queue_;
  unsigned active_ = 0;            // Devices in the queue, or being stepped.
  unsigned idle_ = 0;              // Workers that wait.
  unsigned begun_ = 0;             // Workers, so far.
  std::atomic<uint32_t> calls_{0}; // Changes when there is something to do.
  bool finished_ = false;
  SmallVector<Parts *, 4> parts_; // Some of which nobody has begun.
  std::condition_variable helped_;

  std::mutex meetMutex_;
  std::map<MeetKey, Waiting> meetings_;

  std::mutex reportMutex_;
  RunResult result_;
  std::vector<RunStatistics::Row> counts_; // By Step::statistic.
  Workers &pool_;
  unsigned workers_;
  std::atomic<bool> hasHelp_ = false; // Of the pool.
};

} // namespace shardtype::interp

#endif
