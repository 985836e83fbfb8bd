// PlainShapesTest.cpp - moves, products, windows, bits and control flow.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PlainFixture.h"

using namespace shardtype;

/// Those whose code differs where only data is moved.
static const DType Moved[] = {DType::U8, DType::BF16, DType::F32, DType::C64,
                              DType::C128};
using List = SmallVector<int64_t, 4>;

static std::string program(const std::string &arguments,
                           const std::string &equation) {
  return "{ lambda ; " + arguments + ". let r = " + equation + " in (r,) }";
}
/// A different dtype each time.
static DType next() {
  static size_t count = 0;
  return Moved[count++ % std::size(Moved)];
}

TEST_CASE("moves of whole dims, over all shapes of rank 3 and less") {
  Both both;
  for (unsigned rank = 0; rank <= 3; ++rank)
    for (const Shape &shape : shapesOf(rank, 0, 3)) {
      DType dtype = next();
      std::string a = "a:" + shapeText(dtype, shape);
      for (ArrayRef<int64_t> order : ordersOf(rank))
        both.run(
            program(a, "transpose[permutation=" + tupleText(order) + "] a"),
            distinct);
      for (ArrayRef<int64_t> dims : subsetsOf(rank)) {
        both.run(program(a, "rev[dimensions=" + tupleText(dims) + "] a"),
                 distinct);
        bool ones =
            llvm::all_of(dims, [&](int64_t d) { return shape[d] == 1; });
        if (ones)
          both.run(program(a, "squeeze[dimensions=" + tupleText(dims) + "] a"),
                   distinct);
      }
      int64_t size = *countElements(shape);
      for (unsigned other = 0; other <= 3; ++other)
        for (const Shape &to : shapesOf(other, 0, 4))
          if (*countElements(to) == size && (size || to.size() < 3))
            both.run(program(a, "reshape[dimensions=None new_sizes=" +
                                    tupleText(to) + " sharding=None] a"),
                     distinct);
      for (unsigned d = 0; d < rank; ++d) {
        std::string at = std::to_string(d);
        both.run(program(a + " b:" + shapeText(dtype, shape),
                         "concatenate[dimension=" + at + "] a b a"),
                 distinct);
        both.run(program(
            "",
            "iota[dimension=" + at + " dtype=" +
                info(dtype == DType::C128 ? DType::I8 : dtype).longName.str() +
                " shape=" + tupleText(shape) + " sharding=None]"));
        both.run(program(a, "tile[reps=" +
                                tupleText(List(rank, d == 1 ? 2 : 1)) + "] a"),
                 distinct);
      }
      for (unsigned d = 0; d <= rank; ++d)
        both.run(program(a + " b:" + shapeText(dtype, shape),
                         "stack[axis=" + std::to_string(d) + "] a b"),
                 distinct);
    }
  CHECK(both.refused == 0);
  CHECK(both.compared > 2800);
}

TEST_CASE("broadcast_in_dim: all places of the operand's dims") {
  Both both;
  for (unsigned rank = 0; rank <= 3; ++rank)
    for (const Shape &shape : shapesOf(rank, 0, 2))
      for (ArrayRef<int64_t> dims : subsetsOf(3)) {
        if (dims.size() != rank)
          continue;
        Shape to(3, 3);
        for (unsigned d = 0; d < rank; ++d)
          to[dims[d]] = shape[d] == 1 && d % 2 ? 2 : shape[d];
        DType dtype = next();
        both.run("{ lambda ; a:" + shapeText(dtype, shape) +
                     ". let r:" + shapeText(dtype, to) +
                     " = broadcast_in_dim[broadcast_dimensions=" +
                     tupleText(dims) + "] a in (r,) }",
                 distinct);
      }
  CHECK(both.refused == 0);
  CHECK(both.compared > 60);
}

