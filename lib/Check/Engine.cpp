// Engine.cpp - types equations, each distinct one once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A jaxpr is typed per instance: for one tuple of argument types, one context
// mesh, inside or outside of a backward pass. Its variables are consecutive, so
// their types lie in one flat array, a word each (see Val). For an equation the
// words of its operands, its primitive, parameters and context are the key of
// an outcome: the words of its results, the findings and the bodies it holds.
// A program of repeated layers therefore runs every rule once, and all other
// equations cost a look-up. A rule that types a body comes back here through
// `typeBody`, so the stack is as deep as bodies nest, whatever their length.
//
// An outcome that rests on recorded types (parameters that a text hides, shapes
// for recovery) is kept under a longer key, behind a placeholder that says so.
//
// Where nothing is re-typed, operands have their recorded types; results are
// compared with the recorded ones, which stand (spec 01, 5.5).
#include "Engine.h"
#include "Recorded.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Manual.h"

using namespace shardtype;

/// Words in front of the operands in an outcome's key.
static constexpr unsigned KeyHead = 5;

/// The mesh of a reshard's destination; invalid: it has none, or JAX's own.
static MeshId usersDestination(const Program &program, const Eqn &eqn) {
  ValueId id = program.param(eqn.params, "dst_sharding");
  if (!id.valid() || program.value(id).kind != Value::Sharding ||
      program.value(id).by == Value::Jax)
    return MeshId();
  return MeshId(static_cast<uint32_t>(program.value(id).integer));
}

/// The recorded mesh of the only operand.
static MeshId recordedMesh(const Program &program, const Eqn &eqn) {
  TypeId type = program.recordedType(program.operandsOf(eqn).front());
  if (!type.valid() || !program.context().type(type).isArray())
    return MeshId();
  return program.context().type(type).sharding.mesh;
}

/// Does a reshard leave a region of auto_axes? Its operand's mesh then has one
/// conversion, to Auto, more than its destination. JAX's own APIs convert what
/// is Explicit, and look at the sharding they are given in any case.
static bool isAutoExit(const Program &program, const Eqn &eqn) {
  if (program.name(eqn) != "reshard" || eqn.numOperands != 1)
    return false;
  const Context &cx = program.context();
  MeshId destination = usersDestination(program, eqn);
  if (!destination.valid())
    return false;
  ArrayRef<MeshConversion> out = cx.mesh(destination).conversions;
  ArrayRef<MeshConversion> in =
      cx.meshOrEmpty(recordedMesh(program, eqn)).conversions;
  return in.size() == out.size() + 1 && in.drop_back() == out &&
         in.back().to == AxisType::Auto &&
         in.back().which != MeshConversion::WereExplicit;
}

Engine::Shared::Shared(const Program &program, const PrimitiveSet &primitives,
                       const CheckOptions &options)
    : meshes(program, options) {
  Context &cx = program.context();
  for (const PrimitiveRef &used : program.primitives)
    rows.push_back(primitives.find(cx.str(used.name)));
  if (!meshes.fromRecording())
    return;
  calls = knownCalls(program);
  if (llvm::all_of(calls, [](const std::string &c) { return c.empty(); }))
    calls.clear();
  for (uint32_t i = 0; i < program.eqns.size(); ++i)
    if (isAutoExit(program, program.eqns[i]))
      autoExits.insert(EqnId(i));
}

Engine::Engine(const Program &program, const PrimitiveSet &primitives,
               CheckedProgram &out, Findings *findings)
    : program_(program), context_(program.context()), primitives_(primitives),
      out_(out), findings_(findings),
      shared_(std::make_shared<Shared>(program, primitives, out.options)) {
  typing_.jax = out.options.jax;
  typing_.retyped = shared_->meshes.retyped();
  typing_.constraintsReshard = out.options.constraints == Constraints::Reshard;
  typing_.ignoreUnitAxes = out.options.ignoreUnitAxes;
  typing_.assumeVma = out.options.assumeVma;
}

