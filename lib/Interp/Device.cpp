// Device.cpp - stepping one device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Device.h"
#include "Run.h"
#include "Sums.h"
#include <chrono>

using namespace shardtype;
using namespace shardtype::interp;

static uint64_t now() {
  return static_cast<uint64_t>(
      std::chrono::steady_clock::now().time_since_epoch().count());
}

//===--- Frames -----------------------------------------------------------===//

static std::unique_ptr<BodyFrame> makeFrame(const Plan &plan,
                                            std::vector<Datum> inputs) {
  auto frame = std::make_unique<BodyFrame>();
  frame->plan = &plan;
  frame->slots = std::make_unique<Datum[]>(plan.numSlots);
  assert(inputs.size() == plan.inputs.size());
  for (auto [place, value] : llvm::zip_equal(plan.inputs, inputs))
    if (!place.nowhere())
      frame->slots[place.index()] = std::move(value);
  return frame;
}

void Device::start(const Plan &plan, std::vector<Datum> inputs, uint64_t path,
                   uint64_t moment) {
  frames_.push_back(makeFrame(plan, std::move(inputs)));
  frames_.back()->path = path;
  frames_.back()->moment = moment;
}

void Device::enter(BodyCall &call) { entering_ = &call; }

const Step *Device::current() const {
  if (frames_.empty())
    return nullptr;
  const BodyFrame &frame = *frames_.back();
  return frame.pc < frame.plan->steps.size() ? &frame.plan->steps[frame.pc]
                                             : nullptr;
}

/// The results of the top frame go to who waits for them.
void Device::leave() {
  std::unique_ptr<BodyFrame> frame = std::move(frames_.back());
  frames_.pop_back();
  std::vector<Datum> outs;
  outs.reserve(frame->plan->outs.size());
  for (auto [i, place] : llvm::enumerate(frame->plan->outs)) {
    if (place.isConstant())
      outs.push_back(frame->plan->constants[place.index()]);
    else if (frame->plan->repeats[i])
      outs.push_back(frame->slots[place.index()]);
    else
      outs.push_back(std::move(frame->slots[place.index()]));
    outs.back().varying |= frame->control;
    if (frame->call && !frame->call->takesBlocks)
      outs.back().assemble(run_.plans().checked().program->context());
  }
  if (frame->call)
    frame->call->outputs = std::move(outs);
  else
    results = std::move(outs);
}

//===--- Equations --------------------------------------------------------===//

void Device::store(BodyFrame &frame, const Step &step,
                   MutableArrayRef<Datum> values) {
  for (auto [i, var] : llvm::enumerate(step.traced))
    if (var.valid()) {
      values[i].assemble(run_.plans().checked().program->context());
      run_.trace(*this, var, values[i]);
    }
  for (uint32_t slot : step.dying)
    frame.slots[slot] = Datum();
  for (auto [place, value] : llvm::zip_equal(step.results, values))
    if (!place.nowhere())
      frame.slots[place.index()] = std::move(value);
}

RunError Device::errorHere(std::string message) const {
  RunError found;
  if (const Step *step = current())
    found = run_.plans().errorAt(*frames_.back()->plan, step->equation.eqn,
                                 std::move(message));
  else
    found.message = std::move(message);
  found.device = name();
  return found;
}

void Device::fail(EvalContext &cx) {
  std::string text = cx.message();
  error = errorHere("'" + cx.name().str() + "' " +
                    (text.empty() ? "failed" : text));
}

void Device::note(EvalContext &, std::string text) {
  run_.note(errorHere(std::move(text)));
}

std::string Device::name() const {
  return mesh ? deviceName(run_.plans().checked().program->context(), *mesh,
                           manual, coordinates)
              : "";
}

std::string Device::trips() const {
  std::string numbers;
  unsigned loops = 0;
  for (const auto &frame : llvm::drop_end(frames_)) {
    StringRef loop =
        frame->plan->steps[frame->pc].equation.primitive->info.name;
    if ((loop != "scan" && loop != "while") || !frame->suspended)
      continue;
    // A while calls its condition before each trip.
    uint64_t calls = frame->suspended->calls;
    numbers += (loops++ ? ", " : "") +
               std::to_string(loop == "scan" ? calls : (calls + 1) / 2);
  }
  return loops == 0 ? ""
                    : (loops == 1 ? " (trip " : " (trips ") + numbers + ")";
}

/// Nothing: there is no other device that has the same operands.
std::optional<SharedKey> Device::sharedKey(const BodyFrame &frame,
                                           AxisSet varying,
                                           unsigned &takers) const {
  AxisSet alike = manual - varying;
  if (alike.empty())
    return std::nullopt;
  int64_t others = mesh->size(alike);
  if (others == 1)
    return std::nullopt;
  takers = static_cast<unsigned>(others);
  return SharedKey{
      frame.moment, frame.pc, varying.bits(),
      static_cast<uint64_t>(placeAlong(*mesh, manual - alike, coordinates))};
}

