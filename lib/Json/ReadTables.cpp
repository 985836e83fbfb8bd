// ReadTables.cpp - meshes, sources, stacks, arrays and opaque objects.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tables.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;
using namespace shardtype::json;

size_t Tables::size(Table table) const {
  switch (table) {
  case Table::Meshes:
    return program.file.meshes.size();
  case Table::Types:
    return program.file.types.size();
  case Table::Sources:
    return program.frames.size();
  case Table::Stacks:
    return program.file.stacks.size();
  case Table::Arrays:
    return program.arrays.size();
  case Table::Opaques:
    return program.opaques.size();
  }
  llvm_unreachable("all tables are handled");
}

[[noreturn]] static void outOfRange(uint32_t offset, int64_t index, size_t size,
                                    StringRef table) {
  std::string message = "index " + std::to_string(index) +
                        " is out of range: '" + table.str() + "' has " +
                        std::to_string(size) + " entries";
  throw Bad{diag::JsonStructure, offset, {message}};
}

uint32_t Tables::index(Ref value, Table table) {
  constexpr StringRef Names[NumTables] = {"meshes", "types",  "sources",
                                          "stacks", "arrays", "opaques"};
  int64_t index = value.integer(0);
  if (index < static_cast<int64_t>(size(table)))
    return static_cast<uint32_t>(index);
  if (!seen[static_cast<unsigned>(table)])
    throw Deferred();
  outOfRange(value.offset(), index, size(table),
             Names[static_cast<unsigned>(table)]);
}

uint32_t Tables::jaxpr(Ref value) {
  int64_t index = value.integer(0, INT32_MAX);
  if (index > maxJaxpr_) {
    maxJaxpr_ = index;
    maxJaxprOffset_ = value.offset();
  }
  return static_cast<uint32_t>(index);
}

void Tables::checkJaxprs() const {
  if (maxJaxpr_ >= static_cast<int64_t>(program.jaxprs.size()))
    outOfRange(maxJaxprOffset_, maxJaxpr_, program.jaxprs.size(), "jaxprs");
}

StringId Tables::axisName(Ref value) {
  if (value.isString())
    return cx.intern(value.chars());
  Ref repr = Fields(value, {"repr"}).need("repr");
  StringId id = string(repr);
  if (!llvm::is_contained(program.file.reprNames, id))
    program.file.reprNames.push_back(id);
  return id;
}

StringId Tables::verbatim(Ref value) {
  std::string text;
  value.append(text);
  return cx.intern(text);
}

static AxisType readAxisType(Ref value) {
  for (AxisType type : {AxisType::Auto, AxisType::Explicit, AxisType::Manual})
    if (value.string() == str(type))
      return type;
  bad(value, "expected 'Auto', 'Explicit' or 'Manual'");
}

/// Appends an axis; true if it has fields that we do not know.
static bool readAxis(Tables &tables, Ref value, Mesh &mesh) {
  Fields fields(value, {"name", "size", "type"});
  MeshAxis axis;
  axis.name = tables.axisName(fields.need("name"));
  axis.size = fields.need("size").integer(1);
  axis.type = readAxisType(fields.need("type"));
  if (mesh.find(axis.name))
    bad(fields.get("name"), "the mesh has this axis twice");
  mesh.axes.push_back(axis);
  return !fields.extra().empty();
}

/// A part of a device as JAX prints it.
static std::string printed(Ref value) {
  if (value && value.isString())
    return value.chars().str();
  if (value && value.isInt())
    return std::to_string(value.integer());
  return "None";
}

static void readDevices(Fields &fields, Mesh &mesh) {
  Ref value = fields.getIfNotNull("devices");
  if (!value)
    return;
  Fields devices(value, {"shape", "ids"});
  Ref shape = devices.need("shape").array(), ids = devices.need("ids").array();
  bool fits = shape.size() == mesh.axes.size();
  for (auto [i, size] : llvm::enumerate(Items(shape)))
    fits = fits && size.integer(0) == mesh.axes[i].size;
  if (!fits)
    bad(shape, "the devices do not have the shape of the mesh");
  if (ids.size() != static_cast<uint64_t>(mesh.numDevices()))
    bad(ids, "a mesh of " + llvm::Twine(mesh.numDevices()) +
                 " devices has as many ids");
  for (Ref id : Items(ids))
    mesh.devices.push_back(id.integer());
  if (!mesh.concrete || !devices.extra().empty())
    fields.keep("devices");
}

/// `["Auto"|"Explicit", null|"all"|[name, ...]]` (export E3).
static MeshConversion readConversion(Tables &tables, Ref value) {
  if (value.array().size() != 2)
    bad(value, "expected a kind of axis and which axes");
  MeshConversion step;
  Ref kind = value.first(), which = kind.next();
  step.to = readAxisType(kind);
  if (step.to == AxisType::Manual)
    bad(kind, "expected 'Auto' or 'Explicit'");
  if (which.isNull())
    return step;
  if (which.isString()) {
    if (which.chars() != "all")
      bad(which, "expected null, 'all' or a list of axes");
    step.which = MeshConversion::All;
    return step;
  }
  step.which = MeshConversion::Named;
  for (Ref name : Items(which.array()))
    step.names.push_back(tables.axisName(name));
  return step;
}

