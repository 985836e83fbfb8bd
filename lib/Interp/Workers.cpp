// Workers.cpp - threads that outlive the runs they work for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Workers.h"
#include "Run.h"

using namespace shardtype;
using namespace shardtype::interp;

Workers::~Workers() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_all();
  }
  for (std::thread &thread : threads_)
    thread.join();
}

void Workers::begin(Run &run, unsigned count) {
  std::lock_guard lock(mutex_);
  wanted_.insert(wanted_.end(), count, &run);
  while (threads_.size() < count)
    threads_.emplace_back([this] { loop(); });
  wake_.notify_all();
}

void Workers::end(Run &run) {
  std::unique_lock lock(mutex_);
  std::erase(wanted_, &run);
  left_.wait(lock, [&] { return !working_.count(&run); });
}

void Workers::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return closing_ || !wanted_.empty(); });
    if (closing_)
      return;
    Run *run = wanted_.front();
    wanted_.pop_front();
    ++working_[run];
    lock.unlock();
    run->work();
    lock.lock();
    if (--working_[run] > 0)
      continue;
    working_.erase(run);
    left_.notify_all();
  }
}
