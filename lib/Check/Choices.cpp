// Choices.cpp - `--choose`: another way out than the first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Findings.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Manual.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

/// Is `shown` the file `name`, or does it end with it at a slash?
static bool sameFile(StringRef file, StringRef name) {
  if (!file.ends_with(name))
    return false;
  return file.size() == name.size() ||
         file[file.size() - name.size() - 1] == '/';
}

/// structure/choose.1: `model.py:41` and `model.py:41:12` (columns as printed,
/// from 1) against the place of a finding; anything else is an equation's
/// path.
bool Findings::fits(const Choice &choice, const Diagnostic &d) const {
  if (choice.place == d.path)
    return true;
  const Frame *own = ownFrame(program_, d.stack);
  if (!own)
    return false;
  const Frame &frame = *own;
  StringRef file = context_.str(frame.file);
  auto [name, last] = StringRef(choice.place).rsplit(':');
  unsigned number = 0;
  if (last.getAsInteger(10, number))
    return false;
  if (number == frame.line && sameFile(file, name))
    return true;
  auto [file2, line] = name.rsplit(':');
  unsigned lineNumber = 0;
  return !line.getAsInteger(10, lineNumber) && lineNumber == frame.line &&
         number == frame.column + 1 && sameFile(file, file2);
}

/// What was chosen, as it was written.
static std::string wanted(const Context &cx, const Choice &choice) {
  return choice.state.empty() ? str(cx, choice.spec) : choice.state;
}

/// The state that a choice names, on this mesh; nothing: it cannot be read.
static std::optional<ManualAxisType>
chosenState(Context &cx, const Choice &choice, MeshId mesh) {
  if (choice.state == "{}")
    return ManualAxisType();
  TextResult<TypeId> type = parseType(cx, "f32[]" + choice.state, mesh);
  if (!type || !cx.type(*type).isArray())
    return std::nullopt;
  return cx.type(*type).manual;
}

/// Does a choice ask for this cast?
static bool asksFor(Context &cx, const Choice &choice, const Fix &fix) {
  if (choice.state.empty() || choice.operand != fix.operand)
    return false;
  const Type type = cx.type(fix.type);
  auto state = chosenState(cx, choice, type.sharding.mesh);
  return state && *state == type.manual;
}

/// structure/choose.4: casts that are assumed already, all of them.
bool Findings::chooseCasts(ArrayRef<unsigned> choices, Diagnostic &d) {
  SmallVector<unsigned, 4> taken;
  for (const Fix &fix : d.fixes) {
    if (!fix.assumed)
      continue;
    auto by = llvm::find_if(choices, [&](unsigned i) {
      return asksFor(context_, out_.options.choices[i], fix);
    });
    if (by == choices.end())
      return false;
    if (!llvm::is_contained(taken, *by))
      taken.push_back(*by);
  }
  for (Fix &fix : d.fixes)
    fix.chosen = fix.assumed;
  for (unsigned i : taken) {
    ++choiceUses_[i];
    mend(out_.options.choices[i], d);
  }
  return !taken.empty();
}

void Findings::applyChoice(Engine &engine, ActiveFrame &frame, EqnId id,
                           Diagnostic &d) {
  if (d.fixes.empty())
    return;
  SmallVector<unsigned, 4> all, operands;
  for (unsigned i = 0; i < out_.options.choices.size(); ++i)
    if (fits(out_.options.choices[i], d)) {
      all.push_back(i);
      if (out_.options.choices[i].operand >= 0)
        operands.push_back(i);
    }
  if (chooseCasts(all, d))
    return;
  // structure/choose.3: together if that is legal, else each by itself, for
  // several equations can be at one place.
  if (all.size() > 1 && !operands.empty() && choose(engine, frame, id, all, d))
    return;
  if (operands.size() > 1 && operands.size() < all.size() &&
      choose(engine, frame, id, operands, d))
    return;
  for (unsigned i : all)
    if (d.mended())
      choiceMisses_[i] = "another choice has mended the error there";
    else
      choose(engine, frame, id, i, d);
}

/// Makes these choices for one equation; false: they have been missed.
bool Findings::choose(Engine &engine, ActiveFrame &frame, EqnId id,
                      ArrayRef<unsigned> choices, Diagnostic &d) {
  std::string miss;
  const Choice *first = &out_.options.choices[choices.front()];
  bool chosen = choices.size() == 1 && first->operand < 0
                    ? chooseResult(engine, frame, id, *first, d, miss)
                    : chooseOperands(engine, frame, id, choices, d, miss);
  for (unsigned i : choices)
    if (chosen) {
      ++choiceUses_[i];
      mend(out_.options.choices[i], d);
    } else if (choices.size() == 1 && choiceMisses_[i].empty()) {
      choiceMisses_[i] = miss;
    }
  return chosen;
}

