// TextParser.cpp - programs, jaxprs and equations of a printed program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

LogicalResult TextParser::fail(size_t offset, diag::Code code,
                               std::vector<std::string> args) {
  if (!failed_)
    failure_ = {code, std::move(args), offset};
  failed_ = true;
  return llvm::failure();
}

LogicalResult TextParser::expected(StringRef what) {
  std::string next = "the end";
  if (!in_.atEnd()) {
    StringRef word = in_.peekWord().take_front(40);
    next = !word.empty()               ? "'" + word.str() + "'"
           : llvm::isPrint(in_.peek()) ? std::string("'") + in_.peek() + "'"
                                       : "an unprintable character";
  }
  return fail(in_.at(), "expected " + what.str() + ", not " + next);
}

LogicalResult TextParser::count(size_t items) {
  items_ += items;
  if (items_ <= limits_.items)
    return success();
  return fail(in_.at(), diag::InputLimit,
              {"the number of variables, operands and values",
               std::to_string(limits_.items)});
}

LogicalResult TextParser::parse() {
  in_.accept("\xef\xbb\xbf"); // What some editors begin a file with.
  FailureOr<JaxprId> entry = program();
  if (failed(entry))
    return llvm::failure();
  in_.skipBlanks();
  if (!in_.atEnd())
    return expected("the end of the program");
  syntax_.entry = *entry;
  syntax_.sourceComments = in_.takeSourceComments();
  return success();
}

JaxprId TextParser::newJaxpr(size_t offset) {
  program_.jaxprs.emplace_back();
  syntax_.jaxprs.emplace_back();
  syntax_.jaxprs.back().offset = static_cast<uint32_t>(offset);
  return JaxprId(static_cast<uint32_t>(program_.jaxprs.size() - 1));
}

/// The jaxpr a definition's name stands for, defined or still to come.
JaxprId TextParser::definitionId(StringRef name, size_t offset) {
  auto [it, isNew] = definitions_.back().ids.try_emplace(name, JaxprId());
  if (isNew) {
    it->second = newJaxpr(offset);
    syntax_.jaxprs.back().name = cx_.intern(name);
  }
  return it->second;
}

LogicalResult TextParser::checkDefined(const Definitions &definitions) {
  JaxprId missing;
  for (const auto &entry : definitions.ids)
    if (!syntax_.jaxprs[entry.second.index()].defined &&
        (!missing.valid() || entry.second < missing))
      missing = entry.second;
  if (!missing.valid())
    return success();
  const SyntaxJaxpr &jaxpr = syntax_.jaxprs[missing.index()];
  return fail(jaxpr.offset,
              "no jaxpr is called '" + cx_.str(jaxpr.name).str() +
                  "'; its definition 'let ... = { lambda ... } in' is missing");
}

FailureOr<JaxprId> TextParser::program() {
  definitions_.emplace_back();
  in_.skipBlanks();
  while (in_.peekWord() == "let") {
    if (failed(definition()))
      return llvm::failure();
    in_.skipBlanks();
  }
  if (in_.peek() != '{')
    return expected("'{ lambda'");
  JaxprId id = newJaxpr(in_.at());
  if (failed(jaxpr(id, {})) || failed(checkDefined(definitions_.back())))
    return llvm::failure();
  definitions_.pop_back();
  return id;
}

/// A program that is part of a value (spec 04, 4.6).
FailureOr<JaxprId> TextParser::wholeProgram(size_t &offset,
                                            unsigned valueDepth) {
  size_t back = in_.at();
  in_.seek(offset);
  size_t first = syntax_.jaxprs.size();
  valueDepth_ += valueDepth;
  FailureOr<JaxprId> id = program();
  valueDepth_ -= valueDepth;
  offset = in_.at();
  in_.seek(back);
  for (size_t i = first; i < syntax_.jaxprs.size(); ++i)
    if (syntax_.jaxprs[i].name.valid() || (succeeded(id) && i == id->index()))
      syntax_.wholeJaxprs.push_back(JaxprId(static_cast<uint32_t>(i)));
  return id;
}

