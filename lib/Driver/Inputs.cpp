// Inputs.cpp - options and config files given meaning.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LogicalAxes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace shardtype;

/// Does a spec start here: `P(`, `PartitionSpec(`, `jax.P(`?
static bool startsSpec(StringRef text) {
  text = text.ltrim();
  StringRef head = text.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  size_t dot = head.rfind('.');
  StringRef last = dot == StringRef::npos ? head : head.drop_front(dot + 1);
  return (last == "P" || last == "PartitionSpec") &&
         text.drop_front(head.size()).starts_with("(");
}

namespace {
/// `left=SPEC`, parted at the first `=` that a spec follows; a spec alone has
/// no `=`.
struct SplitSpec {
  StringRef left, right;
  bool hasEquals = false;
};
} // namespace

static SplitSpec splitSpec(StringRef text) {
  if (startsSpec(text))
    return {StringRef(), text};
  size_t first = text.find('=');
  for (size_t at = first; at != StringRef::npos; at = text.find('=', at + 1))
    if (startsSpec(text.drop_front(at + 1)))
      return {text.take_front(at), text.drop_front(at + 1), true};
  if (first == StringRef::npos)
    return {text, text.take_back(0)};
  return {text.take_front(first), text.drop_front(first + 1), true};
}

/// Reads the spec that is a part of `whole`.
static bool parseSpecText(Context &context, StringRef text, StringRef whole,
                          PartitionSpec &spec, TextError &error) {
  size_t start = text.data() - whole.data();
  if (text.trim().empty()) {
    error = {"a spec such as P('X', None) is missing", start + text.size()};
    return false;
  }
  TextResult<PartitionSpec> parsed = parseSpec(context, text);
  if (!parsed) {
    error = {parsed.error.message, start + parsed.error.offset};
    return false;
  }
  spec = *parsed;
  return true;
}

bool shardtype::parseArgumentSpec(Context &context, StringRef text,
                                  ArgumentSpec &spec, TextError &error) {
  SplitSpec split = splitSpec(text);
  spec.pattern = split.left.trim().str();
  if (split.hasEquals && spec.pattern.empty()) {
    error = {"a name is missing before '='", 0};
    return false;
  }
  return parseSpecText(context, split.right, text, spec.spec, error);
}

/// `PLACE={V:i}`: a state over Manual axes, which needs a mesh to be read.
static SplitSpec splitState(StringRef text) {
  size_t at = text.rfind("={");
  if (at == StringRef::npos || !text.rtrim().ends_with("}"))
    return {};
  return {text.take_front(at), text.drop_front(at + 1).trim(), true};
}

bool shardtype::parseChoice(Context &context, StringRef text, Choice &choice,
                            TextError &error) {
  SplitSpec split = splitState(text);
  choice.state = split.right.str();
  if (!split.hasEquals)
    split = splitSpec(text);
  StringRef left = split.left.trim();
  auto [place, last] = left.rsplit(':');
  if (last.consume_front("in")) {
    unsigned operand = 0;
    if (last.getAsInteger(10, operand) || operand > INT32_MAX) {
      error = {"'" + left.str() + "' should end in an operand such as ':in1'",
               static_cast<size_t>(last.data() - text.data())};
      return false;
    }
    choice.operand = static_cast<int>(operand);
    left = place;
  }
  if (left.empty()) {
    error = {"a place is missing before the spec", 0};
    return false;
  }
  choice.place = left.str();
  if (!choice.state.empty())
    return true;
  return parseSpecText(context, split.right, text, choice.spec, error);
}

TextResult<MeshId> shardtype::parseAskedMesh(Context &context, StringRef text) {
  TextResult<MeshId> mesh = parseMesh(context, text);
  if (!mesh)
    return mesh;
  for (const MeshAxis &axis : context.mesh(*mesh).axes)
    if (axis.type == AxisType::Manual)
      return {std::nullopt,
              {"axis '" + context.str(axis.name).str() +
                   "' cannot be Manual from outside: only shard_map makes an "
                   "axis Manual, for the program in it",
               text.find_insensitive("Manual")}};
  return mesh;
}

namespace {
/// Fills options from a config file and then from the command line.
class Resolver {
public:
  Resolver(Context &context, CheckOptions &check, LevelOptions &levels,
           raw_ostream &err)
      : context_(context), check_(check), levels_(levels), err_(err) {}

  LogicalResult config(StringRef path);
  LogicalResult options(const Options &options);
  /// Puts mesh axes in place of logical names, in all specs.
  void logical();

private:
  LogicalResult fail(StringRef from, const std::string &message) {
    err_ << "shardtype: " << from << ": " << message << '\n';
    return failure();
  }
  LogicalResult fail(StringRef from, const TextError &error, StringRef text,
                     StringRef hint = "") {
    printUsageError(err_, from, error, text, hint);
    return failure();
  }
  LogicalResult mesh(StringRef text, StringRef from);
  LogicalResult specs(const JsonValue &value, const std::string &from,
                      std::vector<ArgumentSpec> &specs);
  LogicalResult addSpec(StringRef text, StringRef from, int &position,
                        std::vector<ArgumentSpec> &specs);
  LogicalResult addChoice(StringRef text, StringRef from, bool fromConfig);
  LogicalResult choices(const JsonValue &value, const std::string &from);
  LogicalResult constraints(StringRef text, StringRef from);
  void addChange(LevelOptions::Change change);
  LogicalResult entry(StringRef key, const JsonValue &value);
  LogicalResult strings(const JsonValue &value, const std::string &from,
                        llvm::function_ref<LogicalResult(const std::string &,
                                                         const std::string &)>
                            add);

