// Recorded.cpp - what a recording says beside its equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notes of `context.record` and of `entry` are kept as the file has them
// (export E14, E19, E31); what is of no form we know is passed over.
#include "Recorded.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/JSON.h"
#include <map>
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

namespace {
/// A note of `context.record`.
struct Note {
  size_t index;
  json::Object object;
  StringRef kind() const { return object.getString("kind").value_or(""); }
  StringRef why() const { return object.getString("why").value_or(""); }
};
} // namespace

/// The notes of a recording, in their order.
static std::vector<Note> notesOf(const Program &program) {
  std::vector<Note> notes;
  json::Array list = listAt(program.contextExtra, {"record", "notes"});
  for (auto [i, value] : llvm::enumerate(list))
    if (json::Object *object = value.getAsObject())
      notes.push_back({i, std::move(*object)});
  return notes;
}

/// A finding of what a note says is where the note says.
static void placeAt(const Program &program, const Note &note, Diagnostic &d) {
  d.stack = stackOf(program, note.object);
  d.path = "context/record/notes/" + std::to_string(note.index);
}

/// What is wrong with a spec that could not be built: found again where its
/// text can be read, else in JAX's words.
static void describe(Context &cx, MeshId mesh, const Note &note,
                     Diagnostic &d) {
  StringRef text = note.object.getString("spec").value_or("");
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
  d.message = (text + ": " +
               note.object.getString("why").value_or("it cannot be built"))
                  .str();
}

void shardtype::reportDropped(const Program &program, Meshes &meshes,
                              Findings &findings) {
  std::set<std::pair<uint32_t, std::string>> seen; // Again where it runs again.
  for (const Note &note : notesOf(program)) {
    if (note.kind() != "dropped")
      continue;
    Diagnostic d;
    describe(program.context(), meshes.now(), note, d);
    d.level = info(d.code).level;
    placeAt(program, note, d);
    if (seen.insert({d.stack.raw(), d.message}).second)
      findings.add(std::move(d));
  }
}

/// What an equation says beside its parameters; nothing if it says nothing.
static std::optional<json::Object> derivedOf(const Program &program,
                                             const Eqn &eqn) {
  if (!eqn.info.valid() || !program.info(eqn.info).derived.valid())
    return std::nullopt;
  llvm::Expected<json::Value> value =
      json::parse(program.context().str(program.info(eqn.info).derived));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  return object ? std::optional(*object) : std::nullopt;
}

namespace {
/// The regions that were recorded without the check.
struct UncheckedRegions {
  std::vector<EqnId> all;
  std::map<int64_t, std::vector<EqnId>> byNote; // Which says why.
  explicit UncheckedRegions(const Program &program);
};
} // namespace

UncheckedRegions::UncheckedRegions(const Program &program) {
  for (uint32_t i = 0; i < program.eqns.size(); ++i) {
    if (program.name(program.eqns[i]) != "shard_map")
      continue;
    std::optional<json::Object> derived = derivedOf(program, program.eqns[i]);
    if (!derived || derived->getString("vma") != StringRef("off"))
      continue;
    all.push_back(EqnId(i));
    if (std::optional<int64_t> note = derived->getInteger("note"))
      byNote[*note].push_back(EqnId(i));
  }
}

/// Equations in and below a region.
static void addEquations(const Program &program, EqnId id,
                         llvm::DenseSet<EqnId> &all) {
  if (!all.insert(id).second)
    return;
  forEachBody(program, program.eqn(id), [&](const std::string &, JaxprId body) {
    const Jaxpr &jaxpr = program.jaxpr(body);
    for (uint32_t i = 0; i < jaxpr.numEqns; ++i)
      addEquations(program, jaxpr.eqn(i), all);
  });
}

/// Does a finding in one of the regions say what JAX says of them? Of results
/// that differ JAX says so, of all else it does not.
static bool isExplained(const Program &program, ArrayRef<EqnId> regions,
                        StringRef why, const DiagnosticList &diagnostics) {
  llvm::DenseSet<EqnId> inside;
  for (EqnId region : regions)
    addEquations(program, region, inside);
  bool aboutResults = why.contains("out_specs which require replication");
  return llvm::any_of(diagnostics.all(), [&](const Diagnostic &d) {
    return d.level == Level::Error && d.eqn.valid() && inside.contains(d.eqn) &&
           aboutResults == (d.code == diag::OutputVaries);
  });
}

