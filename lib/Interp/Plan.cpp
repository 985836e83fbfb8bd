// Plan.cpp - from typed jaxprs to steps over slots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plan.h"
#include "Constants.h"
#include "Products.h"
#include "Sums.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/NoBodies.h"
#include "llvm/ADT/DenseSet.h"

using namespace shardtype;
using namespace shardtype::interp;

namespace {
/// Of equations that are looked at before anything runs.
class NoDevice final : public EvalHost {
  void enter(BodyCall &) override {}
  void meet(Meet &) override {}
  void fork(Fork &) override {}
  int64_t coordinate(unsigned) const override { return 0; }
  AxisSet manualAxes() const override { return {}; }
  MeshId deviceMesh() const override { return {}; }
  void note(EvalContext &, std::string) override {}
};
} // namespace

namespace shardtype::interp {
/// Makes one plan.
class PlanBuilder {
public:
  PlanBuilder(Plans &plans, Plan &plan)
      : plans_(plans), checked_(plans.checked_), program_(*checked_.program),
        cx_(program_.context()), plan_(plan),
        instance_(checked_.instances[plan.instance.index()]),
        jaxpr_(program_.jaxpr(instance_.jaxpr)) {}
  void build();

private:
  static constexpr uint32_t Never = 0, AtEnd = ~0u;
  uint32_t local(VarId var) const { return var.raw() - jaxpr_.firstVar; }
  void findUses();
  void findProducts();
  void exchange(Step &step, uint32_t product);
  VarId resultOf(uint32_t number, unsigned i) const;
  bool isDead(const Eqn &eqn) const;
  Place define(VarId var);
  void release(uint32_t slot) { free_.push_back(slot); }
  Place constant(Atom atom);
  void addConstants();
  void addStep(EqnId id);
  void addBodies(Step &step, EqnId id);
  void setTypes(Step &step, const Eqn &eqn, ArrayRef<Atom> operands);
  const Primitive *findRow(const Eqn &eqn, EqnId id);
  void refuse(const Step &step);
  void fail(EqnId eqn, std::string message) {
    plans_.errors.push_back(plans_.errorAt(plan_, eqn, std::move(message)));
  }
  bool isUsable(TypeId type, EqnId eqn, StringRef what);

  Plans &plans_;
  const CheckedProgram &checked_;
  const Program &program_;
  Context &cx_;
  Plan &plan_;
  const Instance &instance_;
  const Jaxpr &jaxpr_;
  /// By local variable: one more than the last equation that uses it.
  std::vector<uint32_t> lastUse_;
  std::vector<Place> places_;
  std::vector<uint32_t> uses_; // By local variable; outs count twice.
  std::vector<bool> dead_;     // By equation: nothing runs it.
  /// By product: the equation that transposes it, and what they are as one.
  llvm::DenseMap<uint32_t, std::pair<uint32_t, std::shared_ptr<const void>>>
      transposed_;
  SmallVector<uint32_t, 16> free_;
};
} // namespace shardtype::interp

/// An equation without effects whose results nothing uses.
bool PlanBuilder::isDead(const Eqn &eqn) const {
  if (eqn.numResults == 0 || !program_.info(eqn.info).effects.empty())
    return false;
  for (unsigned i = 0; i < eqn.numResults; ++i)
    if (VarId var = program_.result(eqn, i);
        lastUse_[local(var)] != Never ||
        llvm::is_contained(plans_.options_.traced, var))
      return false;
  return llvm::none_of(program_.operandsOf(eqn), [&](Atom atom) {
    return !atom.isLiteral() && checked_.type(plan_.instance, atom).valid() &&
           cx_.type(checked_.type(plan_.instance, atom)).kind == Type::Ref;
  });
}

void PlanBuilder::findUses() {
  lastUse_.assign(jaxpr_.numVars, Never);
  uses_.assign(jaxpr_.numVars, 0);
  dead_.assign(jaxpr_.numEqns, false);
  for (Atom out : jaxpr_.outs)
    if (!out.isLiteral()) {
      lastUse_[local(out.var())] = AtEnd;
      uses_[local(out.var())] += 2;
    }
  for (uint32_t i = jaxpr_.numEqns; i-- > 0;) {
    const Eqn &eqn = program_.eqn(jaxpr_.eqn(i));
    dead_[i] = isDead(eqn);
    if (dead_[i])
      continue;
    for (Atom atom : program_.operandsOf(eqn))
      if (!atom.isLiteral()) {
        lastUse_[local(atom.var())] =
            std::max(lastUse_[local(atom.var())], i + 1);
        ++uses_[local(atom.var())];
      }
  }
}

