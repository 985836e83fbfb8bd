// CheckRecordedTest.cpp - real traces have the types that JAX recorded.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckFixture.h"
#include "shardtype/Json/Json.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace shardtype;

/// Files of a folder of the repository with this ending, in order.
static std::vector<std::string> filesIn(StringRef folder, StringRef ending) {
  std::vector<std::string> paths;
  std::error_code error;
  std::string root = std::string(SHARDTYPE_SOURCE_DIR) + "/" + folder.str();
  for (llvm::sys::fs::directory_iterator it(root, error), end;
       it != end && !error; it.increment(error))
    if (StringRef(it->path()).ends_with(ending))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  REQUIRE(!paths.empty());
  return paths;
}

namespace {
struct Loaded {
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program;
  explicit Loaded(const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    REQUIRE(buffer);
    DiagnosticList errors;
    program = readJson(
        cx, (*buffer)->getBuffer(),
        [&](StringRef name) { return primitives.info(name); }, errors);
    for (const Diagnostic &d : errors.all())
      UNSCOPED_INFO(d.path << ": " << d.message);
    REQUIRE(program);
  }
};
} // namespace

static std::string findings(const CheckedProgram &checked) {
  std::string text;
  for (const Diagnostic &d : checked.diagnostics.all())
    text += info(d.code).code.str() + " at " + d.path + ": " + d.message + "\n";
  return text;
}

TEST_CASE("native traces have their recorded types") {
  std::vector<std::string> paths =
      filesIn("spec-examples/golden/json", ".json");
  for (const char *folder :
       {"test/corpus/native", "test/corpus/programs", "test/corpus/manual"})
    for (std::string &path : filesIn(folder, ".json"))
      paths.push_back(std::move(path));
  for (const std::string &path : paths) {
    Loaded loaded(path);
    INFO(path);
    CheckedProgram checked = check(*loaded.program, loaded.primitives);
    CHECK(findings(checked) == "");
    CHECK(checked.notChecked == 0);
  }
}

TEST_CASE("a native trace re-typed on its own mesh has its own types") {
  std::vector<std::string> paths = filesIn("test/corpus/native", ".json");
  for (std::string &path : filesIn("test/corpus/manual", ".json"))
    paths.push_back(std::move(path));
  for (const std::string &path : paths) {
    Loaded loaded(path);
    INFO(path);
    const Program &p = *loaded.program;
    CheckOptions options;
    options.mesh = p.contextMeshAtTop;
    CheckedProgram checked = check(p, loaded.primitives, options);
    CHECK(findings(checked) == "");
    CHECK(checked.basis == Basis::Derived);
    const Jaxpr &entry = p.jaxpr(p.entry.jaxpr);
    for (unsigned i = 0; i < entry.outs.size(); ++i)
      CHECK(str(loaded.cx, checked.resultTypes[i]) ==
            str(loaded.cx, p.recordedType(entry.outs[i])));
  }
}
