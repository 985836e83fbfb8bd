// OwnPrimitives.h - rules for primitives that are not JAX's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_OWNPRIMITIVES_H
#define SHARDTYPE_RULES_OWNPRIMITIVES_H

#include "shardtype/Rules/Derive.h"
#include <memory>

namespace shardtype {

/// What is said of one primitive (docs/own-primitives.md).
struct OwnRule {
  std::string name;
  /// `(b s d), (d) -> (b s d)`; see parseDimMap.
  std::string dims;
  std::vector<std::string> whole; // Factors that no device may have a part of.
  LinearGroups linear;
  /// Sizes of factors that no operand's shape tells.
  std::vector<std::pair<std::string, int64_t>> sizes;
  /// Of all results; none: as recorded, else that of operand 0.
  std::optional<DType> dtype;
};

/// What is wrong with a rule, and where in it.
struct OwnFault {
  StringRef field;   // "name", "dims", "whole", "linear", "sizes".
  int index = -1;    // In a list; -1: the field itself.
  size_t offset = 0; // `dims`: the character at fault.
  std::string message;
};

/// Primitives with a rule derived from a dimension map. Sets that were given
/// rows refer to them: this must outlive those.
class OwnPrimitives {
public:
  OwnPrimitives();
  ~OwnPrimitives();
  OwnPrimitives(const OwnPrimitives &) = delete;
  OwnPrimitives &operator=(const OwnPrimitives &) = delete;

  /// Adds a primitive, or says what is wrong.
  std::optional<OwnFault> add(const OwnRule &rule);
  /// Puts all of them into a set; those of the same name there are replaced.
  void addTo(PrimitiveSet &set) const;

private:
  struct Row;
  std::vector<std::unique_ptr<Row>> rows_;
};

} // namespace shardtype

#endif
