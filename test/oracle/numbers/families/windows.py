# windows.py - pooling, convolutions and generic reductions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

import jax
import numpy as np
from jax import lax

import arrays
from cases import EXACT, dtype, one
import prims

# window, strides, padding, base dilation, window dilation
_WINDOWS = {
    1: ((3,), (1,), ((0, 0),), (1,), (1,)), 2: ((3,), (2,), ((1, 2),), (1,), (1,)),
    3: ((2,), (1,), ((0, 1),), (2,), (1,)), 4: ((2,), (1,), ((1, 1),), (1,), (2,)),
    5: ((3,), (2,), ((2, 3),), (2,), (2,)), 6: ((1,), (1,), ((0, 0),), (1,), (1,)),
    7: ((2,), (3,), ((3, 3),), (1,), (1,)), 8: ((4,), (1,), ((-1, 0),), (1,), (1,)),
    9: ((9,), (1,), ((0, 0),), (1,), (1,)), 10: ((2,), (1,), ((0, 0),), (3,), (2,))}
_TWO = (((2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)), ((3, 2), (2, 1), ((1, 1), (0, 1)), (1, 1), (1, 1)),
        ((1, 3), (1, 2), ((0, 0), (1, 1)), (1, 2), (1, 1)), ((2, 2), (2, 2), ((0, 1), (1, 0)), (2, 1), (1, 2)))


def _draw(kind, shape, *seed):
  values = arrays.normal(kind, shape, "windows", *seed)
  if kind in ("float32", "float64", "complex64"):
    values = (np.round(values * 16) / 16).astype(dtype(kind))
  return values


def _all_windows(shapes=((7,), (4, 5))):
  for w in _WINDOWS.values():
    yield shapes[0], w
  for w in _TWO:
    yield shapes[1], w


def _pools(family):
  for kind in (*arrays.FLOATS, "int8", "uint8", "int32", "complex64"):
    for name in ("reduce_window_sum", "reduce_window_max", "reduce_window_min"):
      if kind == "complex64" and name != "reduce_window_sum":
        continue
      rule = EXACT
      if name.endswith("sum") and kind in (*arrays.FLOATS, "complex64"):
        rule = "rel 2e-6" if kind in ("float32", "complex64") else "ulp 2"
      for shape, (window, strides, pads, base, dilation) in _all_windows():
        function = one(name, window_dimensions=window, window_strides=strides, padding=pads,
                       base_dilation=base, window_dilation=dilation)
        family.case(function, [_draw(kind, shape, name)], rule)
      if kind in arrays.FLOATS and not name.endswith("sum"):
        special = np.array([1, np.nan, 2, -0.0, 0.0, np.inf, -np.inf, 0.0, -0.0]).astype(dtype(kind))
        family.case(one(name, window_dimensions=(2,), window_strides=(1,), padding=((1, 1),),
                        base_dilation=(1,), window_dilation=(1,)), [special])
      family.case(one(name, window_dimensions=(2,), window_strides=(1,), padding=((1, 1),),
                      base_dilation=(1,), window_dilation=(1,)), [_draw(kind, (0,))], rule)


