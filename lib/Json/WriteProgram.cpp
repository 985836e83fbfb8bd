// WriteProgram.cpp - the exchange format from a program: tables and envelope.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Values.h"
#include "Writer.h"
#include "shardtype/Json/Json.h"
#include <charconv>

using namespace shardtype;
using namespace shardtype::json;

void json::appendInt(std::string &out, int64_t value) {
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  (void)error; // 24 characters hold any of them.
  out.append(buffer, end);
}

/// The end of the JSON value or key that begins at `at`.
static size_t skipValue(StringRef text, size_t at) {
  unsigned depth = 0;
  bool inString = false;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (inString && c == '\\') {
      ++at;
      continue;
    }
    if (c == '"')
      inString = !inString;
    if (inString)
      continue;
    if (depth == 0 && (c == ',' || c == ':' || c == '}'))
      break;
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
  }
  return at;
}

SmallVector<std::pair<StringRef, StringRef>, 4>
json::members(StringRef object) {
  SmallVector<std::pair<StringRef, StringRef>, 4> result;
  for (size_t at = 1; at + 1 < object.size();) {
    size_t colon = skipValue(object, at);
    size_t end = skipValue(object, colon + 1);
    result.emplace_back(object.slice(at + 1, colon - 1),
                        object.slice(colon + 1, end));
    at = end + 1;
  }
  return result;
}

ObjectWriter::ObjectWriter(std::string &out, StringRef kept) : out_(out) {
  if (!kept.empty())
    kept_ = members(kept);
  out_ += '{';
}

void ObjectWriter::comma() {
  if (!first_)
    out_ += ',';
  first_ = false;
}

bool ObjectWriter::key(StringRef name) {
  for (const auto &[kept, value] : kept_)
    if (kept == name)
      return false;
  comma();
  out_ += '"';
  out_ += name;
  out_ += "\":";
  return true;
}

void ObjectWriter::string(StringRef name, StringRef value) {
  if (key(name))
    appendQuoted(out_, value);
}

void ObjectWriter::integer(StringRef name, int64_t value) {
  if (key(name))
    appendInt(out_, value);
}

void ObjectWriter::raw(StringRef name, StringRef json) {
  if (key(name))
    out_ += json;
}

void ObjectWriter::end() {
  for (const auto &[name, value] : kept_) {
    if (name.empty()) // Belongs to an inner object.
      continue;
    comma();
    (((out_ += '"') += name) += "\":") += value;
  }
  out_ += '}';
}

Writer::Writer(const Program &program)
    : program_(program), cx_(program.context()), meshes_(program.file.meshes),
      types_(program.file.types), stacks_(program.file.stacks),
      opaques_(program.opaques) {
  for (auto [i, id] : llvm::enumerate(meshes_))
    meshIndex_.try_emplace(id, i);
  for (auto [i, entry] : llvm::enumerate(types_))
    typeIndex_.try_emplace(entry.type, i);
  for (auto [i, id] : llvm::enumerate(stacks_))
    stackIndex_.try_emplace(id, i);
  StringId textClass = cx_.intern(TextClass);
  for (auto [i, object] : llvm::enumerate(opaques_))
    if (object.className == textClass && object.repr.valid())
      textIndex_.try_emplace(object.repr, i);
  varIds_ = program.file.varIds;
  if (varIds_.size() == program.vars.size())
    return;
  varIds_.clear();
  uint32_t next = 0;
  for (const Var &var : program.vars)
    varIds_.push_back(var.dropped ? 0 : next++);
}

uint32_t Writer::mesh(MeshId id) {
  auto [it, isNew] = meshIndex_.try_emplace(id, meshes_.size());
  if (isNew)
    meshes_.push_back(id);
  return it->second;
}

uint32_t Writer::type(TypeId id) {
  auto [it, isNew] = typeIndex_.try_emplace(id, types_.size());
  if (isNew)
    types_.push_back({id, meshOf(cx_.type(id))});
  return it->second;
}