/// Finds the operands of an equation; what they vary over.
static AxisSet findOperands(const BodyFrame &frame, const Step &step,
                            SmallVectorImpl<Datum *> &operands) {
  AxisSet varying = frame.control;
  for (Place place : step.operands) {
    operands.push_back(
        place.isConstant()
            ? const_cast<Datum *>(&frame.plan->constants[place.index()])
            : &frame.slots[place.index()]);
    varying |= operands.back()->varying;
  }
  return varying;
}

/// True: go on; false: it failed or waits.
bool Device::runKernel(BodyFrame &frame, const Step &step) {
  SmallVector<Datum *, 4> operands;
  AxisSet varying = findOperands(frame, step, operands);
  SmallVector<Datum, 1> values(step.results.size());
  std::optional<SharedKey> key;
  if (step.shares && !manual.empty()) {
    unsigned takers = 0;
    key = sharedKey(frame, varying, takers);
    if (key)
      switch (run_.shared.take(*key, takers, values)) {
      case SharedResults::Found::Taken:
        store(frame, step, values);
        ++frame.pc;
        return true;
      case SharedResults::Found::Pending:
        wantsShared = key;
        return false;
      case SharedResults::Found::Claimed:
        break;
      }
  }
  SmallVector<PartialSumsRef, 1> sums; // Before operands are taken.
  bool keepsSums = step.hasSums && run_.options().eval.keepSums;
  if (keepsSums) {
    for (Datum *operand : operands)
      operand->assemble(run_.plans().checked().program->context());
    sums = sumsOf(step, *this, run_.options().eval, operands);
  }
  uint64_t begin = run_.options().statistics ? now() : 0;
  EvalContext cx(step.equation, *this, run_.options().eval, operands,
                 step.lastUses, values, frame.control, varying);
  if (llvm::failed(step.equation.primitive->eval.kernel()(cx))) {
    fail(cx);
    return false;
  }
  if (run_.options().statistics)
    run_.count(step.statistic, now() - begin, 0);
  for (Datum &value : values)
    value.varying |= varying;
  if (keepsSums)
    for (auto [value, own] : llvm::zip_equal(values, sums))
      value.sums = std::move(own);
  if (key)
    run_.ready(run_.shared.publish(*key, values));
  store(frame, step, values);
  ++frame.pc;
  return true;
}

void Device::startTask(BodyFrame &frame, const Step &step) {
  SmallVector<Datum *, 6> operands;
  AxisSet varying = findOperands(frame, step, operands);
  frame.suspended = std::make_unique<Suspended>(
      step.equation, *this, run_.options().eval, std::move(operands),
      step.lastUses, step.results.size(), frame.control, varying);
  frame.suspended->task =
      step.equation.primitive->eval.suspending()(frame.suspended->cx);
}

/// A coroutine has ended.
bool Device::finishTask(BodyFrame &frame, const Step &step) {
  Suspended &suspended = *frame.suspended;
  if (llvm::failed(suspended.task.result())) {
    fail(suspended.cx);
    return false;
  }
  for (Datum &value : suspended.results)
    value.varying |= frame.control;
  if (step.hasSums && run_.options().eval.keepSums)
    settleSums(step, suspended.results);
  store(frame, step, suspended.results);
  frame.suspended.reset();
  ++frame.pc;
  return true;
}

Device::Status Device::step() {
  while (!frames_.empty()) {
    BodyFrame &frame = *frames_.back();
    if (frame.pc == frame.plan->steps.size()) {
      leave();
      continue;
    }
    const Step &step = frame.plan->steps[frame.pc];
    if (step.equation.primitive->eval.kernel()) {
      if (runKernel(frame, step))
        continue;
      return error ? Status::Failed : Status::Waiting;
    }
    if (!frame.suspended)
      startTask(frame, step);
    frame.suspended->task.resume();
    if (frame.suspended->task.done()) {
      if (!finishTask(frame, step))
        return Status::Failed;
      continue;
    }
    if (!entering_)
      return Status::Waiting;
    BodyCall &call = *std::exchange(entering_, nullptr);
    const Plan *plan = step.planOf(call.body);
    if (!plan || call.inputs.size() != plan->inputs.size()) {
      error = errorHere("'" + call.cx.name().str() +
                        "' runs a body that was not typed");
      return Status::Failed;
    }
    // Rows that cut operands into elements do not say what those vary over.
    if (llvm::none_of(call.inputs,
                      [](const Datum &d) { return !d.varying.empty(); }))
      for (Datum &input : call.inputs)
        input.varying = frame.suspended->varying;
    std::unique_ptr<BodyFrame> next = makeFrame(*plan, std::move(call.inputs));
    uint64_t place = mixHash(frame.pc + 1, call.body.raw());
    next->path = mixHash(frame.path, place);
    next->moment =
        mixHash(mixHash(frame.moment, place), ++frame.suspended->calls);
    next->control = frame.control | call.control;
    next->call = &call;
    frames_.push_back(std::move(next));
  }
  return Status::Done;
}