/// `let NAME = { lambda ... } in`. A name is whatever the function was called.
LogicalResult TextParser::definition() {
  in_.accept("let");
  in_.skipBlanks();
  size_t begin = in_.at();
  size_t equals = in_.text().find('=', begin);
  size_t lineEnd = in_.text().find('\n', begin);
  if (equals == StringRef::npos || equals > lineEnd)
    return expected("'NAME = { lambda ...' behind 'let'");
  StringRef name = in_.text().slice(begin, equals).trim();
  if (name.empty())
    return expected("a name behind 'let'");
  in_.seek(equals + 1);
  in_.skipBlanks();
  JaxprId id = definitionId(name, begin);
  if (syntax_.jaxprs[id.index()].defined)
    return fail(begin, "'" + name.str() + "' is defined twice");
  if (failed(jaxpr(id, {})))
    return llvm::failure();
  in_.skipBlanks();
  if (in_.peekWord() != "in")
    return expected("'in' behind the definition of '" + name.str() + "'");
  in_.takeWord();
  return success();
}

/// Reads a jaxpr into its place. `results` are those of the equation that
/// holds it, for outs that are called `_`.
LogicalResult TextParser::jaxpr(JaxprId id, ArrayRef<SyntaxBinder> results) {
  if (in_.peek() != '{')
    return expected("'{ lambda'");
  if (depth_ >= limits_.depth)
    return fail(in_.at(), diag::JaxprDepth, {std::to_string(limits_.depth)});
  if (depth_++ == scopes_.size())
    scopes_.push_back(std::make_unique<Scope>());
  SyntaxJaxpr read;
  read.offset = static_cast<uint32_t>(in_.at());
  read.name = syntax_.jaxprs[id.index()].name;
  read.defined = true;
  LogicalResult result =
      success(succeeded(head(read)) && succeeded(equations()) &&
              succeeded(outs(read, results)));
  Scope &done = scope();
  read.binders = std::move(done.binders);
  read.eqns = std::move(done.eqns);
  done.binders.clear();
  done.eqns.clear();
  done.vars.clear();
  done.underscores.clear();
  --depth_;
  read.debugName = syntax_.jaxprs[id.index()].debugName;
  syntax_.jaxprs[id.index()] = std::move(read);
  return result;
}

LogicalResult TextParser::head(SyntaxJaxpr &jaxpr) {
  in_.accept("{");
  in_.skipBlanks();
  if (in_.peekWord() != "lambda")
    return expected("'lambda'");
  in_.takeWord();
  if (failed(headBinders(';', jaxpr.numConsts)) ||
      failed(headBinders('.', jaxpr.numInputs)))
    return llvm::failure();
  in_.skipBlanks();
  if (in_.peekWord() != "let")
    return expected("'let' behind the binders");
  in_.takeWord();
  return success();
}

LogicalResult TextParser::headBinders(char close, uint32_t &count) {
  uint32_t first = scope().binders.size();
  for (in_.skipBlanks(); in_.peek() != close; in_.skipBlanks()) {
    if (in_.peekWord().empty())
      return expected(close == ';' ? "a constant or ';'" : "an input or '.'");
    if (failed(binder()))
      return llvm::failure();
  }
  in_.accept(StringRef(&close, 1));
  count = scope().binders.size() - first;
  return bind(first, count);
}

LogicalResult TextParser::binder() {
  if (failed(count()))
    return llvm::failure();
  SyntaxBinder binder;
  StringRef name = in_.takeWord();
  if (name != "_")
    binder.name = cx_.intern(name);
  if (in_.accept(":")) {
    binder.type = in_.takeType();
    if (binder.type.empty())
      return expected("a type behind '" + name.str() + ":'");
  }
  scope().binders.push_back(binder);
  return success();
}

/// Makes binders known to what follows.
LogicalResult TextParser::bind(uint32_t first, uint32_t count) {
  Scope &here = scope();
  for (uint32_t i = first; i < first + count; ++i) {
    StringId name = here.binders[i].name;
    if (!name.valid())
      here.underscores.push_back(i);
    else if (!here.vars.try_emplace(name, i).second)
      return fail(here.binders[i].type.empty()
                      ? in_.at()
                      : here.binders[i].type.offset - 1 - cx_.str(name).size(),
                  diag::JaxprRebound, {cx_.str(name).str()});
  }
  return success();
}

