// TypingContext.cpp - the steps every standard primitive shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/TypingContext.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/SpecDiagnostics.h"

using namespace shardtype;

TypingHost::~TypingHost() = default;

TypingContext::TypingContext(Context &context, const Program &program,
                             const Primitive &primitive, ParamsId params,
                             ArrayRef<Typed> operands, MeshId mesh,
                             unsigned numResults, const Options &options,
                             TypingHost &host)
    : context_(context), program_(program), primitive_(primitive),
      params_(params), operands_(operands), mesh_(mesh), options_(options),
      host_(host), results_(numResults) {}

TypingContext::TypingContext(const TypingContext &of, ArrayRef<Typed> operands,
                             MeshId mesh, const Options &options)
    : TypingContext(of.context_, of.program_, of.primitive_, of.params_,
                    operands, mesh, of.numResults(), options, of.host_) {
  derived_ = of.derived_;
  isTrial_ = true;
}

const Type &TypingContext::operand(unsigned i) const {
  return views_.empty() ? context_.type(operands_[i].type) : views_[i];
}

FailureOr<MeshId> TypingContext::operandMesh() {
  MeshId common;
  bool allAuto = true;
  for (unsigned i = 0; i < numOperands(); ++i) {
    if (!operand(i).isArray() || !sharding(i).hasMesh())
      continue;
    MeshId mesh = sharding(i).mesh;
    allAuto &= context_.mesh(mesh).allOf(AxisType::Auto);
    if (!common.valid())
      common = mesh;
    else if (common != mesh &&
             !(allAuto && context_.mesh(common).allOf(AxisType::Auto)))
      return error(diag::MeshOperands,
                   shortMesh(context_, context_.mesh(common)),
                   shortMesh(context_, context_.mesh(mesh)))
          .mark(i);
    else if (common != mesh)
      return MeshId();
  }
  return common;
}

MeshId TypingContext::ruleMesh() {
  for (unsigned i = 0; i < numOperands(); ++i)
    if (operand(i).isArray() && sharding(i).hasMesh())
      return sharding(i).mesh;
  return mesh_;
}

bool TypingContext::rulesApply() {
  return context_.meshOrEmpty(mesh_).anyExplicit() ||
         context_.meshOrEmpty(ruleMesh()).anyExplicit();
}

LogicalResult TypingContext::checkContextMesh() {
  const Mesh &context = context_.meshOrEmpty(mesh_);
  if (context.empty())
    return success();
  for (unsigned i = 0; i < numOperands(); ++i) {
    if (!operand(i).isArray() || !sharding(i).hasMesh() ||
        sharding(i).mesh == mesh_)
      continue;
    const Mesh &own = context_.mesh(sharding(i).mesh);
    if (own.allOf(AxisType::Auto) && context.allOf(AxisType::Auto))
      continue;
    return error(diag::MeshContext, i, shortMesh(context_, own),
                 shortMesh(context_, context))
        .mark(i);
  }
  return success();
}

void TypingContext::setResult(unsigned i, TypeId type, bool open) {
  if (i < results_.size())
    results_[i] = {type, open};
}

TypeId TypingContext::recordedResult(unsigned result) const {
  usedRecorded_ = true;
  return result < recorded_.size() ? recorded_[result] : TypeId();
}

std::optional<Sharding> TypingContext::recordedSharding(unsigned result) {
  TypeId id = recordedResult(result);
  if (!id.valid() || !context_.type(id).isArray())
    return std::nullopt;
  const Sharding &recorded = context_.type(id).sharding;
  if (!recorded.hasMesh() && recorded.replicated())
    return std::nullopt;
  MeshId mesh = recorded.hasMesh() ? host_.rewriteMesh(recorded.mesh) : mesh_;
  return onMesh(context_, recorded, mesh);
}

