// IRGoldenTest.cpp - what JAX printed is read and printed back, byte by byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IRFixture.h"

using namespace shardtype;

/// `#! mesh` lines for a golden text, from the context mesh of its JSON; the
/// text itself does not always show one.
static std::string meshLine(const std::string &textPath) {
  StringRef name = llvm::sys::path::stem(textPath);
  std::string json =
      readFile(std::string(SHARDTYPE_SOURCE_DIR) +
               "/spec-examples/golden/json/" + name.str() + ".json");
  llvm::Expected<llvm::json::Value> file = llvm::json::parse(json);
  REQUIRE(bool(file));
  const auto *root = file->getAsObject();
  std::optional<int64_t> index = root->getObject("context")->getInteger("mesh");
  std::string line;
  if (index)
    for (const llvm::json::Value &axis :
         *(*root->getArray("meshes"))[*index].getAsObject()->getArray("axes")) {
      const auto *a = axis.getAsObject();
      line += " " + a->getString("name")->str() + "=" +
              std::to_string(*a->getInteger("size")) + ":" +
              a->getString("type")->str();
    }
  if (!line.empty())
    line = "#! mesh" + line + "\n";
  // A region on another mesh, of which the text shows the name alone.
  return name == "A09" ? line + "#! mesh A=8\n" : line;
}

/// Reads a text and prints it, with its own names and with new ones.
static void checkIdentity(StringRef text, const PrintOptions &options = {}) {
  Read read(text);
  INFO(read.error());
  REQUIRE(read);
  StringRef wanted = withoutDirectives(text);
  PrintOptions print = options;
  CHECK(read.print(print) == wanted);
  print.keepNames = false;
  CHECK(read.print(print) == wanted);
}

TEST_CASE("golden programs print as JAX printed them") {
  std::vector<std::string> paths =
      filesIn("spec-examples/golden/jaxpr", ".txt");
  REQUIRE(paths.size() > 100);
  for (const std::string &path : paths) {
    INFO(path);
    checkIdentity(meshLine(path) + readFile(path));
  }
}

TEST_CASE("corpus programs print as JAX printed them") {
  std::vector<std::string> paths = filesIn("test/corpus/programs", ".txt");
  for (const char *folder : {"test/corpus/native", "test/corpus/manual"})
    for (const std::string &path : filesIn(folder, ".txt"))
      paths.push_back(path);
  REQUIRE(paths.size() > 20);
  for (const std::string &path : paths) {
    INFO(path);
    checkIdentity(readFile(path));
  }
}

TEST_CASE("what older releases printed reads and prints too") {
  std::vector<std::string> paths = filesIn("test/text/older", ".txt");
  REQUIRE(paths.size() > 10);
  for (const std::string &path : paths) {
    INFO(path);
    checkIdentity(readFile(path));
  }
}

/// Two variables that are read share the name `_`: the text does not tell them
/// apart, and no reader can.
static bool isAmbiguous(StringRef path) {
  return path.contains("two_dead_results");
}

TEST_CASE("feature programs print as JAX printed them") {
  std::vector<std::string> paths = filesIn("test/text/printed", ".txt");
  REQUIRE(paths.size() > 80);
  for (const std::string &path : paths) {
    INFO(path);
    if (isAmbiguous(path))
      continue; // See the next case.
    PrintOptions options;
    options.source = StringRef(path).ends_with(".source.txt");
    checkIdentity(readFile(path), options);
  }
}

TEST_CASE("a name that stands for two variables is refused") {
  Read read(readFile(std::string(SHARDTYPE_SOURCE_DIR) +
                     "/test/text/printed/two_dead_results.txt"));
  CHECK(read.error() ==
        "7:26: '_' is read, but 2 variables before it are called so; the text "
        "does not tell which one is meant");
}

TEST_CASE("broken and flat layouts of a program read alike") {
  for (const std::string &path :
       filesIn("spec-examples/golden/jaxpr", ".txt")) {
    INFO(path);
    std::string text = meshLine(path) + readFile(path);
    PrintOptions narrow, wide;
    narrow.width = 20;
    wide.width = 1000000;
    Read read(text);
    REQUIRE(read);
    std::string wanted = read.print();
    for (const PrintOptions &options : {narrow, wide}) {
      std::string other = read.print(options);
      if (options.width > 20 && !StringRef(other).starts_with("let "))
        CHECK(other.find('\n') == std::string::npos);
      Read again(meshLine(path) + other);
      INFO(again.error());
      REQUIRE(again);
      CHECK(again.print() == wanted);
    }
  }
}
