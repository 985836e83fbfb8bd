// Manual.cpp - the state of results over Manual axes (spec 02, 4).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// V, the axes a value varies over, must be the same for all operands; casts are
// equations of their own. U and R follow the same rules over Manual axes as in
// specs over Explicit ones, but only where all axes of the mesh are Manual: the
// reduction rule of a row sees operands whose sets stand in their shardings.
// Where JAX drops sets, so do we, with a warning.
#include "shardtype/Rules/Manual.h"
#include "shardtype/Rules/Helpers.h"

using namespace shardtype;

//===--- Casts ------------------------------------------------------------===//

std::string shardtype::axisNamesCode(const Context &cx, MeshId mesh,
                                     AxisSet axes) {
  std::string text;
  for (uint8_t axis : axes.list())
    text += (text.empty() ? "'" : ", '") +
            cx.str(cx.mesh(mesh).axes[axis].name).str() + "'";
  return axes.size() == 1 ? text : "(" + text + ")";
}

std::string shardtype::stateText(const Context &cx, MeshId mesh,
                                 const ManualAxisType &manual) {
  std::string text;
  auto add = [&](StringRef name, AxisSet axes) {
    if (!axes.empty())
      text +=
          (text.empty() ? "" : ", ") + name.str() + ":" + str(cx, mesh, axes);
  };
  add("V", manual.varying);
  add("U", manual.unreduced);
  add("R", manual.reduced);
  return text.empty() ? "nothing" : "{" + text + "}";
}

std::string shardtype::stateSpec(const Context &cx, MeshId mesh,
                                 const ManualAxisType &manual) {
  return manual.trivial() ? "{}" : stateText(cx, mesh, manual);
}

TypeId shardtype::withManual(Context &cx, TypeId id,
                             const ManualAxisType &manual, MeshId mesh) {
  Type type = cx.type(id);
  type.manual = manual;
  if (type.manual.unreduced.empty())
    type.manual.kind = ReductionKind::None;
  else if (type.manual.kind == ReductionKind::None)
    type.manual.kind = ReductionKind::Sum;
  if (!type.sharding.hasMesh())
    type.sharding.mesh = mesh;
  return cx.intern(type);
}

TypeId shardtype::withKindOf(Context &cx, TypeId written, TypeId found) {
  if (written == found || !written.valid() || !found.valid())
    return written;
  const ManualAxisType &own = cx.type(written).manual;
  ReductionKind kind = cx.type(found).manual.kind;
  if (own.unreduced.empty() || own.kind == kind ||
      own.unreduced != cx.type(found).manual.unreduced)
    return written;
  Type type = cx.type(written);
  type.manual.kind = kind;
  return cx.intern(type);
}

CommStep shardtype::commStep(const Context &cx, MeshId mesh,
                             CommStep::Kind kind, ArrayRef<uint8_t> axes,
                             uint64_t bytes, int64_t n) {
  CommStep step;
  step.kind = kind;
  for (uint8_t axis : axes)
    step.axes.push_back(cx.str(cx.meshOrEmpty(mesh).axes[axis].name).str());
  step.devices = static_cast<uint64_t>(std::max<int64_t>(n, 1));
  step.payloadBytes = bytes;
  step.sentBytes = sentBytes(kind, bytes, step.devices);
  return step;
}

namespace {
enum class State : uint8_t { Invarying, Varying, Unreduced, Reduced };
}
static State stateOf(const ManualAxisType &manual, uint8_t axis) {
  return manual.varying.contains(axis)     ? State::Varying
         : manual.unreduced.contains(axis) ? State::Unreduced
         : manual.reduced.contains(axis)   ? State::Reduced
                                           : State::Invarying;
}

/// Is there a cast from one state to another (spec 02, 5)? A value that is
/// unreduced must have been summed before.
static bool hasCast(State from, State to) {
  switch (from) {
  case State::Invarying:
    return to == State::Varying || to == State::Reduced;
  case State::Varying:
    return to == State::Unreduced;
  case State::Reduced:
    return to == State::Varying;
  case State::Unreduced:
    return false;
  }
  llvm_unreachable("every state is named");
}

