// WithoutUnits.h - texts of meshes and types without axes of size 1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_WITHOUTUNITS_H
#define SHARDTYPE_TEST_ORACLE_WITHOUTUNITS_H

#include "shardtype/Support/LLVM.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace shardtype::oracle {

/// The texts of a mesh and of types with axes of size 1 left out.
class WithoutUnits {
public:
  explicit WithoutUnits(StringRef mesh) {
    SmallVector<StringRef, 4> axes;
    mesh.split(axes, ',', -1, /*KeepEmpty=*/false);
    for (StringRef axis : axes) {
      auto [name, rest] = axis.split('=');
      if (rest.split(':').first == "1")
        units_.insert(name);
      else
        mesh_ += (mesh_.empty() ? "" : ",") + axis.str();
    }
  }
  bool any() const { return !units_.empty(); }
  const std::string &mesh() const { return mesh_; }
  bool occurIn(StringRef param) const {
    for (const auto &unit : units_)
      if (param.contains(("'" + unit.first() + "'").str()))
        return true;
    return false;
  }
  /// `f32[8@(X,Y)]{U:Y}` without Y: `f32[8@X]`.
  std::string type(StringRef text) const {
    if (!text.contains('[') || text.starts_with("Ref"))
      return text.str();
    auto [head, tail] = text.split(']');
    auto [front, body] = head.split('[');
    std::string out = front.str() + "[";
    for (StringRef rest = body; !rest.empty();) {
      size_t size = rest.find_first_of(",@");
      out += rest.take_front(size).str();
      rest = size == StringRef::npos ? StringRef() : rest.drop_front(size);
      if (rest.consume_front("@"))
        if (std::string kept = axes(rest); !kept.empty())
          out += "@" + kept;
      if (rest.consume_front(","))
        out += ",";
    }
    return out + "]" + sets(tail);
  }

  std::vector<std::string> types(ArrayRef<std::string> texts) const {
    std::vector<std::string> out;
    for (const std::string &text : texts)
      out.push_back(type(text));
    return out;
  }

private:
  /// Takes one axis or a tuple of them off the text.
  std::string axes(StringRef &rest) const {
    bool tuple = rest.consume_front("(");
    size_t end = rest.find_first_of(tuple ? ")" : ",)}");
    StringRef names = rest.take_front(end);
    rest = rest.drop_front(names.size());
    if (tuple)
      rest.consume_front(")");
    SmallVector<StringRef, 4> kept;
    names.split(kept, ',');
    llvm::erase_if(kept, [&](StringRef n) { return units_.contains(n); });
    if (kept.size() == 1)
      return kept[0].str();
    return kept.empty() ? "" : "(" + llvm::join(kept, ",") + ")";
  }
  /// `{U_max:(X,Y), R:Z}`.
  std::string sets(StringRef text) const {
    std::string out;
    if (!text.consume_front("{"))
      return out;
    while (!text.empty() && !text.starts_with("}")) {
      size_t colon = text.find(':');
      std::string name = text.take_front(colon).str();
      text = text.drop_front(colon + 1);
      if (std::string kept = axes(text); !kept.empty())
        out += (out.empty() ? "" : ", ") + name + ":" + kept;
      text.consume_front(", ");
    }
    return out.empty() ? out : "{" + out + "}";
  }

  llvm::StringSet<> units_;
  std::string mesh_;
};

} // namespace shardtype::oracle

#endif
