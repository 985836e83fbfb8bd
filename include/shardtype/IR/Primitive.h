// Primitive.h - what printing and reading need to know of a primitive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PRIMITIVE_H
#define SHARDTYPE_IR_PRIMITIVE_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// When a printed program leaves a parameter out (spec 04, 4.8).
enum class Hide : uint8_t {
  Never,
  IfNone,        // A default that text can recover: None.
  IfEmpty,       // Likewise: an empty tuple.
  IfFalse,       // False, or a tuple of False.
  IfZero,        // 0.
  IfUnspecified, // UnspecifiedValue, or a tuple of it; also a tuple of None.
  Always,        // Text does not tell; readers give Value::Hidden.
  AlwaysNone     // Never printed, and text readers give None.
};

/// One parameter: its key, when it is hidden, and how its printed text reads.
struct ParamField {
  StringRef key;
  Hide hide = Hide::Never;
  enum Reads : uint8_t {
    Generic, // A Python literal, or opaque text.
    Name,    // Bare text up to the next key: a string, callable or enum.
    Jaxpr,   // `{ lambda ...}` or the name of a shared jaxpr.
    Jaxprs,  // `( {lambda ...} name )`.
    DotDims  // `(([1], [0]), ([], []))`: tuples printed as lists.
  } reads = Generic;
  StringRef printedAs = {}; // Another key in print: `jvp` for jvp_jaxpr_fun.
  bool required = true;     // A row's rule needs it.
};

/// All parameters of a primitive, sorted by key.
struct ParamSchema {
  ArrayRef<ParamField> fields;
  /// `name=` is printed before the others. Without `nameFrom` the variables of
  /// the body also take the names of the equation's own (jit; spec 04, 4.4).
  bool nameFirst = false;
  /// Which jaxpr parameter gives `name` if there is no such parameter
  /// (custom_jvp_call prints the debug name of call_jaxpr).
  StringRef nameFrom = {};
  /// A jaxpr that JAX meets before those of smaller keys when it looks for
  /// shared ones (`cond_jaxpr` of while; spec 04, 4.9).
  StringRef walkFirst = {};

  const ParamField *find(StringRef key) const {
    for (const ParamField &field : fields)
      if (field.key == key)
        return &field;
    return nullptr;
  }
};

/// How an equation of a primitive prints when not as `name[params] operands`.
enum class PrintStyle : uint8_t {
  Plain,
  RefGet,   // a:f32[] <- x[...]
  RefSwap,  // a:f32[], x[...] <- x[...], v
  RefAdd,   // x[...] += v
  HiPrim,   // Class[its own params]
  HiPrimLin // Class.linearized[...]
};

struct PrimitiveInfo {
  StringRef name; // As a jaxpr spells it.
  const ParamSchema &params;
  PrintStyle style = PrintStyle::Plain;
  /// Other spellings that files use for it: `pjit` for jit.
  ArrayRef<StringRef> aliases = {};
  /// Devices of a manual region meet in it: where they do not run the same
  /// equations, it waits for ever.
  bool collective = false;
  /// It casts to varying over the axes of its parameter `axes`: JAX writes such
  /// where operands of an operation vary over different axes.
  bool castsToVarying = false;
};

/// Finds what is known of a primitive by name or alias; null: unknown.
using InfoLookup = llvm::function_ref<const PrimitiveInfo *(StringRef)>;

} // namespace shardtype

#endif
