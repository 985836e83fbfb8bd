// Program.h - a jaxpr and everything it refers to, in flat arrays.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PROGRAM_H
#define SHARDTYPE_IR_PROGRAM_H

#include "shardtype/IR/Value.h"
#include "shardtype/Types/Context.h"

namespace shardtype {

struct PrimitiveInfo;

/// An operand: a variable or a literal.
class Atom {
public:
  Atom() = default;
  Atom(VarId var) : raw_(var.raw()) {}
  Atom(LiteralId literal) : raw_(literal.raw() | LiteralBit) {}
  bool isLiteral() const { return raw_ & LiteralBit; }
  VarId var() const { return VarId(raw_); }
  LiteralId literal() const { return LiteralId(raw_ & ~LiteralBit); }
  friend bool operator==(Atom, Atom) = default;

private:
  static constexpr uint32_t LiteralBit = 0x80000000u;
  uint32_t raw_ = 0x7fffffffu;
};

/// A variable: its recorded type (invalid: none was given) and the name a text
/// gave it (invalid: it is named when printed).
struct Var {
  TypeId type;
  uint32_t nameRaw : 31 = 0x7fffffff;
  uint32_t dropped : 1 = 0; // A DropVar: prints `_` everywhere.
  StringId name() const {
    return nameRaw == 0x7fffffff ? StringId() : StringId(nameRaw);
  }
  void setName(StringId id) { nameRaw = id.raw() & 0x7fffffff; }
};

/// A literal operand. `repr` is the printed text and authoritative for
/// printing; `bits` for the value (spec 04, 6.2).
struct Literal {
  enum Kind : uint8_t { Bits, Int, Bool, Float0, Array, Text } kind = Text;
  TypeId type;
  StringId repr;     // As printed, without the type.
  StringId bits;     // Bits: hex digits. Int: decimal digits.
  int64_t array = 0; // Array: index in Program::arrays. Bool: 0 or 1.
  StringId extra;    // Fields of the file that we do not interpret, verbatim.
  friend bool operator==(const Literal &, const Literal &) = default;
};

/// An equation: 24 bytes. Its results are consecutive variables.
struct Eqn {
  ParamsId params;
  EqnInfoId info;
  uint32_t firstOperand = 0; // In Program::operands.
  VarId firstResult;
  uint64_t primitive : 16 = 0; // In Program::primitives.
  uint64_t numOperands : 24 = 0;
  uint64_t numResults : 24 = 0;
};
static_assert(sizeof(Eqn) == 24);

/// A named-axis, Ref or opaque effect.
struct Effect {
  enum Kind : uint8_t { Axis, Read, Write, Accum, Opaque } kind = Axis;
  VarId var;            // Read, Write, Accum.
  StringId name;        // Axis: its name. Opaque: its text.
  StringId effectClass; // Opaque: its class.
  StringId extra;       // Fields of the file that we do not interpret.
  friend bool operator==(const Effect &, const Effect &) = default;
};

/// What many equations share, interned.
struct EqnInfo {
  StackId stack;               // Invalid: no source is known.
  StringId nameStack;          // "jvp()/transpose(jvp())"; invalid: empty.
  MeshId contextMesh;          // Meaningful if hasContextMesh; may be invalid.
  bool hasContextMesh = false; // False: that of the enclosing jaxpr.
  StringId context; // Other context fields, JSON verbatim; invalid: none.
  StringId derived; // The "derived" object, JSON verbatim; invalid: none.
  StringId extra;   // Unknown fields, JSON verbatim; invalid: none.
  SmallVector<Effect, 1> effects;
  friend bool operator==(const EqnInfo &, const EqnInfo &) = default;
};

/// One call in the user's source: lines from 1, columns from 0 in bytes; an end
/// of 0 is unknown.
struct Frame {
  StringId file, function;
  uint32_t line = 0, column = 0, endLine = 0, endColumn = 0;
  StringId extra; // Unknown fields, JSON verbatim.
  friend bool operator==(const Frame &, const Frame &) = default;
};

/// A jaxpr. Its variables are consecutive: constvars, then invars, then the
/// results of its equations in order; its equations are consecutive too.
struct Jaxpr {
  uint32_t firstEqn = 0, numEqns = 0;
  uint32_t firstVar = 0, numVars = 0;
  uint32_t numConsts = 0, numInputs = 0;
  SmallVector<Atom, 4> outs;
  SmallVector<int32_t, 0> constArrays; // Per constvar, or -1: not in the file.
  MeshId mesh;                         // Default context mesh of equations.
  SmallVector<Effect, 0> effects;
  bool high = false;
  bool hasDebug = false;
  StringId debugFor, debugSource;       // "jit", "step at train.py:10"
  SmallVector<StringId, 0> argNames;    // Invalid id: None.
  SmallVector<StringId, 0> resultPaths; // Likewise.
  bool hasArgNames = false, hasResultPaths = false; // False: null.
  StringId name;  // Of a shared definition in a text, or invalid.
  StringId extra; // Unknown fields, JSON verbatim.