void json::readMesh(Tables &tables, Ref entry) {
  Fields fields(entry, {"kind", "axes", "device", "devices", "rel"});
  Mesh mesh;
  if (Ref kind = fields.get("kind")) {
    mesh.concrete = kind.string() == "concrete";
    if (!mesh.concrete && kind.chars() != "abstract")
      bad(kind, "expected 'abstract' or 'concrete'");
  }
  Ref axes = fields.need("axes").array();
  if (axes.size() > MaxMeshAxes)
    badLimit(axes.offset(), "the number of axes of a mesh", MaxMeshAxes);
  bool more = false;
  for (Ref axis : Items(axes))
    more |= readAxis(tables, axis, mesh);
  if (more)
    fields.keep("axes");
  if (Ref value = fields.getIfNotNull("device")) {
    Fields device(value, {"kind", "num_cores", "platform"});
    mesh.device = {printed(device.get("kind")),
                   printed(device.get("num_cores")),
                   printed(device.get("platform"))};
    if (!device.extra().empty())
      fields.keep("device");
  }
  readDevices(fields, mesh);
  if (Ref steps = fields.getIfNotNull("rel")) {
    mesh.relative = true;
    for (Ref step : Items(steps.array()))
      mesh.conversions.push_back(readConversion(tables, step));
    fields.keep("rel");
  }
  mesh.extra = tables.intern(fields.extra());
  tables.program.file.meshes.push_back(tables.cx.intern(mesh));
}

void json::readFrame(Tables &tables, Ref entry) {
  Fields fields(entry, {"file", "func", "line", "col", "eline", "ecol"});
  Frame frame;
  frame.file = tables.string(fields.need("file"));
  if (Ref func = fields.getIfNotNull("func"))
    frame.function = tables.string(func);
  auto number = [&](StringRef name) -> uint32_t {
    Ref value = fields.getIfNotNull(name);
    return value ? value.integer(0, UINT32_MAX) : 0;
  };
  frame.line = number("line");
  frame.column = number("col");
  frame.endLine = number("eline");
  frame.endColumn = number("ecol");
  frame.extra = tables.intern(fields.extra());
  tables.program.frames.push_back(frame);
}

void json::readStack(Tables &tables, Ref entry) {
  SmallVector<FrameId, 8> frames;
  for (Ref frame : Items(entry.array()))
    frames.emplace_back(tables.index(frame, Table::Sources));
  tables.program.file.stacks.push_back(tables.program.internStack(frames));
}

/// Bytes of an array's data; nothing if its dtype is not known to us or the
/// size is beyond any file.
static std::optional<uint64_t> dataSize(const ConstArray &array,
                                        StringRef dtypeName) {
  std::optional<DType> dtype = parseDType(dtypeName);
  if (!dtype)
    return std::nullopt;
  // Elements below a byte take one each, as NumPy has them.
  const DTypeInfo &type = info(*dtype);
  uint64_t bytes = type.bits == 0 ? 0 : std::max(type.bits / 8, 1u);
  for (int64_t size : array.shape) {
    bool overflow = false;
    bytes =
        llvm::SaturatingMultiply(bytes, static_cast<uint64_t>(size), &overflow);
    if (overflow)
      return std::nullopt;
  }
  return bytes;
}

/// Bytes that a base64 text stands for; nothing if it is none.
static std::optional<uint64_t> decodedSize(StringRef text) {
  StringRef digits = text.rtrim('=');
  size_t padding = text.size() - digits.size();
  if (text.size() % 4 != 0 || padding > 2)
    return std::nullopt;
  for (char c : digits)
    if (!llvm::isAlnum(c) && c != '+' && c != '/')
      return std::nullopt;
  return text.size() / 4 * 3 - padding;
}

void json::readArray(Tables &tables, Ref entry) {
  Fields fields(entry, {"shape", "dtype", "b64", "omitted", "hash", "splat"});
  ConstArray array;
  for (Ref size : Items(fields.need("shape").array()))
    array.shape.push_back(size.integer(0));
  Ref dtype = fields.need("dtype");
  array.dtype = tables.string(dtype);
  bool omitted = fields.get("omitted") && fields.get("omitted").boolean();
  if (Ref data = fields.get("b64")) {
    array.base64 = tables.string(data);
    std::optional<uint64_t> given = decodedSize(data.chars());
    if (!given)
      bad(data, "expected base64 text");
    std::optional<uint64_t> wanted = dataSize(array, dtype.chars());
    if (wanted && *wanted != *given)
      bad(data, "the shape and dtype need " + llvm::Twine(*wanted) +
                    " bytes, not " + llvm::Twine(*given));
    if (omitted)
      bad(fields.get("omitted"), "the data is there");
  } else if (!omitted) {
    fields.need("b64");
  }
  if (Ref hash = fields.getIfNotNull("hash"))
    array.hash = tables.string(hash);
  if (Ref splat = fields.getIfNotNull("splat"))
    array.splat = tables.verbatim(splat.object());
  array.extra = tables.intern(fields.extra());
  tables.program.arrays.push_back(std::move(array));
}

void json::readOpaque(Tables &tables, Ref entry) {
  Fields fields(entry, {"class", "repr", "str", "hash"});
  OpaqueObject object;
  object.className = tables.string(fields.need("class"));
  if (Ref repr = fields.getIfNotNull("repr"))
    object.repr = tables.string(repr);
  if (Ref str = fields.getIfNotNull("str"))
    object.str = tables.string(str);
  if (Ref hash = fields.getIfNotNull("hash"))
    object.hash = tables.verbatim(hash);
  object.extra = tables.intern(fields.extra());
  tables.program.opaques.push_back(object);
}
