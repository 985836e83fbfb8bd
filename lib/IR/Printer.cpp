// Printer.cpp - programs as JAX prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Layout.h"
#include "PrintPlan.h"
#include "RefAccess.h"
#include "ValueText.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;

namespace {

/// Programs inside values (custom_linear_solve) print whole at each place, so
/// their text can grow exponentially; past this many bytes they are left out.
constexpr uint64_t MaxWholeBytes = 256u << 20;
/// As deep as programs nest in print; a verified one nests less.
constexpr unsigned MaxNesting = 600;

class ProgramPrinter {
public:
  ProgramPrinter(raw_ostream &os, const Program &program, const TypeView *view,
                 const PrintOptions &options, PrintPlan::Root root,
                 uint64_t &wholeBytes)
      : program_(program), view_(view), options_(options),
        wholeBytes_(wholeBytes), plan_(program, view, root, options.keepNames),
        out_(os, options.width, options.source || options.nameStack) {}

  void print();

private:
  void jaxpr(unsigned unit);
  void body(JaxprId id);
  void eqn(EqnId id);
  void plainEqn(EqnId id, const Eqn &eqn);
  void refEqn(const Eqn &eqn, const RefAccess &access);
  void refText(const Eqn &eqn, const RefAccess &access);
  void params(EqnId id, const std::vector<PrintedParam> &params);
  void param(EqnId id, const PrintedParam &param);
  void jaxprs(EqnId id, ArrayRef<JaxprId> list);
  void whole(EqnId id, ValueId value);
  template <typename Range, typename Print>
  void separated(const Range &range, StringRef separator, Print print);
  void binders(VarId first, unsigned count);
  void atoms(ArrayRef<Atom> atoms, StringRef separator);
  void atom(Atom atom, bool literalType = true);
  void binder(VarId var);
  StringRef typeText(TypeId type);
  std::string sourceText(const EqnInfo &info) const;
  void annotateSource(const Eqn &eqn);

  const Program &program_;
  const TypeView *view_;
  const PrintOptions &options_;
  uint64_t &wholeBytes_;
  PrintPlan plan_;
  Layout out_;
  unsigned unit_ = 0; // Being printed.
  unsigned depth_ = 0;
  std::vector<std::string> types_; // By TypeId, once printed.
};

} // namespace

StringRef ProgramPrinter::typeText(TypeId type) {
  if (types_.size() <= type.index())
    types_.resize(std::max<size_t>(type.index() + 1, types_.size() * 2));
  std::string &text = types_[type.index()];
  if (text.empty())
    text = str(program_.context(), type);
  return text;
}

void ProgramPrinter::atom(Atom atom, bool literalType) {
  if (!atom.isLiteral()) {
    SmallVector<char, 16> buffer;
    VarName name = plan_.name(unit_, atom.var());
    out_.text(name.str(program_.context(), buffer));
    return;
  }
  const Literal &literal = program_.literal(atom.literal());
  if (literal.repr.valid())
    out_.text(program_.context().str(literal.repr));
  if (!literalType || !literal.type.valid())
    return;
  out_.text(":");
  out_.text(typeText(literal.type));
}

void ProgramPrinter::binder(VarId var) {
  atom(var);
  if (!options_.types)
    return;
  InstanceId instance = plan_.unit(unit_).instance;
  TypeId type = view_ && instance.valid() ? view_->type(instance, var)
                                          : program_.var(var).type;
  if (!type.valid())
    return;
  out_.text(":");
  out_.text(typeText(type));
}

/// Prints each of a list with a separator and a break that is taken only where
/// the line is full.
template <typename Range, typename Print>
void ProgramPrinter::separated(const Range &range, StringRef separator,
                               Print print) {
  out_.openNest();
  out_.openGroup();
  bool first = true;
  for (const auto &item : range) {
    if (!first) {
      out_.text(separator);
      out_.fill();
    }
    first = false;
    print(item);
  }
  out_.closeGroup();
  out_.closeNest();
}

