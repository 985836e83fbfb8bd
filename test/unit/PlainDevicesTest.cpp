// PlainDevicesTest.cpp - the scheduler against the plain evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs of shard_map are made up: collectives of every kind over every
// choice of axes, in loops and branches. The plain evaluator runs all devices
// in lockstep; the interpreter must have the same bits at every number of
// workers.
#include "PlainFixture.h"
#include <random>

using namespace shardtype;

/// Fractions of both signs, whose sums depend on the order.
static Tensor fractions(DType dtype, ArrayRef<int64_t> shape, unsigned) {
  Tensor x = Tensor::zeros(dtype, shape);
  for (int64_t i = 0; i < x.size(); ++i) {
    double value = static_cast<double>((i * 7919 + 13) % 1009) / 311 - 1.5;
    plain::Number n{value, 0.25 - value,
                    isFloat(dtype) ? plain::Wide(0) : plain::Wide(value * 40)};
    plain::store(x, i, dtype == DType::Bool ? plain::integer(i % 3 == 1) : n);
  }
  return x;
}

namespace {
/// A mesh of up to three axes, all Auto.
struct Grid {
  SmallVector<int64_t, 3> sizes;
  size_t rank() const { return sizes.size(); }
  std::string axis(size_t i) const { return std::string(1, "ijk"[i]); }
  int64_t count() const {
    int64_t n = 1;
    for (int64_t size : sizes)
      n *= size;
    return n;
  }
  int64_t count(ArrayRef<size_t> axes) const {
    int64_t n = 1;
    for (size_t a : axes)
      n *= sizes[a];
    return n;
  }
  /// `('i', 'j')`
  std::string names(ArrayRef<size_t> axes) const {
    std::string text = "(";
    for (auto [k, a] : llvm::enumerate(axes))
      text += (k ? ", '" : "'") + axis(a) + "'";
    return text + (axes.size() == 1 ? ",)" : ")");
  }
  SmallVector<size_t, 3> all() const {
    SmallVector<size_t, 3> axes;
    for (size_t a = 0; a < rank(); ++a)
      axes.push_back(a);
    return axes;
  }
  std::string text() const {
    std::string mesh;
    for (size_t a = 0; a < rank(); ++a)
      mesh +=
          (a ? "," : "") + axis(a) + "=" + std::to_string(sizes[a]) + ":Auto";
    return mesh;
  }
  /// The mesh in a region where these axes are Manual already.
  std::string parameter(ArrayRef<size_t> manual = {}) const {
    std::string mesh = "AbstractMesh(", types;
    for (size_t a = 0; a < rank(); ++a) {
      mesh += "'" + axis(a) + "': " + std::to_string(sizes[a]) + ", ";
      types += (a ? ", " : "") +
               std::string(llvm::is_contained(manual, a) ? "Manual" : "Auto");
    }
    return mesh + "axis_types=(" + types + (rank() == 1 ? ",))" : "))");
  }
  std::string set(ArrayRef<size_t> axes) const {
    std::string text = "frozenset({";
    for (auto [k, a] : llvm::enumerate(axes))
      text += (k ? ", '" : "'") + axis(a) + "'";
    return text + "})";
  }
};
} // namespace

static const Grid Grids[] = {
    {{1}},    {{2}},    {{3}},    {{4}},       {{5}},       {{6}},
    {{7}},    {{8}},    {{1, 2}}, {{2, 2}},    {{2, 3}},    {{3, 2}},
    {{2, 4}}, {{4, 2}}, {{1, 5}}, {{2, 1, 2}}, {{2, 2, 2}}, {{1, 2, 3}}};

