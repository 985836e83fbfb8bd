# windows.py - window reductions, select-and-scatter, select-and-gather.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax

from agreement import form


def _window(dims, strides=None, padding=None, base=None, window=None):
  n = len(dims)
  return {"window_dimensions": dims, "window_strides": strides or (1,) * n,
          "padding": padding or ((0, 0),) * n, "base_dilation": base or (1,) * n,
          "window_dilation": window or (1,) * n}


_WINDOWS = [
    ((8, 8), _window((1, 2), (1, 2))), ((8, 8), _window((2, 1), (2, 1))),
    ((8, 8), _window((2, 2), (2, 2))), ((8, 8), _window((1, 1))),
    ((8, 8), _window((3, 1), None, ((1, 1), (0, 0)))), ((8,), _window((2,), (2,))),
    ((8, 8), _window((1, 2))), ((8, 8), _window((8, 8))), ((1, 8), _window((1, 2), (1, 2))),
    ((), _window(())), ((6, 4), _window((1, 2), (1, 2))), ((0, 8), _window((1, 2), (1, 2))),
    ((8, 4, 2), _window((1, 2, 1), (1, 2, 1))),
    ((4, 2, 2, 4), _window((1, 1, 1, 2), (1, 1, 1, 2))),
    ((8,), _window((3,), None, ((1, 1),))), ((8,), _window((2,), (2,), None, (2,)))]


def _result(shape, params):
  rows = zip(shape, params["window_dimensions"], params["window_strides"],
             params["padding"])
  return tuple((n + lo + hi - w) // s + 1 if n + lo + hi >= w else 0
               for n, w, s, (lo, hi) in rows)


def describe():
  table = {}
  for name in ("reduce_window_sum", "reduce_window_max", "reduce_window_min"):
    table[name] = [form(p, s, share=0.4) for s, p in _WINDOWS]
  scatter, gather = [], []
  for shape, params in _WINDOWS[:-1]:
    small = {k: params[k] for k in ("window_dimensions", "window_strides", "padding")}
    scatter.append(form({"select_prim": lax.ge_p, **small}, _result(shape, params),
                        shape, share=0.3))
    gather.append(form({"select_prim": lax.ge_p, **params}, shape, shape, share=0.3))
  table["select_and_scatter_add"] = scatter
  table["select_and_gather_add"] = gather
  return table
