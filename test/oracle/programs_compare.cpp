// programs_compare.cpp - whole programs under meshes and specs, against JAX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each line of verdicts/programs.jsonl.z says what a native trace of a function
// gave under a mesh, with arguments of some specs: its result types, or the
// error and the line of Python. programs/NAME.json is the same function traced
// without a mesh. It is re-typed here, and must end the same: result types by
// shape and sharding; of a refusal JAX's class and id, at that line. JAX stops
// at its first error, ours may be among several.
//
// `--family annotated` and `--family steps` do the same with recordings of
// annotated functions and training steps (annotated/FAMILY.jsonl.z). Of a
// function with several independent errors the verdict names all; it is counted
// how many of them one run finds.
#include "Expectations.h"
#include "MatrixFile.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Primitives/All.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

/// An error of JAX at a line of Python.
struct Place {
  std::string error, file;
  unsigned line = 0;
};

/// One line of the file.
struct Verdict {
  std::string program, mesh;
  std::vector<std::string> in, results;
  std::string error, file; // `STE dot.ambiguous`; empty: accepted.
  unsigned line = 0;
  std::vector<Place> all; // Of several independent errors, each.

  std::string text() const {
    std::string specs;
    for (const std::string &spec : in)
      specs += (specs.empty() ? "" : ", ") + spec;
    return program + " " + specs + " on " + mesh + " -> " + outcome();
  }
  std::string outcome() const {
    std::string types;
    for (const std::string &type : results)
      types += (types.empty() ? "" : ", ") + type;
    return error.empty() ? types : "!" + error;
  }
};

struct Counts {
  unsigned cases = 0, accepted = 0, agree = 0, deliberate = 0, differ = 0;
  unsigned elsewhere = 0;             // Refused as by JAX, at another line.
  unsigned several = 0, complete = 0; // Several errors; all found in one run.
  unsigned sameVerdict = 0, sameTypes = 0;
};

/// How listed differences differ.
struct Listed {
  unsigned accepted = 0; // By us, refused by JAX.
  unsigned refused = 0;  // By us, accepted by JAX.
  unsigned types = 0;    // Accepted by both.
  unsigned errors = 0;   // Refused by both.
};

class Comparison {
public:
  Comparison(std::string folder, std::string family,
             std::vector<std::string> only)
      : folder_(std::move(folder)), family_(std::move(family)),
        only_(std::move(only)), rows_(allPrimitives()) {}
  bool run();
  bool agreesWithDocument(const Counts &all);

private:
  bool read(StringRef line, Verdict &verdict);
  bool readRecordings();
  const Program *program(const std::string &name);
  void one(const Verdict &verdict);
  /// Ours, as the file writes it.
  struct Ours {
    std::string text;
    bool atLine = false; // JAX's line is among ours.
    unsigned found = 0;  // How many of several errors.
  };
  Ours judge(const Program &program, const Verdict &verdict);

  std::string folder_, family_;
  std::map<std::string, std::string> recordings_; // Name to JSON.
  std::vector<std::string> only_;
  PrimitiveSet rows_;
  Context cx_;
  Expectations expectations_;
  std::map<std::string, std::optional<Program>> programs_;
  std::map<std::string, Counts> counts_;
  Listed listed_;
  unsigned printed_ = 0;
};

} // namespace

static bool bad(const llvm::Twine &message) {
  llvm::errs() << "programs_compare: " << message << '\n';
  return false;
}

bool Comparison::read(StringRef line, Verdict &verdict) {
  llvm::Expected<json::Value> value = json::parse(line);
  if (!value)
    return bad(llvm::toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  const json::Array *in = object ? object->getArray("in") : nullptr;
  const json::Value *outcome = object ? object->get("verdict") : nullptr;
  if (!in || !outcome)
    return bad("not a verdict: " + line);
  verdict.program = object->getString("program").value_or("").str();
  verdict.mesh = object->getString("mesh").value_or("").str();
  for (const json::Value &spec : *in)
    verdict.in.push_back(spec.getAsString().value_or("").str());
  if (std::optional<StringRef> error = outcome->getAsString())
    verdict.error = error->drop_front().str();
  else if (const json::Array *types = outcome->getAsArray())
    for (const json::Value &type : *types)
      verdict.results.push_back(type.getAsString().value_or("").str());
  verdict.file = object->getString("file").value_or("").str();
  verdict.line = object->getInteger("line").value_or(0);
  if (const json::Array *all = object->getArray("all"))
    for (const json::Value &item : *all)
      if (const json::Array *place = item.getAsArray();
          place && place->size() == 3)
        verdict.all.push_back(
            {(*place)[0].getAsString().value_or("").str(),
             (*place)[1].getAsString().value_or("").str(),
             static_cast<unsigned>((*place)[2].getAsInteger().value_or(0))});
  return true;
}

/// Lines `{"program": NAME, "json": TEXT}`.
bool Comparison::readRecordings() {
  if (family_ == "programs")
    return true;
  std::string error, path = folder_ + "/annotated/" + family_ + ".jsonl.z";
  std::optional<std::string> text = readText(path, error);
  if (!text)
    return bad(path + " " + error);
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    llvm::Expected<json::Value> value = json::parse(line);
    const json::Object *object = value ? value->getAsObject() : nullptr;
    if (!object)
      return bad("not a recording: " + line.take_front(80));
    recordings_[object->getString("program").value_or("").str()] =
        object->getString("json").value_or("").str();
  }
  return true;
}