uint32_t Writer::stack(StackId id) {
  auto [it, isNew] = stackIndex_.try_emplace(id, stacks_.size());
  if (isNew)
    stacks_.push_back(id);
  return it->second;
}

uint32_t Writer::textOpaque(StringId text) {
  auto [it, isNew] = textIndex_.try_emplace(text, opaques_.size());
  if (isNew) {
    OpaqueObject object;
    object.className = cx_.intern(TextClass);
    object.repr = text;
    opaques_.push_back(object);
  }
  return it->second;
}

void Writer::meshOrNull(std::string &out, MeshId id) {
  if (id.valid())
    appendInt(out, mesh(id));
  else
    out += "null";
}

void Writer::quoted(std::string &out, StringId id) {
  appendQuoted(out, str(id));
}

void Writer::quotedOrNull(std::string &out, StringId id) {
  if (id.valid())
    quoted(out, id);
  else
    out += "null";
}

void Writer::writeNames(std::string &out, ArrayRef<StringId> names) {
  writeList(out, names, [&](StringId name) { quotedOrNull(out, name); });
}

/// A part of a device as the file has it: JAX prints None for null.
static void writePrinted(ObjectWriter &object, StringRef name,
                         StringRef printed) {
  int64_t number;
  if (printed == "None")
    object.raw(name, "null");
  else if (!printed.getAsInteger(10, number))
    object.integer(name, number);
  else
    object.string(name, printed);
}

void Writer::writeMesh(std::string &out, MeshId id) {
  const Mesh &mesh = cx_.mesh(id);
  ObjectWriter object(out, strOrEmpty(mesh.extra));
  object.string("kind", mesh.concrete ? "concrete" : "abstract");
  if (object.key("axes"))
    writeList(out, mesh.axes, [&](const MeshAxis &axis) {
      ObjectWriter fields(out);
      fields.key("name");
      writeAxisName(out, axis.name);
      fields.integer("size", axis.size);
      fields.string("type", shardtype::str(axis.type));
      fields.end();
    });
  if (!mesh.device) {
    object.raw("device", "null");
  } else if (object.key("device")) {
    ObjectWriter device(out);
    writePrinted(device, "kind", mesh.device->kind);
    writePrinted(device, "num_cores", mesh.device->numCores);
    writePrinted(device, "platform", mesh.device->platform);
    device.end();
  }
  if (mesh.devices.empty()) {
    object.raw("devices", "null");
  } else if (object.key("devices")) {
    ObjectWriter devices(out);
    devices.key("shape");
    writeList(out, mesh.axes,
              [&](const MeshAxis &axis) { appendInt(out, axis.size); });
    devices.key("ids");
    writeList(out, mesh.devices,
              [&](int64_t device) { appendInt(out, device); });
    devices.end();
  }
  object.end();
}

void Writer::writeSources(std::string &out) {
  writeList(out, program_.frames, [&](const Frame &frame) {
    ObjectWriter object(out, strOrEmpty(frame.extra));
    object.string("file", str(frame.file));
    if (object.key("func"))
      quotedOrNull(out, frame.function);
    object.integer("line", frame.line);
    object.integer("col", frame.column);
    object.integer("eline", frame.endLine);
    object.integer("ecol", frame.endColumn);
    object.end();
  });
}

void Writer::writeStack(std::string &out, StackId id) {
  writeList(out, program_.stack(id),
            [&](FrameId frame) { appendInt(out, frame.index()); });
}

void Writer::writeArray(std::string &out, const ConstArray &array) {
  ObjectWriter object(out, strOrEmpty(array.extra));
  object.key("shape");
  writeList(out, array.shape, [&](int64_t size) { appendInt(out, size); });
  object.string("dtype", str(array.dtype));
  if (array.base64.valid())
    object.string("b64", str(array.base64));
  else
    object.raw("omitted", "true");
  if (array.hash.valid())
    object.string("hash", str(array.hash));
  if (array.splat.valid())
    object.raw("splat", str(array.splat));
  object.end();
}

