// ExplainTest.cpp - every kind of finding is explained and hit by a test.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Report/Explain.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Driver.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Rules/Helpers.h"
#include "shardtype/Rules/Params.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/StringSaver.h"
#include <catch2/catch.hpp>
#include <map>

using namespace shardtype;

namespace {

/// Kinds that no text can show, and what hits them instead.
struct NoExample {
  diag::Code code;
  StringRef why;
};
constexpr NoExample WithoutExample[] = {
    {diag::InputUnreadable, "no file at all; 'inputs that are no text' below"},
    {diag::InputEmpty, "nothing to print; 'inputs that are no text' below"},
    {diag::InputBinary, "no text; 'inputs that are no text' below"},
    {diag::MeshSize, "only a JSON program says it; 'a mesh of another size'"},
    {diag::OwnRule, "needs a file of rules; test/Driver/own.test"},
    {diag::RegionRefused, "only a recording says it; test/Driver/record.test"},
    {diag::RegionUnchecked, "only a recording says it; test/Driver/infer.test"},
    {diag::RegionInferKind, "only a recording says it; test/Driver/infer.test"},
    {diag::VmapAxes, "only a recording says it; test/Driver/vmap.test"},
    {diag::LogicalConflict, "needs a config file; test/Driver/logical.test"},
    {diag::CollectiveDenied, "only 'cost' looks; test/Cost/deny.jaxpr"},
};

/// Errors that an example has besides its own.
const std::map<diag::Code, std::vector<StringRef>> AlsoReported = {
    {diag::RegionMesh, {"mesh-size"}}};

/// A file that is gone at the end of the scope.
class TempFile {
public:
  explicit TempFile(StringRef bytes) {
    int descriptor = -1;
    REQUIRE(!llvm::sys::fs::createTemporaryFile("explain", "txt", descriptor,
                                                path_));
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << bytes;
  }
  ~TempFile() { llvm::sys::fs::remove(path_); }
  TempFile(const TempFile &) = delete;
  std::string path() const { return path_.str().str(); }

private:
  llvm::SmallString<64> path_;
};

struct Ran {
  int exitCode = -1;
  std::string out, err;
};
Ran run(std::vector<std::string> args) {
  Ran ran;
  llvm::raw_string_ostream out(ran.out), err(ran.err);
  ran.exitCode = runCommandLine(args, out, err);
  return ran;
}

struct Finding {
  std::string code, severity, message;
};
/// The findings of `check --format json`, and its exit code.
struct Checked {
  Ran ran;
  std::vector<Finding> findings;
  bool has(StringRef code, StringRef severity) const {
    return llvm::any_of(findings, [&](const Finding &f) {
      return f.code == code && f.severity == severity;
    });
  }
};
Checked check(const std::string &path, StringRef options) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  SmallVector<const char *, 8> words;
  llvm::cl::TokenizeGNUCommandLine(options, saver, words);
  std::vector<std::string> args = {"check", path, "--format", "json"};
  args.insert(args.end(), words.begin(), words.end());
  Checked checked;
  checked.ran = run(args);
  llvm::Expected<llvm::json::Value> report = llvm::json::parse(checked.ran.out);
  INFO(checked.ran.out << checked.ran.err);
  REQUIRE(bool(report));
  const llvm::json::Object *object = report->getAsObject();
  REQUIRE(object);
  const llvm::json::Array *findings = object->getArray("diagnostics");
  REQUIRE(findings);
  for (const llvm::json::Value &value : *findings) {
    const llvm::json::Object *finding = value.getAsObject();
    REQUIRE(finding);
    auto text = [&](StringRef key) {
      return finding->getString(key).value_or("").str();
    };
    checked.findings.push_back(
        {text("code"), text("severity"), text("message")});
  }
  return checked;
}

/// One line, no full stop, every argument filled in.
bool isGoodMessage(StringRef message) {
  for (char digit : StringRef("0123456789"))
    if (message.contains((llvm::Twine("{") + llvm::Twine(digit) + "}").str()))
      return false;
  return !message.empty() && !message.contains('\n') &&
         !message.ends_with(".") && !message.contains("''");
}

StringRef severity(Level level) {
  return level == Level::Error     ? "error"
         : level == Level::Warning ? "warning"
                                   : "note";
}

} // namespace

TEST_CASE("every kind has a rule and a fix") {
  for (unsigned i = 0; i < diag::NumCodes; ++i) {
    auto code = static_cast<diag::Code>(i);
    INFO(info(code).code.str());
    const Explanation &text = explain(code);
    CHECK(text.rule.size() > 30);
    CHECK(text.rule.ends_with("."));
    CHECK(!text.fix.empty());
    CHECK(text.fix.ends_with("."));
    bool listed = llvm::any_of(WithoutExample, [&](const NoExample &none) {
      return none.code == code;
    });
    CHECK(text.example.empty() == listed);
  }
}

TEST_CASE("every example has the finding that it is for, and no other error") {
  for (unsigned i = 0; i < diag::NumCodes; ++i) {
    auto code = static_cast<diag::Code>(i);
    const Explanation &text = explain(code);
    if (text.example.empty())
      continue;
    const DiagInfo &kind = info(code);
    TempFile file(text.example);
    Checked checked = check(file.path(), text.options);
    INFO(kind.code.str() << '\n' << checked.ran.out << checked.ran.err);
    CHECK(checked.has(kind.code, severity(kind.level)));
    auto also = AlsoReported.find(code);
    for (const Finding &finding : checked.findings)
      CHECK(isGoodMessage(finding.message));
    for (const Finding &finding : checked.findings)
      if (finding.severity == "error" && finding.code != kind.code)
        CHECK((also != AlsoReported.end() &&
               llvm::is_contained(also->second, finding.code)));
    if (kind.level != Level::Error)
      CHECK(checked.ran.exitCode == 0);
    else
      CHECK(checked.ran.exitCode >= 1);
  }
}

