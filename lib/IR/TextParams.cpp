// TextParams.cpp - parameters of equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EqnParams.h"
#include "TextDims.h"
#include "TextParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

ValueId TextParser::value(Value::Kind kind, int64_t integer) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  return program_.intern(value);
}

ValueId TextParser::textValue(Value::Kind kind, StringRef text,
                              int64_t integer) {
  Value value;
  value.kind = kind;
  value.text = cx_.intern(text);
  value.integer = integer;
  return program_.intern(value);
}

ValueId TextParser::tuple(ArrayRef<ValueId> elements) {
  Value value;
  value.kind = Value::Tuple;
  value.elements.assign(elements.begin(), elements.end());
  return program_.intern(value);
}

/// The field that prints under `key`.
static const ParamField *findPrinted(const ParamSchema *schema, StringRef key) {
  if (!schema)
    return nullptr;
  for (const ParamField &field : schema->fields)
    if ((field.printedAs.empty() ? field.key : field.printedAs) == key)
      return &field;
  return nullptr;
}

/// `[key=value ...]`.
LogicalResult TextParser::params(SyntaxEqn &eqn, const PrimitiveInfo *info,
                                 Params &params) {
  const ParamSchema *schema = info && !eqn.hiPrim ? &info->params : nullptr;
  StringRef calleeName;
  size_t open = in_.at();
  in_.accept("[");
  for (in_.skipBlanks(); in_.peek() != ']'; in_.skipBlanks()) {
    if (in_.atEnd())
      return fail(open, "'[' is not closed");
    size_t begin = in_.at();
    while (isWordChar(in_.peek()))
      in_.seek(in_.at() + 1);
    StringRef key = in_.since(begin);
    if (key.empty() || !in_.accept("=")) {
      in_.seek(begin);
      return expected("a parameter 'key=value' or ']'");
    }
    const ParamField *field = findPrinted(schema, key);
    in_.skipBlanks();
    size_t at = in_.at();
    FailureOr<ValueId> value = paramValue(eqn, schema, field, key, params);
    if (failed(value) || failed(count()))
      return llvm::failure();
    bool synthesized = schema && !schema->nameFrom.empty() && key == "name";
    if (synthesized && program_.value(*value).kind == Value::Str) {
      calleeName = cx_.str(program_.value(*value).text);
      continue;
    }
    StringId id = cx_.intern(field ? field->key : key);
    params.push_back({id, *value, static_cast<uint32_t>(at)});
    noteSpecs(eqn, key, *value);
  }
  in_.accept("]");
  if (calleeName.empty())
    return success();
  for (const SyntaxParam &param : params)
    if (const Value &v = program_.value(param.value);
        v.kind == Value::Jaxpr && cx_.str(param.key) == schema->nameFrom)
      syntax_.jaxprs[v.integer].debugName = cx_.intern(calleeName);
  return success();
}

/// `sharding=P(...)` in a program written by hand: the second pass, which knows
/// the mesh, makes it a sharding.
void TextParser::noteSpecs(SyntaxEqn &eqn, StringRef key, ValueId id) {
  if (!key.ends_with("sharding") && !key.ends_with("shardings"))
    return;
  const Value &v = program_.value(id);
  eqn.bareSpecs |=
      v.kind == Value::Spec ||
      (v.kind == Value::Tuple && llvm::any_of(v.elements, [&](ValueId element) {
         return program_.value(element).kind == Value::Spec;
       }));
}

/// Does `key=` or the closing bracket come next?
bool TextParser::atKeyOrEnd() const {
  TextCursor next(in_.text());
  next.seek(in_.at());
  next.skipBlanks();
  if (next.peek() == ']')
    return true;
  StringRef word = next.takeWord();
  return !word.empty() && next.peek() == '=' && next.peek(1) != '=';
}

