// properties.cpp - what holds for recorded verdicts of any primitive.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oracle_properties refusals|derived [--update] LIST FILE...
//
// `refusals`: JAX refuses some equations only because of axes of size 1, and
// some although all operands are replicated. Whether a refusal is one of these
// is found here without the engine's help: the equation is typed without the
// axes of size 1, on a smaller mesh, or without any mesh. Our diagnostic of
// each must carry the type found so. Which refusals of JAX there are is the
// list: `replicated` or `size 1`, and JAX's error.
//
// `derived`: the sharding rule that a primitive's dimension map implies,
// against what JAX answered. The list says of each way to differ how often:
// `same`; `refused` by JAX alone, with its error; `accepted` by JAX alone, with
// what the map has against it; `other` types, with what tells them apart.
//
// The list is compared with the file LIST, or that is rewritten (Listing.h).
#include "Listing.h"
#include "Retyped.h"
#include "WithoutUnits.h"
#include "shardtype/Rules/Derive.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

namespace {

bool isPlain(StringRef type) {
  return !type.contains('@') && !type.contains('{');
}

/// A primitive's map for operands of some shapes, and the results' shapes.
struct Mapped {
  DimMap map;
  std::vector<Shape> shapes;
};

class Properties {
public:
  explicit Properties(bool derived)
      : derived_(derived), rows_(allPrimitives()),
        retyped_(SHARDTYPE_SOURCE_DIR "/test/oracle/bodies", rows_) {}
  bool file(StringRef path);
  const Listing &listing() const { return listing_; }
  unsigned broken() const { return broken_; }

private:
  void group(const Group &group);
  void refusals(const Primitive &row, const Group &group);
  void bodies(const Group &group);
  void refusal(Situation &situation, Situation &other, const Group &group,
               const Case &c, ArrayRef<std::string> operands, StringRef why);
  void reportBroken(const std::string &text, StringRef why,
                    ArrayRef<std::string> sound, ArrayRef<std::string> ours);
  void derive(const Primitive &row, const Group &group);
  void derived(Situation &situation, const Group &group, const Case &c,
               const Mapped &mapped);

  bool derived_;
  PrimitiveSet rows_;
  Retyped retyped_;
  Listing listing_;
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
  if (Retyped::isOne(group)) {
    if (!derived_)
      bodies(group);
  } else if (derived_) {
    derive(*row, group);
  } else {
    refusals(*row, group);
  }
}

//===--- Refusals ---------------------------------------------------------===//

void Properties::reportBroken(const std::string &text, StringRef why,
                              ArrayRef<std::string> sound,
                              ArrayRef<std::string> ours) {
  if (++broken_ <= 20)
    llvm::outs() << text << "\n  refused by JAX, " << why << "\n  sound "
                 << llvm::join(sound, ", ") << "\n  ours  "
                 << llvm::join(ours, ", ") << '\n';
}

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
  listing_.add(why, c.error, group.primitive,
               [&] { return situation.text(c); });
  std::vector<std::string> ours;
  bool fits = false;
  situation.run(c.operands, count, [&](TypingContext &cx, bool accepted) {
    auto first = llvm::find_if(cx.diagnostics(), [](const Diagnostic &d) {
      return d.level == Level::Error; // Not what is only warned of.
    });
    fits = !accepted && first->wanted.valid();
    for (const Typed &result : cx.results())
      ours.push_back(result.type.valid()
                         ? units.type(str(cx.context(), result.type))
                         : std::string("(none)"));
  });
  if (fits && ours == wanted)
    return;
  if (!fits)
    ours.push_back("(not offered)");
  reportBroken(situation.text(c), why, wanted, ours);
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
    std::vector<std::string> operands = units.types(c.operands);
    bool plain = llvm::all_of(operands, isPlain);
    if (plain && !asks) {
      for (std::string &text : operands)
        if (StringRef(text).starts_with("np:"))
          text.erase(0, 3);
      refusal(situation, noMesh, group, c, operands,
              llvm::all_of(c.operands, isPlain) ? "replicated" : "size 1");
    } else if (units.any() && !unitParams) {
      refusal(situation, smaller, group, c, operands, "size 1");
    }
  }
}

/// The same for primitives that have bodies.
void Properties::bodies(const Group &group) {
  WithoutUnits units(group.mesh);
  for (const Case &c : group.cases) {
    if (c.error.empty())
      continue;
    std::vector<std::string> operands = units.types(c.operands);
    bool plain = llvm::all_of(operands, isPlain);
    if (!plain && !units.any())
      continue;
    std::optional<Retyped::Results> wanted =
        retyped_.run(group, plain ? StringRef() : units.mesh(), operands);
    if (!wanted || !wanted->accepted)
      continue;
    StringRef why = llvm::all_of(c.operands, isPlain) ? "replicated" : "size 1";
    listing_.add(why, c.error, group.primitive,
                 [&] { return Retyped::text(group, c); });
    std::optional<Retyped::Results> ours =
        retyped_.run(group, group.mesh, c.operands);
    ours->types = units.types(ours->types);
    if (ours->types != wanted->types)
      reportBroken(Retyped::text(group, c), why, wanted->types, ours->types);
  }
}

//===--- Derived rules ----------------------------------------------------===//

