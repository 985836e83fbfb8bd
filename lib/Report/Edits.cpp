// Edits.cpp - which expression of the source a fix changes, and how.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An expression makes several equations: `jnp.einsum` a jit with a product and
// a transpose in it. The one that fails need not be the one whose result or
// operand the user wrote. So
//
// - a result is followed through what the same expression does with it; a
//   transpose puts the spec in the order of the expression's result (spec 08,
//   8), anything else means that the spec cannot be said there;
// - an operand is followed back, out of the bodies of the expression, to what
//   the expression was given, and from there to the argument by its number.
//
// Where one of these steps is not sure there is no edit.
#include "Common.h"
#include "EditsImpl.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace shardtype;

/// A line of code without the comment at its end.
static StringRef withoutComment(StringRef line) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote)
      quote = c == quote ? 0 : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else if (c == '#')
      return line.take_front(i);
  }
  return line;
}

std::string SourceEdit::oneLine() const {
  std::string out;
  for (StringRef code = text; !code.empty();) {
    auto [line, rest] = code.split('\n');
    line = withoutComment(line).trim();
    bool glued = out.empty() || StringRef("([").contains(out.back()) ||
                 line.starts_with(")") || line.starts_with("]");
    out += (line.empty() || glued ? "" : " ") + line.str();
    code = rest;
  }
  return out;
}

Edits::Edits(const CheckedProgram &checked, Sources *sources)
    : impl_(std::make_unique<Impl>(checked, sources)) {}
Edits::~Edits() = default;

std::optional<unsigned> Edits::importsEnd(StringRef file) const {
  return impl_->calls.importsEnd(file);
}

StringRef Edits::file(const Diagnostic &diagnostic) const {
  const Frame *frame = innermost(impl_->program, diagnostic.stack);
  const Call *call = frame ? impl_->calls.at(*frame) : nullptr;
  return call ? StringRef(call->file) : StringRef();
}

Edits::FileState Edits::state(StringRef file) { return impl_->state(file); }

Edits::FileState Edits::Impl::state(StringRef file) {
  auto [known, isNew] = states.try_emplace(file.str(), FileState::Missing);
  if (!isNew)
    return known->second;
  std::optional<StringRef> text = sources ? sources->text(file) : std::nullopt;
  if (!text)
    return known->second;
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(*text));
  bool same = calls.hash(file) == "sha256:" + llvm::toHex(hash, true);
  return known->second = same ? FileState::Same : FileState::Changed;
}

//===--- Places -----------------------------------------------------------===//

/// Was the equation made by this expression? Equations of a body that was
/// traced before may have no frame.
bool Edits::Impl::within(const Call &call, EqnId eqn) const {
  const Frame *frame = frameOf(program, eqn);
  return !frame || calls.at(*frame) == &call;
}

static StringRef nameStack(const Program &program, EqnId eqn) {
  EqnInfoId info = program.eqn(eqn).info;
  StringId stack = info.valid() ? program.info(info).nameStack : StringId();
  return stack.valid() ? program.context().str(stack) : "";
}

/// Does an equation, or what it holds, have dims that vmap added?
static bool isVmapped(const Program &program, EqnId eqn) {
  // A marker of a derivative that vmap batched (docs/spec/export.md, E23).
  ValueId batched = program.param(program.eqn(eqn).params, "batched");
  if (batched.valid() && program.value(batched).kind == Value::Bool &&
      program.value(batched).integer)
    return true;
  return nameStack(program, eqn).contains("vmap(");
}

/// Does a library's function that the user called make the equation itself, and
/// does it take `out_sharding` (docs/spec/export.md, E38)?
static bool isLayer(const Program &program, const Diagnostic &d) {
  ArrayRef<FrameId> frames = program.stack(d.stack);
  if (frames.size() < 2 || !d.eqn.valid() ||
      &program.frames[frames[1].index()] != ownFrame(program, d.stack))
    return false;
  const Frame &frame = program.frames[frames.front().index()];
  StringRef extra = program.context().str(frame.extra);
  StringRef primitive = program.name(program.eqn(d.eqn));
  return extra.contains("\"takes\":[\"out_sharding\"]") &&
         llvm::is_contained({"dot_general", "conv_general_dilated", "gather"},
                            primitive);
}

