# reshaping.py - broadcast_in_dim, reshape, squeeze, transpose, rev, joining, pad.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax.sharding import PartitionSpec as P

from matrix import (ALL_KINDS, M12, M22, M222, MAIN, MALLAUTO, MNONE,
                    sample, specs, types)
from prims import prim


def _broadcast(f):
  p = prim("broadcast_in_dim")
  params = lambda shape, dims, s=None: {
      "shape": shape, "broadcast_dimensions": dims, "sharding": s}
  shapes = [((8, 4), (2, 8, 4), (1, 2)), ((8, 4), (8, 4, 2), (0, 1)),
            ((8, 4), (4, 8), (1, 0)), ((8, 4), (4, 2, 8), (2, 0)),
            ((4,), (4, 4), (0,)), ((4,), (8, 4), (1,)), ((1, 4), (8, 4), (0, 1)),
            ((8, 1), (8, 4), (0, 1)), ((8, 4), (8, 4), (0, 1)), ((), (8, 4), ()),
            ((), (), ()), ((0, 4), (2, 0, 4), (1, 2)), ((6,), (3, 6), (1,)),
            ((4, 2, 2), (4, 3, 2, 2), (0, 2, 3))]
  for shape, out, dims in shapes:
    for mesh in MAIN if len(shape) < 3 else (M22,):
      ops = types(mesh, shape, kinds=ALL_KINDS, numpy=True, weak=shape == ())
      f.add(mesh, p, params(out, dims), ops, limit=24 if mesh == M22 else 12)
  for shape, out, dims in shapes[:3] + shapes[4:7] + shapes[9:10]:
    for mesh in MAIN:
      ops = sample(types(mesh, shape, kinds=ALL_KINDS, numpy=True), 8, "bid")
      choices = specs(mesh, len(out), kinds=ALL_KINDS, tuples=mesh != M222)
      for spec in sample(choices, 14 if mesh == M22 else 6, f"{out}{dims}"):
        f.add(mesh, p, params(out, dims, spec), ops, limit=5)
      f.add(mesh, p, params(out, dims, P("X")), ops, limit=5)
      f.add(mesh, p, params(out, dims, P()), ops, limit=5)
  for mesh in (MALLAUTO, MNONE):
    f.add(mesh, p, params((2, 8, 4), (1, 2)), types(mesh, (8, 4), numpy=True))
  bad = [((8, 4), (1,)), ((8,), (0, 1)), ((2, 8, 4), (1, 3)), ((4, 4), (0, 1)),
         ((8, 4, 4), (0, 0)), ((8, 4), (0, 0))]
  for out, dims in bad:
    f.add(M22, p, params(out, dims), ["f32[8@X,4]", "f32[8,4]", "f32[4@X,4]"])
  f.add(M22, p, params((2, 8), (1,)), ["f32<host>[8@X]", "key<fry>[8@X]",
                                       "bool[8@(Y,X)]", "c64[8]{U:Y}"])


