// TextResolver.h - second pass over a printed program: meshes, types, places.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTRESOLVER_H
#define SHARDTYPE_LIB_IR_TEXTRESOLVER_H

#include "TextSyntax.h"
#include "shardtype/IR/Builder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace shardtype {

/// Builds the program that a text's syntax describes. Bodies are met on the way
/// from the entry, so the mesh around each is known (spec 04, 5, rule 8).
class TextResolver {
public:
  /// `declared` are the meshes of `#! mesh` lines: the first one is that around
  /// the entry.
  TextResolver(Program &program, StringRef text, StringRef fileName,
               Syntax &syntax, ArrayRef<MeshId> declared, unsigned maxDepth)
      : program_(program), cx_(program.context()), text_(text), syntax_(syntax),
        file_(cx_.intern(fileName)), noFunction_(cx_.intern("")),
        known_(declared.begin(), declared.end()), maxDepth_(maxDepth),
        builder_(program) {}

  LogicalResult resolve();
  const TextFailure &failure() const { return failure_; }
  /// It failed because types or specs need a mesh and the text names none.
  bool wantsMesh() const { return wantsMesh_; }

private:
  struct Place {
    uint32_t line = 0, column = 0;
    FrameId frame;        // Of a source comment.
    bool unknown = false; // A source comment says so.
  };

  // Which jaxprs there are, and where they run.
  void findJaxprs();
  LogicalResult checkNesting();
  void findMeshes();
  MeshId withShownAxes(const SyntaxJaxpr &jaxpr, MeshId mesh);
  void giveMeshes();
  MeshId bodyMesh(const SyntaxEqn &eqn, MeshId around);
  void forEachJaxpr(ValueId value,
                    llvm::function_ref<void(JaxprId)> visit) const;
  bool equal(JaxprId a, JaxprId b, unsigned depth);
  bool equal(ValueId a, ValueId b, unsigned depth);

  // Sources.
  void findPlaces();
  void dropEmptyComments();
  void readSource(TextRange comment, Place &place);
  EqnInfoId eqnInfo(const SyntaxEqn &eqn, StringId derived, MeshId mesh);

  // Building.
  LogicalResult build(JaxprId id);
  LogicalResult buildEqn(const SyntaxJaxpr &jaxpr, const SyntaxEqn &eqn,
                         uint32_t &nextVar);
  FailureOr<TypeId> binderType(const SyntaxBinder &binder, MeshId mesh);
  MeshId eqnMesh(ArrayRef<Atom> operands) const;
  MeshId meshOf(TypeId type) const;
  FailureOr<ParamsId> buildParams(const SyntaxEqn &eqn, ArrayRef<Atom> operands,
                                  ArrayRef<TypeId> results);
  FailureOr<ValueId> toSharding(ValueId value, uint32_t offset);
  ValueId withTypes(ValueId hiPrim, ArrayRef<Atom> operands,
                    ArrayRef<TypeId> results);
  ValueId united(ValueId value);
  StringId refAccess(const SyntaxEqn &eqn, ArrayRef<Atom> operands);
  void nameVar(const SyntaxBinder &binder, VarId var);
  Atom atom(SyntaxAtom operand) const;

  bool wantsMesh_ = false;

  LogicalResult fail(size_t offset, std::string message) {
    failure_ = {diag::TextSyntax, {std::move(message)}, offset};
    return llvm::failure();
  }
  StringRef str(TextRange range) const {
    return text_.substr(range.offset, range.length);
  }
  ArrayRef<SyntaxParam> params(const SyntaxEqn &eqn) const {
    return ArrayRef(syntax_.params).slice(eqn.firstParam, eqn.numParams);
  }

  Program &program_;
  Context &cx_;
  StringRef text_;
  Syntax &syntax_;
  StringId file_, noFunction_;   // Of equations without a source comment.
  MeshId mesh_;                  // Around the entry.
  SmallVector<MeshId, 4> known_; // Declared, then printed somewhere.
  unsigned maxDepth_;
  Builder builder_;
  TextFailure failure_;

  std::vector<JaxprId> order_;               // From the entry, breadth first.
  std::vector<std::vector<JaxprId>> bodies_; // By JaxprId.
  std::vector<JaxprId> unitedWith_;          // By JaxprId; invalid: itself.
  uint64_t comparisons_ = 0;                 // Made to unite them.
  std::vector<MeshId> meshes_;               // By JaxprId.
  std::vector<Place> places_;                // By SyntaxEqn::order.
  llvm::DenseMap<MeshId, llvm::StringMap<TypeId>> types_;

  // Of the jaxpr being built.
  MeshId here_;
  MeshId region_; // `here_`, with all axes that types show made Explicit.
  uint32_t firstVar_ = 0;
};

} // namespace shardtype

#endif
