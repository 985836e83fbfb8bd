// BodyEval.cpp - calls, as they are evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BodyEval.h"

using namespace shardtype;

Task shardtype::runBody(EvalContext &cx, JaxprId body) {
  std::vector<Datum> inputs = cx.takeOperands();
  std::vector<Datum> outs = co_await cx.run(body, std::move(inputs));
  cx.setResults(std::move(outs));
  co_return success();
}
