// TextParser.h - first pass over a printed program: everything but types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTPARSER_H
#define SHARDTYPE_LIB_IR_TEXTPARSER_H

#include "TextCursor.h"
#include "TextValue.h"
#include "shardtype/IR/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace shardtype {

/// Reads the grammar of spec 04, 5. The first mistake ends it.
class TextParser {
public:
  TextParser(Program &program, StringRef text, InfoLookup lookup,
             const ParseLimits &limits)
      : program_(program), cx_(program.context()), in_(text), lookup_(lookup),
        limits_(limits) {}

  /// Reads the whole text. On failure see `failure`.
  LogicalResult parse();
  Syntax &syntax() { return syntax_; }
  const TextFailure &failure() const { return failure_; }

private:
  /// The variables of the jaxpr being read.
  struct Scope {
    llvm::DenseMap<StringId, uint32_t> vars;
    SmallVector<uint32_t, 2> underscores;
    std::vector<SyntaxBinder> binders;
    std::vector<SyntaxEqn> eqns;
  };
  struct Definitions {
    llvm::StringMap<JaxprId> ids;
  };
  using Params = SmallVector<SyntaxParam, 12>;
  struct KnownPrimitive {
    const PrimitiveInfo *info = nullptr;
    uint16_t index = 0;      // In the program.
    bool hiPrim = false;     // The name is that of a class.
    bool linearized = false; // With `.linearized` behind it.
  };

  // TextParser.cpp: programs, jaxprs, equations.
  FailureOr<JaxprId> program();
  FailureOr<JaxprId> wholeProgram(size_t &offset, unsigned valueDepth);
  LogicalResult definition();
  LogicalResult checkDefined(const Definitions &definitions);
  JaxprId newJaxpr(size_t offset);
  JaxprId definitionId(StringRef name, size_t offset);
  LogicalResult jaxpr(JaxprId id, ArrayRef<SyntaxBinder> results);
  LogicalResult head(SyntaxJaxpr &jaxpr);
  LogicalResult headBinders(char close, uint32_t &count);
  LogicalResult equations();
  LogicalResult outs(SyntaxJaxpr &jaxpr, ArrayRef<SyntaxBinder> results);
  LogicalResult equation();
  LogicalResult binders(SyntaxEqn &eqn);
  LogicalResult binder();
  LogicalResult bind(uint32_t first, uint32_t count);
  LogicalResult plainEqn(SyntaxEqn &eqn);
  FailureOr<KnownPrimitive> primitive();
  void makeHiPrim(StringRef className, bool linearized, uint32_t offset,
                  Params &params);
  LogicalResult finish(SyntaxEqn &eqn, Params &params,
                       const PrimitiveInfo *info);
  bool atIn();
  bool startsEqn() const;
  Scope &scope() { return *scopes_[depth_ - 1]; }

  // TextOperands.cpp: operands, literals, reads and writes of Refs.
  LogicalResult operands(SyntaxEqn &eqn);
  FailureOr<bool> moreOperands(bool newLine);
  bool atLiteral() const;
  FailureOr<SyntaxAtom> atom();
  FailureOr<SyntaxAtom> literal();
  FailureOr<SyntaxAtom> variable(StringRef name, size_t offset);
  FailureOr<SyntaxAtom> deadOut(ArrayRef<SyntaxBinder> results, size_t out,
                                SmallVectorImpl<uint32_t> &used);
  bool atRefWrite();
  LogicalResult refWrite(SyntaxEqn &eqn);
  LogicalResult refRead(SyntaxEqn &eqn);
  LogicalResult refSwap(SyntaxEqn &eqn);
  LogicalResult refAtom(SyntaxEqn &eqn, SmallVectorImpl<SyntaxAtom> &operands);
  FailureOr<bool> refIndices(SyntaxRef &ref,
                             SmallVectorImpl<SyntaxAtom> &operands);
  FailureOr<bool> refIndex(StringRef text, size_t offset, SyntaxIndex &index,
                           SmallVectorImpl<SyntaxAtom> &operands);
  LogicalResult finishRef(SyntaxEqn &eqn, StringRef name,
                          ArrayRef<SyntaxAtom> operands);

  // TextParams.cpp: parameters.
  LogicalResult params(SyntaxEqn &eqn, const PrimitiveInfo *info,
                       Params &params);
  FailureOr<ValueId> paramValue(SyntaxEqn &eqn, const ParamSchema *schema,
                                const ParamField *field, StringRef key,
                                const Params &given);
  FailureOr<ValueId> jaxprValue(SyntaxEqn &eqn, const ParamSchema *schema,
                                StringRef key, const Params &given);
  FailureOr<ValueId> jaxprsValue(SyntaxEqn &eqn);
  LogicalResult jaxprNames(StringRef text, size_t offset,
                           SmallVectorImpl<ValueId> &jaxprs);
  FailureOr<ValueId> genericValue(SyntaxEqn &eqn, const ParamSchema *schema,
                                  StringRef key, const Params &given);
  FailureOr<std::optional<ValueId>> simpleValue(StringRef key);
  FailureOr<StringRef> bareText(const ParamSchema *schema, StringRef key,
                                bool name, const Params &given);
  bool atKeyOrEnd() const;
  void addDefaults(const SyntaxEqn &eqn, const ParamSchema &schema,
                   Params &params);
  ValueId defaultOf(const SyntaxEqn &eqn, const ParamField &field);
  void noteSpecs(SyntaxEqn &eqn, StringRef key, ValueId value);
  ValueId value(Value::Kind kind, int64_t integer = 0);
  ValueId textValue(Value::Kind kind, StringRef text, int64_t integer = 0);
  ValueId tuple(ArrayRef<ValueId> elements);

  LogicalResult fail(size_t offset, std::string message) {
    return fail(offset, diag::TextSyntax, {std::move(message)});
  }
  LogicalResult fail(size_t offset, diag::Code code,
                     std::vector<std::string> args);
  LogicalResult expected(StringRef what);
  /// Counts towards the limit of items.
  LogicalResult count(size_t items = 1);

  Program &program_;
  Context &cx_;
  TextCursor in_;
  InfoLookup lookup_;
  const ParseLimits &limits_;
  Syntax syntax_;
  TextFailure failure_;
  bool failed_ = false;
  unsigned depth_ = 0;
  unsigned valueDepth_ = 0; // Of the values around it.
  uint64_t items_ = 0;
  std::vector<std::unique_ptr<Scope>> scopes_;
  std::vector<Definitions> definitions_;
  llvm::StringMap<KnownPrimitive> primitives_; // By the name in the text.
  llvm::StringMap<LiteralId> literals_;        // By text with the type.
  llvm::StringMap<ValueId> simpleValues_;      // By text, without jaxprs.
};

} // namespace shardtype

#endif
