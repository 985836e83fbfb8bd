# bodies.py - reductions, windows and scatters with functions of their own.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import arrays
from cases import EXACT, dtype, one


def _scalars(*kinds):
  return [jax.ShapeDtypeStruct((), dtype(k)) for k in kinds]


def _draw(kind, shape, *seed):
  values = arrays.normal(kind, shape, "bodies", *seed)
  return (np.round(values * 8) / 8).astype(dtype(kind)) if kind.startswith("float") else values


def _squares(a, b):
  return a + b * b


def _largest(a, i, b, j):
  """The larger value and where it stands."""
  right = b > a
  return jnp.where(right, b, a), jnp.where(right, j, i)


def _reduce(f, dims, kinds):
  """`f` over arrays of these kinds, then as many initial values."""
  body = jax.make_jaxpr(f)(*_scalars(*kinds, *kinds))
  return lambda *args: lax.reduce_p.bind(*args, computation=f, dimensions=dims, jaxpr=body)


def _reductions(family):
  for shape, dims in (((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((0, 2), (0,)), ((2, 2), ())):
    for kind in ("float32", "int32"):
      family.case(_reduce(_squares, dims, (kind,)), [_draw(kind, shape, 0), np.zeros((), dtype(kind))],
                  "ulp 8" if kind == "float32" else EXACT)
    place = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    family.case(_reduce(_largest, dims, ("float32", "int32")),
                [_draw("float32", shape, 1), place, np.float32(-np.inf), np.int32(0)])


def _windows(family):
  for kind in ("float32", "int32"):
    for name, f, init in (("mul", lax.mul, 1), ("squares", _squares, 0), ("max", lax.max, -3), ("add", lax.add, 7)):
      body = jax.make_jaxpr(f)(*_scalars(kind, kind)).jaxpr
      for shape, window, strides, pads in (((6,), (3,), (2,), ((0, 0),)), ((6,), (3,), (2,), ((1, 2),)),
                                           ((4, 5), (2, 3), (1, 2), ((0, 1), (0, 0)))):
        if name == "squares" and pads != ((0, 0),):
          continue  # Padding takes part there, and JAX's squares it.
        ones = (1,) * len(shape)
        function = one("reduce_window", jaxpr=body, consts=(), window_dimensions=window, window_strides=strides,
                       padding=pads, base_dilation=ones, window_dilation=ones)
        family.case(function, [_draw(kind, shape, name), np.array(init, dtype(kind))],
                    "ulp 8" if kind == "float32" else EXACT)


def _scatters(family):
  numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
  for kind, f in (("float32", lambda a, b: a * 2 + 1), ("int32", lambda a, b: a - b), ("float32", lambda a, b: b)):
    body = jax.make_jaxpr(f)(*_scalars(kind, kind)).jaxpr
    for where in ([0, 2, 4], [1, 1, 1], [5, -1, 3], [0, 0, 9]):
      function = one("scatter", dimension_numbers=numbers, indices_are_sorted=False, unique_indices=False,
                     mode=lax.GatherScatterMode.FILL_OR_DROP, update_jaxpr=body, update_consts=())
      family.case(function, [_draw(kind, (5,), 0), np.array(where, np.int32)[:, None], _draw(kind, (3,), 1)])


def _selections(family):
  for kind in ("float32", "int32"):
    for select in (lax.ge, lax.le, lambda a, b: a * 2 >= b):
      for scatter in (lax.add, lax.max, lambda a, b: a + b + b):
        for shape, window, strides, pads in (((6,), (2,), (2,), ((0, 0),)), ((6,), (3,), (1,), ((1, 1),)),
                                             ((4, 4), (2, 2), (2, 2), ((0, 0), (0, 0)))):
          out = tuple((n + sum(p) - w) // s + 1 for n, w, s, p in zip(shape, window, strides, pads))
          function = one("select_and_scatter", select_jaxpr=jax.make_jaxpr(select)(*_scalars(kind, kind)).jaxpr,
                         select_consts=(), scatter_consts=(),
                         scatter_jaxpr=jax.make_jaxpr(scatter)(*_scalars(kind, kind)).jaxpr,
                         window_dimensions=window, window_strides=strides, padding=pads)
          family.case(function, [_draw(kind, shape, 0), _draw(kind, out, 1), np.zeros((), dtype(kind))],
                      "ulp 4" if kind == "float32" else EXACT)


def record(family):
  _reductions(family)
  _windows(family)
  _scatters(family)
  _selections(family)