FailureOr<TypeId> TypingContext::makeType(ArrayRef<int64_t> shape, DType dtype,
                                          const Sharding &sharding, bool weak,
                                          MemorySpace memory) {
  if (auto bad = checkDivisible(context_, sharding, shape))
    return reportSpecError(*this, *bad, sharding, shape);
  Type type;
  type.dtype = dtype;
  type.weak = weak;
  type.memory = memory;
  type.shape.assign(shape.begin(), shape.end());
  type.sharding = sharding;
  type.manual = resultManual_;
  return context_.intern(type);
}

FailureOr<TypeId> TypingContext::updateType(unsigned operand,
                                            ArrayRef<int64_t> shape,
                                            const Sharding &sharding) {
  if (auto bad = checkDivisible(context_, sharding, shape))
    return reportSpecError(*this, *bad, sharding, shape);
  Type type = this->operand(operand);
  type.shape.assign(shape.begin(), shape.end());
  type.sharding = sharding;
  return context_.intern(type);
}

/// A sharding argument may name Explicit axes only (spec 01, 2.7).
static LogicalResult checkExplicitOnly(TypingContext &cx,
                                       const PartitionSpec &spec, MeshId id,
                                       StringRef key) {
  const Mesh &mesh = cx.context().meshOrEmpty(id);
  for (const SpecEntry &entry : spec.partitions)
    for (StringId name : entry.axes) {
      std::optional<unsigned> at = mesh.find(name);
      if (at && mesh.axes[*at].type != AxisType::Explicit)
        return cx
            .error(diag::SpecAxisType, cx.context().str(name),
                   str(cx.context(), spec), str(mesh.axes[*at].type))
            .markParam(key);
    }
  return success();
}

/// The axes on the operand dim that a dim of the result is, if there is one.
static SmallVector<StringId, 2> ownEntry(TypingContext &cx, const DimMap &map,
                                         unsigned dim) {
  SmallVector<StringId, 2> names;
  if (map.results.empty() || dim >= map.results[0].size() ||
      map.results[0][dim].empty())
    return names;
  for (auto [operand, at] : map.uses(map.results[0][dim].front())) {
    const Sharding &own = cx.sharding(operand);
    if (map.operands[operand][at].front() != map.results[0][dim].front())
      continue;
    for (uint8_t axis : own.dims[at])
      names.push_back(cx.context().mesh(own.mesh).axes[axis].name);
    if (!names.empty())
      return names;
  }
  return names;
}

/// structure/inherit.1: entries of dims that vmap added to what the user wrote
/// are what the rule gives without the parameter.
static PartitionSpec withInherited(TypingContext &cx, PartitionSpec spec) {
  auto inherits = [](const SpecEntry &entry) {
    return entry.kind == SpecEntry::Inherit;
  };
  if (llvm::none_of(spec.partitions, inherits))
    return spec;
  DimMap map;
  if (cx.primitive().dims && cx.numOperands() != 0)
    map = cx.primitive().dims(cx);
  for (auto [dim, entry] : llvm::enumerate(spec.partitions))
    if (inherits(entry))
      entry = {SpecEntry::Axes, ownEntry(cx, map, dim)};
  return spec;
}

FailureOr<Sharding> TypingContext::resolveParam(const ShardingParam &param,
                                                unsigned rank, StringRef key) {
  assert(param.given() && "a sharding that is not there cannot be resolved");
  MeshId mesh = context_.forTypes(host_.rewriteMesh(param.mesh));
  const PartitionSpec spec = withInherited(*this, param.spec);
  SpecResult<Sharding> result = resolve(context_, spec, mesh, rank);
  if (!result)
    return reportSpecError(*this, result.error, spec, mesh, rank)
        .markParam(key);
  if (failed(checkExplicitOnly(*this, spec, mesh, key)))
    return failure();
  if (options_.withoutUnitAxes)
    return dropUnitAxes(context_, *result);
  return std::move(*result);
}