Engine::Engine(Engine &parent, CheckedProgram &out)
    : program_(parent.program_), context_(parent.context_),
      primitives_(parent.primitives_), out_(out), findings_(nullptr),
      shared_(parent.shared_), typing_(parent.typing_) {}

Engine::~Engine() = default;

//===--- Equations --------------------------------------------------------===//

const Engine::InfoState &Engine::infoState(EqnInfoId id) {
  static const InfoState None;
  if (!id.valid())
    return None;
  std::vector<InfoState> &infos = shared_->infos;
  if (id.index() >= infos.size())
    infos.resize(std::max<size_t>(id.index() + 1, infos.size() * 2));
  InfoState &state = infos[id.index()];
  if (state.known)
    return state;
  const EqnInfo &info = program_.info(id);
  state.known = true;
  state.ownMesh = info.hasContextMesh;
  state.derived = info.derived;
  // What vmap added is for edits: no rule reads it, and equal equations are
  // one.
  if (state.derived.valid() &&
      context_.str(state.derived).starts_with("{\"batch\":"))
    state.derived = StringId();
  if (!state.derived.valid())
    if (StringRef call = callOf(program_, info, shared_->calls); !call.empty())
      state.derived = context_.intern("{\"api\":\"" + call.str() + "\"}");
  if (info.hasContextMesh)
    state.mesh = meshes().rewrite(info.contextMesh);
  if (shared_->doubtsBackward && info.nameStack.valid())
    state.backward = backwardEffect(context_.str(info.nameStack));
  return state;
}

MeshId Engine::contextMesh(MeshId mesh, const Eqn &eqn, AxisSet stays) {
  const InfoState &info = infoState(eqn.info);
  return info.ownMesh ? withoutManual(info.mesh, stays) : mesh;
}

/// shard_map/vmap.1: axes that are Manual in the recording and not here are as
/// on the mesh of the program.
MeshId Engine::withoutManual(MeshId mesh, AxisSet stays) {
  if (stays.empty() || !mesh.valid())
    return mesh;
  Mesh result = context_.mesh(mesh);
  const Mesh &now = context_.meshOrEmpty(meshes().now());
  for (uint8_t axis : stays.list())
    if (axis < result.rank() && axis < now.rank() &&
        result.axes[axis].type == AxisType::Manual)
      result.axes[axis].type = now.axes[axis].type;
  return context_.forTypes(context_.intern(result));
}

Val Engine::literal(LiteralId id) {
  std::vector<Val> &known = shared_->literals;
  if (id.index() >= known.size()) {
    size_t size = std::max<size_t>(id.index() + 1, known.size() * 2);
    known.resize(size);
    shared_->literalKnown.resize(size);
  }
  if (!shared_->literalKnown[id.index()]) {
    shared_->literalKnown[id.index()] = true;
    known[id.index()] = Val(meshes().constant(program_.literal(id).type), 0);
  }
  return known[id.index()];
}

