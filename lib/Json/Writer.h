// Writer.h - the exchange format from a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_WRITER_H
#define SHARDTYPE_LIB_JSON_WRITER_H

#include "shardtype/IR/Program.h"
#include "llvm/ADT/DenseMap.h"

namespace shardtype::json {

/// Appends an integer in decimal.
void appendInt(std::string &out, int64_t value);

/// The fields of an object kept verbatim: keys without quotes, values as JSON.
SmallVector<std::pair<StringRef, StringRef>, 4> members(StringRef object);

/// Writes one object: the fields that are ours, then those that were kept. A
/// field of ours that was kept whole is left to that.
class ObjectWriter {
public:
  explicit ObjectWriter(std::string &out, StringRef kept = {});
  /// Writes the key; false if its value stands among the kept fields.
  bool key(StringRef name);
  void string(StringRef name, StringRef value);
  void integer(StringRef name, int64_t value);
  void raw(StringRef name, StringRef json);
  void end();

private:
  void comma();
  std::string &out_;
  SmallVector<std::pair<StringRef, StringRef>, 4> kept_;
  bool first_ = true;
};

/// Writes a comma between elements and the brackets around them.
template <typename Range, typename Fn>
void writeList(std::string &out, const Range &range, Fn write) {
  out += '[';
  bool first = true;
  for (const auto &element : range) {
    if (!first)
      out += ',';
    first = false;
    write(element);
  }
  out += ']';
}

/// The bits of a number printed by Python, in hex and as wide as the dtype
/// demands; nothing if the text is no such number. It is first rounded to a
/// double, as Python reads it, then to the dtype.
std::optional<std::string> literalBits(StringRef text, DType dtype);

class Writer {
public:
  explicit Writer(const Program &program);
  void write(raw_ostream &os);

private:
  // WriteProgram.cpp
  void writeMesh(std::string &out, MeshId id);
  void writeSources(std::string &out);
  void writeStack(std::string &out, StackId id);
  void writeArray(std::string &out, const ConstArray &array);
  void writeOpaque(std::string &out, const OpaqueObject &object);
  void writeEntry(std::string &out);
  void writeContext(std::string &out);
  void writeNames(std::string &out, ArrayRef<StringId> names);

  // WriteTypes.cpp
  void writeType(std::string &out, const FileTables::TypeEntry &entry);
  void writeArrayType(std::string &out, const Type &type, MeshId mesh);
  void writeSpec(std::string &out, const PartitionSpec &spec, StringRef kept);
  void writeAxisName(std::string &out, StringId name);
  void writeAxes(std::string &out, const Mesh &mesh, ArrayRef<uint8_t> axes);
  void writeKind(std::string &out, ReductionKind kind);

  // WriteJaxprs.cpp
  void writeJaxpr(std::string &out, const Jaxpr &jaxpr);
  void writeDebug(std::string &out, const Jaxpr &jaxpr);
  void writeEqn(std::string &out, const Eqn &eqn);
  void writeInfo(ObjectWriter &object, std::string &out, const EqnInfo &info);
  void writeBinder(std::string &out, VarId id);
  void writeAtom(std::string &out, Atom atom);
  void writeLiteral(std::string &out, const Literal &literal);
  void writeScalar(std::string &out, const Literal &literal);
  void writeEffect(std::string &out, const Effect &effect);

  // WriteValues.cpp
  void writeValue(std::string &out, ValueId id);
  void writeValues(std::string &out, ArrayRef<ValueId> values);
  void writeTagged(std::string &out, const Value &value);
  void writeSharding(std::string &out, const Value &value, StringRef inner);
  void writeHiPrim(std::string &out, const Value &value, StringRef inner);
  void writePairs(std::string &out, const Value &value);
  void writeFloat(ObjectWriter &object, const Value &value);

  // Indices in the tables; what is not there yet is appended.
  uint32_t mesh(MeshId id);
  uint32_t type(TypeId id);
  uint32_t stack(StackId id);
  uint32_t textOpaque(StringId text);
  void meshOrNull(std::string &out, MeshId id);
  /// The mesh to write for a type that no file gave.
  MeshId meshOf(const Type &type);

  StringRef str(StringId id) const { return cx_.str(id); }
  StringRef strOrEmpty(StringId id) const {
    return id.valid() ? cx_.str(id) : StringRef();
  }
  void quoted(std::string &out, StringId id);
  void quotedOrNull(std::string &out, StringId id);

  const Program &program_;
  Context &cx_;
  std::vector<MeshId> meshes_;
  std::vector<FileTables::TypeEntry> types_;
  std::vector<StackId> stacks_;
  std::vector<OpaqueObject> opaques_;
  llvm::DenseMap<MeshId, uint32_t> meshIndex_;
  llvm::DenseMap<TypeId, uint32_t> typeIndex_;
  llvm::DenseMap<StackId, uint32_t> stackIndex_;
  llvm::DenseMap<StringId, uint32_t> textIndex_;
  std::vector<uint32_t> varIds_;
};

} // namespace shardtype::json

#endif