/// Is the next word the `in` that closes the equations, and not a variable of
/// that name (spec 04, 5, rule 10)? What follows decides: outs begin with `(`,
/// as does a complex literal, which has a type.
bool TextParser::atIn() {
  if (in_.peekWord() != "in")
    return false;
  StringRef after = in_.rest().drop_front(2).ltrim();
  if (!after.starts_with("("))
    return false;
  constexpr size_t LongestLiteral = 100;
  size_t close = after.take_front(LongestLiteral).find(')');
  StringRef inside = after.slice(1, close);
  bool complex = close != StringRef::npos && close + 1 < after.size() &&
                 after[close + 1] == ':' && !inside.contains('(') &&
                 (inside.ends_with("j") || inside.starts_with("b'"));
  return !complex;
}

LogicalResult TextParser::equations() {
  for (in_.skipBlanks(); !atIn(); in_.skipBlanks()) {
    if (in_.accept(";"))
      continue;
    if (in_.peekWord().empty())
      return expected("an equation or 'in'");
    if (failed(equation()))
      return llvm::failure();
  }
  in_.takeWord();
  return success();
}

LogicalResult TextParser::outs(SyntaxJaxpr &jaxpr,
                               ArrayRef<SyntaxBinder> results) {
  in_.skipBlanks();
  in_.accept("(");
  SmallVector<uint32_t, 4> deadOuts;
  for (in_.skipBlanks(); in_.peek() != ')'; in_.skipBlanks()) {
    if (failed(count()))
      return llvm::failure();
    bool dead = in_.peekWord() == "_";
    FailureOr<SyntaxAtom> out =
        dead ? deadOut(results, jaxpr.outs.size(), deadOuts) : atom();
    if (failed(out))
      return llvm::failure();
    jaxpr.outs.push_back(*out);
    in_.skipBlanks();
    if (!in_.accept(",") && in_.peek() != ')')
      return expected("',' or ')'");
  }
  in_.accept(")");
  in_.skipBlanks();
  if (in_.accept(":")) { // Effects, if the print shows them.
    in_.skipBlanks();
    std::optional<size_t> end = endOfValue(in_.text(), in_.at());
    if (in_.peek() != '{' || !end)
      return expected("effects in braces behind ':'");
    in_.seek(*end);
    in_.skipBlanks();
  }
  return in_.accept("}") ? success() : expected("'}'");
}

/// Does an equation whose binders have no types begin here? It stands on a line
/// of its own: words, then `=`. The same for one that begins with a binder
/// `nan:` or `inf:`, which could be a literal.
bool TextParser::startsEqn() const {
  TextCursor line(in_.text());
  line.seek(in_.at());
  for (bool any = false;; any = true) {
    while (line.peek() == ' ' || line.peek() == '\t')
      line.seek(line.at() + 1);
    if (any && line.peek() == '=' && line.peek(1) != '=')
      return true;
    if (any && line.peek() == '<' && line.peek(1) == '-')
      return true;
    if (line.takeWord().empty())
      return false;
    if (line.accept(":") && line.takeType().empty())
      return false;
  }
}

LogicalResult TextParser::equation() {
  SyntaxEqn eqn;
  eqn.offset = static_cast<uint32_t>(in_.at());
  eqn.order = syntax_.eqnOffsets.size();
  syntax_.eqnOffsets.push_back(eqn.offset);
  syntax_.markOffsets.push_back(0);
  if (failed(count()))
    return llvm::failure();
  StringRef word = in_.peekWord();
  char next = in_.peek(word.size());
  if (next == '[' || next == '{')
    return atRefWrite() ? refWrite(eqn) : plainEqn(eqn);
  if (next != ':' && !startsEqn())
    return plainEqn(eqn);
  if (failed(binders(eqn)))
    return llvm::failure();
  syntax_.markOffsets[eqn.order] = static_cast<uint32_t>(in_.at());
  if (in_.accept("<-"))
    return refRead(eqn);
  if (in_.accept(","))
    return refSwap(eqn);
  in_.accept("=");
  in_.skipBlanks();
  return plainEqn(eqn);
}

