# special.py - rarer elementwise primitives, and hashes of key data.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from matrix import (ALL_KINDS, M12, M22, M222, MALLAUTO, MAUTO, MNONE, sample,
                    types)
from prims import prim

_UNARY = ("acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cosh digamma "
          "lgamma sinh").split()
_NARY = ("polygamma igamma igammac igamma_grad_a zeta").split()


def _unary(f):
  for name in _UNARY + ["clz", "population_count"]:
    dtype = "f32" if name in _UNARY else "u32"
    for mesh in (M22, MAUTO):
      f.add(mesh, prim(name), {},
            types(mesh, (8, 4), dtype, kinds=ALL_KINDS, numpy=True)
            + types(mesh, (), dtype, weak=True, numpy=True), limit=8)


def _operands(mesh, dtype):
  return (types(mesh, (8, 4), dtype, numpy=True, kinds=ALL_KINDS)
          + types(mesh, (1, 4), dtype, ur=False)
          + types(mesh, (), dtype, weak=True, numpy=True))


def _nary(f):
  for name in _NARY + ["eq_to", "le_to", "lt_to", "mulhi"]:
    dtype = "i32" if name == "mulhi" else "f32"
    for mesh in (M22, M12):
      ops = _operands(mesh, dtype)
      f.add(mesh, prim(name), {}, ops, ops, limit=18)


def _three(f):
  for mesh in (M22, M222, MAUTO, MALLAUTO, MNONE):
    ops = sample(_operands(mesh, "f32"), 24, mesh)
    f.add(mesh, prim("regularized_incomplete_beta"), {}, ops, ops, ops, limit=90)
    f.add(mesh, prim("polynomial"), {}, ops, ops, ops, limit=60)
    f.add(mesh, prim("polynomial"), {"unroll": 2}, ops, ops, limit=20)
    f.add(mesh, prim("polynomial"), {}, ops, limit=10)
    few = sample(ops, 6, "four")
    f.add(mesh, prim("polynomial"), {}, few, few, few, few, limit=30)


def _hashes(f):
  for mesh in (M22, M222, MAUTO, M12, MALLAUTO, MNONE):
    ops = _operands(mesh, "u32") + ["u32[8]"]
    scalars = types(mesh, (), "u32", numpy=True, ur=False)
    f.add(mesh, prim("threefry2x32"), {}, scalars, scalars, ops, ops, limit=120)
    f.add(mesh, prim("threefry2x32"), {}, cases=[(o,) * 4 for o in ops], limit=40)
    few = sample(ops, 8, mesh)
    f.add(mesh, prim("threefry2x32"), {}, few, few, few, few, limit=60)
    host = types(mesh, (8,), "u32", ur=False, space="<host>")
    f.add(mesh, prim("threefry2x32"), {}, cases=[(o,) * 4 for o in host], limit=4)


def _pairs(f):
  for mesh in (M22, MAUTO, MNONE):
    ops = sample(types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True), 12, mesh)
    ops += types(mesh, (), weak=True) + types(mesh, (8,), "key<fry>", ur=False)
    f.add(mesh, prim("tie"), {}, ops, ops, limit=40)
    f.add(mesh, prim("layout_constraint"), {"layout": None}, ops, limit=20)


def _host(f):
  """Memory spaces: rank 0 counts nowhere, and Any only if all are Any."""
  for name, n in (("sin", 1), ("add", 2), ("regularized_incomplete_beta", 3),
                  ("clamp", 3)):
    params = {"accuracy": None} if name == "sin" else {}
    ops = [f"f32{space}[{dims}]" for space in ("", "<host>", "<any>")
           for dims in ("", "8@X,4")]
    f.add(M22, prim(name), params, cases=itertools.product(ops, repeat=n),
          limit=1200)


def record(f):
  _unary(f)
  _nary(f)
  _three(f)
  _hashes(f)
  _pairs(f)
  _host(f)
