// HiPrims.cpp - call_hi_primitive: operations that JAX types when it makes
// them. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The primitive is a value with a class, parameters of its own and the types it
// was made for. A class with a rule here is typed again for other operands; of
// the others only the recorded types are known.
#include "HiPrims.h"
#include "EvalParams.h"
#include "Families.h"
#include "shardtype/Kernels/Sort.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/ADT/Twine.h"

using namespace shardtype;

namespace {
struct HiCall {
  const Value *prim = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("_prim", &HiCall::prim, form::any));
};
} // namespace

static bool hasSets(TypingContext &cx, unsigned operand) {
  return cx.sharding(operand).hasUR();
}

/// The recorded result with another sharding: shape and dtype do not depend on
/// how operands are sharded.
static FailureOr<TypeId> recordedWith(TypingContext &cx, unsigned result,
                                      const Sharding &sharding) {
  TypeId id = cx.recordedResult(result);
  if (!id.valid() || !cx.context().type(id).isArray() ||
      cx.context().type(id).rank() != sharding.dims.size())
    return cx.unknownPrimitive(
        cx.context().str(cx.params<HiCall>().prim->text));
  Type type = cx.context().type(id);
  if (auto bad = checkDivisible(cx.context(), sharding, type.shape))
    return reportSpecError(cx, *bad, sharding, type.shape);
  type.sharding = sharding;
  return cx.context().intern(type);
}

//===--- SearchSorted -----------------------------------------------------===//

/// search_sorted/type.1: every method works on whole operands; `compare_all`
/// also keeps the sharding of its queries, or reduces over the sorted array's.
static LogicalResult searchSorted(TypingContext &cx) {
  const Value &prim = *cx.params<HiCall>().prim;
  const Value *method = structField(cx.program(), prim, "method");
  bool all = method && method->text.valid() &&
             cx.context().str(method->text) == "compare_all";
  if (cx.numOperands() != 2 || !cx.operand(0).isArray() ||
      !cx.operand(1).isArray())
    return cx.error(diag::OperandCount, "SearchSorted", 2, cx.numOperands());
  const Sharding sorted = cx.sharding(0), query = cx.sharding(1);
  bool keeps = all && cx.operand(0).rank() == 1 && !sorted.hasUR() &&
               !query.hasUR() &&
               (!sorted.partitioned() || !query.partitioned());
  MeshId mesh = cx.ruleMesh();
  Sharding result = replicated(mesh, 0);
  TypeId recorded = cx.recordedResult(0);
  if (recorded.valid() && cx.context().type(recorded).isArray())
    result.dims.resize(cx.context().type(recorded).rank());
  if (keeps && query.dims.size() == result.dims.size())
    result.dims = query.dims;
  FailureOr<TypeId> type = recordedWith(cx, 0, result);
  if (failed(type))
    return failure();
  bool whole = !sorted.partitioned() && !query.partitioned() &&
               !sorted.hasUR() && !query.hasUR();
  if (keeps || whole || !cx.rulesApply())
    return setResults(cx, *type);
  ErrorBuilder error = cx.error(
      diag::RuleMissingBare, "SearchSorted",
      "operands that are sharded, unreduced or reduced, with this method");
  for (unsigned i : {0u, 1u})
    if (cx.sharding(i).partitioned() || hasSets(cx, i))
      error.mark(i).fixOperand(i, replicated(mesh, cx.operand(i).rank()));
  return error;
}

//===--- Nonzero ----------------------------------------------------------===//

/// nonzero/type.1: one array of positions per searched dim; the dims that are
/// not searched keep their sharding, the searched ones must be whole.
static LogicalResult nonzero(TypingContext &cx) {
  const Value &prim = *cx.params<HiCall>().prim;
  const Value *axesValue = structField(cx.program(), prim, "axes");
  SmallVector<int64_t, 4> axes;
  if (!axesValue || !readParam(cx.program(), *axesValue, axes) ||
      cx.numOperands() == 0 || !cx.operand(0).isArray())
    return cx.unknownPrimitive("Nonzero");
  const Sharding own = cx.sharding(0);
  if (hasSets(cx, 0)) // nonzero/reduction.1
    return cx.error(diag::SpecIteration, "Nonzero")
        .mark(0)
        .fixOperand(0, withoutSets(own));
  Sharding result = replicated(own.mesh, 0), whole = own;
  bool sharded = false;
  for (unsigned d = 0; d < own.dims.size(); ++d) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(d))) {
      result.dims.push_back(own.dims[d]);
      continue;
    }
    sharded |= !own.dims[d].empty();
    whole.dims[d].clear();
  }
  result.dims.emplace_back();
  if (sharded) {
    ErrorBuilder error = cx.error(diag::RuleMissingBare, "Nonzero",
                                  "searched dims that are sharded");
    for (unsigned d = 0; d < own.dims.size(); ++d)
      if (own.dims[d] != whole.dims[d])
        error.mark(0, d);
    return error.fixOperand(0, whole);
  }
  for (unsigned i = 0; i < cx.numResults(); ++i) {
    FailureOr<TypeId> type = recordedWith(cx, i, result);
    if (failed(type))
      return failure();
    cx.setResult(i, *type);
  }
  return success();
}

//===--- Evaluation -------------------------------------------------------===//

namespace {
struct Search {
  int64_t batchDims = 0, dimension = 0;
  StringRef side;
};
} // namespace

