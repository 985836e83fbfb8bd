// Shardings.cpp - reshard, sharding_constraint and device_put.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/Eval.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

/// None, or numbers of dims: JAX has a frozenset.
static constexpr Form DimSet = {form::bits(Value::None, Value::Set),
                                form::bits(Value::Int)};

namespace {
struct Reshard {
  ShardingParam destination;
  static constexpr auto fields =
      std::tuple(ignored("concrete_mesh", form::mesh, Hide::AlwaysNone),
                 field("dst_sharding", &Reshard::destination, Hide::Always));
};
struct Constraint {
  const Value *sharding = nullptr, *layout = nullptr, *free = nullptr;
  static constexpr auto fields = std::tuple(
      ignored("context_mesh", form::mesh),
      optionalValue("layout", &Constraint::layout, form::layouts),
      valueField("sharding", &Constraint::sharding, form::sharding),
      optionalValue("unconstrained_dims", &Constraint::free, DimSet));
};
struct DevicePut {
  const Value *devices = nullptr;
  static constexpr auto fields =
      std::tuple(ignored("copy_semantics", form::choices),
                 valueField("devices", &DevicePut::devices, form::destinations),
                 ignored("srcs", form::list));
};
} // namespace

static DimMap sameDims(TypingContext &cx) {
  return pointwise({cx.shape(0)}, cx.shape(0));
}

static LogicalResult onlyArrays(TypingContext &cx) {
  if (cx.operand(0).isArray())
    return success();
  return cx
      .error(diag::DTypeMismatch, "'" + cx.name().str() +
                                      "' takes an array, "
                                      "but operand 0 is " +
                                      cx.arg(cx.operandId(0)))
      .mark(0);
}

//===--- reshard ----------------------------------------------------------===//

/// What partial results can become.
static LogicalResult checkKinds(TypingContext &cx, const Sharding &to) {
  const Sharding &from = cx.sharding(0);
  Context &types = cx.context();
  std::optional<diag::Code> refused = refusedReshard(types, from, to);
  if (!refused)
    return success();
  AxisSet more = to.unreduced - onMesh(types, from, to.mesh).unreduced;
  ErrorBuilder error =
      *refused == diag::ReshardKind
          ? cx.error(*refused, str(from.kind), str(to.kind))
          : cx.error(*refused, str(to.kind), str(types, to.mesh, more));
  error.mark(0).markParam("dst_sharding");
  // reshard/reduction.3: what is partial over axes of size 1 is complete.
  if (!refusedReshard(types, dropUnitAxes(types, from),
                      dropUnitAxes(types, to)) &&
      !checkDivisible(types, to, cx.shape(0)))
    error.soundTypes(types.withSharding(cx.operandId(0), to));
  return error;
}

/// reshard/type.3: of JAX's own reshards only the mesh counts: they keep the
/// operand's sharding, but for axes that are not Explicit there.
static FailureOr<Sharding> kept(TypingContext &cx, ShardingParam param) {
  param.spec = PartitionSpec();
  param.state = ShardingParam::Given;
  FailureOr<Sharding> there =
      cx.resolveParam(param, cx.operand(0).rank(), "dst_sharding");
  if (failed(there))
    return failure();
  const Mesh &mesh = cx.context().meshOrEmpty(there->mesh);
  const Mesh &own = cx.context().meshOrEmpty(cx.sharding(0).mesh);
  AxisSet is = mesh.axesOf(AxisType::Explicit);
  // Where a region captures a value, JAX writes it for all axes Auto only.
  if (own.anyExplicit() &&
      mesh.axesOf(AxisType::Manual) != own.axesOf(AxisType::Manual))
    return cx.sharding(0);
  Sharding result = onMesh(cx.context(), cx.sharding(0), there->mesh);
  for (AxisList &dim : result.dims)
    llvm::erase_if(dim, [&](uint8_t axis) { return !is.contains(axis); });
  result.unreduced = result.unreduced & is;
  result.reduced = result.reduced & is;
  if (result.unreduced.empty())
    result.kind = ReductionKind::None;
  return result;
}

