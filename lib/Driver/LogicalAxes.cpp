// LogicalAxes.cpp - specs that name dims by what they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LogicalAxes.h"

using namespace shardtype;

bool LogicalAxes::read(Context &context, const JsonValue &value,
                       std::string &at, std::string &error) {
  at.clear();
  error = "is a list of rules such as [\"batch\", \"data\"] or "
          "[\"embed\", null]";
  if (value.kind != JsonValue::List)
    return false;
  for (auto [i, item] : llvm::enumerate(value.list)) {
    at = "/" + std::to_string(i);
    error = "is a rule: a logical name, then a mesh axis, a list of them, or "
            "null";
    if (item.kind != JsonValue::List || item.list.size() != 2 ||
        item.list[0].kind != JsonValue::String || item.list[0].string.empty())
      return false;
    Rule rule = {context.intern(item.list[0].string), {}};
    const JsonValue &to = item.list[1];
    if (to.kind == JsonValue::String) {
      rule.axes.push_back(context.intern(to.string));
    } else if (to.kind == JsonValue::List) {
      for (const JsonValue &axis : to.list) {
        if (axis.kind != JsonValue::String)
          return false;
        rule.axes.push_back(context.intern(axis.string));
      }
    } else if (to.kind != JsonValue::Null) {
      return false;
    }
    rules_.push_back(std::move(rule));
  }
  return true;
}

PartitionSpec LogicalAxes::apply(const Context &context,
                                 const PartitionSpec &spec,
                                 std::vector<std::string> &conflicts) const {
  struct Dim {
    bool decided = false;
    SmallVector<StringId, 2> axes;
    const Rule *refused = nullptr;
    StringId taken; // Of the refused rule, by another dim.
  };
  auto isLogical = [&](StringId name) {
    return llvm::any_of(rules_, [&](const Rule &r) { return r.name == name; });
  };
  SmallVector<StringId, 8> used(spec.unreduced.begin(), spec.unreduced.end());
  used.append(spec.reduced.begin(), spec.reduced.end());
  for (const SpecEntry &entry : spec.partitions)
    for (StringId name : entry.axes)
      if (!isLogical(name))
        used.push_back(name);
  // A dim may be split over several names; each has rules of its own.
  std::vector<std::vector<Dim>> dims(spec.partitions.size());
  for (auto [dim, entry] : llvm::zip_equal(dims, spec.partitions))
    dim.resize(entry.axes.size());
  for (const Rule &rule : rules_)
    for (auto [parts, entry] : llvm::zip_equal(dims, spec.partitions))
      for (auto [part, name] : llvm::zip_equal(parts, entry.axes)) {
        if (name != rule.name || part.decided)
          continue;
        auto taken = llvm::find_if(rule.axes, [&](StringId axis) {
          return llvm::is_contained(used, axis);
        });
        if (taken != rule.axes.end()) {
          if (!part.refused) {
            part.refused = &rule;
            part.taken = *taken;
          }
          continue;
        }
        part.decided = true;
        part.axes = rule.axes;
        used.append(rule.axes.begin(), rule.axes.end());
      }
  PartitionSpec result = spec;
  for (size_t i = 0; i < dims.size(); ++i) {
    SpecEntry &entry = result.partitions[i];
    entry.axes.clear();
    for (size_t k = 0; k < dims[i].size(); ++k) {
      const Dim &part = dims[i][k];
      StringId name = spec.partitions[i].axes[k];
      if (!isLogical(name)) {
        entry.axes.push_back(name);
        continue;
      }
      entry.axes.append(part.axes.begin(), part.axes.end());
      if (!part.decided && part.refused)
        conflicts.push_back("the rule of '" + context.str(name).str() +
                            "' for dim " + std::to_string(i) + " wants axis '" +
                            context.str(part.taken).str() +
                            "', which another dim has; dim " +
                            std::to_string(i) + " is not split by it");
    }
  }
  return result;
}
