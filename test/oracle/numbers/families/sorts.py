# sorts.py - sort and top_k.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np

import arrays
from cases import dtype, one

_KINDS = (*arrays.FLOATS, *arrays.INTS, "bool", "int4", "uint4", "float8_e4m3fn", "float8_e5m2")


def _sort(dimension, num_keys, stable=True):
  return one("sort", dimension=dimension, is_stable=stable, num_keys=num_keys)


def _sorts(family):
  for kind in (*_KINDS, *arrays.COMPLEX):
    edges = arrays.edges(kind)
    family.case(_sort(0, 1), [edges])
    # Equal keys keep their order; what follows shows it.
    keys = np.tile(edges, 2)[:70]
    keys = keys[np.random.RandomState(3).permutation(len(keys))]
    family.case(_sort(0, 1), [keys, np.arange(len(keys), dtype=np.int32)])
    for shape, dim in (((0,), 0), ((1,), 0), ((5, 4), 0), ((5, 4), 1), ((2, 3, 4), 1), ((0, 3), 1), ((3, 0), 1)):
      family.case(_sort(dim, 1), [arrays.normal(kind, shape, "sort", dim)])
    family.case(_sort(1, 1, stable=False), [arrays.normal(kind, (3, 9), "sort")])
  for kind in ("float32", "int32", "bfloat16", "complex64", "bool"):
    few = arrays.normal("int8", (30,), "few") % 3
    first = few.astype(dtype(kind)) if kind != "bool" else few > 0
    second = arrays.normal("float32", (30,), "second").round()
    place = np.arange(30, dtype=np.int32)
    for keys in (1, 2, 3):
      family.case(_sort(0, keys), [first, second, place])
      family.case(_sort(0, keys), [second, first, place])


def _top(family):
  for kind in _KINDS:
    edges = arrays.edges(kind)
    negated = np.concatenate([edges, np.negative(edges)]) if kind in arrays.FLOATS else edges
    for k in (0, 1, len(edges) // 2, len(edges)):
      family.case(one("top_k", k=k, axis=0, is_stable=True), [edges])
    # Then equal elements come in any order.
    family.case(one("top_k", k=len(negated), axis=0, is_stable=False), [negated], ["exact", "any"])
    for shape, axis, k in (((5, 7), 1, 3), ((5, 7), 0, 3), ((2, 3, 4), 1, 2), ((0, 3), 1, 2), ((3, 0), 1, 0)):
      family.case(one("top_k", k=k, axis=axis, is_stable=True), [arrays.normal(kind, shape, "top", axis)])
  for kind in arrays.FLOATS:
    for is_max in (True, False):
      for shape, dim, k in (((40,), 0, 5), ((3, 20), 1, 4), ((20, 3), 0, 20), ((6,), 0, 1)):
        function = one("approx_top_k", k=k, reduction_dimension=dim, recall_target=0.95, is_max_k=is_max,
                       reduction_input_size_override=-1, aggregate_to_topk=True)
        family.case(function, [arrays.normal(kind, shape, "approx", k)])
        family.case(one("approx_top_k", k=k, reduction_dimension=dim, recall_target=0.9, is_max_k=is_max,
                        reduction_input_size_override=-1, aggregate_to_topk=False),
                    [arrays.normal(kind, shape, "approx", k)])
      family.case(one("approx_top_k", k=20, reduction_dimension=0, recall_target=0.95, is_max_k=is_max,
                      reduction_input_size_override=-1, aggregate_to_topk=True), [arrays.floats(kind)])


def record(family):
  _sorts(family)
  _top(family)