std::optional<Failing> Edits::Impl::failing(const Diagnostic &d) {
  const Frame *frame = innermost(program, d.stack);
  const Call *call = frame && d.eqn.valid() ? calls.at(*frame) : nullptr;
  if (!call)
    return std::nullopt;
  Failing f;
  f.call = call;
  f.places = placesOf(program, d.path);
  if (libraryFrame(program, d.stack)) {
    f.layer = isLayer(program, d);
    if (!f.layer)
      return std::nullopt;
  }
  if (f.places.empty() || f.places.back().eqn != d.eqn)
    return std::nullopt;
  for (const PlacedEqn &place : f.places) {
    // Of a backward pass, which follows from the forward one. What is under
    // `jvp` comes from the user's own forward call.
    if (nameStack(program, place.eqn).contains("transpose("))
      return std::nullopt;
    f.vmapped |= isVmapped(program, place.eqn);
  }
  f.batch = batchDims(program, d.eqn);
  f.vmapped |= !f.batch.results.empty();
  f.operandTypes = d.operandTypes;
  f.outer = f.places.size();
  while (f.outer > 0 && within(*call, f.places[f.outer - 1].eqn))
    --f.outer;
  if (f.outer == f.places.size())
    return std::nullopt;
  return f;
}

/// Counts the equations of the entry and of the bodies that it holds: a file
/// may have other jaxprs, as the program without its markers.
void Edits::Impl::countUses() {
  std::vector<JaxprId> waiting = {program.entry.jaxpr};
  std::vector<bool> seen(program.jaxprs.size());
  while (!waiting.empty()) {
    JaxprId id = waiting.back();
    waiting.pop_back();
    if (seen[id.index()])
      continue;
    seen[id.index()] = true;
    const Jaxpr &jaxpr = program.jaxpr(id);
    for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
      const Eqn &eqn = program.eqn(jaxpr.eqn(i));
      const Frame *frame = frameOf(program, jaxpr.eqn(i));
      if (const Call *call = frame ? calls.at(*frame) : nullptr)
        ++uses[{call, eqn.primitive}];
      forEachBody(program, eqn, [&](const std::string &, JaxprId body) {
        waiting.push_back(body);
      });
    }
  }
}

unsigned Edits::Impl::alsoAt(const Failing &f) {
  if (uses.empty())
    countUses();
  unsigned count = uses[{f.call, program.eqn(f.places.back().eqn).primitive}];
  return count ? count - 1 : 0;
}

bool shardtype::isPlainCall(StringRef primitive) {
  return primitive == "jit" || primitive == "pjit";
}

//===--- Results ----------------------------------------------------------===//

/// The only equation of a jaxpr, made by the expression, that uses a variable;
/// `others`: something else does too.
static std::optional<EqnId> onlyUser(const Program &program, const Jaxpr &jaxpr,
                                     VarId var,
                                     llvm::function_ref<bool(EqnId)> isOwn,
                                     bool &others) {
  std::optional<EqnId> user;
  others = false;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    EqnId id = jaxpr.eqn(i);
    if (!llvm::is_contained(program.operandsOf(id), Atom(var)) || !isOwn(id))
      continue;
    others |= user.has_value();
    user = id;
  }
  return user;
}

static SmallVector<int64_t, 6> dimsInOrder(unsigned rank) {
  SmallVector<int64_t, 6> order;
  for (unsigned i = 0; i < rank; ++i)
    order.push_back(i);
  return order;
}

/// Of an einsum of three arrays or more only the whole can be annotated: JAX
/// decides what is inside (spec 08, 8). Its type is known for the fix that was
/// assumed.
std::optional<std::string> Edits::Impl::einsumSpec(const Failing &f,
                                                   const Fix &fix) {
  InstanceId instance = checked.entryInstance;
  for (size_t i = 0; i < f.outer && instance.valid(); ++i)
    instance = checked.body(instance, f.places[i].eqn, f.places[i + 1].jaxpr);
  EqnId outer = f.places[f.outer].eqn;
  auto isOwn = [&](EqnId id) { return within(*f.call, id); };
  // JAX may have written the steps out in place of a call: to the last of them.
  for (unsigned steps = 0; steps < 64; ++steps) {
    bool others = false;
    std::optional<EqnId> next =
        onlyUser(program, program.jaxpr(f.places[f.outer].jaxpr),
                 program.result(program.eqn(outer), 0), isOwn, others);
    if (others)
      return std::nullopt;
    if (!next)
      break;
    outer = *next;
  }
  const Eqn &eqn = program.eqn(outer);
  if (!fix.assumed || !instance.valid() || eqn.numResults != 1)
    return std::nullopt;
  TypeId type = checked.type(instance, program.result(eqn, 0));
  if (!type.valid() || !cx.type(type).isArray() || leavesPartial(cx, type))
    return std::nullopt;
  Failing whole = f;
  whole.batch = batchDims(program, outer);
  whole.operandTypes = {};
  std::vector<TypeId> operandTypes;
  for (Atom atom : program.operandsOf(eqn))
    operandTypes.push_back(checked.type(instance, atom));
  whole.operandTypes = operandTypes;
  return ownSpec(whole, cx.type(type).sharding,
                 dimsInOrder(cx.type(type).rank()), whole.batch.result(0));
}

