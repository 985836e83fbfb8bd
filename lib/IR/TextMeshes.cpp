// TextMeshes.cpp - the jaxprs of a printed program and the meshes they run on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text shows meshes only in parameters: those of shard_map and jit, and of
// shardings. Without a `#! mesh` line the mesh around the entry is one of
// these: the first one without Manual axes that has the most Explicit axes,
// since an `auto_axes` region shows the same mesh with some of them Auto, and
// regions are inside. A shard_map's body runs on the mesh it names, with its
// newly manual axes Manual; every other body runs where its equation does.
// Equations inside an `auto_axes` region look like all others, so they are
// taken to run on the mesh around it: their types show no axes, which is
// replicated there.
#include "TextResolver.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

static constexpr uint64_t MaxComparisons = 10'000'000;

void TextResolver::forEachJaxpr(ValueId id,
                                llvm::function_ref<void(JaxprId)> visit) const {
  const Value &v = program_.value(id);
  if (v.kind == Value::Jaxpr)
    return visit(JaxprId(static_cast<uint32_t>(v.integer)));
  for (ValueId element : v.elements)
    forEachJaxpr(element, visit);
}

/// All jaxprs that the entry needs, each after the first that holds it.
void TextResolver::findJaxprs() {
  unitedWith_.resize(syntax_.jaxprs.size());
  bodies_.resize(syntax_.jaxprs.size());
  std::vector<bool> seen(syntax_.jaxprs.size());
  auto walk = [&] {
    order_ = {syntax_.entry};
    seen.assign(seen.size(), false);
    seen[syntax_.entry.index()] = true;
    for (size_t i = 0; i < order_.size(); ++i) {
      JaxprId holder = order_[i];
      std::vector<JaxprId> &bodies = bodies_[holder.index()];
      bodies.clear();
      auto visit = [&](JaxprId body) {
        if (JaxprId other = unitedWith_[body.index()]; other.valid())
          body = other;
        bodies.push_back(body);
        if (!seen[body.index()]) {
          seen[body.index()] = true;
          order_.push_back(body);
        }
      };
      for (const SyntaxEqn &eqn : syntax_.jaxprs[holder.index()].eqns)
        if (eqn.holdsJaxprs)
          for (const SyntaxParam &param : params(eqn))
            forEachJaxpr(param.value, visit);
    }
  };
  walk();
  // Definitions that nothing refers to: JAX prints one for jaxprs that it then
  // prints again in full, inside the value of a custom_linear_solve.
  std::vector<JaxprId> unused;
  for (uint32_t i = 0; i < syntax_.jaxprs.size(); ++i)
    if (!seen[i] && syntax_.jaxprs[i].defined && syntax_.jaxprs[i].name.valid())
      unused.push_back(JaxprId(i));
  bool any = false;
  for (JaxprId whole : syntax_.wholeJaxprs) {
    // Of several equal definitions each is taken once, in order.
    auto same = llvm::find_if(unused, [&](JaxprId definition) {
      return definition != whole && equal(definition, whole, 0);
    });
    if (same == unused.end() || !seen[whole.index()])
      continue;
    unitedWith_[whole.index()] = *same;
    any = true;
    bool another = std::any_of(same + 1, unused.end(), [&](JaxprId other) {
      return equal(other, whole, 0);
    });
    if (another)
      unused.erase(same);
  }
  if (any)
    walk();
}

bool TextResolver::equal(ValueId a, ValueId b, unsigned depth) {
  if (a == b)
    return true;
  const Value &x = program_.value(a), &y = program_.value(b);
  if (x.kind == Value::Jaxpr && y.kind == Value::Jaxpr)
    return equal(JaxprId(static_cast<uint32_t>(x.integer)),
                 JaxprId(static_cast<uint32_t>(y.integer)), depth + 1);
  if (x.kind != y.kind || x.integer != y.integer || x.text != y.text ||
      x.names != y.names || x.elements.size() != y.elements.size())
    return false;
  return llvm::all_of(llvm::zip(x.elements, y.elements), [&](auto pair) {
    return equal(std::get<0>(pair), std::get<1>(pair), depth);
  });
}