# (operand type, new sizes): the table of spec 01, 3.8, and more of its kind.
_RESHAPES = [
    ("f32[8@X,4]", (8, 1, 1, 4)), ("f32[1,8@X]", (8,)), ("f32[8@X]", (2, 4)),
    ("f32[8@(X,Y)]", (2, 4)), ("f32[8@(X,Y)]", (4, 2)), ("f32[4@(Y,X)]", (2, 2)),
    ("f32[16@(X,Y,Z)]", (2, 8)), ("f32[8@X]", (4, 1, 2)),
    ("f32[4@X,4@Y]", (2, 2, 4)), ("f32[4@X,4@Y]", (4, 2, 2)), ("f32[6@X]", (3, 2)),
    ("f32[12@(X,Y)]", (3, 4)), ("f32[4@X,2@Y]", (8,)), ("f32[4@X,4@Y,2]", (16, 2)),
    ("f32[8@X,8]", (64,)), ("f32[4,2@Y]", (8,)), ("f32[2@X,2,2@Y]", (2, 4)),
    ("f32[2@X,4@Y]", (4, 2)), ("f32[4@X,4]", (2, 2, 2, 2)), ("f32[2@X,3,2]", (3, 4)),
    ("f32[8@X]{U:Y}", (2, 4)), ("f32[8@X]{U:Y}", (1, 8)), ("f32[8,4]{U_max:X}", (32,)),
    ("f32[8,4]{R:Y}", (32,)), ("f32[4@X,2]", (8, 1, 1)), ("f32[0@X]", (0, 5)),
    ("f32[4,4@Y]", (4, 5)), ("f32[4@X,4@Y]", (4, 5)), ("f32[1,8@Y]", (8, 1)),
    ("f32[2@Y,2,1]", (4, 1, 1)), ("f32[0@X,4]", (0, 2, 2)), ("f32[0@X,4@Y]", (0,)),
    ("f32[8@X,4]", (8, 2, 2)), ("f32[8@X,4,4@Y]", (8, 16)), ("f32[8]", (-1,)),
]
_RESHAPES_12 = [
    ("f32[4@(Y,X)]", (2, 2)), ("f32[1@X,2@Y,2]", (1, 4)), ("f32[1@X,2@Y,2]", (4, 1)),
    ("f32[2@Y,2,1@X]", (4, 1, 1)), ("f32[1@X,8@Y]", (8, 1)), ("f32[1@X,8@Y]", (8,)),
    ("f32[3@X]", (3, 1)), ("f32[8@(X,Y)]", (2, 4)), ("f32[8@(Y,X)]", (2, 4)),
    ("f32[2@Y,4@X]", (8,)), ("f32[2@X,4@Y]", (8,)), ("f32[1@X,4,1]", (2, 2)),
]
_SHAPES = [
    ((8,), [(2, 4), (4, 2), (8, 1), (1, 8), (2, 2, 2), (2, 1, 4), (8,), (3, 3)]),
    ((2, 4), [(8,), (4, 2), (2, 2, 2), (2, 4, 1), (1, 2, 4), (2, 1, 4), (8, 1),
              (1, 8), (2, 1, 2, 2)]),
    ((4, 4), [(16,), (2, 2, 4), (4, 2, 2), (2, 2, 2, 2), (2, 8), (8, 2), (16, 1)]),
    ((6, 2), [(12,), (3, 2, 2), (2, 3, 2), (4, 3), (6, 2, 1), (3, 4)]),
    ((1, 8), [(8,), (8, 1), (2, 4), (1, 2, 4), (1, 1, 8)]),
    ((2, 2, 4), [(4, 4), (2, 8), (16,), (2, 2, 2, 2), (8, 2), (2, 2, 4, 1)]),
    ((2, 1, 4), [(2, 4), (8,), (8, 1), (2, 2, 2), (1, 8)]),
    ((0, 4), [(0,), (0, 2, 2), (4, 0), (2, 0)]),
    ((), [(), (1,), (1, 1)]),
    ((1,), [(), (1, 1)]),
]


