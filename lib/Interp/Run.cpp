// Run.cpp - workers, forks and meetings of devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers take devices from one queue and step them until they wait. A device
// waits for its children, for the other members of a collective, or for a
// result that another device is computing. It is registered there only after it
// has stopped: whoever completes the group may step it at once.
//
// When no device is queued or stepped and the first one has not ended, nothing
// can ever go on: that is a deadlock, found without any timeout. The groups
// that are not complete say who waits where.
#include "Run.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace shardtype;
using namespace shardtype::interp;

Run::Run(const Plans &plans, const RunOptions &options, Workers &workers,
         MemoryPool *memory)
    : plans_(plans), options_(options),
      account_(options.account ? options.account
                               : MemoryAccount::create(memory)),
      counts_(plans.names.size()), pool_(workers) {
  if (options.account)
    account_->retain();
  // To count the cores is to read a file.
  static const unsigned cores =
      std::max(1u, std::thread::hardware_concurrency());
  workers_ = options.workers ? options.workers : cores;
}

Run::~Run() {
  root_.reset();
  account_->remove(argumentBytes_);
  account_->release();
}

namespace {
/// Denormals count as zero on this thread while it stands.
class DenormalMode {
public:
  explicit DenormalMode(bool flush) {
#if defined(__SSE2__)
    saved_ = _mm_getcsr();
    if (flush)
      _mm_setcsr(saved_ | 0x8040u); // FTZ and DAZ.
#else
    (void)flush;
#endif
  }
  ~DenormalMode() {
#if defined(__SSE2__)
    _mm_setcsr(saved_);
#endif
  }

private:
#if defined(__SSE2__)
  unsigned saved_;
#endif
};
} // namespace

RunResult Run::run(std::vector<Argument> arguments) {
  auto begin = std::chrono::steady_clock::now();
  root_ = std::make_unique<Device>(*this);
  std::vector<Datum> inputs;
  const Context &cx = plans_.checked().program->context();
  for (auto [argument, type] :
       llvm::zip_equal(arguments, plans_.checked().argumentTypes)) {
    account_->add(argument.bytes());
    argumentBytes_ += argument.bytes();
    inputs.emplace_back(std::move(argument.array));
    inputs.back().blocks = std::move(argument.blocks);
    if (!options_.eval.keepSums)
      continue;
    inputs.back().assemble(cx);
    auto given = options_.argumentSums.find(inputs.size() - 1);
    inputs.back().sums = given != options_.argumentSums.end()
                             ? given->second
                             : sumsOfArgument(cx, type, inputs.back().tensor);
  }
  arguments.clear();
  root_->start(*plans_.entry(), std::move(inputs), 1, 1);
  ready(root_.get());
  work();
  pool_.end(*this);
  if (!result_.error && !root_->done)
    reportDeadlock();
  if (!result_.error)
    for (Datum &value : root_->results) {
      result_.results.push_back(std::move(value.tensor));
      result_.sums.push_back(std::move(value.sums));
      result_.blocks.push_back(std::move(value.blocks));
    }
  // Devices come to a value in any order.
  llvm::stable_sort(result_.traced, [](const Traced &a, const Traced &b) {
    return StringRef(a.device).compare_numeric(b.device) < 0;
  });
  for (auto [name, row] : llvm::zip_equal(plans_.names, counts_))
    if (row.calls)
      result_.statistics.primitives[name] = row;
  result_.statistics.peakBytes = account_->peak();
  result_.statistics.nanoseconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now() - begin)
          .count());
  return std::move(result_);
}

//===--- Workers ----------------------------------------------------------===//

/// A moment of doing nothing.
static void doNothing() {
#if defined(__SSE2__)
  _mm_pause();
#endif
}

void Run::ready(ArrayRef<Device *> devices) {
  if (devices.empty())
    return;
  std::lock_guard lock(queueMutex_);
  queue_.insert(queue_.end(), devices.begin(), devices.end());
  active_ += devices.size();
  calls_.fetch_add(1, std::memory_order_relaxed);
  if (idle_ > 0)
    devices.size() == 1 ? wake_.notify_one() : wake_.notify_all();
}

void Run::Parts::work() {
  for (int64_t part; (part = next.fetch_add(1)) < count;)
    body(part);
}

/// Works on a kernel of another worker.
void Run::help(std::unique_lock<std::mutex> &lock) {
  Parts &parts = *parts_.back();
  ++parts.helping;
  lock.unlock();
  parts.work();
  lock.lock();
  llvm::erase(parts_, &parts);
  if (--parts.helping == 0)
    helped_.notify_all();
}

