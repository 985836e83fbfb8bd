# reduction.py - reduce_*, argmax and argmin, cum*, sort, top_k.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax.sharding import PartitionSpec as P

from matrix import (ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample,
                    specs, types)
from prims import prim
from typetext import parse_dtype


def _operands(mesh, shape, dtype="f32"):
  return types(mesh, shape, dtype, kinds=ALL_KINDS, numpy=True, weak=len(shape) < 2)


def _reduce(f):
  forms = [((8, 4), (0,)), ((8, 4), (1,)), ((8, 4), (0, 1)), ((8, 4), ()),
           ((8,), (0,)), ((), ()), ((4, 2, 2), (0, 2)), ((4, 2, 2), (1,)),
           ((0, 4), (0,)), ((0, 4), (1,)), ((8, 4), (2,)), ((8, 4), (0, 0)),
           ((8, 4), (-1,))]
  for name in ("reduce_sum", "reduce_max", "reduce_min"):
    for shape, axes in forms:
      for mesh in MAIN + (MALLAUTO, MNONE):
        f.add(mesh, prim(name), {"axes": axes, "out_sharding": None},
              _operands(mesh, shape), limit=24 if mesh == M22 else 8)
  _reduce_out(f)
  for name in ("reduce_prod", "reduce_and", "reduce_or", "reduce_xor"):
    dtype = "f32" if name == "reduce_prod" else "bool"
    for shape, axes in forms:
      for mesh in MAIN:
        f.add(mesh, prim(name), {"axes": axes}, _operands(mesh, shape, dtype),
              limit=8 if mesh == M22 else 4)
  odd = ["f32[8@X,4]", "bool[8@X,4]", "i8[8,4@Y]", "bf16[8@(Y,X),4]", "c64[8@X,4]",
         "key<fry>[8]", "f32<host>[8@X,4]", "u32[8,4]", "f16[8@X,4]"]
  for name in ("reduce_sum", "reduce_max", "reduce_prod", "reduce_and", "reduce_xor"):
    params = {"axes": (0,)}
    if name in ("reduce_sum", "reduce_max"):
      params["out_sharding"] = None
    f.add(M22, prim(name), params, odd)


def _reduce_out(f):
  forms = [((8, 4), (0,)), ((8, 4), (1,)), ((8, 4), (0, 1)), ((4, 2, 2), (0,)),
           ((8,), (0,)), ((8, 4), ())]
  for name in ("reduce_sum", "reduce_max", "reduce_min"):
    for i, (shape, axes) in enumerate(forms):
      rank = len(shape) - len(axes)
      for mesh in MAIN:
        ops = _operands(mesh, shape)
        choices = specs(mesh, rank, kinds=ALL_KINDS, tuples=rank < 2)
        choices += [P(), P("X"), P(*([None] * (rank + 1)))]
        count = 24 if mesh == M22 else 10
        if name == "reduce_min":
          count //= 3
        for spec in sample(choices, count if i < 2 else count // 2, f"red{i}"):
          f.add(mesh, prim(name), {"axes": axes, "out_sharding": spec}, ops,
                limit=7)


def _arg(f):
  forms = [((8, 4), (0,)), ((8, 4), (1,)), ((8,), (0,)), ((4, 2, 2), (1,)),
           ((0, 4), (0,)), ((0, 4), (1,)), ((8, 4), (2,)), ((8, 4), (0, 1))]
  for name in ("argmax", "argmin"):
    for shape, axes in forms:
      for mesh in MAIN:
        f.add(mesh, prim(name), {"axes": axes, "index_dtype": parse_dtype("i32")},
              _operands(mesh, shape), limit=10 if mesh == M22 else 5)
    for index in ("u8", "i64", "f32"):
      f.add(M22, prim(name), {"axes": (0,), "index_dtype": parse_dtype(index)},
            ["f32[8@X,4]", "bool[8,4@Y]", "~i32[8]", "c64[8]", "f32<host>[8@X]"])


def _cumulative(f):
  forms = [((8, 4), 0), ((8, 4), 1), ((8,), 0), ((4, 2, 2), 1), ((0, 4), 1),
           ((8, 4), 2), ((8, 4), -1)]
  for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    for shape, axis in forms:
      for mesh in MAIN + ((MALLAUTO,) if name == "cumsum" else ()):
        limit = 10 if name == "cumsum" or mesh == M22 else 4
        f.add(mesh, prim(name), {"axis": axis, "reverse": False},
              _operands(mesh, shape), limit=limit)
    f.add(M22, prim(name), {"axis": 0, "reverse": True},
          ["f32[8,4@Y]", "i32[8,4@(X,Y)]", "c64[8@X]", "bool[8]", "bf16[8]",
           "f32<host>[8,4@X]", "np:~f32[8]"])


def _sort(f):
  params = lambda dim, keys=1: {"dimension": dim, "is_stable": True, "num_keys": keys}
  for mesh in MAIN + (MALLAUTO,):
    for shape, dim in (((8, 4), 0), ((8, 4), 1), ((8,), 0), ((4, 2, 2), 1),
                       ((0, 4), 1)):
      f.add(mesh, prim("sort"), params(dim), _operands(mesh, shape), limit=20)
    ops = types(mesh, (8, 4), kinds=("", "max"), numpy=True)
    second = types(mesh, (8, 4), "i32", kinds=("", "max"), numpy=True)
    f.add(mesh, prim("sort"), params(1), ops, second,
          limit=80 if mesh == M22 else 40)
    f.add(mesh, prim("sort"), params(0, 2), ops, second, limit=40)
    same = [(t, "i32" + t[3:], t) for t in ops if not t.startswith("np:")]
    f.add(mesh, prim("sort"), params(1, 2), cases=same, limit=20)
  f.add(M22, prim("sort"), params(1), ["f32[8@X,4]", "~f32[8,4]", "f32[4,8]"],
        ["i32[8@X,4]", "np:~i32[8,4]", "i32[8,8]", "f32<host>[8@X,4]", "bool[8,4]"])


def _top_k(f):
  for mesh in MAIN + (MALLAUTO,):
    for shape, axis, k in (((8, 4), 1, 3), ((8, 4), 0, 2), ((8,), 0, 8), ((8,), 0, 9),
                           ((4, 2, 2), 1, 1), ((8, 4), 1, 0), ((), 0, 1),
                           ((8, 4), 2, 1), ((8, 4), 1, -1)):
      f.add(mesh, prim("top_k"), {"k": k, "axis": axis, "is_stable": True},
            _operands(mesh, shape), limit=12 if mesh == M22 else 5)
  f.add(M22, prim("top_k"), {"k": 2, "axis": 0, "is_stable": False},
        ["i32[8,4@Y]", "bool[8]", "c64[8]", "bf16[8,4@(X,Y)]", "f32<host>[8,4@X]",
         "key<fry>[8]"])


def record(f):
  _reduce(f)
  _arg(f)
  _cumulative(f)
  _sort(f)
  _top_k(f)
