// properties.cpp - what holds for recorded verdicts of any primitive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oracle_properties refusals|derived [--expect LIST] FILE...
//
// `refusals`: JAX refuses some equations only because of axes of size 1, and
// some although all operands are replicated. Whether a refusal is one of these
// is found here without the engine's help: the equation is typed without the
// axes of size 1, on a smaller mesh, or without any mesh. Our diagnostic of
// each must carry the type found so. Which refusals of JAX there are is the
// list.
//
// `derived`: the sharding rule that a primitive's dimension map implies,
// against what JAX answered. How often they differ is the list.
//
// The list goes to the output, or is compared with a file.
#include "MatrixFile.h"
#include "shardtype/Rules/Derive.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

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

bool isPlain(StringRef type) {
  return !type.contains('@') && !type.contains('{');
}

class Properties {
public:
  explicit Properties(bool derived)
      : derived_(derived), rows_(allPrimitives()) {}
  bool file(StringRef path);
  std::string list() const;
  unsigned broken() const { return broken_; }

private:
  void group(const Group &group);
  void refusals(const Primitive &row, const Group &group);
  void refusal(Situation &situation, Situation &other, const Group &group,
               const Case &c, ArrayRef<std::string> operands, StringRef why);
  void derive(const Primitive &row, const Group &group);
  void derived(Situation &situation, const Group &group, const Case &c,
               const DimMap &map);

  bool derived_;
  PrimitiveSet rows_;
  std::map<std::string, unsigned> refused_;
  struct Counts {
    unsigned same = 0, refused = 0, accepted = 0, other = 0;
    std::string example;
  };
  std::map<std::string, Counts> counts_;
  unsigned broken_ = 0;
};

bool bad(const llvm::Twine &message) {
  llvm::errs() << "oracle_properties: " << message << '\n';
  return false;
}

bool asksForSharding(const Group &group) {
  for (const auto &[key, text] : group.params)
    if (StringRef(text).contains("P("))
      return true;
  return false;
}

void Properties::group(const Group &group) {
  const Primitive *row = rows_.find(group.primitive);
  if (!row || group.mesh.empty())
    return;
  if (derived_)
    derive(*row, group);
  else
    refusals(*row, group);
}

//===--- Refusals ---------------------------------------------------------===//

/// One refusal of JAX whose equation `other`, without what is in the way,
/// takes.
void Properties::refusal(Situation &situation, Situation &other,
                         const Group &group, const Case &c,
                         ArrayRef<std::string> operands, StringRef why) {
  WithoutUnits units(group.mesh); // A rule's own type may keep such axes.
  std::vector<std::string> wanted;
  unsigned count = situation.numResults(c);
  other.run(operands, count, [&](TypingContext &cx, bool accepted) {
    for (const Typed &result : cx.results())
      if (accepted)
        wanted.push_back(str(cx.context(), result.type));
  });
  if (wanted.empty())
    return;
  ++refused_[group.primitive + "; " + why.str() + "; " + c.error];
  std::vector<std::string> ours;
  bool fits = false;
  situation.run(c.operands, count, [&](TypingContext &cx, bool accepted) {
    fits = !accepted && cx.diagnostics().front().wanted.valid();
    for (const Typed &result : cx.results())
      ours.push_back(result.type.valid()
                         ? units.type(str(cx.context(), result.type))
                         : std::string("(none)"));
  });
  if (fits && ours == wanted)
    return;
  if (++broken_ <= 20)
    llvm::outs() << situation.text(c) << "\n  refused by JAX, " << why
                 << "\n  sound " << llvm::join(wanted, ", ") << "\n  ours  "
                 << llvm::join(ours, ", ") << (fits ? "" : " (not offered)")
                 << '\n';
}

void Properties::refusals(const Primitive &row, const Group &group) {
  WithoutUnits units(group.mesh);
  bool asks = asksForSharding(group);
  if (asks && !units.any())
    return;
  bool unitParams = false;
  for (const auto &[key, text] : group.params)
    unitParams |= units.occurIn(text);
  Situation situation(row, group.mesh, group.params, group.cases);
  Situation smaller(row, units.mesh(), group.params, group.cases);
  Situation noMesh(row, "", group.params, group.cases);
  for (const Case &c : group.cases) {
    if (c.error.empty())
      continue;
    std::vector<std::string> operands;
    for (const std::string &text : c.operands)
      operands.push_back(units.type(text));
    bool plain = llvm::all_of(operands, isPlain);
    if (plain && !asks) {
      for (std::string &text : operands)
        if (StringRef(text).starts_with("np:"))
          text.erase(0, 3);
      refusal(situation, noMesh, group, c, operands,
              operands == c.operands ? "replicated" : "size 1");
    } else if (units.any() && !unitParams) {
      refusal(situation, smaller, group, c, operands, "size 1");
    }
  }
}

//===--- Derived rules ----------------------------------------------------===//

