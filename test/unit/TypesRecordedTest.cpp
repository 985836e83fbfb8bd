// TypesRecordedTest.cpp - ours compared with what real JAX printed and refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `types.jsonl` is written by `record_types.py`, which runs JAX. A record holds
// how a type, spec or mesh is built and, under `jax`, its texts or the error.
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <catch2/catch.hpp>
#include <map>

using namespace shardtype;
namespace json = llvm::json;

namespace {

std::vector<json::Object> records(StringRef what) {
  auto file = llvm::MemoryBuffer::getFile(SHARDTYPE_SOURCE_DIR
                                          "/test/unit/types.jsonl");
  REQUIRE(file);
  std::vector<json::Object> found;
  SmallVector<StringRef, 0> lines;
  (*file)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    llvm::Expected<json::Value> value = json::parse(line);
    REQUIRE(bool(value));
    if (value->getAsObject()->getString("what") == what)
      found.push_back(std::move(*value->getAsObject()));
  }
  REQUIRE_FALSE(found.empty());
  return found;
}

ReductionKind kindOf(const json::Object &object, bool anyUnreduced) {
  std::optional<StringRef> name = object.getString("k");
  for (ReductionKind kind :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    if (name && *name == str(kind))
      return kind;
  return anyUnreduced ? ReductionKind::Sum : ReductionKind::None;
}

/// Builds what a record describes; names the check that refuses it.
struct Maker {
  Context cx;

  StringId name(const json::Value &value) {
    return cx.intern(*value.getAsString());
  }
  void names(const json::Object &object, StringRef key,
             SmallVectorImpl<StringId> &out) {
    if (const json::Array *array = object.getArray(key))
      for (const json::Value &value : *array)
        out.push_back(name(value));
  }
  MeshId mesh(StringRef text) {
    if (text.empty())
      return MeshId();
    TextResult<MeshId> mesh = parseMesh(cx, text);
    REQUIRE(mesh);
    return *mesh;
  }
  PartitionSpec spec(const json::Object &record) {
    PartitionSpec spec;
    for (const json::Value &value : *record.getArray("spec")) {
      SpecEntry &entry = spec.partitions.emplace_back();
      if (const json::Array *several = value.getAsArray())
        for (const json::Value &axis : *several)
          entry.axes.push_back(name(axis));
      else if (value.getAsString())
        entry.axes.push_back(name(value));
    }
    names(record, "u", spec.unreduced);
    names(record, "r", spec.reduced);
    spec.kind = kindOf(record, !spec.unreduced.empty());
    return spec;
  }
  /// Axes of a manual type; one that the mesh lacks is refused by name.
  std::optional<std::string> axes(const json::Object &mat, StringRef key,
                                  const Mesh &mesh, AxisSet &out) {
    SmallVector<StringId, 4> list;
    names(mat, key, list);
    for (StringId axis : list) {
      std::optional<unsigned> at = mesh.find(axis);
      if (!at)
        return "no such axis";
      out.insert(*at);
    }
    return std::nullopt;
  }

  static std::string word(const SpecError &error) {
    static const std::map<SpecError::Kind, std::string> Words = {
        {SpecError::Overlap, "overlap"},
        {SpecError::KindWithoutU, "kind-without-unreduced"},
        {SpecError::Duplicate, "duplicate"},
        {SpecError::UnknownAxis, "unknown-axis"},
        {SpecError::Unconstrained, "unconstrained"},
        {SpecError::AxisType, "axis-type"},
        {SpecError::Rank, "rank"},
        {SpecError::Indivisible, "indivisible"}};
    return Words.at(error.kind);
  }

  /// The type, or the word of the check that refuses it.
  std::optional<std::string> type(const json::Object &record, TypeId &out) {
    Type type;
    for (const json::Value &size : *record.getArray("shape"))
      type.shape.push_back(*size.getAsInteger());
    std::optional<DType> dtype = parseDType(*record.getString("dtype"));
    REQUIRE(dtype);
    type.dtype = *dtype;
    type.weak = record.getBoolean("weak").value_or(false);
    StringRef memory = record.getString("mem").value_or("Device");
    type.memory = memory == "Host"  ? MemorySpace::Host
                  : memory == "Any" ? MemorySpace::Any
                                    : MemorySpace::Device;
    MeshId meshId = mesh(*record.getString("mesh"));
    auto sharding = resolve(cx, spec(record), meshId, type.rank());
    if (!sharding)
      return word(sharding.error);
    type.sharding = *sharding;
    if (auto error = checkDivisible(cx, type.sharding, type.shape))
      return word(*error);
    if (const json::Object *mat = record.getObject("mat"))
      if (auto refused = manual(*mat, meshId, type.manual))
        return refused;
    out = cx.intern(type);
    return std::nullopt;
  }

  std::optional<std::string> manual(const json::Object &mat, MeshId meshId,
                                    ManualAxisType &out) {
    const Mesh &m = cx.meshOrEmpty(meshId);
    for (auto [key, set] :
         {std::pair("v", &out.varying), std::pair("u", &out.unreduced),
          std::pair("r", &out.reduced)})
      if (auto refused = axes(mat, key, m, *set))
        return refused;
    out.kind = kindOf(mat, !out.unreduced.empty());
    if (auto error = checkManual(cx, out, meshId))
      return "manual-" + word(*error);
    return std::nullopt;
  }
};

std::string texts(const json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

} // namespace

/// Text does not tell of a manual type's kind, nor of weak types when short.
static Type readable(Type type, bool keepWeak) {
  type.weak = type.weak && keepWeak;
  if (type.manual.kind != ReductionKind::None)
    type.manual.kind = ReductionKind::Sum;
  return type;
}

static void compareTexts(Maker &maker, const json::Object &jax, TypeId id) {
  Context &cx = maker.cx;
  std::string longText = str(cx, id, TypeForm::Long), shortText = str(cx, id);
  const Type &type = cx.type(id);
  const Sharding &sharding = type.sharding;
  CHECK(longText == *jax.getString("long"));
  CHECK(shortText == *jax.getString("short"));
  CHECK(shortText + axisTypesText(cx, cx.meshOrEmpty(sharding.mesh)) ==
        *jax.getString("axes"));
  CHECK(str(cx, toSpec(cx, sharding)) == *jax.getString("spec"));
  for (const std::string &text : {longText, shortText}) {
    TextResult<TypeId> read = parseType(cx, text, sharding.mesh);
    INFO(text << ": " << read.error.message);
    REQUIRE(read);
    CHECK(*read == cx.intern(readable(type, text == longText)));
  }
}

TEST_CASE("types are built, refused and printed as by JAX") {
  Maker maker;
  unsigned built = 0, refusals = 0;
  for (const json::Object &record : records("type")) {
    INFO(texts(json::Object(record)));
    const json::Object &jax = *record.getObject("jax");
    TypeId id;
    std::optional<std::string> refused = maker.type(record, id);
    REQUIRE(refused.has_value() == (jax.get("error") != nullptr));
    if (!refused) {
      ++built;
      compareTexts(maker, jax, id);
      if (std::optional<int64_t> bits = record.getInteger("bits"))
        CHECK(info(maker.cx.type(id).dtype).bits == *bits);
      continue;
    }
    ++refusals;
    if (*refused != "no such axis") // JAX: a KeyError or AssertionError.
      CHECK(*refused == jax.getString("why").value_or("?").str());
  }
  CHECK(built > 250);
  CHECK(refusals > 700);
}

TEST_CASE("specs are read and printed as by JAX") {
  Maker maker;
  // What Python's syntax or JAX refuse and we read, or the other way round.
  const std::map<std::string, std::string> different = {
      {"P(unreduced={'x'}, unreduced_kind='max')",
       "P(unreduced={'x'}, unreduced_kind=max)"},
      {"P('x' 'y')", "error"}};
  for (const json::Object &record : records("spec")) {
    std::string text = record.getString("text")->str();
    INFO(text);
    TextResult<PartitionSpec> spec = parseSpec(maker.cx, text);
    std::string ours = spec ? str(maker.cx, *spec) : "error";
    const json::Object *error = record.getObject("jax");
    if (auto it = different.find(text); it != different.end()) {
      CHECK(ours == it->second);
    } else if (!error) {
      CHECK(ours == *record.getString("jax"));
    } else if (spec) {
      // Read, since the fault needs no offset: `resolve` names the check.
      MeshId mesh = maker.mesh("x=2,y=2,z=2");
      auto sharding = resolve(maker.cx, *spec, mesh, spec->partitions.size());
      REQUIRE_FALSE(sharding);
      CHECK(Maker::word(sharding.error) == error->getString("why")->str());
    } else {
      CHECK(error->get("why")->getAsNull());
    }
    if (spec)
      CHECK(str(maker.cx, *parseSpec(maker.cx, ours)) == ours);
  }
}

TEST_CASE("meshes are printed as by JAX, and read back") {
  Maker maker;
  Context &cx = maker.cx;
  for (const json::Object &record : records("mesh")) {
    INFO(texts(json::Object(record)));
    StringRef kind = *record.getString("kind");
    Mesh mesh = cx.meshOrEmpty(maker.mesh(*record.getString("mesh")));
    mesh.concrete = kind == "concrete";
    if (kind == "device")
      mesh.device = AbstractDevice{"cpu", "None", "cpu"};
    std::string repr;
    llvm::raw_string_ostream os(repr);
    print(os, cx, mesh, /*repr=*/true);
    CHECK(str(cx, mesh) == *record.getString("str"));
    CHECK(repr == *record.getString("repr"));
    for (const std::string &text : {str(cx, mesh), repr}) {
      TextResult<MeshId> read = parseMeshRepr(cx, text);
      INFO(read.error.message);
      REQUIRE(read);
      CHECK(cx.mesh(*read) == mesh);
    }
  }
}

TEST_CASE("types match where JAX's typematch says so") {
  Maker maker;
  for (const json::Object &record : records("match")) {
    std::vector<TypeId> ids;
    for (const json::Value &value : *record.getArray("types"))
      REQUIRE_FALSE(maker.type(*value.getAsObject(), ids.emplace_back()));
    for (auto [i, row] : llvm::enumerate(*record.getArray("rows")))
      for (auto [j, bit] : llvm::enumerate(*row.getAsString())) {
        INFO(i << " and " << j);
        CHECK(typematch(maker.cx, ids[i], ids[j]) == (bit == '1'));
      }
  }
}

TEST_CASE("Refs print and match as in JAX") {
  Maker maker;
  const json::Object record = std::move(records("refmatch").front());
  std::vector<TypeId> refs;
  for (const json::Value &value : *record.getArray("types")) {
    TypeId inner;
    REQUIRE_FALSE(maker.type(*value.getAsObject(), inner));
    for (const json::Value &memory : *record.getArray("memory")) {
      Type ref;
      ref.kind = Type::Ref;
      ref.inner = inner;
      if (memory.getAsString())
        ref.text = maker.name(memory);
      refs.push_back(maker.cx.intern(ref));
    }
  }
  for (size_t i = 0; i < refs.size(); ++i) {
    StringRef row = *(*record.getArray("rows"))[i].getAsString();
    std::string shortText = str(maker.cx, refs[i]);
    CHECK(str(maker.cx, refs[i], TypeForm::Long) ==
          *(*record.getArray("str"))[i].getAsString());
    CHECK(shortText == *(*record.getArray("short"))[i].getAsString());
    TypeId inner = maker.cx.type(refs[i]).inner;
    TextResult<TypeId> read =
        parseType(maker.cx, shortText, maker.cx.type(inner).sharding.mesh);
    REQUIRE(read);
    CHECK(*read == refs[i]);
    for (size_t j = 0; j < refs.size(); ++j)
      CHECK(typematch(maker.cx, refs[i], refs[j]) == (row[j] == '1'));
  }
  CHECK(str(maker.cx, maker.cx.token()) ==
        *records("token").front().getString("str"));
}
