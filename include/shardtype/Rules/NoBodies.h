// NoBodies.h - a host for rules that ask nothing of the checker.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_NOBODIES_H
#define SHARDTYPE_RULES_NOBODIES_H

#include "shardtype/Rules/TypingContext.h"

namespace shardtype {

/// For single equations without a program around them, and for decoding
/// parameters: bodies have errors, nothing is recorded, meshes stay.
class NoBodies final : public TypingHost {
public:
  Body typeBody(JaxprId body, ArrayRef<Typed>, MeshId, BodyInputs,
                std::optional<Vma>) override {
    return {body, {}, {}, /*hadErrors=*/true};
  }
  std::vector<Typed> tryBody(JaxprId, ArrayRef<Typed>, MeshId) override {
    return {};
  }
  TypeId binder(JaxprId, unsigned) override { return {}; }
  MeshId rewriteMesh(MeshId recorded) override { return recorded; }
  std::optional<DiagNote> origin(const Body &, unsigned, TypeId, int) override {
    return std::nullopt;
  }
};

} // namespace shardtype

#endif