static FailureOr<Sharding> destination(TypingContext &cx) {
  const ShardingParam &param = cx.params<Reshard>().destination;
  unsigned rank = cx.operand(0).rank();
  if (param.by == Value::Jax)
    return kept(cx, param);
  switch (param.state) {
  case ShardingParam::Given:
    return cx.resolveParam(param, rank, "dst_sharding");
  case ShardingParam::None: // reshard/type.2
    return replicated(MeshId(), rank);
  case ShardingParam::Hidden:
    break;
  }
  TypeId recorded = cx.recordedResult(0);
  if (!recorded.valid() || !cx.context().type(recorded).isArray() ||
      cx.context().type(recorded).rank() != rank)
    return cx
        .error(diag::ParamInvalid, "dst_sharding",
               "a printed program hides it, so the result needs a type")
        .markParam("dst_sharding");
  std::optional<Sharding> sharding = cx.recordedSharding(0);
  return sharding ? *sharding : replicated(cx.mesh(), rank);
}

/// reshard/type.1: anything can become anything; the context does not matter.
static LogicalResult reshardTypes(TypingContext &cx) {
  if (failed(onlyArrays(cx)))
    return failure();
  FailureOr<Sharding> to = destination(cx);
  if (failed(to) || failed(checkKinds(cx, *to)))
    return failure();
  FailureOr<TypeId> type = cx.updateType(0, cx.operand(0).shape, *to);
  if (failed(type))
    return failure();
  AxisSet from = cx.sharding(0).unreduced;
  if (!(from - to->unreduced).empty() && !(to->unreduced - from).empty())
    cx.error(diag::DoesNotRun, cx.name(), // runs/warning.4
             "the compiler aborts where partial sums over some axes become "
             "those over others")
        .mark(0);
  return setResults(cx, *type);
}

//===--- sharding_constraint ----------------------------------------------===//

/// Is a dim left to the compiler?
static bool isFree(const Program &program, const Constraint &p,
                   const PartitionSpec &spec, unsigned dim) {
  if (dim < spec.partitions.size() &&
      spec.partitions[dim].kind == SpecEntry::Unconstrained)
    return true;
  return p.free && llvm::any_of(p.free->elements, [&](ValueId id) {
           return program.value(id).kind == Value::Int &&
                  program.value(id).integer == dim;
         });
}

/// The axes of size 1 that are all that tells two shardings apart; nothing if
/// there is more.
static std::optional<AxisSet>
unitDifference(const Context &cx, const Sharding &a, const Sharding &b) {
  const Mesh &mesh = cx.meshOrEmpty(a.mesh);
  AxisSet units;
  for (unsigned axis = 0; axis < mesh.rank(); ++axis)
    if (mesh.axes[axis].size == 1)
      units.insert(axis);
  auto without = [&](const AxisList &dim) {
    AxisList rest;
    llvm::copy_if(dim, std::back_inserter(rest),
                  [&](uint8_t axis) { return !units.contains(axis); });
    return rest;
  };
  AxisSet differ;
  for (unsigned d = 0; d < a.dims.size(); ++d) {
    if (without(a.dims[d]) != without(b.dims[d]))
      return std::nullopt;
    if (a.dims[d] == b.dims[d])
      continue;
    AxisSet x = AxisSet::of(a.dims[d]), y = AxisSet::of(b.dims[d]);
    differ |= (x - y) | (y - x);
  }
  return differ;
}

/// On Explicit axes a constraint is an assertion (constraint/assert.1): dim by
/// dim the same entry. Going on with what it asks for, it causes one error at
/// most.
static LogicalResult assertSharding(TypingContext &cx, const Sharding &asked,
                                    const PartitionSpec &spec) {
  const Sharding &own = cx.sharding(0);
  if (own.hasUR() || asked.hasUR()) // constraint/assert.3
    return cx.error(diag::SpecIteration, cx.name()).mark(0);
  Sharding is = own;
  is.mesh = asked.mesh;
  bool same = is.dims == asked.dims;
  std::optional<AxisSet> units = unitDifference(cx.context(), is, asked);
  if (same || (units && cx.options().ignoreUnitAxes)) // constraint/assert.1
    return setResults(cx, cx.operandId(0));
  std::string extra;
  if (units)
    extra = "; they differ only by '" + str(cx.context(), asked.mesh, *units) +
            "' of size 1, so no data would move";
  ErrorBuilder error =
      cx.error(diag::ConstraintMismatch, str(cx.context(), spec),
               str(cx.context(), toSpec(cx.context(), own)), extra);
  for (unsigned d = 0; d < is.dims.size(); ++d)
    if (is.dims[d] != asked.dims[d])
      error.mark(0, d);
  error.markParam("sharding");
  if (auto bad = checkDivisible(cx.context(), asked, cx.shape(0))) {
    auto [code, args] = describeSpecError(cx.context(), *bad, spec, asked.mesh,
                                          cx.operand(0).rank(), cx.shape(0));
    error.note("no reshard makes it so: " + formatDiag(code, args));
  } else {
    error.fixOperand(0, asked);
    error.diagnostic().fixes.back().assumed = true; // constraint/assert.2
    cx.setResult(0, cx.context().withSharding(cx.operandId(0), asked));
  }
  return error;
}

