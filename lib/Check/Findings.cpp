// Findings.cpp - from outcomes of rules to diagnostics of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Findings.h"
#include "Recorded.h"
#include "shardtype/IR/Paths.h"

using namespace shardtype;

/// Notes about where shardings came from that one finding has at most.
static constexpr unsigned MaxOriginNotes = 4;

Findings::Findings(const Program &program, CheckedProgram &out)
    : program_(program), context_(program.context()), out_(out),
      perCode_(diag::NumCodes), choiceUses_(out.options.choices.size()),
      choiceMisses_(out.options.choices.size()) {}

const VarNames &Findings::names() {
  if (!names_)
    names_ = std::make_unique<VarNames>(program_);
  return *names_;
}

void Findings::add(Diagnostic diagnostic) {
  if (perCode_[diagnostic.code]++ < out_.options.maxPerCode)
    out_.diagnostics.add(std::move(diagnostic));
  else
    ++out_.omitted;
}

//===--- Places -----------------------------------------------------------===//

/// Where in a value a jaxpr stands: `` for the value itself, `/1` in a tuple.
static bool findBody(const Program &program, ValueId id, JaxprId body,
                     std::string &path) {
  const Value &value = program.value(id);
  if (value.kind == Value::Jaxpr)
    return value.integer == body.raw();
  for (unsigned i = 0; i < value.elements.size(); ++i) {
    std::string inner;
    if (!findBody(program, value.elements[i], body, inner))
      continue;
    path = i < value.names.size()
               ? "/" + program.context().str(value.names[i]).str() + inner
               : "/" + std::to_string(i) + inner;
    return true;
  }
  return false;
}

std::string Findings::path(const ActiveFrame &frame, EqnId id) const {
  std::string path;
  if (frame.parent) {
    const Eqn &holder = program_.eqn(frame.parent->current);
    path = this->path(*frame.parent, frame.parent->current) + "/params";
    for (const Param &param : program_.params(holder.params)) {
      std::string inner;
      if (!findBody(program_, param.value, frame.id, inner))
        continue;
      path += "/" + context_.str(param.key).str() + inner;
      break;
    }
    path += "/";
  }
  return path + "eqns/" + std::to_string(id.raw() - frame.jaxpr->firstEqn);
}

StackId Findings::stack(const ActiveFrame &frame, EqnId id) const {
  const ActiveFrame *at = &frame;
  while (true) {
    EqnInfoId info = program_.eqn(id).info;
    if (info.valid() && !program_.stack(program_.info(info).stack).empty())
      return program_.info(info).stack;
    at = at->parent;
    if (!at)
      return StackId();
    id = at->current;
  }
}

static std::string placeOf(const Program &program, StackId stack,
                           StringRef path) {
  const Frame *frame = ownFrame(program, stack);
  if (!frame)
    return path.str();
  return program.context().str(frame->file).str() + ":" +
         std::to_string(frame->line);
}

//===--- Findings of rules ------------------------------------------------===//

/// What an input of bodies is outside of them, and where that is.
static std::pair<ActiveFrame *, Atom> outermost(const Program &program,
                                                ActiveFrame *frame, Atom atom) {
  for (; frame->parent && !atom.isLiteral(); frame = frame->parent) {
    const Jaxpr &jaxpr = *frame->jaxpr;
    uint32_t input = atom.var().raw() - jaxpr.firstVar - jaxpr.numConsts;
    ArrayRef<Atom> operands = program.operandsOf(frame->parent->current);
    if (input >= jaxpr.numInputs ||
        frame->inputs.operand(input) >= operands.size())
      break;
    atom = operands[frame->inputs.operand(input)];
  }
  return {frame, atom};
}

/// Is this the body of a loop, or in one?
static bool isRepeated(const ActiveFrame &frame) {
  for (const ActiveFrame *at = &frame; at; at = at->parent)
    if (at->inputs.repeated)
      return true;
  return false;
}

