// Predict.cpp - memory of a run, from liveness and types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Predict.h"
#include "shardtype/Tensor/Tensor.h"

using namespace shardtype;
using namespace shardtype::interp;

namespace {
class Predictor {
public:
  Predictor(const Plans &plans, bool keepSums)
      : plans_(plans), keepSums_(keepSums),
        cx_(plans.checked().program->context()) {}
  /// The most bytes beyond those of its inputs, on all devices that run it.
  uint64_t peak(const Plan &plan, AxisSet devices);
  uint64_t bytes(TypeId type, AxisSet devices) const;

private:
  uint64_t bodies(const Step &step, AxisSet devices);
  AxisSet newAxes(const Step &step);
  const Plans &plans_;
  const bool keepSums_;
  const Context &cx_;
  MeshId mesh_; // Of the devices.
  std::map<std::pair<const Plan *, uint64_t>, uint64_t> known_;
};
} // namespace

/// Of all copies that devices hold of a value.
uint64_t Predictor::bytes(TypeId id, AxisSet devices) const {
  if (!id.valid())
    return 0;
  const Type &type = cx_.type(id);
  if (type.kind == Type::Ref)
    return bytes(type.inner, devices);
  if (!type.isArray())
    return 0;
  std::optional<int64_t> count = countElements(type.shape);
  if (!count)
    return UnknownBytes;
  uint64_t own =
      multiplyAmounts(static_cast<uint64_t>(*count), itemSize(type.dtype));
  if (keepSums_ && !type.sharding.unreduced.empty()) {
    int64_t parts = cx_.mesh(type.sharding.mesh).size(type.sharding.unreduced);
    own = addAmounts(own, multiplyAmounts(own, static_cast<uint64_t>(parts)));
  }
  const Mesh &mesh = cx_.meshOrEmpty(mesh_);
  AxisSet varying = type.manual.varying | type.manual.unreduced;
  // Without its check, types say nothing.
  AxisSet copies = type.manual.trivial() ? devices : devices & varying;
  if (devices.empty() || mesh.empty())
    return own;
  return multiplyAmounts(own, static_cast<uint64_t>(mesh.size(copies)));
}

/// The axes that become Manual in a region, on its mesh; none: it is no region.
AxisSet Predictor::newAxes(const Step &step) {
  const Program &program = *plans_.checked().program;
  ParamsId params = program.eqn(step.equation.eqn).params;
  ValueId mesh = program.param(params, "mesh"),
          axes = program.param(params, "newly_manual_axes");
  AxisSet found;
  if (!mesh.valid() || !axes.valid() || program.value(mesh).kind != Value::Mesh)
    return found;
  MeshId id(static_cast<uint32_t>(program.value(mesh).integer));
  for (ValueId axis : program.value(axes).elements)
    if (StringId name = program.value(axis).text; name.valid())
      if (auto at = cx_.meshOrEmpty(id).find(name))
        found.insert(*at);
  mesh_ = found.empty() ? mesh_ : id;
  return found;
}

uint64_t Predictor::bodies(const Step &step, AxisSet devices) {
  if (step.bodies.empty())
    return 0;
  AxisSet inner = devices;
  uint64_t most = 0;
  // A region: some axes are Manual from there on.
  MeshId around = mesh_;
  AxisSet added = newAxes(step);
  bool isRegion = !added.empty();
  inner |= added;
  for (auto [body, plan] : step.bodies) {
    uint64_t own = peak(*plan, inner);
    // Blocks are cut out of what enters a region.
    if (isRegion)
      for (uint32_t i = 0; i < plan->inputs.size(); ++i) {
        const Instance &in = plans_.checked().instances[plan->instance.index()];
        const Jaxpr &jaxpr = plans_.checked().program->jaxpr(in.jaxpr);
        own = addAmounts(own, bytes(in.types[jaxpr.numConsts + i], inner));
      }
    most = std::max(most, own);
  }
  mesh_ = around;
  return most;
}

uint64_t Predictor::peak(const Plan &plan, AxisSet devices) {
  auto [at, isNew] = known_.try_emplace({&plan, devices.bits()}, 0);
  if (!isNew)
    return at->second;
  std::vector<uint64_t> slots(plan.numSlots, 0);
  uint64_t live = 0, most = 0;
  for (const Datum &constant : plan.constants)
    if (!constant.tensor.shape().empty())
      live += constant.tensor.bytes();
  most = live;
  for (const Step &step : plan.steps) {
    for (auto [place, type] :
         llvm::zip_equal(step.results, step.equation.resultTypes)) {
      uint64_t size = bytes(type, devices);
      live = addAmounts(live, size);
      if (!place.nowhere())
        slots[place.index()] = size;
    }
    most = std::max(most, addAmounts(live, bodies(step, devices)));
    if (!isCounted(live))
      break;
    for (auto [place, type] :
         llvm::zip_equal(step.results, step.equation.resultTypes))
      if (place.nowhere())
        live -= bytes(type, devices);
    for (uint32_t slot : step.dying)
      live -= std::exchange(slots[slot], 0); // Inputs count as none.
  }
  known_[{&plan, devices.bits()}] = most;
  return most;
}

uint64_t interp::predictBytes(const Plans &plans, bool keepSums) {
  if (!plans.entry())
    return 0;
  Predictor predictor(plans, keepSums);
  uint64_t total = predictor.peak(*plans.entry(), {});
  for (TypeId type : plans.checked().argumentTypes)
    total = addAmounts(total, predictor.bytes(type, {}));
  return total;
}
