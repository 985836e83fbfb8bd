// TextOperands.cpp - operands, literals, reads and writes of Refs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextLiteral.h"
#include "TextParser.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

/// A literal's text is short; complex numbers take the most.
static constexpr size_t LongestLiteral = 200;

static bool isLiteralWord(StringRef word) {
  return word == "True" || word == "False" || word == "nan" || word == "inf";
}

bool TextParser::atLiteral() const {
  char c = in_.peek();
  if (llvm::isDigit(c) || c == '-' || c == '+' || c == '.' || c == '(' ||
      c == '[')
    return true;
  StringRef word = in_.peekWord();
  return isLiteralWord(word) && in_.peek(word.size()) == ':';
}

/// `2.0:f32[]`, `(1+2j):c64[]`, `[...]:f32[3]`.
FailureOr<SyntaxAtom> TextParser::literal() {
  size_t begin = in_.at();
  StringRef rest = in_.rest().take_front(LongestLiteral);
  size_t length;
  if (rest.starts_with("(")) {
    length = rest.find(')') + 1;
  } else if (rest.starts_with("[")) {
    length = rest.find(']') + 1;
  } else {
    length = rest.find_if_not([](char c) {
      return llvm::isAlnum(c) || c == '.' || c == '-' || c == '+' || c == '_';
    });
    length = length == StringRef::npos ? 0 : length;
  }
  StringRef repr = rest.take_front(length);
  in_.seek(begin + length);
  if (length == 0 || !in_.accept(":")) {
    in_.seek(begin);
    return fail(begin, "expected a literal with its type, such as 2.0:f32[]");
  }
  TextRange type = in_.takeType();
  auto [it, isNew] = literals_.try_emplace(in_.since(begin), LiteralId());
  if (isNew) {
    StringRef text = in_.text().substr(type.offset, type.length);
    TextResult<TypeId> read = parseType(cx_, text, MeshId());
    if (!read)
      return fail(type.offset + read.error.offset, read.error.message);
    std::optional<Literal> literal = readLiteral(cx_, repr, *read);
    if (!literal)
      return fail(begin,
                  "'" + repr.str() + "' is no value of type " + text.str());
    it->second = program_.intern(*literal);
  }
  return SyntaxAtom{it->second.raw() | SyntaxAtom::LiteralBit};
}

FailureOr<SyntaxAtom> TextParser::variable(StringRef name, size_t offset) {
  Scope &here = scope();
  if (name == "_") {
    if (here.underscores.size() > 1)
      return fail(offset, "'_' is read, but " +
                              std::to_string(here.underscores.size()) +
                              " variables before it are called so; the text "
                              "does not tell which one is meant");
    if (here.underscores.empty())
      return fail(offset, diag::JaxprScope, {"_"});
    here.binders[here.underscores[0]].state = SyntaxBinder::Read;
    return SyntaxAtom{here.underscores[0]};
  }
  StringId id = cx_.intern(name);
  auto it = here.vars.find(id);
  if (it == here.vars.end()) {
    bool isAround = llvm::any_of(
        ArrayRef(scopes_).take_front(depth_ - 1),
        [&](const std::unique_ptr<Scope> &s) { return s->vars.count(id); });
    return fail(offset, isAround ? diag::CapturedValue : diag::JaxprScope,
                {name.str()});
  }
  return SyntaxAtom{it->second};
}

FailureOr<SyntaxAtom> TextParser::atom() {
  if (atLiteral())
    return literal();
  size_t offset = in_.at();
  StringRef name = in_.takeWord();
  if (name.empty())
    return expected("a variable or a literal");
  return variable(name, offset);
}

/// Results of a jit that nothing reads are all called `_`, in its body too. No
/// one reads them, so which is which does not matter as long as types agree.
FailureOr<SyntaxAtom> TextParser::deadOut(ArrayRef<SyntaxBinder> results,
                                          size_t out,
                                          SmallVectorImpl<uint32_t> &used) {
  size_t offset = in_.at();
  in_.takeWord();
  Scope &here = scope();
  if (here.underscores.empty())
    return fail(offset, diag::JaxprScope, {"_"});
  auto typeOf = [&](const SyntaxBinder &binder) {
    return in_.text().substr(binder.type.offset, binder.type.length);
  };
  uint32_t chosen = here.underscores.front();
  unsigned best = 0;
  for (uint32_t candidate : here.underscores) {
    bool sameType = out < results.size() &&
                    typeOf(here.binders[candidate]) == typeOf(results[out]);
    unsigned fit = 1 + 2 * sameType + !llvm::is_contained(used, candidate);
    if (fit > best) {
      best = fit;
      chosen = candidate;
    }
  }
  used.push_back(chosen);
  here.binders[chosen].state = SyntaxBinder::Read;
  return SyntaxAtom{chosen};
}