void Run::forEach(int64_t count, llvm::function_ref<void(int64_t part)> body) {
  Parts parts{body, count};
  if (!hasHelp_)
    return parts.work();
  {
    std::lock_guard lock(queueMutex_);
    parts_.push_back(&parts);
    calls_.fetch_add(1, std::memory_order_relaxed);
    if (idle_ > 0)
      wake_.notify_all();
  }
  parts.work();
  std::unique_lock lock(queueMutex_);
  llvm::erase(parts_, &parts);
  helped_.wait(lock, [&] { return parts.helping == 0; });
}

/// Under the lock of the queue.
void Run::end() {
  finished_ = true;
  calls_.fetch_add(1, std::memory_order_relaxed);
  wake_.notify_all();
}

/// Waits until there is something to do, or the run has ended: first awake,
/// since most waits are shorter than it takes to be woken.
void Run::await(std::unique_lock<std::mutex> &lock) {
  auto isCalled = [&] {
    return finished_ || !parts_.empty() || !queue_.empty();
  };
  if (workers_ > 1 && !isCalled()) {
    uint32_t calls = calls_.load(std::memory_order_relaxed);
    lock.unlock();
    constexpr unsigned Turns = 400; // Some 20 microseconds.
    for (unsigned turn = 0;
         turn < Turns && calls_.load(std::memory_order_relaxed) == calls;
         ++turn)
      doNothing();
    lock.lock();
  }
  ++idle_;
  wake_.wait(lock, isCalled);
  --idle_;
}

/// From the queue, rather one that this worker has stepped before: its values
/// are in the caches of this core, and its memory is this thread's to free.
Device &Run::next(unsigned worker) {
  constexpr size_t Most = 64;
  auto at = queue_.begin(), end = at + std::min(queue_.size(), Most);
  auto own = std::find_if(
      at, end, [&](const Device *device) { return device->worker == worker; });
  Device &device = **(own == end ? at : own);
  queue_.erase(own == end ? at : own);
  device.worker = worker;
  return device;
}

void Run::work() {
  MemoryAccount::Scope scope(account_);
  Helpers::Scope helpers(this);
  DenormalMode mode(options_.eval.flushDenormals);
  std::unique_lock lock(queueMutex_);
  const unsigned self = begun_++;
  while (true) {
    await(lock);
    if (finished_)
      return;
    if (!parts_.empty()) {
      help(lock);
      continue;
    }
    Device &device = next(self);
    lock.unlock();
    if (options_.beforeStep)
      options_.beforeStep();
    drive(device);
    lock.lock();
    if (--active_ == 0)
      end();
  }
}

/// Steps a device, then registers what it waits for. From there on it may
/// belong to another thread.
void Run::drive(Device &device) {
  device.waits = false;
  switch (device.step()) {
  case Device::Status::Done:
    return finish(device);
  case Device::Status::Failed:
    return fail(*device.error);
  case Device::Status::Waiting:
    break;
  }
  device.waits = true;
  if (Meet *meeting = std::exchange(device.wantsMeet, nullptr))
    return arrive(device, *meeting);
  if (Fork *fork = std::exchange(device.wantsFork, nullptr))
    return startFork(device, *fork);
  std::optional<SharedKey> key =
      std::exchange(device.wantsShared, std::nullopt);
  assert(key && "a device waits for something");
  if (!shared.wait(*key, &device))
    ready(&device);
}

void Run::fail(RunError error) {
  {
    std::lock_guard lock(reportMutex_);
    if (!result_.error)
      result_.error = std::move(error);
  }
  std::lock_guard lock(queueMutex_);
  end();
}

//===--- Forks ------------------------------------------------------------===//

void Run::startFork(Device &device, Fork &fork) {
  const Step &step = *device.current();
  const Plan *plan = step.planOf(fork.body);
  if (!plan ||
      plan->inputs.size() != (fork.inputs.empty() ? 0 : fork.inputs[0].size()))
    return fail(device.errorHere("'" + fork.cx.name().str() +
                                 "' runs a body that was not typed"));
  const Mesh &mesh = plans_.checked().program->context().mesh(fork.mesh);
  unsigned count = fork.inputs.size();
  fork.outputs.resize(count);
  device.forked = &fork;
  device.unfinished = count;
  device.children.reserve(count);
  uint64_t place = mixHash(device.top().pc + 1, fork.body.raw());
  for (unsigned i = 0; i < count; ++i) {
    auto child = std::make_unique<Device>(*this);
    child->parent = &device;
    child->number = i;
    child->meshId = fork.mesh;
    child->mesh = &mesh;
    child->manual = device.manual | fork.axes;
    child->coordinates = coordinatesOf(mesh, fork.axes, i);
    for (uint8_t axis : device.manual.list())
      child->coordinates[axis] = device.coordinates[axis];
    child->start(*plan, std::move(fork.inputs[i]),
                 mixHash(device.top().path, place),
                 mixHash(device.top().moment, place));
    device.children.push_back(std::move(child));
  }
  // Only regions have work for several threads.
  if (workers_ > 1 && !hasHelp_.exchange(true))
    pool_.begin(*this, workers_ - 1);
  // Once all children are queued `device` may be stepped by others.
  SmallVector<Device *, 8> children;
  for (auto &child : device.children)
    children.push_back(child.get());
  ready(children);
}

