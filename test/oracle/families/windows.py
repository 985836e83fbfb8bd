# windows.py - convolution, window reductions, select-and-scatter, -gather.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax
from jax.lax import ConvDimensionNumbers
from jax.sharding import PartitionSpec as P

from matrix import (ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, specs, types)
from prims import prim
from typetext import parse_dtype

# Positions of (batch, feature, spatial...) or (out, in, spatial...).
_NWC = ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 2, 1))
_NCW = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
_NWC_CWN = ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (2, 0, 1))
_NWC_NCW = ConvDimensionNumbers((0, 2, 1), (2, 1, 0), (0, 1, 2))
_NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_NC = ConvDimensionNumbers((0, 1), (0, 1), (0, 1))


def _conv_params(numbers, stride=1, padding=(1, 1), lhs_dilation=1, rhs_dilation=1,
                 features=1, batches=1, preferred=None, out=None):
  n = len(numbers.lhs_spec) - 2
  return {"window_strides": (stride,) * n, "padding": (padding,) * n,
          "lhs_dilation": (lhs_dilation,) * n, "rhs_dilation": (rhs_dilation,) * n,
          "dimension_numbers": numbers, "feature_group_count": features,
          "batch_group_count": batches, "precision": None,
          "preferred_element_type": preferred and parse_dtype(preferred),
          "out_sharding": out}


# (lhs, rhs, parameters)
_CONVS = [
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC)),
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC, padding=(0, 0))),
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC, stride=2)),
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC, padding=(0, 0), rhs_dilation=2)),
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC, lhs_dilation=2)),
    ((4, 2, 8), (6, 2, 3), _conv_params(_NCW)),
    ((4, 8, 2), (3, 2, 4), _conv_params(_NWC_CWN)),
    ((4, 8, 2), (3, 2, 8), _conv_params(_NWC_NCW)),
    ((4, 8, 4), (3, 2, 4), _conv_params(_NWC, features=2)),
    ((4, 8, 2), (3, 2, 6), _conv_params(_NWC, batches=2)),
    ((4, 2), (6, 2), _conv_params(_NC)),
    ((1, 4, 1), (4, 1, 1), _conv_params(_NWC, padding=(0, 0))),
    ((2, 4, 4, 2), (3, 3, 2, 2), _conv_params(_NHWC)),
    ((2, 4, 4, 2), (2, 2, 2, 2), _conv_params(_NHWC, stride=2, padding=(0, 0))),
]
_BAD_CONVS = [
    ((4, 8, 2), (3, 3, 6), _conv_params(_NWC)),
    ((4, 8, 3), (3, 2, 6), _conv_params(_NWC, features=2)),
    ((4, 8, 4), (3, 2, 5), _conv_params(_NWC, features=2)),
    ((3, 8, 2), (3, 2, 6), _conv_params(_NWC, batches=2)),
    ((4, 8), (3, 2, 6), _conv_params(_NWC)),
]


def _conv(f):
  p = prim("conv_general_dilated")
  for lhs, rhs, params in _CONVS:
    for mesh in MAIN if len(lhs) == 3 else (M22,):
      a = types(mesh, lhs, ur=False, numpy=True)
      b = types(mesh, rhs, ur=False, numpy=True)
      f.add(mesh, p, params, a, b[:1] + b[-1:], limit=24 if mesh == M22 else 8)
      f.add(mesh, p, params, a, sample(b, 8, "rhs"), limit=10 if mesh == M22 else 6)
      f.add(mesh, p, params, types(mesh, lhs, kinds=("", "max"))[1:],
            [b[0]] + types(mesh, rhs)[1:4], limit=8)
  for lhs, rhs, params in _BAD_CONVS:
    f.add(M22, p, params, types(M22, lhs, ur=False)[:3], types(M22, rhs, ur=False)[:1])
  for lhs, rhs, params in (_CONVS[0], _CONVS[1], _CONVS[6]):
    for mesh in MAIN:
      a = sample(types(mesh, lhs, numpy=True), 10, "lhs")
      b = sample(types(mesh, rhs, numpy=True), 6, "rhs") + types(mesh, rhs, ur=False)[:1]
      for spec in sample(specs(mesh, 3, kinds=ALL_KINDS, tuples=False), 10, "conv"):
        f.add(mesh, p, {**params, "out_sharding": spec}, a, b, limit=6)
      f.add(mesh, p, {**params, "out_sharding": P("X")}, a, b, limit=6)
  _conv_dtypes(f, p)