std::optional<CastPath> shardtype::castPath(const Context &cx, MeshId meshId,
                                            const ManualAxisType &from,
                                            const ManualAxisType &to,
                                            uint64_t bytes) {
  const Mesh &mesh = cx.meshOrEmpty(meshId);
  if (!to.unreduced.empty() && !from.unreduced.empty() && to.kind != from.kind)
    return std::nullopt;
  CastPath path;
  path.code = "{0}";
  AxisSet summed, moved[4][4];
  for (uint8_t axis = 0; axis < mesh.rank(); ++axis) {
    State a = stateOf(from, axis), b = stateOf(to, axis);
    if (a == b)
      continue;
    if (a == State::Unreduced) {
      summed.insert(axis);
      a = State::Invarying;
    }
    if (a != b && !hasCast(a, b))
      return std::nullopt;
    if (a != b)
      moved[static_cast<int>(a)][static_cast<int>(b)].insert(axis);
  }
  if (!summed.empty()) {
    StringRef name = from.kind == ReductionKind::Max   ? "pmax"
                     : from.kind == ReductionKind::Min ? "pmin"
                                                       : "psum";
    path.code = "jax.lax." + name.str() + "(" + path.code + ", " +
                axisNamesCode(cx, meshId, summed) + ")";
    path.communication.push_back(commStep(cx, meshId, CommStep::AllReduce,
                                          summed.list(), bytes,
                                          mesh.size(summed)));
  }
  constexpr StringRef Names[] = {"", "varying", "unreduced", "reduced"};
  for (auto &row : moved)
    for (unsigned b = 0; b < 4; ++b)
      if (!row[b].empty())
        path.code = "jax.lax.pcast(" + path.code + ", " +
                    axisNamesCode(cx, meshId, row[b]) + ", to='" +
                    Names[b].str() + "')";
  return path;
}

ErrorBuilder &ErrorBuilder::castOperand(unsigned operand,
                                        const ManualAxisType &to) {
  const Type &type = cx_.context().type(cx_.operandId(operand));
  if (!type.sharding.hasMesh() && !to.reduced.empty())
    return *this; // No cast makes it so (manual/preduced.2).
  MeshId mesh = type.sharding.hasMesh() ? type.sharding.mesh : cx_.mesh();
  std::optional<CastPath> path =
      castPath(cx_.context(), mesh, type.manual, to,
               bytesPerDevice(cx_.context(), cx_.operandId(operand)));
  if (!path || path->code == "{0}")
    return *this;
  Fix fix;
  fix.operand = static_cast<int>(operand);
  fix.type = withManual(cx_.context(), cx_.operandId(operand), to, mesh);
  fix.spec = stateSpec(cx_.context(), mesh, to);
  fix.code = std::move(path->code);
  fix.communication = std::move(path->communication);
  return this->fix(std::move(fix));
}

void shardtype::warnVariationLost(TypingContext &cx, AxisSet axes,
                                  StringRef why) {
  cx.error(diag::VariationLost, cx.name(), str(cx.context(), cx.mesh(), axes),
           why);
}

//===--- V ----------------------------------------------------------------===//

static AxisSet varyingOf(TypingContext &cx, unsigned i) {
  return cx.operand(i).manual.varying;
}

/// Which operands lack axes that others vary over, and the casts that give them
/// those.
static ErrorBuilder reportVarying(TypingContext &cx, AxisSet all) {
  std::string list;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).kind != Type::Token)
      list += (list.empty() ? "" : ", ") + cx.arg(cx.operandId(i));
  ErrorBuilder error = cx.error(diag::VaryingMismatch, cx.name(), list);
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (cx.operand(i).kind != Type::Token)
      error.mark(i);
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    ManualAxisType to = cx.operand(i).manual;
    AxisSet missing = all - to.varying;
    if (cx.operand(i).kind == Type::Token || missing.empty())
      continue;
    to.varying |= missing;
    to.reduced = to.reduced - missing;
    to.unreduced = to.unreduced - missing;
    if (to.unreduced.empty())
      to.kind = ReductionKind::None;
    error.castOperand(i, to);
  }
  return error;
}

FailureOr<AxisSet> varying::match(TypingContext &cx) {
  if (cx.options().vma == Vma::Off) // manual/varying.3
    return AxisSet();
  AxisSet all;
  std::optional<AxisSet> first;
  bool same = true;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    if (cx.operand(i).kind == Type::Token)
      continue;
    all |= varyingOf(cx, i);
    same &= !first || *first == varyingOf(cx, i);
    first = varyingOf(cx, i);
  }
  bool casts = cx.options().recast; // manual/recast.1
  if (same || casts || cx.options().vma == Vma::Infer)
    return all;                  // manual/varying.1
  return reportVarying(cx, all); // manual/varying.2
}

FailureOr<AxisSet> varying::operand(TypingContext &cx) {
  return varyingOf(cx, 0);
}

//===--- U and R ----------------------------------------------------------===//

bool TypingContext::hasManual() const {
  if (!context_.meshOrEmpty(mesh_).axesOf(AxisType::Manual).empty())
    return true;
  for (const Typed &operand : operands_)
    if (!context_.type(operand.type).manual.trivial())
      return true;
  return false;
}

ManualAxisType TypingContext::manualFrom(ManualAxisType own,
                                         const Sharding &sets) const {
  own.unreduced = sets.unreduced;
  own.reduced = sets.reduced;
  own.kind = sets.unreduced.empty() ? ReductionKind::None : sets.kind;
  own.varying = own.varying - own.unreduced - own.reduced;
  return own;
}