/// A region whose devices hold `block` each, of one array split along dim 0.
static std::string region(const Grid &grid, DType dtype,
                          ArrayRef<int64_t> block, const std::string &body,
                          DType resultType, ArrayRef<int64_t> result) {
  Shape whole(block.begin(), block.end()), out(result.begin(), result.end());
  whole[0] *= grid.count();
  out[0] *= grid.count();
  std::string spec = "(P(" + grid.names(grid.all()) + "),)";
  if (grid.rank() == 1)
    spec = "(P('i'),)";
  return "#! mesh " + grid.text() +
         "\n{ lambda ; a:" + shapeText(dtype, whole) +
         ". let\n    b:" + shapeText(resultType, out) +
         " = shard_map[\n check_vma=False\n" + " in_specs=" + spec +
         "\n jaxpr={ lambda ; x:" + shapeText(dtype, block) + ". let\n" + body +
         " }\n mesh=" + grid.parameter() +
         "\n newly_manual_axes=" + grid.set(grid.all()) +
         "\n out_specs=" + spec + "\n ] a\n  in (b,) }";
}

/// Every non-empty choice of axes in every order.
static std::vector<SmallVector<size_t, 3>> choices(const Grid &grid) {
  std::vector<SmallVector<size_t, 3>> result;
  for (ArrayRef<int64_t> subset : subsetsOf(grid.rank()))
    for (ArrayRef<int64_t> order : ordersOf(subset.size())) {
      SmallVector<size_t, 3> axes;
      for (int64_t k : order)
        axes.push_back(static_cast<size_t>(subset[k]));
      if (!axes.empty())
        result.push_back(axes);
    }
  return result;
}

/// The members of `n` in parts of one size, dealt out; empty: none.
static std::string groupsOf(int64_t n) {
  int64_t size = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n;
  std::string text = "(";
  for (int64_t g = 0; g < n / size; ++g) {
    SmallVector<int64_t, 4> members;
    for (int64_t k = size; k-- > 0;)
      members.push_back(k * (n / size) + g);
    text += tupleText(members) + ",";
  }
  return text + ")";
}

TEST_CASE("every collective over every choice of axes, at several workers") {
  Both both;
  both.workers = {1, 2, 3, 8};
  const DType kinds[] = {DType::F32,      DType::BF16, DType::I8,  DType::F16,
                         DType::F8E4M3FN, DType::C64,  DType::F64, DType::Bool};
  unsigned turn = 0;
  for (const Grid &grid : Grids)
    for (ArrayRef<size_t> axes : choices(grid)) {
      int64_t n = grid.count(axes);
      std::string names = grid.names(axes), size = std::to_string(n);
      for (bool parts : {false, true}) {
        int64_t each = n;
        if (parts) // Of one size: 2, 3 or all.
          each = n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n;
        std::string groups = parts ? groupsOf(n) : "None";
        DType dtype = kinds[turn++ % std::size(kinds)];
        auto run = [&](const std::string &equation, ArrayRef<int64_t> block,
                       ArrayRef<int64_t> result, DType of) {
          both.run(region(grid, of, block,
                          "y:" + shapeText(of, result) + " = " + equation +
                              " x in (y,)",
                          of, result),
                   fractions);
        };
        DType summed = dtype == DType::Bool ? DType::I32 : dtype;
        DType ordered = isComplex(dtype) ? DType::F32 : dtype;
        std::string reduces = "axes=" + names + " axis_index_groups=" + groups,
                    moves =
                        "axis_index_groups=" + groups + " axis_name=" + names,
                    sized = " axis_size=" + std::to_string(each);
        run("psum[" + reduces + "]", {3}, {3}, summed);
        run("pmax[" + reduces + "]", {3, 2}, {3, 2}, ordered);
        run("pmin[" + reduces + "]", {3}, {3}, ordered);
        run("all_gather[all_gather_dimension=1 " + moves + sized +
                " tiled=True]",
            {2, 2}, {2, 2 * each}, dtype);
        run("all_gather[all_gather_dimension=1 " + moves + sized +
                " tiled=False]",
            {2, 2}, {2, each, 2}, dtype);
        run("reduce_scatter[" + moves + sized +
                " scatter_dimension=1 tiled=True]",
            {2, 2 * each}, {2, 2}, summed);
        run("reduce_scatter[" + moves + sized +
                " scatter_dimension=1 tiled=False]",
            {2, each}, {2}, summed);
        run("all_to_all[" + moves + " concat_axis=0 split_axis=1 tiled=True]",
            {2, 2 * each}, {2 * each, 2}, dtype);
        run("all_to_all[" + moves + " concat_axis=1 split_axis=1 tiled=True]",
            {1, 2 * each}, {1, 2 * each}, dtype);
        if (parts)
          continue;
        std::string pairs = "(";
        for (int64_t k = 0; k < n; ++k)
          if (k % 4 != 2) // Some have no source.
            pairs += tupleText({k, (k * 3 + 1) % n}) + ", ";
        if (n % 3 != 0) // Else the targets are not distinct.
          run("ppermute[axis_name=" + names + " perm=" + pairs + ")]", {3}, {3},
              dtype);
        run("pbroadcast[axis_name=" + names +
                " source=" + std::to_string(n - 1) + "]",
            {3}, {3}, dtype);
      }
    }
  CHECK(both.refused == 0);
  CHECK(both.compared > 1000);
}