/// structure/choose.2: what was chosen counts as if it were written.
void Findings::mend(const Choice &choice, Diagnostic &d) {
  d.level = Level::Note;
  std::string origin = choice.origin.empty() ? "--choose" : choice.origin;
  d.notes.push_back({"mended by " + origin + ", as if " +
                         wanted(context_, choice) + " were written here",
                     StackId()});
}

static void takeOnly(Diagnostic &d, const Fix &chosen) {
  for (Fix &fix : d.fixes)
    fix.assumed = fix.chosen = &fix == &chosen;
}

/// Exactly these fixes are taken.
static void takeOnly(Diagnostic &d, ArrayRef<Fix> chosen) {
  unsigned group = 0;
  for (Fix &fix : d.fixes) {
    fix.assumed = fix.chosen = false;
    group = std::max(group, fix.group);
  }
  for (const Fix &want : chosen) {
    auto same = llvm::find_if(d.fixes, [&](const Fix &known) {
      return known.operand == want.operand && known.type == want.type &&
             known.group == 0;
    });
    if (chosen.size() > 1 || same == d.fixes.end()) {
      d.fixes.push_back(want);
      d.fixes.back().group = chosen.size() > 1 ? group + 1 : 0;
      same = d.fixes.end() - 1;
    }
    same->assumed = same->chosen = true;
  }
}

/// The values of an equation's operands.
static SmallVector<Val, 8> operandVals(Engine &engine, ActiveFrame &frame,
                                       EqnId id) {
  SmallVector<Val, 8> operands;
  for (Atom atom : engine.program().operandsOf(id))
    operands.push_back(atom.isLiteral() ? engine.literal(atom.literal())
                                        : frame.val(atom.var()));
  return operands;
}

/// Takes over results and bodies of another run of the equation.
static void takeOver(Engine &engine, ActiveFrame &frame, EqnId id,
                     const Outcome &outcome) {
  const Eqn &eqn = engine.program().eqn(id);
  for (unsigned i = 0; i < eqn.numResults; ++i)
    frame.val(engine.program().result(eqn, i)) = engine.result(outcome, i);
  for (Instance::Held held : engine.bodiesOf(outcome)) {
    held.eqn = id;
    frame.held.push_back(held);
  }
}

/// The bodies as they are if results are brought in line behind them.
static void keepCarries(Engine &engine, ActiveFrame &frame, EqnId id) {
  takeOver(engine, frame, id,
           engine.rerun(id, operandVals(engine, frame, id), frame,
                        Engine::Rerun::KeepCarries));
}

bool Findings::chooseResult(Engine &engine, ActiveFrame &frame, EqnId id,
                            const Choice &choice, Diagnostic &d,
                            std::string &miss) {
  std::string list;
  for (Fix &fix : d.fixes) {
    if (!fix.type.valid() || !context_.type(fix.type).isArray())
      continue;
    const Type &type = context_.type(fix.type);
    auto sharding =
        resolve(context_, choice.spec, type.sharding.mesh, type.rank());
    // With operands to be resharded as well, it is no choice by itself.
    bool isSharding = choice.state.empty() && sharding &&
                      *sharding == type.sharding && fix.spec[0] != '{';
    if (fix.operand < 0 && !fix.group && isSharding) {
      takeOnly(d, fix);
      const Eqn &eqn = program_.eqn(id);
      if (fix.bodyResult >= 0)
        keepCarries(engine, frame, id);
      frame.val(program_.result(eqn, fix.result)) = Val(fix.type, 0);
      return true;
    }
    bool isCast = StringRef(fix.spec).starts_with("{");
    if (fix.operand < 0 && (!fix.group || isCast) &&
        !StringRef(list).contains(fix.spec))
      list += (list.empty() ? "" : ", ") + fix.spec;
  }
  miss = wanted(context_, choice) + " is none of the choices there: " + list;
  return false;
}

/// The type in the state that is chosen; nothing: no casts lead there.
static std::optional<TypeId> castType(Context &cx, const Choice &choice,
                                      TypeId before, MeshId mesh,
                                      std::string &miss) {
  std::string operand =
      "operand " + std::to_string(choice.operand) + ", " + str(cx, before);
  miss = choice.state + " is no state over the Manual axes there";
  auto state = chosenState(cx, choice, mesh);
  if (!state || checkManual(cx, *state, mesh))
    return std::nullopt;
  miss = operand + ", cannot be cast to " + choice.state;
  if (!castPath(cx, mesh, cx.type(before).manual, *state,
                bytesPerDevice(cx, before)))
    return std::nullopt;
  return withManual(cx, before, *state, mesh);
}