/// The results, up to what follows them: `=`, `<-` or `,`.
LogicalResult TextParser::binders(SyntaxEqn &eqn) {
  for (;; in_.skipBlanks()) {
    in_.skipBlanks();
    char c = in_.peek();
    if (eqn.numResults &&
        (c == '=' || c == ',' || (c == '<' && in_.peek(1) == '-')))
      return success();
    if (in_.peekWord().empty())
      return expected("'='");
    if (failed(binder()))
      return llvm::failure();
    ++eqn.numResults;
  }
}

static bool isPrimitiveChar(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '$' ||
         c == '/' || c == '@' || c == '!' || c == '?';
}

/// Reads the name. A word in capitals that no primitive has is the class of a
/// high-level one.
FailureOr<TextParser::KnownPrimitive> TextParser::primitive() {
  size_t begin = in_.at();
  while (isPrimitiveChar(in_.peek()))
    in_.seek(in_.at() + 1);
  StringRef name = in_.since(begin);
  if (name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_')) {
    in_.seek(begin);
    return expected("the name of a primitive");
  }
  if (auto it = primitives_.find(name); it != primitives_.end())
    return it->second;
  KnownPrimitive &known = primitives_[name];
  const PrimitiveInfo *row = lookup_(name);
  if (!row && llvm::isUpper(name[0])) {
    known.hiPrim = true;
    known.linearized = name.ends_with(".linearized");
    name =
        known.linearized ? "call_hi_primitive_linearized" : "call_hi_primitive";
    row = lookup_(name);
  }
  std::optional<uint16_t> index = program_.primitive(name, row);
  if (!index)
    return fail(begin, diag::InputLimit,
                {"the number of different primitives", "65536"});
  known.index = *index;
  known.info = row;
  return known;
}

/// Puts the parameters of a high-level primitive into the one that its call
/// has. Of the linearized one only the class prints.
void TextParser::makeHiPrim(StringRef className, bool linearized,
                            uint32_t offset, Params &params) {
  className.consume_back(".linearized");
  Value prim;
  prim.kind = Value::HiPrim;
  prim.text = cx_.intern(className);
  prim.integer = -1;
  if (!linearized) {
    for (const SyntaxParam &param : params) {
      prim.names.push_back(param.key);
      prim.elements.push_back(param.value);
    }
    params.clear();
  }
  params.push_back({cx_.intern("_prim"), program_.intern(prim), offset});
}

LogicalResult TextParser::plainEqn(SyntaxEqn &eqn) {
  size_t nameBegin = in_.at();
  FailureOr<KnownPrimitive> known = primitive();
  if (failed(known))
    return llvm::failure();
  eqn.primitive = known->index;
  eqn.hiPrim = known->hiPrim;
  StringRef name = in_.since(nameBegin);
  uint32_t firstResult = scope().binders.size() - eqn.numResults;
  Params params;
  if (in_.peek() == '[' && failed(this->params(eqn, known->info, params)))
    return llvm::failure();
  if (eqn.hiPrim)
    makeHiPrim(name, known->linearized, eqn.offset, params);
  if (failed(operands(eqn)) || failed(bind(firstResult, eqn.numResults)))
    return llvm::failure();
  return finish(eqn, params, known->info);
}

/// Completes the parameters and adds the equation to its jaxpr.
LogicalResult TextParser::finish(SyntaxEqn &eqn, Params &params,
                                 const PrimitiveInfo *info) {
  constexpr uint32_t MaxCount = (1u << 24) - 1;
  if (eqn.numOperands > MaxCount || eqn.numResults > MaxCount)
    return fail(eqn.offset, diag::InputLimit,
                {"the number of operands or results of one equation",
                 std::to_string(MaxCount)});
  if (info)
    addDefaults(eqn, info->params, params);
  llvm::sort(params, [&](const SyntaxParam &a, const SyntaxParam &b) {
    return cx_.str(a.key) < cx_.str(b.key);
  });
  for (size_t i = 1; i < params.size(); ++i)
    if (params[i].key == params[i - 1].key)
      return fail(std::max(params[i].offset, params[i - 1].offset),
                  "parameter '" + cx_.str(params[i].key).str() +
                      "' is given twice");
  eqn.firstParam = syntax_.params.size();
  eqn.numParams = params.size();
  syntax_.params.insert(syntax_.params.end(), params.begin(), params.end());
  scope().eqns.push_back(eqn);
  return success();
}
