// Communication.h - what an equation communicates, and how often.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For the slots `communication` and `runs` of a row, and for who asks them.
#ifndef SHARDTYPE_RULES_COMMUNICATION_H
#define SHARDTYPE_RULES_COMMUNICATION_H

#include "shardtype/Rules/Primitive.h"
#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// An equation as it was typed.
struct TypedEqn {
  Context &context;
  const Program &program;
  ParamsId params;
  MeshId mesh; // Its context mesh.
  ArrayRef<TypeId> operands, results;
  /// A parameter; null if there is none of this key.
  const Value *param(StringRef key) const;
};

/// The named axes of a collective on a mesh, in the order given, each once.
AxisList collectiveAxes(const Program &program, ParamsId params,
                        const Mesh &mesh);

/// How often the bodies of an equation run for each time that it runs itself.
struct BodyRuns {
  enum Kind : uint8_t {
    Times,   // `times`.
    Unknown, // As often as values say.
    OneOf    // One of them runs, and values say which.
  } kind = Times;
  uint64_t times = 1;
};

/// For rows that are a collective of one kind: over the axes that the parameter
/// `axes` or `axis_name` gives, in the groups of `axis_index_groups` if there
/// are any. Payload is the local operand, for an all-gather and an all-reduce
/// the result (`psum` adds up dims before). What a ragged exchange sends is a
/// matter of values, at most this.
std::vector<CommStep> collectiveStep(const TypedEqn &eqn, CommStep::Kind kind);
template <CommStep::Kind Kind>
FailureOr<std::vector<CommStep>> collective(const TypedEqn &eqn) {
  return collectiveStep(eqn, Kind);
}

} // namespace shardtype

#endif