  Context &context_;
  CheckOptions &check_;
  LevelOptions &levels_;
  raw_ostream &err_;
  std::string file_;
  LogicalAxes logical_;
  size_t configChoices_ = 0; // Those in front come from the config file.
};
} // namespace

LogicalResult Resolver::mesh(StringRef text, StringRef from) {
  TextResult<MeshId> parsed = parseAskedMesh(context_, text);
  if (!parsed)
    return fail(from, parsed.error, text,
                "write it as X=4,Y=2 or X=4,Y=2:Auto");
  check_.mesh = *parsed;
  return success();
}

LogicalResult Resolver::addSpec(StringRef text, StringRef from, int &position,
                                std::vector<ArgumentSpec> &specs) {
  ArgumentSpec spec;
  TextError error;
  if (!parseArgumentSpec(context_, text, spec, error))
    return fail(from, error, text,
                "write it as P('X', None) or NAME=P('X', None)");
  if (spec.pattern.empty())
    spec.position = position++;
  spec.origin = from.str();
  specs.push_back(std::move(spec));
  return success();
}

LogicalResult Resolver::addChoice(StringRef text, StringRef from,
                                  bool fromConfig) {
  Choice choice;
  TextError error;
  if (!parseChoice(context_, text, choice, error))
    return fail(from, error, text,
                "write it as model.py:41=P('X', None), or "
                "model.py:41:in1=P('X', None) for an operand");
  choice.origin = from.str();
  auto same = llvm::find_if(check_.choices, [&](const Choice &other) {
    return other.place == choice.place && other.operand == choice.operand;
  });
  if (same == check_.choices.end()) {
    check_.choices.push_back(std::move(choice));
    configChoices_ += fromConfig;
    return success();
  }
  // The command line stands over the file, but not over itself.
  bool isOfFile = same < check_.choices.begin() + configChoices_;
  if (fromConfig || !isOfFile)
    return fail(from, "the place '" + choice.place + "' is chosen for twice");
  *same = std::move(choice);
  return success();
}

LogicalResult Resolver::constraints(StringRef text, StringRef from) {
  if (text != "assert" && text != "reshard")
    return fail(from, "takes assert or reshard, not '" + text.str() + "'");
  check_.constraints =
      text == "reshard" ? Constraints::Reshard : Constraints::Assert;
  return success();
}

/// What is denied is a kind of finding, or a kind of collective.
void Resolver::addChange(LevelOptions::Change change) {
  std::optional<CommStep::Kind> kind = findCollective(change.code);
  if (!kind || change.level != Level::Error)
    return levels_.changes.push_back(std::move(change));
  // An option does not name the kind, a place in a config file does.
  bool isOption = StringRef(change.origin).starts_with("--");
  levels_.denied.push_back(
      {*kind, isOption ? change.origin + " " + change.code : change.origin});
}

LogicalResult Resolver::strings(
    const JsonValue &value, const std::string &from,
    llvm::function_ref<LogicalResult(const std::string &, const std::string &)>
        add) {
  if (value.kind == JsonValue::String)
    return add(value.string, from);
  if (value.kind != JsonValue::List)
    return fail(from, "is a list of strings");
  for (auto [i, item] : llvm::enumerate(value.list)) {
    std::string at = from + "/" + std::to_string(i);
    if (item.kind != JsonValue::String)
      return fail(at, "is a string");
    if (failed(add(item.string, at)))
      return failure();
  }
  return success();
}

LogicalResult Resolver::specs(const JsonValue &value, const std::string &from,
                              std::vector<ArgumentSpec> &specs) {
  int position = 0;
  if (value.kind == JsonValue::List)
    return strings(value, from,
                   [&](const std::string &text, const std::string &at) {
                     return addSpec(text, at, position, specs);
                   });
  if (value.kind != JsonValue::Object)
    return fail(from, "is an object of patterns and specs, or a list of specs");
  for (const auto &[pattern, item] : value.object) {
    std::string at = from + pointerPart(pattern);
    if (item.kind != JsonValue::String)
      return fail(at, "is a string such as \"P('X', None)\"");
    if (failed(addSpec(pattern + "=" + item.string, at, position, specs)))
      return failure();
  }
  return success();
}