bool Findings::report(Engine &engine, ActiveFrame &frame, EqnId id,
                      const Outcome &outcome, uint32_t flags) {
  bool lenient = flags & Val::Guess;
  if (lenient && outcome.flags & (Outcome::Unknown | Outcome::Failed)) {
    // structure/backward.2: no verdict, whatever is wrong here.
    if (untyped_.insert(id).second && untyped_.size() == 1)
      firstUntyped_ = {id, path(frame, id), stack(frame, id)};
    return false;
  }
  if (lenient)
    return false;
  if (outcome.is(Outcome::Unknown))
    return reportUnknown(engine, frame, id, outcome.unknown), false;
  // A copy: choices may run rows. Findings of one code belong together.
  std::vector<Diagnostic> list = engine.findingsOf(outcome).vec();
  SmallVector<diag::Code, 4> fresh;
  for (const Diagnostic &d : list)
    if (!seen_.contains({id, d.code}))
      fresh.push_back(d.code);
  bool allMended = true;
  for (Diagnostic &d : list) {
    if (d.code == diag::DerivativeUnchecked) {
      noteDerivative(frame, id, std::move(d));
      continue;
    }
    if (followsFromError(frame, id, d, flags)) {
      allMended = false;
      continue;
    }
    if (d.code == diag::TangentSharding)
      out_.basis = Basis::Guess;
    if (d.code == diag::CapturedValue && !d.marks.empty())
      d.message = formatDiag(d.code, {nameOf(id, d.marks.front().index)});
    assumeRecorded(engine, id, d);
    d.eqn = id;
    d.path = path(frame, id);
    d.stack = stack(frame, id);
    applyChoice(engine, frame, id, d);
    allMended &= d.level != Level::Error;
    if (isRepeated(frame))
      for (Fix &fix : d.fixes)
        fix.perTrip = true;
    for (const Fix &fix : d.fixes)
      if (fix.assumed) {
        if (!fix.chosen)
          assumed_.insert(id);
        frame.assumed.push_back({id, fix});
      }
    if (!llvm::is_contained(fresh, d.code))
      continue;
    seen_.insert({id, d.code});
    if (isSaidOfValue(frame, id, d))
      continue;
    if (isSaidOfLine(frame, d))
      continue;
    // Notes are the dear part, and most of a flood is not shown.
    if (perCode_[d.code] < out_.options.maxPerCode) {
      noteOrigins(engine, frame, id, d);
      noteAssumption(frame, id, d, flags);
    }
    add(std::move(d));
  }
  return allMended;
}

/// Is this the body of a derivative, or in one?
static bool isDerived(const Program &program, const ActiveFrame &frame) {
  for (const ActiveFrame *at = &frame; at->parent; at = at->parent)
    if (program.name(program.eqn(at->parent->current)).starts_with("ad_"))
      return true;
  return false;
}

/// structure/recovery.7: an error of a line that JAX writes again for its
/// derivative is said once, as long as it stands.
bool Findings::isSaidOfLine(const ActiveFrame &frame, const Diagnostic &d) {
  if (d.level != Level::Error || program_.stack(d.stack).empty())
    return false;
  bool derived = isDerived(program_, frame);
  auto [it, isNew] = said_.try_emplace({d.stack, d.code, d.message});
  Said &said = it->second;
  if (isNew) {
    said = {out_.diagnostics.size(), derived, 0};
    return false;
  }
  ArrayRef<Diagnostic> all = out_.diagnostics.all();
  if (!(derived || said.derived) || said.diagnostic >= all.size())
    return false;
  const Diagnostic &first = all[said.diagnostic];
  bool stands = first.level == Level::Error && first.code == d.code &&
                first.stack == d.stack && !first.mended();
  said.more += stands;
  return stands;
}

/// ad/unchecked.1: said once, at the first.
void Findings::noteDerivative(const ActiveFrame &frame, EqnId id,
                              Diagnostic d) {
  if (!derivatives_.insert(id).second || derivatives_.size() > 1)
    return;
  d.eqn = id;
  d.path = path(frame, id);
  d.stack = stack(frame, id);
  derivative_ = std::move(d);
}

/// Errors of shapes and dtypes do not depend on shardings.
static bool isAboutShapes(diag::Code code) {
  return info(code).jaxId == "shape" || info(code).jaxId == "nary.shape";
}

