// WriteTypes.cpp - types and specs in the exchange format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tree.h"
#include "Writer.h"

using namespace shardtype;
using namespace shardtype::json;

void Writer::writeAxisName(std::string &out, StringId name) {
  if (!llvm::is_contained(program_.file.reprNames, name))
    return quoted(out, name);
  ObjectWriter object(out);
  object.string("repr", str(name));
  object.end();
}

void Writer::writeAxes(std::string &out, const Mesh &mesh,
                       ArrayRef<uint8_t> axes) {
  writeList(out, axes,
            [&](uint8_t axis) { writeAxisName(out, mesh.axes[axis].name); });
}

void Writer::writeKind(std::string &out, ReductionKind kind) {
  if (kind == ReductionKind::None)
    out += "null";
  else
    appendQuoted(out, shardtype::str(kind));
}

void Writer::writeSpec(std::string &out, const PartitionSpec &spec,
                       StringRef kept) {
  auto names = [&](ArrayRef<StringId> list) {
    writeList(out, list, [&](StringId name) { writeAxisName(out, name); });
  };
  ObjectWriter object(out, kept);
  object.key("p");
  writeList(out, spec.partitions, [&](const SpecEntry &entry) {
    if (entry.kind == SpecEntry::Unconstrained)
      out += "\"unconstrained\"";
    else if (entry.kind == SpecEntry::Inherit)
      out += "\"inherit\"";
    else if (entry.axes.empty())
      out += "null";
    else
      names(entry.axes);
  });
  object.key("u");
  names(spec.unreduced);
  object.key("r");
  names(spec.reduced);
  object.key("k");
  writeKind(out, spec.kind);
  object.end();
}

MeshId Writer::meshOf(const Type &type) {
  MeshId wanted = type.sharding.mesh;
  if (!wanted.valid())
    return wanted;
  for (MeshId id : meshes_)
    if (cx_.forTypes(id) == wanted)
      return id;
  return wanted;
}

static void writeDim(const Context &cx, std::string &out, int64_t size) {
  if (!Dim::isSymbolic(size))
    return appendInt(out, size);
  ObjectWriter object(out);
  object.string("sym", cx.str(Dim::text(size)));
  object.end();
}

void Writer::writeArrayType(std::string &out, const Type &type, MeshId meshId) {
  const Mesh &mesh = cx_.meshOrEmpty(type.sharding.mesh);
  ObjectWriter object(out, strOrEmpty(type.extra));
  object.string("t", "array");
  object.key("shape");
  writeList(out, type.shape, [&](int64_t size) { writeDim(cx_, out, size); });
  object.string("dtype", info(type.dtype).longName);
  if (isKey(type.dtype) && object.key("phys")) {
    ObjectWriter phys(out);
    phys.key("shape");
    writeList(out, keyDataShape(type.dtype),
              [&](int64_t size) { appendInt(out, size); });
    phys.string("dtype", "uint32");
    phys.end();
  }
  if (type.weak)
    object.raw("weak", "true");
  if (meshId.valid())
    object.integer("mesh", this->mesh(meshId));
  const Sharding &sharding = type.sharding;
  if (!sharding.replicated() && object.key("spec")) {
    ObjectWriter spec(out);
    spec.key("p");
    writeList(out, sharding.dims, [&](const AxisList &axes) {
      if (axes.empty())
        out += "null";
      else
        writeAxes(out, mesh, axes);
    });
    spec.key("u");
    writeAxes(out, mesh, sharding.unreduced.list());
    spec.key("r");
    writeAxes(out, mesh, sharding.reduced.list());
    spec.key("k");
    writeKind(out, sharding.kind);
    spec.end();
  }
  const ManualAxisType &manual = type.manual;
  if (!manual.trivial() && object.key("mat")) {
    ObjectWriter mat(out);
    mat.key("v");
    writeAxes(out, mesh, manual.varying.list());
    mat.key("u");
    writeAxes(out, mesh, manual.unreduced.list());
    mat.key("r");
    writeAxes(out, mesh, manual.reduced.list());
    mat.key("k");
    writeKind(out, manual.kind);
    mat.end();
  }
  if (type.memory != MemorySpace::Device)
    object.string("mem", type.memory == MemorySpace::Host ? "host" : "any");
  if (type.layout.valid())
    object.string("layout", str(type.layout));
  object.end();
}

void Writer::writeType(std::string &out, const FileTables::TypeEntry &entry) {
  const Type &type = cx_.type(entry.type);
  StringRef extra = strOrEmpty(type.extra);
  switch (type.kind) {
  case Type::Array:
    return writeArrayType(out, type, entry.mesh);
  case Type::Token: {
    ObjectWriter object(out, extra);
    object.string("t", "token");
    return object.end();
  }
  case Type::Ref:
  case Type::Future: {
    ObjectWriter object(out, extra);
    object.string("t", type.kind == Type::Ref ? "ref" : "future");
    object.integer("inner", this->type(type.inner));
    if (type.text.valid())
      object.string("mem", str(type.text));
    return object.end();
  }
  case Type::Opaque: {
    // A type that we could not read at all is kept as it was.
    bool whole = llvm::any_of(
        members(extra), [](const auto &member) { return member.first == "t"; });
    if (whole) {
      out += extra;
      return;
    }
    ObjectWriter object(out, extra);
    object.string("t", "opaque");
    object.string("short", str(type.text));
    return object.end();
  }
  }
}
