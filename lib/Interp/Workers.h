// Workers.h - threads that outlive the runs they work for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_INTERP_WORKERS_H
#define SHARDTYPE_LIB_INTERP_WORKERS_H

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace shardtype::interp {

class Run;

/// Started when they are first asked for. Several runs may share them: each has
/// a thread of its own as well, so that it goes on when all are taken.
class Workers {
public:
  Workers() = default;
  ~Workers();
  Workers(const Workers &) = delete;
  /// `count` of them are to call `run.work()`.
  void begin(Run &run, unsigned count);
  /// Waits until none works for it any more. It must have ended.
  void end(Run &run);

private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_, left_;
  std::vector<std::thread> threads_;
  std::deque<Run *> wanted_;
  std::map<Run *, unsigned> working_;
  bool closing_ = false;
};

} // namespace shardtype::interp

#endif