/// Equal but for the names of variables, which are numbers here.
bool TextResolver::equal(JaxprId a, JaxprId b, unsigned depth) {
  const SyntaxJaxpr &x = syntax_.jaxprs[a.index()];
  const SyntaxJaxpr &y = syntax_.jaxprs[b.index()];
  if (a == b)
    return true;
  // Uniting jaxprs only makes their print shorter; it is not worth much time.
  comparisons_ += 1 + x.eqns.size();
  if (comparisons_ > MaxComparisons || depth > maxDepth_ ||
      x.eqns.size() != y.eqns.size() || x.binders.size() != y.binders.size() ||
      x.numConsts != y.numConsts || x.numInputs != y.numInputs ||
      x.outs.size() != y.outs.size())
    return false;
  auto sameAtoms = [](ArrayRef<SyntaxAtom> m, ArrayRef<SyntaxAtom> n) {
    return m.size() == n.size() &&
           llvm::equal(m, n, [](auto p, auto q) { return p.raw == q.raw; });
  };
  for (auto [m, n] : llvm::zip(x.binders, y.binders))
    if (str(m.type) != str(n.type))
      return false;
  for (auto [m, n] : llvm::zip(x.eqns, y.eqns)) {
    if (m.primitive != n.primitive || m.numResults != n.numResults ||
        m.numParams != n.numParams ||
        !sameAtoms(
            ArrayRef(syntax_.operands).slice(m.firstOperand, m.numOperands),
            ArrayRef(syntax_.operands).slice(n.firstOperand, n.numOperands)))
      return false;
    for (auto [p, q] : llvm::zip(params(m), params(n)))
      if (p.key != q.key || !equal(p.value, q.value, depth))
        return false;
  }
  return sameAtoms(x.outs, y.outs);
}

/// A value that holds united jaxprs, with those they were united with.
ValueId TextResolver::united(ValueId id) {
  Value changed = program_.value(id);
  if (changed.kind == Value::Jaxpr) {
    JaxprId other = unitedWith_[static_cast<size_t>(changed.integer)];
    if (!other.valid())
      return id;
    changed.integer = other.raw();
    return program_.intern(changed);
  }
  bool any = false;
  for (ValueId &element : changed.elements) {
    ValueId now = united(element);
    any |= now != element;
    element = now;
  }
  return any ? program_.intern(changed) : id;
}

/// Definitions may refer to each other in circles, or nest too deep.
LogicalResult TextResolver::checkNesting() {
  std::vector<unsigned> waiting(syntax_.jaxprs.size());
  std::vector<unsigned> depth(syntax_.jaxprs.size());
  for (JaxprId holder : order_)
    for (JaxprId body : bodies_[holder.index()])
      ++waiting[body.index()];
  std::vector<JaxprId> ready;
  if (!waiting[syntax_.entry.index()])
    ready.push_back(syntax_.entry);
  size_t settled = 0;
  while (!ready.empty()) {
    JaxprId holder = ready.back();
    ready.pop_back();
    ++settled;
    for (JaxprId body : bodies_[holder.index()]) {
      unsigned &below = depth[body.index()];
      below = std::max(below, depth[holder.index()] + 1);
      if (below >= maxDepth_) {
        failure_ = {diag::JaxprDepth,
                    {std::to_string(maxDepth_)},
                    syntax_.jaxprs[body.index()].offset};
        return llvm::failure();
      }
      if (--waiting[body.index()] == 0)
        ready.push_back(body);
    }
  }
  if (settled == order_.size())
    return success();
  for (JaxprId id : order_)
    if (waiting[id.index()]) {
      failure_ = {diag::JaxprCycle, {}, syntax_.jaxprs[id.index()].offset};
      break;
    }
  return llvm::failure();
}

/// Calls `visit` for the meshes in a value.
static void forEachMesh(const Program &program, ValueId id,
                        llvm::function_ref<void(MeshId)> visit) {
  const Value &v = program.value(id);
  if (v.kind == Value::Mesh || v.kind == Value::Sharding)
    visit(MeshId(static_cast<uint32_t>(v.integer)));
  for (ValueId element : v.elements)
    forEachMesh(program, element, visit);
}