void TypingContext::viewManual() {
  for (const Typed &typed : operands_) {
    Type type = context_.type(typed.type);
    if (type.isArray()) {
      type.sharding.unreduced = type.manual.unreduced;
      type.sharding.reduced = type.manual.reduced;
      type.sharding.kind = type.manual.kind;
    }
    views_.push_back(std::move(type));
  }
}

/// JAX has no rule for U and R here and forgets them (manual/sets.2, .3).
static void warnSetsDropped(TypingContext &cx, StringRef why) {
  AxisSet sums, copies;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    sums |= cx.operand(i).manual.unreduced;
    copies |= cx.operand(i).manual.reduced;
  }
  ManualAxisType lost = {{}, sums, copies, ReductionKind::None};
  ErrorBuilder warning =
      cx.error(diag::SetsDropped, cx.name(),
               stateText(cx.context(), cx.ruleMesh(), lost), why);
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (const ManualAxisType &m = cx.operand(i).manual;
        !m.unreduced.empty() || !m.reduced.empty())
      warning.mark(i);
}

/// Does nothing remain of what operands are unreduced or reduced over? A
/// contraction of copies needs not be one.
static bool loses(TypingContext &cx, const ReductionSets &sets) {
  bool sums = false, copies = false;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    sums |= !cx.operand(i).manual.unreduced.empty();
    copies |= !cx.operand(i).manual.reduced.empty();
  }
  return (sums && sets.unreduced.empty()) ||
         (copies && sets.reduced.empty() && sets.unreduced.empty() &&
          cx.name() != "dot_general");
}

/// Has a rule said that there is none? One that JAX trips over only in specs
/// counts, for over Manual axes there are none.
static bool saysMissing(const Diagnostic &d) {
  return d.code == diag::RuleMissingUR || d.code == diag::SpecIteration ||
         d.code == diag::ConvUnsupported || d.code == diag::SelectGatherDiffer;
}

FailureOr<ReductionSets> TypingContext::manualSets(
    const Rule<FailureOr<ReductionSets>(TypingContext &)> &reduction) {
  const Mesh &mesh = context_.meshOrEmpty(mesh_);
  if (!mesh.allOf(AxisType::Manual) && !rulesApply()) {
    warnSetsDropped(*this, "other axes of the mesh are Auto"); // manual/sets.3
    return ReductionSets{};
  }
  bool lost = true;
  if (reduction) {
    size_t before = diagnostics_.size();
    viewManual();
    FailureOr<ReductionSets> sets = reduction(*this);
    lost = succeeded(sets) ? loses(*this, *sets)
                           : saysMissing(diagnostics_.back());
    bool looks = succeeded(sets)
                     ? !sets->unreduced.empty() || !sets->reduced.empty()
                     : !lost;
    views_.clear();
    if (mesh.allOf(AxisType::Manual) && (succeeded(sets) || !lost)) {
      if (lost) // manual/sets.2
        warnSetsDropped(*this, "it has no rule for them");
      return sets; // manual/sets.1
    }
    diagnostics_.resize(before);
    if (looks) // manual/sets.4
      return error(diag::AccidentalRejectBare, name(),
                   "an operand is unreduced or reduced over a Manual axis, and "
                   "other axes are not Manual");
  }
  if (lost)
    warnSetsDropped(*this, "it has no rule for them"); // manual/sets.2
  for (Typed &result : results_)
    result = {}; // What the refusal would have assumed.
  return ReductionSets{};
}

LogicalResult TypingContext::typeManual(
    const Rule<FailureOr<AxisSet>(TypingContext &)> &varying,
    const Rule<FailureOr<ReductionSets>(TypingContext &)> &reduction) {
  resultManual_ = {};
  if (!hasManual())
    return success();
  bool any = false;
  for (unsigned i = 0; i < numOperands(); ++i)
    any |= !operand(i).manual.unreduced.empty() ||
           !operand(i).manual.reduced.empty();
  // Beside Explicit axes JAX's rules for specs come first, and assert.
  FailureOr<ReductionSets> sets = ReductionSets{};
  bool early = any && rulesApply();
  if (early && failed(sets = manualSets(reduction)))
    return failure();
  FailureOr<AxisSet> axes = varying(*this);
  if (failed(axes))
    return failure();
  resultManual_.varying = *axes;
  if (any && !early && failed(sets = manualSets(reduction)))
    return failure();
  resultManual_.unreduced = sets->unreduced;
  resultManual_.reduced = sets->reduced;
  resultManual_.kind =
      sets->unreduced.empty() ? ReductionKind::None : sets->kind;
  if (!(sets->unreduced & sets->reduced).empty()) // manual/sets.5
    error(diag::ManualOverlap, sets->unreduced & sets->reduced);
  return success();
}