/// An operand as the user knows it: arguments by their path.
std::string Findings::nameOf(EqnId id, int operand) {
  Atom atom = program_.operandsOf(id)[operand];
  if (atom.isLiteral())
    return "";
  const Jaxpr &entry = program_.jaxpr(program_.entry.jaxpr);
  uint32_t input = atom.var().raw() - entry.firstVar - entry.numConsts;
  if (input >= entry.numInputs)
    return names().name(atom.var());
  return argumentPaths(program_,
                       [&](VarId var) { return names().name(var); })[input];
}

/// structure/context.1: the equations of one expression all lack one cast.
bool Findings::isSaidOfValue(ActiveFrame &frame, EqnId id,
                             const Diagnostic &d) {
  if (d.code != diag::AxisModeMismatch)
    return false;
  bool isNew = false;
  for (const Fix &fix : d.fixes) {
    Atom own = program_.operandsOf(id)[fix.operand];
    Atom atom = outermost(program_, &frame, own).second;
    isNew |= !atom.isLiteral() && uncast_.insert({atom.var(), d.stack}).second;
  }
  return !isNew;
}

/// structure/recovery.4: an operand is open because of an error, and this
/// finding is about it.
bool Findings::followsFromError(ActiveFrame &frame, EqnId id,
                                const Diagnostic &d, uint32_t flags) {
  if (!(flags & Val::Tainted) || isAboutShapes(d.code))
    return false;
  ArrayRef<Atom> operands = program_.operandsOf(id);
  bool marked = false;
  for (const Mark &mark : d.marks) {
    if (mark.kind != Mark::Operand ||
        static_cast<size_t>(mark.index) >= operands.size())
      continue;
    marked = true;
    Atom atom = operands[mark.index];
    if (!atom.isLiteral() && frame.val(atom.var()).is(Val::Tainted))
      return true;
  }
  return !marked;
}

/// structure/recovery.1: where recorded types stand, the fix that gives the
/// recorded type is the one that checking goes on with.
void Findings::assumeRecorded(Engine &engine, EqnId id, Diagnostic &d) {
  if (engine.meshes().retyped())
    return;
  const Eqn &eqn = program_.eqn(id);
  bool any = false;
  const Fix *wanted = nullptr;
  for (const Fix &fix : d.fixes) {
    if (fix.operand >= 0 || fix.bodyResult >= 0 || !fix.type.valid() ||
        static_cast<unsigned>(fix.result) >= eqn.numResults)
      continue;
    TypeId recorded = program_.var(program_.result(eqn, fix.result)).type;
    if (!recorded.valid())
      continue;
    any = true;
    if (typematch(context_, fix.type, recorded) && (!wanted || fix.assumed))
      wanted = &fix;
  }
  if (!any || (wanted && wanted->assumed))
    return;
  // With a result, what goes with it; operands alone stand or fall by theirs.
  unsigned group = wanted ? wanted->group : 0;
  for (Fix &fix : d.fixes)
    if (wanted || fix.operand < 0)
      fix.assumed = &fix == wanted || (group && fix.group == group);
}

void Findings::binderMismatch(Engine &engine, ActiveFrame &frame, EqnId id,
                              unsigned result, TypeId computed,
                              TypeId recorded) {
  (void)engine;
  Diagnostic d;
  d.code = diag::BinderMismatch;
  d.level = info(d.code).level;
  std::string was = str(context_, recorded), is = str(context_, computed);
  d.message = formatDiag(d.code, {was, is});
  d.eqn = id;
  d.path = path(frame, id);
  d.stack = stack(frame, id);
  d.marks.push_back({Mark::Result, static_cast<int>(result), -1, {}});
  for (Atom atom : program_.operandsOf(id))
    d.operandTypes.push_back(atom.isLiteral()
                                 ? program_.literal(atom.literal()).type
                                 : frame.val(atom.var()).type());
  if (was == is)
    d.notes.push_back(
        {"they are on different meshes: " +
             shortMesh(context_, context_.meshOrEmpty(
                                     context_.type(recorded).sharding.mesh)) +
             ", and " +
             shortMesh(context_, context_.meshOrEmpty(
                                     context_.type(computed).sharding.mesh)),
         StackId()});
  frame.hadErrors = true;
  add(std::move(d));
}