//===--- Programs that are made up ----------------------------------------===//

namespace {
/// Writes a body of f32 vectors of one length: equations until it has enough.
class Bodies {
public:
  Bodies(const Grid &grid, int64_t length, unsigned seed)
      : grid_(grid), length_(length), vector_(shapeText(DType::F32, {length})),
        random_(seed) {}

  /// `in (..., )` of as many results as inputs; collectives run over axes in
  /// `common`, along which all devices that are here run the same.
  std::string body(std::vector<std::string> values,
                   const SmallVector<size_t, 3> &common, unsigned depth) {
    std::string text;
    size_t results = values.size(), count = 2 + pick(4);
    for (size_t k = 0; k < count; ++k)
      text += equation(values, common, depth);
    text += " in (";
    for (size_t k = 0; k < results; ++k)
      text += values[values.size() - 1 - k] + ",";
    return text + ")";
  }

private:
  size_t pick(size_t n) { return random_() % n; }
  std::string fresh() { return "v" + std::to_string(next_++) + "_"; }
  std::string add(std::vector<std::string> &values, const std::string &what) {
    values.push_back(fresh());
    return values.back() + ":" + vector_ + " = " + what + "\n";
  }
  SmallVector<size_t, 3> someOf(const SmallVector<size_t, 3> &common) {
    SmallVector<size_t, 3> axes;
    for (size_t a : common)
      if (pick(2))
        axes.push_back(a);
    if (axes.empty())
      axes.push_back(common[pick(common.size())]);
    if (axes.size() > 1 && pick(2))
      std::swap(axes[0], axes[1]);
    return axes;
  }

  std::string equation(std::vector<std::string> &values,
                       const SmallVector<size_t, 3> &common, unsigned depth) {
    std::string x = values[pick(values.size())],
                y = values[pick(values.size())];
    size_t kind = pick(depth ? 11 : 7);
    if (kind >= 7 || common.empty())
      return kind >= 9   ? scan(values, common, depth)
             : kind == 8 ? loop(values, common, depth)
             : kind == 7 ? branch(values, common, depth)
                         : add(values, "sub " + x + " " + y);
    SmallVector<size_t, 3> axes = someOf(common);
    std::string names = grid_.names(axes);
    int64_t n = grid_.count(axes);
    std::string size = std::to_string(n);
    switch (kind) {
    case 0: {
      std::string sum = fresh();
      return sum + ":" + vector_ + " = psum[axes=" + names +
             " axis_index_groups=None] " + x + "\n" +
             add(values, "mul " + sum + " 0.3:f32[]");
    }
    case 1:
      return add(values, "pmax[axes=" + names + " axis_index_groups=" +
                             (pick(2) ? "None" : groupsOf(n)) + "] " + x);
    case 2: {
      std::string pairs = "(";
      int64_t turn = 1 + static_cast<int64_t>(pick(static_cast<size_t>(n)));
      for (int64_t k = 0; k < n; ++k)
        if (pick(5))
          pairs += tupleText({k, (k + turn) % n}) + ", ";
      return add(values,
                 "ppermute[axis_name=" + names + " perm=" + pairs + ")] " + x);
    }
    case 3: {
      std::string all = fresh();
      return all + ":f32[" + std::to_string(length_ * n) +
             "] = all_gather[all_gather_dimension=0 axis_index_groups=None "
             "axis_name=" +
             names + " axis_size=" + size + " tiled=True] " + x + "\n" +
             add(values, "slice[limit_indices=" +
                             tupleText({(n > 1 ? n : 0) + length_}) +
                             " start_indices=" + tupleText({n > 1 ? n : 0}) +
                             " strides=(1,)] " + all);
    }
    case 4: {
      std::string index = fresh(), factor = fresh();
      return index + ":i32[] = axis_index[axis_name=" + grid_.axis(axes[0]) +
             "]\n" + factor +
             ":f32[] = convert_element_type[new_dtype=float32 "
             "weak_type=False] " +
             index + "\n" + add(values, "add " + x + " " + factor);
    }
    case 5: // The same on all devices.
      return add(values, "broadcast_in_dim[broadcast_dimensions=()] 0.7:f32[]");
    default:
      return add(values, (pick(2) ? "mul " : "max ") + x + " " + y);
    }
  }

