// JsonValuesTest.cpp - what each part of a file becomes, and is written as.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JsonFixture.h"
#include "shardtype/IR/Builder.h"
#include "shardtype/Types/Text.h"
#include <catch2/catch.hpp>

using namespace jsontest;
using Changes = std::initializer_list<std::pair<StringRef, StringRef>>;

/// Reads a changed small program, which must be good and written back the same.
static Program good(Context &cx, Changes changes) {
  std::string text = small(changes);
  Reading reading = read(cx, text);
  INFO(text << '\n' << reading.error());
  REQUIRE(reading.program);
  std::string written = write(*reading.program);
  CHECK(difference(normal(text), normal(written)) == "");
  Reading again = read(cx, written);
  INFO(again.error());
  REQUIRE(again.program);
  CHECK(write(*again.program) == written);
  return std::move(*reading.program);
}

namespace {
/// The value of the parameter `k` of the small program.
struct Param1 {
  Context cx;
  Program program;
  explicit Param1(StringRef json)
      : program(good(cx, {{"params", ("{\"k\":" + json + "}").str()}})) {}
  const Value &value() const {
    return program.value(program.param(program.eqn(EqnId(0)).params, "k"));
  }
  StringRef text() const { return cx.str(value().text); }
  StringRef text2() const { return cx.str(value().text2); }
  const Value &element(unsigned i) const {
    return program.value(value().elements[i]);
  }
};
} // namespace

TEST_CASE("plain values") {
  CHECK(Param1("null").value().kind == Value::None);
  CHECK(Param1("true").value().integer == 1);
  CHECK(Param1("false").value().kind == Value::Bool);
  CHECK(Param1("-7").value().integer == -7);
  CHECK(Param1(R"({"int":"9007199254740993"})").value().integer ==
        9007199254740993);
  CHECK(Param1(R"({"int":"-9223372036854775808"})").value().integer ==
        INT64_MIN);
  Param1 big(R"({"int":"123456789012345678901234567890"})");
  CHECK(big.value().kind == Value::BigInt);
  CHECK(big.text() == "123456789012345678901234567890");
  CHECK(Param1(R"("caf\u00e9 \"x\"\n")").text() == "caf\xc3\xa9 \"x\"\n");
  Param1 number(R"({"float":"1e-05","bits":"3ee4f8b588e368f1"})");
  CHECK(number.value().kind == Value::Float);
  CHECK(number.text() == "1e-05");
  CHECK(number.text2() == "3ee4f8b588e368f1");
  Param1 complex(R"({"complex":[{"float":"1.0","bits":"3ff0000000000000"},)"
                 R"({"float":"nan","bits":"7ff8000000000000"}]})");
  CHECK(complex.value().kind == Value::Complex);
  CHECK(complex.cx.str(complex.element(1).text) == "nan");
}

TEST_CASE("numbers that no exporter writes are accepted") {
  // They come back in the form that the format has for them.
  auto rewritten = [](StringRef json) {
    Context cx;
    Reading reading =
        read(cx, small({{"params", ("{\"k\":" + json + "}").str()}}));
    REQUIRE(reading.program);
    std::string text = write(*reading.program);
    StringRef rest = StringRef(text).split("\"params\":{\"k\":").second;
    return rest.split(",\"out\"").first.drop_back().str();
  };
  CHECK(rewritten("9007199254740993") == R"({"int":"9007199254740993"})");
  CHECK(rewritten("18446744073709551616") ==
        R"({"int":"18446744073709551616"})");
  CHECK(rewritten("1.5") == R"({"float":"1.5","bits":"3ff8000000000000"})");
  CHECK(rewritten(R"({"int":"12"})") == "12");
  CHECK(rewritten(R"({"float":"-0.0"})") ==
        R"({"float":"-0.0","bits":"8000000000000000"})");
}

