// SoundTypes.cpp - types that are sound although JAX refuses the equation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds of refusal are never about the program, whatever the primitive:
//
// - Only axes or dims of size 1 are in the way (sound/type.1). Such an axis
//   holds all of a dim, and a sum over it is complete, so the equation means
//   what it means without these axes; if the row takes it so, those results
//   are sound.
// - All operands are replicated (but for such axes), and no parameter asks for
//   a sharding (sound/type.2). Every device can compute the whole result by
//   itself.
//
// A rule that knows a better type has said so already (ErrorBuilder::sound).
// What is refused for its shapes or dtypes is refused in both trials, too.
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/TypingContext.h"

using namespace shardtype;

/// The axes of size 1 of a mesh.
static AxisSet unitAxes(const Mesh &mesh) {
  AxisSet axes;
  for (unsigned axis = 0; axis < mesh.rank(); ++axis)
    if (mesh.axes[axis].size == 1)
      axes.insert(axis);
  return axes;
}

Sharding shardtype::dropUnitAxes(Context &cx, Sharding sharding) {
  AxisSet unit = unitAxes(cx.meshOrEmpty(sharding.mesh));
  if (unit.empty())
    return sharding;
  for (AxisList &dim : sharding.dims)
    llvm::erase_if(dim, [&](uint8_t axis) { return unit.contains(axis); });
  sharding.unreduced = sharding.unreduced - unit;
  sharding.reduced = sharding.reduced - unit;
  if (sharding.unreduced.empty())
    sharding.kind = ReductionKind::None;
  return sharding;
}

/// The results without axes of size 1, if the row takes the equation so.
std::optional<SmallVector<Typed, 2>> TypingContext::withoutUnitAxes() {
  SmallVector<Typed, 4> operands(operands_);
  for (Typed &operand : operands) {
    const Type &type = context_.type(operand.type);
    if (type.isArray())
      operand.type = context_.withSharding(
          operand.type, dropUnitAxes(context_, type.sharding));
  }
  Options options = options_;
  options.withoutUnitAxes = true;
  TypingContext other(*this, operands, mesh_, options);
  if (failed(other.run()))
    return std::nullopt;
  return std::move(other.results_);
}

/// Does a parameter ask for a sharding?
static bool asksForSharding(const Program &program, ValueId id) {
  const Value &value = program.value(id);
  return value.kind == Value::Sharding || value.kind == Value::Spec ||
         llvm::any_of(value.elements, [&](ValueId element) {
           return asksForSharding(program, element);
         });
}

/// All operands are whole on every device: the results are, too.
std::optional<SmallVector<Typed, 2>> TypingContext::replicatedResults() {
  MeshId mesh = ruleMesh();
  SmallVector<Typed, 4> operands(operands_);
  for (Typed &operand : operands) {
    const Type &type = context_.type(operand.type);
    if (!type.isArray() || !type.manual.trivial())
      return std::nullopt;
    Sharding sharding = dropUnitAxes(context_, type.sharding);
    if (sharding.partitioned() || sharding.hasUR() ||
        (sharding.hasMesh() && sharding.mesh != mesh))
      return std::nullopt;
    operand.type =
        context_.withSharding(operand.type, replicated(MeshId(), type.rank()));
  }
  for (const Param &param : program_.params(params_))
    if (asksForSharding(program_, param.value))
      return std::nullopt;
  TypingContext other(*this, operands, MeshId(), options_);
  if (failed(other.run()))
    return std::nullopt;
  for (Typed &result : other.results_)
    if (result.type.valid() && context_.type(result.type).isArray())
      result.type = context_.withSharding(
          result.type, replicated(mesh, context_.type(result.type).rank()));
  return std::move(other.results_);
}

void TypingContext::findSound(Diagnostic &diagnostic) {
  if (diagnostic.wanted.valid() || info(diagnostic.code).jaxClass.empty() ||
      numResults() == 0)
    return;
  std::optional<SmallVector<Typed, 2>> results;
  if (!unitAxes(context_.meshOrEmpty(ruleMesh())).empty())
    results = withoutUnitAxes();
  if (!results)
    results = replicatedResults();
  if (!results || !results->front().type.valid())
    return;
  for (Fix &fix : diagnostic.fixes)
    fix.assumed = false;
  diagnostic.wanted = results->front().type;
  results_ = std::move(*results);
}

//===--- The other release ------------------------------------------------===//

/// Says so where the other release of JAX decides otherwise (spec 01, 6.4).
void TypingContext::noteOtherVersion(bool accepted) {
  Options options = options_;
  options.jax =
      options_.jax == JaxVersion::V0_11 ? JaxVersion::V0_12 : JaxVersion::V0_11;
  TypingContext other(*this, operands_, mesh_, options);
  other.recorded_ = recorded_;
  bool otherAccepts = succeeded(other.run());
  std::string what;
  if (otherAccepts) {
    if (accepted && other.results_ == results_)
      return;
    what = accepted ? "gives " : "accepts this and gives ";
    for (unsigned i = 0; i < other.results_.size(); ++i)
      what += (i ? ", " : "") + arg(other.results_[i].type);
  } else if (accepted && !other.diagnostics_.empty()) {
    what = "refuses this: " + other.diagnostics_.front().message;
  } else {
    return; // Both refuse it, each in its own words.
  }
  error(diag::VersionDifference, str(options.jax), what);
}
