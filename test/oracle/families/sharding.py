# sharding.py - reshard, sharding_constraint, device_put.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src import core
from jax._src.dispatch import ArrayCopySemantics
from jax.sharding import PartitionSpec as P

from matrix import (ALL_KINDS, M12, M22, M222, MAIN, MALLAUTO, MAUTO, sample, specs,
                    types)
from prims import prim
from typetext import parse_mesh


def _reshard(f):
  p = prim("reshard")
  for mesh in MAIN:
    for shape in ((), (8,), (8, 4), (6, 3), (4, 2, 2), (0, 4)):
      if mesh == M222 and shape not in ((8,), (8, 4)):
        continue
      ops = types(mesh, shape, kinds=ALL_KINDS, numpy=True, weak=len(shape) < 2)
      targets = specs(mesh, len(shape), kinds=ALL_KINDS)
      full = shape == (8, 4) and mesh == M22
      count = 44 if full else 20 if shape == (8, 4) else 10
      for spec in sample(targets, count, f"{shape}"):
        f.add(mesh, p, {"dst_sharding": spec, "concrete_mesh": None}, ops,
              limit=14 if full else 5)
    for spec in (P("X"), P(), P(None, None, None), P(None, None)):
      f.add(mesh, p, {"dst_sharding": spec, "concrete_mesh": None},
            types(mesh, (8, 4)), limit=5)
  f.add(M22, p, {"dst_sharding": P("X"), "concrete_mesh": None},
        ["key<fry>[8]", "key<fry>[8@Y]", "f32<host>[8]", "bool[8]{U:Y}", "~i32[8]",
         "f32[7]", "np:key<fry>[8]"])


def _constraint(f):
  p = prim("sharding_constraint")
  for mesh in (MAUTO, MALLAUTO):
    choices = [P("Y"), P(None, "Y"), P(), P("Y", None), P(P.UNCONSTRAINED, "Y")]
    if mesh == MALLAUTO:
      choices += [P("X", "Y"), P(("X", "Y"))]
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    ops += types(mesh, (8,), "key<fry>") + types(mesh, (8, 4), space="<host>", ur=False)
    for spec in choices:
      open_dims = [i for i, e in enumerate(spec) if e is P.UNCONSTRAINED]
      f.add(mesh, p, {"sharding": spec, "layout": None,
                      "context_mesh": parse_mesh(mesh),
                      "unconstrained_dims": frozenset(open_dims)}, ops, limit=16)


def _device_put(f):
  p = prim("device_put")
  params = lambda d: {"devices": (d,), "srcs": (None,),
                      "copy_semantics": (ArrayCopySemantics.REUSE_INPUT,)}
  for mesh in MAIN:
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    ops += types(mesh, (8, 4), space="<host>")
    f.add(mesh, p, params(None), ops, limit=14)
    f.add(mesh, p, params(core.MemorySpace.Host), ops, limit=14)
    f.add(mesh, p, params(core.MemorySpace.Device), ops, limit=14)
    for spec in sample(specs(mesh, 2, kinds=ALL_KINDS), 10, "put") + [P("X"), P()]:
      f.add(mesh, p, params(spec), ops, limit=8)
  two = {"devices": (P("X"), None), "srcs": (None, None),
         "copy_semantics": (ArrayCopySemantics.ALWAYS_COPY,) * 2}
  f.add(M22, p, two, types(M22, (8,), ur=False), ["f32[4@Y]", "np:i32[]"])
  f.add(M12, p, two, types(M12, (7,), ur=False), ["f32[4@Y]", "~i32[]"])


def record(f):
  _reshard(f)
  _constraint(f)
  _device_put(f)
