# indexing.py - slices, gather and scatter at places that values name.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np
from jax import lax

import arrays
from cases import EXACT, dtype, one

_KINDS = ("float32", "bfloat16", "int8", "bool", "complex64")
_MODES = (lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP,
          lax.GatherScatterMode.PROMISE_IN_BOUNDS)
_FILL = lax.GatherScatterMode.FILL_OR_DROP


def _draw(kind, shape, *seed):
  values = arrays.normal(kind, shape, "indexing", *seed)
  if kind in ("float32", "float64", "complex64"):
    values = (np.round(values * 16) / 16).astype(dtype(kind))
  return values


def _dynamic(family):
  starts = (0, 1, 2, 3, -1, -5, 7, 100, 2**31 - 1, -2**31)
  for kind in (*_KINDS, "int4", "float64", "uint32", "float8_e4m3fn"):
    for shape, size, update in (((5,), (2,), (3,)), ((4, 3), (2, 2), (3, 1)), ((3, 0), (1, 0), (2, 0)),
                                ((2, 3, 4), (2, 1, 3), (1, 3, 2)), ((4,), (4,), (4,)), ((4,), (0,), (0,))):
      for k, start in enumerate(starts):
        if k > 3 and kind not in ("float32", "int8"):
          continue
        at = [np.int32(start if d == k % len(shape) else 1) for d in range(len(shape))]
        family.case(one("dynamic_slice", slice_sizes=size), [_draw(kind, shape, 0), *at])
        family.case(one("dynamic_update_slice"), [_draw(kind, shape, 0), _draw(kind, update, 1), *at])
    family.case(one("dynamic_slice", slice_sizes=()), [_draw(kind, (), 0)])
  for index, values in (("int8", (-128, 127, 3)), ("uint8", (255, 2)), ("uint32", (2**32 - 1, 2)),
                        ("int64", (2**62, -2**62, 1)), ("uint64", (2**64 - 1, 2**63, 1)), ("int16", (-3, 4))):
    for value in values:
      at = np.array(value, index)
      family.case(one("dynamic_slice", slice_sizes=(2,)), [_draw("float32", (5,), 0), at])
      family.case(one("dynamic_update_slice"), [_draw("float32", (5,), 0), _draw("float32", (2,), 1), at])


# operand, indices, slice sizes, offset, collapsed, map, batching of both.
_GATHERS = (
    ((6,), (4, 1), (1,), (), (0,), (0,), (), ()),
    ((6,), (3, 1), (2,), (1,), (), (0,), (), ()),
    ((6,), (1,), (3,), (0,), (), (0,), (), ()),
    ((5, 3), (4, 1), (1, 3), (1,), (0,), (0,), (), ()),
    ((5, 3), (2, 2, 1), (1, 2), (2,), (0,), (0,), (), ()),
    ((5, 3), (2, 1), (4, 1), (0,), (1,), (1,), (), ()),
    ((5, 3), (4, 2), (1, 1), (), (0, 1), (0, 1), (), ()),
    ((5, 3), (4, 2), (1, 1), (), (0, 1), (1, 0), (), ()),
    ((5, 3), (3, 2), (2, 2), (0, 2), (), (0, 1), (), ()),
    ((4, 5, 3), (2, 2), (2, 1, 3), (1, 2), (1,), (1, 0), (), ()),
    ((4, 5, 3), (4, 2, 1), (1, 1, 3), (2,), (1,), (1,), (0,), (0,)),
    ((4, 5, 3), (3, 4, 1), (1, 2, 1), (2,), (), (1,), (0, 2), (1, 0)),
    ((5, 0), (2, 1), (1, 0), (1,), (0,), (0,), (), ()),
    ((5, 3), (0, 1), (1, 3), (1,), (0,), (0,), (), ()),
    ((5, 3), (2, 0), (2, 3), (1, 2), (), (), (), ()))


def _places(shape, sizes, index_map, kind, seed, wild):
  draw = np.random.RandomState(seed)
  out = np.zeros(shape, np.int64)
  for k, d in enumerate(index_map):
    most = sizes[0][d] - sizes[1][d]
    out[..., k] = draw.randint(-2, most + 3, shape[:-1]) if wild else draw.randint(0, most + 1, shape[:-1])
  return out.astype(kind)


def _fill(kind):
  """What lax.gather writes where it is not told otherwise."""
  if kind == "bool":
    return True
  if kind in arrays.INTS or kind in arrays.NARROW:
    most, least = arrays.limits(kind)
    return int(most if kind.startswith("u") else least)
  return np.nan


