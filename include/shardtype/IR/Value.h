// Value.h - parameter values of equations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_VALUE_H
#define SHARDTYPE_IR_VALUE_H

#include "shardtype/Support/Ids.h"
#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// One Python value, interned in its Program: equal values have equal ids. The
/// comment of a kind says which fields it uses; the others keep their default.
/// Kinds and their JSON stand in spec 04, 6.2.
struct Value {
  enum Kind : uint8_t {
    None,
    Bool,        // integer; text: `np.True_` if a text printed it so
    Int,         // integer; text: `np.int64(3)` likewise
    BigInt,      // text: decimal digits of an int outside 64 bits
    Float,       // text: as printed; text2: bits in hex, if known
    Complex,     // elements: real and imaginary Float
    Str,         // text
    Tuple,       // elements
    List,        // elements
    Dict,        // elements: key, value, key, value, ...
    Set,         // elements, sorted; a frozenset
    DType,       // text: the long name
    Enum,        // text: class; text2: member; elements: [value], if given;
                 // integer: value, if a number
    Struct,      // text: class; names and elements: fields in order
    Jaxpr,       // integer: JaxprId
    Spec,        // integer: index in Program::specs
    Sharding,    // NamedSharding. integer: MeshId; elements[0]: Spec; text:
                 // memory kind, if any; by
    Mesh,        // integer: MeshId (may be concrete)
    Type,        // integer: TypeId
    Array,       // integer: index in Program::arrays
    FlatTree,    // elements[0]: leaf counts; text: as printed
    TreeDef,     // text: as printed; integer: leaves, or -1
    Sym,         // text: a symbolic dim
    Prng,        // text: tag; text2: name; elements[0]: key shape
    HiPrim,      // text: class; names and elements: params in printing order;
                 // inTypes, outTypes as elements of two trailing tuples named
                 // "$in" and "$out"; integer: opaque index, or -1
    Callable,    // text: name; integer: opaque index, or -1
    Opaque,      // integer: index in Program::opaques; text: "sharding" if it
                 // is a sharding that is no NamedSharding
    OpaqueText,  // text: from a printed program, kept verbatim
    Unspecified, // JAX's UnspecifiedValue
    Hidden,      // Not in the text; Check finds it from the binder
    Raw          // text: JSON we do not understand, kept verbatim
  } kind = None;
  /// Sharding: who chose it (spec 08, 3). Absent counts as the user.
  enum By : uint8_t { Unsaid, User, Jax } by = Unsaid;
  int64_t integer = 0;
  StringId text, text2;
  /// Unknown JSON fields beside the known ones, an object verbatim. Those of
  /// the object that a tag holds stand in it under the empty key.
  StringId extra;
  SmallVector<ValueId, 2> elements;
  SmallVector<StringId, 0> names;

  friend bool operator==(const Value &, const Value &) = default;
};

/// One `key=value` of an equation.
struct Param {
  StringId key;
  ValueId value;
  friend bool operator==(const Param &, const Param &) = default;
};

} // namespace shardtype

#endif