/// Does another operand of the same equation come next (spec 04, 5, rule 2)?
FailureOr<bool> TextParser::moreOperands(bool newLine) {
  char c = in_.peek();
  if (in_.atEnd() || c == ';' || c == '}')
    return false;
  StringRef word = in_.peekWord();
  if (word.empty()) {
    if (atLiteral())
      return true;
    return expected("an operand, ';' or 'in'");
  }
  char next = in_.peek(word.size());
  if (next == ':' && isLiteralWord(word))
    return !newLine || !startsEqn();
  if (next == ':' || next == '[' || next == '{' || atIn())
    return false;
  if (!newLine)
    return true;
  // A line that does not go on with variables is the next equation.
  bool known = word == "_" || scope().vars.contains(cx_.intern(word));
  return known && !startsEqn();
}

LogicalResult TextParser::operands(SyntaxEqn &eqn) {
  eqn.firstOperand = syntax_.operands.size();
  for (;;) {
    FailureOr<bool> more = moreOperands(in_.skipBlanks());
    if (failed(more))
      return llvm::failure();
    if (!*more)
      break;
    FailureOr<SyntaxAtom> operand = atom();
    if (failed(operand) || failed(count()))
      return llvm::failure();
    syntax_.operands.push_back(*operand);
  }
  eqn.numOperands = syntax_.operands.size() - eqn.firstOperand;
  return success();
}

/// Is it `x[...] <- v` or `x[...] += v`, and not a primitive with parameters?
bool TextParser::atRefWrite() {
  StringRef word = in_.peekWord();
  if (!scope().vars.contains(cx_.intern(word)))
    return false;
  std::optional<size_t> end = endOfValue(in_.text(), in_.at() + word.size());
  if (!end)
    return false;
  StringRef after = in_.text().substr(*end).ltrim(" \t");
  return after.starts_with("<-") || after.starts_with("+=");
}

/// `3`, `i`, `1:3`, `i:i+2`, `:n` inside the brackets behind a Ref. False: not
/// of a form we know.
FailureOr<bool> TextParser::refIndex(StringRef text, size_t offset,
                                     SyntaxIndex &index,
                                     SmallVectorImpl<SyntaxAtom> &operands) {
  auto number = [&](StringRef part, int64_t &value,
                    bool &isOperand) -> FailureOr<bool> {
    if (!part.getAsInteger(10, value))
      return true;
    if (!llvm::all_of(part,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; }) ||
        part.empty() || llvm::isDigit(part[0]))
      return false;
    FailureOr<SyntaxAtom> atom = variable(part, offset);
    if (failed(atom))
      return llvm::failure();
    isOperand = true;
    value = static_cast<int64_t>(operands.size());
    operands.push_back(*atom);
    return true;
  };
  size_t colon = text.find(':');
  if (colon == StringRef::npos) {
    FailureOr<bool> known = number(text, index.start, index.startIsOperand);
    index.kind =
        index.startIsOperand ? SyntaxIndex::Operand : SyntaxIndex::Number;
    return known;
  }
  index.kind = SyntaxIndex::Slice;
  StringRef start = text.take_front(colon), end = text.drop_front(colon + 1);
  if (!start.empty()) {
    FailureOr<bool> known = number(start, index.start, index.startIsOperand);
    if (failed(known) || !*known)
      return known;
  }
  index.toTheEnd = end.empty();
  if (end.empty())
    return !index.startIsOperand;
  bool relative =
      !start.empty() && end.consume_front(start) && end.consume_front("+");
  FailureOr<bool> known = number(end, index.size, index.sizeIsOperand);
  if (failed(known) || !*known || relative || index.sizeIsOperand)
    return known;
  return !index.startIsOperand &&
         !llvm::SubOverflow(index.size, index.start, index.size);
}

FailureOr<bool> TextParser::refIndices(SyntaxRef &ref,
                                       SmallVectorImpl<SyntaxAtom> &operands) {
  StringRef text = in_.text().substr(ref.text.offset, ref.text.length);
  if (!text.consume_front("[") || !text.consume_back("]") ||
      text.contains('[') || text.contains('{'))
    return false;
  size_t offset = ref.text.offset + 1;
  while (!text.empty()) {
    auto [part, rest] = text.split(',');
    FailureOr<bool> known =
        refIndex(part.trim(), offset, ref.indices.emplace_back(), operands);
    if (failed(known) || !*known)
      return known;
    offset += part.size() + 1;
    text = rest;
  }
  return true;
}

