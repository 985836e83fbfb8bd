// TypesExhaustiveTest.cpp - all small meshes and types, to text and back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text does not tell everything: not whether a type is weak in the short form,
// and not the kind of a manual unreduced set (spec 02, 2: the suffix of U is
// the spec's). What is left must come back as it was. Which of U's and R's axes
// are the spec's and which the manual type's is not in the text either, but
// follows from the mesh. Layouts are never printed and not made here.
#include "TypesFixture.h"

using namespace shardtype;

namespace {

constexpr ReductionKind Kinds[] = {ReductionKind::Sum, ReductionKind::Max,
                                   ReductionKind::Min};

/// Every mesh of up to `maxAxes` axes, of each type and of sizes 1 and 2.
std::vector<MeshId> allMeshes(Context &cx, unsigned maxAxes) {
  std::vector<Mesh> meshes(1);
  for (size_t done = 0, rank = 0; rank < maxAxes; ++rank)
    for (size_t end = meshes.size(); done < end; ++done)
      for (AxisType type :
           {AxisType::Auto, AxisType::Explicit, AxisType::Manual})
        for (int64_t size : {1, 2}) {
          Mesh longer = meshes[done];
          StringRef name = StringRef("xyz").substr(rank, 1);
          longer.axes.push_back({cx.intern(name), size, type});
          meshes.push_back(longer);
        }
  std::vector<MeshId> ids;
  for (const Mesh &mesh : meshes)
    ids.push_back(mesh.empty() ? MeshId() : cx.intern(mesh));
  return ids;
}

/// Calls `visit` with `type` and every way to use axes from `axis` on.
void eachUse(const Mesh &mesh, unsigned axis, Type &type,
             llvm::function_ref<void(Type &)> visit) {
  if (axis == mesh.rank())
    return visit(type);
  auto next = [&] { eachUse(mesh, axis + 1, type, visit); };
  auto within = [&](AxisSet &set) {
    set.insert(axis);
    next();
    set.erase(axis);
  };
  next();
  if (mesh.axes[axis].type == AxisType::Manual) {
    within(type.manual.varying);
    within(type.manual.unreduced);
    within(type.manual.reduced);
  }
  if (mesh.axes[axis].type != AxisType::Explicit)
    return;
  within(type.sharding.unreduced);
  within(type.sharding.reduced);
  for (AxisList &dim : type.sharding.dims)
    for (unsigned at = 0; at <= dim.size(); ++at) { // Every order.
      dim.insert(dim.begin() + at, static_cast<uint8_t>(axis));
      next();
      dim.erase(dim.begin() + at);
    }
}

/// Every type of rank up to 2 on a mesh.
void eachType(const Context &cx, MeshId meshId,
              llvm::function_ref<void(const Type &)> visit) {
  const Mesh &mesh = cx.meshOrEmpty(meshId);
  for (Shape shape : {Shape{}, Shape{8}, Shape{8, 16}, Shape{0, 8}}) {
    Type type;
    type.shape = shape;
    type.sharding = replicated(meshId, shape.size());
    eachUse(mesh, 0, type, [&](Type &used) {
      bool spec = !used.sharding.unreduced.empty();
      bool manual = !used.manual.unreduced.empty();
      for (ReductionKind kind : ArrayRef(Kinds).take_front(spec ? 3 : 1))
        for (ReductionKind other : ArrayRef(Kinds).take_front(manual ? 3 : 1)) {
          used.sharding.kind = spec ? kind : ReductionKind::None;
          used.manual.kind = manual ? other : ReductionKind::None;
          visit(used);
        }
    });
  }
}

} // namespace