void Findings::reportUnknown(Engine &engine, ActiveFrame &frame, EqnId id,
                             StringId name) {
  const Eqn &eqn = program_.eqn(id);
  auto [it, isNew] = unknown_.try_emplace(name);
  it->second.uses.insert(id);
  if (!isNew)
    return;
  bool taken = !engine.meshes().retyped() || out_.options.assumeDeclared;
  for (unsigned i = 0; i < eqn.numResults; ++i)
    taken &= program_.var(program_.result(eqn, i)).type.valid();
  Diagnostic d;
  d.code = taken ? diag::AssumedDeclared : diag::NoRule;
  d.level = info(d.code).level;
  d.eqn = id;
  d.path = path(frame, id);
  d.stack = stack(frame, id);
  for (Atom atom : program_.operandsOf(id))
    d.operandTypes.push_back(atom.isLiteral()
                                 ? program_.literal(atom.literal()).type
                                 : frame.val(atom.var()).type());
  it->second.diagnostic = out_.diagnostics.size();
  if (const Primitive *row = engine.row(eqn))
    if (const auto *custom = std::get_if<Custom>(&row->type))
      if (!custom->all)
        it->second.why = custom->all.none().why;
  out_.diagnostics.add(std::move(d));
}

//===--- Notes ------------------------------------------------------------===//

std::string Findings::argumentText(unsigned argument) {
  if (argumentPaths_.empty())
    argumentPaths_ =
        argumentPaths(program_, [&](VarId var) { return names().name(var); });
  return argumentPaths_[argument];
}

static std::string quotedAxes(Context &cx, MeshId mesh, AxisSet axes) {
  return "'" + str(cx, mesh, axes) + "'";
}

static std::string placeText(const Trail &trail, const std::string &axes) {
  switch (trail.where) {
  case Trail::Dim:
    return " is sharded over " + axes + " on dim " + std::to_string(trail.dim);
  case Trail::Varying:
    return " varies over " + axes;
  case Trail::Unreduced:
    return " is unreduced over " + axes;
  case Trail::Reduced:
    return " is reduced over " + axes;
  }
  llvm_unreachable("every place is named");
}

/// `c is sharded over 'model' on dim 1 since dot_general with argument w_in`
void Findings::noteOrigin(Provenance &provenance, const Site *site, VarId var,
                          const Trail &trail, MeshId mesh, Diagnostic &d) {
  Origin origin = provenance.follow(site, var, trail);
  std::string text = names().name(var);
  if (origin.kind == Origin::Unknown || origin.kind == Origin::Constant)
    return;
  if (origin.kind == Origin::Argument && !origin.eqn.valid()) {
    const Type &type = context_.type(out_.argumentTypes[origin.argument]);
    text += " is the argument " + argumentText(origin.argument) + ", " +
            str(context_, toSpec(context_, type.sharding));
    if (origin.argument < fromOption.size() && fromOption[origin.argument])
      text += " from --in";
    else if (out_.retyped)
      text += ", for which no --in is given";
  } else {
    std::string axes = quotedAxes(context_, mesh, trail.axes);
    text += placeText(trail, axes) + " since " +
            program_.name(program_.eqn(origin.eqn)).str();
    if (origin.input >= 0)
      text += " takes it with in_specs[" + std::to_string(origin.input) + "]";
    if (origin.kind == Origin::Argument)
      text += " with argument " + argumentText(origin.argument);
  }
  StackId stack = origin.eqn.valid() ? provenance.stack(origin.site, origin.eqn)
                                     : StackId();
  for (const DiagNote &note : d.notes)
    if (note.message == text)
      return;
  d.notes.push_back({std::move(text), stack});
}