void Properties::derived(Situation &situation, const Group &group,
                         const Case &c, const DimMap &map) {
  bool plain =
      llvm::none_of(c.operands, [](StringRef t) { return t.contains('{'); });
  Counts &counts =
      counts_[group.primitive + (plain ? "; partitions" : "; sets")];
  situation.run(
      c.operands, situation.numResults(c),
      [&](TypingContext &cx, bool accepted) {
        SmallVector<const Sharding *, 4> operands;
        for (unsigned i = 0; i < cx.numOperands(); ++i)
          operands.push_back(&cx.sharding(i));
        LinearGroups linear =
            groupsOf(cx.primitive().linearity, operands.size());
        Derived ours = shardtype::derive(cx.context(), map, linear, operands,
                                         cx.ruleMesh());
        bool fits = !ours.refusal;
        for (unsigned i = 0; fits && i < ours.results.size() && accepted &&
                             i < cx.results().size();
             ++i)
          fits = !checkDivisible(cx.context(), ours.results[i],
                                 cx.context().type(cx.results()[i].type).shape);
        bool same = accepted == fits;
        for (unsigned i = 0; same && accepted && i < cx.results().size(); ++i) {
          Sharding theirs = cx.context().type(cx.results()[i].type).sharding;
          theirs.mesh = ours.results[i].mesh;
          same = theirs == ours.results[i];
        }
        ++(same               ? counts.same
           : accepted != fits ? (accepted ? counts.accepted : counts.refused)
                              : counts.other);
        if (!same && counts.example.empty())
          counts.example = situation.text(c) + " -> " + c.expected();
      });
}

/// Where no sharding is asked for and the shapes fit. One mesh: what an axis is
/// called or how many there are makes no difference to a map.
void Properties::derive(const Primitive &row, const Group &group) {
  if (group.mesh != "X=2,Y=2" || !row.dims || asksForSharding(group) ||
      group.cases.empty())
    return;
  Situation situation(row, group.mesh, group.params, group.cases);
  Situation noMesh(row, "", group.params, group.cases);
  std::map<std::string, std::optional<DimMap>> maps; // By shapes.
  for (const Case &c : group.cases) {
    std::vector<std::string> shapes;
    for (StringRef text : c.operands) {
      text.consume_front("np:");
      auto [head, rest] = text.split('[');
      std::string shape = head.str() + "[";
      SmallVector<StringRef, 4> dims;
      std::string flat;
      int depth = 0;
      for (char ch : rest.split(']').first) {
        depth += ch == '(' ? 1 : ch == ')' ? -1 : 0;
        flat += ch == ',' && depth ? ';' : ch;
      }
      StringRef(flat).split(dims, ',', -1, /*KeepEmpty=*/false);
      for (unsigned i = 0; i < dims.size(); ++i)
        shape += (i ? "," : "") + dims[i].split('@').first.str();
      shapes.push_back(shape + "]");
    }
    auto [at, isNew] = maps.try_emplace(llvm::join(shapes, " "));
    if (isNew)
      noMesh.run(shapes, situation.numResults(c),
                 [&](TypingContext &cx, bool accepted) {
                   if (accepted)
                     at->second = row.dims(cx);
                 });
    if (at->second && at->second->results.size() == situation.numResults(c))
      derived(situation, group, c, *at->second);
  }
}

//===--- Files ------------------------------------------------------------===//

bool Properties::file(StringRef path) {
  std::string why;
  std::optional<std::string> text = readText(path, why);
  if (!text)
    return bad("'" + path + "': " + why);
  SmallVector<StringRef, 0> lines;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  GroupReader reader;
  for (StringRef line : lines) {
    llvm::Expected<json::Value> value = json::parse(line);
    if (!value)
      return bad("'" + path + "': " + llvm::toString(value.takeError()));
    std::optional<std::optional<Group>> read = reader.line(*value);
    if (!read)
      return bad("'" + path + "': not a group of cases");
    if (*read)
      group(**read);
  }
  return true;
}

std::string Properties::list() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const auto &[key, count] : refused_)
    os << key << "; " << count << '\n';
  for (const auto &[key, c] : counts_) {
    os << key << "; " << c.same << "; " << c.refused << "; " << c.accepted
       << "; " << c.other;
    if (!c.example.empty())
      os << "; " << c.example;
    os << '\n';
  }
  return text;
}

/// Lines that are comments aside, is the list that of the file?
bool isExpected(StringRef path, const std::string &list) {
  std::string why;
  std::optional<std::string> text = readText(path, why);
  if (!text)
    return bad("'" + path + "': " + why);
  SmallVector<StringRef, 0> lines, found;
  StringRef(*text).split(lines, '\n', -1, /*KeepEmpty=*/false);
  llvm::erase_if(lines, [](StringRef line) { return line.starts_with("#"); });
  StringRef(list).split(found, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : found)
    if (!llvm::is_contained(lines, line))
      llvm::outs() << "not in " << path << ": " << line << '\n';
  for (StringRef line : lines)
    if (!llvm::is_contained(found, line))
      llvm::outs() << "only in " << path << ": " << line << '\n';
  return lines == found;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> files;
  std::string expect, what = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i)
    if (StringRef(argv[i]) == "--expect" && i + 1 < argc)
      expect = argv[++i];
    else
      files.push_back(argv[i]);
  if ((what != "refusals" && what != "derived") || files.empty()) {
    llvm::errs() << "usage: oracle_properties refusals|derived "
                    "[--expect LIST] FILE...\n";
    return 2;
  }
  Properties properties(what == "derived");
  for (const std::string &path : files)
    if (!properties.file(path))
      return 2;
  if (expect.empty())
    llvm::outs() << properties.list();
  bool ok = expect.empty() || isExpected(expect, properties.list());
  if (properties.broken())
    llvm::outs() << properties.broken() << " refusals do not carry the type\n";
  return ok && properties.broken() == 0 ? 0 : 1;
}
