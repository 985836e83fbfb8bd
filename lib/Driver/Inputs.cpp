// Inputs.cpp - options and config files given meaning; inputs and outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardtype;

/// Parts `left=SPEC` at the last `=` that a spec follows; a spec alone has no
/// left part.
static std::pair<StringRef, StringRef> splitSpec(StringRef text) {
  for (StringRef start : {"=P(", "=PartitionSpec("})
    if (size_t at = text.find(start); at != StringRef::npos)
      return {text.take_front(at).trim(), text.drop_front(at + 1).trim()};
  if (text.starts_with("P(") || text.starts_with("PartitionSpec("))
    return {StringRef(), text};
  return text.split('=');
}

static bool parseSpecText(Context &context, StringRef text, PartitionSpec &spec,
                          std::string &error) {
  if (text.empty()) {
    error = "a spec is missing; write it as in Python: P('X', None)";
    return false;
  }
  TextResult<PartitionSpec> parsed = parseSpec(context, text);
  if (!parsed) {
    error = parsed.error.message + " in '" + text.str() + "'";
    return false;
  }
  spec = *parsed;
  return true;
}

bool shardtype::parseArgumentSpec(Context &context, StringRef text,
                                  ArgumentSpec &spec, std::string &error) {
  auto [left, right] = splitSpec(text.trim());
  spec.pattern = left.str();
  return parseSpecText(context, right, spec.spec, error);
}

bool shardtype::parseChoice(Context &context, StringRef text, Choice &choice,
                            std::string &error) {
  auto [left, right] = splitSpec(text.trim());
  auto [place, last] = left.rsplit(':');
  if (last.consume_front("in")) {
    if (last.getAsInteger(10, choice.operand)) {
      error = "'" + left.str() + "' should end in an operand such as ':in1'";
      return false;
    }
    left = place;
  }
  if (left.empty()) {
    error = "a place is missing; write FILE:LINE=P(...)";
    return false;
  }
  choice.place = left.str();
  return parseSpecText(context, right, choice.spec, error);
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

private:
  LogicalResult fail(const std::string &message) {
    err_ << "shardtype: " << message << '\n';
    return failure();
  }
  LogicalResult mesh(StringRef text, StringRef from);
  LogicalResult specs(const JsonValue &value, StringRef key,
                      std::vector<ArgumentSpec> &specs);
  LogicalResult addSpec(StringRef text, StringRef from, int &position,
                        std::vector<ArgumentSpec> &specs);
  LogicalResult constraints(StringRef text, StringRef from);
  LogicalResult entry(StringRef key, const JsonValue &value);
  LogicalResult strings(const JsonValue &value, StringRef key,
                        llvm::function_ref<void(const std::string &)> add);

  Context &context_;
  CheckOptions &check_;
  LevelOptions &levels_;
  raw_ostream &err_;
  std::string file_;
};
} // namespace

LogicalResult Resolver::mesh(StringRef text, StringRef from) {
  TextResult<MeshId> parsed = parseMesh(context_, text);
  if (!parsed)
    return fail(from.str() + " '" + text.str() + "': " + parsed.error.message +
                "; write it as X=4,Y=2 or X=4,Y=2:Auto");
  check_.mesh = *parsed;
  return success();
}

LogicalResult Resolver::addSpec(StringRef text, StringRef from, int &position,
                                std::vector<ArgumentSpec> &specs) {
  ArgumentSpec spec;
  std::string error;
  if (!parseArgumentSpec(context_, text, spec, error))
    return fail(from.str() + ": " + error);
  if (spec.pattern.empty())
    spec.position = position++;
  specs.push_back(std::move(spec));
  return success();
}

LogicalResult Resolver::constraints(StringRef text, StringRef from) {
  if (text != "assert" && text != "reshard")
    return fail(from.str() + " is 'assert' or 'reshard', not '" + text.str() +
                "'");
  check_.constraints =
      text == "reshard" ? Constraints::Reshard : Constraints::Assert;
  return success();
}

LogicalResult
Resolver::strings(const JsonValue &value, StringRef key,
                  llvm::function_ref<void(const std::string &)> add) {
  if (value.kind == JsonValue::String) {
    add(value.string);
    return success();
  }
  if (value.kind != JsonValue::List)
    return fail(file_ + ": '" + key.str() + "' is a list of strings");
  for (const JsonValue &item : value.list) {
    if (item.kind != JsonValue::String)
      return fail(file_ + ": '" + key.str() + "' is a list of strings");
    add(item.string);
  }
  return success();
}

LogicalResult Resolver::specs(const JsonValue &value, StringRef key,
                              std::vector<ArgumentSpec> &specs) {
  int position = 0;
  std::string from = file_ + ": '" + key.str() + "'";
  if (value.kind == JsonValue::List) {
    for (const JsonValue &item : value.list)
      if (item.kind != JsonValue::String ||
          failed(addSpec(item.string, from, position, specs)))
        return item.kind == JsonValue::String
                   ? failure()
                   : fail(from + " is a list of specs, each a string");
    return success();
  }
  if (value.kind != JsonValue::Object)
    return fail(from + " is an object of patterns and specs, or a list");
  for (const auto &[pattern, item] : value.object)
    if (item.kind != JsonValue::String ||
        failed(addSpec(pattern + "=" + item.string, from, position, specs)))
      return item.kind == JsonValue::String
                 ? failure()
                 : fail(from + ": the spec of '" + pattern +
                        "' is a string such as \"P('X', None)\"");
  return success();
}