static Search searchOf(EvalContext &cx) {
  const Program &program = cx.program();
  const Value &prim = *cx.params<HiCall>().prim;
  Search search;
  if (const Value *v = structField(program, prim, "batch_dims"))
    readParam(program, *v, search.batchDims);
  if (const Value *v = structField(program, prim, "dimension"))
    readParam(program, *v, search.dimension);
  if (const Value *v = structField(program, prim, "side"))
    readParam(program, *v, search.side);
  return search;
}

static std::string searchRefusal(EvalContext &cx) {
  Search search = searchOf(cx);
  const Type &sorted = cx.operandType(0), &query = cx.operandType(1);
  bool fits = search.batchDims >= 0 && search.dimension == search.batchDims &&
              sorted.rank() == search.batchDims + 1 &&
              query.rank() >= search.batchDims &&
              cx.resultDType() == DType::I32 && sorted.dtype == query.dtype;
  return fits ? "" : "SearchSorted has no kernel for these dims and dtypes";
}

/// One sorted row for each batch entry, and its queries.
static LogicalResult searchSortedEval(EvalContext &cx) {
  Search search = searchOf(cx);
  const Tensor &sorted = cx.operand(0), &query = cx.operand(1);
  int64_t length = sorted.dim(search.dimension);
  int64_t rows = length == 0 ? 0 : sorted.size() / length;
  if (rows == 0) {
    cx.setResult(0, Tensor::zeros(DType::I32, cx.resultShape()));
    return success();
  }
  int64_t queries = query.size() / rows;
  Tensor result = cx.makeResult();
  Tensor keys = sorted.reshaped({rows, length});
  Tensor wanted = query.reshaped({rows, queries});
  for (int64_t r = 0; r < rows; ++r) {
    Tensor places = kernels::searchSorted(keys.entry(r), wanted.entry(r),
                                          search.side == "right");
    llvm::copy(places.as<int32_t>(),
               result.fill<int32_t>().begin() + r * queries);
  }
  cx.setResult(0, std::move(result));
  return success();
}

/// The searched dims; none: they cannot be read.
static std::optional<SmallVector<int64_t, 4>> nonzeroAxes(EvalContext &cx) {
  const Value *axesValue =
      structField(cx.program(), *cx.params<HiCall>().prim, "axes");
  SmallVector<int64_t, 4> axes;
  if (!axesValue || !readParam(cx.program(), *axesValue, axes) ||
      axes.size() != cx.numResults() || !isInteger(cx.resultDType()))
    return std::nullopt;
  return axes;
}

static std::string nonzeroRefusal(EvalContext &cx) {
  return nonzeroAxes(cx) ? "" : "the parameters of Nonzero cannot be read";
}

static LogicalResult nonzeroEval(EvalContext &cx) {
  SmallVector<int64_t, 4> axes = *nonzeroAxes(cx);
  std::vector<Tensor> results =
      kernels::nonzero(cx.operand(0), axes, cx.resultShape().back(),
                       eval::tensorsFrom(cx, 1), cx.resultDType());
  for (auto [i, result] : llvm::enumerate(results))
    cx.setResult(i, std::move(result));
  return success();
}

//===--- Classes ----------------------------------------------------------===//

namespace {
struct HiClass {
  StringRef name;
  LogicalResult (*types)(TypingContext &);
  LogicalResult (*eval)(EvalContext &);
  std::string (*refusal)(EvalContext &);
};
} // namespace

static const HiClass Classes[] = {
    {"Frexp", frexpTypes, frexpEval, floatsRefusal},
    {"Ldexp", ldexpTypes, ldexpEval, floatsRefusal},
    {"Nonzero", nonzero, nonzeroEval, nonzeroRefusal},
    {"SearchSorted", searchSorted, searchSortedEval, searchRefusal}};

/// Null: it has no rule here.
static const HiClass *classOf(const Value &prim, StringRef name) {
  if (prim.kind != Value::HiPrim)
    return nullptr;
  const auto *at = llvm::find_if(
      Classes, [&](const HiClass &known) { return known.name == name; });
  return at == std::end(Classes) ? nullptr : at;
}

static StringRef nameOf(const Context &cx, const Value &prim) {
  return prim.text.valid() ? cx.str(prim.text) : StringRef("call_hi_primitive");
}

static const HiClass *classOf(EvalContext &cx) {
  const Value &prim = *cx.params<HiCall>().prim;
  return classOf(prim, nameOf(cx.context(), prim));
}

static std::string hiCallRefusal(EvalContext &cx) {
  if (const HiClass *known = classOf(cx))
    return known->refusal(cx);
  return "what '" + nameOf(cx.context(), *cx.params<HiCall>().prim).str() +
         "' does is not in the program";
}

static LogicalResult hiCallEval(EvalContext &cx) {
  return classOf(cx)->eval(cx);
}

/// hi_call/type.1
static LogicalResult hiCallTypes(TypingContext &cx) {
  const Value &prim = *cx.params<HiCall>().prim;
  StringRef name = nameOf(cx.context(), prim);
  const HiClass *known = classOf(prim, name);
  return known ? known->types(cx) : cx.unknownPrimitive(name);
}

//===--- The row ----------------------------------------------------------===//

static const Primitive Rows[] = {
    {.info = {"call_hi_primitive", schemaOf<HiCall>, PrintStyle::HiPrim},
     .decode = decodeFor<HiCall, 0, AnyNumber>,
     .dims = NoRule{NoRule::NotImplemented, "each class has its own"},
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{hiCallTypes},
     .eval = {hiCallEval, hiCallRefusal}}};

ArrayRef<Primitive> shardtype::hiPrims() { return Rows; }
