# search.py - SearchSorted, Nonzero, Frexp and Ldexp.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax.numpy as jnp
import numpy as np

import arrays
from cases import dtype


def record(family):
  _sorted(family)
  _nonzero(family)
  _exponents(family)


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


def _exponents(family):
  for kind in ("float64", "float32", "bfloat16", "float16"):
    edges = arrays.edges(kind)
    x = np.concatenate([edges, arrays.normal(kind, (9,), "exponents")])
    family.case(jnp.frexp.__wrapped__, [x])
    for powers in ("int32", "int8", "uint16"):
      for scale in (1, 7, 60):
        p = (np.arange(x.size) % 11 - (0 if powers == "uint16" else 5)) * scale
        p = p.clip(np.iinfo(powers).min, np.iinfo(powers).max)
        family.case(jnp.ldexp.__wrapped__, [x, p.astype(powers)])
  limits = np.array([2**31 - 1, -2**31, 0, 1], np.int32)
  family.case(jnp.ldexp.__wrapped__, [np.array([1.5, 1.5, np.inf, np.nan], np.float32), limits])


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
