// Eval.cpp - what evaluations share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Eval.h"

using namespace shardtype;

EvalHost::~EvalHost() = default;

void BodyCall::await_suspend(std::coroutine_handle<>) {
  cx.host().enter(*this);
}

void Meet::await_suspend(std::coroutine_handle<>) { cx.host().meet(*this); }

void Fork::await_suspend(std::coroutine_handle<>) { cx.host().fork(*this); }

const Value *EvalContext::param(StringRef key) const {
  ValueId id = program().param(program().eqn(eqn()).params, key);
  return id.valid() ? &program().value(id) : nullptr;
}

StringRef EvalContext::derived() const {
  StringId text = program().info(program().eqn(eqn()).info).derived;
  return text.valid() ? context().str(text) : StringRef();
}

StringRef EvalContext::contextFields() const {
  StringId text = program().info(program().eqn(eqn()).info).context;
  return text.valid() ? context().str(text) : StringRef();
}

std::vector<Datum> EvalContext::takeOperands(unsigned begin) {
  std::vector<Datum> values;
  values.reserve(numOperands() - begin);
  for (unsigned i = begin; i < numOperands(); ++i)
    values.push_back(takeDatum(i));
  return values;
}

void EvalContext::setResults(std::vector<Datum> values) {
  assert(values.size() == numResults());
  for (auto [i, value] : llvm::enumerate(values))
    results_[i] = std::move(value);
}

LogicalResult EvalContext::fail(const llvm::Twine &message) {
  message_ = message.str();
  return failure();
}

LogicalResult eval::pass(EvalContext &cx) {
  for (unsigned i = 0; i < cx.numResults(); ++i)
    cx.setDatum(i, cx.takeDatum(i));
  return success();
}

LogicalResult eval::nothing(EvalContext &) { return success(); }