ErrorBuilder TypingContext::report(diag::Code code,
                                   std::vector<std::string> args) {
  Diagnostic &diagnostic = diagnostics_.emplace_back();
  diagnostic.code = code;
  diagnostic.level = info(code).level;
  diagnostic.message = formatDiag(code, args);
  return ErrorBuilder(*this, diagnostic);
}

TypeId TypingContext::composed(const Sharding &sharding) {
  Type type;
  type.dtype = resultDType_;
  type.weak = resultWeak_;
  type.memory = resultMemory_;
  type.shape = resultShape_;
  type.sharding = sharding;
  type.manual = resultManual_;
  if (!views_.empty()) {
    type.manual = manualFrom(type.manual, sharding);
    type.sharding = withoutSets(sharding);
  }
  return context_.intern(type);
}

/// structure/record.3: where no axis is Explicit no rule looks at shardings,
/// but the function that the user gave one to does.
static LogicalResult checkUnread(TypingContext &cx) {
  if (cx.rulesApply())
    return success();
  for (const Param &param : cx.program().params(cx.paramsId())) {
    const Value &value = cx.program().value(param.value);
    if (value.kind != Value::Sharding || value.by != Value::User ||
        value.elements.empty())
      continue;
    MeshId mesh =
        cx.host().rewriteMesh(MeshId(static_cast<uint32_t>(value.integer)));
    if (failed(checkExplicitOnly(
            cx, cx.program().spec(cx.program().value(value.elements[0])), mesh,
            cx.context().str(param.key))))
      return failure();
  }
  return success();
}

LogicalResult TypingContext::run() {
  if (!isTrial_ && primitive_.open != OpenRule::Custom &&
      failed(checkUnread(*this)))
    return failure();
  LogicalResult result = runRow();
  // Rules with bodies would type them again for each proposal.
  if (isTrial_ || primitive_.open == OpenRule::Custom)
    return result;
  if (failed(result) && !diagnostics_.empty()) {
    findSound(diagnostics_.back());
    tryOperandFixes(diagnostics_.back());
  }
  if (usedVersion_)
    noteOtherVersion(succeeded(result));
  return result;
}

LogicalResult TypingContext::runRow() {
  FailureOr<std::shared_ptr<const void>> decoded = primitive_.decode(*this);
  if (failed(decoded))
    return failure();
  decoded_ = std::move(*decoded);
  if (const auto *standard = std::get_if<Standard>(&primitive_.type))
    return runStandard(*standard);
  return std::get<Custom>(primitive_.type).all(*this);
}

/// There is no reduction rule, but sets to apply it to.
static LogicalResult refuseSets(TypingContext &cx) {
  ErrorBuilder error = cx.error(diag::RuleMissingUR, cx.name());
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.sharding(i).hasUR())
      error.mark(i).fixOperand(i, withoutSets(cx.sharding(i)));
  return error;
}

/// Step 7 of spec 01, 3.0: sets of the reduction rule into the sharding, where
/// they may not overlap its partitions.
static LogicalResult finishSharding(TypingContext &cx, const Standard &rules,
                                    Sharding &sharding) {
  if (!rules.reduction) {
    bool any = sharding.hasUR();
    for (unsigned i = 0; i < cx.numOperands(); ++i)
      any |= cx.operand(i).isArray() && cx.sharding(i).hasUR();
    return any ? refuseSets(cx) : success();
  }
  FailureOr<ReductionSets> sets = rules.reduction(cx);
  if (failed(sets))
    return failure();
  sharding.unreduced = sets->unreduced;
  sharding.reduced = sets->reduced;
  sharding.kind = sets->unreduced.empty() ? ReductionKind::None : sets->kind;
  AxisSet twice = (sharding.axes() & (sharding.unreduced | sharding.reduced)) |
                  (sharding.unreduced & sharding.reduced);
  if (!twice.empty())
    return cx.error(diag::SpecOverlap, twice, sharding);
  return success();
}