/// Text that no brackets or quotes delimit: up to the next ` key=` that can
/// follow, or the closing bracket. Keys are printed in order. A string (`name`)
/// may hold anything; if a known key must follow, only that ends it.
FailureOr<StringRef> TextParser::bareText(const ParamSchema *schema,
                                          StringRef key, bool name,
                                          const Params &given) {
  StringRef text = in_.text();
  size_t begin = in_.at();
  auto isGiven = [&](StringRef other) {
    return llvm::any_of(given, [&](const SyntaxParam &param) {
      return cx_.str(param.key) == other;
    });
  };
  auto follows = [&](StringRef next) {
    if (next == key)
      return false;
    if (const ParamField *field = findPrinted(schema, next))
      return (schema->nameFirst || next > key) && !isGiven(field->key);
    return next > key && (!schema || !name);
  };
  bool mustFollow =
      name && schema &&
      llvm::any_of(schema->fields, [&](const ParamField &field) {
        return field.required && field.hide == Hide::Never &&
               (field.printedAs.empty() ? follows(field.key)
                                        : follows(field.printedAs));
      });
  SmallVector<char, 8> open;
  size_t end = begin;
  for (;; ++end) {
    if (end >= text.size())
      return fail(begin, "the value of '" + key.str() + "' does not end");
    char c = text[end];
    bool outside = open.empty() || mustFollow;
    if (outside && !mustFollow && c == ']')
      break;
    if (outside && llvm::isSpace(c)) {
      TextCursor next(text);
      next.seek(end + 1);
      StringRef word = next.takeWord();
      if (!word.empty() && next.peek() == '=' && follows(word))
        break;
      if (next.peek() == '#' && word.empty() && !name)
        break;
    }
    if (mustFollow)
      continue;
    if (c == '(' || c == '[' || c == '{')
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    else if (!open.empty() && c == open.back())
      open.pop_back();
  }
  StringRef bare = text.slice(begin, end);
  in_.seek(end);
  // A comment runs to the end of its line.
  size_t comment = bare.find(" #");
  if (comment != StringRef::npos && bare.drop_front(comment).contains('\n'))
    bare = bare.take_front(comment);
  return bare.trim();
}

static bool isJaxprKey(StringRef key) {
  return key == "jaxpr" || key.ends_with("_jaxpr");
}

FailureOr<ValueId> TextParser::paramValue(SyntaxEqn &eqn,
                                          const ParamSchema *schema,
                                          const ParamField *field,
                                          StringRef key, const Params &given) {
  ParamField::Reads reads = field ? field->reads : ParamField::Generic;
  bool synthesized = schema && !schema->nameFrom.empty() && key == "name";
  if (reads == ParamField::Name || synthesized) {
    FailureOr<StringRef> text = bareText(schema, key, /*name=*/true, given);
    if (failed(text))
      return llvm::failure();
    if (*text == "None")
      return value(Value::None);
    bool callable = field && !field->printedAs.empty();
    return textValue(callable ? Value::Callable : Value::Str, *text,
                     callable ? -1 : 0);
  }
  StringRef rest = in_.rest();
  bool lambda = rest.consume_front("{") && rest.ltrim().starts_with("lambda");
  bool lambdas = in_.rest().starts_with("(") &&
                 in_.rest().drop_front().ltrim().starts_with("{ lambda");
  if (lambda || reads == ParamField::Jaxpr ||
      (!field && isJaxprKey(key) && !in_.peekWord().empty()))
    return jaxprValue(eqn, schema, key, given);
  if (lambdas || (reads == ParamField::Jaxprs && in_.peek() == '('))
    return jaxprsValue(eqn);
  FailureOr<ValueId> read = genericValue(eqn, schema, key, given);
  if (failed(read) || reads != ParamField::DotDims)
    return read;
  // `(([1], [0]), ([], []))`: the lists are tuples in the program.
  Value pairs = program_.value(*read);
  for (ValueId &pair : pairs.elements) {
    Value lists = program_.value(pair);
    for (ValueId &list : lists.elements)
      if (program_.value(list).kind == Value::List)
        list = tuple(program_.value(list).elements);
    pair = program_.intern(lists);
  }
  return program_.intern(pairs);
}

