// Calls.cpp - equations whose results are those of a jaxpr: jit and its like.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bodies.h"
#include "BodyEval.h"
#include "Families.h"
#include "NumpyCalls.h"
#include "Shapes.h"
#include "shardtype/Rules/SpecDiagnostics.h"

using namespace shardtype;

namespace {
struct Jit {
  JaxprId jaxpr;
  StringRef name;
  const Value *mesh = nullptr, *in = nullptr, *out = nullptr;
  static constexpr auto fields = std::tuple(
      ignored("compiler_options_kvs", form::pairs, Hide::IfEmpty),
      optionalValue("ctx_mesh", &Jit::mesh, form::mesh, Hide::IfEmpty),
      ignored("donated_invars", form::flags, Hide::IfFalse),
      ignored("in_layouts", form::layouts, Hide::IfUnspecified),
      optionalValue("in_shardings", &Jit::in, form::shardings,
                    Hide::IfUnspecified),
      ignored("inline", form::choice, Hide::Always),
      field("jaxpr", &Jit::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("keep_unused", form::flag, Hide::IfFalse),
      optionalField("name", &Jit::name, Hide::Never, ParamField::Name),
      ignored("out_layouts", form::layouts, Hide::IfUnspecified),
      optionalValue("out_shardings", &Jit::out, form::shardings,
                    Hide::IfUnspecified));
};
struct Call {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("call_jaxpr", &Call::jaxpr, Hide::Never, ParamField::Jaxpr));
};
struct Remat {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      ignored("differentiated", form::flag),
      field("jaxpr", &Remat::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("policy", form::object), ignored("prevent_cse", form::flags));
};
struct CustomJvp {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      field("call_jaxpr", &CustomJvp::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("jvp_jaxpr_fun", form::object, Hide::Never, ParamField::Name,
              "jvp"),
      ignored("num_consts", form::integer, Hide::IfZero),
      ignored("symbolic_zeros", form::flag));
};
struct CustomVjp {
  JaxprId jaxpr;
  static constexpr auto fields = std::tuple(
      ignored("bwd", form::object, Hide::Never, ParamField::Name, "bwd"),
      field("call_jaxpr", &CustomVjp::jaxpr, Hide::Never, ParamField::Jaxpr),
      ignored("fwd_jaxpr_thunk", form::object, Hide::Never, ParamField::Name,
              "fwd"),
      ignored("num_consts", form::integer, Hide::IfZero),
      ignored("out_trees", form::object, Hide::Always),
      ignored("symbolic_zeros", form::flag));
};
} // namespace

template <typename P, bool Compare>
static LogicalResult plainCall(TypingContext &cx) {
  return callTypes(cx, cx.params<P>().jaxpr, cx.operands(), cx.mesh(), Compare);
}

//===--- jit --------------------------------------------------------------===//

/// jit/sharding.1: they change no type, but must fit: rank and divisibility,
/// for axes of every kind.
static LogicalResult checkShardings(TypingContext &cx, const Value *list,
                                    StringRef key, unsigned count,
                                    llvm::function_ref<TypeId(unsigned)> type) {
  if (!list)
    return success();
  bool isList = list->kind == Value::Tuple || list->kind == Value::List;
  if (isList && list->elements.size() != count)
    return cx
        .error(diag::ParamInvalid, key,
               "has " + std::to_string(list->elements.size()) +
                   " entries for " + std::to_string(count) + " values")
        .markParam(key);
  bool bad = false;
  Context &types = cx.context();
  for (auto [i, element] : llvm::enumerate(list->elements)) {
    const Value &value = cx.program().value(element);
    TypeId id = type(i);
    if (value.kind != Value::Sharding || value.elements.empty() ||
        !id.valid() || !types.type(id).isArray())
      continue;
    const Type t = types.type(id);
    MeshId mesh =
        cx.host().rewriteMesh(MeshId(static_cast<uint32_t>(value.integer)));
    const PartitionSpec &spec =
        cx.program().spec(cx.program().value(value.elements[0]));
    SpecResult<Sharding> sharding =
        resolve(types, spec, mesh, t.rank(), /*dropOthers=*/false);
    std::optional<SpecError> error;
    if (!sharding)
      error = sharding.error;
    else
      error = checkDivisible(types, *sharding, t.shape);
    if (!error)
      continue;
    auto [code, args] =
        describeSpecError(types, *error, spec, mesh, t.rank(), t.shape);
    cx.error(diag::RejectedOutSharding,
             key.str() + "[" + std::to_string(i) + "]", formatDiag(code, args))
        .markParam(key);
    bad = true;
  }
  return failure(bad);
}

namespace {
/// The devices of concrete meshes in the parameters of one `jit`.
class Devices {
public:
  explicit Devices(TypingContext &cx) : cx_(cx) {}
  LogicalResult look(const Value *value, StringRef key);

private:
  std::string at(const Mesh &mesh, size_t place) const;

  TypingContext &cx_;
  std::optional<Mesh> first_;
};
} // namespace

