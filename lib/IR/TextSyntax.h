// TextSyntax.h - a printed program once its grammar is read, types as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types name axes of a mesh, and the text shows that mesh later than the types,
// if at all: a shard_map prints its body before its mesh, a definition comes
// before the call that says where it runs. So a first pass reads everything but
// types (TextParser), and a second one (TextResolver), which goes from the
// entry into bodies, knows the mesh of each jaxpr before it reads its types.
#ifndef SHARDTYPE_LIB_IR_TEXTSYNTAX_H
#define SHARDTYPE_LIB_IR_TEXTSYNTAX_H

#include "shardtype/IR/Program.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// A part of the text.
struct TextRange {
  uint32_t offset = 0, length = 0;
  bool empty() const { return length == 0; }
};

/// An operand: a LiteralId, or the number of a variable in its jaxpr.
struct SyntaxAtom {
  static constexpr uint32_t LiteralBit = 0x80000000u;
  uint32_t raw = 0;
  bool isLiteral() const { return raw & LiteralBit; }
  uint32_t index() const { return raw & ~LiteralBit; }
};

struct SyntaxBinder {
  StringId name;  // Invalid: `_`, or nothing is written.
  TextRange type; // Empty: none was given.
  enum State : uint8_t {
    Plain,  // `_` is a DropVar.
    Read,   // A `_` that something reads.
    Silent, // The result of `x[...] <- v`: dead, but no DropVar.
  } state = Plain;
};

/// `[i,1:3]` behind a Ref, in pieces (spec 04, 4.8).
struct SyntaxIndex {
  enum Kind : uint8_t { Number, Operand, Slice } kind = Number;
  // Number: `start`. Operand: the start-th index operand. Slice: as written;
  // an unset end is the dim's.
  int64_t start = 0, size = 0;
  bool startIsOperand = false, sizeIsOperand = false, toTheEnd = false;
};
struct SyntaxRef {
  bool whole = false; // `[...]`
  /// Not understood: `text` prints behind the Ref.
  bool verbatim = false;
  TextRange text;
  SmallVector<SyntaxIndex, 4> indices;
};

struct SyntaxEqn {
  uint32_t offset = 0;       // Where it begins.
  uint32_t order = 0;        // Its number among all equations of the text.
  uint32_t firstOperand = 0; // In Syntax::operands.
  uint32_t numOperands = 0;
  uint32_t numResults = 0;
  uint32_t firstParam = 0; // In Syntax::params.
  uint32_t numParams = 0;
  int32_t ref = -1; // In Syntax::refs.
  uint16_t primitive = 0;
  bool holdsJaxprs = false;
  bool bareSpecs = false; // A spec stands where a sharding is wanted.
  bool hiPrim = false;    // Its class was named in place of a primitive.
};

struct SyntaxParam {
  StringId key;
  ValueId value;
  uint32_t offset = 0; // Of the value; of the equation if it is not written.
};

struct SyntaxJaxpr {
  bool defined = false;
  uint32_t offset = 0; // Where it begins, or is first referred to.
  uint32_t numConsts = 0, numInputs = 0;
  std::vector<SyntaxBinder> binders; // All variables.
  std::vector<SyntaxEqn> eqns;
  SmallVector<SyntaxAtom, 4> outs;
  StringId name;      // Of a definition.
  StringId debugName; // The `name=` of a custom_jvp_call.
};

struct Syntax {
  std::vector<SyntaxJaxpr> jaxprs; // By JaxprId.
  std::vector<SyntaxAtom> operands;
  std::vector<SyntaxParam> params;
  std::vector<SyntaxRef> refs;
  JaxprId entry;
  /// Jaxprs of programs inside values: their entries and definitions.
  std::vector<JaxprId> wholeJaxprs;
  /// By SyntaxEqn::order: where the equation begins, and its ` = ` (0: none).
  std::vector<uint32_t> eqnOffsets, markOffsets;
  /// Comments that say where an equation comes from, in text order.
  std::vector<TextRange> sourceComments;
};

/// Where a text went wrong first.
struct TextFailure {
  diag::Code code = diag::TextSyntax;
  std::vector<std::string> args;
  size_t offset = 0;
};

} // namespace shardtype

#endif