FailureOr<ValueId> TextParser::jaxprValue(SyntaxEqn &eqn,
                                          const ParamSchema *schema,
                                          StringRef key, const Params &given) {
  size_t begin = in_.at();
  if (in_.peek() == '{') {
    JaxprId id = newJaxpr(begin);
    // Not a reference into the scope's own list, which stays as it is.
    ArrayRef<SyntaxBinder> results =
        ArrayRef(scope().binders).take_back(eqn.numResults);
    if (failed(jaxpr(id, results)))
      return llvm::failure();
    eqn.holdsJaxprs = true;
    return value(Value::Jaxpr, id.raw());
  }
  FailureOr<StringRef> name = bareText(schema, key, /*name=*/false, given);
  if (failed(name))
    return llvm::failure();
  if (*name == "None")
    return value(Value::None);
  if (name->empty())
    return expected("a jaxpr or the name of one");
  eqn.holdsJaxprs = true;
  return value(Value::Jaxpr, definitionId(*name, begin).raw());
}

/// Names of definitions, parted by blanks; one that has blanks itself stands on
/// a line of its own, or is known already.
LogicalResult TextParser::jaxprNames(StringRef text, size_t offset,
                                     SmallVectorImpl<ValueId> &jaxprs) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    size_t lineOffset = offset;
    offset += line.size() + 1;
    text = rest;
    for (line = line.trim(); !line.empty(); line = line.ltrim()) {
      // Few names have blanks, and none has many.
      constexpr unsigned MostBlanks = 8;
      StringRef name = line;
      size_t blank = 0;
      for (unsigned i = 0; i < MostBlanks && blank != StringRef::npos; ++i)
        blank = line.find(' ', blank + 1);
      name = name.take_front(blank);
      while (name.contains(' ') && !definitions_.back().ids.contains(name))
        name = name.rsplit(' ').first.rtrim();
      jaxprs.push_back(
          value(Value::Jaxpr, definitionId(name, lineOffset).raw()));
      line = line.drop_front(name.size());
      if (failed(count()))
        return llvm::failure();
    }
  }
  return success();
}

/// `( { lambda ...} name )`.
FailureOr<ValueId> TextParser::jaxprsValue(SyntaxEqn &eqn) {
  SmallVector<ValueId, 4> jaxprs;
  in_.accept("(");
  for (in_.skipBlanks(); in_.peek() != ')'; in_.skipBlanks()) {
    size_t begin = in_.at();
    if (in_.peek() == '{') {
      JaxprId id = newJaxpr(begin);
      if (failed(jaxpr(id, {})) || failed(count()))
        return llvm::failure();
      jaxprs.push_back(value(Value::Jaxpr, id.raw()));
      in_.accept(",");
      continue;
    }
    size_t end = in_.text().find_first_of("{)#", begin);
    if (end == StringRef::npos || end == begin)
      return expected("a jaxpr or the name of one");
    in_.seek(end);
    if (failed(jaxprNames(in_.since(begin), begin, jaxprs)))
      return llvm::failure();
  }
  in_.accept(")");
  eqn.holdsJaxprs = true;
  return tuple(jaxprs);
}

