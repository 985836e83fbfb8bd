// Rewriter.cpp - how an expression of the source has to change.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every edit is a few small replacements within lines, so that edits of nested
// expressions can be made together, and so that the lines of a file keep their
// numbers. What stands between two operands of an expression, its operator,
// parentheses and comments, is found in the source.
#include "Calls.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

/// The name of the function of `jnp.dot` or `dot`.
static StringRef lastPart(StringRef name) { return name.rsplit('.').second; }

/// Functions that take `out_sharding`, by module (spec 08, 2). Random numbers
/// and initializers are not here: no operand of theirs is sharded.
static bool takesOutSharding(StringRef name, StringRef jaxVersion) {
  StringRef full = name;
  if (full.consume_front("jax.numpy."))
    return llvm::is_contained({"dot", "matmul", "einsum", "tensordot",
                               "broadcast_to", "reshape", "ravel", "repeat",
                               "linalg.tensordot"},
                              full);
  if (full.consume_front("jax.ops."))
    return full.starts_with("segment_");
  if (!full.consume_front("jax.lax."))
    return false;
  if (full == "reduce_max" || full == "reduce_min")
    return !jaxVersion.starts_with("0.10.");
  return llvm::is_contained({"dot", "dot_general", "ragged_dot",
                             "ragged_dot_general", "conv_general_dilated",
                             "broadcast", "broadcast_in_dim", "reshape",
                             "reduce_sum"},
                            full);
}

static bool methodTakesOutSharding(StringRef name) {
  return llvm::is_contained({"reshape", "ravel", "flatten", "repeat"}, name);
}

/// `x.at[...].NAME`
static bool updateTakesOutSharding(StringRef name) {
  return llvm::is_contained({"get", "set", "add", "subtract", "mul", "multiply",
                             "divide", "power", "min", "max"},
                            name);
}

/// What this file calls something of JAX: `full`, its module or `jax`; else
/// `local`, and the import is noted.
std::string Rewriter::name(StringRef full, StringRef importLine,
                           StringRef local) {
  if (StringRef known = calls_.import(call_.file, full); !known.empty())
    return known.str();
  auto [module, last] = full.rsplit('.');
  for (StringRef rest = last; !module.empty();) {
    if (StringRef known = calls_.import(call_.file, module); !known.empty())
      return (known + "." + rest).str();
    size_t dot = module.rfind('.');
    if (dot == StringRef::npos)
      break;
    module = module.take_front(dot);
    rest = full.drop_front(dot + 1);
  }
  std::string line = importLine.str();
  if (!llvm::is_contained(imports_, line))
    imports_.push_back(line);
  return local.str();
}

std::string Rewriter::localCode(StringRef code) {
  std::string out;
  while (!code.empty()) {
    size_t at = code.find_first_of("jrP");
    bool starts =
        at == 0 ||
        (at != StringRef::npos && !llvm::isAlnum(code[at - 1]) &&
         code[at - 1] != '_' && code[at - 1] != '.' && code[at - 1] != '\'');
    if (at == StringRef::npos) {
      out += code;
      break;
    }
    out += code.take_front(at);
    code = code.drop_front(at);
    if (starts && code.consume_front("P(")) {
      StringRef known = calls_.import(call_.file, "jax.P");
      bool alone =
          calls_.import(call_.file, "jax.sharding.PartitionSpec").empty();
      if (!known.empty() && alone)
        out += known;
      else if (alone && !calls_.import(call_.file, "jax").empty())
        out += calls_.import(call_.file, "jax").str() + ".P";
      else
        out += name("jax.sharding.PartitionSpec",
                    "from jax.sharding import PartitionSpec as P", "P");
      out += "(";
    } else if (starts && code.consume_front("reshard(")) {
      StringRef known = calls_.import(call_.file, "jax.reshard");
      out += known.empty() ? name("jax.sharding.reshard",
                                  "from jax.sharding import reshard", "reshard")
                           : known.str();
      out += "(";
    } else if (starts && code.starts_with("jax.lax.")) {
      StringRef full = code.take_until([](char c) { return c == '('; });
      out += name(full, ("from jax.lax import " + lastPart(full)).str(),
                  lastPart(full));
      code = code.drop_front(full.size());
    } else {
      out += code.front();
      code = code.drop_front();
    }
  }
  return out;
}