LogicalResult shardtype::checkIllegalResult(TypingContext &cx,
                                            const Sharding &sharding,
                                            diag::Code code) {
  AxisSet seen;
  for (unsigned dim = 0; dim < sharding.dims.size(); ++dim)
    for (uint8_t axis : sharding.dims[dim]) {
      if (!seen.contains(axis)) {
        seen.insert(axis);
        continue;
      }
      unsigned first = 0;
      while (!llvm::is_contained(sharding.dims[first], axis))
        ++first;
      AxisSet one;
      one.insert(axis);
      return cx.error(code, str(cx.context(), sharding.mesh, one), first, dim,
                      cx.illegalResult(sharding));
    }
  return success();
}

/// Step 11: the result's mesh against the context's. Only a sharding parameter
/// can bring in another one.
static LogicalResult checkResultMesh(TypingContext &cx,
                                     const Sharding &result) {
  const Mesh &context = cx.context().meshOrEmpty(cx.mesh());
  if (context.empty() || !result.hasMesh() || result.mesh == cx.mesh())
    return success();
  const Mesh &own = cx.context().mesh(result.mesh);
  if (own.allOf(AxisType::Auto) && context.allOf(AxisType::Auto))
    return success();
  return cx.error(diag::ShardingMesh, shortMesh(cx.context(), own),
                  shortMesh(cx.context(), context));
}

/// The memory rule, ahead of its turn: types that are offered are in that
/// space. What it says is kept for later.
static FailureOr<MemorySpace> memoryAhead(TypingContext &cx,
                                          const Standard &rules,
                                          std::vector<Diagnostic> &said) {
  std::vector<Diagnostic> &all = cx.diagnostics();
  size_t before = all.size();
  FailureOr<MemorySpace> memory = rules.memory(cx);
  said.assign(std::make_move_iterator(all.begin() + before),
              std::make_move_iterator(all.end()));
  all.resize(before);
  return memory;
}

LogicalResult TypingContext::runStandard(const Standard &rules) {
  if (numResults() != 1)
    return error(diag::ResultCount, name(), 1, numResults());
  for (unsigned i = 0; i < numOperands(); ++i)
    if (!operand(i).isArray())
      return error(diag::DTypeMismatch,
                   "'" + name().str() + "' takes arrays, but operand " +
                       std::to_string(i) + " is " + arg(operandId(i)));
  if (failed(checkContextMesh()))
    return failure();
  FailureOr<Shape> shape = rules.shape(*this);
  if (failed(shape))
    return failure();
  resultShape_ = *shape;
  FailureOr<DType> dtype = rules.dtype(*this);
  if (failed(dtype))
    return failure();
  resultDType_ = *dtype;
  resultWeak_ = rules.weak(*this);
  std::vector<Diagnostic> ofMemory;
  FailureOr<MemorySpace> memory = memoryAhead(*this, rules, ofMemory);
  if (succeeded(memory))
    resultMemory_ = *memory;
  haveShape_ = true;

  FailureOr<MeshId> mesh = operandMesh();
  if (failed(mesh))
    return failure();
  Sharding sharding = replicated(mesh->valid() ? *mesh : mesh_, shape->size());
  if (rulesApply()) {
    if (!rules.sharding)
      return error(diag::RuleMissing, name());
    FailureOr<Sharding> ruled = rules.sharding(*this);
    if (failed(ruled) ||
        failed(checkIllegalResult(*this, *ruled, diag::IllegalResult)))
      return failure();
    // JAX asserts that there are no sets over Manual axes before it looks at
    // others (manual/sets.4); what this warns of, typeManual says below.
    size_t before = diagnostics_.size();
    bool any = llvm::any_of(operands_, [&](const Typed &operand) {
      const ManualAxisType &own = context_.type(operand.type).manual;
      return !own.unreduced.empty() || !own.reduced.empty();
    });
    if (any && failed(manualSets(rules.reduction)))
      return failure();
    diagnostics_.resize(before);
    if (failed(finishSharding(*this, rules, *ruled)))
      return failure();
    sharding = std::move(*ruled);
  }
  if (failed(typeManual(rules.varying, rules.reduction)))
    return failure();
  std::move(ofMemory.begin(), ofMemory.end(), std::back_inserter(diagnostics_));
  if (failed(memory))
    return failure();
  FailureOr<TypeId> type =
      makeType(resultShape_, resultDType_, sharding, resultWeak_, *memory);
  if (failed(type) || failed(checkResultMesh(*this, sharding)))
    return failure();
  setResult(0, *type);
  return success();
}

