// Run.h - one run of a program: its devices and the workers that step them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_RUN_H
#define SHARDTYPE_LIB_INTERP_RUN_H

#include "Device.h"
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

class Run {
public:
  Run(const Plans &plans, const RunOptions &options);
  ~Run();
  RunResult run(std::vector<Tensor> arguments);
  /// What a worker thread does until the run ends.
  void work();

  // For devices.
  const Plans &plans() const { return plans_; }
  const RunOptions &options() const { return options_; }
  void ready(Device *device);
  void trace(const Device &device, VarId var, const Datum &value);
  void note(RunError note);
  void count(unsigned statistic, uint64_t nanoseconds, uint64_t bytes);
  SharedResults shared;

private:
  void drive(Device &device);
  void arrive(Device &device, Meet &meeting);
  bool placeOf(Device &device, Meet &meeting, MeetKey &key, unsigned &size);
  void complete(std::vector<Meet *> members);
  void startFork(Device &device, Fork &fork);
  void finish(Device &device);
  void fail(RunError error);
  void reportDeadlock();
  void describe(const Waiting &waiting, std::vector<std::string> &notes) const;
  Device *deviceAt(Device &like, const Waiting &waiting, unsigned place) const;

  const Plans &plans_;
  const RunOptions &options_;
  std::unique_ptr<Device> root_;
  MemoryAccount *account_;
  uint64_t argumentBytes_ = 0; // That the account counts beside buffers.

  std::mutex queueMutex_;
  std::condition_variable wake_;
  std::deque<Device *> queue_;
  unsigned active_ = 0; // Devices in the queue, or being stepped.
  unsigned idle_ = 0;   // Workers that wait.
  bool finished_ = false;

  std::mutex meetMutex_;
  std::map<MeetKey, Waiting> meetings_;

  std::mutex reportMutex_;
  RunResult result_;
  std::vector<RunStatistics::Row> counts_; // By Step::statistic.
  std::vector<std::thread> threads_;
  unsigned workers_;
};

} // namespace shardtype::interp

#endif