TEST_CASE("slices: all starts, limits and strides of small dims") {
  Both both;
  for (int64_t n = 0; n <= 4; ++n)
    for (int64_t start = 0; start <= n; ++start)
      for (int64_t limit = start; limit <= n; ++limit)
        for (int64_t stride = 1; stride <= 3; ++stride)
          both.run(program("a:" + shapeText(next(), {n, 2}),
                           "slice[limit_indices=" + tupleText({limit, 2}) +
                               " start_indices=" + tupleText({start, 1}) +
                               " strides=" + tupleText({stride, 1}) + "] a"),
                   distinct);
  Filler anywhere = [](DType dtype, ArrayRef<int64_t> shape, unsigned k) {
    return shape.empty() ? edges(dtype, {14}, 0).part(k % 14, {})
                         : distinct(dtype, shape, k);
  };
  for (DType index :
       {DType::I32, DType::U8, DType::I8, DType::U32, DType::I64, DType::U64})
    for (int64_t n = 0; n <= 3; ++n)
      for (int64_t size = 0; size <= n; ++size)
        for (unsigned turn = 0; turn < 14; ++turn) {
          DType dtype = next();
          std::string a = "a:" + shapeText(dtype, {n, 3}),
                      i = shapeText(index, {});
          auto fill = [&](DType of, ArrayRef<int64_t> shape, unsigned k) {
            return anywhere(of, shape, shape.empty() ? turn + 5 * k : k);
          };
          both.run(program(a + " i:" + i + " j:" + i,
                           "dynamic_slice[slice_sizes=" + tupleText({size, 2}) +
                               "] a i j"),
                   fill);
          both.run(program(a + " u:" + shapeText(dtype, {size, 2}) + " i:" + i +
                               " j:" + i,
                           "dynamic_update_slice a u i j"),
                   fill);
        }
  CHECK(both.refused == 0);
  CHECK(both.compared > 1500);
}

TEST_CASE("pad: low, high and interior, negative too") {
  Both both;
  for (int64_t n = 0; n <= 3; ++n)
    for (int64_t low = -2; low <= 2; ++low)
      for (int64_t high = -2; high <= 2; ++high)
        for (int64_t inner = 0; inner <= 2; ++inner) {
          DType dtype = next();
          both.run(program("a:" + shapeText(dtype, {2, n}) +
                               " b:" + shapeText(dtype, {}),
                           "pad[padding_config=((1, -1, 1), " +
                               tupleText({low, high, inner}) + ")] a b"),
                   distinct);
        }
  CHECK(both.compared > 240);
}

TEST_CASE("split and unstack") {
  Both both;
  auto several = [](const std::string &argument, const std::string &equation) {
    return "{ lambda ; a:" + argument + ". let r s t = " + equation +
           " a in (r, s, t) }";
  };
  for (DType dtype : Moved)
    for (unsigned d = 0; d < 3; ++d) {
      Shape shape(3, 2);
      shape[d] = 3;
      std::string at = std::to_string(d), a = shapeText(dtype, shape);
      both.run(several(a, "unstack[axis=" + at + "]"), distinct);
      both.run(several(a, "split[axis=" + at + " sizes=(1, 0, 2)]"), distinct);
    }
  CHECK(both.compared == 2 * 3 * std::size(Moved));
}

//===--- gather and scatter -----------------------------------------------===//

/// Indices from -2 to 4, with repetitions.
static Tensor around(DType dtype, ArrayRef<int64_t> shape, unsigned argument) {
  if (argument != 1)
    return argument == 2 ? small(dtype, shape, argument)
                         : distinct(dtype, shape, argument);
  Tensor x = Tensor::zeros(dtype, shape);
  for (int64_t i = 0; i < x.size(); ++i)
    plain::store(
        x, i, plain::rounded(dtype, plain::integer((i * 5 + i / 3) % 7 - 2)));
  return x;
}

