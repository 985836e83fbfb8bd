// Parser.h - reads programs in JAX's printed form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PARSER_H
#define SHARDTYPE_IR_PARSER_H

#include "shardtype/IR/Primitive.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

struct ParseLimits {
  unsigned depth = 256;        // Nesting of programs, brackets and types.
  uint64_t bytes = 4ull << 30; // Of one input.
  uint64_t items = 1ull << 30; // Variables, operands, values.
  /// For a text whose types need a mesh and that names none; it must have the
  /// axes of the types.
  MeshId mesh;
};

/// A `#!` line (spec 04, 5): its words, and where it stands.
struct Directive {
  std::string text; // Without `#!`, trimmed.
  unsigned line = 0;
};

struct ParsedText {
  Program program;
  std::vector<Directive> directives;
};

/// Reads one program. `fileName` names sources of equations that carry none of
/// their own (rule 8 of spec 04, 6.3). Errors go to `diags` with line and
/// column, and then there is no result.
std::optional<ParsedText> parseText(Context &context, StringRef text,
                                    StringRef fileName, InfoLookup lookup,
                                    DiagnosticList &diags,
                                    const ParseLimits &limits = {});

/// Reads one parameter value printed alone, as `(1, 0)` or `P('X', None)`; a
/// bare spec becomes a sharding on `mesh` when that is valid.
std::optional<ValueId> parseValue(Program &program, StringRef text, MeshId mesh,
                                  std::string &error);

} // namespace shardtype

#endif