TEST_CASE("inputs that are no text") {
  std::string missing = TempFile("").path();
  Checked unreadable = check(missing, "");
  CHECK(unreadable.has("input-unreadable", "error"));
  CHECK(unreadable.ran.exitCode == 2);
  for (StringRef blank : {"", " \n\t\n"}) {
    TempFile file(blank);
    Checked empty = check(file.path(), "");
    CHECK(empty.has("input-empty", "error"));
    CHECK(empty.ran.exitCode == 2);
  }
  for (StringRef bytes :
       {StringRef("\x1f\x8b\x08"), StringRef("{ lambda ; a:f32[8]\0", 20)}) {
    TempFile file(bytes);
    Checked binary = check(file.path(), "");
    CHECK(binary.has("input-binary", "error"));
    CHECK(binary.ran.exitCode == 2);
  }
}

TEST_CASE("a mesh of another size") {
  // structure/context.2: the equation's mesh against that of the trace.
  auto program = [](int64_t size) {
    return R"({"format":"shardtype-jaxpr","version":[1,2],
      "meshes":[{"kind":"abstract","axes":[{"name":"X","size":2,"type":"Explicit"},{"name":"Y","size":2,"type":"Explicit"}]},
                {"kind":"abstract","axes":[{"name":"A","size":)" +
           std::to_string(size) + R"(,"type":"Explicit"}]}],
      "types":[{"t":"array","shape":[8],"dtype":"float32"}],
      "jaxprs":[{"constvars":[],"invars":[[0,0]],
        "eqns":[{"p":"neg","in":[0],"params":{},"out":[[1,0]],"ctx":{"mesh":1}}],
        "outs":[1]}],
      "entry":{"jaxpr":0},"context":{"mesh":0}})";
  };
  TempFile other(program(8)), same(program(4));
  Checked checked = check(other.path(), "");
  CHECK(checked.has("mesh-size", "error"));
  CHECK(checked.findings.size() == 1);
  CHECK(checked.ran.exitCode == 1);
  CHECK(check(same.path(), "").findings.empty());
}

/// Standard, but without a rule for shardings.
const Primitive WithoutSharding = {
    .info = {"half_known", schemaOf<NoParams>},
    .decode = decodeFor<NoParams, 1>,
    .dims = NoRule{NoRule::NotImplemented, "nobody has written it"},
    .linearity = {},
    .open = OpenRule::Opaque,
    .type = Standard{.shape = shape::operand,
                     .dtype = dtype::operand,
                     .weak = weak::all,
                     .sharding = NoRule{NoRule::NotImplemented, "as in JAX"},
                     .reduction = NoRule{NoRule::NotImplemented, "as in JAX"},
                     .memory = memory::standard}};

TEST_CASE("a row of one's own without a sharding rule") {
  PrimitiveSet primitives = allPrimitives();
  primitives.add(WithoutSharding);
  auto codes = [&](StringRef text) {
    Context context;
    DiagnosticList errors;
    std::optional<ParsedText> parsed = parseText(
        context, text, "t",
        [&](StringRef name) { return primitives.info(name); }, errors);
    REQUIRE(parsed);
    CheckedProgram checked = shardtype::check(parsed->program, primitives);
    std::vector<diag::Code> found;
    for (const Diagnostic &d : checked.diagnostics.all())
      found.push_back(d.code);
    return found;
  };
  // spec 01, 3.0, steps 5 and 6: needed where some axis is Explicit only.
  CHECK(
      codes(
          "#! mesh X=2\n{ lambda ; a:f32[4]. let b = half_known a in (b,) }") ==
      std::vector{diag::RuleMissing});
  CHECK(codes("#! mesh X=2:Auto\n{ lambda ; a:f32[4]. let b = half_known a in "
              "(b,) }")
            .empty());
}

TEST_CASE("explain prints all of an entry, broken into lines") {
  for (unsigned i = 0; i < diag::NumCodes; ++i) {
    auto code = static_cast<diag::Code>(i);
    Ran ran = run({"explain", info(code).code.str()});
    INFO(ran.out);
    CHECK(ran.exitCode == 0);
    CHECK(ran.err == "");
    std::string flat = ran.out;
    std::replace(flat.begin(), flat.end(), '\n', ' ');
    CHECK(StringRef(flat).contains(explain(code).rule));
    CHECK(StringRef(flat).contains(explain(code).fix));
    CHECK(StringRef(ran.out).starts_with(info(code).code));
    CHECK(StringRef(ran.out).contains("; JAX raises ") ==
          !info(code).jaxClass.empty());
  }
}

TEST_CASE("explain without a code lists all, with a wrong one the nearest") {
  Ran all = run({"explain"});
  CHECK(all.exitCode == 0);
  CHECK(StringRef(all.out).count('\n') == diag::NumCodes);
  Ran wrong = run({"explain", "dot-contracting-ambigous"});
  CHECK(wrong.exitCode == 2);
  CHECK(wrong.out == "");
  CHECK(StringRef(wrong.err).contains("dot-contracting-ambiguous"));
}
