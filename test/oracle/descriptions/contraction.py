# contraction.py - dot_general, ragged_dot_general, scaled_dot, convolution.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax.lax import ConvDimensionNumbers

from agreement import form
from typetext import parse_dtype

# (lhs, rhs, contracting dims, batch dims)
_DOTS = [
    ((8, 8), (8, 8), ((1,), (0,)), ((), ())),
    ((8, 8), (8, 8), ((1,), (1,)), ((), ())),
    ((8, 8), (8, 4), ((0,), (0,)), ((), ())),
    ((8,), (8,), ((0,), (0,)), ((), ())),
    ((8, 4), (4,), ((1,), (0,)), ((), ())),
    ((4,), (4, 8), ((0,), (0,)), ((), ())),
    ((8,), (4,), ((), ()), ((), ())),
    ((8, 4), (8, 4), ((0, 1), (0, 1)), ((), ())),
    ((8, 4), (8, 4), ((1,), (1,)), ((0,), (0,))),
    ((8, 4), (8, 4), ((), ()), ((0,), (0,))),
    ((8, 4), (8, 4), ((), ()), ((0, 1), (0, 1))),
    ((), (), ((), ()), ((), ())),
    ((), (8,), ((), ()), ((), ())),
    ((6, 3), (3, 4), ((1,), (0,)), ((), ())),
    ((1, 8), (8, 1), ((1,), (0,)), ((), ())),
    ((8, 1), (1, 8), ((1,), (0,)), ((), ())),
    ((0, 8), (8, 4), ((1,), (0,)), ((), ())),
    ((4, 8, 2), (4, 2, 8), ((2,), (1,)), ((0,), (0,))),
    ((4, 8, 2), (8, 4), ((2,), (1,)), ((1,), (0,))),
    ((2, 8, 4), (4, 2), ((0, 2), (1, 0)), ((), ())),
    ((4, 2, 8, 2), (4, 2, 2, 8), ((3,), (2,)), ((0, 1), (0, 1))),
    ((4, 2, 2, 3), (2, 3, 8), ((2, 3), (0, 1)), ((), ())),
    ((8, 4), (8, 4), ((1,), (0,)), ((), ())),
]


def _dot():
  forms = []
  for i, (lhs, rhs, contract, batch) in enumerate(_DOTS):
    rank = len(lhs) + len(rhs) - 2 * len(contract[0]) - len(batch[0])
    params = {"dimension_numbers": (contract, batch), "precision": None,
              "preferred_element_type": parse_dtype("f32")}
    forms.append(form(params, lhs, rhs, out=("out_sharding", rank),
                      share=1.0 if i < 4 else 0.3))
  return forms


def _dims(lhs, rhs, out):
  return ConvDimensionNumbers(lhs, rhs, out)


_NWC = _dims((0, 2, 1), (2, 1, 0), (0, 2, 1))
_NCW = _dims((0, 1, 2), (0, 1, 2), (0, 1, 2))
_NHWC = _dims((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))


def _conv():
  def params(numbers, n, stride=1, pad=(1, 1), features=1, batches=1, lhs_dil=1):
    return {"window_strides": (stride,) * n, "padding": (pad,) * n,
            "lhs_dilation": (lhs_dil,) * n, "rhs_dilation": (1,) * n,
            "dimension_numbers": numbers, "feature_group_count": features,
            "batch_group_count": batches, "precision": None,
            "preferred_element_type": parse_dtype("f32")}
  rows = [((4, 8, 2), (3, 2, 8), params(_NWC, 1)),
          ((4, 2, 8), (8, 2, 3), params(_NCW, 1)),
          ((4, 8, 2), (3, 2, 8), params(_NWC, 1, pad=(0, 0))),
          ((4, 8, 2), (2, 2, 8), params(_NWC, 1, 2, (0, 0))),
          ((4, 8, 4), (3, 2, 8), params(_NWC, 1, features=2)),
          ((4, 8, 2), (3, 2, 4), params(_NWC, 1, batches=2)),
          ((4, 4, 2), (3, 2, 8), params(_NWC, 1, lhs_dil=2)),
          ((1, 8, 1), (3, 1, 4), params(_NWC, 1)),
          ((3, 6, 2), (3, 2, 5), params(_NWC, 1)),
          ((4, 8, 8, 2), (3, 3, 2, 4), params(_NHWC, 2)),
          ((4, 2), (2, 8), params(_dims((0, 1), (1, 0), (0, 1)), 0))]
  return [form(p, lhs, rhs, out=("out_sharding", len(lhs)), share=1.0 if not i else 0.4)
          for i, (lhs, rhs, p) in enumerate(rows)]


def describe():
  return {"dot_general": _dot(), "conv_general_dilated": _conv()}
