# dots.py - products of matrices.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np
from jax import lax

import arrays
from cases import EXACT, dtype, one

_REL = {"float32": "rel 2e-6", "float64": "rel 1e-14", "bfloat16": "rel 2e-2",
        "float16": "rel 2e-3", "complex64": "rel 4e-6", "complex128": "rel 2e-14"}
# lhs, rhs, (contracting, batch)
_SHAPES = (
    ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((4, 3), (4, 5), (((0,), (0,)), ((), ()))),
    ((3, 4), (5, 4), (((1,), (1,)), ((), ()))),
    ((4, 3), (5, 4), (((0,), (1,)), ((), ()))),
    ((17,), (17,), (((0,), (0,)), ((), ()))),
    ((9, 33), (33,), (((1,), (0,)), ((), ()))),
    ((33,), (33, 9), (((0,), (0,)), ((), ()))),
    ((33,), (9, 33), (((0,), (1,)), ((), ()))),
    ((1, 40), (40, 6), (((1,), (0,)), ((), ()))),
    ((40, 1), (40, 6), (((0,), (0,)), ((), ()))),
    ((12, 1), (1, 15), (((1,), (0,)), ((), ()))),
    ((2, 3), (4,), (((), ()), ((), ()))),
    ((), (2, 2), (((), ()), ((), ()))),
    ((), (), (((), ()), ((), ()))),
    ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
    ((3, 2, 4), (4, 5, 2), (((2,), (0,)), ((1,), (2,)))),
    ((2, 3, 4, 5), (3, 5, 2, 6), (((3,), (1,)), ((0, 1), (2, 0)))),
    ((2, 3, 4, 5), (3, 4, 7), (((1, 2), (0, 1)), ((), ()))),
    ((2, 3, 4, 5), (4, 3, 7), (((2, 1), (0, 1)), ((), ()))),
    ((2, 3, 4), (3, 2, 4), (((0, 2), (1, 2)), ((), ()))),
    ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))),
    ((8, 7, 6), (6, 8, 7), (((0, 1, 2), (1, 2, 0)), ((), ()))),
    ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
    ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
    ((0, 2, 3), (0, 3, 1), (((2,), (1,)), ((0,), (0,)))))
_LARGER = (((20, 70), (70, 24), (((1,), (0,)), ((), ()))),
           ((70, 20), (24, 70), (((0,), (1,)), ((), ()))),
           ((5, 16, 20), (20, 5, 8), (((2,), (0,)), ((0,), (1,)))))


def dot(numbers, preferred, precision=None):
  return one("dot_general", dimension_numbers=numbers, precision=precision,
             preferred_element_type=dtype(preferred), out_sharding=None)


def _draw(kind, shape, side):
  """Numbers of few bits, so that files stay small; their sums have more."""
  values = arrays.normal(kind, shape, "dot", side)
  if kind in ("float32", "float64", *arrays.COMPLEX):
    values = (np.round(values * 37) / 37 if kind == "float64" and shape == (17,)
              else np.round(values * 64) / 64).astype(dtype(kind))
  return values


def _alike(family):
  for kind in (*arrays.FLOATS, *arrays.COMPLEX, *arrays.INTS, "int4", "uint4", "bool"):
    rule = _REL.get(kind, EXACT)
    for i, (lhs, rhs, numbers) in enumerate(_SHAPES):
      if kind in arrays.INTS and kind not in ("int8", "int32", "uint64") and i % 3:
        continue
      family.case(dot(numbers, kind), [_draw(kind, lhs, 0), _draw(kind, rhs, 1)], rule)
  for kind in ("float32", "bfloat16"):
    for lhs, rhs, numbers in _LARGER:
      family.case(dot(numbers, kind), [_draw(kind, lhs, 0), _draw(kind, rhs, 1)],
                  _REL.get(kind, EXACT))


def _mixed(family):
  pairs = (("int8", "int8", "int32"), ("uint8", "int8", "int32"), ("int8", "int8", "int8"),
           ("int16", "int16", "int32"), ("bfloat16", "bfloat16", "float32"),
           ("float16", "float16", "float32"), ("bfloat16", "float32", "float32"),
           ("int8", "float32", "float32"), ("float32", "float32", "float64"),
           ("float32", "float32", "bfloat16"), ("float8_e4m3fn", "float8_e4m3fn", "float32"),
           ("float8_e5m2", "float8_e4m3fn", "float32"),
           ("float8_e4m3fn", "float8_e4m3fn", "bfloat16"), ("int32", "int32", "float32"),
           ("int8", "int8", "float32"), ("int4", "int4", "int32"), ("float32", "complex64", "complex64"))
  for lhs, rhs, out in pairs:
    rule = _REL.get(out, EXACT)
    if out == "float32" and lhs.startswith("int") and rhs.startswith("int"):
      rule = EXACT
    for left, right, numbers in _SHAPES[:5] + _SHAPES[14:17] + _SHAPES[22:23]:
      family.case(dot(numbers, out), [_draw(lhs, left, 0), _draw(rhs, right, 1)], rule)