void Engine::typeEqn(ActiveFrame &frame, EqnId id) {
  const Eqn &eqn = program_.eqns[id.index()];
  const InfoState &info = infoState(eqn.info);
  MeshId mesh =
      info.ownMesh ? withoutManual(info.mesh, frame.stays) : frame.mesh;
  bool backward = info.backward == BackwardEffect::Inherit
                      ? frame.backward
                      : info.backward == BackwardEffect::Backward;
  frame.current = id;
  key_.clear();
  key_.push_back(eqn.primitive | (backward ? 1u << 16 : 0) |
                 static_cast<uint32_t>(frame.vma) << 17 |
                 (typing_.retyped ? 1u << 19 : 0) |
                 (typing_.recast ? 1u << 20 : 0));
  key_.push_back(eqn.params.raw());
  key_.push_back(mesh.raw());
  key_.push_back(eqn.numResults);
  key_.push_back(info.derived.raw());
  uint32_t flags = backward ? Val::Guess : 0u;
  bool poison = false;
  for (Atom atom : program_.operandsOf(eqn)) {
    Val val =
        atom.isLiteral() ? literal(atom.literal()) : frame.val(atom.var());
    flags |= val.flags();
    poison |= val.poison();
    key_.push_back(val.key());
  }
  if (poison)
    return poisonResults(frame, eqn, mesh);
  if (!shared_->autoExits.empty() && shared_->autoExits.contains(id) &&
      isNoRegion(eqn)) {
    Atom operand = program_.operandsOf(eqn).front();
    frame.val(program_.result(eqn, 0)) = operand.isLiteral()
                                             ? literal(operand.literal())
                                             : frame.val(operand.var());
    return;
  }

  uint32_t at = outcomeTable_.find(key_, WordTable::hash(key_));
  if (at == WordTable::None || outcomes_[at].is(Outcome::Placeholder))
    at = lookUp(id, {mesh, backward, frame.vma, frame.stays});
  const Outcome outcome = outcomes_[at]; // A copy: reports may run rows.
  bindResults(frame, id, outcome,
              outcome.is(Outcome::Assumed) ? Val::Assumed
                                           : flags & Val::Assumed);
  for (unsigned i = 0; i < outcome.numBodies; ++i) {
    Instance::Held held = heldBodies_[outcome.bodies + i];
    held.eqn = id;
    frame.held.push_back(held);
  }
  if (findings_ && backward)
    findings_->backward(frame, id);
  bool mended = false;
  if (findings_ && (outcome.findings >= 0 || outcome.is(Outcome::Unknown)))
    mended = findings_->report(*this, frame, id, outcome, flags);
  bool failedHere = outcome.is(Outcome::Failed) && !mended;
  if ((failedHere || outcome.is(Outcome::BodyErrors)) && !(flags & Val::Guess))
    frame.hadErrors = true;
}

/// structure/region.1: JAX ignores auto_axes whose axes are just those that are
/// Auto around it, and the sharding it asks for.
bool Engine::isNoRegion(const Eqn &eqn) {
  return meshes().rewrite(recordedMesh(program_, eqn)) ==
         meshes().rewrite(usersDestination(program_, eqn));
}

/// A recorded type with the state over Manual axes that was found out.
static TypeId withStateOf(Context &cx, TypeId recorded, TypeId found) {
  Type type = cx.type(recorded);
  if (!type.isArray() || type.manual == cx.type(found).manual)
    return recorded;
  type.manual = cx.type(found).manual;
  return cx.intern(type);
}

void Engine::bindResults(ActiveFrame &frame, EqnId id, const Outcome &outcome,
                         uint32_t flags) {
  const Eqn &eqn = program_.eqns[id.index()];
  for (unsigned i = 0; i < eqn.numResults; ++i) {
    Val val = result(outcome, i).with(flags);
    TypeId recorded = recordedType(eqn, i);
    if (!typing_.retyped && recorded.valid()) {
      // structure/recorded.1, .2
      if (frame.vma == Vma::Infer && !val.poison()) // manual/infer.1
        recorded = withStateOf(context_, recorded, val.type());
      if (program_.fromText && !val.poison())
        recorded = withKindOf(context_, recorded, val.type());
      if (val.type() != recorded && findings_ && !val.poison() &&
          !val.is(Val::Guess) && !outcome.is(Outcome::Failed) &&
          !matches(val.type(), recorded))
        findings_->binderMismatch(*this, frame, id, i, val.type(), recorded);
      val = Val(recorded, val.flags() & (Val::Assumed | Val::Guess));
    }
    frame.val(program_.result(eqn, i)) = val;
  }
}

bool Engine::matches(TypeId a, TypeId b) {
  auto [it, isNew] = matched_.try_emplace({a, b}, false);
  if (isNew)
    it->second = typematch(context_, a, b);
  return it->second;
}

