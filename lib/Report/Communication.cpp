// Communication.cpp - which collectives a program names, and how often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instances hold each other without circles, so how often each runs is summed
// up in one pass from the entry down, however many ways lead to it.
#include "shardtype/Report/Communication.h"
#include "Common.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/Communication.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

Executions Executions::scaled(uint64_t by) const {
  return {multiplyAmounts(times, by), multiplyAmounts(inBranches, by),
          multiplyAmounts(perUnknownTrip, by)};
}

Executions &Executions::operator+=(const Executions &other) {
  times = addAmounts(times, other.times);
  inBranches = addAmounts(inBranches, other.inBranches);
  perUnknownTrip = addAmounts(perUnknownTrip, other.perUnknownTrip);
  return *this;
}

/// How often a body runs for an equation that runs so often itself.
static Executions inBody(const Executions &own, BodyRuns runs) {
  switch (runs.kind) {
  case BodyRuns::Times:
    return own.scaled(runs.times);
  case BodyRuns::Unknown:
    return {
        0, 0,
        addAmounts(addAmounts(own.times, own.inBranches), own.perUnknownTrip)};
  case BodyRuns::OneOf:
    return {0, addAmounts(own.times, own.inBranches), own.perUnknownTrip};
  }
  llvm_unreachable("every kind is named");
}

namespace {
class Accountant {
public:
  Accountant(const CheckedProgram &checked, const PrimitiveSet &primitives)
      : checked_(checked), program_(*checked.program),
        context_(program_.context()), runs_(checked.instances.size()),
        communicates_(checked.instances.size()) {
    for (const PrimitiveRef &used : program_.primitives)
      rows_.push_back(primitives.find(context_.str(used.name)));
  }
  CommunicationAccount account();

private:
  using BodyVisitor = llvm::function_ref<void(const std::string &, InstanceId)>;
  void forEachHeld(InstanceId id, EqnId eqn, BodyVisitor visit) const;
  void order(InstanceId id);
  void addRuns(InstanceId id);
  bool list(InstanceId id, const std::string &prefix);
  void listEqn(InstanceId id, EqnId eqnId, const std::string &path);
  bool listBodies(InstanceId id, EqnId eqnId, const std::string &path);
  void addSteps(InstanceId id, EqnId eqnId, const std::string &path);
  void addTotal(const NamedCollective &found, MeshId mesh);
  AxesTotal &totalOf(ArrayRef<std::string> axes, MeshId mesh);

  const Primitive *rowOf(const Eqn &eqn) const { return rows_[eqn.primitive]; }
  const Instance &instance(InstanceId id) const {
    return checked_.instances[id.index()];
  }
  BodyRuns runsOf(InstanceId id, const Eqn &eqn) const;
  /// The equation's types; false: some are not known.
  bool typesOf(InstanceId id, const Eqn &eqn, SmallVectorImpl<TypeId> &operands,
               SmallVectorImpl<TypeId> &results) const;
  MeshId meshOf(InstanceId id, ArrayRef<TypeId> results) const;
  bool mayImply(InstanceId id, const Eqn &eqn, bool isRegion) const;

  const CheckedProgram &checked_;
  const Program &program_;
  Context &context_;
  std::vector<const Primitive *> rows_; // By the program's own numbers.
  std::vector<Executions> runs_;        // By instance.
  llvm::DenseSet<InstanceId> seen_;
  std::vector<bool> communicates_; // By instance, once it is listed.
  std::vector<InstanceId> order_;  // Those held before those that hold them.
  std::vector<Around> around_;
  CommunicationAccount account_;
};
} // namespace

//===--- How often --------------------------------------------------------===//

/// The instances that an equation runs, each with its place below it. The same
/// body twice (both branches of a `cond`) counts once.
void Accountant::forEachHeld(InstanceId id, EqnId eqn,
                             BodyVisitor visit) const {
  SmallVector<InstanceId, 2> visited;
  forEachBody(program_, program_.eqn(eqn),
              [&](const std::string &place, JaxprId body) {
                InstanceId held = checked_.body(id, eqn, body);
                if (!held.valid() || llvm::is_contained(visited, held))
                  return;
                visited.push_back(held);
                visit(place, held);
              });
}

/// Equations of an instance that hold bodies, in order, each once.
static SmallVector<EqnId, 8> holders(const Instance &instance) {
  SmallVector<EqnId, 8> found;
  for (const Instance::Held &held : instance.bodies)
    if (found.empty() || found.back() != held.eqn)
      found.push_back(held.eqn);
  return found;
}