LogicalResult Resolver::entry(StringRef key, const JsonValue &value) {
  std::string from = file_ + ": '" + key.str() + "'";
  bool isString = value.kind == JsonValue::String;
  if (key == "mesh")
    return isString ? mesh(value.string, from)
                    : fail(from + " is a string such as \"X=4,Y=2\"");
  if (key == "constraints")
    return constraints(isString ? value.string : "", from);
  if (key == "in")
    return specs(value, key, check_.in);
  if (key == "out")
    return specs(value, key, check_.out);
  if (key == "choose") {
    if (value.kind != JsonValue::Object)
      return fail(from + " is an object of places and specs");
    for (const auto &[where, item] : value.object) {
      Choice choice;
      std::string error;
      if (!parseChoice(context_, where + "=" + item.string, choice, error))
        return fail(from + ": " + error);
      check_.choices.push_back(std::move(choice));
    }
    return success();
  }
  auto change = [&](Level level) {
    return strings(value, key, [&](const std::string &code) {
      levels_.changes.push_back({code, level});
    });
  };
  if (key == "allow")
    return change(Level::Ignored);
  if (key == "warn")
    return change(Level::Warning);
  if (key == "deny")
    return change(Level::Error);
  if (key == "excuse")
    return strings(value, key, [&](const std::string &place) {
      levels_.excused.push_back(place);
    });
  return fail(file_ + ": unknown key '" + key.str() +
              "'; known are mesh, in, out, constraints, choose, allow, warn, "
              "deny, excuse");
}

LogicalResult Resolver::config(StringRef path) {
  file_ = path.str();
  DiagnosticList diags;
  auto buffer = readInput(path, diags);
  std::optional<JsonValue> value;
  if (buffer)
    value = readJsonValue(buffer->getBuffer(), diags);
  if (!value) {
    ReportOptions report;
    report.program = file_;
    printInputErrors(err_, diags, report);
    return failure();
  }
  if (value->kind != JsonValue::Object)
    return fail(file_ + ": a config file holds one object");
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
  for (const std::string &text : o.choose) {
    Choice choice;
    std::string error;
    if (!parseChoice(context_, text, choice, error))
      return fail("--choose: " + error);
    check_.choices.push_back(std::move(choice));
  }
  if (!o.constraints.empty() &&
      failed(constraints(o.constraints, "--constraints")))
    return failure();
  check_.jax = o.jax == "0.11" ? JaxVersion::V0_11 : JaxVersion::V0_12;
  check_.assumeDeclared = o.assumeDeclared;
  check_.maxDepth = o.maxDepth;
  levels_.changes.insert(levels_.changes.end(), o.levels.changes.begin(),
                         o.levels.changes.end());
  if (std::optional<std::string> bad = unknownCode(levels_))
    return fail(*bad);
  return success();
}

LogicalResult shardtype::resolveOptions(Context &context,
                                        const Options &options,
                                        CheckOptions &check,
                                        LevelOptions &levels,
                                        raw_ostream &err) {
  Resolver resolver(context, check, levels, err);
  if (!options.config.empty() && failed(resolver.config(options.config)))
    return failure();
  return resolver.options(options);
}

std::vector<InputText> shardtype::splitSections(StringRef name, StringRef bytes,
                                                bool split) {
  std::vector<InputText> sections;
  if (!split) {
    sections.push_back({name.str(), bytes.str()});
    return sections;
  }
  std::string current;
  unsigned line = 0;
  bool isFirst = true;
  while (!bytes.empty()) {
    auto [head, tail] = bytes.split('\n');
    bytes = tail;
    ++line;
    if (head.rtrim() != "# -----") {
      current += head;
      current += '\n';
      continue;
    }
    sections.push_back({name.str(), std::move(current)});
    current.assign(line, '\n');
    isFirst = false;
  }
  if (isFirst || !StringRef(current).trim().empty())
    sections.push_back({name.str(), std::move(current)});
  return sections;
}

LoadLimits shardtype::limitsOf(const Options &options) {
  LoadLimits limits;
  limits.text.depth = options.maxDepth;
  // A level of a value takes two of JSON: the object with its tag, the list.
  limits.json.depth =
      std::max(limits.json.depth,
               2 * std::min(options.maxDepth, JsonLimits::MostDepth / 2));
  limits.text.bytes = limits.json.bytes = options.maxBytes;
  return limits;
}

bool shardtype::useColor(const Options &options, raw_ostream &out) {
  if (options.color != "auto")
    return options.color == "always";
  return out.is_displayed() && out.has_colors();
}

LogicalResult shardtype::writeOutput(StringRef path, StringRef bytes,
                                     Streams streams) {
  if (path.empty() || path == "-") {
    streams.out << bytes;
    return success();
  }
  auto fail = [&](const std::string &why) {
    streams.err << "shardtype: cannot write '" << path << "': " << why << '\n';
    return failure();
  };
  // A device cannot be replaced by a file; everything else is written beside
  // its place first, so that nothing is left half written.
  bool isDevice =
      llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path);
  std::string target = isDevice ? path.str() : path.str() + ".tmp";
  std::error_code error;
  llvm::raw_fd_ostream os(target, error);
  if (error)
    return fail(error.message());
  os << bytes;
  os.close();
  if (os.has_error()) {
    error = os.error();
    os.clear_error();
    if (!isDevice)
      llvm::sys::fs::remove(target);
    return fail(error.message());
  }
  if (isDevice)
    return success();
  if ((error = llvm::sys::fs::rename(target, path))) {
    llvm::sys::fs::remove(target);
    return fail(error.message());
  }
  return success();
}