void ProgramPrinter::binders(VarId first, unsigned count) {
  separated(llvm::seq<uint32_t>(0, count), "",
            [&](uint32_t i) { binder(VarId(first.raw() + i)); });
}

void ProgramPrinter::atoms(ArrayRef<Atom> list, StringRef separator) {
  separated(list, separator, [&](Atom item) { atom(item); });
}

std::string ProgramPrinter::sourceText(const EqnInfo &info) const {
  ArrayRef<FrameId> stack = program_.stack(info.stack);
  if (stack.empty())
    return "";
  const Context &cx = program_.context();
  const Frame &frame = program_.frames[stack.front().index()];
  std::string text = frame.file.valid() ? cx.str(frame.file).str() : "";
  text += ":" + std::to_string(frame.line);
  if (frame.column)
    text += ":" + std::to_string(frame.column);
  return text + " (" +
         (frame.function.valid() ? cx.str(frame.function).str() : "") + ")";
}

void ProgramPrinter::annotateSource(const Eqn &eqn) {
  if (!options_.source)
    return;
  std::string text = sourceText(program_.info(eqn.info));
  // JAX prints an empty comment where there is no source; a listing of types is
  // for people.
  if (!text.empty() || !view_)
    out_.annotate(text);
}

void ProgramPrinter::jaxprs(EqnId id, ArrayRef<JaxprId> list) {
  out_.openGroup();
  out_.openNest();
  out_.text("(");
  out_.brk("");
  bool first = true;
  for (JaxprId body : list) {
    if (!first)
      out_.brk();
    first = false;
    jaxpr(plan_.held(unit_, id, body));
  }
  out_.closeNest();
  out_.brk("");
  out_.text(")");
  out_.closeGroup();
}

/// A value whose jaxprs JAX prints with `str`: each on its own, from the left
/// margin, with names from `a`.
void ProgramPrinter::whole(EqnId id, ValueId value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ValueText(program_, [&](raw_ostream &to, JaxprId jaxpr) {
    if (wholeBytes_ > MaxWholeBytes || depth_ > MaxNesting) {
      to << "{...}";
      return;
    }
    InstanceId parent = plan_.unit(unit_).instance;
    InstanceId instance =
        view_ && parent.valid() ? view_->body(parent, id, jaxpr) : InstanceId();
    PrintOptions options;
    options.keepNames = options_.keepNames;
    std::string program;
    llvm::raw_string_ostream inner(program);
    ProgramPrinter(inner, program_, view_, options, {jaxpr, instance},
                   wholeBytes_)
        .print();
    wholeBytes_ += program.size();
    to << program;
  }).str(os, value);
  out_.text(text);
}

void ProgramPrinter::param(EqnId id, const PrintedParam &param) {
  out_.text(param.key);
  out_.text("=");
  switch (param.kind) {
  case PrintedParam::Text:
    return out_.text(param.text);
  case PrintedParam::Jaxpr:
    return jaxpr(plan_.held(unit_, id, param.jaxprs[0]));
  case PrintedParam::Jaxprs:
    return jaxprs(id, param.jaxprs);
  case PrintedParam::Whole:
    return whole(id, param.value);
  case PrintedParam::HiPrim:
    out_.text(param.text);
    return params(id, param.params);
  }
}

void ProgramPrinter::params(EqnId id, const std::vector<PrintedParam> &list) {
  if (list.empty())
    return;
  out_.openGroup();
  out_.openNest();
  out_.text("[");
  out_.brk("");
  bool first = true;
  for (const PrintedParam &item : list) {
    if (!first)
      out_.brk();
    first = false;
    param(id, item);
  }
  out_.closeNest();
  out_.brk("");
  out_.text("]");
  out_.closeGroup();
}

void ProgramPrinter::refText(const Eqn &eqn, const RefAccess &access) {
  atom(program_.operandsOf(eqn)[0]);
  for (const RefAccess::Piece &piece : access.pieces)
    if (piece.operand < 0)
      out_.text(piece.text);
    else
      atom(program_.operandsOf(eqn)[piece.operand], /*literalType=*/false);
}

