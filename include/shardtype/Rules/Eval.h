// Eval.h - what a primitive's evaluation sees of its equation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most rows compute at once: `LogicalResult sinEval(EvalContext &cx)` reads
// `cx.operand(0)` and calls `cx.setResult(0, ...)`. Rows that run a body, or
// wait for other devices, are coroutines:
//
//   static Task callEval(EvalContext &cx) {
//     std::vector<Datum> inputs = cx.takeOperands();
//     std::vector<Datum> outs = co_await cx.run(cx.params<Call>().jaxpr,
//                                               std::move(inputs));
//     cx.setResults(std::move(outs));
//     co_return success();
//   }
//
// A device keeps a stack of bodies and coroutines and steps the top one; a
// coroutine must not await another. If a body fails the run ends, and the
// coroutine is not resumed.
#ifndef SHARDTYPE_RULES_EVAL_H
#define SHARDTYPE_RULES_EVAL_H

#include "shardtype/IR/Program.h"
#include "shardtype/Rules/DeviceBlocks.h"
#include "shardtype/Rules/PartialSums.h"
#include "shardtype/Rules/Primitive.h"
#include "shardtype/Tensor/Tensor.h"
#include "llvm/ADT/Twine.h"
#include <coroutine>
#include <memory>

namespace shardtype {

/// What a Ref stands for while a program runs.
struct RefCell {
  Tensor value;
  AxisSet varying; // What it may differ over, as Datum::varying.
};

/// A value while a program runs: an array, or the cell of a Ref. A token is an
/// empty array.
struct Datum {
  Tensor tensor;
  std::shared_ptr<RefCell> cell;
  /// What devices hold of an unreduced value outside of regions; null: nobody
  /// looks (EvalOptions::keepSums).
  PartialSumsRef sums;
  /// In place of `tensor`: what a region has left in blocks, which nothing has
  /// asked for whole so far.
  std::shared_ptr<const DeviceBlocks> blocks;
  /// The Manual axes over which devices may hold different values, found by
  /// what the value was computed from.
  AxisSet varying;
  Datum() = default;
  Datum(Tensor t, AxisSet axes = {}) : tensor(std::move(t)), varying(axes) {}
  /// Makes it an array, if it is in blocks.
  void assemble(const Context &cx) {
    if (blocks)
      tensor = std::exchange(blocks, nullptr)->whole(cx);
  }
};

/// The coroutine of a suspending row.
class Task {
public:
  struct promise_type {
    LogicalResult result = failure();
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(LogicalResult value) { result = value; }
    void unhandled_exception() { std::terminate(); }
  };
  Task() = default;
  Task(Task &&other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task &operator=(Task other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_)
      handle_.destroy();
  }
  void resume() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  LogicalResult result() const { return handle_.promise().result; }

private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

/// The departures from the definitions that a run may ask for (spec 09).
struct EvalOptions {
  bool flushDenormals = false; // As JAX on CPU.
  bool jaxNumbers = false;     // Its other departures: docs/run.md.
  /// Copies that types prove to be equal are compared all the same.
  bool checkCopies = false;
  /// Partial sums are kept apart (PartialSums.h).
  bool keepSums = false;
};

/// `co_await cx.run(...)`: the results of a body.
class BodyCall {
public:
  BodyCall(EvalContext &of, JaxprId jaxpr, std::vector<Datum> values,
           AxisSet decided)
      : cx(of), body(jaxpr), control(decided), inputs(std::move(values)) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<>);
  std::vector<Datum> await_resume() { return std::move(outputs); }

