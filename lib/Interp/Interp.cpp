// Interp.cpp - the library's front of the interpreter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Interp/Interp.h"
#include "Predict.h"
#include "Run.h"
#include "Sums.h"
#include "llvm/ADT/DenseSet.h"

using namespace shardtype;
using namespace shardtype::interp;

struct Interpreter::Impl {
  RunOptions options;
  Plans plans;
  Workers workers;
  MemoryPool *memory = MemoryPool::create();
  ~Impl() {
    memory->close();
    memory->release();
  }
  Impl(const CheckedProgram &checked, const PrimitiveSet &primitives,
       RunOptions given)
      : options(std::move(given)), plans(checked, primitives, options) {
    options.eval.keepSums |= plans.readsSums;
  }
};

Interpreter::Interpreter(const CheckedProgram &program,
                         const PrimitiveSet &primitives, RunOptions options)
    : impl_(std::make_unique<Impl>(program, primitives, std::move(options))) {}

Interpreter::~Interpreter() = default;

const std::vector<RunError> &Interpreter::errors() const {
  return impl_->plans.errors;
}

uint64_t Interpreter::predictedBytes() const {
  return predictBytes(impl_->plans, impl_->options.eval.keepSums);
}

uint64_t Argument::bytes() const {
  if (!blocks)
    return array.bytes();
  uint64_t bytes = 0;
  llvm::DenseSet<const std::byte *> seen;
  for (const Tensor &block : blocks->blocks)
    if (seen.insert(block.data()).second)
      bytes += block.bytes();
  return bytes;
}

RunResult Interpreter::run(std::vector<Tensor> arguments) {
  return runHeld(std::vector<Argument>(std::move_iterator(arguments.begin()),
                                       std::move_iterator(arguments.end())));
}

/// What is wrong with the arguments; empty: nothing.
static std::string refusalOf(const CheckedProgram &checked,
                             ArrayRef<Argument> arguments) {
  ArrayRef<TypeId> types = checked.argumentTypes;
  if (types.size() != arguments.size())
    return "the program takes " + std::to_string(types.size()) +
           " arguments, not " + std::to_string(arguments.size());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.blocks || !types[i].valid())
      continue;
    const Type &type = checked.program->context().type(types[i]);
    const Tensor &array = argument.array;
    if (type.isArray() && (!array || array.dtype() != type.dtype ||
                           array.shape() != ArrayRef<int64_t>(type.shape)))
      return "argument " + std::to_string(i) + " is no " +
             str(checked.program->context(), types[i]);
  }
  return "";
}

RunResult Interpreter::runHeld(std::vector<Argument> arguments) {
  assert(errors().empty() && "errors() says why it cannot run");
  std::string refusal = refusalOf(impl_->plans.checked(), arguments);
  if (!refusal.empty()) {
    RunResult result;
    result.error.emplace().message = std::move(refusal);
    return result;
  }
  return Run(impl_->plans, impl_->options, impl_->workers, impl_->memory)
      .run(std::move(arguments));
}

PartialSumsRef shardtype::sumsOfArgument(const Context &cx, TypeId id,
                                         const Tensor &value) {
  if (!isUnreduced(cx, id))
    return nullptr;
  const Sharding &to = cx.type(id).sharding;
  Sharding from = to;
  from.unreduced = AxisSet();
  return placedSums(cx, from, to, value, nullptr);
}
