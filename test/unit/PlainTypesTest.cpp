// PlainTypesTest.cpp - what has a type does not end the process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equations of every dtype there is: those that the checker accepts are run.
// They may fail with words.
#include "PlainFixture.h"

using namespace shardtype;

static const DType Every[] = {
#define DTYPE(Name, Long, Short, Kind, Bits, Exponent, Mantissa) DType::Name,
#include "shardtype/Types/DTypes.def"
};

static std::string replaced(std::string text, StringRef what,
                            const std::string &with) {
  for (size_t at; (at = text.find(what.str())) != std::string::npos;)
    text.replace(at, what.size(), with);
  return text;
}

/// Runs an equation in which T is the array type of a dtype, S its scalar, L
/// its long name; `a`, `b`, `c` are arrays and `s`, `t` scalars of it, `i` an
/// index and `n` indices.
static void runEvery(Both &both, const std::string &equation,
                     ArrayRef<DType> dtypes = Every) {
  for (DType dtype : dtypes) {
    std::string text = "{ lambda ; a:T b:T c:T s:S t:S i:i32[] n:i32[4,1] "
                       "w:bool[2,3]. let " +
                       equation + " in (r,) }";
    text = replaced(text, ":T", ":" + shapeText(dtype, {2, 3}));
    text = replaced(text, ":S", ":" + shapeText(dtype, {}));
    text = replaced(text, "LONG", info(dtype).longName.str());
    both.survives(text);
  }
}

TEST_CASE("one operand of any dtype") {
  Both both;
  std::vector<const char *> names = {
      "neg",
      "abs",
      "sign",
      "floor",
      "ceil",
      "round[rounding_method=0]",
      "round[rounding_method=1]",
      "square",
      "one_minus_square",
      "sqrt",
      "rsqrt",
      "cbrt",
      "is_finite",
      "not",
      "clz",
      "population_count",
      "real",
      "imag",
      "conj[input_dtype=LONG]",
      "copy",
      "stop_gradient",
      "erf_inv",
      "digamma",
      "bessel_i0e",
      "bessel_i1e",
      "integer_pow[y=3]",
      "integer_pow[y=-2]",
      "integer_pow[y=0]",
      "reduce_precision[exponent_bits=5 mantissa_bits=2]",
      "copy_p",
      "optimization_barrier",
      "polynomial",
      "reduce_sum[axes=(0,) out_sharding=None]",
      "reduce_prod[axes=(1,)]",
      "reduce_max[axes=(0, 1)]",
      "reduce_min[axes=(0,)]",
      "reduce_and[axes=(0,)]",
      "reduce_or[axes=(1,)]",
      "reduce_xor[axes=(0, 1)]",
      "argmax[axes=(1,) index_dtype=int32]",
      "argmin[axes=(0,) index_dtype=uint8]",
      "cumsum[axis=0 reverse=False]",
      "cumprod[axis=1 reverse=True]",
      "cummax[axis=0 reverse=False]",
      "cummin[axis=1 reverse=True]",
      "cumlogsumexp[axis=1 reverse=False]",
      "sort[dimension=1 is_stable=True num_keys=1]",
      "transpose[permutation=(1, 0)]",
      "rev[dimensions=(1,)]",
      "reshape[dimensions=None new_sizes=(6,) sharding=None]",
      "slice[limit_indices=(2, 3) start_indices=(0, 1) strides=(1, 2)]",
      "tile[reps=(2, 1)]",
      "random_unwrap",
      "random_clone",
      "random_bits[bit_width=32 shape=(2,)]",
      "random_split[shape=(2,)]",
      "random_seed[impl=fry]",
      "random_seed[impl=rbg]",
      "reduce_window_sum[base_dilation=(1, 1) padding=((0, 1), (0, 0)) "
      "window_dilation=(1, 1) window_dimensions=(2, 2) window_strides=(1, "
      "1)]",
      "reduce_window_max[base_dilation=(1, 1) padding=((1, 1), (0, 0)) "
      "window_dilation=(1, 1) window_dimensions=(1, 2) window_strides=(1, "
      "1)]",
      "reduce_window_min[base_dilation=(2, 1) padding=((1, 1), (0, 0)) "
      "window_dilation=(1, 2) window_dimensions=(1, 2) window_strides=(1, "
      "1)]",
      "fft[fft_lengths=(3,) fft_type=0]",
      "fft[fft_lengths=(3,) fft_type=1]",
      "fft[fft_lengths=(3,) fft_type=2]"};
  llvm::append_range(names, FloatFunctions);
  for (const char *name : names)
    runEvery(both, std::string("r = ") + name + " a");
  for (DType to : Every)
    for (StringRef name : {"convert_element_type", "bitcast_convert_type"})
      runEvery(both, "r = " + name.str() +
                         "[new_dtype=" + info(to).longName.str() +
                         (name.starts_with("conv") ? " weak_type=False" : "") +
                         "] a");
  for (StringRef name : {"top_k[axis=1 is_stable=True k=2]",
                         "approx_top_k[aggregate_to_topk=True is_max_k=True "
                         "k=2 recall_target=0.95 reduction_dimension=1 "
                         "reduction_input_size_override=-1]"})
    runEvery(both, "r q = " + name.str() + " a");
  CHECK(both.survived > 1500);
}