  std::string inner(const SmallVector<size_t, 3> &common, unsigned depth) {
    std::string p = fresh(), q = fresh();
    return "{ lambda ; " + p + ":" + vector_ + " " + q + ":" + vector_ +
           ". let\n" + body({p, q}, common, depth - 1) + " }";
  }

  std::string scan(std::vector<std::string> &values,
                   const SmallVector<size_t, 3> &common, unsigned depth) {
    std::string x = values[pick(values.size())],
                y = values[pick(values.size())], a = fresh(), b = fresh();
    values.push_back(a);
    values.push_back(b);
    return a + ":" + vector_ + " " + b + ":" + vector_ +
           " = scan[ft_in=((), (None, None), ()) ft_out=((None, None), ()) "
           "jaxpr=" +
           inner(common, depth) + " length=" + std::to_string(pick(4)) +
           " reverse=False unroll=1] " + x + " " + y + "\n";
  }

  /// An index that differs along one axis, and the axes without it.
  std::string index(const SmallVector<size_t, 3> &common,
                    SmallVector<size_t, 3> &left, std::string &name) {
    name = fresh();
    size_t axis = pick(grid_.rank());
    for (size_t a : common)
      if (a != axis)
        left.push_back(a);
    return name + ":i32[] = axis_index[axis_name=" + grid_.axis(axis) + "]\n";
  }

  std::string branch(std::vector<std::string> &values,
                     const SmallVector<size_t, 3> &common, unsigned depth) {
    SmallVector<size_t, 3> left;
    std::string which,
        text = index(common, left, which), x = values[pick(values.size())],
        y = values[pick(values.size())], a = fresh(), b = fresh();
    text += a + ":" + vector_ + " " + b + ":" + vector_ + " = cond[branches=(";
    for (size_t k = 0; k < 2 + pick(2); ++k)
      text += inner(left, depth) + "\n";
    values.push_back(a);
    values.push_back(b);
    return text + ")] " + which + " " + x + " " + y + "\n";
  }

  /// Trips: where the device is along one axis.
  std::string loop(std::vector<std::string> &values,
                   const SmallVector<size_t, 3> &common, unsigned depth) {
    SmallVector<size_t, 3> left;
    std::string trips, text = index(common, left, trips),
                       x = values[pick(values.size())], n = fresh(),
                       m = fresh(), p = fresh(), c = fresh(), a = fresh(),
                       last = fresh();
    std::string inside = body({p}, left, depth - 1);
    size_t in = inside.rfind(" in (");
    std::string result = inside.substr(in + 5);
    result = result.substr(0, result.find(','));
    text += n + ":i32[] " + a + ":" + vector_ +
            " = while[body_jaxpr={ lambda ; " + m + ":i32[] " + p + ":" +
            vector_ + ". let\n" + inside.substr(0, in) + "\n" + last +
            ":i32[] = sub " + m + " 1:i32[]\n in (" + last + ", " + result +
            ") } body_nconsts=0 cond_jaxpr={ lambda ; " + m + "c:i32[] " + c +
            ":" + vector_ + ". let " + c + "p:bool[] = gt " + m +
            "c 0:i32[] in (" + c + "p,) } cond_nconsts=0] " + trips + " " + x +
            "\n";
    values.push_back(a);
    return text;
  }