TEST_CASE("containers") {
  Param1 tuple(R"([1,[],["a",null]])");
  CHECK(tuple.value().kind == Value::Tuple);
  CHECK(tuple.value().elements.size() == 3);
  CHECK(tuple.element(2).elements.size() == 2);
  CHECK(Param1(R"({"list":[1,2]})").value().kind == Value::List);
  Param1 dict(R"({"dict":[["a",1],[2,"b"]]})");
  CHECK(dict.value().kind == Value::Dict);
  CHECK(dict.value().elements.size() == 4);
  Param1 set(R"({"set":["i","j"]})");
  CHECK(set.value().kind == Value::Set);
  CHECK(printValue(set.program, set.program.param(ParamsId(0), "k")) ==
        "frozenset({'i', 'j'})");
  Param1 tupleOfStruct(R"({"struct":"Numbers","fields":{"b":[1],"a":2}})");
  CHECK(tupleOfStruct.value().kind == Value::Struct);
  CHECK(tupleOfStruct.text() == "Numbers");
  CHECK(tupleOfStruct.cx.str(tupleOfStruct.value().names[0]) == "b");
}

TEST_CASE("values of JAX's own classes") {
  CHECK(Param1(R"({"dtype":"float32"})").text() == "float32");
  Param1 member(R"({"enum":"GatherScatterMode","name":"CLIP","value":1})");
  CHECK(member.value().kind == Value::Enum);
  CHECK(member.text() == "GatherScatterMode");
  CHECK(member.text2() == "CLIP");
  CHECK(member.value().integer == 1);
  CHECK(Param1(R"({"enum":"E","name":"A","value":"text"})").text2() == "A");
  CHECK(Param1(R"({"enum":"E","name":"A"})").value().elements.empty());
  CHECK(Param1(R"({"jaxpr":0})").value().kind == Value::Jaxpr);
  CHECK(Param1(R"({"unspecified":true})").value().kind == Value::Unspecified);
  CHECK(Param1(R"({"hidden":true})").value().kind == Value::Hidden);
  CHECK(Param1(R"({"sym":"2*b"})").text() == "2*b");
  Param1 type(R"({"type":1})");
  CHECK(type.value().kind == Value::Type);
  CHECK(str(type.cx, TypeId(type.value().integer)) == "f32[]");
  Param1 mesh(R"({"mesh":0})");
  CHECK(mesh.cx.mesh(MeshId(mesh.value().integer)).axes[0].size == 2);
  CHECK(Param1(R"({"array":0})").value().kind == Value::Array);
  CHECK(Param1(R"({"opaque":0})").value().kind == Value::Opaque);
  Param1 tree(R"-({"flattree":{"counts":[0,1,[2,3]],"repr":"((), ())"}})-");
  CHECK(tree.value().kind == Value::FlatTree);
  CHECK(tree.element(0).elements.size() == 3);
  Param1 definition(R"-({"treedef":"PyTreeDef(*)","leaves":1})-");
  CHECK(definition.value().integer == 1);
  Param1 prng(R"({"prng":"fry","name":"threefry2x32","key_shape":[2]})");
  CHECK(prng.text() == "fry");
  CHECK(prng.text2() == "threefry2x32");
  Param1 function(
      R"({"callable":{"name":"f","qualname":"g.<locals>.f","module":null},)"
      R"("opaque":0})");
  CHECK(function.value().kind == Value::Callable);
  CHECK(function.text() == "f");
  CHECK(function.value().integer == 0);
  CHECK(Param1(R"({"callable":{"name":"f"}})").value().integer == -1);
  Param1 high(R"({"hiprim":{"name":"SearchSorted","params":[["side","right"],)"
              R"(["dimension",0]],"in":[0,1],"out":[1],"opaque":0}})");
  CHECK(high.value().kind == Value::HiPrim);
  CHECK(high.cx.str(high.value().names[1]) == "dimension");
  CHECK(high.cx.str(high.value().names[2]) == "$in");
  CHECK(high.element(2).elements.size() == 2);
}

TEST_CASE("specs and shardings") {
  Param1 spec(R"({"spec":{"p":[null,["X"],["X","Y"],"unconstrained"],)"
              R"("u":["Z"],"r":[],"k":"max"}})");
  CHECK(str(spec.cx, spec.program.spec(spec.value())) ==
        "P(None, 'X', ('X', 'Y'), UNCONSTRAINED, unreduced={'Z'}, "
        "unreduced_kind=max)");
  Param1 sharding(
      R"({"sharding":{"mesh":0,"spec":{"p":["inherit",["X"]],"u":[],"r":[],)"
      R"("k":null},"memory_kind":"device","by":"jax"}})");
  CHECK(sharding.value().kind == Value::Sharding);
  CHECK(sharding.value().by == Value::Jax);
  CHECK(sharding.text() == "device");
  CHECK(sharding.program.spec(sharding.element(0)).partitions[0].kind ==
        SpecEntry::Inherit);
  Param1 other(R"({"sharding":{"opaque":0}})");
  CHECK(other.value().kind == Value::Opaque);
  CHECK(other.text() == "sharding");
  // A spec of versions before kinds.
  Context cx;
  Reading reading = read(
      cx, small({{"params", R"({"k":{"spec":{"p":[],"u":["X"],"r":[]}}})"}}));
  REQUIRE(reading.program);
  CHECK(StringRef(write(*reading.program)).contains(R"("k":"sum")"));
}

