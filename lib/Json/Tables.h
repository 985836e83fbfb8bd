// Tables.h - the tables of a file, and the readers of what stands in them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_TABLES_H
#define SHARDTYPE_LIB_JSON_TABLES_H

#include "Tree.h"
#include "shardtype/IR/Program.h"
#include "llvm/ADT/DenseMap.h"

namespace shardtype::json {

/// Thrown when a value names an entry of a table that comes later in the file:
/// it must be read again, table by table.
struct Deferred {};

enum class Table : uint8_t { Meshes, Types, Sources, Stacks, Arrays, Opaques };
inline constexpr unsigned NumTables = 6;

/// The program that is being filled, and the tables its values refer to.
class Tables {
public:
  explicit Tables(Context &context) : cx(context), program(context) {}

  /// An index into a table, checked.
  uint32_t index(Ref value, Table table);
  MeshId mesh(Ref value) {
    return program.file.meshes[index(value, Table::Meshes)];
  }
  /// As `mesh`, and null is no mesh.
  MeshId meshOrNull(Ref value) {
    return value.isNull() ? MeshId() : mesh(value);
  }
  TypeId type(Ref value) {
    return program.file.types[index(value, Table::Types)].type;
  }
  StackId stack(Ref value) {
    return program.file.stacks[index(value, Table::Stacks)];
  }
  /// An index of a jaxpr, which may come later: see `checkJaxprs`.
  uint32_t jaxpr(Ref value);
  /// All jaxprs are there: Bad for an index beyond them.
  void checkJaxprs() const;

  StringId string(Ref value) { return cx.intern(value.string()); }
  /// Null: an invalid id.
  StringId stringOrNull(Ref value) {
    return value.isNull() ? StringId() : string(value);
  }
  /// A list of strings and nulls.
  template <typename List> void strings(Ref value, List &out) {
    out.clear();
    for (Ref item : Items(value.array()))
      out.push_back(stringOrNull(item));
  }
  /// The name of a mesh axis: a string or {"repr": text}.
  StringId axisName(Ref value);
  /// The fields kept verbatim, or an invalid id if there are none.
  StringId intern(const Extra &extra) {
    return extra.empty() ? StringId() : cx.intern(extra.str());
  }
  /// A value as JSON without blanks.
  StringId verbatim(Ref value);

  /// Entries of `table` up to now.
  size_t size(Table table) const;

  Context &cx;
  Program program;
  bool seen[NumTables] = {}; // The table has begun.

private:
  int64_t maxJaxpr_ = -1; // The largest index referred to, and where.
  uint32_t maxJaxprOffset_ = 0;
};

// One entry of a table, appended to it (ReadTables.cpp).
void readMesh(Tables &tables, Ref entry);
void readFrame(Tables &tables, Ref entry);
void readStack(Tables &tables, Ref entry);
void readArray(Tables &tables, Ref entry);
void readOpaque(Tables &tables, Ref entry);

/// A PartitionSpec by name. Fields that we do not know are added to `extra`.
PartitionSpec readSpec(Tables &tables, Ref spec, Extra &extra);
ReductionKind readReductionKind(Ref kind);

/// Reads the table of types. A Ref's inner type may come later, so types are
/// complete only after `finish`.
class TypeReader {
public:
  explicit TypeReader(Tables &tables) : tables_(tables) {}
  void read(Ref entry);
  void finish();

private:
  struct Pending {
    Type type; // Without `inner`.
    uint32_t inner, offset;
  };
  void readArray(const Fields &fields, Type &type, MeshId mesh);
  void readSharding(const Fields &fields, Type &type, Extra &extra);
  void readManual(const Fields &fields, Type &type, Extra &extra);
  void readInner(Fields &fields, Type &type);
  unsigned axis(Ref name, MeshId mesh);
  AxisSet manualAxes(Ref names, MeshId mesh);
  void complete(uint32_t index);

  Tables &tables_;
  llvm::DenseMap<uint32_t, Pending> pending_; // By index in the table.
  std::vector<uint8_t> nesting_;              // Of each type: 0 for an array.
};

} // namespace shardtype::json

#endif