def _reshape(f):
  p = prim("reshape")
  params = lambda new, dims=None, s=None: {
      "new_sizes": new, "dimensions": dims, "sharding": s}
  for text, new in _RESHAPES:
    f.add(M222, p, params(new), [text])
    if "Z" not in text:
      f.add(M22, p, params(new), [text])
  for text, new in _RESHAPES_12:
    f.add(M12, p, params(new), [text])
  for shape, news in _SHAPES:
    for new in news:
      for mesh in MAIN:
        ops = types(mesh, shape, ur=False, numpy=True)
        ur = types(mesh, shape, kinds=ALL_KINDS)[1:]
        f.add(mesh, p, params(new), ops,
              limit={M22: 16, M12: 10, M222: 8}.get(mesh, 4))
        f.add(mesh, p, params(new), ur, limit=5)
  for shape, new in (((8,), (2, 4)), ((2, 4), (8,)), ((8, 4), (4, 8)),
                     ((8, 4), (32,)), ((2, 2, 2), (4, 2))):
    for mesh in MAIN:
      ops = sample(types(mesh, shape, kinds=ALL_KINDS, numpy=True), 12, "rs")
      ops += types(mesh, shape, ur=True)[1:5]
      for spec in sample(specs(mesh, len(new), kinds=ALL_KINDS), 14, f"{new}"):
        f.add(mesh, p, params(new, None, spec), ops, limit=5)
      f.add(mesh, p, params(new, None, P("X")), ops, limit=5)
  for shape, new, dims in (((4, 4), (4, 4), (1, 0)), ((4, 4), (4, 2, 2), (1, 0)),
                           ((4, 4), (2, 2, 4), (1, 0)), ((4, 4), (16,), (1, 0)),
                           ((4, 2), (8,), (0, 1)), ((4, 4), (16,), (0,)),
                           ((2, 4), (4, 2), (1, 0)), ((4, 4), (16,), (0, 2))):
    f.add(M22, p, params(new, dims), types(M22, shape, numpy=True), limit=12)
    f.add(M22, p, params(new, dims, P("X")), types(M22, shape), limit=6)
  f.add(M22, p, params((4, 2)), ["f32<host>[8@X]", "key<fry>[8@X]", "~i32[8]",
                                 "bf16[8@(X,Y)]"])


def _permuting(f):
  for mesh in MAIN + (MALLAUTO,):
    for perm, shape in (((1, 0), (8, 4)), ((0, 1), (8, 4)), ((0,), (8,)), ((), ()),
                        ((2, 0, 1), (4, 2, 2)), ((1, 0, 2), (4, 2, 2)),
                        ((0, 0), (8, 4)), ((1, 0), (8,))):
      f.add(mesh, prim("transpose"), {"permutation": perm},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=16 if mesh == M22 else 7)
    for dims, shape in (((0,), (8, 4)), ((1,), (8, 4)), ((0, 1), (8, 4)),
                        ((), (8, 4)), ((0, 0), (8, 4)), ((2,), (8, 4)),
                        ((-1,), (8, 4)), ((1, 2), (4, 2, 2))):
      f.add(mesh, prim("rev"), {"dimensions": dims},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=12 if mesh == M22 else 5)
    for dims, shape in (((0,), (1, 8)), ((1,), (8, 1)), ((0, 2), (1, 8, 1)),
                        ((0,), (1,)), ((), (8,)), ((0,), (8, 4)), ((1, 1), (8, 1)),
                        ((-1,), (8, 1)), ((2,), (8, 1))):
      f.add(mesh, prim("squeeze"), {"dimensions": dims},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=12 if mesh == M22 else 6)


def _joining(f):
  for name, key in (("concatenate", "dimension"), ("stack", "axis")):
    for mesh in MAIN + (MALLAUTO, MNONE):
      ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
      for dim in (0, 1, 2):
        params = {key: dim}
        f.add(mesh, prim(name), params, cases=[(t, t) for t in ops], limit=40)
        f.add(mesh, prim(name), params, ops, ops, limit=24)
    f.add(M22, prim(name), {key: 0}, types(M22, (8, 4), ur=False), limit=8)
    f.add(M22, prim(name), {key: 0}, types(M22, (8,), kinds=ALL_KINDS, numpy=True),
          types(M22, (6,), numpy=True), limit=50)
    f.add(M22, prim(name), {key: 1}, ["f32[8@X,4]", "i32[8@X,4]", "f32[8@X,2]", "f32[4]"],
          ["f32[8@X,4]", "f32[8@X,1]", "f32<host>[8@X,4]", "f32[8]", "bf16[8@X,4]"])
    three = sample(types(M22, (4,), kinds=("", "max"), numpy=True), 14, name)
    f.add(M22, prim(name), {key: 0}, three, three, three, limit=40)
    f.add(M22, prim(name), {key: 0}, cases=[(t, t, "np:f32[4]") for t in three])
    f.add(M22, prim(name), {key: -1}, ["f32[8@X,4]"], ["f32[8@X,4]"])
  f.add(M22, prim("concatenate"), {"dimension": 0}, ["~f32[4]", "f32[4]"],
        ["~f32[4]", "np:f32[2]"])
  f.add(M22, prim("stack"), {"axis": 0}, types(M22, (), weak=True, numpy=True),
        types(M22, (), weak=True, numpy=True), limit=40)


