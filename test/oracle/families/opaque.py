# opaque.py - callbacks, foreign functions, kernels, tokens.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src import core
import numpy as np

from matrix import ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, types
from prims import prim
from typetext import parse_dtype

_MESHES = MAIN + (MALLAUTO, MNONE)


def _avals(*forms):
  return tuple(core.ShapedArray(shape, parse_dtype(dtype)) for shape, dtype in forms)


_DECLARED = [_avals(((8, 4), "f32")), _avals(((), "i32"), ((6,), "bf16")), ()]


def _callbacks(f):
  for mesh in _MESHES:
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True, weak=True)
    for avals in _DECLARED:
      f.add(mesh, prim("pure_callback"),
            {"callback": None, "result_avals": avals, "sharding": None,
             "vmap_method": None}, ops, limit=16)
      f.add(mesh, prim("io_callback"),
            {"callback": None, "result_avals": avals, "sharding": None,
             "ordered": False}, ops, limit=8)
      f.add(mesh, prim("ffi_call"),
            {"result_avals": avals, "vmap_method": None, "target_name": "kernel",
             "has_side_effect": False, "input_layouts": (), "output_layouts": (),
             "input_output_aliases": (), "custom_call_api_version": 4,
             "legacy_backend_config": None, "attributes": ()}, ops, limit=24)
      f.add(mesh, prim("unreachable"),
            {"out_avals": avals, "exc_type": None, "message": None}, ops, limit=4)
    f.add(mesh, prim("debug_print"), {"fmt": "x", "has_placeholders": True, "ordered": False}, ops, limit=6)
    f.add(mesh, prim("debug_callback"),
          {"callback": None, "effect": None, "partitioned": False}, ops, limit=6)
    f.add(mesh, prim("inspect_sharding"), {"callback": None}, ops, limit=6)


def _tokens(f):
  for mesh in (M22, MNONE):
    f.add(mesh, prim("create_token"), {}, cases=[()])
    f.add(mesh, prim("after_all"), {}, cases=[(), ("Tok",), ("Tok", "Tok"),
                                              ("Tok", "f32[8]")])


def record(f):
  _callbacks(f)
  _tokens(f)
