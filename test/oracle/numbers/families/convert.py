# convert.py - conversions between element types, and values made from nothing.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np

import arrays
from cases import EXACT, dtype, one

_ALL = (*arrays.FLOATS, *arrays.COMPLEX, *arrays.INTS, *arrays.NARROW, *arrays.F8, *arrays.F4,
        "bool")
_TIES = [65519.0, 65520.0, 3e9, -3e9, 464.0, 465.0, 61439.0, 61440.0, 256.0, 257.0, 7.0, 0.3,
         -0.99, 254.5, 255.5, 16777217.0, 1e-7, 0.75, -6.5, 240.0, 248.0, 30.0, 31.0]


def _values(kind, to):
  if kind in arrays.F8 or kind in arrays.F4:
    count = 16 if kind in arrays.F4 else 256
    return np.arange(count).astype(np.uint8).view(dtype(kind))
  if kind in arrays.COMPLEX:
    return arrays.normal(kind, (8,), "convert", to)
  if kind in arrays.FLOATS:
    return np.concatenate([arrays.floats(kind, _TIES), arrays.normal(kind, (24,), to, scale=60)])
  return arrays.edges(kind)


def _twice(kind, to):
  """Does JAX round twice, through f32? Such values are left out (spec 09, 4)."""
  return kind in ("float64", "int64", "uint64", "complex128") and \
      (to in ("bfloat16", "float16") or to in arrays.F8 or to in arrays.F4)


def _convert(family):
  for kind in _ALL:
    for to in _ALL:
      if kind == to:
        continue
      values = _values(kind, to)
      if _twice(kind, to) and kind not in arrays.COMPLEX:
        single = values.astype(np.float32)
        with np.errstate(all="ignore"):
          same = single.astype(values.dtype) == values
        values = values[same | (values != values)]
      function = one("convert_element_type", new_dtype=dtype(to), weak_type=False,
                     sharding=None)
      family.case(function, [values], "modulus 1" if _twice(kind, to) and
                  kind in arrays.COMPLEX else EXACT)
      if to in ("float32", "int32", "bool"):
        family.case(function, [values[:1].reshape(())])
        family.case(function, [values[:0].reshape(2, 0)])


def _bitcast(family):
  kinds = [k for k in _ALL if k not in arrays.COMPLEX and k not in arrays.F4]
  for kind in kinds:
    for to in kinds:
      if kind == to or "bool" in (kind, to):
        continue
      try:
        import ml_dtypes
        wide = {k: (ml_dtypes.finfo if k in arrays.FLOATS or k in arrays.F8
                    else ml_dtypes.iinfo)(dtype(k)).bits for k in (kind, to)}
      except ValueError:
        continue
      ratio = wide[to] // wide[kind]
      values = arrays.normal(kind, (4, ratio) if ratio > 1 else (4,), to) \
          if kind not in arrays.F8 else \
          np.arange(17, 17 + 4 * max(1, ratio)).astype(np.uint8).view(dtype(kind)).reshape(
              (4, ratio) if ratio > 1 else (4,))
      family.case(one("bitcast_convert_type", new_dtype=dtype(to)), [values])


def _reduce_precision(family):
  for kind in arrays.FLOATS:
    values = np.concatenate([arrays.floats(kind, _TIES),
                             arrays.normal(kind, (24,), "precision")])
    for e, m in ((8, 7), (5, 10), (8, 23), (11, 52), (5, 2), (4, 3), (3, 0), (8, 0), (2, 4), (6, 9)):
      family.case(one("reduce_precision", exponent_bits=e, mantissa_bits=m), [values])


def _made(family):
  for kind in (*arrays.FLOATS, *arrays.INTS, *arrays.COMPLEX, *arrays.NARROW):
    for shape, dim in (((5,), 0), ((2, 3), 1), ((300,), 0), ((3, 0), 0), ((2, 2, 2), 1)):
      family.case(one("iota", dtype=dtype(kind), shape=shape, dimension=dim, sharding=None), [])
  for shape in ((), (3,), (2, 3), (0,)):
    family.case(one("iota_2x32_shape", shape=shape), [])


def record(family):
  _convert(family)
  _bitcast(family)
  _reduce_precision(family)
  _made(family)