TEST_CASE("what is not known is kept") {
  for (StringRef value :
       {R"({"newtag":{"mesh":0,"x":[1,2.5e3,"a \" b"]}})", R"({"":{}})",
        R"({"a":1,"b":{"dtype":"f"}})", R"({"dtype":"int8","more":[1]})",
        R"({"int":"77","unit":"byte"})",
        R"({"sharding":{"mesh":0,"spec":{"p":[],"u":[],"r":[],"k":null,)"
        R"("z":1},"memory_kind":null,"logical_device_ids":[1,0]},"w":{}})",
        R"({"spec":{"p":[],"u":[],"r":[],"k":null,"z":[]}})",
        R"({"sharding":{"opaque":0,"note":"n"}})",
        R"({"flattree":{"counts":[1],"repr":"x","y":2},"z":3})",
        R"({"callable":{"name":null,"src":0,"lang":"py"},"opaque":0,"q":1})",
        R"({"hiprim":{"name":"H","params":[],"in":[],"out":[],"v":2},"u":0})",
        R"({"float":"0.1","bits":"3fb999999999999a","why":"user"})"})
    Param1 kept(value);

  const std::pair<StringRef, StringRef> places[] = {
      {"root", R"(,"apis":[{"kind":"call"}],"expect":{"a":null},"n":1e5)"},
      {"axis", R"({"name":"X","size":2,"type":"Explicit","color":"red"})"},
      {"mesh", R"(,"rel":[["Auto",null],["Explicit",["Y"]]])"},
      {"mesh", R"(,"device":{"kind":"tpu","num_cores":2,"platform":null,)"
               R"("slice":1})"},
      {"type", R"("t":"array","shape":[8,4],"dtype":"float32","mesh":0,"z":0)"},
      {"type", R"("t":"array","shape":[8],"dtype":"float32","mesh":0,)"
               R"("spec":{"p":[["X"]],"u":[],"r":[],"k":null,"z":0})"},
      {"type", R"("t":"array","shape":[],"dtype":"key<fry>","phys":)"
               R"({"shape":[4],"dtype":"uint32"})"},
      {"type", R"("t":"token","z":0)"},
      {"type", R"("t":"ref","inner":1,"mem":"vmem","kind":"scratch")"},
      {"type", R"-("t":"opaque","class":"m.T","repr":"T()","short":"T[]")-"},
      {"type", R"-("t":"opaque","class":"m.T","repr":"T()")-"},
      {"type", R"("t":"quantum","qubits":3)"},
      {"source", R"({"file":"a.py","func":null,"line":3,"col":0,"eline":0,)"
                 R"("ecol":0,"module":"a"})"},
      {"array", R"({"shape":[300],"dtype":"int8","omitted":true,"hash":)"
                R"("sha256:00","splat":{"int":"1"},"name":"w"})"},
      {"opaque", R"({"class":"m.C","repr":"<C>","str":"C","hash":[1],"id":9})"},
      {"jaxpr", R"("note":{"a":[]},"high":true,)"},
      {"debug", R"({"for":"jit","src":null,"args":["x",null],"results":null,)"
                R"("extra":1})"},
      {"eqn", R"(,"api":3,"orig":{"p":"pjit"})"},
      {"eqn", R"(,"ctx":{"mesh":null,"compute_type":"device_host"})"},
      {"eqn", R"(,"ctx":{"no_collectives":["X"],"layout_mode":"X"})"},
      {"eqn", R"(,"derived":{"rule":{"jvp":0,"consts":[0]},"vma":"off"})"},
      {"eqn", R"(,"eff":[{"axis":"X","w":1},{"read":0},{"opaque":"e","class":)"
              R"("m.E"},{"new":[0]}])"},
      {"effects", R"([{"accum":1,"more":2},{"new":"x"},{"opaque":"o"}])"},
      {"in", R"([0,{"lit":{"bits":"3f800000","repr":"1.0"},"t":1,"u":2}])"},
      {"in", R"([0,{"lit":{"int":"1","base":10},"t":1}])"},
      {"in", R"([0,{"lit":{"int":"1","repr":"1"},"t":1}])"},
      {"in", R"([0,{"lit":{"float0":true},"t":1}])"},
      {"in", R"([0,{"lit":{"array":0},"t":1}])"},
      {"entry", R"("entry":{"jaxpr":0,"name":null,"arg_names":["x",null],)"
                R"("result_paths":["result"],"in_tree":"T","in_shardings":)"
                R"([{"unspecified":true},{"mesh":0}],"plain":0},)"},
      {"entry", R"("entry":{"jaxpr":0,"name":"f","arg_paths":["x","y/0"],)"
                R"("result_paths":["result"]},)"},
      {"context", R"({"mesh":0,"concrete_mesh":0,"flags":{"x64":false}})"},
  };
  for (auto [place, value] : places) {
    INFO(place.str() << ": " << value.str());
    Context cx;
    good(cx, {{place, value}});
  }
}