/// An operand as chosen; nothing: it cannot be so, and `miss` says why.
static std::optional<TypeId> chosenType(Engine &engine, const Choice &choice,
                                        ArrayRef<Val> operands, MeshId mesh,
                                        std::string &miss) {
  Context &cx = engine.context();
  unsigned at = choice.operand;
  miss = "there is no array operand " + std::to_string(at) + " there";
  if (at >= operands.size())
    return std::nullopt;
  TypeId before = operands[at].type();
  const Type type = cx.type(before);
  if (!type.isArray())
    return std::nullopt;
  MeshId on = type.sharding.hasMesh() ? type.sharding.mesh : mesh;
  if (!choice.state.empty())
    return castType(cx, choice, before, on, miss);
  auto sharding = resolve(cx, choice.spec, on, type.rank());
  miss = str(cx, choice.spec) + " is no sharding of operand " +
         std::to_string(at) + ", " + str(cx, before);
  if (!sharding || checkDivisible(cx, *sharding, type.shape))
    return std::nullopt;
  miss = "operand " + std::to_string(at) + ", " + str(cx, before) +
         ", cannot be resharded to " + str(cx, choice.spec);
  if (refusedReshard(cx, type.sharding, *sharding))
    return std::nullopt;
  return cx.withSharding(before, *sharding);
}

/// What makes `after` of an operand: casts, or a reshard.
static Fix operandFix(Context &cx, const Choice &choice, TypeId before,
                      TypeId after) {
  if (choice.state.empty())
    return reshardFix(cx, choice.operand, before, after);
  const Type &to = cx.type(after);
  Fix fix;
  fix.operand = choice.operand;
  fix.type = after;
  fix.spec = stateSpec(cx, to.sharding.mesh, to.manual);
  if (auto path = castPath(cx, to.sharding.mesh, cx.type(before).manual,
                           to.manual, bytesPerDevice(cx, before))) {
    fix.code = path->code;
    fix.communication = path->communication;
  }
  return fix;
}

/// The result that is chosen beside operands, among what the row offers for
/// these.
static const Fix *chosenResult(Engine &engine, const Choice &choice,
                               const Outcome &outcome) {
  Context &cx = engine.context();
  for (const Diagnostic &d : engine.findingsOf(outcome))
    for (const Fix &fix : d.fixes) {
      if (fix.operand >= 0 || fix.bodyResult >= 0 || fix.group ||
          !fix.type.valid() || !cx.type(fix.type).isArray())
        continue;
      const Type &type = cx.type(fix.type);
      auto sharding = resolve(cx, choice.spec, type.sharding.mesh, type.rank());
      if (choice.state.empty() && sharding && *sharding == type.sharding)
        return &fix;
    }
  return nullptr;
}

bool Findings::chooseOperands(Engine &engine, ActiveFrame &frame, EqnId id,
                              ArrayRef<unsigned> choices, Diagnostic &d,
                              std::string &miss) {
  const Eqn &eqn = program_.eqn(id);
  MeshId mesh = engine.contextMesh(frame.mesh, eqn, frame.stays);
  SmallVector<Val, 8> operands = operandVals(engine, frame, id);
  SmallVector<Fix, 4> fixes;
  const Choice *result = nullptr;
  bool recasts = false;
  for (unsigned i : choices) {
    const Choice &choice = out_.options.choices[i];
    if (choice.operand < 0) {
      result = &choice;
      continue;
    }
    std::optional<TypeId> after =
        chosenType(engine, choice, operands, mesh, miss);
    if (!after)
      return false;
    miss = "operand " + std::to_string(choice.operand) + " is chosen twice";
    if (llvm::any_of(fixes, [&](const Fix &fix) {
          return fix.operand == choice.operand;
        }))
      return false;
    fixes.push_back(
        operandFix(context_, choice, operands[choice.operand].type(), *after));
    recasts |= !choice.state.empty();
    operands[choice.operand] = Val(*after, 0);
  }
  Outcome outcome = engine.rerun(id, operands, frame,
                                 recasts ? Engine::Rerun::OtherStates
                                         : Engine::Rerun::OtherOperands);
  const Fix *said = result ? chosenResult(engine, *result, outcome) : nullptr;
  miss = "with operand " + std::to_string(fixes.front().operand) + " as " +
         fixes.front().spec + " there is still an error";
  if (outcome.is(Outcome::Failed) != (said != nullptr) || (result && !said))
    return false;
  takeOver(engine, frame, id, outcome);
  if (said) {
    frame.val(program_.result(eqn, said->result)) = Val(said->type, 0);
    fixes.push_back(*said);
  }
  takeOnly(d, ArrayRef<Fix>(fixes));
  return true;
}