TEST_CASE("several operands of any dtype") {
  Both both;
  for (const char *name : {"add",
                           "sub",
                           "mul",
                           "div",
                           "rem",
                           "max",
                           "min",
                           "and",
                           "or",
                           "xor",
                           "pow",
                           "atan2",
                           "nextafter",
                           "mulhi",
                           "shift_left",
                           "shift_right_logical",
                           "shift_right_arithmetic",
                           "eq",
                           "ne",
                           "lt",
                           "le",
                           "gt",
                           "ge",
                           "eq_to",
                           "lt_to",
                           "le_to",
                           "add_any",
                           "complex",
                           "igamma",
                           "igammac",
                           "igamma_grad_a",
                           "polygamma",
                           "zeta",
                           "random_fold_in"})
    for (const char *operands : {" a b", " a s", " s a"})
      runEvery(both, std::string("r = ") + name + operands);
  for (const char *equation :
       {"r = regularized_incomplete_beta a b c",
        "r = polynomial a b c",
        "r = select_n w a b",
        "r = select_n i a b c",
        "r = clamp s a t",
        "r = clamp a b c",
        "r = pow a i",
        "r = pad[padding_config=((1, 0, 1), (0, -1, 0))] a s",
        "r = concatenate[dimension=0] a b",
        "r = stack[axis=1] a b c",
        "r = dynamic_slice[slice_sizes=(1, 2)] a i i",
        "r = dynamic_update_slice a b i i",
        "r = dot_general[dimension_numbers=(([1], [1]), ([], [])) "
        "preferred_element_type=LONG] a b",
        "r = dot_general[dimension_numbers=(([1], [1]), ([0], [0])) "
        "preferred_element_type=float32] a b",
        "r q = sort[dimension=0 is_stable=True num_keys=2] a b",
        "r = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), "
        "collapsed_slice_dims=(0,), start_index_map=(0,), "
        "operand_batching_dims=(), start_indices_batching_dims=()) "
        "fill_value=None indices_are_sorted=False "
        "mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 3) "
        "unique_indices=False] a n",
        "r = reduce_window[base_dilation=(1, 1) consts=() jaxpr={ lambda ; p:S "
        "q:S. let v:S = max p q in (v,) } padding=((0, 0), (0, 0)) "
        "window_dilation=(1, 1) window_dimensions=(1, 2) window_strides=(1, "
        "1)] a s",
        "r = reduce[computation=f dimensions=(0,) jaxpr={ lambda ; p:S q:S. "
        "let v:S = min p q in (v,) }] a s",
        "r = select_and_gather_add[base_dilation=(1, 1) padding=((0, 0), (0, "
        "0)) select_prim=ge window_dilation=(1, 1) window_dimensions=(1, 2) "
        "window_strides=(1, 1)] a b",
        "r = select_and_scatter_add[padding=((0, 0), (0, 1)) select_prim=le "
        "window_dimensions=(1, 2) window_strides=(1, 1)] a b"})
    runEvery(both, equation);
  for (const char *name : {"scatter", "scatter-add", "scatter-sub",
                           "scatter-mul", "scatter-min", "scatter-max"}) {
    StringRef op = StringRef(name).split('-').second;
    std::string body =
        op.empty()
            ? "None"
            : "{ lambda ; p:S q:S. let v:S = " + op.str() + " p q in (v,) }";
    runEvery(both,
             std::string("u = concatenate[dimension=0] a b\n r = ") + name +
                 "[dimension_numbers=ScatterDimensionNumbers("
                 "update_window_dims=(1,), inserted_window_dims=(0,), "
                 "scatter_dims_to_operand_dims=(0,), "
                 "operand_batching_dims=(), scatter_indices_batching_dims=()) "
                 "indices_are_sorted=False mode=GatherScatterMode.CLIP "
                 "unique_indices=False update_consts=() update_jaxpr=" +
                 body + "] a n u");
  }
  CHECK(both.survived > 1500);
}

TEST_CASE("collectives of any dtype") {
  Both both;
  for (DType dtype : Every) {
    std::string whole = shapeText(dtype, {4, 2}),
                own = shapeText(dtype, {2, 2});
    for (const char *equation :
         {"psum[axes=('i',) axis_index_groups=None]",
          "psum[axes=('i', 0) axis_index_groups=None]",
          "pmax[axes=('i',) axis_index_groups=None]",
          "pmin[axes=('i', 1) axis_index_groups=None]",
          "all_gather[all_gather_dimension=0 axis_index_groups=None "
          "axis_name=('i',) axis_size=2 tiled=True]",
          "reduce_scatter[axis_index_groups=None axis_name=('i',) axis_size=2 "
          "scatter_dimension=0 tiled=True]",
          "all_to_all[axis_index_groups=None axis_name=('i',) concat_axis=0 "
          "split_axis=1 tiled=True]",
          "ppermute[axis_name=('i',) perm=((0, 1),)]"})
      both.survives("#! mesh i=2:Auto\n{ lambda ; a:" + whole +
                    ". let b = shard_map[check_vma=False in_specs=(P('i'),) "
                    "jaxpr={ lambda ; x:" +
                    own + ". let y = " + equation +
                    " x in (y,) } mesh=AbstractMesh('i': 2, "
                    "axis_types=(Auto,)) newly_manual_axes=frozenset({'i'}) "
                    "out_specs=(P('i'),)] a in (b,) }");
  }
  CHECK(both.survived > 200);
}