TEST_CASE("gather and scatter: every choice of dims, in all modes") {
  Both both;
  for (unsigned rank = 1; rank <= 3; ++rank)
    for (const Shape &shape : shapesOf(rank, 2, 3))
      for (ArrayRef<int64_t> map : subsetsOf(rank))
        for (ArrayRef<int64_t> order : ordersOf(map.size()))
          for (ArrayRef<int64_t> missing : subsetsOf(rank))
            for (StringRef mode :
                 {"CLIP", "FILL_OR_DROP", "PROMISE_IN_BOUNDS"}) {
              if (mode == "PROMISE_IN_BOUNDS" && rank != 2)
                continue;
              List starts, sizes, window, offsets;
              for (int64_t k : order)
                starts.push_back(map[k]);
              unsigned entries = rank % 2 + 1; // Dims of the indices.
              Shape indices(entries, 3), updates(entries, 3);
              indices.push_back(starts.size());
              for (unsigned d = 0; d < rank; ++d) {
                bool gone = llvm::is_contained(missing, int64_t(d));
                sizes.push_back(gone ? 1 : shape[d] - int64_t(d % 2));
                if (gone)
                  continue;
                offsets.push_back(updates.size());
                updates.push_back(sizes.back());
              }
              DType dtype = next(), index = rank == 2 ? DType::U8 : DType::I32;
              if (dtype == DType::C128)
                dtype = DType::Bool;
              std::string a = "a:" + shapeText(dtype, shape) +
                              " i:" + shapeText(index, indices);
              both.run(
                  program(a,
                          "gather[dimension_numbers="
                          "GatherDimensionNumbers(offset_dims=" +
                              tupleText(offsets) +
                              ", collapsed_slice_dims=" + tupleText(missing) +
                              ", start_index_map=" + tupleText(starts) +
                              ", operand_batching_dims=(), "
                              "start_indices_batching_dims=()) "
                              "fill_value=None indices_are_sorted=False "
                              "mode=GatherScatterMode." +
                              mode.str() + " slice_sizes=" + tupleText(sizes) +
                              " unique_indices=False] a i"),
                  around);
              static const StringRef names[] = {"scatter",     "scatter-add",
                                                "scatter-mul", "scatter-min",
                                                "scatter-max", "scatter-sub"};
              StringRef name = names[both.compared % 6];
              if (isComplex(dtype) && name.contains("-m"))
                name = "scatter-add";
              if (dtype == DType::Bool)
                name = "scatter";
              if (isFloat(dtype))
                dtype = both.compared % 2 ? DType::F32 : DType::BF16;
              std::string op = name == "scatter-add"   ? "add"
                               : name == "scatter-sub" ? "sub"
                               : name == "scatter-mul" ? "mul"
                               : name == "scatter-min" ? "min"
                                                       : "max",
                          one = shapeText(dtype, {});
              std::string body = name == "scatter"
                                     ? "None"
                                     : "{ lambda ; p:" + one + " q:" + one +
                                           ". let s:" + one + " = " + op +
                                           " p q in (s,) }";
              both.run(
                  program("a:" + shapeText(dtype, shape) +
                              " i:" + shapeText(index, indices) +
                              " u:" + shapeText(dtype, updates),
                          name.str() +
                              "[dimension_numbers="
                              "ScatterDimensionNumbers(update_window_dims=" +
                              tupleText(offsets) +
                              ", inserted_window_dims=" + tupleText(missing) +
                              ", scatter_dims_to_operand_dims=" +
                              tupleText(starts) +
                              ", operand_batching_dims=(), "
                              "scatter_indices_batching_dims=()) "
                              "indices_are_sorted=False "
                              "mode=GatherScatterMode." +
                              mode.str() +
                              " unique_indices=False update_consts=() "
                              "update_jaxpr=" +
                              body + "] a i u"),
                  around);
            }
  CHECK(both.refused == 0);
  CHECK(both.compared > 1500);
}

TEST_CASE("gather and scatter with batching dims") {
  Both both;
  for (StringRef mode : {"CLIP", "FILL_OR_DROP"})
    for (DType dtype : {DType::F32, DType::I8, DType::C64}) {
      std::string type = shapeText(dtype, {2, 3, 2});
      both.run(program("a:" + type + " i:i32[2,4,1]",
                       "gather[dimension_numbers=GatherDimensionNumbers("
                       "offset_dims=(2,), collapsed_slice_dims=(1,), "
                       "start_index_map=(1,), operand_batching_dims=(0,), "
                       "start_indices_batching_dims=(0,)) fill_value=None "
                       "indices_are_sorted=False mode=GatherScatterMode." +
                           mode.str() +
                           " slice_sizes=(1, 1, 2) unique_indices=False] a i"),
               around);
      std::string one = shapeText(dtype, {});
      both.run(program("a:" + type +
                           " i:i32[2,4,1] u:" + shapeText(dtype, {2, 4, 2}),
                       "scatter-add[dimension_numbers=ScatterDimensionNumbers("
                       "update_window_dims=(2,), inserted_window_dims=(1,), "
                       "scatter_dims_to_operand_dims=(1,), "
                       "operand_batching_dims=(0,), "
                       "scatter_indices_batching_dims=(0,)) "
                       "indices_are_sorted=False mode=GatherScatterMode." +
                           mode.str() +
                           " unique_indices=False update_consts=() "
                           "update_jaxpr={ lambda ; p:" +
                           one + " q:" + one + ". let s:" + one +
                           " = add p q in (s,) }] a i u"),
               around);
    }
  CHECK(both.compared == 12);
}