//===--- ErrorBuilder -----------------------------------------------------===//

ErrorBuilder &ErrorBuilder::mark(int operand, int dim) {
  diagnostic_.marks.push_back({Mark::Operand, operand, dim, {}});
  return *this;
}

ErrorBuilder &ErrorBuilder::markParam(StringRef key) {
  diagnostic_.marks.push_back({Mark::Param, 0, -1, key.str()});
  return *this;
}

ErrorBuilder &ErrorBuilder::note(std::string message, StackId stack) {
  diagnostic_.notes.push_back({std::move(message), stack});
  return *this;
}

ErrorBuilder &ErrorBuilder::fix(Fix fix) {
  diagnostic_.fixes.push_back(std::move(fix));
  return *this;
}

std::string shardtype::pasteable(Context &cx, const Sharding &sharding) {
  PartitionSpec spec = toSpec(cx, sharding);
  if (spec.kind == ReductionKind::Sum)
    spec.kind = ReductionKind::None;
  return str(cx, spec);
}

Fix shardtype::reshardFix(Context &cx, unsigned operand, TypeId from,
                          TypeId to) {
  Fix fix;
  fix.operand = static_cast<int>(operand);
  fix.type = to;
  fix.spec = pasteable(cx, cx.type(to).sharding);
  fix.code = "reshard({0}, " + fix.spec + ")";
  fix.communication = reshardCost(cx, from, to);
  return fix;
}

ErrorBuilder &ErrorBuilder::fix(const Sharding &result) {
  assert(cx_.haveShape_ && "a fix needs the result's shape");
  if (!cx_.views_.empty())
    return *this; // Parameters say nothing of Manual axes.
  if (checkDivisible(cx_.context(), result, cx_.resultShape_))
    return *this; // Not legal after all.
  Fix fix;
  fix.type = cx_.composed(result);
  fix.spec = pasteable(cx_.context(), result);
  if (cx_.primitive().dims) {
    SmallVector<TypeId, 4> operands;
    for (const Typed &operand : cx_.operands())
      operands.push_back(operand.type);
    fix.communication = resultCost(cx_.context(), cx_.primitive().dims(cx_),
                                   operands, fix.type);
  }
  if (!cx_.results_[0].type.valid()) {
    fix.assumed = true;
    cx_.setResult(0, fix.type);
  }
  return this->fix(std::move(fix));
}

ErrorBuilder &ErrorBuilder::fixes(ArrayRef<Sharding> results) {
  for (const Sharding &result : results)
    fix(result);
  return *this;
}

ErrorBuilder &ErrorBuilder::fixOperand(unsigned operand,
                                       const Sharding &sharding) {
  if (!cx_.views_.empty())
    return castOperand(operand,
                       cx_.manualFrom(cx_.operand(operand).manual, sharding));
  TypeId from = cx_.operandId(operand);
  return fix(reshardFix(cx_.context(), operand, from,
                        cx_.context().withSharding(from, sharding)));
}

ErrorBuilder &ErrorBuilder::sound(const Sharding &result) {
  if (!cx_.haveShape_ ||
      checkDivisible(cx_.context(), result, cx_.resultShape_))
    return *this;
  return soundTypes(cx_.composed(result));
}

ErrorBuilder &ErrorBuilder::soundTypes(ArrayRef<TypeId> results) {
  diagnostic_.wanted = results.front();
  for (unsigned i = 0; i < results.size(); ++i)
    cx_.setResult(i, results[i]);
  return *this;
}