/// What a mark on an operand is about.
static SmallVector<Trail, 4> trailsOf(const Type &type, int dim) {
  const Sharding &sharding = type.sharding;
  SmallVector<Trail, 4> trails;
  for (unsigned i = 0; i < sharding.dims.size(); ++i)
    if ((dim < 0 || static_cast<unsigned>(dim) == i) &&
        (dim >= 0 || !sharding.dims[i].empty()))
      trails.push_back(
          {Trail::Dim, static_cast<int>(i), AxisSet::of(sharding.dims[i])});
  auto addSet = [&](Trail::Where where, AxisSet axes) {
    if (dim < 0 && !axes.empty())
      trails.push_back({where, -1, axes});
  };
  addSet(Trail::Varying, type.manual.varying);
  addSet(Trail::Unreduced, sharding.unreduced | type.manual.unreduced);
  addSet(Trail::Reduced, sharding.reduced | type.manual.reduced);
  return trails;
}

void Findings::noteOrigins(Engine &engine, ActiveFrame &frame, EqnId id,
                           Diagnostic &d) {
  Provenance provenance(engine);
  const Site *site = nullptr;
  size_t most = d.notes.size() + MaxOriginNotes;
  ArrayRef<Atom> operands = program_.operandsOf(id);
  for (const Mark &mark : d.marks) {
    if (mark.kind != Mark::Operand ||
        static_cast<size_t>(mark.index) >= operands.size() ||
        operands[mark.index].isLiteral())
      continue;
    ActiveFrame *at = &frame;
    Atom operand = operands[mark.index];
    if (d.code == diag::AxisModeMismatch) // The value that has to be cast.
      std::tie(at, operand) = outermost(program_, at, operand);
    if (operand.isLiteral())
      continue;
    VarId var = operand.var();
    TypeId type = at->val(var).type();
    if (!type.valid() || !context_.type(type).isArray())
      continue;
    if (!site || at != &frame)
      site = provenance.active(*at);
    const Sharding &sharding = context_.type(type).sharding;
    SmallVector<Trail, 4> trails = trailsOf(context_.type(type), mark.dim);
    bool isArgument = !at->parent && var.raw() < at->jaxpr->firstVar +
                                                     at->jaxpr->numConsts +
                                                     at->jaxpr->numInputs;
    if (trails.empty() && isArgument)
      trails.push_back({});
    for (const Trail &trail : trails)
      if (d.notes.size() < most && (isArgument || !trail.axes.empty()))
        noteOrigin(provenance, site, var, trail, sharding.mesh, d);
  }
}

void Findings::noteResult(Engine &engine, unsigned index, Diagnostic &d) {
  Atom out = program_.jaxpr(program_.entry.jaxpr).outs[index];
  TypeId type = out_.type(out_.entryInstance, out);
  if (out.isLiteral() || !type.valid())
    return;
  Provenance provenance(engine);
  const Site *site = provenance.entry();
  const Sharding &sharding = context_.type(type).sharding;
  for (const Trail &trail : trailsOf(context_.type(type), -1))
    if (d.notes.size() < MaxOriginNotes)
      noteOrigin(provenance, site, out.var(), trail, sharding.mesh, d);
}

/// The equation behind a value whose type was assumed, if it is near.
static EqnId assumedBehind(const Program &program,
                           const llvm::DenseSet<EqnId> &assumed,
                           ActiveFrame *frame, VarId var) {
  for (unsigned steps = 0; steps < 1000; ++steps) {
    uint32_t at = var.raw() - frame->jaxpr->firstVar;
    uint32_t inputs = frame->jaxpr->numConsts + frame->jaxpr->numInputs;
    ArrayRef<Atom> from;
    if (at < inputs) {
      if (!frame->parent || at < frame->jaxpr->numConsts)
        return EqnId();
      unsigned operand = frame->inputs.operand(at - frame->jaxpr->numConsts);
      frame = frame->parent;
      ArrayRef<Atom> operands = program.operandsOf(frame->current);
      if (operand >= operands.size())
        return EqnId();
      from = operands.slice(operand, 1);
    } else {
      EqnId id = definingEqn(program, *frame->jaxpr, var);
      if (!id.valid() || assumed.contains(id))
        return id;
      from = program.operandsOf(id);
    }
    const Atom *next = llvm::find_if(from, [&](Atom atom) {
      return !atom.isLiteral() && frame->val(atom.var()).is(Val::Assumed);
    });
    if (next == from.end())
      return EqnId();
    var = next->var();
  }
  return EqnId();
}

