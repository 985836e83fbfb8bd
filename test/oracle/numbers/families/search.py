# search.py - SearchSorted.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax.numpy as jnp
import numpy as np

import arrays
from cases import dtype


def record(family):
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
