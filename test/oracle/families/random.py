# random.py - the primitives behind jax.random.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from jax._src.random import prng, threefry2x32

from matrix import (ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, types)
from prims import prim

_FRY = threefry2x32.threefry_prng_impl
_RBG = prng.prngs["rbg"]


def _keys(mesh, shape, tag="fry", kinds=ALL_KINDS):
  return types(mesh, shape, f"key<{tag}>", kinds=kinds, numpy=True)


def _making(f):
  for mesh in MAIN + (MALLAUTO, MNONE):
    for shape in ((), (8,), (4, 2), (0,)):
      for impl in (_FRY, _RBG):
        f.add(mesh, prim("random_seed"), {"impl": impl},
              types(mesh, shape, "i32", kinds=ALL_KINDS, numpy=True, weak=True),
              limit=9 if impl is _FRY else 3)
    for shape in ((2,), (8, 2), (4, 2, 2), (8, 4), (2, 4), (4,), ()):
      for impl in (_FRY, _RBG):
        f.add(mesh, prim("random_wrap"), {"impl": impl},
              types(mesh, shape, "u32", kinds=ALL_KINDS, numpy=True),
              limit=9 if impl is _FRY else 3)
    for shape in ((), (8,), (4, 2)):
      for tag in ("fry", "rbg"):
        f.add(mesh, prim("random_unwrap"), {}, _keys(mesh, shape, tag), limit=8)


def _using(f):
  for mesh in MAIN + (MALLAUTO, MNONE):
    for shape in ((), (8,), (4, 2), (6,)):
      for tag in ("fry", "rbg"):
        keys = _keys(mesh, shape, tag)
        for new in ((), (4,), (2, 3), (0,)):
          few = 5 if tag == "fry" else 2
          f.add(mesh, prim("random_split"), {"shape": new}, keys, limit=few)
          f.add(mesh, prim("random_bits"), {"bit_width": 32, "shape": new}, keys,
                limit=few)
    f.add(mesh, prim("random_bits"), {"bit_width": 8, "shape": (4,)}, _keys(mesh, (8,)),
          limit=8)
    for shape, data in itertools.product(((), (8,), (4, 2)), repeat=2):
      f.add(mesh, prim("random_fold_in"), {}, _keys(mesh, shape),
            types(mesh, data, "u32", kinds=("", "max"), numpy=True), limit=12)
    f.add(mesh, prim("random_fold_in"), {}, _keys(mesh, (8, 1), kinds=("",)),
          types(mesh, (8, 4), "u32", numpy=True), limit=20)


def _threefry(f):
  p = prim("threefry2x32")
  for mesh in MAIN + (MALLAUTO, MNONE):
    scalars = types(mesh, (), "u32", numpy=True)
    arrays = types(mesh, (8, 4), "u32", kinds=("", "max"), numpy=True)
    f.add(mesh, p, {}, scalars[:2] + scalars[-1:], scalars[:1], arrays, arrays, limit=40)
    f.add(mesh, p, {}, cases=[(t,) * 4 for t in arrays], limit=20)
    four = sample(types(mesh, (8,), "u32", numpy=True), 6, mesh)
    f.add(mesh, p, {}, four, four, four, four, limit=24)
  f.add(M22, p, {}, ["u32[]", "i32[]"], ["u32[]"], ["u32[8@X]", "u32[4]", "f32[8]"],
        ["u32[8]", "u32[1]", "u32[8,4]"])


def record(f):
  _making(f)
  _using(f)
  _threefry(f)