//===--- Looking into the source ------------------------------------------===//

std::optional<std::string> Rewriter::source(const SourceSpan &span) const {
  std::string text;
  for (unsigned number = span.line; number <= span.endLine; ++number) {
    std::optional<StringRef> whole = line(number);
    if (!whole)
      return std::nullopt;
    size_t end = number == span.endLine ? span.endColumn : whole->size();
    size_t begin = number == span.line ? span.column : 0;
    if (end > whole->size() || begin > end)
      return std::nullopt;
    text += whole->slice(begin, end);
    if (number != span.endLine)
      text += '\n';
  }
  return text;
}

/// The first character that means something from the end of `a` on: no blank,
/// comment or closing parenthesis of its own.
std::optional<Rewriter::Token>
Rewriter::tokenBetween(const SourceSpan &a, unsigned endLine,
                       unsigned endColumn) const {
  for (unsigned number = a.endLine; number <= endLine; ++number) {
    std::optional<StringRef> whole = line(number);
    if (!whole)
      return std::nullopt;
    size_t end = number == endLine ? endColumn : whole->size();
    for (size_t at = number == a.endLine ? a.endColumn : 0;
         at < std::min(end, whole->size()); ++at) {
      char c = (*whole)[at];
      if (c == '#')
        break;
      if (c != ' ' && c != '\t' && c != ')' && c != '\\')
        return Token{number, static_cast<unsigned>(at), c};
    }
  }
  return std::nullopt;
}

//===--- The edits --------------------------------------------------------===//

/// `argument` becomes the last argument of the call.
bool Rewriter::addArgument(const std::string &argument) {
  const SourceSpan &span = call_.span;
  if (auto known = call_.keywords.find("out_sharding");
      known != call_.keywords.end()) {
    const SourceSpan &value = known->second;
    if (value.line != value.endLine)
      return false;
    replace(value.line, value.column, value.endColumn,
            StringRef(argument).split('=').second.str(), false);
    return true;
  }
  // The arguments of a method and of `x.at[i].f()` begin behind its object.
  size_t own = call_.kind == Call::Method ? 1 : call_.kind == Call::At ? 2 : 0;
  SourceSpan last;
  auto behind = [&](const SourceSpan &other) {
    if (std::pair(last.endLine, last.endColumn) <
        std::pair(other.endLine, other.endColumn))
      last = other;
  };
  for (const SourceSpan &arg : llvm::drop_begin(call_.args, own))
    behind(arg);
  for (const auto &[key, value] : call_.keywords)
    behind(value);
  std::optional<StringRef> closing = line(span.endLine);
  if (!closing || span.endColumn == 0 || closing->size() < span.endColumn ||
      (*closing)[span.endColumn - 1] != ')')
    return false;
  if (last.line == 0) {
    // `f(**options)` has arguments that the table does not name.
    if (span.endColumn < 2 || (*closing)[span.endColumn - 2] != '(')
      return false;
    insert(span.endLine, span.endColumn - 1, argument, true);
    return true;
  }
  // Behind the last character of the arguments, which is a comma or not.
  unsigned atLine = last.endLine, atColumn = last.endColumn;
  bool comma = false;
  for (unsigned number = last.endLine; number <= span.endLine; ++number) {
    StringRef whole = line(number).value_or("");
    size_t end = number == span.endLine ? span.endColumn - 1 : whole.size();
    for (size_t at = number == last.endLine ? last.endColumn : 0; at < end;
         ++at) {
      char c = whole[at];
      if (c == '#')
        break;
      if (c == ' ' || c == '\t')
        continue;
      if (c != ')' && c != ',')
        return false; // `**options` behind it, or a generator.
      comma = c == ',';
      atLine = number;
      atColumn = static_cast<unsigned>(at) + 1;
    }
  }
  insert(atLine, atColumn,
         !comma                   ? ", " + argument
         : atLine != span.endLine ? " " + argument + ","
                                  : " " + argument,
         true);
  return true;
}