TEST_CASE("meshes: devices, names that are no strings") {
  Context cx;
  Program program = good(
      cx, {{"axis", R"-({"name":{"repr":"(1, 2)"},"size":2,"type":"Auto"})-"},
           {"params", R"-({"a":{"spec":{"p":[[{"repr":"(1, 2)"}]],"u":[],)-"
                      R"("r":[],"k":null}}})"}});
  CHECK(cx.str(cx.mesh(program.file.meshes[0]).axes[0].name) == "(1, 2)");
  Program device =
      good(cx, {{"mesh", R"(,"device":{"kind":"cpu","num_cores":null,)"
                         R"("platform":"cpu"})"},
                {"params", R"({"m":{"mesh":0}})"}});
  // Types forget the device, parameters keep it, and both are written back.
  MeshId given = device.file.meshes[0];
  CHECK(cx.mesh(given).device->numCores == "None");
  const Type &type = cx.type(device.var(VarId(0)).type);
  CHECK(type.sharding.mesh != given);
  CHECK(type.sharding.mesh == cx.forTypes(given));
}

TEST_CASE("types: dims, keys, Refs and strangers") {
  auto text = [](StringRef type) {
    Context cx;
    Program program = good(cx, {{"type", type}});
    return str(cx, program.var(VarId(0)).type, TypeForm::Short);
  };
  CHECK(text(R"("t":"array","shape":[{"sym":"b*2"},4],"dtype":"bfloat16")") ==
        "bf16[b*2,4]");
  CHECK(text(R"("t":"array","shape":[4],"dtype":"key<fry>","phys":{"shape":)"
             R"([2],"dtype":"uint32"})") == "key<fry>[4]");
  CHECK(text(R"("t":"ref","inner":1)") == "Ref{f32[]}");
  CHECK(text(R"("t":"array","shape":[4],"dtype":"int8","mem":"host")") ==
        "i8<host>[4]");
  CHECK(text(R"("t":"array","shape":[8,4],"dtype":"float32","mesh":0,)"
             R"("spec":{"p":[["X"],null],"u":[],"r":[],"k":null})") ==
        "f32[8@X,4]");
  // A dtype that we do not have: kept whole, printed as JAX would.
  CHECK(text(R"("t":"array","shape":[8,4],"dtype":"key<new>","mesh":0,)"
             R"("spec":{"p":[["X"],null],"u":[],"r":[],"k":null})") ==
        "key<new>[8@X,4]");
  CHECK(text(R"("t":"array","shape":[3],"dtype":"float9_e4m4","mesh":0,)"
             R"("spec":{"p":[],"u":["X"],"r":[],"k":"sum"})") ==
        "f9_e4m4[3]{U:X}");
  CHECK(text(R"-("t":"opaque","class":"m.T","repr":"T()","short":"T[]")-") ==
        "T[]");
  CHECK(text(R"("t":"token")") == "Tok");
}