const Program *Comparison::program(const std::string &name) {
  auto [it, isNew] = programs_.try_emplace(name);
  if (!isNew)
    return it->second ? &*it->second : nullptr;
  std::string path = family_ + "/" + name + ".json";
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  if (family_ != "programs")
    buffer = llvm::MemoryBuffer::getMemBuffer(recordings_[name], name);
  else if (auto file = llvm::MemoryBuffer::getFile(folder_ + "/" + path))
    buffer = std::move(*file);
  if (!buffer) {
    bad("cannot read " + path);
    return nullptr;
  }
  DiagnosticList errors;
  it->second = readJson(
      cx_, buffer->getBuffer(),
      [&](StringRef primitive) { return rows_.info(primitive); }, errors);
  for (const Diagnostic &d : errors.all())
    bad(path + ": " + d.message);
  return it->second ? &*it->second : nullptr;
}

/// A type without what tells how the program was traced: `np:`, `~`.
static StringRef plain(StringRef type) {
  type.consume_front("np:");
  type.consume_front("~");
  return type;
}

/// Is this JAX's error? Of kinds without an id of JAX's the class decides.
static bool isJaxs(StringRef ours, StringRef jax) {
  return ours == jax || (ours.ends_with(" ") && jax.starts_with(ours));
}

/// Is a finding at this line of Python, or a call that leads there?
static bool isAt(const Program &program, const Diagnostic &d, StringRef file,
                 unsigned line) {
  return llvm::any_of(program.stack(d.stack), [&](FrameId id) {
    const Frame &frame = program.frames[id.index()];
    return frame.line == line && program.context().str(frame.file) == file;
  });
}

static std::string idOf(const Diagnostic &d) {
  const DiagInfo &kind = info(d.code);
  return kind.jaxClass.str() + " " + kind.jaxId.str();
}

Comparison::Ours Comparison::judge(const Program &program,
                                   const Verdict &verdict) {
  CheckOptions options;
  TextResult<MeshId> mesh = parseMesh(cx_, verdict.mesh);
  if (!mesh)
    return {"the mesh: " + mesh.error.message};
  options.mesh = *mesh;
  for (unsigned i = 0; i < verdict.in.size(); ++i) {
    TextResult<PartitionSpec> spec = parseSpec(cx_, verdict.in[i]);
    if (!spec)
      return {"the spec " + verdict.in[i] + ": " + spec.error.message};
    options.in.push_back({"", static_cast<int>(i), *spec, "--in", {}, {}});
  }
  CheckedProgram checked = check(program, rows_, options);
  Ours ours;
  if (checked.ok()) {
    for (TypeId type : checked.resultTypes)
      ours.text += (ours.text.empty() ? "" : ", ") +
                   (type.valid() ? str(cx_, type) : std::string("?"));
    return ours;
  }
  for (const Place &place : verdict.all)
    ours.found +=
        llvm::any_of(checked.diagnostics.all(), [&](const Diagnostic &d) {
          return d.level == Level::Error &&
                 isAt(program, d, place.file, place.line);
        });
  std::string all;
  for (const Diagnostic &d : checked.diagnostics.all()) {
    if (d.level != Level::Error)
      continue;
    std::string id = idOf(d);
    if (isJaxs(id, verdict.error)) {
      ours.atLine |= isAt(program, d, verdict.file, verdict.line);
      all = verdict.error;
      if (ours.atLine)
        break;
    } else if (all.empty()) {
      all = id + " (" + info(d.code).code.str() + ": " + d.message + ")";
    }
  }
  ours.text = "!" + all;
  return ours;
}

