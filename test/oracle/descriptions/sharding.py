# sharding.py - values from nothing, reshard, sharding_constraint, device_put.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src import core
from jax._src.dispatch import ArrayCopySemantics

from agreement import form
from typetext import parse_dtype

_SHAPES = ((8, 8), (8,), (), (1, 8), (6, 4), (0, 8), (3,), (8, 4, 2), (4, 2, 2, 3))


def describe():
  table = {}
  table["iota"] = [form({"dtype": parse_dtype("i32"), "shape": s, "dimension": d},
                        out=("sharding", len(s))) for s, d in (
                            ((8, 8), 0), ((8, 8), 1), ((8,), 0), ((1, 8), 0), ((6, 4), 1),
                            ((0, 8), 0), ((3,), 0), ((8, 4, 2), 1), ((4, 2, 2, 3), 3))]
  table["empty"] = [form({"dtype": parse_dtype("f32"), "shape": s},
                         out=("out_sharding", len(s))) for s in _SHAPES]
  table["empty2"] = [form({"dtype": parse_dtype(d), "memory_space": m})
                     for d in ("f32", "bool") for m in (core.MemorySpace.Device,
                                                        core.MemorySpace.Host)]
  table["reshard"] = [form({"concrete_mesh": None}, s, out=("dst_sharding", len(s)),
                           needed=True,
                           share=2.0 if i < 2 else 0.5) for i, s in enumerate(_SHAPES)]
  one = {"srcs": (None,), "copy_semantics": (ArrayCopySemantics.REUSE_INPUT,)}
  table["device_put"] = [form({**one, "devices": (d,)}, s, share=0.4)
                         for s in _SHAPES[:5]
                         for d in (None, core.MemorySpace.Host, core.MemorySpace.Device)]
  return table
