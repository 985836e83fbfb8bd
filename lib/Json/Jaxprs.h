// Jaxprs.h - jaxprs and equations from JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_JAXPRS_H
#define SHARDTYPE_LIB_JSON_JAXPRS_H

#include "Stream.h"
#include "Values.h"
#include "shardtype/IR/Primitive.h"
#include <map>

namespace shardtype::json {

/// A variable that is bound, before it has a place in the program.
struct Binder {
  int64_t id; // -1: dropped.
  uint32_t offset;
  Var var;
};

/// The variables that a jaxpr binds before its equations.
struct Binders {
  std::vector<Binder> consts, inputs;
};

/// Which variable a number of the file means. A jaxpr sees its own variables
/// only; as those of one jaxpr are consecutive in the program and come after
/// all earlier ones, one map serves them all without being cleared.
class Scope {
public:
  /// A map for numbers below `maxDense` is a plain list.
  Scope(Tables &tables, uint32_t maxDense)
      : tables_(tables), maxDense_(maxDense) {}
  /// Starts a jaxpr.
  void begin() { first_ = tables_.program.vars.size(); }
  uint32_t first() const { return first_; }
  /// Appends a variable to the program.
  void bind(const Binder &binder);
  VarId lookup(int64_t id, uint32_t offset) const;
  /// Keeps the file's numbers in the program if they are not the usual ones.
  void finish();

private:
  uint32_t &slot(int64_t id);
  void remember(const Binder &binder, bool isNew);

  Tables &tables_;
  uint32_t maxDense_, first_ = 0;
  std::vector<uint32_t> dense_; // By number, for numbers that are not huge.
  // A DenseMap keeps two numbers for itself, and a hash map can be made slow by
  // the numbers of a hostile file.
  std::map<int64_t, uint32_t> sparse_;
  // Whether variables are numbered as a writer would number them. If not, and
  // while each number is given once, `ids_` has those of all variables.
  uint32_t nextUsual_ = 0;
  bool usual_ = true, unique_ = true;
  std::vector<uint32_t> ids_;
};

/// Takes jaxprs and their equations.
class JaxprReader {
public:
  /// `textSize` of the whole file, in bytes.
  JaxprReader(Tables &tables, ValueReader &values, InfoLookup lookup,
              uint32_t textSize)
      : tables_(tables), program_(tables.program), values_(values),
        lookup_(lookup), scope_(tables, textSize) {}

  /// Reads only the binders of all jaxprs, or all the rest once they are known:
  /// for files in which a jaxpr's equations come before its inputs.
  enum class Parts : uint8_t { All, Binders, Rest };
  void setParts(Parts parts) { parts_ = parts; }

  void begin(uint32_t offset);
  Want field(StringRef name, uint32_t offset);
  void value(Ref value);
  void eqn(Ref value);
  void end();
  /// All jaxprs have been read.
  void finish() { scope_.finish(); }

private:
  struct EqnFields {
    Ref p, in, params, out, ctx, eff, src, ns, derived;
  };

  void bindAll();
  void readConsts(Ref list);
  void readOuts(Ref list);
  void readEffects(Ref list);
  void readDebug(Ref value);
  void readBinders(Ref list, std::vector<Binder> &out);
  Binder readBinder(Ref value);
  Atom readAtom(Ref value);
  LiteralId readLiteral(Ref value);
  uint16_t primitive(Ref name);
  EqnFields eqnFields(Ref value, Extra &extra);
  EqnInfoId readInfo(const EqnFields &fields, const Extra &extra);
  void readContext(Ref value, EqnInfo &info);

  Tables &tables_;
  Program &program_;
  ValueReader &values_;
  InfoLookup lookup_;
  Scope scope_;
  Parts parts_ = Parts::All;
  std::vector<Binders> allBinders_; // Of all jaxprs, for Parts::Rest.

  /// A variable named by a number before all variables are bound.
  struct Pending {
    size_t index; // Of the atom or effect.
    int64_t id;
    uint32_t offset;
  };
  /// The jaxpr that is being read.
  struct Current {
    Jaxpr jaxpr;
    uint32_t offset = 0, constsOffset = 0;
    std::string field; // The last one.
    SmallVector<std::string, 12> fields;
    bool bound = false; // Constants and inputs have their variables.
    Binders binders;
    std::vector<Pending> outs, effects;
    Extra extra;
    bool has(StringRef name) const { return llvm::is_contained(fields, name); }
  } now_;

  SmallVector<Binder, 4> results_;
  llvm::DenseMap<StringRef, uint16_t> primitives_;
  llvm::DenseMap<StringRef, LiteralId> literals_; // By text in the file.
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, EqnInfoId> infos_;
};

/// An effect. A variable that it names is left out of it; `var` is its number,
/// or invalid.
Effect readEffect(Tables &tables, Ref value, Ref &var);
/// The value of a literal of the type that it holds already.
void readScalar(Tables &tables, Ref value, Literal &literal, Extra &extra);

} // namespace shardtype::json

#endif