TEST_CASE("every small type comes back from its text", "[exhaustive]") {
  Context cx;
  unsigned count = 0, wrong = 0;
  for (MeshId mesh : allMeshes(cx, 3))
    eachType(cx, mesh, [&](const Type &made) {
      Type type = made;
      type.weak = count % 2;
      type.memory = static_cast<MemorySpace>(count % 3);
      TypeId id = cx.intern(type);
      for (TypeForm form : {TypeForm::Short, TypeForm::Long}) {
        Type told = type;
        if (form == TypeForm::Short)
          told.weak = false;
        if (!told.manual.unreduced.empty())
          told.manual.kind = ReductionKind::Sum;
        std::string text = str(cx, id, form);
        TextResult<TypeId> read = parseType(cx, text, mesh);
        if (read && *read == cx.intern(told))
          continue;
        ++wrong;
        UNSCOPED_INFO(text << ": " << read.error.message);
      }
      ++count;
    });
  CHECK(wrong == 0);
  CHECK(count > 50000);
}

TEST_CASE("a type is printed as its spec says", "[exhaustive]") {
  // A second way to the same types: by name, through resolve.
  Context cx;
  unsigned wrong = 0;
  for (MeshId mesh : allMeshes(cx, 3))
    eachType(cx, mesh, [&](const Type &type) {
      PartitionSpec spec = toSpec(cx, type.sharding);
      TextResult<PartitionSpec> read = parseSpec(cx, str(cx, spec));
      auto back = resolve(cx, *read, mesh, type.rank());
      if (!(read && *read == spec && back && *back == type.sharding)) {
        ++wrong;
        UNSCOPED_INFO(str(cx, spec));
      }
    });
  CHECK(wrong == 0);
}

TEST_CASE("no text that breaks a rule is a type", "[exhaustive]") {
  // Every axis in every subset of the five places: right iff it stands in at
  // most one, and in one that its type allows. A Manual one may be unreduced
  // and reduced.
  Context cx;
  unsigned right = 0, wrong = 0;
  for (MeshId meshId : allMeshes(cx, 2)) {
    const Mesh &mesh = cx.meshOrEmpty(meshId);
    for (unsigned bits = 0; bits < 1u << (5 * mesh.rank()); ++bits) {
      Type type;
      type.shape = {8, 8};
      type.sharding = replicated(meshId, 2);
      AxisSet varying, unreduced, reduced;
      bool legal = true;
      for (unsigned axis = 0; axis < mesh.rank(); ++axis) {
        unsigned places = bits >> (5 * axis) & 31;
        AxisType of = mesh.axes[axis].type;
        unsigned allowed = of == AxisType::Explicit ? 0b11011
                           : of == AxisType::Manual ? 0b11100
                                                    : 0;
        bool isBoth = of == AxisType::Manual && places == 0b11000;
        legal &=
            (std::popcount(places) <= 1 && (places & ~allowed) == 0) || isBoth;
        for (unsigned dim : {0, 1})
          if (places >> dim & 1)
            type.sharding.dims[dim].push_back(axis);
        for (auto [place, set] :
             {std::pair(2, &varying), std::pair(3, &unreduced),
              std::pair(4, &reduced)})
          if (places >> place & 1)
            set->insert(axis);
      }
      type.manual.varying = varying;
      type.sharding.unreduced = unreduced;
      type.sharding.reduced = reduced;
      std::string text = str(cx, cx.intern(type));
      bool parsed = parseType(cx, text, meshId).value.has_value();
      right += legal;
      if (parsed != legal) {
        ++wrong;
        UNSCOPED_INFO(shortMesh(cx, mesh) << ": " << text);
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(right == 1 + 22 + 22 * 22); // An axis: 2 sizes, 5 or 5 or 1 places.
}

TEST_CASE("every small mesh comes back from its texts", "[exhaustive]") {
  Context cx;
  for (MeshId id : allMeshes(cx, 3))
    for (bool concrete : {false, true}) {
      Mesh mesh = cx.meshOrEmpty(id);
      TextResult<MeshId> read = parseMesh(cx, shortMesh(cx, mesh));
      REQUIRE(read);
      CHECK(cx.mesh(*read) == mesh);
      mesh.concrete = concrete;
      for (bool repr : {false, true}) {
        std::string text;
        llvm::raw_string_ostream os(text);
        print(os, cx, mesh, repr);
        TextResult<MeshId> again = parseMeshRepr(cx, text);
        REQUIRE(again);
        CHECK(cx.mesh(*again) == mesh);
      }
    }
}
