// JsonFixture.cpp - reading, writing and comparing programs in JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include "shardtype/Primitives/All.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>
#include <regex>

using namespace jsontest;
namespace lj = llvm::json;

std::string Reading::error() const {
  if (diags.empty())
    return "";
  const Diagnostic &d = diags.all().front();
  return (info(d.code).code + " " + d.path + ": " + d.message).str();
}

Reading jsontest::read(Context &cx, StringRef text, const JsonLimits &limits) {
  Reading reading;
  static const PrimitiveSet rows = allPrimitives();
  reading.program = readJson(
      cx, text, [](StringRef name) { return rows.info(name); }, reading.diags,
      limits);
  // A result or an error, never both or neither.
  if (reading.program.has_value() == reading.diags.hasErrors())
    throw std::logic_error("a reading must give a program or an error");
  return reading;
}

std::string jsontest::write(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(os, program);
  return text;
}

std::string jsontest::print(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printProgram(os, program);
  return text;
}

std::string jsontest::slurp(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  INFO(path);
  REQUIRE(buffer);
  return (*buffer)->getBuffer().str();
}

std::vector<std::string> jsontest::filesIn(const std::string &directory,
                                           StringRef suffix) {
  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(directory, error), end;
       !error && it != end; it.increment(error))
    if (StringRef(it->path()).ends_with(suffix))
      files.push_back(it->path());
  INFO(directory << ": " << error.message());
  REQUIRE_FALSE(files.empty());
  llvm::sort(files);
  return files;
}

std::string jsontest::normalText(StringRef text) {
  static const std::regex numpy("np\\.(?:int64|float32)\\(([-.\\d]+)\\)");
  static const std::regex set("\\{('[^'{}]*'(?:, '[^'{}]*')*)\\}");
  std::string plain = std::regex_replace(text.str(), numpy, "$1");
  std::string result;
  auto last = plain.cbegin();
  for (std::sregex_iterator it(plain.begin(), plain.end(), set), end; it != end;
       ++it) {
    SmallVector<StringRef> names;
    std::string inner = (*it)[1];
    StringRef(inner).split(names, ", ");
    llvm::sort(names);
    result.append(last, (*it)[0].first);
    result += "{" + llvm::join(names, ", ") + "}";
    last = (*it)[0].second;
  }
  return result.append(last, plain.cend());
}

static bool isTrivialSpec(const lj::Value &value) {
  const lj::Object *spec = value.getAsObject();
  if (!spec)
    return false;
  for (StringRef set : {"v", "u", "r"})
    if (const lj::Array *names = spec->getArray(set); names && !names->empty())
      return false;
  if (const lj::Array *entries = spec->getArray("p"))
    for (const lj::Value &entry : *entries)
      if (entry.kind() != lj::Value::Null)
        return false;
  return true;
}

static bool isEmpty(const lj::Value &value) {
  const lj::Array *list = value.getAsArray();
  return value.kind() == lj::Value::Null || (list && list->empty()) ||
         value.getAsBoolean() == false || value.getAsString() == "";
}

/// Removes fields whose values say what their absence says.
static void eraseEmpty(lj::Object &object, ArrayRef<StringRef> keys) {
  for (StringRef key : keys)
    if (const lj::Value *value = object.get(key);
        value && (isEmpty(*value) || value->getAsInteger() == 0))
      object.erase(key);
}

static void normalizeTypes(lj::Array &types) {
  for (lj::Value &entry : types) {
    lj::Object *type = entry.getAsObject();
    for (StringRef key : {"spec", "mat"})
      if (const lj::Value *spec = type->get(key))
        if (isTrivialSpec(*spec))
          type->erase(key);
    eraseEmpty(*type, {"weak"});
    if (type->getString("mem") == "device" && type->getString("t") == "array")
      type->erase("mem");
  }
}

static void normalizeJaxpr(lj::Object &jaxpr) {
  eraseEmpty(jaxpr, {"effects", "debug", "high", "constvars"});
  bool anyArray = false;
  if (const lj::Array *consts = jaxpr.getArray("consts"))
    for (const lj::Value &index : *consts)
      anyArray |= index.kind() != lj::Value::Null;
  if (!anyArray)
    jaxpr.erase("consts");
  for (lj::Value &entry : *jaxpr.getArray("eqns")) {
    lj::Object *eqn = entry.getAsObject();
    for (StringRef key : {"eff", "src", "ns", "derived"})
      if (const lj::Value *value = eqn->get(key); value && isEmpty(*value))
        eqn->erase(key); // But not index 0.
    if (!eqn->get("params"))
      (*eqn)["params"] = lj::Object();
  }
}

