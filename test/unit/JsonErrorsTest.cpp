// JsonErrorsTest.cpp - mistakes in files, each with its place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include <catch2/catch.hpp>

using namespace jsontest;

namespace {
struct Mistake {
  std::initializer_list<std::pair<StringRef, StringRef>> change;
  StringRef error; // "code pointer: message"
};
} // namespace

static void check(std::initializer_list<Mistake> mistakes) {
  for (const Mistake &mistake : mistakes) {
    std::string text = small(mistake.change);
    INFO(text);
    Context cx;
    CHECK(read(cx, text).error() == mistake.error);
  }
}

TEST_CASE("the small program is good") {
  Context cx;
  Reading reading = read(cx, small());
  INFO(reading.error());
  REQUIRE(reading.program);
  CHECK(print(*reading.program) == "{ lambda ; a:f32[8,4] b:f32[8,4]. let "
                                   "c:f32[8,4] = add a b in (c,) }");
}

TEST_CASE("mistakes in the envelope") {
  check({
      {{{"format", ""}}, "json-structure : field 'format' is missing"},
      {{{"format", R"("format":"other",)"}},
       "json-structure /format: expected 'shardtype-jaxpr'"},
      {{{"format", R"("format":5,)"}},
       "json-structure /format: expected a string"},
      {{{"version", ""}}, "json-structure : field 'version' is missing"},
      {{{"version", R"("version":[2,0],)"}},
       "json-version /version: format version 2.0 is newer than this program, "
       "which reads up to 1.2"},
      {{{"version", R"("version":[1],)"}},
       "json-structure /version: expected [major, minor]"},
      {{{"version", R"("version":1.2,)"}},
       "json-structure /version: expected a list"},
      {{{"version", R"("version":["1",2],)"}},
       "json-structure /version/0: expected a whole number"},
      {{{"entry", ""}}, "json-structure : field 'entry' is missing"},
      {{{"entry", R"("entry":{},)"}},
       "json-structure /entry: field 'jaxpr' is missing"},
      {{{"entry", R"("entry":[],)"}},
       "json-structure /entry: expected an object"},
      {{{"entry", R"("entry":{"jaxpr":1},)"}},
       "json-structure /entry/jaxpr: index 1 is out of range: 'jaxprs' has 1 "
       "entries"},
      {{{"entry", R"("entry":{"jaxpr":0,"arg_names":["x"]},)"}},
       "json-structure /entry/arg_names: the entry has 2 inputs, not 1"},
      {{{"entry", R"("entry":{"jaxpr":0,"result_paths":[]},)"}},
       "json-structure /entry/result_paths: the entry has 1 results, not 0"},
      {{{"entry", R"("entry":{"jaxpr":0,"arg_names":["x",1]},)"}},
       "json-structure /entry/arg_names/1: expected a string"},
      {{{"context", R"({"mesh":3})"}},
       "json-structure /context/mesh: index 3 is out of range: 'meshes' has 1 "
       "entries"},
      {{{"root", R"(,"a/b~c":1,"a/b~c":2)"}},
       "json-duplicate-key /a~1b~0c: key 'a/b~c' is given twice"},
      {{{"root", R"(,"format":"shardtype-jaxpr")"}},
       "json-duplicate-key /format: key 'format' is given twice"},
      {{{"root", R"(,"more":{"x":[{"y":1,"y":2}]})"}},
       "json-duplicate-key /more/x/0/y: key 'y' is given twice"},
  });
}

TEST_CASE("a file that is no program") {
  auto error = [](StringRef text) {
    Context cx;
    return read(cx, text).error();
  };
  CHECK(error("[]") == "json-structure : expected an object");
  CHECK(error("3") == "json-structure : expected an object");
  CHECK(error("{}") == "json-structure : field 'format' is missing");
  CHECK(error(R"({"jaxprs":5})") == "json-structure /jaxprs: expected a list");
  CHECK(error(R"({"jaxprs":{}})") == "json-structure /jaxprs: expected a list");
  CHECK(error(R"({"jaxprs":[[]]})") ==
        "json-structure /jaxprs/0: expected an object");
  CHECK(error(R"({"types":"x"})") == "json-structure /types: expected a list");
  CHECK(error("") == "input-empty : the input is empty");
  CHECK(error(" \n\t ") == "input-empty : the input is empty");
}