def _conv_dtypes(f, p):
  lhs = ["f32[4@X,8,2]", "bf16[4@X,8,2]", "i8[4@X,8,2]", "~f32[4,8,2]",
         "f32<host>[4@X,8,2]", "c64[4,8@Y,2]"]
  rhs = ["f32[3,2,6]", "bf16[3,2,6]", "i8[3,2,6]", "np:~f32[3,2,6]",
         "f32<host>[3,2,6]", "c64[3,2,6]"]
  f.add(M22, p, _conv_params(_NWC), lhs, rhs)
  for preferred in ("f32", "i32", "f64"):
    f.add(M22, p, _conv_params(_NWC, preferred=preferred), lhs, rhs, limit=20)
  for mesh in (MALLAUTO, MNONE):
    f.add(mesh, p, _conv_params(_NWC), types(mesh, (4, 8, 2), numpy=True),
          types(mesh, (3, 2, 6), numpy=True))


def _window(dims, strides=None, padding=None, base=None, window=None):
  n = len(dims)
  return {"window_dimensions": dims, "window_strides": strides or (1,) * n,
          "padding": padding or ((0, 0),) * n, "base_dilation": base or (1,) * n,
          "window_dilation": window or (1,) * n}


# (operand, window parameters)
_WINDOWS = [
    ((8, 4), _window((1, 2), (1, 2))), ((8, 4), _window((1, 2))),
    ((8, 4), _window((2, 1), (2, 1))), ((8, 4), _window((3, 1), None, ((1, 1), (0, 0)))),
    ((8, 4), _window((2, 2), (2, 2))), ((8, 4), _window((8, 4))),
    ((8, 4), _window((8, 1))), ((8,), _window((2,), (2,), None, (2,))),
    ((8,), _window((3,), None, ((1, 1),), None, (2,))),
    ((4, 4, 2), _window((1, 2, 1), (1, 2, 1))), ((8, 4), _window((1, 1))),
]
_BAD_WINDOWS = [
    ((8, 4), _window((2,))), ((8, 4), _window((9, 1))),
    ((8,), _window((2,), (2, 2))), ((8,), _window((0,))),
]


def _reduce_window(f):
  for name in ("reduce_window_sum", "reduce_window_max"):
    for shape, params in _WINDOWS:
      for mesh in MAIN + (MALLAUTO,):
        f.add(mesh, prim(name), params,
              types(mesh, shape, kinds=ALL_KINDS, numpy=True),
              limit=14 if mesh == M22 else 6)
    for shape, params in _BAD_WINDOWS:
      f.add(M22, prim(name), params, types(M22, shape, ur=False)[:3])
    f.add(M22, prim(name), _WINDOWS[7][1],
          ["i32[8@X]", "~f32[8]", "f32<host>[8@X]", "bool[8]", "bf16[8@Y]", "c64[8]"])


def _select_and(f):
  for shape, params in _WINDOWS:
    if any(d != 1 for d in params["base_dilation"] + params["window_dilation"]):
      continue
    out = _window_result(shape, params)
    scatter = {k: params[k] for k in ("window_dimensions", "window_strides", "padding")}
    for mesh in MAIN:
      operand = types(mesh, shape, numpy=True, kinds=("", "max"))
      plain = types(mesh, shape, numpy=True, ur=False)
      source = types(mesh, out, numpy=True, ur=False)
      name = "select_and_scatter_add"
      at = {"select_prim": lax.ge_p, **scatter}
      f.add(mesh, prim(name), at, source, plain, limit=16 if mesh == M22 else 8)
      f.add(mesh, prim(name), at, types(mesh, out, numpy=True), operand, limit=8)
      name = "select_and_gather_add"
      at = {"select_prim": lax.ge_p, **params}
      f.add(mesh, prim(name), at, cases=[(t, t) for t in operand],
            limit=16 if mesh == M22 else 8)
      f.add(mesh, prim(name), at, plain, plain, limit=10)
  at = {"select_prim": lax.le_p, **{k: _WINDOWS[0][1][k] for k in (
      "window_dimensions", "window_strides", "padding")}}
  f.add(M22, prim("select_and_scatter_add"), at,
        ["f32[8@X,2]", "i32[8,2]", "f32[8,4]", "f32<host>[8,2]", "~f32[8,2]"],
        ["f32[8@X,4]", "i32[8,4@Y]", "f32<host>[8,4]", "np:~f32[8,4]"])
  f.add(M22, prim("select_and_gather_add"),
        {"select_prim": lax.le_p, **_WINDOWS[0][1]},
        ["f32[8@X,4]", "i32[8,4]", "f32[4,8]", "~f32[8@X,4]"],
        ["f32[8@X,4]", "i32[8,4]", "f32<host>[8@X,4]", "~f32[8@X,4]"])


def _window_result(shape, params):
  rows = zip(shape, params["window_dimensions"], params["window_strides"],
             params["padding"])
  return tuple((n + lo + hi - w) // s + 1 for n, w, s, (lo, hi) in rows)


def record(f):
  _conv(f)
  _reduce_window(f)
  _select_and(f)