/// Products of which nothing but a transpose is used.
void PlanBuilder::findProducts() {
  if (!plans_.options_.traced.empty())
    return;
  std::vector<uint32_t> product(jaxpr_.numVars, Never); // Its number + 1.
  for (uint32_t i = 0; i < jaxpr_.numEqns; ++i) {
    const Eqn &eqn = program_.eqn(jaxpr_.eqn(i));
    if (dead_[i] || eqn.numResults != 1)
      continue;
    VarId result = program_.result(eqn, 0);
    if (program_.name(eqn) == "dot_general" && uses_[local(result)] == 1)
      product[local(result)] = i + 1;
    if (program_.name(eqn) != "transpose")
      continue;
    Atom from = program_.operandsOf(eqn)[0];
    uint32_t at = from.isLiteral() ? Never : product[local(from.var())];
    if (at == Never)
      continue;
    const Eqn &dot = program_.eqn(jaxpr_.eqn(at - 1));
    SmallVector<TypeId, 4> types;
    for (Atom atom : program_.operandsOf(dot))
      types.push_back(checked_.type(plan_.instance, atom));
    types.push_back(checked_.type(plan_.instance, from));
    if (llvm::any_of(types, [&](TypeId t) { return isUnreduced(cx_, t); }))
      continue;
    if (auto params = exchangedProduct(program_, dot, eqn, types)) {
      transposed_[at - 1] = {i, std::move(params)};
      dead_[i] = true;
    }
  }
}

/// What an equation's step makes.
VarId PlanBuilder::resultOf(uint32_t number, unsigned i) const {
  if (auto at = transposed_.find(number); at != transposed_.end())
    number = at->second.first;
  return program_.result(program_.eqn(jaxpr_.eqn(number)), i);
}

/// Makes the step of a product that of its transpose.
void PlanBuilder::exchange(Step &step, uint32_t product) {
  auto at = transposed_.find(product);
  if (at == transposed_.end() || !step.equation.primitive)
    return;
  if (!plans_.exchanged_) {
    plans_.exchanged_.emplace(*step.equation.primitive);
    plans_.exchanged_->eval = evalExchanged;
  }
  step.equation.primitive = &*plans_.exchanged_;
  step.params = at->second.second;
  step.equation.params = step.params.get();
}

Place PlanBuilder::define(VarId var) {
  Place &place = places_[local(var)];
  if (lastUse_[local(var)] == Never)
    return place;
  if (free_.empty()) {
    place.raw = plan_.numSlots++;
  } else {
    place.raw = free_.pop_back_val();
  }
  return place;
}

Place PlanBuilder::constant(Atom atom) {
  Tensor &value = plans_.literals_[atom.literal().raw()];
  if (!value) {
    value = valueOf(program_, program_.literal(atom.literal()));
    if (!value)
      plans_.lackValue(
          plan_, "the literal " +
                     cx_.str(program_.literal(atom.literal()).repr).str() +
                     " is not in the program");
  }
  plan_.constants.push_back(value);
  Place place;
  place.raw = (plan_.constants.size() - 1) | Place::ConstantBit;
  return place;
}

/// Constvars are constants of the plan.
void PlanBuilder::addConstants() {
  for (uint32_t i = 0; i < jaxpr_.numConsts; ++i) {
    VarId var = jaxpr_.constvar(i);
    if (lastUse_[local(var)] == Never)
      continue;
    int32_t index = i < jaxpr_.constArrays.size() ? jaxpr_.constArrays[i] : -1;
    Tensor value;
    const RunOptions &options = plans_.options_;
    if (auto given = options.constvars.find(var.raw());
        given != options.constvars.end())
      value = given->second;
    else if (auto replaced = options.constants.find(index);
             index >= 0 && replaced != options.constants.end())
      value = replaced->second;
    else if (index >= 0) {
      Tensor &known = plans_.arrays_[index];
      if (!known)
        known = valueOf(program_, program_.arrays[index]);
      value = known;
    }
    TypeId type = checked_.type(plan_.instance, var);
    std::string name = "constant " + std::to_string(i);
    if (!value)
      plans_.lackValue(plan_, name +
                                  (type.valid() ? ", " + str(cx_, type) : "") +
                                  ", is not in the program");
    else if (type.valid() && cx_.type(type).isArray() &&
             (cx_.type(type).dtype != value.dtype() ||
              ArrayRef<int64_t>(cx_.type(type).shape) != value.shape()))
      plans_.lackValue(plan_, name + " is no " + str(cx_, type));
    places_[local(var)].raw = plan_.constants.size() | Place::ConstantBit;
    plan_.constants.push_back(value);
  }
}

