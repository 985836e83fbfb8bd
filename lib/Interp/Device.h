// Device.h - one simulated device: a stack of bodies that is stepped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device is a state machine. Its stack holds a frame for each body that it is
// in; the equation that a frame stands at may be a coroutine (a loop, a call, a
// collective). `step` goes on until the device is done, has failed, or has to
// wait. What it waits for is registered by the scheduler after `step` has
// returned: from then on another thread may step it.
//
// Values that do not vary over some Manual axis are equal on devices that
// differ only there. `Datum::varying` follows what values are computed from, so
// it holds whatever types say: operands of an equation, and what decided that
// it runs at all (`Frame::control`). Such an equation is computed by the first
// device that comes to it, and taken by the others; see Shared.h.
#ifndef SHARDTYPE_LIB_INTERP_DEVICE_H
#define SHARDTYPE_LIB_INTERP_DEVICE_H

#include "Plan.h"
#include "Shared.h"

namespace shardtype::interp {

class Run;

/// A suspending equation while it runs.
struct Suspended {
  Suspended(const EvalContext::Equation &equation, EvalHost &host,
            const EvalOptions &options, SmallVector<Datum *, 6> operandSlots,
            uint64_t lastUses, unsigned numResults, AxisSet control,
            AxisSet over)
      : operands(std::move(operandSlots)), results(numResults),
        cx(equation, host, options, operands, lastUses, results, control, over),
        varying(over) {}
  SmallVector<Datum *, 6> operands;
  std::vector<Datum> results;
  EvalContext cx;
  Task task;
  uint64_t calls = 0; // Of bodies, so far.
  AxisSet varying;    // What some operand varies over.
};

struct BodyFrame {
  const Plan *plan = nullptr;
  std::unique_ptr<Datum[]> slots;
  size_t pc = 0;
  /// Which equations led here, and which trips of them.
  uint64_t path = 0, moment = 0;
  AxisSet control;
  BodyCall *call = nullptr; // Who waits for its results.
  std::unique_ptr<Suspended> suspended;
};

class Device final : public EvalHost {
public:
  enum class Status { Done, Failed, Waiting };

  explicit Device(Run &run) : run_(run) {}

  /// Makes it start on a body.
  void start(const Plan &plan, std::vector<Datum> inputs, uint64_t path,
             uint64_t moment);
  Status step();

  void enter(BodyCall &call) override;
  void meet(Meet &meeting) override { wantsMeet = &meeting; }
  void fork(Fork &region) override { wantsFork = &region; }
  int64_t coordinate(unsigned axis) const override { return coordinates[axis]; }
  AxisSet manualAxes() const override { return manual; }
  MeshId deviceMesh() const override { return meshId; }
  void note(EvalContext &cx, std::string text) override;

  /// The equation that it stands at; null: none.
  const Step *current() const;
  const BodyFrame &top() const { return *frames_.back(); }
  bool running() const { return !frames_.empty(); }
  /// From the outermost body on.
  ArrayRef<std::unique_ptr<BodyFrame>> frames() const { return frames_; }
  /// `x=0,y=1`; empty outside of regions.
  std::string name() const;
  /// ` (trip 2)`, from 1; of loops in loops ` (trips 2, 1)`, the outer first.
  /// Empty: it is in no loop.
  std::string trips() const;
  RunError errorHere(std::string message) const;

  // Its place.
  Device *parent = nullptr;
  unsigned number = 0; // Among the parent's children.
  MeshId meshId;
  const Mesh *mesh = nullptr;
  AxisSet manual;
  SmallVector<int64_t, 4> coordinates; // By axis of the mesh.

  unsigned worker = ~0u; // Who stepped it last.

  // What it wants when `step` returns Waiting.
  Meet *wantsMeet = nullptr;
  Fork *wantsFork = nullptr;
  std::optional<SharedKey> wantsShared;

  // Of a fork that it waits for.
  std::vector<std::unique_ptr<Device>> children;
  std::atomic<unsigned> unfinished{0};
  Fork *forked = nullptr;

  bool waits = false, done = false; // For the report.
  std::vector<Datum> results;
  std::optional<RunError> error;

private:
  bool runKernel(BodyFrame &frame, const Step &step);
  void startTask(BodyFrame &frame, const Step &step);
  bool finishTask(BodyFrame &frame, const Step &step);
  void store(BodyFrame &frame, const Step &step, MutableArrayRef<Datum> values);
  void leave();
  void fail(EvalContext &cx);
  std::optional<SharedKey> sharedKey(const BodyFrame &frame, AxisSet varying,
                                     unsigned &takers) const;

  Run &run_;
  std::vector<std::unique_ptr<BodyFrame>> frames_;
  BodyCall *entering_ = nullptr;
};

} // namespace shardtype::interp

#endif