/// structure/recovery.6
void Findings::noteAssumption(ActiveFrame &frame, EqnId id, Diagnostic &d,
                              uint32_t flags) {
  if (!(flags & Val::Assumed))
    return;
  for (Atom atom : program_.operandsOf(id)) {
    if (atom.isLiteral() || !frame.val(atom.var()).is(Val::Assumed))
      continue;
    EqnId from = assumedBehind(program_, assumed_, &frame, atom.var());
    if (!from.valid()) {
      d.notes.push_back({"this depends on an assumption made above", {}});
      return;
    }
    EqnInfoId info = program_.eqn(from).info;
    d.notes.push_back({"this depends on the type assumed for " +
                           program_.name(program_.eqn(from)).str(),
                       info.valid() ? program_.info(info).stack : StackId()});
    return;
  }
}

//===--- The end of a run -------------------------------------------------===//

void Findings::backward(ActiveFrame &frame, EqnId id) {
  if (backward_.insert(id).second && backward_.size() == 1)
    firstBackward_ = {id, path(frame, id), stack(frame, id)};
}

static std::string times(size_t n, StringRef what) {
  return std::to_string(n) + " " + what.str() + (n == 1 ? "" : "s");
}

void Findings::finish() {
  for (const auto &[key, said] : said_)
    if (said.more)
      out_.diagnostics.all()[said.diagnostic].notes.push_back(
          {"the same holds of " + times(said.more, "more equation") +
               " that JAX writes for derivatives of this line",
           StackId()});
  for (auto &[name, unknown] : unknown_) {
    Diagnostic &d = out_.diagnostics.all()[unknown.diagnostic];
    std::string detail = times(unknown.uses.size(), "use");
    if (!unknown.why.empty())
      detail += "; " + unknown.why.str();
    d.message = formatDiag(d.code, {context_.str(name).str(), detail});
  }
  for (unsigned i = 0; i < choiceUses_.size(); ++i) {
    if (choiceUses_[i])
      continue;
    const Choice &choice = out_.options.choices[i];
    std::string why = choiceMisses_[i].empty() ? "no error there has a choice"
                                               : choiceMisses_[i];
    std::string origin = choice.origin.empty() ? "--choose" : choice.origin;
    out_.diagnostics.add(diag::OptionInvalid,
                         {origin + " '" + choice.place + "': " + why});
  }
  if (derivative_) {
    if (unsigned more = derivatives_.size() - 1)
      derivative_->notes.push_back(
          {"the same holds of " + times(more, "more derivative"), StackId()});
    derivative_->notes.push_back(
        {"the basis of the verdict: types are derived, by JAX's rules for the "
         "types of derivatives",
         StackId()});
    out_.diagnostics.add(std::move(*derivative_));
  }
  if (backward_.empty())
    return;
  out_.basis = Basis::Guess;
  const Place &first = untyped_.empty() ? firstBackward_ : firstUntyped_;
  std::string text = "the backward pass in this trace was made without these "
                     "shardings, so the types of its " +
                     times(backward_.size(), "equation") + " are guesses";
  text += untyped_.empty() ? " (the first is "
                           : ", and " + std::to_string(untyped_.size()) +
                                 " have no type (the first is ";
  text += program_.name(program_.eqn(first.eqn)).str() + " at " +
          placeOf(program_, first.stack, first.path) +
          "); the forward part stands; trace the gradient under the mesh";
  Diagnostic d;
  d.code = diag::CannotTell;
  d.level = info(d.code).level;
  d.message = formatDiag(d.code, {text});
  d.eqn = first.eqn;
  d.path = first.path;
  d.stack = first.stack;
  d.notes = unmarkedDerivatives(program_);
  out_.diagnostics.add(std::move(d));
}