def _gather(family):
  for kind in (*_KINDS, "int32", "uint8", "uint64", "float64", "float8_e4m3fn", "int4"):
    for n, (operand, indices, sizes, offset, collapsed, to, batch, ibatch) in enumerate(_GATHERS):
      numbers = lax.GatherDimensionNumbers(offset, collapsed, to, batch, ibatch)
      for mode in _MODES:
        if mode == _MODES[2] and kind != "float32":
          continue
        usual = _fill(kind) if mode == _FILL else None
        for fill in ((usual, 7) if mode == _FILL and kind != "bool" and n % 2 == 0 else (usual,)):
          wild = mode != _MODES[2]
          if kind not in ("float32", "int8") and n % 3 != 0:
            continue
          function = one("gather", dimension_numbers=numbers, slice_sizes=sizes, indices_are_sorted=False,
                         unique_indices=False, mode=mode, fill_value=fill)
          family.case(function, [_draw(kind, operand, n),
                                 _places(indices, (operand, sizes), to, "int32", n, wild)])
  numbers = lax.GatherDimensionNumbers((), (0,), (0,))
  for index, values in (("uint32", (2**32 - 1, 2, 5, 6)), ("int64", (2**40, -1, 3, -2**40)), ("int8", (-1, 5, 127, -128)),
                        ("uint8", (255, 5, 0, 6)), ("uint64", (2**64 - 1, 1, 2**63, 5))):
    for mode in _MODES[:2]:
      family.case(one("gather", dimension_numbers=numbers, slice_sizes=(1,), indices_are_sorted=False,
                      unique_indices=False, mode=mode, fill_value=np.nan),
                  [_draw("float32", (6,), 0), np.array(values, index)[:, None]])


# operand, indices, updates, window, inserted, to operand, batching of both.
_SCATTERS = (
    ((6,), (4, 1), (4,), (), (0,), (0,), (), ()),
    ((6,), (3, 1), (3, 2), (1,), (), (0,), (), ()),
    ((6,), (1,), (3,), (0,), (), (0,), (), ()),
    ((5, 3), (4, 1), (4, 3), (1,), (0,), (0,), (), ()),
    ((5, 3), (6, 1), (5, 6), (0,), (1,), (1,), (), ()),
    ((5, 3), (7, 2), (7,), (), (0, 1), (0, 1), (), ()),
    ((5, 3), (7, 2), (7,), (), (0, 1), (1, 0), (), ()),
    ((5, 3), (3, 2), (2, 3, 2), (0, 2), (), (0, 1), (), ()),
    ((4, 5, 3), (4, 2, 1), (4, 2, 3), (2,), (1,), (1,), (0,), (0,)),
    ((5, 3), (0, 1), (0, 3), (1,), (0,), (0,), (), ()),
    ((5, 0), (2, 1), (2, 0), (1,), (0,), (0,), (), ()))


def _windows(case):
  operand, _, updates, window, inserted, _, batch, _ = case
  sizes, w = [], list(window)
  for d in range(len(operand)):
    sizes.append(1 if d in inserted or d in batch else updates[w.pop(0)])
  return sizes


def _body(name, kind):
  import jax  # pylint: disable=import-outside-toplevel
  from jax.extend import core  # pylint: disable=import-outside-toplevel
  scalar = jax.ShapeDtypeStruct((), dtype(kind))
  functions = {"scatter-add": lax.add, "scatter-sub": lax.sub, "scatter-mul": lax.mul,
               "scatter-min": lax.min, "scatter-max": lax.max}
  del core
  return jax.make_jaxpr(functions[name])(scalar, scalar).jaxpr


def _scatter(family):
  names = ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max")
  for name in names:
    for kind in (*_KINDS, "int32", "float16", "uint8", "float64"):
      if kind == "bool" and name in ("scatter-add", "scatter-sub", "scatter-mul"):
        continue
      if kind == "complex64" and name in ("scatter-min", "scatter-max"):
        continue
      for n, case in enumerate(_SCATTERS):
        if kind not in ("float32", "int8") and n % 3 != 0:
          continue
        operand, indices, updates, window, inserted, to, batch, ibatch = case
        numbers = lax.ScatterDimensionNumbers(window, inserted, to, batch, ibatch)
        for mode in _MODES:
          if mode == _MODES[2] and kind != "float32":
            continue
          body = None if name == "scatter" else _body(name, kind)
          function = one(name, dimension_numbers=numbers, indices_are_sorted=False, unique_indices=False,
                         mode=mode, update_jaxpr=body, update_consts=())
          rule = "modulus 2" if kind == "complex64" and name == "scatter-mul" else EXACT
          family.case(function, [_draw(kind, operand, n),
                                 _places(indices, (operand, _windows(case)), to, "int32", n + 50,
                                         mode != _MODES[2]),
                                 _draw(kind, updates, n, 1)], rule)
  # Many at one place, each rounded; NaN and zeros.
  numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
  special = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.0])
  for kind in arrays.FLOATS:
    for name in names:
      function = one(name, dimension_numbers=numbers, indices_are_sorted=False, unique_indices=False,
                     mode=_FILL, update_jaxpr=None if name == "scatter" else _body(name, kind),
                     update_consts=())
      where = np.random.RandomState(1).randint(0, 3, (60, 1)).astype(np.int32)
      values = arrays.normal(kind, (60,), "many", name)
      family.case(function, [np.ones(3, dtype(kind)), where, values])
      a, b = arrays.pairs(special.astype(dtype(kind)))
      family.case(function, [a, np.arange(36, dtype=np.int32)[:, None], b])


def record(family):
  _dynamic(family)
  _gather(family)
  _scatter(family)
