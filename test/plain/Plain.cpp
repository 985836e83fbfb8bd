// Plain.cpp - the plain evaluator's walk: bodies, control flow, devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cstdlib>
#include <cstring>

using namespace shardtype;
using namespace shardtype::plain;

//===--- Parameters -------------------------------------------------------===//

Setting Setting::field(StringRef name) const {
  if (value)
    for (size_t i = 0; i < value->names.size(); ++i)
      if (program->context().str(value->names[i]) == name)
        return (*this)[i];
  return {program, nullptr};
}
int64_t Setting::number(int64_t otherwise) const {
  bool known =
      *this && (value->kind == Value::Int || value->kind == Value::Bool);
  return known ? value->integer : otherwise;
}
double Setting::real(double otherwise) const {
  if (!*this)
    return otherwise;
  if (value->kind == Value::Float)
    return std::strtod(program->context().str(value->text).str().c_str(),
                       nullptr);
  return static_cast<double>(number());
}
SmallVector<int64_t, 6> Setting::list() const {
  SmallVector<int64_t, 6> numbers;
  for (size_t i = 0; i < size(); ++i)
    numbers.push_back((*this)[i].number());
  return numbers;
}
std::string Setting::word() const {
  StringId text = !value                       ? StringId()
                  : value->kind == Value::Enum ? value->text2
                                               : value->text;
  return text.valid() ? program->context().str(text).str() : "";
}
JaxprId Setting::jaxpr() const {
  return value && value->kind == Value::Jaxpr
             ? JaxprId(static_cast<uint32_t>(value->integer))
             : JaxprId();
}
Setting Evaluator::param(const Eqn &eqn, StringRef key) const {
  ValueId id = program_.param(eqn.params, key);
  return {&program_, id.valid() ? &program_.value(id) : nullptr};
}
Setting Operation::operator[](StringRef key) const {
  ValueId id = program.param(eqn.params, key);
  return {&program, id.valid() ? &program.value(id) : nullptr};
}
void Operation::fail(const llvm::Twine &message) {
  if (evaluator.error.empty())
    evaluator.error = (name + ": " + message).str();
}

//===--- Elements ---------------------------------------------------------===//

int64_t plain::position(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    at = at * shape[d] + index[d];
  return at;
}
void plain::move(Tensor &to, int64_t at, const Tensor &from, int64_t from_at) {
  unsigned size = itemSize(to.dtype());
  std::memcpy(to.mutableData() + at * size, from.data() + from_at * size, size);
}

std::vector<Number> Operation::call(StringRef key, ArrayRef<DType> dtypes,
                                    ArrayRef<Number> values) {
  JaxprId body = (*this)[key].jaxpr();
  std::vector<Column> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    Tensor scalar = Tensor::zeros(dtypes[i], {});
    store(scalar, 0, values[i]);
    inputs.push_back({scalar});
  }
  World alone;
  alone.places.resize(1);
  InstanceId instance =
      evaluator.checked().body(evaluator.current, evaluator.at, body);
  InstanceId outer = evaluator.current;
  EqnId here = evaluator.at;
  std::vector<Column> outs =
      evaluator.body(body, instance, std::move(inputs), alone);
  evaluator.current = outer;
  evaluator.at = here;
  std::vector<Number> results;
  for (const Column &column : outs)
    results.push_back(column.empty() ? Number() : load(column[0], 0));
  return results;
}

Tensor Evaluator::literal(const Literal &of) {
  const Context &cx = program_.context();
  if (!of.type.valid() || cx.type(of.type).rank() != 0) {
    error = "a literal that is no scalar";
    return Tensor::zeros(DType::F32, {});
  }
  Tensor value = Tensor::zeros(cx.type(of.type).dtype, {});
  uint64_t bits = of.kind == Literal::Bool ? of.array != 0 : 0;
  StringRef text = of.bits.valid() ? cx.str(of.bits) : StringRef();
  if (of.kind == Literal::Bits && itemSize(value.dtype()) <= 8)
    text.getAsInteger(16, bits);
  else if (of.kind == Literal::Int && text.starts_with("-"))
    bits = -std::strtoull(text.str().c_str() + 1, nullptr, 10);
  else if (of.kind == Literal::Int)
    bits = std::strtoull(text.str().c_str(), nullptr, 10);
  else if (of.kind != Literal::Bool && of.kind != Literal::Float0)
    error = "a literal without a value";
  store(value, 0,
        of.kind == Literal::Bits ? fromBits(value.dtype(), bits)
                                 : Number{0, 0, static_cast<Wide>(bits)});
  return value;
}