const Primitive *PlanBuilder::findRow(const Eqn &eqn, EqnId id) {
  StringRef name = program_.name(eqn);
  const Primitive *row = plans_.primitives_.find(name);
  if (row && row->eval)
    return row;
  auto [entry, isNew] =
      plans_.missing_.try_emplace(name.str(), plans_.errors.size());
  if (isNew) {
    StringRef why = row ? row->eval.none().why : "it is not known";
    fail(id, "'" + name.str() + "' cannot be evaluated: " + why.str());
  }
  return nullptr;
}

/// Some rows cannot compute all of their equations.
void PlanBuilder::refuse(const Step &step) {
  EvalRule::Refusal *refusal = step.equation.primitive->eval.refusal();
  if (!refusal || !step.params)
    return;
  NoDevice host;
  std::vector<Datum> results(step.equation.resultTypes.size());
  EvalContext cx(step.equation, host, plans_.options_.eval, {}, 0, results, {},
                 {});
  std::string why = refusal(cx);
  if (!why.empty())
    fail(step.equation.eqn,
         "'" + cx.name().str() + "' cannot be evaluated: " + why);
}

bool PlanBuilder::isUsable(TypeId type, EqnId eqn, StringRef what) {
  if (!type.valid()) {
    fail(eqn, what.str() + " has no type");
    return false;
  }
  const Type &t = cx_.type(type);
  if (!t.isArray())
    return true;
  if (llvm::any_of(t.shape, Dim::isSymbolic)) {
    fail(eqn, what.str() + ", " + str(cx_, type) +
                  ", has a size that is not a number");
    return false;
  }
  if (!countElements(t.shape)) {
    fail(eqn, what.str() + ", " + str(cx_, type) + ", has too many elements");
    return false;
  }
  return true;
}

void PlanBuilder::setTypes(Step &step, const Eqn &eqn,
                           ArrayRef<Atom> operands) {
  size_t begin = plan_.types.size();
  for (Atom atom : operands)
    plan_.types.push_back(checked_.type(plan_.instance, atom));
  for (unsigned i = 0; i < eqn.numResults; ++i)
    plan_.types.push_back(
        checked_.type(plan_.instance, program_.result(eqn, i)));
  ArrayRef<TypeId> types(plan_.types.data() + begin,
                         plan_.types.size() - begin);
  step.equation.operandTypes = types.take_front(operands.size());
  step.equation.resultTypes = types.drop_front(operands.size());
}

void PlanBuilder::addBodies(Step &step, EqnId id) {
  forEachBody(program_, program_.eqn(id),
              [&](const std::string &place, JaxprId body) {
                InstanceId instance = checked_.body(plan_.instance, id, body);
                if (!instance.valid())
                  return; // No rule types it, so none runs it.
                const Plan *plan = plans_.planFor(
                    instance, plans_.pathOf(plan_, id) + "/" + place + "/");
                step.bodies.emplace_back(body, plan);
              });
}

void PlanBuilder::addStep(EqnId id) {
  const Eqn &eqn = program_.eqn(id);
  const Primitive *row = findRow(eqn, id);
  ArrayRef<Atom> operands = program_.operandsOf(eqn);
  Step step;
  setTypes(step, eqn, operands);
  bool usable = row;
  for (TypeId type : step.equation.resultTypes)
    usable &= isUsable(type, id, "a result");
  step.equation.types = &cx_;
  step.equation.program = &program_;
  step.equation.primitive = row;
  step.equation.eqn = id;
  step.equation.mesh = instance_.mesh;
  if (usable) {
    SmallVector<Typed, 4> typed;
    for (TypeId type : step.equation.operandTypes)
      typed.push_back({type});
    NoBodies host; // Decoding asks nothing of it.
    TypingContext::Options options;
    TypingContext typing(cx_, program_, *row, eqn.params, typed, instance_.mesh,
                         eqn.numResults, options, host);
    FailureOr<std::shared_ptr<const void>> decoded = row->decode(typing);
    if (failed(decoded))
      fail(id, "the parameters of '" + program_.name(eqn).str() +
                   "' cannot be read");
    else
      step.params = *decoded;
    step.equation.params = step.params.get();
    refuse(step);
    addBodies(step, id);
    auto number =
        plans_.numbers_.try_emplace(row->info.name.str(), plans_.names.size());
    if (number.second)
      plans_.names.push_back(row->info.name.str());
    step.statistic = number.first->second;
  }
  uint32_t now = id.index() - jaxpr_.firstEqn + 1;
  uint64_t elements = 0;
  bool hasState = !program_.info(eqn.info).effects.empty();
  for (TypeId type : ArrayRef<TypeId>(plan_.types)
                         .take_back(operands.size() + eqn.numResults)) {
    if (!type.valid() || !cx_.type(type).isArray())
      hasState = true;
    else if (std::optional<int64_t> count = countElements(cx_.type(type).shape))
      elements += *count;
  }
  step.shares = row && row->eval.kernel() && !hasState && elements >= 256;
  auto partial = [&](TypeId type) { return isUnreduced(cx_, type); };
  bool takesSums = llvm::any_of(step.equation.operandTypes, partial);
  step.hasSums = takesSums || llvm::any_of(step.equation.resultTypes, partial);
  plans_.readsSums |=
      takesSums && program_.param(eqn.params, "newly_manual_axes").valid();
  exchange(step, now - 1);
  // Results first: they must not take the slots of operands.
  for (unsigned i = 0; i < eqn.numResults; ++i) {
    VarId var = resultOf(now - 1, i);
    step.results.push_back(define(var));
    if (llvm::is_contained(plans_.options_.traced, var))
      step.traced.push_back(var);
    else
      step.traced.push_back(VarId());
  }
  if (llvm::none_of(step.traced, [](VarId v) { return v.valid(); }))
    step.traced.clear();
  for (auto [i, atom] : llvm::enumerate(operands)) {
    if (atom.isLiteral()) {
      step.operands.push_back(constant(atom));
      continue;
    }
    Place place = places_[local(atom.var())];
    step.operands.push_back(place);
    uint32_t &lastUse = lastUse_[local(atom.var())];
    if (place.isConstant() || place.nowhere() || lastUse != now)
      continue;
    lastUse = Never; // It dies once, however often it is an operand.
    step.dying.push_back(place.index());
    if (i < 64 && llvm::count(operands, atom) == 1)
      step.lastUses |= uint64_t(1) << i;
  }
  for (uint32_t slot : step.dying)
    release(slot);
  plan_.steps.push_back(std::move(step));
}