/// The spec in the order in which the user writes it for this expression.
std::optional<std::string> Edits::Impl::writtenSpec(const Failing &f,
                                                    const Fix &fix) {
  size_t level = f.places.size() - 1;
  VarId var = program.result(program.eqn(f.places[level].eqn), fix.result);
  SmallVector<int64_t, 6> order = dimsInOrder(cx.type(fix.type).rank());
  bool moved = false;
  for (unsigned steps = 0; steps < 64; ++steps) {
    const Jaxpr &jaxpr = program.jaxpr(f.places[level].jaxpr);
    bool others = false;
    std::optional<EqnId> user = onlyUser(
        program, jaxpr, var, [&](EqnId id) { return within(*f.call, id); },
        others);
    if (others)
      return std::nullopt;
    if (!user) {
      auto out = llvm::find(jaxpr.outs, Atom(var));
      if (level == f.outer || out == jaxpr.outs.end()) {
        if (!moved && !f.vmapped)
          return fix.spec;
        return ownSpec(f, cx.type(fix.type).sharding, order,
                       f.batch.result(fix.result));
      }
      const Eqn &holder = program.eqn(f.places[--level].eqn);
      unsigned result = out - jaxpr.outs.begin();
      if (!isPlainCall(program.name(holder)) || result >= holder.numResults)
        return std::nullopt;
      var = program.result(holder, result);
      continue;
    }
    const Eqn &eqn = program.eqn(*user);
    StringRef primitive = program.name(eqn);
    if (primitive == "transpose") {
      SmallVector<int64_t, 6> permutation, next;
      ValueId value = program.param(eqn.params, "permutation");
      if (!value.valid() ||
          !readParam(program, program.value(value), permutation) ||
          permutation.size() != order.size())
        return std::nullopt;
      for (int64_t dim : permutation) {
        if (dim < 0 || static_cast<size_t>(dim) >= order.size())
          return std::nullopt;
        next.push_back(order[dim]);
      }
      order = next;
      moved = true;
    } else if (primitive != "convert_element_type" && primitive != "copy") {
      return std::nullopt;
    }
    var = program.result(eqn, 0);
  }
  return std::nullopt;
}

std::optional<SourceEdit> Edits::Impl::ofResult(const Failing &f,
                                                const Fix &fix) {
  if (fix.bodyResult >= 0 || !fix.type.valid() ||
      !cx.type(fix.type).isArray() || fix.spec.empty())
    return std::nullopt;
  // jnp.matmul hands the spec on as it is, whatever it does with the product
  // (spec 08, 8), and so does a layer.
  bool handsOn = f.layer || f.call->name == "jax.numpy.matmul" ||
                 (f.call->kind == Call::Operator && f.call->name == "@");
  std::optional<std::string> spec;
  if (f.call->name == "jax.numpy.einsum" && f.call->args.size() > 3)
    spec = einsumSpec(f, fix);
  else if (handsOn && !f.vmapped)
    spec = fix.spec;
  else if (handsOn)
    spec = ownSpec(f, cx.type(fix.type).sharding,
                   dimsInOrder(cx.type(fix.type).rank()),
                   f.batch.result(fix.result));
  else
    spec = writtenSpec(f, fix);
  if (!spec)
    return std::nullopt;
  Sources *from = state(f.call->file) == FileState::Same ? sources : nullptr;
  return Rewriter(calls, from, *f.call).withOutSharding(*spec, f.layer);
}

std::optional<SourceEdit> Edits::edit(const Diagnostic &diagnostic,
                                      const Fix &fix) {
  std::optional<Failing> f = impl_->failing(diagnostic);
  if (!f)
    return std::nullopt;
  // What a rule says of `x.at[...]` is a result's sharding all the same.
  bool saysResult =
      fix.operand < 0 &&
      (fix.code.empty() || StringRef(fix.code).contains("out_sharding="));
  std::optional<SourceEdit> edit;
  if (fix.operand >= 0 && !f->layer)
    edit = impl_->ofOperand(*f, fix);
  else if (saysResult)
    edit = impl_->ofResult(*f, fix);
  if (edit)
    edit->alsoAt = impl_->alsoAt(*f);
  return edit;
}