/// JAX's words: the first line in the message, the others as notes.
static Diagnostic refusal(StringRef why) {
  Diagnostic d;
  d.code = diag::RegionRefused;
  d.level = info(d.code).level;
  SmallVector<StringRef, 8> lines;
  why.split(lines, '\n', -1, false);
  d.message = formatDiag(
      d.code, {lines.empty() ? "no reason is given" : lines.front().str()});
  for (StringRef line : ArrayRef(lines).drop_front(lines.empty() ? 0 : 1))
    d.notes.push_back({line.str(), StackId()});
  return d;
}

void shardtype::reportRefusedRegions(const Program &program,
                                     const DiagnosticList &diagnostics,
                                     Findings &findings) {
  std::optional<UncheckedRegions> unchecked;
  for (const Note &note : notesOf(program)) {
    if (note.kind() != "vma")
      continue;
    if (!unchecked)
      unchecked.emplace(program);
    auto named = unchecked->byNote.find(static_cast<int64_t>(note.index));
    // One that no region names is about some of them all.
    ArrayRef<EqnId> regions =
        named != unchecked->byNote.end() ? named->second : unchecked->all;
    if (isExplained(program, regions, note.why(), diagnostics))
      continue;
    Diagnostic d = refusal(note.why());
    placeAt(program, note, d);
    if (!d.stack.valid() && regions.size() == 1)
      d.stack = program.info(program.eqn(regions.front()).info).stack;
    findings.add(std::move(d));
  }
}

/// The kind of finding that says what a note of a passed check is about.
static std::optional<diag::Code> codeOfNote(StringRef kind) {
  if (kind == "carry")
    return diag::CarryMismatch;
  if (kind == "branch")
    return diag::BranchMismatch;
  if (kind == "result")
    return diag::OutputVaries;
  return std::nullopt;
}

void shardtype::reportPassedChecks(const Program &program,
                                   const DiagnosticList &diagnostics,
                                   Findings &findings) {
  const Context &cx = program.context();
  std::set<std::pair<uint32_t, std::string>> seen;
  for (const Note &note : notesOf(program)) {
    std::optional<diag::Code> code = codeOfNote(note.kind());
    if (!code)
      continue;
    Diagnostic d = refusal(note.why());
    placeAt(program, note, d);
    const Frame *own = ownFrame(program, d.stack);
    bool found = llvm::any_of(diagnostics.all(), [&](const Diagnostic &other) {
      const Frame *frame = ownFrame(program, other.stack);
      return other.code == *code && // Also where a choice has mended it.
             (!own || (frame && frame->line == own->line &&
                       cx.str(frame->file) == cx.str(own->file)));
    });
    if (!found && seen.insert({d.stack.raw(), note.why().str()}).second)
      findings.add(std::move(d));
  }
}

void shardtype::reportUnbound(const Program &program,
                              const DiagnosticList &diagnostics,
                              Findings &findings) {
  if (llvm::any_of(diagnostics.all(), [](const Diagnostic &d) {
        return d.code == diag::UnboundAxis && d.level == Level::Error;
      }))
    return;
  for (const Note &note : notesOf(program)) {
    if (note.kind() != "unbound")
      continue;
    Diagnostic d;
    d.code = diag::UnboundAxis;
    d.level = info(d.code).level;
    d.message = note.why().str();
    placeAt(program, note, d);
    findings.add(std::move(d));
  }
}

//===--- Regions without in_specs -----------------------------------------===//

namespace {
/// Looks at every equation as it was typed in the end.
class InSpecs {
public:
  /// `takesOpen`: what nothing decides counts as whole.
  InSpecs(CheckedProgram &out, bool takesOpen)
      : out_(out), program_(*out.program), cx_(program_.context()),
        takesOpen_(takesOpen) {}
  bool progress() const { return progress_; }
  void instance(InstanceId id);

private:
  void region(const Instance &instance, EqnId id, const json::Object &derived);
  std::string spec(const Instance &instance, EqnId id, unsigned operand,
                   const json::Object &derived);

  CheckedProgram &out_;
  const Program &program_;
  Context &cx_;
  bool takesOpen_, progress_ = false;
  llvm::DenseSet<InstanceId> seen_;
};
} // namespace