void PlanBuilder::build() {
  findUses();
  findProducts();
  places_.resize(jaxpr_.numVars);
  // Types are referred to by the steps.
  size_t types = 0;
  for (uint32_t i = 0; i < jaxpr_.numEqns; ++i) {
    const Eqn &eqn = program_.eqn(jaxpr_.eqn(i));
    types += eqn.numOperands + eqn.numResults;
  }
  plan_.types.reserve(types);
  addConstants();
  for (uint32_t i = 0; i < jaxpr_.numInputs; ++i)
    plan_.inputs.push_back(define(jaxpr_.input(i)));
  for (uint32_t i = 0; i < jaxpr_.numEqns; ++i)
    if (!dead_[i])
      addStep(jaxpr_.eqn(i));
  for (Atom out : jaxpr_.outs)
    plan_.outs.push_back(out.isLiteral() ? constant(out)
                                         : places_[local(out.var())]);
  plan_.repeats.resize(plan_.outs.size());
  llvm::DenseSet<uint32_t> later;
  for (size_t i = plan_.outs.size(); i-- > 0;)
    if (!plan_.outs[i].isConstant())
      plan_.repeats[i] = !later.insert(plan_.outs[i].index()).second;
}

Plans::Plans(const CheckedProgram &checked, const PrimitiveSet &primitives,
             const RunOptions &options)
    : checked_(checked), primitives_(primitives), options_(options),
      plans_(checked.instances.size()) {
  if (!checked.entryInstance.valid()) {
    errors.emplace_back().message = "the program could not be typed";
    return;
  }
  entry_ = planFor(checked.entryInstance, "");
}

Plans::~Plans() = default;

void Plans::lackValue(const Plan &plan, std::string what) {
  RunError error;
  error.message = "the value of " + std::move(what);
  error.path = plan.path;
  error.aboutValue = true;
  errors.push_back(std::move(error));
}

const Plan *Plans::planFor(InstanceId instance, const std::string &path) {
  std::unique_ptr<Plan> &plan = plans_[instance.index()];
  if (plan)
    return plan.get();
  plan = std::make_unique<Plan>();
  plan->instance = instance;
  plan->path = path;
  Plan *made = plan.get();
  PlanBuilder(*this, *made).build();
  return made;
}

std::string Plans::pathOf(const Plan &plan, EqnId eqn) const {
  const Instance &instance = checked_.instances[plan.instance.index()];
  const Jaxpr &jaxpr = checked_.program->jaxpr(instance.jaxpr);
  return plan.path + "eqns/" + std::to_string(eqn.index() - jaxpr.firstEqn);
}

RunError Plans::errorAt(const Plan &plan, EqnId eqn,
                        std::string message) const {
  const Program &program = *checked_.program;
  RunError error;
  error.message = std::move(message);
  error.path = pathOf(plan, eqn);
  error.stack = program.info(program.eqn(eqn).info).stack;
  return error;
}