/// A value that its brackets delimit. Nothing: it is no such value.
FailureOr<std::optional<ValueId>> TextParser::simpleValue(StringRef key) {
  size_t begin = in_.at();
  std::optional<size_t> end = endOfValue(in_.text(), begin);
  if (!end || *end == begin)
    return std::optional<ValueId>();
  in_.seek(*end);
  bool delimited = atKeyOrEnd();
  StringRef text = in_.since(begin);
  if (!delimited) {
    in_.seek(begin);
    return std::optional<ValueId>();
  }
  if (key == "ft_in" || key == "ft_out")
    return std::optional(readFlatTree(program_, text));
  bool dtypes = key.contains("dtype") || key.ends_with("element_type");
  bool dims = holdsDims(key);
  std::string cacheKey = (dtypes ? "d" : dims ? "s" : "v") + text.str();
  if (auto it = simpleValues_.find(cacheKey); it != simpleValues_.end())
    return std::optional(it->second);
  size_t jaxprsBefore = syntax_.jaxprs.size();
  auto whole = [this](size_t &offset, unsigned depth) {
    return wholeProgram(offset, depth);
  };
  unsigned room = limits_.depth - std::min(limits_.depth, valueDepth_);
  TextValue::Result read =
      TextValue(program_, in_.text(), room, whole).read(begin, *end, dtypes);
  if (read.reported)
    return llvm::failure();
  if (!read.error.empty() && !read.value)
    return fail(read.errorOffset, read.error);
  if (syntax_.jaxprs.size() != jaxprsBefore)
    return read.value; // Its programs belong to this equation.
  if (dims && (!read.value || program_.value(*read.value).kind == Value::Str))
    if (std::optional<ValueId> sizes = readDims(program_, text, room))
      read.value = sizes;
  ValueId id = read.value ? *read.value : textValue(Value::OpaqueText, text);
  simpleValues_.try_emplace(cacheKey, id);
  return std::optional(id);
}

FailureOr<ValueId> TextParser::genericValue(SyntaxEqn &eqn,
                                            const ParamSchema *schema,
                                            StringRef key,
                                            const Params &given) {
  size_t begin = in_.at();
  size_t jaxprsBefore = syntax_.jaxprs.size();
  FailureOr<std::optional<ValueId>> simple = simpleValue(key);
  if (failed(simple))
    return llvm::failure();
  eqn.holdsJaxprs |= syntax_.jaxprs.size() != jaxprsBefore;
  if (*simple)
    return **simple;
  in_.seek(begin);
  FailureOr<StringRef> text = bareText(schema, key, /*name=*/false, given);
  if (failed(text))
    return llvm::failure();
  if (holdsDims(key))
    if (std::optional<ValueId> dims = readDims(program_, *text, limits_.depth))
      return *dims;
  return textValue(Value::OpaqueText, *text);
}

ValueId TextParser::defaultOf(const SyntaxEqn &eqn, const ParamField &field) {
  bool ofResults = field.key.starts_with("out_");
  unsigned each = ofResults ? eqn.numResults : eqn.numOperands;
  switch (field.hide) {
  case Hide::Always:
    return value(Value::Hidden);
  case Hide::IfEmpty:
    return field.key.ends_with("mesh")
               ? value(Value::Mesh, cx_.intern(Mesh()).raw())
               : tuple({});
  case Hide::IfFalse:
    if (!field.key.ends_with("invars"))
      return value(Value::Bool, 0);
    return tuple(SmallVector<ValueId, 8>(each, value(Value::Bool, 0)));
  case Hide::IfZero:
    return value(Value::Int, 0);
  case Hide::IfUnspecified: {
    bool layouts = field.key.ends_with("layouts");
    ValueId one = value(layouts ? Value::None : Value::Unspecified);
    return tuple(SmallVector<ValueId, 8>(each, one));
  }
  default:
    return value(Value::None);
  }
}

/// Parameters that print nothing have the value that prints nothing.
void TextParser::addDefaults(const SyntaxEqn &eqn, const ParamSchema &schema,
                             Params &params) {
  for (const ParamField &field : schema.fields) {
    if (field.hide == Hide::Never)
      continue;
    bool given = llvm::any_of(params, [&](const SyntaxParam &param) {
      return cx_.str(param.key) == field.key;
    });
    if (!given)
      params.push_back(
          {cx_.intern(field.key), defaultOf(eqn, field), eqn.offset});
  }
}