/// Depth is bounded by the program's own limit on nesting, here and in `list`.
void Accountant::order(InstanceId id) {
  if (!seen_.insert(id).second)
    return;
  for (EqnId eqn : holders(instance(id)))
    forEachHeld(id, eqn,
                [&](const std::string &, InstanceId held) { order(held); });
  order_.push_back(id);
}

BodyRuns Accountant::runsOf(InstanceId id, const Eqn &eqn) const {
  const Primitive *row = rowOf(eqn);
  if (!row || !row->runs)
    return {};
  return row->runs(
      TypedEqn{context_, program_, eqn.params, instance(id).mesh, {}, {}});
}

void Accountant::addRuns(InstanceId id) {
  for (EqnId eqn : holders(instance(id))) {
    Executions inside =
        inBody(runs_[id.index()], runsOf(id, program_.eqn(eqn)));
    forEachHeld(id, eqn, [&](const std::string &, InstanceId held) {
      runs_[held.index()] += inside;
    });
  }
}

//===--- What -------------------------------------------------------------===//

bool Accountant::typesOf(InstanceId id, const Eqn &eqn,
                         SmallVectorImpl<TypeId> &operands,
                         SmallVectorImpl<TypeId> &results) const {
  for (Atom atom : program_.operandsOf(eqn))
    operands.push_back(checked_.type(id, atom));
  for (unsigned i = 0; i < eqn.numResults; ++i)
    results.push_back(checked_.type(id, program_.result(eqn, i)));
  auto known = [](TypeId type) { return type.valid(); };
  return llvm::all_of(operands, known) && llvm::all_of(results, known);
}

/// The mesh an equation runs on: that of its result, which re-typing has made
/// the one asked for.
MeshId Accountant::meshOf(InstanceId id, ArrayRef<TypeId> results) const {
  for (TypeId result : results) {
    const Type &type = context_.type(result);
    TypeId array = type.kind == Type::Future ? type.inner : result;
    if (MeshId mesh = context_.type(array).sharding.mesh; mesh.valid())
      return mesh;
  }
  return instance(id).mesh;
}

/// The total of these axes, in whatever order a collective has them.
AxesTotal &Accountant::totalOf(ArrayRef<std::string> axes, MeshId mesh) {
  SmallVector<std::string, 2> sorted(axes);
  const Mesh &on = context_.meshOrEmpty(mesh);
  auto place = [&](const std::string &axis) {
    for (auto [i, known] : llvm::enumerate(on.axes))
      if (context_.str(known.name) == axis)
        return i;
    return on.axes.size();
  };
  llvm::stable_sort(sorted, [&](const std::string &a, const std::string &b) {
    return place(a) < place(b);
  });
  for (AxesTotal &total : account_.totals)
    if (total.axes == sorted)
      return total;
  return account_.totals.emplace_back(AxesTotal{sorted, 0, {}});
}

void Accountant::addTotal(const NamedCollective &found, MeshId mesh) {
  Executions sent = found.executions.scaled(found.step.sentBytes);
  for (AxesTotal *total : {&totalOf(found.step.axes, mesh), &account_.all}) {
    ++total->collectives;
    total->sent += sent;
  }
}

void Accountant::addSteps(InstanceId id, EqnId eqnId, const std::string &path) {
  const Eqn &eqn = program_.eqn(eqnId);
  SmallVector<TypeId, 4> operands, results;
  if (!typesOf(id, eqn, operands, results)) {
    ++account_.untyped;
    return;
  }
  MeshId mesh = meshOf(id, results);
  FailureOr<std::vector<CommStep>> steps = rowOf(eqn)->communication(
      TypedEqn{context_, program_, eqn.params, mesh, operands, results});
  if (failed(steps)) {
    ++account_.undecided;
    return;
  }
  for (CommStep &step : *steps) {
    NamedCollective found;
    found.step = std::move(step);
    found.executions = runs_[id.index()];
    found.eqn = eqnId;
    if (eqn.info.valid())
      found.stack = program_.info(eqn.info).stack;
    found.path = path;
    found.around = around_;
    addTotal(found, mesh);
    account_.collectives.push_back(std::move(found));
  }
}

/// True if something is listed in them.
bool Accountant::listBodies(InstanceId id, EqnId eqnId,
                            const std::string &path) {
  const Eqn &eqn = program_.eqn(eqnId);
  BodyRuns runs = runsOf(id, eqn);
  Around around = {eqnId, path, Around::Loop, runs.times};
  if (runs.kind != BodyRuns::Times)
    around.kind =
        runs.kind == BodyRuns::Unknown ? Around::UnknownLoop : Around::Branches;
  bool shown = static_cast<bool>(rowOf(eqn)->runs);
  if (shown)
    around_.push_back(around);
  bool any = false;
  forEachHeld(id, eqnId, [&](const std::string &place, InstanceId held) {
    any |= list(held, path + "/" + place + "/");
  });
  if (shown)
    around_.pop_back();
  if (any && around.kind != Around::Loop)
    account_.undecidedRuns.push_back(std::move(around));
  return any;
}

