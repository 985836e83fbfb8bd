// PrintFacts.cpp - how primitives without a typing row print.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/PrintFacts.h"
#include "llvm/ADT/StringMap.h"

using namespace shardtype;

using F = ParamField;

// Each list is in key order, as a schema must be.
static constexpr F Accuracy[] = {{"accuracy", Hide::IfNone}};
static constexpr F Mul[] = {{"out_dtype", Hide::IfNone}};
static constexpr F ConvertElementType[] = {
    {"new_dtype"}, {"sharding", Hide::Always}, {"weak_type"}};
static constexpr F DotGeneral[] = {
    {"dimension_numbers", Hide::Never, F::DotDims},
    {"out_sharding", Hide::Always},
    {"precision", Hide::IfNone},
    {"preferred_element_type", Hide::IfNone}};
static constexpr F BroadcastInDim[] = {{"broadcast_dimensions", Hide::IfEmpty},
                                       {"shape", Hide::Always},
                                       {"sharding", Hide::Always}};
static constexpr F Reshard[] = {{"concrete_mesh", Hide::AlwaysNone},
                                {"dst_sharding", Hide::Always}};
static constexpr F Jit[] = {{"compiler_options_kvs", Hide::IfEmpty},
                            {"ctx_mesh", Hide::IfEmpty},
                            {"donated_invars", Hide::IfFalse},
                            {"in_layouts", Hide::IfUnspecified},
                            {"in_shardings", Hide::IfUnspecified},
                            {"inline", Hide::Always},
                            {"jaxpr", Hide::Never, F::Jaxpr},
                            {"keep_unused", Hide::IfFalse},
                            {"name", Hide::Never, F::Name},
                            {"out_layouts", Hide::IfUnspecified},
                            {"out_shardings", Hide::IfUnspecified}};
static constexpr F CustomJvp[] = {
    {"call_jaxpr", Hide::Never, F::Jaxpr},
    {"jvp_jaxpr_fun", Hide::Never, F::Name, "jvp"},
    {"num_consts", Hide::IfZero},
    {"symbolic_zeros"}};
static constexpr F CustomVjp[] = {
    {"bwd", Hide::Never, F::Name, "bwd"},
    {"call_jaxpr", Hide::Never, F::Jaxpr},
    {"fwd_jaxpr_thunk", Hide::Never, F::Name, "fwd"},
    {"num_consts", Hide::IfZero},
    {"out_trees", Hide::Always},
    {"symbolic_zeros"}};
static constexpr F CustomLin[] = {{"bwd", Hide::Never, F::Name, "bwd"},
                                  {"in_zeros"},
                                  {"num_res"},
                                  {"out_avals", Hide::Always},
                                  {"symbolic_zeros"}};
static constexpr F Scan[] = {
    {"ft_in"},  {"ft_out"},  {"jaxpr", Hide::Never, F::Jaxpr},
    {"length"}, {"reverse"}, {"unroll"}};
static constexpr F While[] = {{"body_jaxpr", Hide::Never, F::Jaxpr},
                              {"body_nconsts"},
                              {"cond_jaxpr", Hide::Never, F::Jaxpr},
                              {"cond_nconsts"}};
static constexpr F Cond[] = {{"branches", Hide::Never, F::Jaxprs}};
static constexpr F Body[] = {{"jaxpr", Hide::Never, F::Jaxpr}};
static constexpr F Call[] = {{"call_jaxpr", Hide::Never, F::Jaxpr}};
static constexpr F Update[] = {{"update_jaxpr", Hide::Never, F::Jaxpr}};
static constexpr F DebugPrint[] = {{"fmt", Hide::Never, F::Name},
                                   {"has_placeholders"},
                                   {"in_tree"},
                                   {"logging_record"},
                                   {"np_printoptions"},
                                   {"ordered"},
                                   {"partitioned"},
                                   {"static_args"}};
static constexpr F Named[] = {{"name", Hide::Never, F::Name}};
static constexpr F Check[] = {{"debug"}, {"err_tree", Hide::Always}};
static constexpr F RefAccess[] = {{"tree"}};
static constexpr F HiPrim[] = {{"_prim"}};

static constexpr ParamSchema AccuracySchema{Accuracy}, MulSchema{Mul},
    ConvertElementTypeSchema{ConvertElementType}, DotGeneralSchema{DotGeneral},
    BroadcastInDimSchema{BroadcastInDim}, ReshardSchema{Reshard},
    JitSchema{Jit, true}, CustomJvpSchema{CustomJvp, true, "call_jaxpr"},
    CustomVjpSchema{CustomVjp, true, "call_jaxpr"}, CustomLinSchema{CustomLin},
    ScanSchema{Scan}, WhileSchema{While, false, {}, "cond_jaxpr"},
    CondSchema{Cond}, BodySchema{Body}, CallSchema{Call}, UpdateSchema{Update},
    DebugPrintSchema{DebugPrint}, NamedSchema{Named}, CheckSchema{Check},
    RefAccessSchema{RefAccess}, HiPrimSchema{HiPrim};

static constexpr PrimitiveInfo Facts[] = {
    {"exp", AccuracySchema},
    {"exp2", AccuracySchema},
    {"log", AccuracySchema},
    {"log2", AccuracySchema},
    {"expm1", AccuracySchema},
    {"log1p", AccuracySchema},
    {"tanh", AccuracySchema},
    {"logistic", AccuracySchema},
    {"sin", AccuracySchema},
    {"cos", AccuracySchema},
    {"tan", AccuracySchema},
    {"sqrt", AccuracySchema},
    {"rsqrt", AccuracySchema},
    {"cbrt", AccuracySchema},
    {"erfc", AccuracySchema},
    {"mul", MulSchema},
    {"convert_element_type", ConvertElementTypeSchema},
    {"dot_general", DotGeneralSchema},
    {"broadcast_in_dim", BroadcastInDimSchema},
    {"reshard", ReshardSchema},
    {"jit", JitSchema},
    {"custom_jvp_call", CustomJvpSchema},
    {"custom_vjp_call", CustomVjpSchema},
    {"custom_lin", CustomLinSchema},
    {"scan", ScanSchema},
    {"while", WhileSchema},
    {"cond", CondSchema},
    {"shard_map", BodySchema},
    {"remat2", BodySchema},
    {"reduce", BodySchema},
    {"reduce_window", BodySchema},
    {"eval_jaxpr", CallSchema},
    {"scatter", UpdateSchema},
    {"scatter-add", UpdateSchema},
    {"scatter-sub", UpdateSchema},
    {"scatter-mul", UpdateSchema},
    {"scatter-min", UpdateSchema},
    {"scatter-max", UpdateSchema},
    {"debug_print", DebugPrintSchema},
    {"name", NamedSchema},
    {"check", CheckSchema},
    {"get", RefAccessSchema, PrintStyle::RefGet},
    {"swap", RefAccessSchema, PrintStyle::RefSwap},
    {"addupdate", RefAccessSchema, PrintStyle::RefAdd},
    {"call_hi_primitive", HiPrimSchema, PrintStyle::HiPrim},
    {"call_hi_primitive_linearized", HiPrimSchema, PrintStyle::HiPrimLin}};

ArrayRef<PrimitiveInfo> shardtype::allPrintFacts() { return Facts; }

const PrimitiveInfo *shardtype::printFacts(StringRef name) {
  for (const PrimitiveInfo &facts : Facts)
    if (facts.name == name)
      return &facts;
  return nullptr;
}