void TextResolver::findMeshes() {
  MeshId declared = known_.empty() ? MeshId() : known_.front();
  MeshId best;
  unsigned mostExplicit = 0;
  auto consider = [&](MeshId id) {
    id = cx_.forTypes(id);
    if (!id.valid())
      return;
    const Mesh &mesh = cx_.mesh(id);
    if (!llvm::is_contained(known_, id))
      known_.push_back(id);
    unsigned isExplicit = mesh.axesOf(AxisType::Explicit).size();
    if (mesh.axesOf(AxisType::Manual).empty() &&
        (!best.valid() || isExplicit > mostExplicit)) {
      best = id;
      mostExplicit = isExplicit;
    }
  };
  // Values are shared by many equations.
  std::vector<bool> seen;
  for (JaxprId id : order_)
    for (const SyntaxEqn &eqn : syntax_.jaxprs[id.index()].eqns)
      for (const SyntaxParam &param : params(eqn)) {
        if (seen.size() <= param.value.index())
          seen.resize(param.value.index() * 2 + 1);
        if (!seen[param.value.index()])
          forEachMesh(program_, param.value, consider);
        seen[param.value.index()] = true;
      }
  mesh_ = declared;
  if (declared.valid() || known_.empty())
    return;
  if (!best.valid()) // A body was printed without what is around it.
    best = cx_.withAxisTypes(known_.front(),
                             cx_.mesh(known_.front()).axesOf(AxisType::Manual),
                             AxisType::Explicit);
  mesh_ = withShownAxes(syntax_.jaxprs[syntax_.entry.index()], best);
}

/// Axes that types show on dims are Explicit, whatever the mesh says of them.
MeshId TextResolver::withShownAxes(const SyntaxJaxpr &jaxpr, MeshId meshId) {
  if (!meshId.valid())
    return meshId;
  Mesh mesh = cx_.mesh(meshId);
  if (mesh.axesOf(AxisType::Auto).empty())
    return meshId;
  for (const SyntaxBinder &binder : jaxpr.binders) {
    StringRef rest = str(binder.type);
    for (size_t at; (at = rest.find('@')) != StringRef::npos;) {
      rest = rest.drop_front(at + 1);
      StringRef names = rest.take_until([](char c) { return c == ']'; });
      bool several = names.consume_front("(");
      names =
          names.take_until([&](char c) { return c == (several ? ')' : ','); });
      SmallVector<StringRef, 4> list;
      names.split(list, ',');
      for (StringRef name : list)
        if (std::optional<unsigned> axis = mesh.find(cx_.intern(name));
            axis && mesh.axes[*axis].type == AxisType::Auto)
          mesh.axes[*axis].type = AxisType::Explicit;
    }
  }
  return cx_.intern(mesh);
}

/// The mesh inside an equation's bodies: shard_map has a `mesh` and the axes
/// that it makes Manual.
MeshId TextResolver::bodyMesh(const SyntaxEqn &eqn, MeshId around) {
  MeshId mesh;
  const Value *manual = nullptr;
  for (const SyntaxParam &param : params(eqn)) {
    const Value &v = program_.value(param.value);
    StringRef key = cx_.str(param.key);
    if (key == "mesh" && v.kind == Value::Mesh)
      mesh = cx_.forTypes(MeshId(static_cast<uint32_t>(v.integer)));
    if (key == "newly_manual_axes" && v.kind == Value::Set)
      manual = &v;
  }
  if (!manual || !mesh.valid())
    return around;
  AxisSet axes;
  for (ValueId element : manual->elements) {
    const Value &name = program_.value(element);
    if (name.kind == Value::Str)
      if (std::optional<unsigned> axis = cx_.mesh(mesh).find(name.text))
        axes.insert(*axis);
  }
  return cx_.withAxisTypes(mesh, axes, AxisType::Manual);
}

void TextResolver::giveMeshes() {
  meshes_.resize(syntax_.jaxprs.size());
  std::vector<bool> given(syntax_.jaxprs.size());
  meshes_[syntax_.entry.index()] = mesh_;
  given[syntax_.entry.index()] = true;
  for (JaxprId holder : order_)
    for (const SyntaxEqn &eqn : syntax_.jaxprs[holder.index()].eqns) {
      if (!eqn.holdsJaxprs)
        continue;
      MeshId mesh = bodyMesh(eqn, meshes_[holder.index()]);
      for (const SyntaxParam &param : params(eqn))
        forEachJaxpr(param.value, [&](JaxprId body) {
          if (JaxprId other = unitedWith_[body.index()]; other.valid())
            body = other;
          // A definition runs where it is first referred to.
          if (!given[body.index()])
            meshes_[body.index()] = mesh;
          given[body.index()] = true;
        });
    }
}