//===--- Products and windows ---------------------------------------------===//

TEST_CASE("dot_general: every choice of contracted and batch dims") {
  Both both;
  struct Form {
    const char *dims;
    unsigned lhs, rhs;
    SmallVector<std::pair<unsigned, unsigned>, 3> equal;
  };
  const Form forms[] = {
      {"(([0], [0]), ([], []))", 1, 1, {{0, 0}}},
      {"(([], []), ([], []))", 1, 2, {}},
      {"(([1], [0]), ([], []))", 2, 2, {{1, 0}}},
      {"(([0], [1]), ([], []))", 2, 2, {{0, 1}}},
      {"(([0], [0]), ([], []))", 2, 2, {{0, 0}}},
      {"(([1], [1]), ([], []))", 2, 2, {{1, 1}}},
      {"(([0, 1], [1, 0]), ([], []))", 2, 2, {{0, 1}, {1, 0}}},
      {"(([1], [0]), ([], []))", 2, 1, {{1, 0}}},
      {"(([1], [1]), ([0], [0]))", 2, 2, {{1, 1}, {0, 0}}},
      {"(([], []), ([0, 1], [1, 0]))", 2, 2, {{0, 1}, {1, 0}}},
      {"(([2], [1]), ([0], [0]))", 3, 3, {{2, 1}, {0, 0}}},
      {"(([1], [2]), ([0], [1]))", 3, 3, {{1, 2}, {0, 1}}},
      {"(([0, 2], [2, 1]), ([], []))", 3, 3, {{0, 2}, {2, 1}}}};
  const std::pair<DType, DType> kinds[] = {
      {DType::F32, DType::F32},     {DType::F64, DType::F64},
      {DType::BF16, DType::BF16},   {DType::BF16, DType::F32},
      {DType::F16, DType::F16},     {DType::F8E4M3FN, DType::F32},
      {DType::F8E5M2, DType::BF16}, {DType::I8, DType::I8},
      {DType::I8, DType::I32},      {DType::I4, DType::I32},
      {DType::U8, DType::U32},      {DType::I32, DType::I32},
      {DType::I64, DType::I64},     {DType::C64, DType::C64}};
  unsigned turn = 0;
  for (const Form &form : forms)
    for (const Shape &sizes : shapesOf(3, 0, 3)) {
      Shape a(sizes.begin(), sizes.begin() + form.lhs),
          b(sizes.rbegin(), sizes.rbegin() + form.rhs);
      for (auto [i, j] : form.equal)
        b[j] = a[i];
      auto [dtype, preferred] = kinds[turn++ % std::size(kinds)];
      std::string text = program(
          "a:" + shapeText(dtype, a) + " b:" + shapeText(dtype, b),
          std::string("dot_general[dimension_numbers=") + form.dims +
              " preferred_element_type=" + info(preferred).longName.str() +
              "] a b");
      both.run(text, small); // Exact in any order.
    }
  CHECK(both.refused == 0);
  CHECK(both.compared == std::size(forms) * 64);
  // Products of edge values wrap, those of floats are NaN where they must be.
  unsigned before = both.compared;
  for (auto [dtype, preferred] : kinds)
    if (!isComplex(dtype))
      both.run(program("a:" + shapeText(dtype, {23, 1}) +
                           " b:" + shapeText(dtype, {1, 23}),
                       "dot_general[dimension_numbers=(([1], [0]), ([], [])) "
                       "preferred_element_type=" +
                           info(preferred).longName.str() + "] a b"),
               edges, Tolerance{}); // A zero may be of either sign.
  CHECK(both.compared == before + std::size(kinds) - 1);
}