/// `--constraints reshard` (constraint/reshard.1): what an Auto program means.
static LogicalResult reshardTo(TypingContext &cx, const Sharding &asked) {
  FailureOr<TypeId> type = cx.updateType(0, cx.operand(0).shape, asked);
  if (failed(type))
    return failure();
  if (asked != cx.sharding(0))
    cx.error(diag::ConstraintEdit, cx.operandId(0), *type)
        .mark(0)
        .fixOperand(0, asked);
  return setResults(cx, *type);
}

/// Bytes of an array of this shape; saturates.
static uint64_t bytesOf(ArrayRef<int64_t> shape, DType dtype) {
  uint64_t bits = info(dtype).bits;
  for (int64_t size : shape)
    bits = llvm::SaturatingMultiply(
        bits, static_cast<uint64_t>(std::max<int64_t>(size, 0)));
  return bits / 8 + (bits % 8 != 0);
}

/// constraint/auto.3: no type has Auto axes, so nothing else sees a dim that
/// does not divide over them.
static void warnIndivisible(TypingContext &cx, const PartitionSpec &spec,
                            const Mesh &mesh) {
  ArrayRef<int64_t> shape = cx.shape(0);
  for (auto [d, entry] : llvm::enumerate(spec.partitions)) {
    if (d >= shape.size() || Dim::isSymbolic(shape[d]))
      return;
    AxisList axes;
    for (StringId name : entry.axes)
      axes.push_back(static_cast<uint8_t>(*mesh.find(name)));
    int64_t parts = mesh.size(axes);
    if (parts < 1 || shape[d] % parts == 0)
      continue;
    Shape padded(shape);
    padded[d] = shape[d] / parts + 1;
    std::string names;
    for (StringId name : entry.axes)
      names +=
          (names.empty() ? "'" : ", '") + cx.context().str(name).str() + "'";
    cx.error(diag::ConstraintIndivisible, d, shape[d], names, parts,
             bytesOf(shape, cx.operand(0).dtype),
             bytesOf(padded, cx.operand(0).dtype))
        .mark(0, static_cast<int>(d))
        .markParam("sharding");
  }
}

/// A constraint names an axis that is not Auto: what is left without those.
static LogicalResult refuseAxis(TypingContext &cx, const PartitionSpec &spec,
                                const Mesh &mesh, unsigned axis) {
  Context &context = cx.context();
  PartitionSpec rest = spec;
  for (SpecEntry &entry : rest.partitions) {
    llvm::erase_if(entry.axes, [&](StringId name) {
      std::optional<unsigned> at = mesh.find(name);
      return at && mesh.axes[*at].type != AxisType::Auto;
    });
    if (entry.axes.empty() && entry.kind != SpecEntry::Unconstrained)
      entry = {};
  }
  std::string name = context.str(mesh.axes[axis].name).str();
  std::string why = mesh.axes[axis].type == AxisType::Manual
                        ? "here " + str(context, cx.operandId(0)) +
                              " is one device's block along '" + name + "'"
                        : "along '" + name +
                              "' the type says it, and jax.sharding.reshard "
                              "changes it";
  return cx
      .error(diag::ConstraintAutoOnly, name, str(context, spec),
             str(mesh.axes[axis].type))
      .markParam("sharding")
      .note(why + "; drop it from the spec: " + str(context, rest));
}

