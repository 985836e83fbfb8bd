# indexing.py - slices, gather, scatters.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax.lax import (GatherDimensionNumbers, GatherScatterMode,
                     ScatterDimensionNumbers)

from agreement import form


def _slices(table):
  rows = [((8, 8), (0, 0), (4, 8), None), ((8, 8), (0, 2), (8, 6), None),
          ((8, 8), (0, 0), (8, 8), None), ((8, 8), (1, 0), (4, 8), None),
          ((8, 8), (0, 0), (8, 8), (2, 1)), ((8,), (0,), (4,), None),
          ((8,), (2,), (3,), None), ((8,), (0,), (8,), (3,)), ((), (), (), None),
          ((1, 8), (0, 0), (1, 4), None), ((3,), (0,), (2,), None),
          ((0, 8), (0, 0), (0, 4), None), ((8, 4, 2), (0, 0, 0), (8, 2, 2), None),
          ((4, 2, 2, 3), (0, 0, 0, 0), (4, 2, 1, 3), None), ((8, 8), (0, 0), (9, 8), None)]
  table["slice"] = [form({"start_indices": a, "limit_indices": b, "strides": c}, s,
                         share=0.4) for s, a, b, c in rows]
  index = ((), "i32")
  table["dynamic_slice"] = [
      form({"slice_sizes": z}, s, *[index] * len(s), share=0.15) for s, z in (
          ((8, 8), (4, 8)), ((8, 8), (8, 4)), ((8, 8), (8, 8)), ((8, 8), (1, 8)),
          ((8,), (4,)), ((8,), (3,)), ((), ()), ((1, 8), (1, 4)), ((3,), (2,)),
          ((0, 8), (0, 4)), ((8, 4, 2), (8, 2, 2)), ((4, 2, 2, 3), (4, 2, 1, 3)),
          ((8, 8), (9, 8)))]
  table["dynamic_update_slice"] = [
      form({}, s, z, *[index] * len(s), share=0.15) for s, z in (
          ((8, 8), (4, 8)), ((8, 8), (8, 4)), ((8, 8), (8, 8)), ((8, 8), (1, 8)),
          ((8,), (4,)), ((8,), (3,)), ((), ()), ((1, 8), (1, 4)), ((3,), (2,)),
          ((0, 8), (0, 4)), ((8, 4, 2), (8, 2, 2)), ((4, 2, 2, 3), (4, 2, 1, 3)),
          ((8, 8), (9, 8)))]


# operand, indices, then the dimension numbers and the slice's sizes
_GATHERS = [
    ((8, 8), (4, 1), (1,), (0,), (0,), (), (), (1, 8)),
    ((8, 8), (4, 1), (0,), (1,), (1,), (), (), (8, 1)),
    ((8,), (4, 1), (), (0,), (0,), (), (), (1,)),
    ((8, 8), (4, 2), (), (0, 1), (0, 1), (), (), (1, 1)),
    ((8, 8), (2,), (), (0, 1), (0, 1), (), (), (1, 1)),
    ((8, 8), (4, 1), (1, 2), (), (0,), (), (), (4, 8)),
    ((8, 8), (4, 1), (1, 2), (), (0,), (), (), (8, 8)),
    ((8, 8), (8, 1), (), (1,), (1,), (0,), (0,), (1, 1)),
    ((8, 8), (3, 8, 1), (), (1,), (1,), (0,), (1,), (1, 1)),
    ((8, 8), (2, 4, 1), (2,), (0,), (0,), (), (), (1, 8)),
    ((1, 8), (4, 1), (1,), (0,), (0,), (), (), (1, 8)),
    ((6, 3), (4, 1), (1,), (0,), (0,), (), (), (1, 3)),
    ((8, 4, 2), (8, 2, 1), (2,), (1,), (1,), (0,), (0,), (1, 1, 2)),
    ((4, 2, 2, 3), (4, 1), (1, 2, 3), (1,), (1,), (), (), (4, 1, 2, 3)),
    ((8, 8), (4, 1), (1,), (0,), (0,), (), (), (2, 8)),
]
# operand, indices, updates, then the dimension numbers
_SCATTERS = [
    ((8, 8), (4, 1), (4, 8), (1,), (0,), (0,), (), ()),
    ((8, 8), (4, 1), (8, 4), (0,), (1,), (1,), (), ()),
    ((8,), (4, 1), (4,), (), (0,), (0,), (), ()),
    ((8, 8), (4, 2), (4,), (), (0, 1), (0, 1), (), ()),
    ((8, 8), (1,), (8,), (0,), (0,), (0,), (), ()),
    ((8, 8), (4, 1), (4, 2, 8), (1, 2), (), (0,), (), ()),
    ((8, 8), (4, 1), (4, 8, 8), (1, 2), (), (0,), (), ()),
    ((8, 8), (8, 1), (8,), (), (1,), (1,), (0,), (0,)),
    ((8, 8), (2, 8, 1), (2, 8), (), (1,), (1,), (0,), (1,)),
    ((8, 8), (2, 4, 1), (2, 4, 8), (2,), (0,), (0,), (), ()),
    ((1, 8), (4, 1), (4, 8), (1,), (0,), (0,), (), ()),
    ((6, 3), (4, 1), (4, 3), (1,), (0,), (0,), (), ()),
    ((8, 4, 2), (8, 2, 1), (8, 2, 2), (2,), (1,), (1,), (0,), (0,)),
    ((4, 2, 2, 3), (4, 1), (4, 4, 2, 3), (1, 2, 3), (1,), (1,), (), ()),
    ((8, 8), (4, 1), (3, 8), (1,), (0,), (0,), (), ()),
]


def describe():
  table = {}
  _slices(table)
  forms = []
  for i, (operand, index, offset, gone, to, ob, ib, sizes) in enumerate(_GATHERS):
    for mode in (GatherScatterMode.PROMISE_IN_BOUNDS, GatherScatterMode.CLIP,
                 GatherScatterMode.FILL_OR_DROP)[:3 if i < 2 else 1]:
      fill = 0.0 if mode == GatherScatterMode.FILL_OR_DROP else None
      forms.append(form({"dimension_numbers": GatherDimensionNumbers(
          offset, gone, to, ob, ib), "slice_sizes": sizes, "unique_indices": False,
          "indices_are_sorted": False, "mode": mode, "fill_value": fill},
          operand, (index, "i32"), share=0.2))
  table["gather"] = forms
  for name in ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min",
               "scatter-max"):
    table[name] = [form({"dimension_numbers": ScatterDimensionNumbers(
        window, gone, to, ob, ib), "indices_are_sorted": False,
        "unique_indices": False, "mode": GatherScatterMode.FILL_OR_DROP,
        "update_jaxpr": None, "update_consts": ()},
        operand, (index, "i32"), updates, share=0.1)
        for operand, index, updates, window, gone, to, ob, ib in _SCATTERS]
  return table