TEST_CASE("convolutions: strides, padding, dilation, groups, layouts") {
  Both both;
  auto conv = [&](DType dtype, ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs,
                  const std::string &layout, int64_t stride, int64_t low,
                  int64_t high, int64_t holes, int64_t dilation,
                  int64_t features, int64_t batches) {
    size_t spatial = lhs.size() - 2;
    std::string pads;
    for (size_t d = 0; d < spatial; ++d)
      pads += (d ? ", " : "") + tupleText({low, high});
    both.run(
        program("a:" + shapeText(dtype, lhs) + " b:" + shapeText(dtype, rhs),
                "conv_general_dilated[batch_group_count=" +
                    std::to_string(batches) + " dimension_numbers=" + layout +
                    " feature_group_count=" + std::to_string(features) +
                    " lhs_dilation=" + tupleText(List(spatial, holes)) +
                    " out_sharding=None padding=(" + pads +
                    (spatial == 1 ? ",)" : ")") +
                    " precision=None preferred_element_type=" +
                    info(dtype).longName.str() +
                    " rhs_dilation=" + tupleText(List(spatial, dilation)) +
                    " window_strides=" + tupleText(List(spatial, stride)) +
                    "] a b"),
        small);
  };
  const std::string first = "ConvDimensionNumbers(lhs_spec=(0, 1, 2), "
                            "rhs_spec=(0, 1, 2), out_spec=(0, 1, 2))",
                    last = "ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), "
                           "rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))";
  const DType kinds[] = {DType::F32, DType::BF16, DType::I32, DType::F64};
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t k = 1; k <= 3; ++k)
      for (int64_t stride = 1; stride <= 2; ++stride)
        for (int64_t low = -1; low <= 2; ++low)
          for (int64_t holes = 1; holes <= 2; ++holes)
            for (int64_t dilation = 1; dilation <= 2; ++dilation)
              conv(kinds[(n + k + low + 1) % 4], {2, 3, n}, {2, 3, k}, first,
                   stride, low, 1, holes, dilation, 1, 1);
  for (int64_t k = 1; k <= 2; ++k) {
    conv(DType::F32, {2, 4, 5}, {6, 2, k}, first, 1, 0, 1, 1, 1, 2, 1);
    conv(DType::F32, {4, 3, 5}, {6, 3, k}, first, 1, 1, 0, 1, 1, 1, 2);
    conv(DType::BF16, {2, 3, 4, 2}, {k, 2, 2, 3}, last, 1, 1, 0, 1, 1, 1, 1);
    conv(DType::I32, {2, 3, 4, 4}, {k, 2, 2, 6}, last, 2, 1, 1, 1, 1, 2, 1);
  }
  CHECK(both.compared > 350);
}

TEST_CASE("windows: sizes, strides, padding, dilation, edge values") {
  Both both;
  const DType kinds[] = {DType::F32, DType::BF16, DType::I8, DType::F8E4M3FN};
  for (int64_t n = 1; n <= 4; ++n)
    for (int64_t size = 1; size <= 3; ++size)
      for (int64_t stride = 1; stride <= 2; ++stride)
        for (int64_t low = 0; low <= 2; ++low)
          for (int64_t base = 1; base <= 2; ++base)
            for (int64_t dilation = 1; dilation <= 2; ++dilation) {
              DType dtype = kinds[(n + size + low) % 4];
              std::string window =
                  " padding=((0, 1), " + tupleText({low, 1}) +
                  ") window_dilation=" + tupleText({1, dilation}) +
                  " window_dimensions=" + tupleText({2, size}) +
                  " window_strides=" + tupleText({1, stride}) + "] ";
              std::string type = shapeText(dtype, {2, n}),
                          one = shapeText(dtype, {});
              for (StringRef name : {"sum", "max", "min"})
                both.run(program("a:" + type,
                                 "reduce_window_" + name.str() +
                                     "[base_dilation=" + tupleText({1, base}) +
                                     window + "a"));
              both.run(program("a:" + type + " b:" + one,
                               "reduce_window[base_dilation=" +
                                   tupleText({1, base}) +
                                   " consts=() jaxpr={ lambda ; p:" + one +
                                   " q:" + one + ". let s:" + one +
                                   " = add p q in (s,) }" + window + "a b"),
                       small);
            }
  CHECK(both.compared > 1000);
  for (StringRef select : {"ge", "gt", "le", "lt"})
    for (int64_t size = 1; size <= 3; ++size)
      for (int64_t stride = 1; stride <= 2; ++stride)
        for (int64_t low = 0; low < size; ++low) {
          int64_t count = (5 + low + 1 - size) / stride + 1;
          std::string window = " window_dimensions=" + tupleText({1, size}) +
                               " window_strides=" + tupleText({1, stride}) +
                               "] ",
                      pads = " padding=((0, 0), " + tupleText({low, 1}) + ")";
          both.run(
              program("a:" + shapeText(DType::F32, {2, count}) + " b:f32[2,5]",
                      "select_and_scatter_add[" + pads +
                          " select_prim=" + select.str() + window + "a b"));
          both.run(program("a:f32[2,5] b:f32[2,5]",
                           "select_and_gather_add[base_dilation=(1, 1)" + pads +
                               " select_prim=" + select.str() +
                               " window_dilation=(1, 1)" + window + "a b"));
        }
  CHECK(both.compared > 1040);
}