  const Grid &grid_;
  int64_t length_;
  std::string vector_;
  std::mt19937 random_;
  unsigned next_ = 0;
};
} // namespace

TEST_CASE("made-up programs: loops, branches and collectives in one another") {
  Both both;
  both.workers = {1, 2, 3, 8};
  for (const Grid &grid : Grids)
    for (unsigned seed = 0; seed < 20; ++seed) {
      // Long ones are computed once where they do not vary.
      int64_t length = seed % 2 ? 8 : 270;
      Bodies bodies(grid, length,
                    seed * 101 + static_cast<unsigned>(grid.count()));
      both.run(region(grid, DType::F32, {length},
                      bodies.body({"x"}, grid.all(), 1 + seed % 3), DType::F32,
                      {length}),
               fractions);
    }
  CHECK(both.refused == 0);
  CHECK(both.notFinite * 4 < both.elements);
  CHECK(both.compared == 20 * std::size(Grids));
}

TEST_CASE("regions in regions, and some axes only") {
  Both both;
  both.workers = {1, 2, 3, 8};
  for (const Grid &grid : Grids) {
    if (grid.rank() != 2)
      continue;
    int64_t i = grid.sizes[0], j = grid.sizes[1];
    auto f32 = [](int64_t a, int64_t b) {
      return shapeText(DType::F32, {a, b});
    };
    std::string whole = f32(2 * i, 3 * j), half = f32(2, 3 * j),
                own = f32(2, 3);
    for (StringRef inside :
         {"psum[axes=('j',) axis_index_groups=None] h",
          "psum[axes=('i',) axis_index_groups=None] h",
          "psum[axes=('j', 'i') axis_index_groups=None] h",
          "pmax[axes=('i', 'j') axis_index_groups=None] h", "neg h"})
      both.run("#! mesh " + grid.text() + "\n{ lambda ; a:" + whole +
                   ". let\n z:" + whole +
                   " = shard_map[ check_vma=False in_specs=(P('i'),) jaxpr={ "
                   "lambda ; f:" +
                   half + ". let\n e:" + half +
                   " = psum[axes=('i',) axis_index_groups=None] f\n g:" + half +
                   " = shard_map[ check_vma=False in_specs=(P(None, 'j'),) "
                   "jaxpr={ lambda ; h:" +
                   own + ". let k:" + own + " = " + inside.str() +
                   " in (k,) } mesh=" + grid.parameter(0) +
                   " newly_manual_axes=frozenset({'j'}) out_specs=(P(None, "
                   "'j'),) ] e\n l:" +
                   half + " = add g f in (l,) } mesh=" + grid.parameter() +
                   " newly_manual_axes=frozenset({'i'}) out_specs=(P('i'),) ] "
                   "a in (z,) }",
               fractions);
  }
  CHECK(both.refused == 0);
  CHECK(both.compared == 7 * 5);
}

