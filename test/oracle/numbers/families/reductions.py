# reductions.py - reductions, cumulative operations, argmax and argmin.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np

import arrays
from cases import EXACT, dtype, one

_EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "bfloat16": 2.0**-7, "float16": 2.0**-10,
        "complex64": 2.0**-23, "complex128": 2.0**-52}
# Shape and reduced dims.
_SHAPES = (((7,), (0,)), ((0,), (0,)), ((33,), (0,)), ((300,), (0,)), ((2, 3), (1,)),
           ((2, 3), (0,)), ((3, 4), (0, 1)), ((2, 3, 4), (0, 2)), ((40, 3), (0,)),
           ((0, 3), (0,)), ((3, 0), (0,)), ((2, 35), (1,)), ((5,), ()), ((36, 34), (0, 1)))


_MAIN = ("float32", "bfloat16", "int32")
_FEW = (((7,), (0,)), ((0,), (0,)), ((2, 3), (1,)), ((2, 3), (0,)), ((2, 3, 4), (0, 2)), ((35,), (0,)))


def _shapes(kind):
  """All shapes for a few types, few shapes for the others."""
  return _SHAPES if kind in _MAIN else _FEW


def _loose(values, kind):
  """2 eps sum |x| (spec 09, 17)."""
  total = float(np.nansum(np.abs(np.asarray(values, np.complex128))))
  return f"ulp 2 abs {2 * _EPS[kind] * total:.3g}"


def _fixed(shape, dims):
  """Is the order of a sum of f32 known to be JAX's?"""
  return len(dims) < 2 and max(shape, default=0) <= 300


def _sums(family):
  for kind in (*arrays.FLOATS, *arrays.COMPLEX, *arrays.INTS, *arrays.NARROW):
    for shape, dims in _shapes(kind):
      values = arrays.normal(kind, shape, "sum")
      inexact = kind in _EPS and (kind in arrays.COMPLEX or not _fixed(shape, dims))
      family.case(one("reduce_sum", axes=dims, out_sharding=None), [values],
                  _loose(values, kind) if inexact else EXACT)
      values = arrays.normal(kind, shape, "prod")
      if kind in _EPS:
        values = np.where(np.abs(values.astype(np.complex128)) < .5, np.ones_like(values), values)
        values = np.clip(values.real, -1.5, 1.5).astype(dtype(kind)) if kind in arrays.FLOATS else \
            (values / np.abs(values)).astype(dtype(kind))
      rule = EXACT if kind not in _EPS else "modulus 200" if kind in arrays.COMPLEX else "ulp 64"
      family.case(one("reduce_prod", axes=dims, out_sharding=None), [values], rule)
  for kind in arrays.FLOATS:  # The order decides the bits.
    lengths = {"float32": (64, 1000, 1025, 4096), "bfloat16": (64, 1000, 4096)}
    for length in lengths.get(kind, (64, 300)):
      values = arrays.normal(kind, (length,), "long", scale=10)
      # Vector code adds long columns of f32 in another order.
      rule = _loose(values, kind) if (kind, length) == ("float32", 4096) else EXACT
      family.case(one("reduce_sum", axes=(0,), out_sharding=None), [values], rule)
    for values in ([-0.0, -0.0], [np.inf, 1, -np.inf], [np.nan, 1], [65504, 65504, -65504]):
      values = np.array(values, np.float64).astype(dtype(kind))
      family.case(one("reduce_sum", axes=(0,), out_sharding=None), [values])


def _extremes(family):
  for kind in (*arrays.FLOATS, *arrays.INTS, *arrays.NARROW, "bool"):
    for name in ("reduce_max", "reduce_min"):
      for shape, dims in _shapes(kind):
        family.case(one(name, axes=dims, out_sharding=None),
                    [arrays.normal(kind, shape, name)])
      rows = np.array([[0, -0.0, -1], [-0.0, 0, 1], [np.nan, 1, 2], [1, np.nan, 2],
                       [np.inf, -np.inf, 0], [-np.inf] * 3], np.float64)
      if kind in arrays.FLOATS:
        for axis in (0, 1):
          family.case(one(name, axes=(axis,), out_sharding=None), [rows.astype(dtype(kind))])
    for name in ("argmax", "argmin"):
      for shape, dims in _shapes(kind):
        if len(dims) == 1 and shape[dims[0]]:
          for index in (np.int32, np.uint8, np.int64) if shape == (300,) else (np.int32,):
            family.case(one(name, axes=dims, index_dtype=np.dtype(index)),
                        [arrays.normal(kind, shape, name)])
      if kind in arrays.FLOATS:
        for axis in (0, 1):
          family.case(one(name, axes=(axis,), index_dtype=np.dtype(np.int32)),
                      [rows.astype(dtype(kind))])


def _cumulative(family):
  shapes = (((0,), 0), ((1,), 0), ((7,), 0), ((16,), 0), ((17,), 0), ((300,), 0), ((3, 5), 0),
            ((3, 5), 1), ((2, 40, 3), 1), ((0, 4), 1), ((600,), 0))  # The main types have all of them.
  for kind in (*arrays.FLOATS, *arrays.COMPLEX, *arrays.INTS):
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
      if name == "cumlogsumexp" and kind not in arrays.FLOATS:
        continue
      if name in ("cummax", "cummin") and kind in arrays.COMPLEX:
        continue
      for shape, axis in shapes if kind in _MAIN else shapes[:5] + shapes[6:8]:
        for reverse in (False, True):
          values = arrays.normal(kind, shape, name)
          rule = EXACT
          if name == "cumprod" and kind in _EPS:
            size = np.abs(values.astype(np.complex128)) + .01
            values = (values / size).astype(dtype(kind))
            rule = "ulp 64" if kind in arrays.FLOATS else "modulus 400"
          elif name == "cumsum" and kind in ("float64", *arrays.COMPLEX):
            rule = _loose(values, kind)
          elif name == "cumlogsumexp":
            rule = "ulp 3 " + _loose(values, kind)[6:]
          family.case(one(name, axis=axis, reverse=reverse), [values], rule)
    if kind in arrays.FLOATS:
      values = np.array([1, 3, np.nan, 2, np.inf, -0.0, 0], np.float64).astype(dtype(kind))
      zeros = np.array([-0.0, 0, -0.0, -1, -np.inf, -np.inf], np.float64).astype(dtype(kind))
      for name in ("cumsum", "cummax", "cummin"):
        for reverse in (False, True):
          family.case(one(name, axis=0, reverse=reverse), [values])
          family.case(one(name, axis=0, reverse=reverse), [zeros])
      low = np.array([-np.inf, -np.inf, 1, 1000, 1000], np.float64).astype(dtype(kind))
      family.case(one("cumlogsumexp", axis=0, reverse=False), [low], "ulp 3")


def record(family):
  _sums(family)
  _extremes(family)
  _cumulative(family)