TEST_CASE("random bits") {
  Both both;
  for (const Shape &keys : {Shape{}, Shape{3}, Shape{2, 2}, Shape{0}}) {
    std::string key = "a:" + shapeText(DType::KeyFry, keys);
    for (const Shape &shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0, 2}}) {
      for (StringRef width : {"8", "16", "32", "64"})
        both.run(program(key, "random_bits[bit_width=" + width.str() +
                                  " shape=" + tupleText(shape) + "] a"));
      both.run(program(key, "random_split[shape=" + tupleText(shape) + "] a"));
    }
    both.run(program(key, "random_unwrap a"));
    both.run(program(key + " b:" + shapeText(DType::U32, keys),
                     "random_fold_in a b"));
    for (DType seed : {DType::I32, DType::U32, DType::I64, DType::U8})
      both.run(
          program("a:" + shapeText(seed, keys), "random_seed[impl=fry] a"));
  }
  CHECK(both.refused == 0);
  CHECK(both.compared == 4 * (4 * 5 + 6));
}

//===--- Control flow -----------------------------------------------------===//

TEST_CASE("loops and branches in one another") {
  Both both;
  for (int64_t length = 0; length <= 3; ++length)
    for (StringRef reverse : {"False", "True"})
      for (int64_t n = 0; n <= 2; ++n) {
        std::string x = shapeText(DType::F32, {n}),
                    xs = shapeText(DType::F32, {length, n});
        both.run("{ lambda ; a:" + x + " b:" + xs + " k:i32[]. let\n" + R"(
    c:)" + x +
                 " d:" + xs + R"( = scan[
      ft_in=((), (None,), (None,))
      ft_out=((None,), (RightsOnly(Right(None)),))
      jaxpr={ lambda ; e:)" +
                 x + " f:" + x + R"(. let
          m:i32[] g:)" +
                 x + R"( = while[
            body_jaxpr={ lambda ; i:i32[] u:)" +
                 x + R"(. let
                j:i32[] = add i 1:i32[]
                v:)" +
                 x + R"( = mul u 3.0:f32[]
              in (j, v) }
            body_nconsts=0
            cond_jaxpr={ lambda ; i:i32[] u:)" +
                 x + R"(. let
                p:bool[] = lt i 2:i32[]
              in (p,) }
            cond_nconsts=0
          ] 0:i32[] e
          h:)" + x +
                 R"( = jit[name=f jaxpr={ lambda ; r:)" + x + " s:" + x +
                 R"(. let t:)" + x + R"( = add r s in (t,) }] g f
        in (h, g) }
      length=)" + std::to_string(length) +
                 R"(
      reverse=)" +
                 reverse.str() + R"(
      unroll=1
    ] a b
    q:)" + x + R"( = cond[
      branches=(
        { lambda ; f:)" +
                 x + R"(. let h:)" + x + R"( = neg f in (h,) }
        { lambda ; f:)" +
                 x + R"(. let in (f,) }
        { lambda ; f:)" +
                 x + R"(. let h:)" + x + R"( = mul f f in (h,) }
      )
    ] k c
  in (c, d, q) })");
      }
  CHECK(both.compared == 4 * 2 * 3);
}