TEST_CASE("an inner type may come later") {
  Context cx;
  Program program =
      good(cx, {{"type",
                 R"("t":"future","inner":3},{"t":"ref","inner":0},)"
                 R"({"t":"token"},{"t":"array","shape":[2],"dtype":"int8")"}});
  auto type = [&](unsigned i) { return cx.type(program.file.types[i].type); };
  CHECK(type(0).kind == Type::Future);
  CHECK(type(0).inner == program.file.types[3].type);
  CHECK(type(1).inner == program.file.types[0].type);
}

TEST_CASE("older spellings keep their names") {
  Context cx;
  Program program = good(
      cx, {{"eqn", R"(},{"p":"pjit","in":[0],"params":{"name":"f","jaxpr":)"
                   R"({"jaxpr":0},"inline":false},"out":[[3,0]]},{"p":"scan",)"
                   R"("in":[0],"params":{"num_consts":0,"num_carry":1,)"
                   R"("linear":[false],"jaxpr":{"jaxpr":0},"length":2,)"
                   R"("reverse":false,"unroll":1,"_split_transpose":false},)"
                   R"("out":[[4,0]])"}});
  CHECK(program.name(program.eqn(EqnId(1))) == "pjit");
  CHECK(program.param(program.eqn(EqnId(2)).params, "num_carry").valid());
}

TEST_CASE("numbers of variables are kept where text may refer to them") {
  Context cx;
  Program usual = good(cx, {});
  CHECK(usual.file.varIds.empty());
  Program odd = good(cx, {{"invars", R"("invars":[[10,0],[4,0]],)"},
                          {"in", "[10,4]"},
                          {"outs", R"("outs":[2,10],)"}});
  CHECK(odd.file.varIds == std::vector<uint32_t>{10, 4, 2});
  // Dropped results have no number; names and missing types are kept.
  Program dropped = good(cx, {{"out", R"([[null,0],[2,0,"y"],[3,null]])"},
                              {"outs", R"("outs":[2,3],)"}});
  CHECK(dropped.var(VarId(2)).dropped);
  CHECK(cx.str(dropped.var(VarId(3)).name()) == "y");
  CHECK_FALSE(dropped.var(VarId(4)).type.valid());
  // One number in two jaxprs: they are different variables, and get numbers of
  // their own when the program is written.
  std::string text = small({{"debug", R"(null},{"invars":[[0,1]],"eqns":[],)"
                                      R"("outs":[0],"effects":[])"}});
  Reading reading = read(cx, text);
  INFO(reading.error());
  REQUIRE(reading.program);
  CHECK(StringRef(write(*reading.program)).contains(R"("invars":[[3,1]])"));
}

TEST_CASE("a program from text is written with all that JSON wants") {
  Context cx;
  Program program(cx);
  program.fromText = true;
  auto literal = [&](StringRef text, DType dtype) {
    Literal result;
    result.kind = Literal::Text;
    result.type = cx.array(dtype, {});
    result.repr = cx.intern(text);
    return program.intern(result);
  };
  SmallVector<Atom> atoms;
  const std::tuple<StringRef, DType, StringRef> literals[] = {
      {"2.0", DType::F32, R"({"bits":"40000000","repr":"2.0"})"},
      {"-1e+30", DType::F32, R"({"bits":"f149f2ca","repr":"-1e+30"})"},
      {"0.1", DType::BF16, R"({"bits":"3dcd","repr":"0.1"})"},
      {"1.0", DType::F8E4M3FN, R"({"bits":"38","repr":"1.0"})"},
      {"-0.5", DType::F4E2M1FN, R"({"bits":"09","repr":"-0.5"})"},
      {"inf", DType::F16, R"({"bits":"7c00","repr":"inf"})"},
      {"nan", DType::F64, R"({"bits":"7ff8000000000000","repr":"nan"})"},
      {"(1-2e-05j)", DType::C64,
       R"-({"bits":"b7a7c5ac3f800000","repr":"(1-2e-05j)"})-"},
      {"2j", DType::C64, R"({"bits":"4000000000000000","repr":"2j"})"},
      {"-3", DType::I4, R"({"int":"-3"})"},
      {"True", DType::Bool, R"({"bool":true})"},
      {"(b'',)", DType::Float0, R"({"float0":true})"},
      {"[...]", DType::F32, R"({"repr":"[...]"})"},
  };
  for (auto [text, dtype, json] : literals)
    atoms.push_back(literal(text, dtype));
  Value opaque;
  opaque.kind = Value::OpaqueText;
  opaque.text = cx.intern("<function f at 0xXXXX>");
  Value hidden;
  hidden.kind = Value::Hidden;
  Param params[] = {{cx.intern("a"), program.intern(opaque)},
                    {cx.intern("b"), program.intern(hidden)}};
  Builder builder(program);
  builder.begin();
  VarId x = builder.addInput(cx.array(DType::F32, {2}), cx.intern("x"));
  atoms.push_back(x);
  builder.addEqn(*program.primitive("op", nullptr), atoms,
                 program.internParams(params), {TypeId()},
                 program.intern(EqnInfo()));
  program.entry.jaxpr = builder.finish({x});

  std::string text = write(program);
  for (auto [repr, dtype, json] : literals) {
    INFO(json.str() << " in " << text);
    CHECK(StringRef(text).contains(("{\"lit\":" + json + ",").str()));
  }
  CHECK(StringRef(text).contains(R"("producer":{"name":"text"})"));
  CHECK(
      StringRef(text).contains(R"("params":{"a":{"opaque":0},"b":{"hidden")"));
  CHECK(StringRef(text).contains(R"("invars":[[0,)"));
  CHECK(StringRef(text).contains(R"("out":[[1,null]])"));
  Reading again = read(cx, text);
  INFO(again.error());
  REQUIRE(again.program);
  CHECK(again.program->fromText);
  CHECK(write(*again.program) == text);
  CHECK(print(*again.program) == print(program));
  const Value &value = again.program->value(
      again.program->param(again.program->eqn(EqnId(0)).params, "a"));
  CHECK(value.kind == Value::OpaqueText);
}