/// A Ref and what stands behind it: the Ref goes to the front of `operands`,
/// its indices to the end.
LogicalResult TextParser::refAtom(SyntaxEqn &eqn,
                                  SmallVectorImpl<SyntaxAtom> &operands) {
  in_.skipBlanks();
  size_t offset = in_.at();
  StringRef name = in_.takeWord();
  if (name.empty())
    return expected("a Ref");
  FailureOr<SyntaxAtom> atom = variable(name, offset);
  if (failed(atom))
    return llvm::failure();
  size_t begin = in_.at();
  std::optional<size_t> end = endOfValue(in_.text(), begin);
  if (!end || (in_.peek() != '[' && in_.peek() != '{'))
    return expected("'[...]' behind the Ref");
  if (in_.text()[*end - 1] == ',')
    --*end;
  in_.seek(*end);
  operands.push_back(*atom);
  eqn.ref = static_cast<int32_t>(syntax_.refs.size());
  SyntaxRef &ref = syntax_.refs.emplace_back();
  ref.text = {static_cast<uint32_t>(begin),
              static_cast<uint32_t>(*end - begin)};
  ref.whole = in_.since(begin) == "[...]";
  if (ref.whole)
    return success();
  SmallVector<SyntaxAtom, 4> indices;
  FailureOr<bool> known = refIndices(ref, indices);
  if (failed(known))
    return llvm::failure();
  ref.verbatim = !*known;
  if (*known)
    operands.append(indices.begin(), indices.end());
  return success();
}

/// `y:T <- x[i]`, at what follows the arrow.
LogicalResult TextParser::refRead(SyntaxEqn &eqn) {
  SmallVector<SyntaxAtom, 4> operands;
  if (failed(refAtom(eqn, operands)))
    return llvm::failure();
  return finishRef(eqn, "get", operands);
}

/// `y:T, x[i] <- x[i], v`, at what follows the first comma.
LogicalResult TextParser::refSwap(SyntaxEqn &eqn) {
  SmallVector<SyntaxAtom, 4> operands;
  if (failed(refAtom(eqn, operands)))
    return llvm::failure();
  StringRef first = in_.text().substr(syntax_.refs[eqn.ref].text.offset,
                                      syntax_.refs[eqn.ref].text.length);
  in_.skipBlanks();
  syntax_.markOffsets[eqn.order] = static_cast<uint32_t>(in_.at());
  if (!in_.accept("<-"))
    return expected("'<-'");
  in_.skipBlanks();
  in_.takeWord();
  size_t again = in_.at();
  if (!in_.accept(first))
    return fail(again, "expected the same indices as before '<-'");
  in_.skipBlanks();
  if (!in_.accept(","))
    return expected("',' and the new value");
  in_.skipBlanks();
  FailureOr<SyntaxAtom> stored = atom();
  if (failed(stored))
    return llvm::failure();
  operands.insert(operands.begin() + 1, *stored);
  return finishRef(eqn, "swap", operands);
}

/// `x[i] <- v`, whose result nothing reads, or `x[i] += v`.
LogicalResult TextParser::refWrite(SyntaxEqn &eqn) {
  SmallVector<SyntaxAtom, 4> operands;
  if (failed(refAtom(eqn, operands)))
    return llvm::failure();
  in_.skipBlanks();
  syntax_.markOffsets[eqn.order] = static_cast<uint32_t>(in_.at());
  bool add = in_.accept("+=");
  if (!add)
    in_.accept("<-");
  in_.skipBlanks();
  FailureOr<SyntaxAtom> stored = atom();
  if (failed(stored))
    return llvm::failure();
  operands.insert(operands.begin() + 1, *stored);
  if (!add) {
    // A dead result, of the stored value's type.
    SyntaxBinder dead;
    dead.state = SyntaxBinder::Silent;
    if (!stored->isLiteral())
      dead.type = scope().binders[stored->index()].type;
    scope().binders.push_back(dead);
    eqn.numResults = 1;
  }
  return finishRef(eqn, add ? "addupdate" : "swap", operands);
}

LogicalResult TextParser::finishRef(SyntaxEqn &eqn, StringRef name,
                                    ArrayRef<SyntaxAtom> operands) {
  if (failed(count(operands.size())))
    return llvm::failure();
  std::optional<uint16_t> index = program_.primitive(name, lookup_(name));
  if (!index)
    return fail(eqn.offset, diag::InputLimit,
                {"the number of different primitives", "65536"});
  eqn.primitive = *index;
  eqn.firstOperand = syntax_.operands.size();
  eqn.numOperands = operands.size();
  syntax_.operands.insert(syntax_.operands.end(), operands.begin(),
                          operands.end());
  uint32_t firstResult = scope().binders.size() - eqn.numResults;
  bool silent =
      eqn.numResults && scope().binders.back().state == SyntaxBinder::Silent;
  if (!silent && failed(bind(firstResult, eqn.numResults)))
    return llvm::failure();
  Params params;
  return finish(eqn, params, nullptr);
}