TEST_CASE("mistakes in tables") {
  check({
      {{{"axis", R"({"size":2,"type":"Explicit"})"}},
       "json-structure /meshes/0/axes/0: field 'name' is missing"},
      {{{"axis", R"({"name":"X","size":0,"type":"Explicit"})"}},
       "json-structure /meshes/0/axes/0/size: expected a number of at least "
       "1"},
      {{{"axis", R"({"name":"X","size":2,"type":"explicit"})"}},
       "json-structure /meshes/0/axes/0/type: expected 'Auto', 'Explicit' or "
       "'Manual'"},
      {{{"axis", R"({"name":"X","size":2,"type":"Auto"},)"
                 R"({"name":"X","size":2,"type":"Auto"})"}},
       "json-structure /meshes/0/axes/1/name: the mesh has this axis twice"},
      {{{"mesh", R"(,"devices":{"shape":[3],"ids":[0,1]})"}},
       "json-structure /meshes/0/devices/shape: the devices do not have the "
       "shape of the mesh"},
      {{{"mesh", R"(,"devices":{"shape":[2],"ids":[0]})"}},
       "json-structure /meshes/0/devices/ids: a mesh of 2 devices has as many "
       "ids"},
      {{{"source", R"({"func":"f","line":3})"}},
       "json-structure /sources/0: field 'file' is missing"},
      {{{"source", R"({"file":"a.py","line":-1})"}},
       "json-structure /sources/0/line: expected a number of at least 0"},
      {{{"source", R"({"file":"a.py","line":99999999999})"}},
       "json-structure /sources/0/line: the number is out of range"},
      {{{"stack", "[0,1]"}},
       "json-structure /stacks/0/1: index 1 is out of range: 'sources' has 1 "
       "entries"},
      {{{"stack", "0"}}, "json-structure /stacks/0: expected a list"},
      {{{"array", R"({"shape":[1],"dtype":"float32","b64":"AACAPw="})"}},
       "json-structure /arrays/0/b64: expected base64 text"},
      {{{"array", R"({"shape":[1],"dtype":"float32","b64":"AA A"})"}},
       "json-structure /arrays/0/b64: expected base64 text"},
      {{{"array", R"({"shape":[2],"dtype":"float32","b64":"AACAPw=="})"}},
       "json-structure /arrays/0/b64: the shape and dtype need 8 bytes, not "
       "4"},
      {{{"array", R"({"shape":[1],"dtype":"float32"})"}},
       "json-structure /arrays/0: field 'b64' is missing"},
      {{{"array", R"({"shape":[-1],"dtype":"float32","omitted":true})"}},
       "json-structure /arrays/0/shape/0: expected a number of at least 0"},
      {{{"opaque", R"({"repr":"<C>"})"}},
       "json-structure /opaques/0: field 'class' is missing"},
      {{{"opaque", R"({"class":"C","class":"D"})"}},
       "json-duplicate-key /opaques/0/class: key 'class' is given twice"},
  });
}

