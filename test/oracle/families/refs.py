# refs.py - Refs: making, reading, writing, indexing.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
from jax._src import core
from jax._src.state.indexing import NDIndexer, Slice
import numpy as np

from matrix import ALL_KINDS, M22, M222, MAIN, MALLAUTO, MNONE, sample, types
from prims import prim

_MESHES = MAIN + (MALLAUTO, MNONE)


def _ref(text):
  return ("np:" if text.startswith("np:") else "") + \
      "Ref{" + text.removeprefix("np:").removeprefix("~") + "}"


def _tree(indices, shape, int_shape=()):
  """The tree of one indexer; index operands are marked by None."""
  leaves = tuple(np.int32(0) if i is None else i for i in indices)
  indexer = NDIndexer(leaves, shape, int_shape)
  return jax.tree_util.tree_structure((indexer,))


# (indices, shape of an index operand or None, shape of the part), Refs of (8, 4)
_WHOLE = ((Slice(0, 8), Slice(0, 4)), None, (8, 4))
_INDEX = [
    _WHOLE,
    ((Slice(0, 4), Slice(0, 4)), None, (4, 4)),
    ((Slice(0, 8), Slice(2, 2)), None, (8, 2)),
    ((Slice(0, 4, 2), Slice(0, 4)), None, (4, 4)),
    ((None, Slice(0, 4)), "", (4,)),
    ((Slice(0, 8), None), "", (8,)),
    ((None, Slice(0, 4)), "2", (2, 4)),
    ((Slice(0, 8), None), "2", (8, 2)),
    ((Slice(0, 8), None), "2,3", (8, 2, 3)),
    ((None, None), "2", (2,)),
    ((None, None), "", ()),
]


def _making(f):
  for mesh in _MESHES:
    arrays = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True, weak=True)
    arrays += types(mesh, (), numpy=True, weak=True)
    for space in (None, core.MemorySpace.Host):
      f.add(mesh, prim("new_ref"), {"memory_space": space, "kind": None, "pin": False},
            arrays, limit=24 if mesh == M22 else 8)
    refs = [_ref(t) for t in arrays if "~" not in t]
    f.add(mesh, prim("freeze"), {}, refs, limit=24 if mesh == M22 else 8)
    f.add(mesh, prim("free_ref"), {}, refs, limit=4)
    f.add(mesh, prim("accum_grad_in_ref"), {}, arrays, limit=4)
    f.add(mesh, prim("broadcast_to"), {"shape": (2, 8, 4)}, arrays, limit=6)
  f.add(M22, prim("new_ref"), {"memory_space": None, "kind": None, "pin": False},
        ["f32<host>[8@X,4]", "f32<any>[8]", "i32[8]"])


def _plain(mesh, kinds=ALL_KINDS):
  return types(mesh, (8, 4), kinds=kinds, numpy=True)


def _whole(f):
  empty = jax.tree_util.tree_structure(())
  for mesh in _MESHES:
    arrays = _plain(mesh)
    f.add(mesh, prim("get"), {"tree": empty}, [_ref(t) for t in arrays],
          limit=40 if mesh == M22 else 8)
    some = sample(types(mesh, (8, 4), numpy=True), 16, "r") + ["f32[4]", "i32[8,4]"]
    refs = [_ref(t) for t in sample(types(mesh, (8, 4), numpy=True), 16, "r")]
    for name in ("swap", "addupdate"):
      f.add(mesh, prim(name), {"tree": empty}, refs, some, limit=60)
      alike = [(_ref(t), t) for t in arrays]
      f.add(mesh, prim(name), {"tree": empty}, cases=alike, limit=20)


def _indexed(f):
  for mesh in (M22, M222, MNONE, MALLAUTO):
    refs = [_ref(t) for t in types(mesh, (8, 4), numpy=True, kinds=("", "max"))]
    for indices, numbers, part in _INDEX:
      count = sum(i is None for i in indices)
      shape = tuple(int(n) for n in (numbers or "").split(",") if n)
      params = {"tree": _tree(indices, (8, 4), shape)}
      index = [[f"i32[{numbers}]"]] * count
      f.add(mesh, prim("get"), params, refs, *index, limit=30 if mesh == M22 else 8)
      values = types(mesh, part, ur=False, numpy=True, tuples=False)[:9]
      for name in ("swap", "addupdate"):
        f.add(mesh, prim(name), params, sample(refs, 14, "i"), values, *index,
              limit=30 if mesh == M22 else 8)


def record(f):
  _making(f)
  _whole(f)
  _indexed(f)
