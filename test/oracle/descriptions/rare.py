# rare.py - primitives of few programs: ragged and scaled products, bit generators.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax
import numpy as np

from agreement import form
from typetext import parse_dtype


def _ragged():
  rows = [((8, 4), (2, 4, 8), (2,), (((1,), (1,)), ((), ())), (0,), (0,), 2),
          ((8, 4), (4, 8), (2,), (((1,), (0,)), ((), ())), (1,), (), 3),
          ((4, 8, 2), (4, 2, 8), (4,), (((2,), (1,)), ((0,), (0,))), (0,), (), 3)]
  return [form({"ragged_dot_dimension_numbers": lax.RaggedDotDimensionNumbers(
      dot_dimension_numbers=numbers, lhs_ragged_dimensions=ragged,
      rhs_group_dimensions=groups), "precision": None,
                "preferred_element_type": parse_dtype("f32"), "group_offset": None},
               lhs, rhs, (sizes, "i32"), out=("out_sharding", rank), share=0.5)
          for lhs, rhs, sizes, numbers, ragged, groups, rank in rows]


def _scaled():
  numbers = (((2,), (2,)), ((0,), (0,)))
  forms = []
  for lhs, rhs, scale in (((2, 8, 64), (2, 4, 64), 2), ((1, 8, 32), (1, 8, 32), 1)):
    f8 = "f8_e4m3fn"
    forms.append(form({"dimension_numbers": numbers,
                       "preferred_element_type": parse_dtype("f32")},
                      (lhs, f8), (rhs, f8), (lhs[:2] + (scale,), "f8_e8m0fnu"),
                      (rhs[:2] + (scale,), "f8_e8m0fnu"), share=0.3))
  return forms


def describe():
  table = {"ragged_dot_general": _ragged(), "scaled_dot": _scaled()}
  table["rng_bit_generator"] = [
      form({"shape": s, "dtype": np.dtype("uint32"),
            "algorithm": lax.RandomAlgorithm.RNG_DEFAULT}, ((k,), "u32"),
           out=("out_sharding", len(s)), share=0.5)
      for s, k in (((8, 8), 4), ((8,), 4), ((), 2), ((3,), 4), ((8, 4, 2), 4))]
  table["rng_uniform"] = [form({"shape": s}, (), (), share=0.3)
                          for s in ((8, 8), (8,), (), (3,))]
  table["random_gamma"] = [form({"log_space": log}, (s, "key<fry>"), s, share=0.3)
                           for log in (False, True) for s in ((8, 8), (8,), (), (6, 4))]
  table["iota_2x32_shape"] = [form({"shape": s}) for s in ((8, 8), (8,), (), (3,))]
  table["approx_top_k"] = [
      form({"k": k, "reduction_dimension": d, "recall_target": 0.95, "is_max_k": True,
            "reduction_input_size_override": -1, "aggregate_to_topk": agg}, s, share=0.4)
      for agg in (True, False)
      for k, d, s in ((2, 1, (8, 8)), (2, 0, (8, 8)), (2, 0, (8,)), (3, -1, (8, 8)),
                      (1, 0, (1, 8)), (2, 1, (8, 4, 2)), (2, 3, (4, 2, 2, 3)))]
  return table