void Writer::writeOpaque(std::string &out, const OpaqueObject &opaque) {
  ObjectWriter object(out, strOrEmpty(opaque.extra));
  object.string("class", str(opaque.className));
  if (opaque.repr.valid())
    object.string("repr", str(opaque.repr));
  if (opaque.str.valid())
    object.string("str", str(opaque.str));
  if (opaque.hash.valid())
    object.raw("hash", str(opaque.hash));
  object.end();
}

void Writer::writeEntry(std::string &out) {
  const Entry &entry = program_.entry;
  ObjectWriter object(out, strOrEmpty(entry.extra));
  object.integer("jaxpr", entry.jaxpr.index());
  object.key("name");
  quotedOrNull(out, entry.name);
  bool paths = !entry.argPaths.empty() || !entry.outPaths.empty();
  auto names = [&](StringRef key, ArrayRef<StringId> list) {
    object.key(key);
    writeNames(out, list);
  };
  // A list that does not fit is worse than none.
  const Jaxpr &jaxpr = program_.jaxpr(entry.jaxpr);
  if (entry.argNames.size() == jaxpr.numInputs)
    names("arg_names", entry.argNames);
  if (paths && entry.argPaths.size() == jaxpr.numInputs)
    names("arg_paths", entry.argPaths);
  ArrayRef<StringId> results = paths ? entry.outPaths : entry.resultPaths;
  if (results.size() == jaxpr.outs.size())
    names("result_paths", results);
  if (entry.inShardings.valid() && object.key("in_shardings"))
    writeValue(out, entry.inShardings);
  if (entry.outShardings.valid() && object.key("out_shardings"))
    writeValue(out, entry.outShardings);
  object.end();
}

void Writer::writeContext(std::string &out) {
  ObjectWriter object(out, program_.contextExtra);
  object.key("mesh");
  meshOrNull(out, program_.contextMeshAtTop);
  object.end();
}

void Writer::write(raw_ostream &os) {
  // What names entries of tables comes before the tables here, for it may add
  // some; types name meshes and other types.
  std::string jaxprs, entry, context, types, out;
  writeList(jaxprs, program_.jaxprs,
            [&](const Jaxpr &jaxpr) { writeJaxpr(jaxprs, jaxpr); });
  writeEntry(entry);
  writeContext(context);
  types += '[';
  for (size_t i = 0; i < types_.size(); ++i) {
    types += i ? "," : "";
    FileTables::TypeEntry type = types_[i]; // The list may grow.
    writeType(types, type);
  }
  types += ']';

  ObjectWriter object(out, program_.extra);
  object.string("format", "shardtype-jaxpr");
  object.raw("version", "[1," + std::to_string(program_.formatMinor) + "]");
  StringRef producer = program_.producer;
  if (producer.empty())
    producer =
        program_.fromText ? R"({"name":"text"})" : R"({"name":"shardtype"})";
  object.raw("producer", producer);
  object.key("meshes");
  writeList(out, meshes_, [&](MeshId id) { writeMesh(out, id); });
  object.raw("types", types);
  object.key("sources");
  writeSources(out);
  object.key("stacks");
  writeList(out, stacks_, [&](StackId id) { writeStack(out, id); });
  object.key("arrays");
  writeList(out, program_.arrays,
            [&](const ConstArray &array) { writeArray(out, array); });
  object.key("opaques");
  writeList(out, opaques_,
            [&](const OpaqueObject &opaque) { writeOpaque(out, opaque); });
  object.raw("jaxprs", jaxprs);
  object.raw("entry", entry);
  object.raw("context", context);
  object.end();
  os << out << '\n';
}

void shardtype::writeJson(raw_ostream &os, const Program &program) {
  Writer(program).write(os);
}