Tensor Evaluator::zeros(InstanceId instance, VarId var) {
  TypeId id = checked_.type(instance, var);
  const Type *type = id.valid() ? &program_.context().type(id) : nullptr;
  if (type && type->kind == Type::Future)
    type = &program_.context().type(type->inner);
  if (!type || !type->isArray()) {
    error = "a result that is no array";
    unsupported = true;
    return Tensor::zeros(DType::F32, {});
  }
  return Tensor::zeros(type->dtype, type->shape);
}

//===--- Bodies -----------------------------------------------------------===//

std::vector<Column> Evaluator::body(JaxprId id, InstanceId instance,
                                    std::vector<Column> inputs,
                                    const World &world) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  std::map<uint32_t, Column> values;
  if (jaxpr.numConsts || inputs.size() != jaxpr.numInputs)
    error = "constants of a body";
  auto valueOf = [&](Atom atom) {
    return atom.isLiteral() ? Column(world.places.size(),
                                     literal(program_.literal(atom.literal())))
                            : values[atom.var().raw()];
  };
  for (uint32_t i = 0; error.empty() && i < jaxpr.numInputs; ++i)
    values[jaxpr.input(i).raw()] = std::move(inputs[i]);
  for (uint32_t k = 0; error.empty() && k < jaxpr.numEqns; ++k) {
    const Eqn &eqn = program_.eqn(jaxpr.eqn(k));
    Columns operands;
    for (Atom atom : program_.operandsOf(eqn))
      operands.push_back(valueOf(atom));
    Columns results = equation(jaxpr.eqn(k), eqn, instance, operands, world);
    for (uint32_t i = 0; error.empty() && i < eqn.numResults; ++i) {
      Tensor like = zeros(instance, program_.result(eqn, i));
      for (const Tensor &value : results[i])
        if (value.dtype() != like.dtype() || value.shape() != like.shape())
          error = ("'" + program_.name(eqn) + "' has another type").str();
      values[program_.result(eqn, i).raw()] = results[i];
    }
  }
  Columns outs;
  for (Atom atom : jaxpr.outs)
    outs.push_back(error.empty() ? valueOf(atom) : Column());
  return outs;
}

/// Equations that only run a body; its parameter has one of these names.
static const llvm::StringSet<> Calls = {"jit",
                                        "pjit",
                                        "closed_call",
                                        "core_closed_call",
                                        "call",
                                        "core_call",
                                        "remat",
                                        "remat2",
                                        "checkpoint",
                                        "composite",
                                        "custom_jvp_call",
                                        "custom_vjp_call",
                                        "eval_jaxpr",
                                        "linear_call",
                                        "custom_vmap_call",
                                        "program_order",
                                        "custom_vjp_call_jaxpr"};
static const llvm::StringSet<> Same = {"pvary",
                                       "pbroadcast_invariant",
                                       "vary_unreduced_cast",
                                       "preduced",
                                       "reduced_vary_cast",
                                       "optimization_barrier",
                                       "psum_done",
                                       "all_gather_done",
                                       "reduce_scatter_done",
                                       "all_to_all_done",
                                       "ppermute_done",
                                       "reshard",
                                       "sharding_constraint",
                                       "pcast"};

bool plain::knows(StringRef name) {
  return functionNamed(name) || Calls.contains(name) || Same.contains(name) ||
         isCollective(name) || name == "scan" || name == "while" ||
         name == "cond" || name == "shard_map" || name == "axis_index";
}

Evaluator::Columns Evaluator::run(EqnId id, InstanceId instance, JaxprId of,
                                  Columns in, const World &world) {
  return body(of, checked_.body(instance, id, of), std::move(in), world);
}