/// The spec that JAX sees of an operand: without the dims of vmap. Empty: it is
/// not known.
std::string InSpecs::spec(const Instance &instance, EqnId id, unsigned operand,
                          const json::Object &derived) {
  ArrayRef<Atom> operands = program_.operandsOf(id);
  if (operand >= operands.size())
    return "";
  Atom atom = operands[operand];
  TypeId type;
  if (atom.isLiteral()) {
    type = program_.literal(atom.literal()).type;
  } else {
    uint32_t at = atom.var().raw() - program_.jaxpr(instance.jaxpr).firstVar;
    type = instance.types[at];
    if (instance.isOpen(at) && !takesOpen_)
      return "";
  }
  if (!type.valid())
    return "";
  if (!cx_.type(type).isArray())
    return "P()";
  Sharding sharding = cx_.type(type).sharding;
  llvm::DenseSet<int64_t> added;
  if (const json::Array *vmaps = derived.getArray("vmap"))
    for (const json::Value &value : *vmaps)
      if (const json::Object *vmap = value.getAsObject())
        if (const json::Array *dims = vmap->getArray("in"))
          if (operand < dims->size())
            if (std::optional<int64_t> dim = (*dims)[operand].getAsInteger())
              added.insert(*dim);
  SmallVector<AxisList, 4> kept;
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    if (!added.contains(static_cast<int64_t>(dim)))
      kept.push_back(axes);
  sharding.dims.assign(kept.begin(), kept.end());
  return str(cx_, toSpec(cx_, sharding));
}

void InSpecs::region(const Instance &instance, EqnId id,
                     const json::Object &derived) {
  const json::Object *infer = derived.getObject("infer");
  std::optional<int64_t> number = infer ? infer->getInteger("n") : std::nullopt;
  const json::Array *operands = infer ? infer->getArray("operands") : nullptr;
  if (!number || !operands)
    return;
  std::vector<std::string> specs;
  bool known = true;
  for (const json::Value &operand : *operands) {
    specs.push_back(
        spec(instance, id,
             static_cast<unsigned>(operand.getAsInteger().value_or(UINT32_MAX)),
             derived));
    known &= !specs.back().empty();
  }
  progress_ |= known && !infer->getBoolean("given").value_or(false);
  auto [it, isNew] = out_.inSpecs.try_emplace(*number, specs);
  if (!known || (!isNew && it->second != specs))
    it->second.clear();
}

void InSpecs::instance(InstanceId id) {
  if (!seen_.insert(id).second)
    return;
  const Instance &instance = out_.instances[id.index()];
  const Jaxpr &jaxpr = program_.jaxpr(instance.jaxpr);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program_.eqn(jaxpr.eqn(i));
    if (program_.name(eqn) == "shard_map")
      if (std::optional<json::Object> derived = derivedOf(program_, eqn))
        region(instance, jaxpr.eqn(i), *derived);
    forEachBody(program_, eqn, [&](const std::string &, JaxprId body) {
      if (InstanceId held = out_.body(id, jaxpr.eqn(i), body); held.valid())
        this->instance(held);
    });
  }
}

/// Is there a region without in_specs at all?
static bool hasInferred(const Program &program) {
  return llvm::any_of(program.eqns, [&](const Eqn &eqn) {
    return program.name(eqn) == "shard_map" && eqn.info.valid() &&
           program.info(eqn.info).derived.valid() &&
           program.context()
               .str(program.info(eqn.info).derived)
               .contains("\"infer\"");
  });
}

void shardtype::collectInSpecs(CheckedProgram &out) {
  if (!out.entryInstance.valid() || !hasInferred(*out.program))
    return;
  InSpecs found(out, false);
  found.instance(out.entryInstance);
  bool waits = llvm::any_of(out.diagnostics.all(), [&](const Diagnostic &d) {
    if (d.code != diag::RegionUnchecked || !d.eqn.valid())
      return d.level == Level::Error; // What is open may be so for an error.
    std::optional<json::Object> derived =
        derivedOf(*out.program, out.program->eqn(d.eqn));
    const json::Object *infer = derived ? derived->getObject("infer") : nullptr;
    return infer && infer->getBoolean("given").value_or(false);
  });
  if (found.progress() || waits)
    return;
  // No other region decides what is open still, so it is whole.
  out.inSpecs.clear();
  InSpecs(out, true).instance(out.entryInstance);
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
