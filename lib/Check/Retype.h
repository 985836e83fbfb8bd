// Retype.h - what becomes of recorded meshes and types under re-typing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_CHECK_RETYPE_H
#define SHARDTYPE_LIB_CHECK_RETYPE_H

#include "shardtype/Check/Check.h"
#include "llvm/ADT/DenseMap.h"

namespace shardtype {

/// The meshes of one run: that of the trace, and that of the check. Without
/// re-typing they are one, and everything stays as recorded.
class Meshes {
public:
  Meshes(const Program &program, const CheckOptions &options);

  bool retyped() const { return retyped_; }
  /// Was the program recorded (export E1)? Then it is always re-typed.
  bool fromRecording() const { return recorded_; }
  MeshId recorded() const { return from_; } // Of the trace; invalid: none.
  MeshId now() const { return to_; }        // Checked for; invalid: none.
  /// A recorded mesh as it is now, in the form that types name.
  MeshId rewrite(MeshId recorded);
  /// The context mesh of a body: `recorded` is its own default, `caller` that
  /// of the equation that holds it. A text does not say, so there the body has
  /// its caller's.
  MeshId ofBody(MeshId recorded, MeshId caller);
  /// A captured constant: without a mesh it stays so (structure/retype.2).
  TypeId constant(TypeId recorded);
  /// The same with values that have no mesh put on the new one, as arguments.
  TypeId argument(TypeId recorded);

private:
  const Program &program_;
  Context &context_;
  bool recorded_, retyped_;
  MeshId from_, to_;
  llvm::DenseMap<MeshId, MeshId> rewritten_;
};

/// The same sets by name on another mesh, where those axes that are not Manual
/// are lost.
ManualAxisType onMesh(Context &cx, const ManualAxisType &type, MeshId from,
                      MeshId to);

/// What a name stack says of the backward pass (spec 04, 8.3).
enum class BackwardEffect : uint8_t { Inherit, Backward, Forward };
BackwardEffect backwardEffect(StringRef nameStack);

} // namespace shardtype

#endif