Evaluator::Columns Evaluator::equation(EqnId id, const Eqn &eqn,
                                       InstanceId instance, Columns in,
                                       const World &world) {
  StringRef name = program_.name(eqn);
  if (name == "scan")
    return scan(id, eqn, instance, std::move(in), world);
  if (name == "while")
    return loop(id, eqn, instance, std::move(in), world);
  if (name == "cond")
    return cond(id, eqn, instance, std::move(in), world);
  if (name == "shard_map")
    return region(id, eqn, instance, std::move(in), world);
  if (name == "axis_index")
    return {axisIndex(eqn, world)};
  if (Same.contains(name))
    return in;
  if (Calls.contains(name))
    for (StringRef key : {"jaxpr", "call_jaxpr", "callee", "call"})
      if (JaxprId of = param(eqn, key).jaxpr(); of.valid())
        return run(id, instance, of, std::move(in), world);
  if (isCollective(name))
    return collective(eqn, name, std::move(in), world);
  Function function = functionNamed(name);
  Columns outs(eqn.numResults);
  if (!function) {
    error = ("does not know '" + name + "'").str();
    unsupported = true;
    return outs;
  }
  for (size_t device = 0; device < world.places.size(); ++device) {
    Operation op{*this, program_, eqn, name, {}, {}};
    for (const Column &operand : in)
      op.in.push_back(operand[device]);
    for (uint32_t i = 0; i < eqn.numResults; ++i)
      op.out.push_back(zeros(instance, program_.result(eqn, i)));
    current = instance;
    at = id;
    if (error.empty())
      function(op);
    for (uint32_t i = 0; i < eqn.numResults; ++i)
      outs[i].push_back(op.out[i]);
  }
  return outs;
}

//===--- Control flow -----------------------------------------------------===//

/// The parts of columns and worlds that belong to some devices.
static World worldOf(const World &world, ArrayRef<size_t> devices) {
  World part{world.mesh, world.manual, {}};
  for (size_t device : devices)
    part.places.push_back(world.places[device]);
  return part;
}
static Column columnOf(const Column &column, ArrayRef<size_t> devices) {
  Column part;
  for (size_t device : devices)
    part.push_back(column[device]);
  return part;
}
std::vector<Column> plain::some(ArrayRef<Column> columns,
                                ArrayRef<size_t> devices) {
  std::vector<Column> part;
  for (const Column &column : columns)
    part.push_back(columnOf(column, devices));
  return part;
}

static int64_t leaves(const Setting &tree) {
  int64_t count = tree.number();
  for (size_t i = 0; i < tree.size(); ++i)
    count += leaves(tree[i]);
  return count;
}

Evaluator::Columns Evaluator::scan(EqnId id, const Eqn &eqn,
                                   InstanceId instance, Columns in,
                                   const World &world) {
  Setting groups = param(eqn, "ft_in");
  size_t consts = param(eqn, "num_consts").number(),
         carries = param(eqn, "num_carry").number();
  if (groups) {
    consts = leaves(groups[0][0]);
    carries = leaves(groups[0][1]);
  }
  int64_t length = param(eqn, "length").number();
  bool reverse = param(eqn, "reverse").number();
  Columns carry(in.begin() + consts, in.begin() + consts + carries), outs;
  for (uint32_t i = carries; i < eqn.numResults; ++i)
    outs.push_back(Column(world.places.size()));
  for (size_t i = 0; i < outs.size(); ++i)
    for (Tensor &y : outs[i])
      y = zeros(instance, program_.result(eqn, i + carries));
  for (int64_t trip = 0; trip < length && error.empty(); ++trip) {
    int64_t entry = reverse ? length - 1 - trip : trip;
    Columns inputs(in.begin(), in.begin() + consts);
    inputs.insert(inputs.end(), carry.begin(), carry.end());
    for (size_t i = consts + carries; i < in.size(); ++i) {
      Column x;
      for (const Tensor &whole : in[i]) {
        Tensor part = Tensor::zeros(whole.dtype(), whole.shape().drop_front());
        for (int64_t e = 0; e < part.size(); ++e)
          move(part, e, whole, entry * part.size() + e);
        x.push_back(part);
      }
      inputs.push_back(x);
    }
    Columns results = run(id, instance, param(eqn, "jaxpr").jaxpr(),
                          std::move(inputs), world);
    if (!error.empty())
      break;
    for (size_t i = 0; i < outs.size(); ++i)
      for (size_t device = 0; device < outs[i].size(); ++device) {
        const Tensor &y = results[carries + i][device];
        for (int64_t e = 0; e < y.size(); ++e)
          move(outs[i][device], entry * y.size() + e, y, e);
      }
    carry.assign(results.begin(), results.begin() + carries);
  }
  carry.insert(carry.end(), outs.begin(), outs.end());
  return carry;
}