TEST_CASE("bytes that are no UTF-8 do not reach a file") {
  Context cx;
  Program program(cx);
  Builder builder(program);
  builder.begin();
  VarId x = builder.addInput(cx.array(DType::F32, {}));
  program.entry.jaxpr = builder.finish({x});
  program.entry.name = cx.intern("a\xff\x01");
  Reading again = read(cx, write(program));
  INFO(again.error());
  REQUIRE(again.program);
  CHECK(cx.str(again.program->entry.name) == "a\xef\xbf\xbd\x01");
}

TEST_CASE("a body may come before or after what holds it") {
  Context cx;
  Program program = good(
      cx, {{"debug", R"(null},{"constvars":[[20,1]],"consts":[0],"invars":)"
                     R"([[21,0]],"mesh":0,"eqns":[],"outs":[21,20],"effects":)"
                     R"([{"axis":"X"}])"},
           {"params", R"({"jaxpr":{"jaxpr":1},"branches":[{"jaxpr":1}]})"}});
  REQUIRE(program.jaxprs.size() == 2);
  CHECK(program.jaxprs[1].constArrays[0] == 0);
  CHECK(program.jaxprs[1].outs[1].var() == program.jaxprs[1].constvar(0));
  CHECK(program.jaxprs[1].mesh == program.file.meshes[0]);
}

TEST_CASE("config files are read as values") {
  DiagnosticList diags;
  std::optional<JsonValue> value = readJsonValue(
      R"-({"mesh":"X=4","in":["P(X)",null],"n":-2.5,"big":12,"on":true,)-"
      R"("deep":{"b":1,"a":2}})",
      diags);
  REQUIRE(value);
  CHECK(value->kind == JsonValue::Object);
  CHECK(value->get("mesh")->string == "X=4");
  CHECK(value->get("in")->list[1].kind == JsonValue::Null);
  CHECK(value->get("n")->number == -2.5);
  CHECK(value->get("big")->number == 12);
  CHECK(value->get("on")->boolean);
  CHECK(value->get("deep")->object[0].key == "b"); // In file order.
  CHECK(value->get("none") == nullptr);
  CHECK(diags.empty());

  auto error = [](StringRef text) {
    Reading reading;
    CHECK_FALSE(readJsonValue(text, reading.diags));
    return reading.error();
  };
  CHECK(error(R"({"a":{"b":[1,{"c":1,"c":2}]}})") ==
        "json-duplicate-key /a/b/1/c: key 'c' is given twice");
  CHECK(error("") == "input-empty : the input is empty");
  CHECK(StringRef(error("{\"a\":")).starts_with("json-syntax"));
  CHECK(readJsonValue("3", diags)->number == 3);
  CHECK(readJsonValue("\"x\"", diags)->string == "x");
}