def _edges(family):
  numbers = (((1,), (0,)), ((), ()))
  for kind in arrays.INTS:
    values = arrays.edges(kind)
    a = np.resize(values, (5, 6))
    family.case(dot(numbers, kind), [a, np.resize(values[::-1], (6, 4))])
  for kind in arrays.FLOATS:
    special = np.array([[0, np.inf, 1], [np.nan, 1, 2], [1, 2, 3], [-np.inf, 0, np.inf], [-0.0, -0.0, 0.0]])
    other = np.array([[1, 0], [1, -1], [np.inf, 2]])
    family.case(dot(numbers, kind), [special.astype(dtype(kind)), other.astype(dtype(kind))], "ulp 2")
    large = np.resize(special, (40, 30)).astype(dtype(kind))
    family.case(dot(numbers, kind), [large, np.resize(other, (30, 20)).astype(dtype(kind))], _REL[kind])
  # Sums that a rounding in the type would change.
  for kind in ("bfloat16", "float16"):
    ones = np.ones((2, 300), dtype(kind))
    family.case(dot(numbers, kind), [ones, ones.T])
    big = np.full((2, 3), 60000 if kind == "float16" else 3e38, dtype(kind))
    family.case(dot(numbers, kind), [big, np.array([[1], [1], [-1]], dtype(kind))])
  for precision in (lax.Precision.HIGH, lax.Precision.HIGHEST):
    family.case(dot(numbers, "float32", (precision, precision)),
                [_draw("float32", (6, 50), 0), _draw("float32", (50, 4), 1)], "rel 2e-6")


def _ragged(family):
  free = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0])
  contract = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), [1], [])
  batch = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), [0], [])
  batched = lax.RaggedDotDimensionNumbers((((2,), (2,)), ((0,), (1,))), [1], [0])
  sizes = ([2, 3, 1], [0, 6, 0], [1, 1, 1], [3, 0, 2], [0, 0, 0])
  for kind in ("float32", "float64", "bfloat16"):
    rule = _REL[kind]
    function = lambda n: one("ragged_dot_general", ragged_dot_dimension_numbers=n, precision=None,  # pylint: disable=unnecessary-lambda-assignment
                             preferred_element_type=dtype(kind), group_offset=None, out_sharding=None)  # pylint: disable=cell-var-from-loop
    for group in sizes:
      g = np.array(group, np.int32)
      family.case(function(free), [_draw(kind, (6, 4), 0), _draw(kind, (3, 4, 5), 1), g], rule)
      family.case(function(contract), [_draw(kind, (4, 6), 0), _draw(kind, (6, 5), 1), g], rule)
      family.case(function(batch), [_draw(kind, (6, 2, 3), 0), _draw(kind, (6, 3, 4), 1), g], rule)
      family.case(function(batched), [_draw(kind, (2, 6, 4), 0), _draw(kind, (3, 2, 4, 5), 1), g], rule)
      both = np.stack([g, g[::-1]])
      family.case(function(batched), [_draw(kind, (2, 6, 4), 0), _draw(kind, (3, 2, 4, 5), 1), both], rule)


def _scaled(family):
  for kind in ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"):
    for preferred in (None, "float32"):
      for numbers, lhs, rhs, ls, rs in (
          ((((1,), (0,)), ((), ())), (3, 8), (8, 4), (3, 2), (4, 4)),
          ((((2,), (2,)), ((0,), (0,))), (2, 3, 8), (2, 4, 8), (2, 3, 2), (2, 4, 4))):
        function = one("scaled_dot", dimension_numbers=numbers,
                       preferred_element_type=preferred and dtype(preferred))
        scales = [np.abs(_draw("float32", s, 2)).astype(dtype("float8_e8m0fnu")) for s in (ls, rs)]
        family.case(function, [_draw(kind, lhs, 0), _draw(kind, rhs, 1), *scales],
                    _REL[preferred or "bfloat16"])


def record(family):
  _alike(family)
  _mixed(family)
  _edges(family)
  _ragged(family)
  _scaled(family)
