# shapes.py - corners of reshaping, contraction, reduction and sorting.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What reshaping.py, contraction.py and reduction.py leave out: every element
type, negative axes, specs that are too long, several axes of one size 1, and
shapes whose sizes come from a fixed list of combinations."""

import itertools

from jax import lax
from jax.sharding import PartitionSpec as P

from matrix import ALL_KINDS, M12, M22, M222, MAUTO, sample, specs, types
from prims import prim
from typetext import parse_dtype

M122 = "X=1,Y=2,Z=2"
M42 = "X=4,Y=2"
M23 = "X=2,Y=3"

DTYPES = ("bool", "i2", "i4", "i8", "i16", "i32", "i64", "u2", "u4", "u8", "u16",
          "u32", "u64", "f4_e2m1fn", "f8_e3m4", "f8_e4m3", "f8_e4m3b11fnuz",
          "f8_e4m3fn", "f8_e4m3fnuz", "f8_e5m2", "f8_e5m2fnuz", "f8_e8m0fnu",
          "f16", "bf16", "f32", "f64", "c64", "c128")
KEYS = ("key<fry>", "key<rbg>")
_MATMUL = (((1,), (0,)), ((), ()))


def _dot_params(numbers, out=None, preferred=None, precision=None):
  return {"dimension_numbers": numbers, "out_sharding": out,
          "precision": precision,
          "preferred_element_type": preferred and parse_dtype(preferred)}


def _dot_dtypes(f):
  p = prim("dot_general")
  lhs = [f"{d}[8@X,4]" for d in DTYPES]
  rhs = [f"{d}[4,8@Y]" for d in DTYPES]
  f.add(M22, p, _dot_params(_MATMUL), lhs, rhs, limit=10**6)
  for preferred in DTYPES:
    f.add(M22, p, _dot_params(_MATMUL, None, preferred),
          cases=list(zip(lhs, rhs)), limit=10**6)
  algorithm = lax.DotAlgorithmPreset.F16_F16_F32
  for preferred in ("f32", "i8", "c64"):
    f.add(M22, p, _dot_params(_MATMUL, None, preferred, algorithm),
          cases=list(zip(lhs, rhs)), limit=10**6)


def _one_operand_dtypes(f):
  wide = [f"{d}[8@X,4]" for d in DTYPES + KEYS]
  for name in ("reduce_sum", "reduce_max", "reduce_min"):
    f.add(M22, prim(name), {"axes": (1,), "out_sharding": None}, wide, limit=99)
  for name in ("reduce_prod", "reduce_and", "reduce_or", "reduce_xor"):
    f.add(M22, prim(name), {"axes": (1,)}, wide, limit=99)
  for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    f.add(M22, prim(name), {"axis": 1, "reverse": False}, wide, limit=99)
  f.add(M22, prim("sort"), {"dimension": 1, "is_stable": True, "num_keys": 1},
        wide, limit=99)
  f.add(M22, prim("top_k"), {"k": 2, "axis": 1, "is_stable": True}, wide, limit=99)
  for index in DTYPES:
    f.add(M22, prim("argmax"), {"axes": (1,), "index_dtype": parse_dtype(index)},
          ["f32[8@X,4]"])
    f.add(M22, prim("iota"), {"dtype": parse_dtype(index), "shape": (8,),
                              "dimension": 0, "sharding": P("X")}, cases=[()])
  for name, params in (("reshape", {"new_sizes": (2, 4, 4), "dimensions": None,
                                    "sharding": None}),
                       ("transpose", {"permutation": (1, 0)}),
                       ("rev", {"dimensions": (1,)}), ("tile", {"reps": (1, 2)}),
                       ("split", {"sizes": (2, 2), "axis": 1}),
                       ("broadcast_in_dim", {"shape": (2, 8, 4), "sharding": None,
                                             "broadcast_dimensions": (1, 2)})):
    f.add(M22, prim(name), params, wide, limit=99)
  for name, params in (("concatenate", {"dimension": 1}), ("stack", {"axis": 0})):
    f.add(M22, prim(name), params, cases=list(itertools.product(wide[:4], wide[:4]))
          + [(t, t) for t in wide], limit=99)
  f.add(M22, prim("pad"), {"padding_config": ((0, 0, 0), (1, 1, 0))},
        cases=[(t, t[:t.index("[")] + "[]") for t in wide], limit=99)


def _axes(f):
  """Negative axes, axes out of range, scalars."""
  ops = types(M22, (2, 4), ur=False, numpy=True)
  for axis in (-3, -2, -1, 2):
    f.add(M22, prim("unstack"), {"axis": axis}, ops, limit=8)
    f.add(M22, prim("split"), {"axis": axis, "sizes": (1, 1)}, ops, limit=8)
    f.add(M22, prim("split"), {"axis": axis, "sizes": (2, 2)}, ops, limit=8)
    f.add(M22, prim("sort"), {"dimension": axis, "is_stable": True,
                              "num_keys": 1}, ops, limit=8)
    f.add(M22, prim("concatenate"), {"dimension": axis},
          cases=[(t, t) for t in ops], limit=8)
    for name in ("reduce_and", "reduce_xor"):
      f.add(M22, prim(name), {"axes": (axis,)},
            types(M22, (2, 4), "bool", numpy=True), limit=12)
  for axis in (-5, -3, -2, -1, 3, 5):
    f.add(M22, prim("stack"), {"axis": axis}, cases=[(t, t) for t in ops], limit=8)
  for axes in ((0, 0), (1, -1), (0, -1), (-1, -2)):
    f.add(M22, prim("reduce_or"), {"axes": axes},
          types(M22, (2, 4), "bool", numpy=True), limit=12)
  scalars = types(M22, (), weak=True, numpy=True)
  f.add(M22, prim("unstack"), {"axis": 0}, scalars)
  f.add(M22, prim("split"), {"axis": 0, "sizes": (1,)}, scalars)
  f.add(M22, prim("sort"), {"dimension": 0, "is_stable": True, "num_keys": 1},
        scalars)
  f.add(M22, prim("concatenate"), {"dimension": 0}, scalars[:4], scalars[:4])
  f.add(M22, prim("stack"), {"axis": 0}, scalars, limit=20)
  f.add(M22, prim("cumsum"), {"axis": 0, "reverse": False}, scalars)


def _long_specs(f):
  """Specs with more entries than the result has dims, and overlaps with sets."""
  for mesh in (M22, M222, MAUTO, M12):
    ops = types(mesh, (4, 4), kinds=ALL_KINDS, numpy=True)
    long = [P("X", None, None), P(None, None, "X"), P(None, None, None),
            P(None, None, None, "X")]
    for spec in long:
      f.add(mesh, prim("broadcast_in_dim"),
            {"shape": (4, 4), "broadcast_dimensions": (0, 1), "sharding": spec},
            ops, limit=10)
      f.add(mesh, prim("reshape"),
            {"new_sizes": (2, 8), "dimensions": None, "sharding": spec}, ops,
            limit=10)
      f.add(mesh, prim("reduce_sum"), {"axes": (0,), "out_sharding": spec}, ops,
            limit=10)
      f.add(mesh, prim("dot_general"), _dot_params(_MATMUL, spec, "f32"),
            ops, ops, limit=10)
      f.add(mesh, prim("iota"), {"dtype": parse_dtype("i32"), "shape": (4, 4),
                                 "dimension": 0, "sharding": spec}, cases=[()])


_RESHAPES = [
    ((4,), [(2, 2), (4, 1), (1, 2, 2), (2, 1, 2)]),
    ((8,), [(2, 2, 2), (4, 2), (2, 4)]),
    ((4, 1), [(2, 2), (4,), (1, 4), (2, 2, 1)]),
    ((1, 4), [(2, 2), (1, 2, 2), (2, 1, 2), (2, 2, 1)]),
    ((2, 2), [(4,), (4, 1), (1, 4), (1, 1, 4)]),
    ((2, 1, 2), [(4,), (2, 2), (4, 1, 1), (1, 4, 1)]),
    ((4, 2, 2), [(4, 4), (8, 2), (16,), (2, 2, 2, 2), (4, 4, 1)]),
    ((2, 6), [(2, 2, 3), (2, 3, 2), (12,), (4, 3), (6, 2)]),
    ((6, 4), [(2, 3, 4), (3, 2, 4), (24,), (6, 2, 2), (3, 8)]),
    ((4, 6), [(24,), (8, 3), (2, 2, 6), (4, 2, 3), (2, 12)]),
    ((1, 1, 4), [(4, 1, 1), (2, 2), (1, 2, 2, 1)]),
]


def _reshape_meshes(f):
  for mesh in (M42, M23, M122, M12):
    for shape, news in _RESHAPES:
      ops = types(mesh, shape, ur=False, numpy=True)
      for new in news:
        params = {"new_sizes": new, "dimensions": None, "sharding": None}
        f.add(mesh, prim("reshape"), params, ops, limit=24)
        f.add(mesh, prim("reshape"), params, types(mesh, shape), limit=4)
  f.add("X=1,Y=2,Z=2", prim("reshape"),
        {"new_sizes": (2, 2), "dimensions": None, "sharding": None},
        ["f32[4@(Y,Z,X)]", "f32[4@(Y,X,Z)]", "f32[4@(X,Y,Z)]", "f32[4@(Y,Z)]",
         "f32[4@(Z,Y,X)]"])
  f.add("X=1,Y=2,Z=2", prim("reshape"),
        {"new_sizes": (4,), "dimensions": None, "sharding": None},
        ["f32[2@Y,2@(Z,X)]", "f32[2@(Y,X),2@Z]", "f32[2@(X,Y),2@Z]",
         "f32[2,2@X]", "f32[2@X,2@Y]", "f32[2@Y,2@X]"])


def _dot_meshes(f):
  forms = [((8, 4), (4, 8), _MATMUL),
           ((4, 8, 4), (4, 4, 8), (((2,), (1,)), ((0,), (0,)))),
           ((4, 4, 4), (4, 4, 4), (((0, 2), (2, 0)), ((), ())))]
  for mesh in (M42, M23, M122):
    for lhs, rhs, numbers in forms:
      a = types(mesh, lhs, ur=False, numpy=True, tuples=len(lhs) == 2)
      b = types(mesh, rhs, ur=False, numpy=True, tuples=len(rhs) == 2)
      f.add(mesh, prim("dot_general"), _dot_params(numbers, None, "f32"), a, b,
            limit=120)
      rank = len(lhs) + len(rhs) - 2 * len(numbers[0][0]) - len(numbers[1][0])
      for spec in sample(specs(mesh, rank, tuples=False), 12, f"{mesh}{lhs}"):
        f.add(mesh, prim("dot_general"), _dot_params(numbers, spec, "f32"), a, b,
              limit=8)


def _joins(f):
  for mesh in (M42, M23, M122):
    for shape in ((4, 6), (12,)):
      ops = types(mesh, shape, numpy=True)
      for name, key in (("concatenate", "dimension"), ("stack", "axis")):
        f.add(mesh, prim(name), {key: 0}, ops, ops, limit=40)
      for config in ((4, 8, 0), (1, 2, 0), (0, 0, 1), (-4, 0, 0)):
        configs = (config,) + ((0, 0, 0),) * (len(shape) - 1)
        f.add(mesh, prim("pad"), {"padding_config": configs}, ops, ["f32[]"],
              limit=16)
      for sizes in ((shape[0] // 2,) * 2, (1, shape[0] - 1), (shape[0], 0)):
        f.add(mesh, prim("split"), {"axis": 0, "sizes": sizes}, ops, limit=16)


def record(f):
  _dot_dtypes(f)
  _one_operand_dtypes(f)
  _axes(f)
  _long_specs(f)
  _reshape_meshes(f)
  _dot_meshes(f)
  _joins(f)