/// constraint/auto.1: beside Auto axes, only those may be named; the type keeps
/// its own entries.
static LogicalResult constrainAuto(TypingContext &cx, const PartitionSpec &spec,
                                   MeshId id) {
  const Mesh mesh = cx.context().meshOrEmpty(id);
  bool isOneHot = cx.derived() == R"({"api":"jax.nn.one_hot"})";
  for (const SpecEntry &entry : spec.partitions)
    for (StringId name : entry.axes) {
      std::optional<unsigned> at = mesh.find(name);
      if (!at)
        return reportSpecError(cx, {SpecError::UnknownAxis, name}, spec, id,
                               cx.operand(0).rank())
            .markParam("sharding");
      if (isOneHot && mesh.axes[*at].type == AxisType::Auto)
        // constraint/auto.4
        return cx
            .error(diag::SpecAxisType, cx.context().str(name),
                   str(cx.context(), spec), str(mesh.axes[*at].type))
            .markParam("sharding");
      if (mesh.axes[*at].type != AxisType::Auto)
        return refuseAxis(cx, spec, mesh, *at);
    }
  Sharding own = cx.sharding(0);
  if (own.mesh != id)
    own = onMesh(cx.context(), own, id);
  FailureOr<TypeId> type = cx.updateType(0, cx.operand(0).shape, own);
  if (failed(type))
    return failure();
  warnIndivisible(cx, spec, mesh);
  return setResults(cx, *type);
}

static LogicalResult constraintTypes(TypingContext &cx) {
  const auto &p = cx.params<Constraint>();
  if (failed(onlyArrays(cx)))
    return failure();
  unsigned rank = cx.operand(0).rank();
  if (p.sharding->kind != Value::Sharding || p.sharding->elements.empty()) {
    // A sharding of another class knows no axes: constraint/auto.2
    FailureOr<TypeId> type =
        cx.updateType(0, cx.operand(0).shape, replicated(MeshId(), rank));
    return failed(type) ? failure() : setResults(cx, *type);
  }
  MeshId mesh =
      cx.host().rewriteMesh(MeshId(static_cast<uint32_t>(p.sharding->integer)));
  PartitionSpec spec =
      cx.program().spec(cx.program().value(p.sharding->elements[0]));
  bool layout = p.layout && p.layout->kind != Value::None;
  const Mesh &here = cx.context().meshOrEmpty(mesh);
  bool isExplicit = !here.empty() && here.allOf(AxisType::Explicit) && !layout;
  bool reshards = cx.options().constraintsReshard && here.anyExplicit();
  if (reshards)
    for (unsigned d = 0; d < rank; ++d)
      if (isFree(cx.program(), p, spec, d)) {
        // Dims left free keep what they have.
        spec.partitions.resize(std::max<size_t>(spec.partitions.size(), d + 1));
        spec.partitions[d] = {};
        for (uint8_t axis : cx.sharding(0).dims[d])
          spec.partitions[d].axes.push_back(
              cx.context().mesh(cx.sharding(0).mesh).axes[axis].name);
      }
  if (!reshards && !isExplicit)
    return constrainAuto(cx, spec, mesh);
  SpecResult<Sharding> asked = resolve(cx.context(), spec, mesh, rank);
  if (!asked)
    return reportSpecError(cx, asked.error, spec, mesh, rank)
        .markParam("sharding");
  return reshards ? reshardTo(cx, *asked) : assertSharding(cx, *asked, spec);
}

//===--- device_put -------------------------------------------------------===//

static MemorySpace memoryOf(StringRef kind) {
  return kind == "pinned_host" || kind == "Host" ? MemorySpace::Host
         : kind == "Any"                         ? MemorySpace::Any
                                                 : MemorySpace::Device;
}

/// The member of a MemorySpace, as a file or a printed program has it.
static std::optional<StringRef> memorySpace(const Context &cx,
                                            const Value &value) {
  if (value.kind == Value::Enum && cx.str(value.text) == "MemorySpace")
    return cx.str(value.text2);
  if (value.kind != Value::OpaqueText && value.kind != Value::Str)
    return std::nullopt;
  StringRef text = cx.str(value.text);
  if (!text.consume_front("MemorySpace."))
    return std::nullopt;
  return text;
}