/// Reads and writes of a Ref (spec 04, 4.8).
void ProgramPrinter::refEqn(const Eqn &eqn, const RefAccess &access) {
  PrintStyle style = plan_.params().style(eqn);
  // JAX looks for a dead result here, which a DropVar is not.
  bool quiet = style != PrintStyle::RefGet && eqn.numResults == 1 &&
               plan_.name(unit_, eqn.firstResult).isUnderscore() &&
               !program_.var(eqn.firstResult).dropped;
  if (eqn.numResults && !quiet) {
    binders(eqn.firstResult, eqn.numResults);
    if (style != PrintStyle::RefGet)
      out_.text(", ");
  }
  if (style != PrintStyle::RefGet)
    refText(eqn, access);
  out_.text(style == PrintStyle::RefAdd ? " += " : " <- ");
  annotateSource(eqn);
  if (style == PrintStyle::RefGet)
    return refText(eqn, access);
  if (eqn.numResults && !quiet) {
    refText(eqn, access);
    out_.text(", ");
  }
  atom(program_.operandsOf(eqn)[1]);
}

void ProgramPrinter::plainEqn(EqnId id, const Eqn &eqn) {
  if (eqn.numResults) {
    binders(eqn.firstResult, eqn.numResults);
    out_.text(" = ");
    annotateSource(eqn);
  }
  out_.text(plan_.params().name(eqn));
  if (options_.nameStack) {
    StringId stack = program_.info(eqn.info).nameStack;
    StringRef text = stack.valid() ? program_.context().str(stack) : "";
    out_.annotate("[" + text.str() + "]");
  }
  params(id, plan_.params().printed(eqn));
  out_.text(" ");
  atoms(program_.operandsOf(eqn), "");
}

void ProgramPrinter::eqn(EqnId id) {
  const Eqn &eqn = program_.eqn(id);
  PrintStyle style = plan_.params().style(eqn);
  if (style == PrintStyle::RefGet || style == PrintStyle::RefSwap ||
      style == PrintStyle::RefAdd)
    if (std::optional<RefAccess> access = refAccess(program_, eqn, style))
      return refEqn(eqn, *access);
  plainEqn(id, eqn);
}

void ProgramPrinter::body(JaxprId id) {
  const Jaxpr &jaxpr = program_.jaxpr(id);
  out_.openGroup();
  out_.openNest();
  out_.text("{ lambda ");
  binders(jaxpr.var(0), jaxpr.numConsts);
  out_.text("; ");
  binders(jaxpr.var(jaxpr.numConsts), jaxpr.numInputs);
  out_.text(". let");
  out_.openNest();
  out_.brk();
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    if (i)
      out_.brk("; ");
    eqn(jaxpr.eqn(i));
  }
  out_.closeNest();
  out_.brk();
  out_.text("in (");
  atoms(jaxpr.outs, ",");
  out_.text(jaxpr.outs.size() == 1 ? ",)" : ")");
  out_.closeNest();
  out_.text(" }");
  out_.closeGroup();
}

void ProgramPrinter::jaxpr(unsigned unit) {
  const PrintUnit &u = plan_.unit(unit);
  if (u.shared)
    return out_.text(u.name);
  if (depth_ > MaxNesting)
    return out_.text("{...}");
  unsigned outer = std::exchange(unit_, unit);
  ++depth_;
  body(u.jaxpr);
  --depth_;
  unit_ = outer;
}

void ProgramPrinter::print() {
  for (unsigned definition : plan_.definitions()) {
    unit_ = definition;
    out_.text("let ");
    out_.text(plan_.unit(definition).name);
    out_.text(" = ");
    body(plan_.unit(definition).jaxpr);
    out_.text(" in");
    out_.brk();
  }
  jaxpr(0);
  out_.finish();
}

void shardtype::printProgram(raw_ostream &os, const Program &program,
                             const TypeView *view,
                             const PrintOptions &options) {
  uint64_t wholeBytes = 0;
  PrintPlan::Root root{program.entry.jaxpr,
                       view ? view->entry() : InstanceId()};
  ProgramPrinter(os, program, view, options, root, wholeBytes).print();
}
