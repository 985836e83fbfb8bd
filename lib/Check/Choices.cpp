// Choices.cpp - `--choose`: another way out than the first.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Findings.h"
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
/// from 1) against the innermost frame of a finding; anything else is an
/// equation's path.
bool Findings::fits(const Choice &choice, const Diagnostic &d) const {
  if (choice.place == d.path)
    return true;
  ArrayRef<FrameId> frames = program_.stack(d.stack);
  if (frames.empty())
    return false;
  const Frame &frame = program_.frames[frames.front().index()];
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

void Findings::applyChoice(Engine &engine, ActiveFrame &frame, EqnId id,
                           Diagnostic &d) {
  if (d.fixes.empty())
    return;
  for (unsigned i = 0; i < out_.options.choices.size(); ++i) {
    const Choice &choice = out_.options.choices[i];
    if (!fits(choice, d))
      continue;
    if (d.mended()) {
      choiceMisses_[i] = "another choice has mended the error there";
      continue;
    }
    std::string miss;
    bool chosen = choice.operand < 0
                      ? chooseResult(engine, frame, id, choice, d, miss)
                      : chooseOperand(engine, frame, id, choice, d, miss);
    if (chosen) {
      ++choiceUses_[i];
      mend(choice, d);
    } else if (choiceMisses_[i].empty()) {
      choiceMisses_[i] = miss;
    }
  }
}

static void takeOnly(Diagnostic &d, const Fix &chosen) {
  for (Fix &fix : d.fixes)
    fix.assumed = fix.chosen = &fix == &chosen;
}

/// structure/choose.2: what was chosen counts as if it were written.
void Findings::mend(const Choice &choice, Diagnostic &d) {
  d.level = Level::Note;
  std::string origin = choice.origin.empty() ? "--choose" : choice.origin;
  d.notes.push_back({"mended by " + origin + ", as if " +
                         str(context_, choice.spec) + " were written here",
                     StackId()});
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
                        /*keepCarries=*/true));
}

bool Findings::chooseResult(Engine &engine, ActiveFrame &frame, EqnId id,
                            const Choice &choice, Diagnostic &d,
                            std::string &miss) {
  std::string list;
  for (Fix &fix : d.fixes) {
    if (!fix.type.valid() || !context_.type(fix.type).isArray())
      continue;
    const Type &type = context_.type(fix.type);
    auto wanted =
        resolve(context_, choice.spec, type.sharding.mesh, type.rank());
    if (fix.operand < 0 && wanted && *wanted == type.sharding) {
      takeOnly(d, fix);
      const Eqn &eqn = program_.eqn(id);
      if (fix.bodyResult >= 0)
        keepCarries(engine, frame, id);
      frame.val(program_.result(eqn, fix.result)) = Val(fix.type, 0);
      return true;
    }
    if (fix.operand < 0)
      list += (list.empty() ? "" : ", ") + fix.spec;
  }
  miss = str(context_, choice.spec) + " is none of the choices there: " + list;
  return false;
}

bool Findings::chooseOperand(Engine &engine, ActiveFrame &frame, EqnId id,
                             const Choice &choice, Diagnostic &d,
                             std::string &miss) {
  const Eqn &eqn = program_.eqn(id);
  unsigned at = choice.operand;
  miss = "there is no array operand " + std::to_string(at) + " there";
  if (at >= eqn.numOperands)
    return false;
  SmallVector<Val, 8> operands = operandVals(engine, frame, id);
  const Type type = context_.type(operands[at].type());
  if (!type.isArray())
    return false;
  MeshId mesh = type.sharding.hasMesh() ? type.sharding.mesh
                                        : engine.contextMesh(frame.mesh, eqn);
  auto wanted = resolve(context_, choice.spec, mesh, type.rank());
  miss = str(context_, choice.spec) + " is no sharding of operand " +
         std::to_string(at) + ", " + str(context_, operands[at].type());
  if (!wanted || checkDivisible(context_, *wanted, type.shape))
    return false;
  TypeId before = operands[at].type();
  TypeId after = context_.withSharding(before, *wanted);
  operands[at] = Val(after, 0);
  Outcome outcome = engine.rerun(id, operands, frame);
  miss = "with operand " + std::to_string(at) + " as " +
         str(context_, choice.spec) + " there is still an error";
  if (outcome.is(Outcome::Failed))
    return false;
  takeOver(engine, frame, id, outcome);
  Fix fix;
  fix.operand = at;
  fix.type = after;
  fix.spec = str(context_, toSpec(context_, *wanted));
  fix.code = "reshard({0}, " + fix.spec + ")";
  fix.communication = reshardCost(context_, before, after);
  auto same = llvm::find_if(d.fixes, [&](const Fix &known) {
    return known.operand == fix.operand && known.type == fix.type;
  });
  if (same == d.fixes.end()) {
    d.fixes.push_back(std::move(fix));
    same = d.fixes.end() - 1;
  }
  takeOnly(d, *same);
  return true;
}
