// Values.h - parameter values from JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_VALUES_H
#define SHARDTYPE_LIB_JSON_VALUES_H

#include "Tables.h"

namespace shardtype::json {

/// The class under which the table of opaques lists texts of printed programs
/// that nobody could read.
inline constexpr StringRef TextClass = "text";

/// Turns JSON into values (spec 04, 6.2). An object is known by its tag; one
/// without a tag that we know is kept as Raw.
class ValueReader {
public:
  explicit ValueReader(Tables &tables);
  ValueId read(Ref value);
  /// All parameters of an equation. Equal texts are read once.
  ParamsId readParams(Ref params);

private:
  /// An object with a tag: what the tag holds and what stands beside it.
  struct Part {
    Ref payload;
    Fields &fields;
    Extra &inner; // Unknown fields of the object that the tag holds.
  };
  struct Tag {
    StringRef names[3]; // The tag itself, then its companions.
    Value::Kind kind;
    void (ValueReader::*read)(Value &, Part);
  };
  static const Tag Tags[];
  static const Tag *tagOf(Ref object);

  ValueId readInt(int64_t value);
  ValueId readTagged(Ref object);
  ValueId internSpec(Ref json, Extra &extra);
  int64_t opaqueOrNone(Ref index);
  void addTypes(Value &value, StringRef name, Ref types);

  void readText(Value &value, Part part);
  void readTrue(Value &value, Part part);
  void readBigInt(Value &value, Part part);
  void readFloat(Value &value, Part part);
  void readComplex(Value &value, Part part);
  void readElements(Value &value, Part part);
  void readDict(Value &value, Part part);
  void readEnum(Value &value, Part part);
  void readStruct(Value &value, Part part);
  void readJaxpr(Value &value, Part part);
  void readSpecValue(Value &value, Part part);
  void readSharding(Value &value, Part part);
  void readMesh(Value &value, Part part);
  void readType(Value &value, Part part);
  void readArray(Value &value, Part part);
  void readFlatTree(Value &value, Part part);
  void readTreeDef(Value &value, Part part);
  void readPrng(Value &value, Part part);
  void readHiPrim(Value &value, Part part);
  void readCallable(Value &value, Part part);
  void readOpaque(Value &value, Part part);

  Tables &tables_;
  Program &program_;
  ValueId none_, false_, true_;
  std::vector<ValueId> ints_; // Of small numbers, once they occur.
  llvm::DenseMap<StringRef, ParamsId> params_; // By text in the file.
};

} // namespace shardtype::json

#endif