void Engine::poisonResults(ActiveFrame &frame, const Eqn &eqn, MeshId mesh) {
  ++out_.notChecked; // structure/recovery.3
  for (unsigned i = 0; i < eqn.numResults; ++i) {
    TypeId recorded = recordedType(eqn, i);
    Val val; // Poison, unless the shape is known.
    if (recorded.valid() && typing_.retyped)
      val = Val(wholeOn(context_, recorded, mesh), Val::Open | Val::Tainted);
    else if (recorded.valid())
      val = Val(recorded, 0);
    frame.val(program_.result(eqn, i)) = val;
  }
}

//===--- Outcomes ---------------------------------------------------------===//

/// The outcome for the key that `key_` holds, which is not there in its plain
/// form.
uint32_t Engine::lookUp(EqnId id, const Surroundings &where) {
  const Eqn &eqn = program_.eqns[id.index()];
  // Running a row may type other equations, which use the same scratch.
  SmallVector<uint32_t, 32> key(key_);
  uint64_t hash = WordTable::hash(key);
  SmallVector<uint32_t, 32> longKey(key);
  for (unsigned i = 0; i < eqn.numResults; ++i)
    longKey.push_back(recordedType(eqn, i).raw());
  uint64_t longHash = WordTable::hash(longKey);
  bool known = outcomeTable_.find(key, hash) != WordTable::None;
  if (known)
    if (uint32_t at = outcomeTable_.find(longKey, longHash);
        at != WordTable::None)
      return at;
  SmallVector<Val, 16> operands;
  for (uint32_t word : ArrayRef(key).drop_front(KeyHead))
    operands.push_back(Val(word));
  uint32_t at = runRow(id, operands, where);
  if (!outcomes_[at].is(Outcome::NeedsRecorded)) {
    outcomeTable_.insert(key, hash, at);
    return at;
  }
  if (!known) {
    outcomeTable_.insert(key, hash, outcomes_.size());
    outcomes_.emplace_back().flags = Outcome::Placeholder;
  }
  outcomeTable_.insert(longKey, longHash, at);
  return at;
}

Outcome Engine::rerun(EqnId id, ArrayRef<Val> operands, ActiveFrame &frame,
                      Rerun how) {
  bool retyped = typing_.retyped, recast = typing_.recast;
  typing_.keepCarries = how == Rerun::KeepCarries;
  const Primitive *row = this->row(program_.eqns[id.index()]);
  bool holds = row && row->open == OpenRule::Custom;
  if (how != Rerun::KeepCarries && holds)
    typing_.retyped = true; // Recorded types in its bodies are for the others.
  if (how == Rerun::OtherStates && holds)
    typing_.recast = true;
  MeshId mesh = contextMesh(frame.mesh, program_.eqn(id), frame.stays);
  uint32_t at =
      runRow(id, operands, {mesh, frame.backward, frame.vma, frame.stays});
  typing_.keepCarries = false;
  typing_.retyped = retyped;
  typing_.recast = recast;
  return outcomes_[at];
}

uint32_t Engine::runRow(EqnId id, ArrayRef<Val> operands,
                        const Surroundings &where) {
  const Eqn &eqn = program_.eqns[id.index()];
  const Primitive *row = this->row(eqn);
  SmallVector<Val, 4> results(eqn.numResults);
  Outcome outcome;
  std::vector<Instance::Held> bodies;
  if (!hasRule(row)) {
    outcome.unknown = program_.primitives[eqn.primitive].name;
  } else {
    // A body's equations run rows while this one does.
    Running running{operands, where.backward, where.stays, {}};
    Vma vma = where.vma;
    std::swap(running, running_);
    std::swap(vma, typing_.vma);
    outcome = runKnown(*row, eqn, where.mesh, results);
    std::swap(vma, typing_.vma);
    std::swap(running, running_);
    bodies = std::move(running.bodies);
  }
  if (outcome.unknown.valid()) {
    outcome.flags = Outcome::Unknown | Outcome::NeedsRecorded;
    unknownResults(eqn, where.mesh, results);
  }
  uint32_t guess = where.backward ? Val::Guess : 0u;
  for (Val operand : operands)
    guess |= operand.flags() & Val::Guess;
  outcome.results = resultWords_.size();
  for (Val val : results)
    resultWords_.push_back(val.with(guess).raw());
  outcome.bodies = heldBodies_.size();
  outcome.numBodies = bodies.size();
  heldBodies_.insert(heldBodies_.end(), bodies.begin(), bodies.end());
  outcomes_.push_back(outcome);
  return outcomes_.size() - 1;
}