void Comparison::one(const Verdict &verdict) {
  if (!only_.empty() && !llvm::is_contained(only_, verdict.program))
    return;
  Counts &counts = counts_[verdict.program];
  ++counts.cases;
  counts.accepted += verdict.error.empty();
  const Program *program = this->program(verdict.program);
  Ours judged = program ? judge(*program, verdict) : Ours{"no program"};
  const std::string &ours = judged.text;
  std::string theirs;
  for (StringRef type : verdict.results)
    theirs += (theirs.empty() ? "" : ", ") + plain(type).str();
  if (!verdict.error.empty())
    theirs = "!" + verdict.error;
  bool refused = StringRef(ours).starts_with("!");
  counts.sameVerdict += refused != verdict.error.empty();
  counts.sameTypes += !refused && ours == theirs;
  counts.several += verdict.all.size() > 1;
  counts.complete +=
      verdict.all.size() > 1 && judged.found == verdict.all.size();
  if (verdict.all.size() > judged.found && !only_.empty())
    llvm::outs() << verdict.text() << ": " << judged.found << " of "
                 << verdict.all.size() << " errors found\n";
  if (ours == theirs) {
    ++counts.agree;
    counts.elsewhere += !verdict.error.empty() && !judged.atLine;
    if (!verdict.error.empty() && !judged.atLine && !only_.empty())
      llvm::outs() << verdict.text() << ": at another line\n";
    return;
  }
  if (expectations_.isDeliberate(family_, verdict.program,
                                 verdict.text() + " ours " + ours)) {
    ++counts.deliberate;
    if (verdict.error.empty())
      ++(refused ? listed_.refused : listed_.types);
    else
      ++(refused ? listed_.errors : listed_.accepted);
    return;
  }
  ++counts.differ;
  if (printed_++ < 40 || !only_.empty())
    llvm::outs() << verdict.text() << " ours " << ours << '\n';
}

bool Comparison::run() {
  std::string error;
  if (!expectations_.read(folder_ + "/program_differences.txt",
                          folder_ + "/norules.txt", error))
    return bad(error);
  expectations_.enter(family_);
  std::string path = "/verdicts/" + family_ + ".jsonl.z";
  std::optional<std::string> text = readText(folder_ + path, error);
  if (!text)
    return bad(path + " " + error);
  if (!readRecordings())
    return false;
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    Verdict verdict;
    if (!read(line, verdict))
      return false;
    one(verdict);
  }
  Counts all;
  for (const auto &[name, c] : counts_) {
    all.cases += c.cases;
    all.accepted += c.accepted;
    all.agree += c.agree;
    all.deliberate += c.deliberate;
    all.differ += c.differ;
    all.elsewhere += c.elsewhere;
    all.several += c.several;
    all.complete += c.complete;
    all.sameVerdict += c.sameVerdict;
    all.sameTypes += c.sameTypes;
    if (c.differ)
      llvm::outs() << name << ": " << c.differ << " of " << c.cases
                   << " differ\n";
  }
  llvm::outs() << all.cases << " verdicts of " << counts_.size()
               << " programs, " << all.accepted << " accepted: " << all.agree
               << " agree (" << all.elsewhere << " refused at another line), "
               << all.deliberate << " differ as listed, " << all.differ
               << " differ\n"
               << "listed: " << listed_.errors
               << " refused with another error, " << listed_.refused
               << " accepted by JAX alone, " << listed_.accepted
               << " by us alone, " << listed_.types << " with another type\n"
               << "same verdict: " << all.sameVerdict
               << ", same types: " << all.sameTypes
               << ", several errors: " << all.several
               << ", all found: " << all.complete << '\n';
  bool stale =
      only_.empty() && family_ == "programs" && !agreesWithDocument(all);
  if (only_.empty())
    for (const std::string &entry : expectations_.unused()) {
      bad("program_differences.txt: matches nothing: " + entry);
      stale = true;
    }
  return all.differ == 0 && !stale;
}

/// docs/beyond-jax.md says these numbers; the sentence may be wrapped anywhere.
bool Comparison::agreesWithDocument(const Counts &all) {
  auto buffer =
      llvm::MemoryBuffer::getFile(folder_ + "/../../docs/beyond-jax.md");
  if (!buffer)
    return bad("cannot read docs/beyond-jax.md");
  SmallVector<StringRef, 0> words;
  llvm::SplitString((*buffer)->getBuffer(), words);
  std::string cases = std::to_string(all.cases);
  if (cases.size() > 3)
    cases.insert(cases.size() - 3, ",");
  std::string sentence =
      cases + " verdicts of JAX on " + std::to_string(counts_.size()) +
      " programs: " + std::to_string(listed_.errors) +
      " are refused with another error, " + std::to_string(listed_.refused) +
      " accepted by JAX alone, " + std::to_string(listed_.accepted) +
      " here alone, and " + std::to_string(listed_.types);
  return llvm::join(words, " ").find(sentence) != std::string::npos ||
         bad("docs/beyond-jax.md does not say: " + sentence);
}

int main(int argc, char **argv) {
  std::vector<std::string> only(argv + 1, argv + argc);
  std::string family = "programs";
  if (only.size() > 1 && only[0] == "--family") {
    family = only[1];
    only.erase(only.begin(), only.begin() + 2);
  }
  return Comparison(SHARDTYPE_SOURCE_DIR "/test/oracle", family,
                    std::move(only))
                 .run()
             ? 0
             : 1;
}