TEST_CASE("with check_vma: casts, unreduced and reduced values") {
  Both both;
  both.workers = {1, 2, 3, 8};
  for (const Grid &grid : Grids) {
    if (grid.rank() != 1)
      continue;
    int64_t n = grid.sizes[0];
    std::string all = shapeText(DType::F32, {4 * n * n}),
                own = shapeText(DType::F32, {4 * n}),
                part = shapeText(DType::F32, {4}), size = std::to_string(n);
    auto run = [&](const std::string &body, StringRef spec,
                   const std::string &result) {
      both.run(
          "#! mesh i=" + size + ":Explicit\n{ lambda ; a:" +
              shapeText(DType::F32, {4 * n * n}).substr(0, all.size() - 1) +
              "@i]. let\n z = shard_map[ check_vma=True "
              "in_specs=(P('i'),) jaxpr={ lambda ; x:" +
              own + "{V:i}. let\n" + body + " in (" + result +
              ",) } mesh=AbstractMesh('i': " + size +
              ", axis_types=(Explicit,)) "
              "newly_manual_axes=frozenset({'i'}) out_specs=(" +
              spec.str() + ",) ] a in (z,) }",
          fractions);
    };
    run("y = psum_invariant[axes=('i',)] x", "P()", "y");
    run("y = pmax[axes=('i',) axis_index_groups=None] x", "P()", "y");
    run("y = psum_invariant[axes=('i',)] x\n z = pvary[axes=('i',)] y\n "
        "w = add z x",
        "P('i')", "w");
    run("u = vary_unreduced_cast[axes=('i',)] x\n "
        "y = unreduced_psum[axes=('i',)] u",
        "P()", "y");
    run("u = vary_unreduced_cast[axes=('i',)] x\n"
        "y = unreduced_reduce_scatter[axis_name=('i',) axis_size=" +
            size + " scatter_dimension=0 tiled=True] u",
        "P('i')", "y");
    run("y = all_gather_invariant[all_gather_dimension=0 axis_name=('i',) "
        "axis_size=" +
            size + " tiled=True] x",
        "P()", "y");
    run("y = all_gather_reduced[all_gather_dimension=0 axis_name=('i',) "
        "axis_size=" +
            size +
            " tiled=True] x\n"
            "z = reduced_vary_cast[axes=('i',)] y",
        "P('i')", "z");
    run("u = vary_unreduced_cast[axes=('i',)] x", "P(unreduced={'i'})", "u");
  }
  CHECK(both.refused == 0);
  CHECK(both.compared == 8 * 8);
}

TEST_CASE("what deadlocks for one deadlocks for the other") {
  Both both;
  both.workers = {1, 2, 3, 8};
  const std::string bodies[] = {
      // A branch that not all take; other orders; other trips.
      R"(k:i32[] = axis_index[axis_name=i]
         d:f32[8] = cond[branches=(
           { lambda ; p:f32[8]. let in (p,) }
           { lambda ; p:f32[8]. let
               r:f32[8] = psum[axes=('i',) axis_index_groups=None] p in (r,) }
         )] k x in (d,))",
      R"(k:i32[] = axis_index[axis_name=j]
         d:f32[8] = cond[branches=(
           { lambda ; p:f32[8]. let
               q:f32[8] = psum[axes=('i',) axis_index_groups=None] p
               r:f32[8] = psum[axes=('j',) axis_index_groups=None] q in (r,) }
           { lambda ; p:f32[8]. let
               q:f32[8] = psum[axes=('j',) axis_index_groups=None] p
               r:f32[8] = psum[axes=('i',) axis_index_groups=None] q in (r,) }
         )] k x in (d,))",
      R"(k:i32[] = axis_index[axis_name=i]
         n:i32[] d:f32[8] = while[
           body_jaxpr={ lambda ; m:i32[] p:f32[8]. let
             o:i32[] = add m 1:i32[]
             y:f32[8] = psum[axes=('i',) axis_index_groups=None] p in (o, y) }
           body_nconsts=0
           cond_jaxpr={ lambda ; m:i32[] p:f32[8]. let
             q:bool[] = lt m 2:i32[] in (q,) }
           cond_nconsts=0 ] k x in (d,))"};
  for (const Grid &grid : Grids)
    for (const std::string &body : bodies)
      if (grid.rank() == 2 && grid.sizes[0] > 1)
        both.run(region(grid, DType::F32, {8}, body, DType::F32, {8}),
                 fractions);
  CHECK(both.compared == 5 * 3);
}