/// One operand's type at its destination (device_put/type.1, .2).
static FailureOr<TypeId> putType(TypingContext &cx, unsigned i,
                                 const Value &to) {
  Context &types = cx.context();
  Type type = cx.operand(i);
  if (!type.isArray())
    return cx.operandId(i);
  if (std::optional<StringRef> space = memorySpace(types, to)) {
    type.memory = memoryOf(*space);
    return types.intern(type);
  }
  if (to.kind != Value::Sharding)
    return cx.operandId(i); // A device, or none.
  Sharding sharding = replicated(MeshId(), type.rank());
  if (!to.elements.empty()) {
    MeshId mesh =
        cx.host().rewriteMesh(MeshId(static_cast<uint32_t>(to.integer)));
    const PartitionSpec &spec =
        cx.program().spec(cx.program().value(to.elements[0]));
    SpecResult<Sharding> result = resolve(types, spec, mesh, type.rank());
    if (!result)
      return reportSpecError(cx, result.error, spec, mesh, type.rank())
          .markParam("devices");
    sharding = *result;
  }
  if (auto bad = checkDivisible(types, sharding, type.shape))
    return reportSpecError(cx, *bad, sharding, type.shape)
        .mark(i)
        .markParam("devices");
  type.sharding = sharding;
  if (to.text.valid())
    type.memory = memoryOf(types.str(to.text));
  return types.intern(type);
}

static LogicalResult devicePutTypes(TypingContext &cx) {
  const Value &devices = *cx.params<DevicePut>().devices;
  if (devices.elements.size() != cx.numOperands())
    return cx
        .error(diag::ParamInvalid, "devices",
               "has " + std::to_string(devices.elements.size()) +
                   " destinations for " + std::to_string(cx.numOperands()) +
                   " operands")
        .markParam("devices");
  SmallVector<TypeId, 4> types;
  for (unsigned i = 0; i < cx.numOperands(); ++i) {
    FailureOr<TypeId> type =
        putType(cx, i, cx.program().value(devices.elements[i]));
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  if (failed(setResults(cx, types)))
    return failure();
  // What is only moved stays as undecided as it was.
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (types[i] == cx.operandId(i) && cx.operandTyped(i).open)
      cx.setResult(i, types[i], true);
  return success();
}

//===--- Communication ----------------------------------------------------===//

/// The steps from the operand's type to the result's. Where axes are Auto no
/// type says what is sharded over them.
static FailureOr<std::vector<CommStep>> reshardSteps(const TypedEqn &eqn) {
  Context &cx = eqn.context;
  if (eqn.operands.empty() || eqn.results.empty())
    return std::vector<CommStep>(); // An error, which has been reported.
  const Type &from = cx.type(eqn.operands[0]), &to = cx.type(eqn.results[0]);
  if (!from.isArray() || !to.isArray())
    return std::vector<CommStep>();
  const Mesh &before = cx.meshOrEmpty(from.sharding.mesh);
  const Mesh &after = cx.meshOrEmpty(to.sharding.mesh);
  for (const MeshAxis &axis : before.axes) {
    std::optional<unsigned> at = after.find(axis.name);
    if (axis.type == AxisType::Auto && axis.size > 1 && at &&
        after.axes[*at].type == AxisType::Explicit)
      return failure();
  }
  return reshardCost(cx, eqn.operands[0], eqn.results[0]);
}

//===--- Rows -------------------------------------------------------------===//

static const Primitive Rows[] = {
    {.info = {"reshard", schemaOf<Reshard>},
     .decode = decodeFor<Reshard, 1>,
     .dims = sameDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Custom,
     .type = Custom{reshardTypes},
     .communication = reshardSteps,
     .eval = eval::pass},
    {.info = {"sharding_constraint", schemaOf<Constraint>},
     .decode = decodeFor<Constraint, 1>,
     .dims = sameDims,
     .linearity = {Linearity::Jointly, 1},
     .open = OpenRule::Custom,
     .type = Custom{constraintTypes},
     .communication = reshardSteps,
     .eval = eval::pass},
    {.info = {"device_put", schemaOf<DevicePut>},
     .decode = decodeFor<DevicePut, 0, AnyNumber>,
     .dims = NoRule{NoRule::NotApplicable, "each operand has its own result"},
     .linearity = {},
     .open = OpenRule::Custom,
     .type = Custom{devicePutTypes},
     .eval = eval::pass}};

ArrayRef<Primitive> shardtype::shardings() { return Rows; }
