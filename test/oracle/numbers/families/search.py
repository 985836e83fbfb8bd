# search.py - SearchSorted and Nonzero.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax.numpy as jnp
import numpy as np

import arrays
from cases import dtype


def record(family):
  _sorted(family)
  _nonzero(family)


def _nonzero(family):
  from jax._src.numpy import lax_numpy as jnp_impl  # pylint: disable=import-outside-toplevel
  nonzero = getattr(jnp_impl.nonzero, "__wrapped__", jnp_impl.nonzero)
  for kind in ("float32", "int32", "bool"):
    for shape in ((7,), (3, 4), (2, 3, 2), (0,), (0, 3)):
      x = arrays.normal(kind, shape, "nonzero")
      x = np.where(arrays.normal("bool", shape, "zeros"), x, np.zeros_like(x))
      for size in (0, 3, 9):
        family.case(lambda a, size=size: nonzero(a, size=size), [x])
  special = np.array([0.0, -0.0, np.nan, np.inf, 1e-30], np.float32)
  family.case(lambda a: nonzero(a, size=5), [special])


def _sorted(family):
  for kind in ("float32", "bfloat16", "float64", "int32", "uint8"):
    edges = arrays.edges(kind)
    finite = np.sort(edges[~np.isnan(edges.astype(np.float64))])
    for side in ("left", "right"):
      for method in ("scan", "compare_all", "sort"):
        def search(a, b, side=side, method=method):
          return jnp.searchsorted.__wrapped__(a, b, side=side, method=method)
        queries = np.concatenate([edges, arrays.normal(kind, (5,), "search")])
        family.case(search, [finite, queries])
        family.case(search, [np.sort(arrays.normal(kind, (9,), "sorted")), arrays.normal(kind, (2, 3), "search")])
        family.case(search, [np.zeros(0, dtype(kind)), arrays.normal(kind, (3,), "search")])
        family.case(search, [np.sort(arrays.normal(kind, (4,), "sorted")), arrays.normal(kind, (), "search")])