  EqnId eqn(uint32_t i) const { return EqnId(firstEqn + i); }
  VarId var(uint32_t i) const { return VarId(firstVar + i); }
  VarId constvar(uint32_t i) const { return var(i); }
  VarId input(uint32_t i) const { return var(numConsts + i); }
};

/// A constant. The data is kept as the file gives it.
struct ConstArray {
  SmallVector<int64_t, 4> shape;
  StringId dtype;  // Long name.
  StringId base64; // Invalid: omitted.
  StringId hash;   // If omitted.
  StringId splat;  // If omitted and all elements are equal: Scalar, JSON.
  StringId extra;
  friend bool operator==(const ConstArray &, const ConstArray &) = default;
};

struct OpaqueObject {
  StringId className, repr, str, hash, extra;
  friend bool operator==(const OpaqueObject &, const OpaqueObject &) = default;
};

/// Where the program came from and what it is called.
struct Entry {
  JaxprId jaxpr;
  StringId name;
  SmallVector<StringId, 0> argNames, resultPaths; // As JAX gives them.
  SmallVector<StringId, 0> argPaths; // Normalised: `params/layers/0/w`.
  SmallVector<StringId, 0> outPaths; // `result`, `result/0`.
  /// Of the outermost jit, which is no equation of the program: tuples, or
  /// invalid.
  ValueId inShardings, outShardings;
  StringId extra; // in_tree, out_tree and all else, JSON verbatim.
};

/// The tables of the file a program was read from, in the file's order. JSON
/// that is kept verbatim (`extra`, `derived`, `context`, Raw values) names
/// objects by their index in these, so a writer begins its own tables with
/// them. All empty for programs that come from elsewhere. Sources, arrays,
/// opaques and jaxprs need no such list: Program holds them in file order.
struct FileTables {
  struct TypeEntry {
    TypeId type;
    MeshId mesh; // As in the file: types forget a mesh's device.
  };
  std::vector<MeshId> meshes;
  std::vector<TypeEntry> types;
  std::vector<StackId> stacks;
  /// The file's number of each variable; empty if they count up from 0 in the
  /// order of Program::vars, dropped ones not counted.
  std::vector<uint32_t> varIds;
  /// Axis names that are no strings, as texts of other Python values.
  SmallVector<StringId, 0> reprNames;
};

/// A primitive's name as this program uses it, and what printing and reading
/// need to know of it (null for a primitive we do not know).
struct PrimitiveRef {
  StringId name;
  const PrimitiveInfo *info = nullptr;
};

/// A program in memory. Readers and `Builder` fill it; afterwards it is
/// constant. Values, parameters, literals and equation infos are interned.
class Program {
public:
  explicit Program(Context &context);
  ~Program();
  Program(Program &&) noexcept;
  Program &operator=(Program &&) noexcept;
  /// A deep copy that shares the context.
  Program clone() const;

  Context &context() const { return *context_; }

  ValueId intern(const Value &value);
  const Value &value(ValueId id) const;
  /// Parameters must be sorted by key text; keys are unique.
  ParamsId internParams(ArrayRef<Param> params);
  ArrayRef<Param> params(ParamsId id) const;
  /// The value of a key, or an invalid id.
  ValueId param(ParamsId id, StringRef key) const;
  LiteralId intern(const Literal &literal);
  const Literal &literal(LiteralId id) const;
  EqnInfoId intern(const EqnInfo &info);
  const EqnInfo &info(EqnInfoId id) const;
  StackId internStack(ArrayRef<FrameId> innermostFirst);
  ArrayRef<FrameId> stack(StackId id) const; // Innermost first.
  uint32_t internSpec(const PartitionSpec &spec);
  const PartitionSpec &spec(const Value &value) const; // Of a Spec value.
  /// Index in `primitives`; at most 65,535 different names.
  std::optional<uint16_t> primitive(StringRef name, const PrimitiveInfo *info);

  const Eqn &eqn(EqnId id) const { return eqns[id.index()]; }
  ArrayRef<Atom> operandsOf(const Eqn &eqn) const {
    return ArrayRef(operands).slice(eqn.firstOperand, eqn.numOperands);
  }
  ArrayRef<Atom> operandsOf(EqnId id) const { return operandsOf(eqn(id)); }
  VarId result(const Eqn &eqn, unsigned i) const {
    return VarId(eqn.firstResult.raw() + i);
  }
  const Var &var(VarId id) const { return vars[id.index()]; }
  const Jaxpr &jaxpr(JaxprId id) const { return jaxprs[id.index()]; }
  StringRef name(const Eqn &eqn) const;
  const PrimitiveInfo *primitiveInfo(const Eqn &eqn) const {
    return primitives[eqn.primitive].info;
  }
  /// The recorded type of an operand; invalid if none was given.
  TypeId recordedType(Atom atom) const {
    return atom.isLiteral() ? literal(atom.literal()).type
                            : var(atom.var()).type;
  }
  /// The context mesh recorded for an equation of `jaxpr`.
  MeshId contextMesh(const Jaxpr &jaxpr, const Eqn &eqn) const {
    const EqnInfo &i = info(eqn.info);
    return i.hasContextMesh ? i.contextMesh : jaxpr.mesh;
  }

  std::vector<Eqn> eqns;
  std::vector<Atom> operands;
  std::vector<Var> vars;
  std::vector<Jaxpr> jaxprs;
  std::vector<Frame> frames;
  std::vector<ConstArray> arrays;
  std::vector<OpaqueObject> opaques;
  std::vector<PrimitiveRef> primitives;
  Entry entry;
  MeshId contextMeshAtTop; // context.mesh
  MeshId concreteMesh;     // context.concrete_mesh, which the extra keeps.
  FileTables file;
  uint32_t formatMinor = 2; // Minor version of the exchange format.
  /// From a printed text: mesh sizes and hidden parameters may be unknown.
  bool fromText = false;
  std::string producer;     // The producer object, JSON verbatim.
  std::string contextExtra; // context without mesh, JSON verbatim.
  std::string extra;        // Other top-level fields, JSON verbatim.

private:
  struct Impl;
  Context *context_;
  std::unique_ptr<Impl> impl_;
};

/// Calls `visit(JaxprId)` for each jaxpr a value holds, in order of the walk of
/// spec 04, 4.9 (tuples, lists, structs and hi-primitives are entered).
void forEachJaxpr(const Program &program, ValueId value,
                  llvm::function_ref<void(JaxprId)> visit);

} // namespace shardtype

#endif