  EvalContext &cx;
  JaxprId body;
  AxisSet control;
  bool takesBlocks = false; // Else outputs are assembled.
  std::vector<Datum> inputs, outputs;
};

/// `co_await cx.meet(...)`: waits until all devices of the group are there; the
/// last one makes the results of all.
class Meet {
public:
  /// Sets the outputs of every member; they are in the order of the group.
  using Complete = LogicalResult(ArrayRef<Meet *> members);
  using Groups = ArrayRef<SmallVector<int64_t, 3>>;
  Meet(EvalContext &of, AxisList names, Groups parts, Complete *function,
       std::vector<Datum> values)
      : cx(of), axes(std::move(names)), groups(parts), complete(function),
        inputs(std::move(values)) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<>);
  std::vector<Datum> await_resume() { return std::move(outputs); }

  EvalContext &cx;
  AxisList axes; // Of the mesh, in the order that numbers the members.
  Groups groups; // Parts of them that meet by themselves; empty: all do.
  Complete *complete;
  std::vector<Datum> inputs, outputs;
  unsigned place = 0; // Of this device among the members; set when it arrives.
};

/// `co_await cx.fork(...)`: runs a body on devices of its own.
class Fork {
public:
  Fork(EvalContext &of, JaxprId jaxpr, MeshId devices, AxisSet over,
       std::vector<std::vector<Datum>> values)
      : cx(of), body(jaxpr), mesh(devices), axes(over),
        inputs(std::move(values)) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<>);
  std::vector<std::vector<Datum>> await_resume() { return std::move(outputs); }

  EvalContext &cx;
  JaxprId body;
  MeshId mesh;  // Of the devices.
  AxisSet axes; // That become Manual.
  /// By device, row-major over the axes in the order of the mesh.
  std::vector<std::vector<Datum>> inputs, outputs;
};

/// What an evaluation asks of the device that runs it; Interp implements it.
class EvalHost {
public:
  virtual ~EvalHost();
  virtual void enter(BodyCall &call) = 0;
  virtual void meet(Meet &meeting) = 0;
  virtual void fork(Fork &region) = 0;
  /// Where the device is along a Manual axis.
  virtual int64_t coordinate(unsigned axis) const = 0;
  /// The Manual axes around it, and the mesh that they are of (invalid: there
  /// are none).
  virtual AxisSet manualAxes() const = 0;
  virtual MeshId deviceMesh() const = 0;
  /// Something that is worth a note of the run, at this equation.
  virtual void note(EvalContext &cx, std::string text) = 0;
};

/// One equation while it is evaluated.
class EvalContext {
public:
  /// Set by the interpreter before the row runs.
  struct Equation {
    const Context *types = nullptr;
    const Program *program = nullptr;
    const Primitive *primitive = nullptr;
    const void *params = nullptr; // As the row's decode made them.
    EqnId eqn;
    MeshId mesh;                                // Its context mesh.
    ArrayRef<TypeId> operandTypes, resultTypes; // In this instance.
  };

  EvalContext(const Equation &equation, EvalHost &host,
              const EvalOptions &options, ArrayRef<Datum *> operands,
              uint64_t lastUses, MutableArrayRef<Datum> results,
              AxisSet control, AxisSet varying)
      : equation_(&equation), host_(&host), options_(&options),
        operands_(operands), lastUses_(lastUses), results_(results),
        control_(control), varying_(varying) {}

  StringRef name() const { return equation_->primitive->info.name; }
  const Program &program() const { return *equation_->program; }
  const Context &context() const { return *equation_->types; }
  EqnId eqn() const { return equation_->eqn; }
  MeshId mesh() const { return equation_->mesh; }
  const EvalOptions &options() const { return *options_; }
  EvalHost &host() { return *host_; }
  /// The parameters as the row's struct, decoded once per equation.
  template <typename P> const P &params() const {
    return *static_cast<const P *>(equation_->params);
  }
  /// A parameter as recorded; null if there is none of this key.
  const Value *param(StringRef key) const;
  /// The equation's `derived` field (spec 04, 6.2), JSON; empty: it has none.
  StringRef derived() const;
  /// Other fields of the equation's context, such as `threefry_partitionable`,
  /// JSON; empty: none.
  StringRef contextFields() const;