void Run::finish(Device &device) {
  device.done = true;
  Device *parent = device.parent;
  if (!parent) {
    if (!options_.keepBlocks)
      for (Datum &value : device.results)
        value.assemble(plans_.checked().program->context());
    std::lock_guard lock(queueMutex_);
    end();
    return;
  }
  parent->forked->outputs[device.number] = std::move(device.results);
  if (parent->unfinished.fetch_sub(1) != 1)
    return;
  parent->children.clear(); // `device` too.
  ready(parent);
}

//===--- Meetings ---------------------------------------------------------===//

/// Which group a device belongs to and its place in it; false: in none.
bool Run::placeOf(Device &device, Meet &meeting, MeetKey &key, unsigned &size) {
  key.path = device.top().path;
  key.equation = device.top().pc;
  AxisSet named = AxisSet::of(meeting.axes);
  int64_t place = 0, count = 1;
  for (uint8_t axis : meeting.axes) {
    place = place * device.mesh->axes[axis].size + device.coordinates[axis];
    count *= device.mesh->axes[axis].size;
  }
  key.others =
      placeAlong(*device.mesh, device.manual - named, device.coordinates);
  meeting.place = static_cast<unsigned>(place);
  size = static_cast<unsigned>(count);
  if (meeting.groups.empty())
    return true;
  for (auto [g, members] : llvm::enumerate(meeting.groups))
    for (auto [k, member] : llvm::enumerate(members))
      if (member == place) {
        key.group = g + 1;
        meeting.place = static_cast<unsigned>(k);
        size = members.size();
        return true;
      }
  return false;
}

void Run::arrive(Device &device, Meet &meeting) {
  MeetKey key;
  unsigned size = 0;
  if (!(AxisSet::of(meeting.axes) - device.manual).empty() ||
      !placeOf(device, meeting, key, size))
    return fail(device.errorHere("'" + meeting.cx.name().str() +
                                 "': this device is in none of its groups"));
  std::vector<Meet *> members;
  {
    std::lock_guard lock(meetMutex_);
    Waiting &waiting = meetings_[key];
    if (waiting.members.empty()) {
      waiting.members.resize(size);
      waiting.axes = meeting.axes;
      waiting.group = static_cast<int64_t>(key.group) - 1;
    }
    assert(!waiting.members[meeting.place] && "a device waits once");
    waiting.members[meeting.place] = &meeting;
    if (++waiting.arrived < size)
      return;
    members = std::move(waiting.members);
    meetings_.erase(key);
  }
  complete(std::move(members));
}

void Run::complete(std::vector<Meet *> members) {
  std::vector<Device *> devices;
  for (Meet *member : members)
    devices.push_back(static_cast<Device *>(&member->cx.host()));
  auto begin = std::chrono::steady_clock::now();
  if (llvm::failed(members.front()->complete(members))) {
    size_t at = 0; // Whose fault it is.
    while (at + 1 < members.size() && members[at]->cx.message().empty())
      ++at;
    return fail(devices[at]->errorHere("'" + members[at]->cx.name().str() +
                                       "' " + members[at]->cx.message()));
  }
  if (options_.statistics) {
    uint64_t bytes = 0;
    for (Meet *member : members)
      for (const Datum &value : member->outputs)
        bytes += value.tensor.bytes();
    auto spent = std::chrono::steady_clock::now() - begin;
    count(devices.front()->current()->statistic,
          static_cast<uint64_t>(
              std::chrono::duration_cast<std::chrono::nanoseconds>(spent)
                  .count()),
          bytes);
  }
  ready(devices);
}

//===--- Reports ----------------------------------------------------------===//

void Run::trace(const Device &device, VarId var, const Datum &value) {
  std::lock_guard lock(reportMutex_);
  result_.traced.push_back({var, device.name(), value.tensor, value.sums});
}

void Run::note(RunError note) {
  std::lock_guard lock(reportMutex_);
  result_.notes.push_back(std::move(note));
}

void Run::count(unsigned statistic, uint64_t nanoseconds, uint64_t bytes) {
  std::lock_guard lock(reportMutex_);
  RunStatistics::Row &row = counts_[statistic];
  ++row.calls;
  row.nanoseconds += nanoseconds;
  row.bytes += bytes;
}