/// What a map has against operands.
StringRef nameOf(Refusal::Kind kind) {
  switch (kind) {
  case Refusal::Differs:
    return "placed apart";
  case Refusal::Twice:
    return "an axis twice";
  case Refusal::Whole:
    return "must be whole";
  case Refusal::Uneven:
    return "cut apart";
  case Refusal::Unreduced:
    return "partial sums";
  case Refusal::Reduced:
    return "reduced apart";
  }
  return "";
}

/// What tells JAX's results from those of the map; empty: nothing.
StringRef difference(TypingContext &cx, const Derived &ours) {
  for (unsigned i = 0; i < cx.results().size(); ++i) {
    const Type &type = cx.context().type(cx.results()[i].type);
    if (!type.isArray())
      return "no array";
    Sharding theirs = type.sharding;
    theirs.mesh = ours.results[i].mesh;
    if (theirs.dims != ours.results[i].dims)
      return "entries";
    if (theirs != ours.results[i])
      return "sets";
  }
  return "";
}

/// The kind and key of one verdict in the list.
std::pair<StringRef, std::string> waysToDiffer(TypingContext &cx, bool accepted,
                                               const Case &c,
                                               const Mapped &mapped) {
  SmallVector<const Sharding *, 4> operands;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    operands.push_back(&cx.sharding(i));
  LinearGroups linear = groupsOf(cx.primitive().linearity, operands.size());
  Derived ours =
      derive(cx.context(), mapped.map, linear, operands, cx.ruleMesh());
  std::string against = ours.refusal ? nameOf(ours.refusal->kind).str() : "";
  for (unsigned i = 0; i < ours.results.size() && against.empty(); ++i)
    if (checkDivisible(cx.context(), ours.results[i], mapped.shapes[i]))
      against = "does not divide";
  if (!against.empty())
    return accepted ? std::pair(StringRef("accepted"), against)
                    : std::pair(StringRef("same"), std::string("refused"));
  if (!accepted)
    return {"refused", c.error};
  StringRef what = difference(cx, ours);
  return what.empty() ? std::pair(StringRef("same"), std::string("accepted"))
                      : std::pair(StringRef("other"), what.str());
}

void Properties::derived(Situation &situation, const Group &group,
                         const Case &c, const Mapped &mapped) {
  situation.run(c.operands, situation.numResults(c),
                [&](TypingContext &cx, bool accepted) {
                  auto [kind, key] = waysToDiffer(cx, accepted, c, mapped);
                  listing_.add(kind, key, group.primitive, [&] {
                    return kind == "same"
                               ? std::string()
                               : situation.text(c) + " -> " + c.expected();
                  });
                });
}

/// The map of an equation that was typed without a mesh; nothing: it does not
/// have the dims of operands and results that are arrays.
std::optional<Mapped> mapOf(TypingContext &cx, const Primitive &row) {
  Mapped mapped{row.dims(cx), {}};
  auto has = [&](const DimMap::Dims &dims, TypeId id) {
    const Type &type = cx.context().type(id);
    return !type.isArray() || dims.size() == type.shape.size();
  };
  if (mapped.map.results.size() != cx.results().size() ||
      mapped.map.operands.size() != cx.numOperands())
    return std::nullopt;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    if (!has(mapped.map.operands[i], cx.operandId(i)))
      return std::nullopt;
  for (unsigned i = 0; i < cx.results().size(); ++i) {
    TypeId id = cx.results()[i].type;
    if (!has(mapped.map.results[i], id))
      return std::nullopt;
    mapped.shapes.push_back(cx.context().type(id).shape);
  }
  return mapped;
}

/// Where no sharding is asked for and the shapes fit. One mesh: what an axis is
/// called or how many there are makes no difference to a map.
void Properties::derive(const Primitive &row, const Group &group) {
  if (group.mesh != "X=2,Y=2" || !row.dims || asksForSharding(group) ||
      group.cases.empty())
    return;
  Situation situation(row, group.mesh, group.params, group.cases);
  Situation noMesh(row, "", group.params, group.cases);
  std::map<std::string, std::optional<Mapped>> maps; // By shapes.
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
                   if (!accepted)
                     return;
                   at->second = mapOf(cx, row);
                   if (!at->second && ++broken_ <= 20)
                     llvm::outs()
                         << situation.text(c) << "\n  its map has other dims\n";
                 });
    if (at->second)
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

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> files(argv + std::min(argc, 2), argv + argc);
  std::string what = argc > 1 ? argv[1] : "";
  bool update = !files.empty() && files.front() == "--update";
  if (update)
    files.erase(files.begin());
  if ((what != "refusals" && what != "derived") || files.size() < 2) {
    llvm::errs() << "usage: oracle_properties refusals|derived [--update] LIST "
                    "FILE...\n";
    return 2;
  }
  Properties properties(what == "derived");
  for (const std::string &path : ArrayRef(files).drop_front())
    if (!properties.file(path))
      return 2;
  const Listing &listing = properties.listing();
  bool ok =
      update ? listing.update(files.front()) : listing.compare(files.front());
  if (properties.broken())
    llvm::outs() << properties.broken() << " do not hold\n";
  return ok && properties.broken() == 0 ? 0 : 1;
}