LogicalResult Resolver::choices(const JsonValue &value,
                                const std::string &from) {
  if (value.kind != JsonValue::Object)
    return fail(from, "is an object of places and specs");
  for (const auto &[where, item] : value.object) {
    std::string at = from + pointerPart(where);
    if (item.kind != JsonValue::String)
      return fail(at, "is a string such as \"P('X', None)\"");
    if (failed(addChoice(where + "=" + item.string, at, true)))
      return failure();
  }
  return success();
}

LogicalResult Resolver::entry(StringRef key, const JsonValue &value) {
  std::string from = file_ + ": " + pointerPart(key);
  bool isString = value.kind == JsonValue::String;
  if (key == "mesh")
    return isString ? mesh(value.string, from)
                    : fail(from, "is a string such as \"X=4,Y=2\"");
  if (key == "constraints")
    return isString ? constraints(value.string, from)
                    : fail(from, "is \"assert\" or \"reshard\"");
  if (key == "in")
    return specs(value, from, check_.in);
  if (key == "out")
    return specs(value, from, check_.out);
  if (key == "choose")
    return choices(value, from);
  if (key == "logical") {
    std::string at, error;
    if (logical_.read(context_, value, at, error))
      return success();
    return fail(from + at, error);
  }
  auto change = [&](Level level) {
    return strings(value, from,
                   [&](const std::string &code, const std::string &at) {
                     addChange({code, level, at});
                     return success();
                   });
  };
  if (key == "allow")
    return change(Level::Ignored);
  if (key == "warn")
    return change(Level::Warning);
  if (key == "deny")
    return change(Level::Error);
  if (key == "excuse")
    return strings(
        value, from, [&](const std::string &place, const std::string &at) {
          unsigned line = 0;
          auto [file, number] = StringRef(place).rsplit(':');
          if (file.empty() || number.getAsInteger(10, line))
            return fail(at, "'" + place + "' is no place; write FILE:LINE");
          levels_.excused.push_back(place);
          return success();
        });
  static const std::vector<std::string> Known = {
      "mesh",  "in",   "out",  "constraints", "choose",
      "allow", "warn", "deny", "excuse",      "logical"};
  return fail(file_, "unknown key " + wordWithNearest(key, Known) +
                         "; known are " + listed(Known, "and"));
}

LogicalResult Resolver::config(StringRef path) {
  file_ = path == "-" ? "<stdin>" : path.str();
  std::optional<JsonValue> value = readJsonFile(path, file_, err_);
  if (!value)
    return failure();
  if (value->kind != JsonValue::Object)
    return fail(file_, "a config file holds one object");
  for (const auto &[key, item] : value->object)
    if (failed(entry(key, item)))
      return failure();
  return success();
}

LogicalResult Resolver::options(const Options &o) {
  if (!o.mesh.empty() && failed(mesh(o.mesh, "--mesh")))
    return failure();
  int position = 0, outPosition = 0;
  for (const std::string &text : o.in)
    if (failed(addSpec(text, "--in", position, check_.in)))
      return failure();
  for (const std::string &text : o.out)
    if (failed(addSpec(text, "--out", outPosition, check_.out)))
      return failure();
  for (const std::string &text : o.choose)
    if (failed(addChoice(text, "--choose", false)))
      return failure();
  if (!o.constraints.empty() &&
      failed(constraints(o.constraints, "--constraints")))
    return failure();
  if (!llvm::sys::fs::is_directory(o.sourceRoot))
    return fail("--source-root", "'" + o.sourceRoot + "' is no folder");
  check_.jax = o.jax == "0.11" ? JaxVersion::V0_11 : JaxVersion::V0_12;
  check_.assumeDeclared = o.assumeDeclared;
  check_.assumeVma = o.assumeVma;
  check_.ignoreUnitAxes = o.ignoreUnitAxes;
  check_.maxDepth = o.maxDepth;
  for (const LevelOptions::Change &change : o.levels.changes)
    addChange(change);
  if (std::optional<std::string> bad = unknownCode(levels_)) {
    err_ << "shardtype: " << *bad << '\n';
    return failure();
  }
  return success();
}

void Resolver::logical() {
  if (logical_.empty())
    return;
  for (std::vector<ArgumentSpec> *specs : {&check_.in, &check_.out})
    for (ArgumentSpec &spec : *specs) {
      spec.written = str(context_, spec.spec);
      spec.spec = logical_.apply(context_, spec.spec, spec.conflicts);
    }
  // A choice is what somebody wrote for one place, with the report before them.
  for (Choice &choice : check_.choices) {
    std::vector<std::string> conflicts;
    choice.spec = logical_.apply(context_, choice.spec, conflicts);
    for (const std::string &conflict : conflicts)
      err_ << "shardtype: " << choice.origin << ": " << conflict << '\n';
  }
}

LogicalResult shardtype::resolveOptions(Context &context,
                                        const Options &options,
                                        CheckOptions &check,
                                        LevelOptions &levels,
                                        raw_ostream &err) {
  Resolver resolver(context, check, levels, err);
  if (!options.config.empty() && failed(resolver.config(options.config)))
    return failure();
  if (failed(resolver.options(options)))
    return failure();
  resolver.logical();
  return success();
}