lj::Value jsontest::normal(StringRef text) {
  llvm::Expected<lj::Value> tree = lj::parse(text);
  if (!tree)
    throw std::logic_error(llvm::toString(tree.takeError()));
  lj::Object *root = tree->getAsObject();
  for (StringRef table :
       {"meshes", "types", "sources", "stacks", "arrays", "opaques"})
    if (!root->get(table))
      (*root)[table] = lj::Array();
  normalizeTypes(*root->getArray("types"));
  for (lj::Value &mesh : *root->getArray("meshes"))
    eraseEmpty(*mesh.getAsObject(), {"device", "devices"});
  for (lj::Value &frame : *root->getArray("sources"))
    eraseEmpty(*frame.getAsObject(), {"func", "col", "eline", "ecol"});
  eraseEmpty(*root->getObject("entry"), {"name", "arg_paths"});
  if (const lj::Value *mesh = root->getObject("context")->get("mesh"))
    if (isEmpty(*mesh))
      root->getObject("context")->erase("mesh");
  if (const lj::Object *producer = root->getObject("producer"))
    if (producer->size() == 1 && producer->getString("name") == "shardtype")
      root->erase("producer"); // What we write for want of another.
  for (lj::Value &jaxpr : *root->getArray("jaxprs"))
    normalizeJaxpr(*jaxpr.getAsObject());
  return std::move(*tree);
}

std::string jsontest::difference(const lj::Value &a, const lj::Value &b,
                                 const std::string &path) {
  if (a == b)
    return "";
  const lj::Object *objectA = a.getAsObject(), *objectB = b.getAsObject();
  if (objectA && objectB) {
    for (const auto &[key, value] : *objectA) {
      std::string at = path + "/" + key.str();
      const lj::Value *other = objectB->get(key);
      if (!other)
        return at + " is missing";
      if (std::string found = difference(value, *other, at); !found.empty())
        return found;
    }
    for (const auto &[key, value] : *objectB)
      if (!objectA->get(key))
        return path + "/" + key.str() + " was added";
  }
  const lj::Array *listA = a.getAsArray(), *listB = b.getAsArray();
  if (listA && listB && listA->size() == listB->size())
    for (size_t i = 0; i < listA->size(); ++i) {
      std::string found =
          difference((*listA)[i], (*listB)[i], path + "/" + std::to_string(i));
      if (!found.empty())
        return found;
    }
  return llvm::formatv("{0}: {1} became {2}", path, a, b);
}

std::vector<Sample> jsontest::samples() {
  const std::string source = SHARDTYPE_SOURCE_DIR;
  std::vector<Sample> all;
  for (const std::string &json :
       filesIn(source + "/spec-examples/golden/json", ".json")) {
    StringRef name = llvm::sys::path::stem(json);
    all.push_back(
        {json, source + "/spec-examples/golden/jaxpr/" + name.str() + ".txt"});
  }
  // Format 1.0, spread over lines, trivial parts spelled out; the text is
  // JAX's.
  all.push_back({source + "/test/Json/handwritten.json",
                 source + "/test/Json/handwritten.txt"});
  for (StringRef directory : {"test/corpus/programs", "test/corpus/native",
                              "test/corpus/manual", "test/text/printed"})
    for (const std::string &json :
         filesIn(source + "/" + directory.str(), ".json"))
      all.push_back({json, json.substr(0, json.size() - 4) + "txt"});
  return all;
}

std::string jsontest::small(
    std::initializer_list<std::pair<StringRef, StringRef>> replacements) {
  const std::pair<StringRef, StringRef> defaults[] = {
      {"format", R"("format":"shardtype-jaxpr",)"},
      {"version", R"("version":[1,2],)"},
      {"axis", R"({"name":"X","size":2,"type":"Explicit"})"},
      {"mesh", ""},
      {"type", R"("t":"array","shape":[8,4],"dtype":"float32","mesh":0)"},
      {"source", R"({"file":"a.py","func":"f","line":3})"},
      {"stack", "[0]"},
      {"array", R"({"shape":[1],"dtype":"float32","b64":"AACAPw=="})"},
      {"opaque", R"({"class":"m.C","repr":"<C>"})"},
      {"invars", R"("invars":[[0,0],[1,0]],)"},
      {"jaxpr", ""},
      {"in", "[0,1]"},
      {"out", "[[2,0]]"},
      {"params", "{}"},
      {"eqn", ""},
      {"outs", R"("outs":[2],)"},
      {"effects", "[]"},
      {"debug", "null"},
      {"entry", R"("entry":{"jaxpr":0},)"},
      {"context", R"({"mesh":null})"},
      {"root", ""}};
  std::string text =
      "{%format%%version%"
      R"("meshes":[{"kind":"abstract","axes":[%axis%]%mesh%}],)"
      R"("types":[{%type%},{"t":"array","shape":[],"dtype":"float32"}],)"
      R"("sources":[%source%],"stacks":[%stack%],"arrays":[%array%],)"
      R"("opaques":[%opaque%],"jaxprs":[{"constvars":[],%invars%%jaxpr%)"
      R"("eqns":[{"p":"add","in":%in%,"params":%params%,"out":%out%%eqn%}],)"
      R"(%outs%"effects":%effects%,"debug":%debug%}],%entry%)"
      R"("context":%context%%root%})";
  auto replace = [&](StringRef key, StringRef value) {
    std::string place = ("%" + key + "%").str();
    size_t at = text.find(place);
    if (at != std::string::npos)
      text.replace(at, place.size(), value.str());
  };
  for (auto [key, value] : replacements)
    replace(key, value);
  for (auto [key, value] : defaults)
    replace(key, value);
  return text;
}