def _selections(family):
  special = [1, np.nan, 3, 3, 5, np.nan, 0.0, -0.0, np.inf, 2]
  for kind in ("float32", "bfloat16", "float64", "int32"):
    for select, name in itertools.product((prims.prim("ge"), prims.prim("le")), ("scatter", "gather")):
      for shape, (window, strides, pads, base, dilation) in _all_windows():
        if any(p < 0 for pair in pads for p in pair):
          continue
        operand = _draw(kind, shape, "select")
        if name == "scatter":
          if any(d != 1 for d in (*base, *dilation)):
            continue
          out = tuple((n + sum(p) - w) // s + 1 for n, p, w, s in zip(shape, pads, window, strides))
          if any(n <= 0 for n in out):
            continue
          function = one("select_and_scatter_add", select_prim=select, window_dimensions=window,
                         window_strides=strides, padding=pads)
          family.case(function, [_draw(kind, out, "source"), operand],
                      "ulp 2" if kind in arrays.FLOATS else EXACT)
        elif kind == "float32":
          function = one("select_and_gather_add", select_prim=select, window_dimensions=window,
                         window_strides=strides, padding=pads, base_dilation=base, window_dilation=dilation)
          family.case(function, [_draw(kind, shape, "tangent"), operand])
      if kind in arrays.FLOATS and name == "scatter":
        function = one("select_and_scatter_add", select_prim=select, window_dimensions=(2,),
                       window_strides=(2,), padding=((0, 0),))
        family.case(function, [_draw(kind, (5,), "source"), np.array(special).astype(dtype(kind))])


def _generic(family):
  def reduce(f, dims):
    return lambda x, init: lax.reduce_p.bind(
        x, init, computation=f, dimensions=dims,
        jaxpr=jax.make_jaxpr(f)(jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct((), x.dtype)))

  for kind in ("float32", "int32", "bfloat16", "bool"):
    functions = (lax.bitwise_and, lax.bitwise_or) if kind == "bool" else (lax.add, lax.mul, lax.max, lax.min)
    for f in functions:
      for shape, dims in (((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((3, 4), (0, 1)), ((2, 3, 2), (0, 2)),
                          ((0, 3), (0,)), ((3, 4), ())):
        init = _draw(kind, (), "init")
        rule = "ulp 8" if kind in arrays.FLOATS else EXACT
        try:
          family.case(reduce(f, dims), [_draw(kind, shape, "reduce"), init], rule)
        except (ValueError, AttributeError):
          pass


def _conv(numbers, **over):
  rank = len(numbers[0]) - 2
  params = {"window_strides": (1,) * rank, "padding": ((0, 0),) * rank, "lhs_dilation": (1,) * rank,
            "rhs_dilation": (1,) * rank, "feature_group_count": 1, "batch_group_count": 1,
            "precision": None, "preferred_element_type": None, "out_sharding": None, **over}
  return lambda kind: one("conv_general_dilated", dimension_numbers=lax.ConvDimensionNumbers(*numbers),
                          **{**params, "preferred_element_type": dtype(params["preferred_element_type"] or kind)})


_NCW = ((0, 1, 2),) * 3
_NCHW = ((0, 1, 2, 3),) * 3
_NHWC = ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_CONVS = (
    (_NCW, (2, 3, 9), (4, 3, 3), {}),
    (_NCW, (2, 3, 9), (4, 3, 3), {"window_strides": (2,), "padding": ((1, 2),)}),
    (_NCW, (2, 3, 9), (4, 3, 2), {"rhs_dilation": (3,), "padding": ((2, 0),)}),
    (_NCW, (2, 3, 7), (4, 3, 3), {"lhs_dilation": (2,), "padding": ((1, 1),)}),
    (_NCW, (2, 3, 9), (4, 3, 3), {"padding": ((-1, -2),)}),
    (_NCW, (2, 3, 2), (4, 3, 5), {}),
    (_NCW, (2, 6, 8), (4, 3, 3), {"feature_group_count": 2}),
    (_NCW, (2, 4, 8), (8, 1, 3), {"feature_group_count": 4, "padding": ((1, 1),)}),
    (_NCW, (4, 3, 8), (6, 3, 3), {"batch_group_count": 2}),
    (_NCW, (0, 3, 8), (6, 3, 3), {}),
    (_NCW, (2, 0, 8), (6, 0, 3), {}),
    (((0, 1),) * 3, (3, 5), (4, 5), {}),
    (_NCHW, (2, 3, 6, 5), (4, 3, 3, 2), {"padding": ((1, 1), (0, 1))}),
    (_NHWC, (2, 6, 5, 3), (3, 2, 3, 4), {"window_strides": (2, 1), "padding": ((1, 1), (0, 1))}),
    (_NHWC, (1, 8, 8, 4), (3, 3, 4, 5), {"padding": ((1, 1), (1, 1)), "rhs_dilation": (2, 1)}),
    (((3, 0, 1, 2), (0, 3, 2, 1), (1, 2, 0, 3)), (5, 6, 4, 2), (3, 2, 3, 5), {"padding": ((1, 1), (1, 1))}),
    (((0, 1, 2, 3, 4),) * 3, (1, 2, 4, 3, 4), (3, 2, 2, 2, 2), {"padding": ((1, 0), (0, 0), (1, 1))}))


def _convs(family):
  rel = {"float32": "rel 2e-6", "float64": "rel 1e-14", "bfloat16": "rel 2e-2", "float16": "rel 2e-3",
         "complex64": "rel 4e-6"}
  for kind in ("float32", "float64", "bfloat16", "float16", "int8", "int32", "complex64"):
    for n, (numbers, lhs, rhs, over) in enumerate(_CONVS):
      family.case(_conv(numbers, **over)(kind), [_draw(kind, lhs, n), _draw(kind, rhs, n, 1)],
                  rel.get(kind, EXACT))
  for kind, out in (("int8", "int32"), ("bfloat16", "float32"), ("float8_e4m3fn", "float32")):
    for numbers, lhs, rhs, over in _CONVS[:7]:
      family.case(_conv(numbers, preferred_element_type=out, **over)(kind),
                  [_draw(kind, lhs, 0), _draw(kind, rhs, 1)], rel.get(out, EXACT))


def record(family):
  _pools(family)
  _selections(family)
  _generic(family)
  _convs(family)
