// ReadTypes.cpp - partition specs and the table of types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tables.h"
#include "llvm/ADT/StringSwitch.h"

using namespace shardtype;
using namespace shardtype::json;

/// How deep Refs and futures may hold one another.
static constexpr unsigned MaxTypeNesting = 32;

ReductionKind json::readReductionKind(Ref kind) {
  for (ReductionKind known :
       {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
    if (kind.string() == str(known))
      return known;
  bad(kind, "expected null, 'sum', 'max' or 'min'");
}

/// The kind of a spec or manual type: none if nothing is unreduced. Versions
/// before there were kinds leave it out and mean a sum.
static ReductionKind kindOf(const Fields &fields, bool anyUnreduced) {
  Ref kind = fields.getIfNotNull("k");
  if (!kind)
    return anyUnreduced ? ReductionKind::Sum : ReductionKind::None;
  ReductionKind result = readReductionKind(kind);
  if (!anyUnreduced)
    bad(kind, "there is a kind but nothing unreduced");
  return result;
}

static SpecEntry readEntry(Tables &tables, Ref value) {
  SpecEntry entry;
  if (value.isNull())
    return entry;
  if (value.isString()) {
    if (value.chars() == "unconstrained")
      entry.kind = SpecEntry::Unconstrained;
    else if (value.chars() == "inherit")
      entry.kind = SpecEntry::Inherit;
    else
      bad(value, "expected a list of axes, null, 'unconstrained' or 'inherit'");
    return entry;
  }
  for (Ref name : Items(value.array()))
    entry.axes.push_back(tables.axisName(name));
  return entry;
}

PartitionSpec json::readSpec(Tables &tables, Ref value, Extra &extra) {
  Fields fields(value, {"p", "u", "r", "k"});
  PartitionSpec spec;
  for (Ref entry : Items(fields.need("p").array()))
    spec.partitions.push_back(readEntry(tables, entry));
  if (Ref names = fields.getIfNotNull("u"))
    for (Ref name : Items(names.array()))
      spec.unreduced.push_back(tables.axisName(name));
  if (Ref names = fields.getIfNotNull("r"))
    for (Ref name : Items(names.array()))
      spec.reduced.push_back(tables.axisName(name));
  spec.kind = kindOf(fields, !spec.unreduced.empty());
  if (!fields.extra().empty())
    extra.add("spec", value);
  return spec;
}

unsigned TypeReader::axis(Ref name, MeshId mesh) {
  StringId id = tables_.axisName(name);
  if (std::optional<unsigned> axis = tables_.cx.meshOrEmpty(mesh).find(id))
    return *axis;
  bad(name, "the type's mesh has no axis '" + tables_.cx.str(id) + "'");
}

/// A set of a manual axis type.
AxisSet TypeReader::manualAxes(Ref names, MeshId mesh) {
  AxisSet set;
  AxisSet manual = tables_.cx.meshOrEmpty(mesh).axesOf(AxisType::Manual);
  if (!names)
    return set;
  for (Ref name : Items(names.array())) {
    unsigned position = axis(name, mesh);
    if (set.contains(position))
      bad(name, "this axis stands twice in the set");
    if (!manual.contains(position))
      bad(name, "this axis is not Manual in the type's mesh");
    set.insert(position);
  }
  return set;
}

/// Types hold Explicit axes only (spec 01, 2.6): others are left out.
void TypeReader::readSharding(const Fields &fields, Type &type, Extra &extra) {
  Sharding &sharding = type.sharding;
  sharding.dims.resize(type.shape.size());
  Ref value = fields.getIfNotNull("spec");
  if (!value)
    return;
  Fields spec(value, {"p", "u", "r", "k"});
  Ref entries = spec.need("p").array();
  if (entries.size() > type.rank())
    bad(entries, "a type of rank " + llvm::Twine(type.rank()) +
                     " has no dim for all these entries");
  AxisSet used,
      explicitAxes =
          tables_.cx.meshOrEmpty(sharding.mesh).axesOf(AxisType::Explicit);
  auto use = [&](Ref name, unsigned position) {
    if (used.contains(position))
      bad(name, "this axis stands twice in the type");
    used.insert(position);
  };
  for (auto [dim, entry] : llvm::enumerate(Items(entries))) {
    if (!entry.isArray()) {
      readEntry(tables_, entry); // Null or a word; types hold neither.
      continue;
    }
    for (Ref name : Items(entry)) {
      unsigned position = axis(name, sharding.mesh);
      use(name, position);
      if (explicitAxes.contains(position))
        sharding.dims[dim].push_back(static_cast<uint8_t>(position));
    }
  }
  auto set = [&](Ref names) {
    AxisSet axes;
    if (!names)
      return axes;
    for (Ref name : Items(names.array())) {
      unsigned position = axis(name, sharding.mesh);
      use(name, position);
      axes.insert(position);
      if (!explicitAxes.contains(position))
        bad(name, "this axis is unreduced or reduced but not Explicit");
    }
    return axes;
  };
  sharding.unreduced = set(spec.getIfNotNull("u"));
  sharding.reduced = set(spec.getIfNotNull("r"));
  sharding.kind = kindOf(spec, !sharding.unreduced.empty());
  if (!spec.extra().empty())
    extra.add("spec", value);
}

void TypeReader::readManual(const Fields &fields, Type &type, Extra &extra) {
  Ref value = fields.getIfNotNull("mat");
  if (!value)
    return;
  MeshId mesh = type.sharding.mesh;
  Fields mat(value, {"v", "u", "r", "k"});
  type.manual.varying = manualAxes(mat.getIfNotNull("v"), mesh);
  type.manual.unreduced = manualAxes(mat.getIfNotNull("u"), mesh);
  type.manual.reduced = manualAxes(mat.getIfNotNull("r"), mesh);
  type.manual.kind = kindOf(mat, !type.manual.unreduced.empty());
  if (!mat.extra().empty())
    extra.add("mat", value);
}

static std::optional<MemorySpace> readMemory(Ref value) {
  if (!value)
    return MemorySpace::Device;
  return llvm::StringSwitch<std::optional<MemorySpace>>(value.string())
      .Case("device", MemorySpace::Device)
      .Case("host", MemorySpace::Host)
      .Case("any", MemorySpace::Any)
      .Default(std::nullopt);
}

static int64_t readDim(Tables &tables, Ref value) {
  if (!value.isObject())
    return value.integer(0);
  return Dim::symbolic(tables.string(Fields(value, {"sym"}).need("sym")));
}

/// Whether `phys` says of a key dtype what we know anyway.
static bool isKnownPhysical(Ref phys, DType dtype) {
  if (!isKey(dtype))
    return false;
  Fields fields(phys, {"shape", "dtype"});
  ArrayRef<int64_t> known = keyDataShape(dtype);
  Ref shape = fields.need("shape").array();
  bool same = fields.extra().empty() && shape.size() == known.size() &&
              fields.need("dtype").string() == "uint32";
  for (auto [i, size] : llvm::enumerate(Items(shape)))
    same = same && size.isInt() && size.integer() == known[i];
  return same;
}

/// The names of axes as in `{V:(X,Y)}`.
static std::string setText(StringRef label, Ref names) {
  if (!names || !names.isArray() || names.size() == 0)
    return "";
  std::string text;
  for (Ref name : Items(names))
    text += (text.empty() ? "" : ",") +
            (name.isString() ? name.chars().str() : "?");
  if (names.size() > 1)
    text = "(" + text + ")";
  return (label + ":" + text).str();
}

/// How a type of which we know only the kind prints: `<kind>`, which the text
/// parser reads back as such a type.
static std::string printKind(StringRef kind) {
  std::string text = "<";
  for (char c : kind)
    text += llvm::isAlnum(c) || StringRef("_-").contains(c) ? c : '_';
  return text + ">";
}

/// How JAX prints an array type of which we know only the names: the dtype is
/// none of ours, or its memory space.
static std::string printUnknown(const Fields &fields) {
  std::string text = fields.need("dtype").string().str();
  bool plain = StringRef(text).find_first_of("<{") == StringRef::npos;
  for (auto [from, to] : {std::pair("float", "f"), std::pair("uint", "u"),
                          std::pair("int", "i"), std::pair("complex", "c")})
    for (size_t at; plain && (at = text.find(from)) != std::string::npos;)
      text.replace(at, std::strlen(from), to);
  if (Ref memory = fields.getIfNotNull("mem"))
    if (memory.string() != "device")
      text += ("<" + memory.string() + ">").str();
  Ref spec = fields.getIfNotNull("spec"), mat = fields.getIfNotNull("mat");
  auto part = [](Ref object, StringRef name) {
    return object ? Fields(object, {"p", "v", "u", "r", "k"}).get(name) : Ref();
  };
  SmallVector<Ref> entries;
  if (Ref p = part(spec, "p"))
    llvm::append_range(entries, Items(p.array()));
  text += '[';
  for (auto [i, size] : llvm::enumerate(Items(fields.need("shape").array()))) {
    text += i ? "," : "";
    text += size.isInt() ? std::to_string(size.integer())
                         : Fields(size, {"sym"}).need("sym").string().str();
    if (i < entries.size() && entries[i].isArray())
      text += setText("", entries[i]).replace(0, 1, "@");
  }
  text += ']';
  std::string sets;
  for (const std::string &set :
       {setText("V", part(mat, "v")), setText("U", part(spec, "u")),
        setText("U", part(mat, "u")), setText("R", part(spec, "r")),
        setText("R", part(mat, "r"))})
    if (!set.empty())
      sets += (sets.empty() ? "" : ", ") + set;
  return sets.empty() ? text : text + "{" + sets + "}";
}

void TypeReader::read(Ref entry) {
  Ref kind;
  for (Field field : Members(entry.object()))
    if (field.key.chars() == "t")
      kind = field.value;
  if (!kind)
    bad(entry, "field 't' is missing");
  FileTables::TypeEntry result;
  Type type;
  nesting_.push_back(0);
  tables_.program.file.types.push_back(result);
  if (kind.string() == "array") {
    Fields fields(entry, {"t", "shape", "dtype", "weak", "mesh", "spec", "mat",
                          "mem", "layout", "phys"});
    if (Ref mesh = fields.getIfNotNull("mesh"))
      result.mesh = tables_.mesh(mesh);
    readArray(fields, type, result.mesh);
  } else if (kind.chars() == "ref" || kind.chars() == "future") {
    type.kind = kind.chars() == "ref" ? Type::Ref : Type::Future;
    Fields fields(entry, {"t", "inner", "mem"});
    return readInner(fields, type);
  } else if (kind.chars() == "token") {
    type.kind = Type::Token;
    type.extra = tables_.intern(Fields(entry, {"t"}).extra());
  } else {
    type.kind = Type::Opaque;
    Fields fields(entry, {"t", "short"});
    Ref text = fields.getIfNotNull("short");
    type.text = text ? tables_.string(text)
                     : tables_.cx.intern(printKind(kind.string()));
    bool ours = text && kind.chars() == "opaque";
    type.extra =
        ours ? tables_.intern(fields.extra()) : tables_.verbatim(entry);
  }
  result.type = tables_.cx.intern(type);
  tables_.program.file.types.back() = result;
}

void TypeReader::readArray(const Fields &given, Type &type, MeshId mesh) {
  Fields fields = given;
  Extra &extra = fields.extra();
  for (Ref size : Items(fields.need("shape").array()))
    type.shape.push_back(readDim(tables_, size));
  StringRef name = fields.need("dtype").string();
  std::optional<DType> dtype = parseDType(name == "void" ? "float0" : name);
  std::optional<MemorySpace> memory = readMemory(fields.getIfNotNull("mem"));
  if (!dtype || !memory) {
    type = Type();
    type.kind = Type::Opaque;
    type.text = tables_.cx.intern(printUnknown(fields));
    type.extra = tables_.verbatim(fields.object());
    return;
  }
  type.dtype = *dtype;
  type.memory = *memory;
  type.weak = fields.get("weak") && fields.get("weak").boolean();
  type.sharding.mesh = tables_.cx.forTypes(mesh);
  readSharding(fields, type, extra);
  readManual(fields, type, extra);
  if (Ref layout = fields.getIfNotNull("layout"))
    type.layout = tables_.string(layout);
  if (Ref phys = fields.getIfNotNull("phys"))
    if (!isKnownPhysical(phys, type.dtype))
      extra.add("phys", phys);
  type.extra = tables_.intern(extra);
}

void TypeReader::readInner(Fields &fields, Type &type) {
  Ref inner = fields.need("inner");
  uint32_t index = inner.integer(0, INT32_MAX);
  if (Ref memory = fields.getIfNotNull("mem"))
    type.text = tables_.string(memory);
  type.extra = tables_.intern(fields.extra());
  uint32_t self = nesting_.size() - 1;
  pending_[self] = {type, index, inner.offset()};
  if (index < self && !pending_.count(index))
    complete(self);
}

/// Gives a type its inner type, completing that one first.
void TypeReader::complete(uint32_t index) {
  auto &types = tables_.program.file.types;
  SmallVector<uint32_t, 8> chain;
  for (uint32_t at = index; pending_.count(at); at = pending_[at].inner) {
    const Pending &type = pending_[at];
    if (type.inner >= types.size())
      throw Bad{diag::JsonStructure,
                type.offset,
                {"index " + std::to_string(type.inner) +
                 " is out of range: 'types' has " +
                 std::to_string(types.size()) + " entries"}};
    chain.push_back(at);
    if (chain.size() + nesting_[type.inner] > MaxTypeNesting)
      badLimit(type.offset, "the nesting of a type", MaxTypeNesting);
  }
  for (uint32_t at : llvm::reverse(chain)) {
    Pending &type = pending_[at];
    type.type.inner = types[type.inner].type;
    types[at].type = tables_.cx.intern(type.type);
    nesting_[at] = nesting_[type.inner] + 1;
    pending_.erase(at);
  }
}

void TypeReader::finish() {
  for (uint32_t index = 0; index < nesting_.size(); ++index)
    complete(index);
}