TEST_CASE("mistakes in types") {
  check({
      {{{"type", R"("shape":[8,4],"dtype":"float32")"}},
       "json-structure /types/0: field 't' is missing"},
      {{{"type", R"("t":"array","dtype":"float32")"}},
       "json-structure /types/0: field 'shape' is missing"},
      {{{"type", R"("t":"array","shape":[8,-4],"dtype":"float32")"}},
       "json-structure /types/0/shape/1: expected a number of at least 0"},
      {{{"type", R"("t":"array","shape":[8,4.5],"dtype":"float32")"}},
       "json-structure /types/0/shape/1: expected a whole number"},
      {{{"type",
         R"("t":"array","shape":[36893488147419103232],"dtype":"int8")"}},
       "json-structure /types/0/shape/0: the number is out of range"},
      {{{"type", R"("t":"array","shape":[{"dim":1}],"dtype":"float32")"}},
       "json-structure /types/0/shape/0: field 'sym' is missing"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":1)"}},
       "json-structure /types/0/mesh: index 1 is out of range: 'meshes' has 1 "
       "entries"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[["Y"]],"u":[],"r":[],"k":null})"}},
       "json-structure /types/0/spec/p/0/0: the type's mesh has no axis 'Y'"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32",)"
                 R"("spec":{"p":[["X"]],"u":[],"r":[],"k":null})"}},
       "json-structure /types/0/spec/p/0/0: the type's mesh has no axis 'X'"},
      {{{"type", R"("t":"array","shape":[8,8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[["X"],["X"]],"u":[],"r":[],"k":null})"}},
       "json-structure /types/0/spec/p/1/0: this axis stands twice in the "
       "type"},
      {{{"type", R"("t":"array","shape":[8,8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[["X"]],"u":["X"],"r":[],"k":"sum"})"}},
       "json-structure /types/0/spec/u/0: this axis stands twice in the "
       "type"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[null,null]})"}},
       "json-structure /types/0/spec/p: a type of rank 1 has no dim for all "
       "these entries"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":["all"]})"}},
       "json-structure /types/0/spec/p/0: expected a list of axes, null, "
       "'unconstrained' or 'inherit'"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[null],"k":"sum"})"}},
       "json-structure /types/0/spec/k: there is a kind but nothing "
       "unreduced"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("spec":{"p":[null],"u":["X"],"k":"mean"})"}},
       "json-structure /types/0/spec/k: expected null, 'sum', 'max' or 'min'"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
                 R"("mat":{"v":["X"]})"}},
       "json-structure /types/0/mat/v/0: this axis is not Manual in the type's "
       "mesh"},
      {{{"type", R"("t":"array","shape":[8],"dtype":"float32","weak":"no")"}},
       "json-structure /types/0/weak: expected true or false"},
      {{{"type", R"("t":"ref","inner":7)"}},
       "json-structure /types/0/inner: index 7 is out of range: 'types' has 2 "
       "entries"},
      {{{"type", R"("t":"ref","inner":0)"}},
       "input-limit /types/0/inner: the nesting of a type is above the limit "
       "of 32"},
  });
}

TEST_CASE("mistakes in jaxprs") {
  check({
      {{{"invars", ""}}, "json-structure /jaxprs/0: field 'invars' is missing"},
      {{{"outs", ""}}, "json-structure /jaxprs/0: field 'outs' is missing"},
      {{{"invars", R"("invars":{},)"}},
       "json-structure /jaxprs/0/invars: expected a list"},
      {{{"invars", R"("invars":[[0,0],[1]],)"}},
       "json-structure /jaxprs/0/invars/1: expected a number, a type and "
       "perhaps a name"},
      {{{"invars", R"("invars":[[0,0],[1,9]],)"}},
       "json-structure /jaxprs/0/invars/1/1: index 9 is out of range: 'types' "
       "has 2 entries"},
      {{{"invars", R"("invars":[[0,0],["x",0]],)"}},
       "json-structure /jaxprs/0/invars/1/0: expected a whole number"},
      {{{"invars", R"("invars":[[0,0],[0,0]],)"}},
       "jaxpr-rebound /jaxprs/0/invars/1/0: variable '0' is already bound"},
      {{{"invars", R"("invars":[[0,0],[1,0]],"invars":[],)"}},
       "json-duplicate-key /jaxprs/0/invars: key 'invars' is given twice"},
      {{{"jaxpr", R"("consts":[0],)"}},
       "json-structure /jaxprs/0/consts: expected one entry for each of "
       "'constvars'"},
      {{{"jaxpr", R"("mesh":"X",)"}},
       "json-structure /jaxprs/0/mesh: expected a whole number"},
      {{{"outs", R"("outs":[3],)"}},
       "jaxpr-scope /jaxprs/0/outs/0: variable '3' is not defined here"},
      {{{"outs", R"("outs":[{"lit":{"bool":1},"t":1}],)"}},
       "json-structure /jaxprs/0/outs/0/lit/bool: expected true or false"},
      {{{"effects", R"([{"read":5}])"}},
       "jaxpr-scope /jaxprs/0/effects/0/read: variable '5' is not defined "
       "here"},
      {{{"effects", R"(["X"])"}},
       "json-structure /jaxprs/0/effects/0: expected an object"},
      {{{"debug", R"({"args":"x"})"}},
       "json-structure /jaxprs/0/debug/args: expected a list"},
  });
}

