// BodyEval.cpp - calls, as they are evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BodyEval.h"

using namespace shardtype;

Task shardtype::runBody(EvalContext &cx, JaxprId body) {
  std::vector<Datum> inputs;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    inputs.push_back(cx.takeHeld(i));
  BodyCall call = cx.run(body, std::move(inputs));
  call.takesBlocks = true;
  std::vector<Datum> outs = co_await call;
  cx.setResults(std::move(outs));
  co_return success();
}