/// `x=2,y=2 with device 1 at (0, 1)`.
std::string Devices::at(const Mesh &mesh, size_t place) const {
  SmallVector<int64_t, 4> coordinate(mesh.rank());
  size_t rest = place;
  for (unsigned axis = mesh.rank(); axis-- > 0;) {
    size_t size = static_cast<size_t>(mesh.axes[axis].size);
    coordinate[axis] = static_cast<int64_t>(rest % size);
    rest /= size;
  }
  std::string text = shortMesh(cx_.context(), mesh);
  if (place >= mesh.devices.size())
    return text + " with " + std::to_string(mesh.devices.size()) + " devices";
  return text + " with device " + std::to_string(mesh.devices[place]) + " at " +
         listText(coordinate);
}

/// jit/mesh.1: the values of one call are on the same devices in one order.
/// Types do not show it, and JAX finds it when it lowers.
LogicalResult Devices::look(const Value *value, StringRef key) {
  if (!value)
    return success();
  for (ValueId element :
       value->kind == Value::Tuple ? value->elements : ArrayRef<ValueId>())
    if (failed(look(&cx_.program().value(element), key)))
      return failure();
  if (value->kind != Value::Mesh && value->kind != Value::Sharding)
    return success();
  MeshId id(static_cast<uint32_t>(value->integer));
  const Mesh mesh = cx_.context().meshOrEmpty(id);
  if (mesh.devices.empty() ||
      cx_.host().rewriteMesh(id) != cx_.context().forTypes(id))
    return success(); // Not known, or no longer that mesh.
  if (!first_)
    first_ = mesh;
  if (mesh.devices == first_->devices)
    return success();
  size_t place = 0,
         both = std::min(mesh.devices.size(), first_->devices.size());
  while (place < both && mesh.devices[place] == first_->devices[place])
    ++place;
  ErrorBuilder error =
      cx_.error(diag::MeshOperands, at(*first_, place), at(mesh, place));
  if (mesh.axes == first_->axes)
    error.note("names and sizes of their axes agree, the order of their "
               "devices does not");
  return error.markParam(key);
}

static LogicalResult checkDevices(TypingContext &cx, const Jit &p) {
  Devices devices(cx);
  return failure(failed(devices.look(p.mesh, "ctx_mesh")) ||
                 failed(devices.look(p.in, "in_shardings")) ||
                 failed(devices.look(p.out, "out_shardings")));
}

static LogicalResult jitTypes(TypingContext &cx) {
  const auto &p = cx.params<Jit>();
  MeshId mesh = cx.mesh();
  if (p.mesh && p.mesh->kind == Value::Mesh)
    if (MeshId own = cx.host().rewriteMesh(
            MeshId(static_cast<uint32_t>(p.mesh->integer)));
        own.valid())
      mesh = own;
  LogicalResult in =
      checkShardings(cx, p.in, "in_shardings", cx.numOperands(),
                     [&](unsigned i) { return cx.operandId(i); });
  FailureOr<NumpyCall> numpy = numpyCall(cx, p.name, p.jaxpr);
  if (failed(numpy))
    return failure();
  LogicalResult call = callTypes(cx, p.jaxpr, numpy->args, mesh, true);
  if (Typed found = cx.results().empty() ? Typed() : cx.results().front();
      numpy->result && found.open)
    cx.setResult(0, cx.context().withSharding(found.type, *numpy->result));
  LogicalResult out =
      checkShardings(cx, p.out, "out_shardings", cx.numResults(),
                     [&](unsigned i) { return cx.results()[i].type; });
  return failure(failed(in) || failed(call) || failed(out) || numpy->reported ||
                 failed(checkDevices(cx, p)));
}

//===--- Rows -------------------------------------------------------------===//

static constexpr NoRule NoDims = {NoRule::NotApplicable, "its body has them"};

template <auto Type, typename P>
static constexpr Primitive row(PrimitiveInfo info) {
  return {.info = info,
          .decode = decodeFor<P, 0, AnyNumber>,
          .dims = NoDims,
          .linearity = {},
          .open = OpenRule::Custom,
          .type = Custom{Type},
          .eval = callEval<P>};
}

static constexpr ParamSchema JitSchema = {schemaOf<Jit>.fields, true};
static constexpr ParamSchema JvpSchema = {schemaOf<CustomJvp>.fields, true,
                                          "call_jaxpr"};
static constexpr ParamSchema VjpSchema = {schemaOf<CustomVjp>.fields, true,
                                          "call_jaxpr"};
static constexpr StringRef JitNames[] = {"pjit"};
static constexpr StringRef RematNames[] = {"checkpoint", "remat"};
static constexpr StringRef CallNames[] = {"call", "core_closed_call"};

static const Primitive Rows[] = {
    row<jitTypes, Jit>({"jit", JitSchema, PrintStyle::Plain, JitNames}),
    // JAX compares no operands of remat2 and of the custom rules' calls.
    row<plainCall<Remat, false>, Remat>(
        {"remat2", schemaOf<Remat>, PrintStyle::Plain, RematNames}),
    row<plainCall<CustomJvp, false>, CustomJvp>({"custom_jvp_call", JvpSchema}),
    row<plainCall<CustomVjp, false>, CustomVjp>({"custom_vjp_call", VjpSchema}),
    row<plainCall<Call, true>, Call>({"eval_jaxpr", schemaOf<Call>}),
    row<plainCall<Call, true>, Call>({"closed_call", schemaOf<Call>}),
    row<plainCall<Call, true>, Call>(
        {"core_call", schemaOf<Call>, PrintStyle::Plain, CallNames})};

ArrayRef<Primitive> shardtype::calls() { return Rows; }