TEST_CASE("mistakes in equations") {
  check({
      {{{"in", "[0,7]"}},
       "jaxpr-scope /jaxprs/0/eqns/0/in/1: variable '7' is not defined here"},
      {{{"in", "[0,2]"}}, // Its own result.
       "jaxpr-scope /jaxprs/0/eqns/0/in/1: variable '2' is not defined here"},
      {{{"in", "[0,-1]"}},
       "json-structure /jaxprs/0/eqns/0/in/1: expected a number of at least "
       "0"},
      {{{"in", "[0,null]"}},
       "json-structure /jaxprs/0/eqns/0/in/1: expected a whole number"},
      {{{"in", "[0,99999999999]"}},
       "jaxpr-scope /jaxprs/0/eqns/0/in/1: variable '99999999999' is not "
       "defined here"},
      {{{"in", "0"}}, "json-structure /jaxprs/0/eqns/0/in: expected a list"},
      {{{"in", R"([0,{"lit":{"int":"3"}}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1: field 't' is missing"},
      {{{"in", R"([0,{"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1: field 'lit' is missing"},
      {{{"in", R"([0,{"lit":{},"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1/lit: expected a value: 'bits', "
       "'int', 'bool', 'float0' or 'array'"},
      {{{"in", R"([0,{"lit":{"bits":"xyz","repr":"1.0"},"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1/lit/bits: expected hexadecimal "
       "digits"},
      {{{"in", R"([0,{"lit":{"bits":"3f800000"},"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1/lit: field 'repr' is missing"},
      {{{"in", R"([0,{"lit":{"int":"three"},"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1/lit/int: expected a whole "
       "number"},
      {{{"in", R"([0,{"lit":{"array":1},"t":1}])"}},
       "json-structure /jaxprs/0/eqns/0/in/1/lit/array: index 1 is out of "
       "range: 'arrays' has 1 entries"},
      {{{"out", "[[1,0]]"}},
       "jaxpr-rebound /jaxprs/0/eqns/0/out/0/0: variable '1' is already "
       "bound"},
      {{{"out", "[[2,0],[2,0]]"}},
       "jaxpr-rebound /jaxprs/0/eqns/0/out/1/0: variable '2' is already "
       "bound"},
      {{{"out", "[2]"}},
       "json-structure /jaxprs/0/eqns/0/out/0: expected a list"},
      {{{"eqn", R"(,"src":1)"}},
       "json-structure /jaxprs/0/eqns/0/src: index 1 is out of range: 'stacks' "
       "has 1 entries"},
      {{{"eqn", R"(,"ns":["a"])"}},
       "json-structure /jaxprs/0/eqns/0/ns: expected a string"},
      {{{"eqn", R"(,"ctx":{"mesh":4})"}},
       "json-structure /jaxprs/0/eqns/0/ctx/mesh: index 4 is out of range: "
       "'meshes' has 1 entries"},
      {{{"eqn", R"(,"eff":[{"write":8}])"}},
       "jaxpr-scope /jaxprs/0/eqns/0/eff/0/write: variable '8' is not defined "
       "here"},
      {{{"eqn", R"(,"derived":[1])"}},
       "json-structure /jaxprs/0/eqns/0/derived: expected an object"},
      {{{"eqn", R"(,"in":[])"}},
       "json-duplicate-key /jaxprs/0/eqns/0/in: key 'in' is given twice"},
      {{{"params", "[]"}},
       "json-structure /jaxprs/0/eqns/0/params: expected an object"},
      {{{"params", R"({"a":1,"a":2})"}},
       "json-duplicate-key /jaxprs/0/eqns/0/params/a: key 'a' is given twice"},
  });
  Context cx;
  for (StringRef field : {"p", "in", "out"}) {
    std::string text = small({{"eqn", R"(},{"p":"q","in":[],"out":[])"}});
    std::string key = ("\"" + field + "\":").str();
    size_t at = text.rfind(key);
    text.replace(at, key.size(), "\"no\":");
    CHECK(read(cx, text).error() == "json-structure /jaxprs/0/eqns/1: field '" +
                                        field.str() + "' is missing");
  }
}

TEST_CASE("mistakes in values") {
  const std::pair<StringRef, StringRef> mistakes[] = {
      {R"({"jaxpr":3})",
       "jaxpr: index 3 is out of range: 'jaxprs' has 1 entries"},
      {R"({"mesh":1})",
       "mesh: index 1 is out of range: 'meshes' has 1 entries"},
      {R"({"type":2})", "type: index 2 is out of range: 'types' has 2 entries"},
      {R"({"array":1})",
       "array: index 1 is out of range: 'arrays' has 1 entries"},
      {R"({"opaque":1})",
       "opaque: index 1 is out of range: 'opaques' has 1 entries"},
      {R"({"int":"1x"})", "int: expected decimal digits"},
      {R"({"float":1.5})", "float: expected a string"},
      {R"({"float":"1.5","bits":"g"})", "bits: expected hexadecimal digits"},
      {R"({"complex":[1]})", "complex: a complex number has two parts"},
      {R"({"list":{}})", "list: expected a list"},
      {R"({"dict":[[1]]})", "dict/0: expected a key and a value"},
      {R"({"set":3})", "set: expected a list"},
      {R"({"dtype":3})", "dtype: expected a string"},
      {R"({"enum":"E"})", ": field 'name' is missing"},
      {R"({"struct":"S"})", ": field 'fields' is missing"},
      {R"({"spec":{"u":[]}})", "spec: field 'p' is missing"},
      {R"({"sharding":{"mesh":0}})", "sharding: field 'spec' is missing"},
      {R"({"sharding":{"mesh":0,"spec":{"p":[]},"by":"me"}})",
       "sharding/by: expected 'user' or 'jax'"},
      {R"({"sharding":{"opaque":4}})",
       "sharding/opaque: index 4 is out of range: 'opaques' has 1 entries"},
      {R"({"flattree":{"repr":"x"}})", "flattree: field 'counts' is missing"},
      {R"({"treedef":"x","leaves":-1})",
       "leaves: expected a number of at least 0"},
      {R"({"unspecified":false})", "unspecified: expected true"},
      {R"({"hidden":1})", "hidden: expected true or false"},
      {R"({"hiprim":{"params":[]}})", "hiprim: field 'name' is missing"},
      {R"({"hiprim":{"name":"H","params":[["k"]]}})",
       "hiprim/params/0: expected a key and a value"},
      {R"({"callable":{"name":3}})", "callable/name: expected a string"},
      {R"([1,{"type":9}])",
       "1/type: index 9 is out of range: 'types' has 2 entries"},
  };
  for (auto [value, error] : mistakes) {
    std::string text = small({{"params", ("{\"k\":" + value + "}").str()}});
    INFO(text);
    Context cx;
    std::string place = "json-structure /jaxprs/0/eqns/0/params/k";
    std::string wanted = error.starts_with(":") ? place + error.str()
                                                : place + "/" + error.str();
    CHECK(read(cx, text).error() == wanted);
  }
}

TEST_CASE("the same mistakes are found when the file is read in passes") {
  // Equations before inputs: the file is read again, level by level.
  auto sorted = [](std::initializer_list<std::pair<StringRef, StringRef>> c) {
    llvm::json::Value tree = llvm::cantFail(llvm::json::parse(small(c)));
    return llvm::formatv("{0}", tree).str();
  };
  auto error = [](const std::string &text) {
    Context cx;
    return read(cx, text).error();
  };
  CHECK(error(sorted({})) == "");
  CHECK(error(sorted({{"in", "[0,7]"}})) ==
        "jaxpr-scope /jaxprs/0/eqns/0/in/1: variable '7' is not defined here");
  CHECK(error(sorted({{"invars", R"("invars":[[0,0],[0,0]],)"}})) ==
        "jaxpr-rebound /jaxprs/0/invars/1/0: variable '0' is already bound");
  CHECK(error(sorted({{"invars", ""}})) ==
        "json-structure /jaxprs/0: field 'invars' is missing");
  CHECK(error(sorted({{"eqn", R"(,"src":1)"}})) ==
        "json-structure /jaxprs/0/eqns/0/src: index 1 is out of range: "
        "'stacks' has 1 entries");
  CHECK(error(sorted({{"entry", R"("entry":{"jaxpr":4},)"}})) ==
        "json-structure /entry/jaxpr: index 4 is out of range: 'jaxprs' has 1 "
        "entries");
}