/// `x += y` as `x = BEFORE x, y AFTER`; false: it cannot be written on one
/// line.
bool Rewriter::augmented(const Token &op, const std::string &before,
                         const std::string &after) {
  const SourceSpan &target = call_.args[0];
  std::optional<std::string> text = source(target);
  StringRef rest = line(op.line).value_or("").drop_front(op.column);
  size_t length = rest.find('=');
  if (!text || StringRef(*text).contains('\n') || length == StringRef::npos)
    return false;
  replace(op.line, op.column, op.column + static_cast<unsigned>(length) + 1,
          "= " + before + *text + after, false);
  return true;
}

/// `x @ w` as a call of matmul.
bool Rewriter::functionForOperator(const std::string &argument) {
  if (call_.name != "@" || call_.args.size() != 2)
    return false;
  const SourceSpan &span = call_.span, &right = call_.args[1];
  std::optional<Token> op =
      tokenBetween(call_.args[0], right.line, right.column);
  if (!op || op->c != '@')
    return false;
  std::string function =
      name("jax.numpy.matmul", "import jax.numpy as jnp", "jnp.matmul");
  StringRef whole = *line(op->line);
  if (whole.drop_front(op->column).starts_with("@=")) {
    if (!augmented(*op, function + "(", ","))
      return false;
    insert(span.endLine, span.endColumn, ", " + argument + ")", true);
    return true;
  }
  insert(span.line, span.column, function + "(", false);
  size_t begin = whole.take_front(op->column).rtrim(" \t").size();
  if (begin == 0)
    begin = op->column; // It begins its line.
  replace(op->line, static_cast<unsigned>(begin), op->column + 1, ",", false);
  insert(span.endLine, span.endColumn, ", " + argument + ")", true);
  return true;
}

/// `x[i]` as `x.at[i].get(...)`.
bool Rewriter::getForIndex(const std::string &argument) {
  if (call_.args.size() != 2)
    return false;
  const SourceSpan &span = call_.span, &index = call_.args[1];
  std::optional<Token> bracket =
      tokenBetween(call_.args[0], index.line, index.column);
  // Of `x[(i, j)]` the index begins behind the parenthesis.
  if (!bracket || bracket->c != '[')
    return false;
  insert(bracket->line, bracket->column, ".at", false);
  insert(span.endLine, span.endColumn, ".get(" + argument + ")", true);
  return true;
}

/// The call where there is no source.
std::string Rewriter::generic(StringRef argument) {
  std::string text = argument.str();
  switch (call_.kind) {
  case Call::Function:
    return call_.text + "(..., " + text + ")";
  case Call::Method:
    return "x." + call_.name + "(..., " + text + ")";
  case Call::At:
    return "x.at[...]." + call_.name + (call_.name == "get" ? "(" : "(..., ") +
           text + ")";
  case Call::Index:
    return "x.at[...].get(" + text + ")";
  default:
    return name("jax.numpy.matmul", "import jax.numpy as jnp", "jnp.matmul") +
           "(..., " + text + ")";
  }
}

std::optional<SourceEdit> Rewriter::withOutSharding(StringRef spec,
                                                    bool layer) {
  std::string argument = "out_sharding=" + localCode(spec);
  bool takes = call_.kind == Call::Index;
  if (layer)
    takes = call_.kind == Call::Function || call_.kind == Call::Method;
  else if (call_.kind == Call::Function)
    takes = takesOutSharding(call_.name, calls_.jaxVersion());
  else if (call_.kind == Call::Method)
    takes = methodTakesOutSharding(call_.name);
  else if (call_.kind == Call::At)
    takes = updateTakesOutSharding(call_.name);
  else if (call_.kind == Call::Operator)
    takes = call_.name == "@";
  if (!takes)
    return std::nullopt;
  bool known = source(call_.span).has_value();
  if (known)
    known = call_.kind == Call::Operator ? functionForOperator(argument)
            : call_.kind == Call::Index  ? getForIndex(argument)
                                         : addArgument(argument);
  if (known)
    return finish();
  SourceEdit edit;
  edit.text = generic(argument);
  return edit;
}