def _splitting(f):
  for mesh in MAIN + (MALLAUTO,):
    for shape, axis in (((2, 4), 0), ((8, 2), 1), ((1, 4), 0), ((2,), 0),
                        ((3, 4), 0), ((2, 2, 4), 1), ((0, 4), 0), ((2, 4), 2)):
      f.add(mesh, prim("unstack"), {"axis": axis},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=12 if mesh == M22 else 5)
    for sizes, axis, shape in (((4, 4), 0, (8, 4)), ((3, 5), 0, (8, 4)),
                               ((2, 2), 1, (8, 4)), ((8,), 0, (8, 4)),
                               ((2, 6), 0, (8,)), ((1, 1), 0, (2,)),
                               ((1, 7), 0, (8,)), ((0, 8), 0, (8, 4)),
                               ((1, 1), 1, (1, 2)), ((4, 5), 0, (8, 4)),
                               ((4, 4), 2, (8, 4)), ((2, 2), 0, (4, 2, 2))):
      f.add(mesh, prim("split"), {"sizes": sizes, "axis": axis},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=12 if mesh == M22 else 5)
    for reps, shape in (((1, 2), (8, 4)), ((2, 1), (8, 4)), ((1, 1), (8, 4)),
                        ((3,), (4,)), ((), ()), ((2, 2), (1, 4)), ((0, 1), (8, 4)),
                        ((2,), (8, 4)), ((1, 2, 1), (4, 2, 2))):
      f.add(mesh, prim("tile"), {"reps": reps},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True),
            limit=12 if mesh == M22 else 5)


def _pad(f):
  configs = [((8, 4), ((2, 2, 0), (0, 0, 0))), ((8, 4), ((0, 1, 0), (0, 0, 0))),
             ((8, 4), ((0, 0, 0), (0, 0, 1))), ((8, 4), ((0, 0, 0), (0, 0, 0))),
             ((8, 4), ((-3, -4, 0), (-3, 0, 0))), ((8, 4), ((-7, 0, 0), (0, 0, 0))),
             ((8,), ((-2, 0, 0),)), ((4, 2, 2), ((2, 2, 0), (1, 1, 0), (0, 0, 0))),
             ((0, 4), ((2, 2, 0), (0, 0, 0))), ((), ()), ((8, 4), ((1, 1, 0),)),
             ((8, 4), ((-9, 0, 0), (0, 0, 0))), ((8, 4), ((0, 0, -1), (0, 0, 0))),
             ((8, 4), ((-8, 0, 0), (0, 0, 0)))]
  for mesh in MAIN + (MALLAUTO,):
    for shape, config in configs:
      ops = types(mesh, shape, kinds=ALL_KINDS, numpy=True)
      values = types(mesh, (), weak=True, numpy=True) + ["f32[1]", "i32[]"]
      f.add(mesh, prim("pad"), {"padding_config": config}, ops, values[:1],
            limit=10 if mesh == M22 else 4)
      f.add(mesh, prim("pad"), {"padding_config": config}, ops, values, limit=6)
  f.add(M22, prim("pad"), {"padding_config": ((1, 1, 0),)},
        ["f32<host>[8@X]", "key<fry>[8@X]", "f32[8@X]"],
        ["f32<host>[]", "key<fry>[]", "f32[]", "i32[]"])


def record(f):
  _broadcast(f)
  _reshape(f)
  _permuting(f)
  _joining(f)
  _splitting(f)
  _pad(f)
