// Agree.h - compares a result with what JAX computed, by the rule of the case.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_NUMBERS_AGREE_H
#define SHARDTYPE_TEST_ORACLE_NUMBERS_AGREE_H

#include "shardtype/Tensor/Tensor.h"
#include <string>

namespace shardtype::oracle {

/// What README.md describes; alternatives, of which one must hold for each
/// element.
struct NumberRule {
  double ulps = 0, absolute = 0, relative = 0;
  bool exact = false, any = false;
  /// Matrices: columns up to a unit factor each; elements up to one each.
  bool columns = false, sizes = false;
};
/// Nothing: the text is no rule.
std::optional<NumberRule> parseNumberRule(StringRef text);

/// Empty if `ours` agrees; else the worst element, with both values.
std::string disagreement(const Tensor &ours, const Tensor &jax,
                         const NumberRule &rule);

} // namespace shardtype::oracle

#endif
