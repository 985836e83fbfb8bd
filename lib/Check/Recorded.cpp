// Recorded.cpp - what a recording says beside its equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notes of `context.record` and of `entry` are kept as the file has them
// (export E14, E19, E31); what is of no form we know is passed over.
#include "Recorded.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace shardtype;
namespace json = llvm::json;

/// The list at a path of keys in kept JSON; empty if it is not there.
static json::Array listAt(StringRef text, ArrayRef<StringRef> keys) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return {};
  }
  const json::Object *object = value->getAsObject();
  for (StringRef key : keys.drop_back())
    object = object ? object->getObject(key) : nullptr;
  const json::Array *list = object ? object->getArray(keys.back()) : nullptr;
  return list ? *list : json::Array();
}

static StackId stackOf(const Program &program, const json::Object &note) {
  std::optional<int64_t> at = note.getInteger("src");
  ArrayRef<StackId> stacks = program.file.stacks;
  return at && *at >= 0 && static_cast<size_t>(*at) < stacks.size()
             ? stacks[*at]
             : StackId();
}

/// What is wrong with a spec that could not be built: found again where its
/// text can be read, else in JAX's words.
static void describe(Context &cx, MeshId mesh, const json::Object &note,
                     Diagnostic &d) {
  StringRef text = note.getString("spec").value_or("");
  TextResult<PartitionSpec> spec = parseSpec(cx, text);
  if (spec) {
    unsigned rank = spec->partitions.size();
    SpecResult<Sharding> result = resolve(cx, *spec, mesh, rank);
    if (!result) {
      auto [code, args] =
          describeSpecError(cx, result.error, *spec, mesh, rank, {});
      d.code = code;
      d.message = formatDiag(code, args);
      return;
    }
  }
  d.code = diag::SpecDuplicate;
  d.message =
      (text + ": " + note.getString("why").value_or("it cannot be built"))
          .str();
}

void shardtype::reportDropped(const Program &program, Meshes &meshes,
                              Findings &findings) {
  json::Array notes = listAt(program.contextExtra, {"record", "notes"});
  std::set<std::pair<uint32_t, std::string>> seen; // Again where it runs again.
  for (const auto &[i, value] : llvm::enumerate(notes)) {
    const json::Object *note = value.getAsObject();
    if (!note || note->getString("kind") != StringRef("dropped"))
      continue;
    Diagnostic d;
    describe(program.context(), meshes.now(), *note, d);
    d.level = info(d.code).level;
    d.stack = stackOf(program, *note);
    d.path = "context/record/notes/" + std::to_string(i);
    if (seen.insert({d.stack.raw(), d.message}).second)
      findings.add(std::move(d));
  }
}

/// Where the only region is that was recorded without the check; invalid: there
/// are several.
static StackId uncheckedRegion(const Program &program) {
  StackId stack;
  for (const Eqn &eqn : program.eqns) {
    if (!eqn.info.valid() || program.name(eqn) != "shard_map")
      continue;
    const EqnInfo &info = program.info(eqn.info);
    if (!info.derived.valid() ||
        !program.context().str(info.derived).contains("\"vma\""))
      continue;
    if (stack.valid() && stack != info.stack)
      return StackId();
    stack = info.stack;
  }
  return stack;
}

void shardtype::reportRefusedRegions(const Program &program,
                                     const DiagnosticList &diagnostics,
                                     Findings &findings) {
  if (llvm::any_of(diagnostics.all(), [](const Diagnostic &d) {
        return d.code == diag::OutputVaries;
      }))
    return;
  json::Array notes = listAt(program.contextExtra, {"record", "notes"});
  for (const auto &[i, value] : llvm::enumerate(notes)) {
    const json::Object *note = value.getAsObject();
    if (!note || note->getString("kind") != StringRef("vma"))
      continue;
    Diagnostic d;
    d.code = diag::RegionRefused;
    d.level = info(d.code).level;
    d.message = formatDiag(
        d.code, {note->getString("why").value_or("no reason is given").str()});
    d.stack = uncheckedRegion(program);
    d.path = "context/record/notes/" + std::to_string(i);
    findings.add(std::move(d));
  }
}

std::vector<DiagNote> shardtype::unmarkedDerivatives(const Program &program) {
  std::vector<DiagNote> notes;
  const Entry &entry = program.entry;
  if (!entry.extra.valid())
    return notes;
  for (const json::Value &value :
       listAt(program.context().str(entry.extra), {"unmarked"})) {
    const json::Object *note = value.getAsObject();
    if (!note)
      continue;
    DiagNote said;
    said.message = ("'" + note->getString("api").value_or("grad") +
                    "' is traced as JAX does it: " +
                    note->getString("why").value_or("no reason is given"))
                       .str();
    said.stack = stackOf(program, *note);
    bool known = llvm::any_of(notes, [&](const DiagNote &other) {
      return other.message == said.message && other.stack == said.stack;
    });
    if (!known)
      notes.push_back(std::move(said));
  }
  return notes;
}

std::vector<std::string> shardtype::knownCalls(const Program &program) {
  std::vector<std::string> known;
  std::string whole = program.extra;
  for (const json::Value &value : listAt(whole, {"apis"})) {
    const json::Object *api = value.getAsObject();
    StringRef name = api ? api->getString("name").value_or("") : "";
    bool method = api && api->getString("kind") == StringRef("method");
    if (method && name == "repeat")
      name = "jax.numpy.repeat";
    bool is =
        name == "jax.numpy.repeat" || (name == "jax.nn.one_hot" && !method);
    known.push_back(is ? name.str() : "");
  }
  return known;
}

StringRef shardtype::callOf(const Program &program, const EqnInfo &info,
                            ArrayRef<std::string> known) {
  if (known.empty() || !info.extra.valid())
    return "";
  llvm::Expected<json::Value> value =
      json::parse(program.context().str(info.extra));
  if (!value) {
    llvm::consumeError(value.takeError());
    return "";
  }
  const json::Object *object = value->getAsObject();
  std::optional<int64_t> at = object ? object->getInteger("api") : std::nullopt;
  if (!at || *at < 0 || static_cast<size_t>(*at) >= known.size())
    return "";
  return known[*at];
}
