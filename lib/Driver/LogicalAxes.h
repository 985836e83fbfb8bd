// LogicalAxes.h - specs that name dims by what they are (config `logical`).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_LOGICALAXES_H
#define SHARDTYPE_LIB_DRIVER_LOGICALAXES_H

#include "Options.h"

namespace shardtype {

/// Rules from logical names to mesh axes, as flax and MaxText have them. Rules
/// are gone through in order, the first that fits wins: its name stands in the
/// spec, its dim has no rule yet, and none of its axes is taken by another dim.
/// A rule to null decides that the dim is whole.
class LogicalAxes {
public:
  /// Reads `[["batch", "data"], ["embed", null], ["mlp", ["model", "seq"]]]`.
  /// False: `error` says what is wrong, `at` where, as the end of a JSON
  /// pointer.
  bool read(Context &context, const JsonValue &value, std::string &at,
            std::string &error);
  bool empty() const { return rules_.empty(); }
  /// The spec with mesh axes for logical names; names without a rule stay. Each
  /// name that a rule could not serve is a sentence in `conflicts`.
  PartitionSpec apply(const Context &context, const PartitionSpec &spec,
                      std::vector<std::string> &conflicts) const;

private:
  struct Rule {
    StringId name;
    SmallVector<StringId, 2> axes; // None: whole.
  };
  std::vector<Rule> rules_;
};

} // namespace shardtype

#endif
