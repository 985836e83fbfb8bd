// Loops.h - parameters of scan and while.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_LOOPS_H
#define SHARDTYPE_LIB_PRIMITIVES_LOOPS_H

#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Helpers.h"

namespace shardtype {

struct Scan {
  JaxprId jaxpr;
  int64_t length = 0;
  const Value *in = nullptr, *out = nullptr;
  std::optional<int64_t> numConsts, numCarry;
  static constexpr auto fields = std::tuple(
      ignored("_split_transpose", form::flag),
      optionalValue("ft_in", &Scan::in, form::leaves),
      optionalValue("ft_out", &Scan::out, form::leaves),
      field("jaxpr", &Scan::jaxpr, Hide::Never, ParamField::Jaxpr),
      field("length", &Scan::length), ignored("linear", form::flags),
      optionalField("num_carry", &Scan::numCarry),
      optionalField("num_consts", &Scan::numConsts),
      ignored("reverse", form::flag), ignored("unroll", form::integer));
};

struct While {
  JaxprId body, cond;
  int64_t bodyConsts = 0, condConsts = 0;
  static constexpr auto fields = std::tuple(
      field("body_jaxpr", &While::body, Hide::Never, ParamField::Jaxpr),
      field("body_nconsts", &While::bodyConsts),
      field("cond_jaxpr", &While::cond, Hide::Never, ParamField::Jaxpr),
      field("cond_nconsts", &While::condConsts));
};

/// How scan's operands and results fall into groups.
struct ScanCounts {
  uint64_t consts = 0, carries = 0, xs = 0;
};

/// From the trees, or from the counts that older files have; they may not fit
/// the operands. Nothing: neither says it.
std::optional<ScanCounts> countsOf(const Program &program, const Scan &scan,
                                   unsigned operands);

Task scanEval(EvalContext &cx);
Task whileEval(EvalContext &cx);

} // namespace shardtype

#endif