std::optional<SourceEdit> Rewriter::withOperand(unsigned argument, int item,
                                                StringRef code) {
  if (argument >= call_.args.size())
    return std::nullopt;
  SourceSpan span = call_.args[argument];
  if (item >= 0) {
    auto items = call_.items.find(argument);
    if (items == call_.items.end() ||
        static_cast<size_t>(item) >= items->second.size())
      return std::nullopt;
    span = items->second[item];
  }
  std::string local = localCode(code);
  std::optional<std::string> text = source(span);
  if (!text) {
    SourceEdit edit;
    edit.text = local;
    size_t at = edit.text.find("{0}");
    edit.text.replace(at, 3, "...");
    return edit;
  }
  auto [before, after] = StringRef(local).split("{0}");
  if (StringRef(*text).ltrim().starts_with("*"))
    return std::nullopt;
  std::optional<Token> op;
  if (call_.kind == Call::Operator && call_.args.size() == 2 && argument == 0)
    op = tokenBetween(span, call_.args[1].line, call_.args[1].column);
  StringRef rest =
      op ? line(op->line).value_or("").drop_front(op->column) : StringRef();
  StringRef sign =
      rest.take_while([](char c) { return !llvm::isAlnum(c) && c != ' '; });
  bool compares = call_.name == "<=" || call_.name == ">=" ||
                  call_.name == "==" || call_.name == "!=";
  if (op && sign.starts_with(call_.name + "=") && !compares) {
    // The target cannot be a call.
    const SourceSpan &value = call_.args[1];
    if (!augmented(*op, before.str(), after.str() + " " + call_.name))
      return std::nullopt;
    insert(value.line, value.column, "(", false);
    insert(value.endLine, value.endColumn, ")", true);
    return finish();
  }
  insert(span.line, span.column, before.str(), false);
  insert(span.endLine, span.endColumn, after.str(), true);
  for (SourceChange &change : changes_)
    change.owner = span;
  return finish();
}

std::optional<SourceEdit> Rewriter::finish() {
  SourceEdit edit;
  edit.file = call_.file;
  edit.span = call_.span;
  // A name that is used for something else cannot be imported.
  std::string whole = sources_->text(call_.file).value_or("").str();
  for (std::string &import : imports_) {
    bool isSpec = StringRef(import).ends_with("PartitionSpec as P");
    StringRef local = isSpec ? "P" : StringRef(import).rsplit(' ').second;
    if (!hasWord(whole, local))
      continue;
    if (!isSpec)
      return std::nullopt;
    import = "from jax.sharding import PartitionSpec";
    for (SourceChange &change : changes_)
      for (size_t at = change.text.find("P("); at != std::string::npos;
           at = change.text.find("P(", at + 14))
        change.text.replace(at, 1, "PartitionSpec");
  }
  if (!imports_.empty() && !calls_.importsEnd(call_.file))
    return std::nullopt;
  edit.imports = imports_;
  edit.changes = changes_;
  std::optional<std::string> text = sources_->text(call_.file)->str();
  ChangedFile after = changed(*text, changes_);
  const SourceSpan &span = edit.span;
  for (unsigned number = span.line; number <= span.endLine; ++number) {
    StringRef line = after.after[number - 1];
    if (number == span.endLine)
      line = line.drop_back(after.before[number - 1].size() - span.endColumn);
    if (number == span.line)
      line = line.drop_front(span.column);
    edit.text += (number == span.line ? "" : "\n") + line.rtrim('\r').str();
  }
  return edit;
}