/// Could values move for this equation although it names no collective? Not if
/// what it takes is whole, or everything that it takes and gives lies alike. A
/// region reshards only what Auto axes shard.
bool Accountant::mayImply(InstanceId id, const Eqn &eqn, bool isRegion) const {
  AxisSet autos, wide;
  const Mesh &mesh = context_.meshOrEmpty(instance(id).mesh);
  for (unsigned axis = 0; axis < mesh.rank(); ++axis)
    if (mesh.axes[axis].size > 1) {
      wide.insert(axis);
      if (mesh.axes[axis].type == AxisType::Auto)
        autos.insert(axis);
    }
  SmallVector<TypeId, 8> operands, results;
  typesOf(id, eqn, operands, results);
  auto isArray = [&](TypeId type) {
    return type.valid() && context_.type(type).isArray() &&
           context_.type(type).rank() > 0;
  };
  if (!autos.empty())
    return llvm::any_of(operands, isArray);
  const Type *first = nullptr;
  bool sharded = false, alike = true;
  for (ArrayRef<TypeId> list : {ArrayRef(operands), ArrayRef(results)})
    for (TypeId found : list) {
      bool isResult = list.data() == results.data();
      if (!isArray(found)) {
        alike &= !isResult; // A sum over all dims.
        continue;
      }
      const Type &type = context_.type(found);
      AxisSet axes = type.sharding.axes() | type.sharding.unreduced;
      sharded |= !isResult && axes.intersects(wide);
      alike &= !first ||
               (first->sharding == type.sharding && first->shape == type.shape);
      first = first ? first : &type;
    }
  return sharded && !alike && !isRegion;
}

/// True if something is listed in it.
bool Accountant::list(InstanceId id, const std::string &prefix) {
  if (!seen_.insert(id).second)
    return communicates_[id.index()];
  const Instance &here = instance(id);
  const Jaxpr &jaxpr = program_.jaxpr(here.jaxpr);
  size_t before = account_.collectives.size();
  bool any = false;
  SmallVector<EqnId, 8> held = holders(here);
  auto next = held.begin();
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    EqnId eqnId = jaxpr.eqn(i);
    const Primitive *row = rowOf(program_.eqn(eqnId));
    bool holds = next != held.end() && *next == eqnId;
    bool communicates = row && row->communication;
    bool isRegion = program_.name(program_.eqn(eqnId)) == "shard_map";
    if (!communicates && (!holds || isRegion))
      account_.implying += mayImply(id, program_.eqn(eqnId), isRegion);
    if (!holds && !communicates)
      continue;
    std::string path = prefix + "eqns/" + std::to_string(i);
    if (communicates)
      addSteps(id, eqnId, path);
    if (holds) {
      ++next;
      any |= listBodies(id, eqnId, path);
    }
  }
  any |= account_.collectives.size() != before;
  communicates_[id.index()] = any;
  return any;
}

CommunicationAccount Accountant::account() {
  if (!checked_.entryInstance.valid())
    return {};
  account_.derives =
      llvm::any_of(checked_.diagnostics.all(), [](const Diagnostic &d) {
        return d.code == diag::DerivativeUnchecked;
      });
  order(checked_.entryInstance);
  runs_[checked_.entryInstance.index()].times = 1;
  for (InstanceId id : llvm::reverse(order_))
    addRuns(id);
  seen_.clear();
  list(checked_.entryInstance, "");
  return std::move(account_);
}

CommunicationAccount shardtype::accountFor(const CheckedProgram &checked,
                                           const PrimitiveSet &primitives) {
  return Accountant(checked, primitives).account();
}

//===--- --deny -----------------------------------------------------------===//

void shardtype::denyCollectives(CheckedProgram &checked,
                                const CommunicationAccount &account,
                                ArrayRef<LevelOptions::Denied> denied) {
  for (const NamedCollective &found : account.collectives) {
    auto by = llvm::find_if(denied, [&](const LevelOptions::Denied &deny) {
      return deny.kind == found.step.kind;
    });
    if (by == denied.end() || found.step.sentBytes == 0 ||
        found.executions == Executions())
      continue;
    Diagnostic &d = checked.diagnostics.add(diag::CollectiveDenied,
                                            {str(found.step.kind).str(),
                                             llvm::join(found.step.axes, ", "),
                                             by->origin});
    d.eqn = found.eqn;
    d.path = found.path;
    d.stack = found.stack;
  }
}
