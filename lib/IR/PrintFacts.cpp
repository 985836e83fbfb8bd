// PrintFacts.cpp - how primitives without a typing row print.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/PrintFacts.h"

using namespace shardtype;

using F = ParamField;

// Each list is in key order, as a schema must be.
static constexpr F CustomLin[] = {{"bwd", Hide::Never, F::Name, "bwd"},
                                  {"in_zeros"},
                                  {"num_res"},
                                  {"out_avals", Hide::Always},
                                  {"symbolic_zeros"}};
static constexpr F Body[] = {{"jaxpr", Hide::Never, F::Jaxpr}};
static constexpr F DebugPrint[] = {{"fmt", Hide::Never, F::Name},
                                   {"has_placeholders"},
                                   {"in_tree"},
                                   {"logging_record"},
                                   {"np_printoptions"},
                                   {"ordered"},
                                   {"partitioned"},
                                   {"static_args"}};
static constexpr F Check[] = {{"debug"}, {"err_tree", Hide::Always}};
static constexpr F RefAccess[] = {{"tree"}};
static constexpr F HiPrim[] = {{"_prim"}};

static constexpr ParamSchema CustomLinSchema{CustomLin}, BodySchema{Body},
    DebugPrintSchema{DebugPrint}, CheckSchema{Check},
    RefAccessSchema{RefAccess}, HiPrimSchema{HiPrim};

static constexpr PrimitiveInfo Facts[] = {
    {"custom_lin", CustomLinSchema},
    {"shard_map", BodySchema},
    {"reduce", BodySchema},
    {"reduce_window", BodySchema},
    {"debug_print", DebugPrintSchema},
    {"check", CheckSchema},
    {"get", RefAccessSchema, PrintStyle::RefGet},
    {"swap", RefAccessSchema, PrintStyle::RefSwap},
    {"addupdate", RefAccessSchema, PrintStyle::RefAdd},
    {"call_hi_primitive_linearized", HiPrimSchema, PrintStyle::HiPrimLin}};

ArrayRef<PrimitiveInfo> shardtype::allPrintFacts() { return Facts; }

const PrimitiveInfo *shardtype::printFacts(StringRef name) {
  for (const PrimitiveInfo &facts : Facts)
    if (facts.name == name)
      return &facts;
  return nullptr;
}