bool shardtype::hasRule(const Primitive *row) {
  if (!row || !row->decode)
    return false;
  const auto *custom = std::get_if<Custom>(&row->type);
  return !custom || custom->all;
}

void Engine::unknownResults(const Eqn &eqn, MeshId mesh,
                            MutableArrayRef<Val> results) {
  // structure/unknown.1
  bool asRecorded = !typing_.retyped || out_.options.assumeDeclared;
  for (unsigned i = 0; i < results.size(); ++i) {
    TypeId recorded = recordedType(eqn, i);
    if (!recorded.valid())
      continue;
    if (!typing_.retyped)
      results[i] = Val(recorded, 0);
    else if (asRecorded)
      results[i] = Val(meshes().argument(recorded), 0);
    else
      results[i] =
          Val(wholeOn(context_, recorded, mesh), Val::Open | Val::Tainted);
  }
}

Outcome Engine::runKnown(const Primitive &row, const Eqn &eqn, MeshId mesh,
                         MutableArrayRef<Val> results) {
  SmallVector<Typed, 8> operands;
  for (Val val : running_.operands)
    operands.push_back({val.type(), val.is(Val::Open)});
  adaptOperands(context_, row, mesh, meshes().retyped(), operands);
  if (row.open == OpenRule::Follow)
    followFirst(row, eqn, mesh, operands);
  TypingContext cx(context_, program_, row, eqn.params, operands, mesh,
                   eqn.numResults, typing_, *this);
  SmallVector<TypeId, 4> recorded;
  for (unsigned i = 0; i < eqn.numResults; ++i)
    recorded.push_back(recordedType(eqn, i));
  cx.setRecordedResults(recorded);
  if (StringId derived = infoState(eqn.info).derived; derived.valid())
    cx.setDerived(context_.str(derived));
  bool failedRule = failed(cx.run());
  Outcome outcome;
  if (!cx.unknown().empty()) {
    outcome.unknown = context_.intern(cx.unknown());
    return outcome;
  }
  assert((!failedRule || !cx.diagnostics().empty()) &&
         "a rule fails only after it has reported why");

  if (failedRule)
    nameAxisMode(cx, eqn, operands);
  bool assumed = false;
  for (Diagnostic &d : cx.diagnostics()) {
    for (const Typed &operand : operands)
      d.operandTypes.push_back(operand.type);
    if (d.level == Level::Error)
      outcome.flags |= Outcome::Failed;
    for (const Fix &fix : d.fixes)
      assumed |= fix.assumed;
  }
  if (assumed)
    outcome.flags |= Outcome::Assumed;
  for (unsigned i = 0; i < results.size(); ++i) {
    Typed found = cx.results()[i];
    uint32_t flags = 0;
    if (found.type.valid())
      flags = resultFlags(cx, found, i);
    else
      found.type = recoveredType(cx, eqn, i, flags);
    results[i] = Val(found.type, flags);
  }
  for (const Instance::Held &held : running_.bodies)
    if (out_.instances[held.instance.index()].hadErrors)
      outcome.flags |= Outcome::BodyErrors;
  if (cx.usedRecorded())
    outcome.flags |= Outcome::NeedsRecorded;
  if (!cx.diagnostics().empty()) {
    outcome.findings = findingLists_.size();
    findingLists_.push_back(std::move(cx.diagnostics()));
  }
  return outcome;
}