/// Devices whose condition holds go on together.
Evaluator::Columns Evaluator::loop(EqnId id, const Eqn &eqn,
                                   InstanceId instance, Columns in,
                                   const World &world) {
  size_t condConsts = param(eqn, "cond_nconsts").number(),
         consts = condConsts + param(eqn, "body_nconsts").number();
  Columns carry(in.begin() + consts, in.end());
  SmallVector<size_t> active;
  for (size_t device = 0; device < world.places.size(); ++device)
    active.push_back(device);
  while (error.empty()) {
    Columns inputs(in.begin(), in.begin() + condConsts);
    inputs.insert(inputs.end(), carry.begin(), carry.end());
    Columns again = run(id, instance, param(eqn, "cond_jaxpr").jaxpr(),
                        some(inputs, active), worldOf(world, active));
    if (!error.empty())
      break;
    SmallVector<size_t> left;
    for (size_t k = 0; k < active.size(); ++k) {
      if (again[0][k].rank())
        error = "a condition of several values";
      else if (load(again[0][k], 0).i)
        left.push_back(active[k]);
    }
    if (left.empty())
      break;
    active = left;
    inputs.assign(in.begin() + condConsts, in.begin() + consts);
    inputs.insert(inputs.end(), carry.begin(), carry.end());
    Columns next = run(id, instance, param(eqn, "body_jaxpr").jaxpr(),
                       some(inputs, active), worldOf(world, active));
    for (size_t i = 0; error.empty() && i < carry.size(); ++i)
      for (size_t k = 0; k < active.size(); ++k)
        carry[i][active[k]] = next[i][k];
  }
  return carry;
}

/// Devices that take the same branch go together.
Evaluator::Columns Evaluator::cond(EqnId id, const Eqn &eqn,
                                   InstanceId instance, Columns in,
                                   const World &world) {
  Setting branches = param(eqn, "branches");
  Columns outs(eqn.numResults, Column(world.places.size())),
      operands(in.begin() + 1, in.end());
  for (size_t branch = 0; branch < branches.size(); ++branch) {
    SmallVector<size_t> here;
    for (size_t device = 0; device < world.places.size(); ++device) {
      Wide which = load(in[0][device], 0).i;
      if (which < 0 || which >= static_cast<int64_t>(branches.size()))
        which = branches.size() - 1;
      if (which == static_cast<int64_t>(branch))
        here.push_back(device);
    }
    if (here.empty() || !error.empty())
      continue;
    Columns results = run(id, instance, branches[branch].jaxpr(),
                          some(operands, here), worldOf(world, here));
    for (size_t i = 0; error.empty() && i < outs.size(); ++i)
      for (size_t k = 0; k < here.size(); ++k)
        outs[i][here[k]] = results[i][k];
  }
  return outs;
}

//===--- Front ------------------------------------------------------------===//

Outcome plain::evaluate(const CheckedProgram &checked,
                        std::vector<Tensor> arguments) {
  Evaluator evaluator(checked);
  World world;
  world.places.resize(1);
  std::vector<Column> inputs;
  for (Tensor &argument : arguments)
    inputs.push_back({argument});
  std::vector<Column> outs =
      evaluator.body(checked.program->entry.jaxpr, checked.entryInstance,
                     std::move(inputs), world);
  Outcome outcome{{}, evaluator.error, evaluator.unsupported};
  for (const Column &out : outs)
    if (outcome.error.empty())
      outcome.results.push_back(out[0]);
  return outcome;
}
