// programs_compare.cpp - whole programs under meshes and specs, against JAX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each line of verdicts/programs.jsonl says what a native trace of a function
// gave under a mesh, with arguments of some specs: its result types, or the
// error and the line of Python. programs/NAME.json is the same function traced
// without a mesh. It is re-typed here, and must end the same: result types by
// shape and sharding; of a refusal JAX's class and id, at that line. JAX stops
// at its first error, ours may be among several.
#include "Expectations.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Primitives/All.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

/// One line of the file.
struct Verdict {
  std::string program, mesh;
  std::vector<std::string> in, results;
  std::string error, file; // `STE dot.ambiguous`; empty: accepted.
  unsigned line = 0;

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
  unsigned elsewhere = 0; // Refused as by JAX, at another line.
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
  Comparison(std::string folder, std::vector<std::string> only)
      : folder_(std::move(folder)), only_(std::move(only)),
        rows_(allPrimitives()) {}
  bool run();

private:
  bool read(StringRef line, Verdict &verdict);
  const Program *program(const std::string &name);
  void one(const Verdict &verdict);
  /// Ours as the file writes it; sets `atLine` if JAX's line is among ours.
  std::string judge(const Program &program, const Verdict &verdict,
                    bool &atLine);

  std::string folder_;
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
  return true;
}

const Program *Comparison::program(const std::string &name) {
  auto [it, isNew] = programs_.try_emplace(name);
  if (!isNew)
    return it->second ? &*it->second : nullptr;
  std::string path = folder_ + "/programs/" + name + ".json";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    bad("cannot read " + path);
    return nullptr;
  }
  DiagnosticList errors;
  it->second = readJson(
      cx_, (*buffer)->getBuffer(),
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

std::string Comparison::judge(const Program &program, const Verdict &verdict,
                              bool &atLine) {
  CheckOptions options;
  TextResult<MeshId> mesh = parseMesh(cx_, verdict.mesh);
  if (!mesh)
    return "the mesh: " + mesh.error.message;
  options.mesh = *mesh;
  for (unsigned i = 0; i < verdict.in.size(); ++i) {
    TextResult<PartitionSpec> spec = parseSpec(cx_, verdict.in[i]);
    if (!spec)
      return "the spec " + verdict.in[i] + ": " + spec.error.message;
    options.in.push_back({"", static_cast<int>(i), *spec, "--in"});
  }
  CheckedProgram checked = check(program, rows_, options);
  if (checked.ok()) {
    std::string types;
    for (TypeId type : checked.resultTypes)
      types += (types.empty() ? "" : ", ") +
               (type.valid() ? str(cx_, type) : std::string("?"));
    return types;
  }
  std::string all;
  for (const Diagnostic &d : checked.diagnostics.all()) {
    if (d.level != Level::Error)
      continue;
    const DiagInfo &kind = info(d.code);
    std::string id = kind.jaxClass.str() + " " + kind.jaxId.str();
    ArrayRef<FrameId> frames = program.stack(d.stack);
    bool here = llvm::any_of(frames, [&](FrameId frame) {
      const Frame &f = program.frames[frame.index()];
      return f.line == verdict.line && cx_.str(f.file) == verdict.file;
    });
    if (id == verdict.error) {
      atLine |= here;
      all = id;
      if (here)
        return "!" + id;
    } else if (all.empty()) {
      all = id + " (" + kind.code.str() + ": " + d.message + ")";
    }
  }
  return "!" + all;
}

void Comparison::one(const Verdict &verdict) {
  if (!only_.empty() && !llvm::is_contained(only_, verdict.program))
    return;
  Counts &counts = counts_[verdict.program];
  ++counts.cases;
  counts.accepted += verdict.error.empty();
  const Program *program = this->program(verdict.program);
  bool atLine = false;
  std::string ours =
      program ? judge(*program, verdict, atLine) : std::string("no program");
  std::string theirs;
  for (StringRef type : verdict.results)
    theirs += (theirs.empty() ? "" : ", ") + plain(type).str();
  if (!verdict.error.empty())
    theirs = "!" + verdict.error;
  if (ours == theirs) {
    ++counts.agree;
    counts.elsewhere += !verdict.error.empty() && !atLine;
    return;
  }
  if (expectations_.isDeliberate("programs", verdict.program,
                                 verdict.text() + " ours " + ours)) {
    ++counts.deliberate;
    bool refused = StringRef(ours).starts_with("!");
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
  expectations_.enter("programs");
  auto buffer =
      llvm::MemoryBuffer::getFile(folder_ + "/verdicts/programs.jsonl");
  if (!buffer)
    return bad("cannot read verdicts/programs.jsonl");
  SmallVector<StringRef, 0> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
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
               << " by us alone, " << listed_.types << " with another type\n";
  bool stale = false;
  if (only_.empty())
    for (const std::string &entry : expectations_.unused()) {
      bad("program_differences.txt: matches nothing: " + entry);
      stale = true;
    }
  return all.differ == 0 && !stale;
}

int main(int argc, char **argv) {
  std::vector<std::string> only(argv + 1, argv + argc);
  return Comparison(SHARDTYPE_SOURCE_DIR "/test/oracle", std::move(only)).run()
             ? 0
             : 1;
}
