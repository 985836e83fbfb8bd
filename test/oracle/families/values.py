# values.py - iota, empty and empty2: values from nothing.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src import core
from jax.sharding import PartitionSpec as P

from matrix import ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, specs
from prims import prim
from typetext import parse_dtype

_NOTHING = [()]  # the one operand tuple of a primitive without operands


def _iota(f):
  p = prim("iota")
  params = lambda dtype, shape, dim, spec: {
      "dtype": parse_dtype(dtype), "shape": shape, "dimension": dim, "sharding": spec}
  for mesh in MAIN + (MALLAUTO, MNONE):
    for shape, dim in (((8,), 0), ((8, 4), 1), ((8, 4), 0), ((0,), 0), ((4, 2, 2), 2),
                       ((8,), 1), ((8,), -1), ((), 0)):
      f.add(mesh, p, params("i32", shape, dim, None), cases=_NOTHING)
      if mesh == MNONE:
        continue
      choices = specs(mesh, len(shape), kinds=ALL_KINDS) + [P("X"), P(None, None)]
      count = 40 if mesh == M22 and len(shape) < 3 else 16
      for spec in sample(choices, count, f"iota{shape}"):
        f.add(mesh, p, params("i32", shape, dim, spec), cases=_NOTHING)
  for mesh in (M22, MNONE):
    for dtype in ("f32", "bf16", "u8", "bool", "c64", "f8_e4m3fn", "i4"):
      f.add(mesh, p, params(dtype, (8,), 0, None), cases=_NOTHING)
  for shape in ((7,), (6, 3)):
    for spec in specs(M22, len(shape), ur=False):
      f.add(M22, p, params("i32", shape, 0, spec), cases=_NOTHING)


def _empty(f):
  for mesh in MAIN + (MALLAUTO, MNONE):
    for dtype in ("f32", "i32", "bool", "key<fry>"):
      for space in (core.MemorySpace.Device, core.MemorySpace.Host,
                    core.MemorySpace.Any):
        f.add(mesh, prim("empty2"),
              {"dtype": parse_dtype(dtype), "memory_space": space}, cases=_NOTHING)
    for shape in ((), (8, 4), (7,)):
      params = {"dtype": parse_dtype("f32"), "shape": shape}
      f.add(mesh, prim("empty"), {**params, "out_sharding": None}, cases=_NOTHING)
      for spec in sample(specs(mesh, len(shape), kinds=ALL_KINDS), 10, "empty"):
        f.add(mesh, prim("empty"), {**params, "out_sharding": spec}, cases=_NOTHING)


def record(f):
  _iota(f)
  _empty(f)