  unsigned numOperands() const { return operands_.size(); }
  unsigned numResults() const { return results_.size(); }
  const Tensor &operand(unsigned i) const { return datum(i).tensor; }
  /// The operand, moved out if this is its last use: then `unique()` says
  /// whether its memory may be written. Once per operand.
  Tensor take(unsigned i) {
    if (isLastUse(i)) // No `?:`, which would copy.
      return std::move(whole(i).tensor);
    return operand(i);
  }
  Datum takeDatum(unsigned i) {
    whole(i);
    return takeHeld(i);
  }
  /// Likewise, in blocks if it is held so.
  Datum takeHeld(unsigned i) {
    if (isLastUse(i))
      return std::move(*operands_[i]);
    return *operands_[i];
  }
  const Datum &datum(unsigned i) const { return whole(i); }
  /// All operands from `begin`, each as `takeDatum` gives it.
  std::vector<Datum> takeOperands(unsigned begin = 0);
  const Type &operandType(unsigned i) const {
    return equation_->types->type(equation_->operandTypes[i]);
  }
  /// The type of a result: of the block that one device holds over Manual
  /// axes, of the whole array over all others.
  const Type &resultType(unsigned i = 0) const {
    return equation_->types->type(equation_->resultTypes[i]);
  }
  ArrayRef<int64_t> resultShape(unsigned i = 0) const {
    return resultType(i).shape;
  }
  DType resultDType(unsigned i = 0) const { return resultType(i).dtype; }
  /// Memory for a result; fill it and hand it to `setResult`.
  Tensor makeResult(unsigned i = 0) const {
    return Tensor::uninitialised(resultDType(i), resultShape(i));
  }

  /// A result that may vary over what any operand does.
  void setResult(unsigned i, Tensor value) {
    results_[i].tensor = std::move(value);
    results_[i].varying = varying_;
  }
  /// One that says itself what it varies over.
  void setDatum(unsigned i, Datum value) { results_[i] = std::move(value); }
  void setResults(std::vector<Datum> values);
  /// The axes that what decided to run this equation varies over.
  AxisSet control() const { return control_; }
  /// Where the device is along a Manual axis of the mesh.
  int64_t coordinate(unsigned axis) const { return host_->coordinate(axis); }
  /// A failure at run time, at this equation's place: `return cx.fail("...")`.
  LogicalResult fail(const llvm::Twine &message);
  const std::string &message() const { return message_; }

  // For suspending rows.

  /// `control`: the axes that what decides to run it varies over.
  BodyCall run(JaxprId body, std::vector<Datum> inputs, AxisSet control = {}) {
    return BodyCall(*this, body, std::move(inputs), control);
  }
  Meet meet(AxisList axes, Meet::Groups groups, Meet::Complete *complete,
            std::vector<Datum> inputs) {
    return Meet(*this, std::move(axes), groups, complete, std::move(inputs));
  }
  Fork fork(JaxprId body, MeshId mesh, AxisSet axes,
            std::vector<std::vector<Datum>> inputs) {
    return Fork(*this, body, mesh, axes, std::move(inputs));
  }

private:
  bool isLastUse(unsigned i) const { return i < 64 && lastUses_ >> i & 1; }
  Datum &whole(unsigned i) const {
    Datum &value = *operands_[i];
    value.assemble(context());
    return value;
  }

  const Equation *equation_;
  EvalHost *host_;
  const EvalOptions *options_;
  ArrayRef<Datum *> operands_;
  uint64_t lastUses_;
  MutableArrayRef<Datum> results_;
  AxisSet control_, varying_; // `varying_`: over what operands do.
  std::string message_;
};

namespace eval {
/// Each result is the operand of its number.
LogicalResult pass(EvalContext &cx);
/// There are no results, or none that hold anything.
LogicalResult nothing(EvalContext &cx);
} // namespace eval

} // namespace shardtype

#endif
