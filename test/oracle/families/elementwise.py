# elementwise.py - unary, n-ary, select_n, clamp, conversions, identities.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from jax._src.lax import lax
from jax.sharding import PartitionSpec as P
import numpy as np

from matrix import (ALL_KINDS, M12, M22, M222, MAIN, MALLAUTO, MAUTO, MNONE,
                    sample, specs, types)
from prims import prim
from typetext import parse_dtype

_ACCURACY = ("exp", "exp2", "expm1", "log", "log1p", "log2", "tanh", "logistic",
             "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "erfc")
# name -> operand dtype, where it is not f32
_UNARY = {n: "f32" for n in (
    "neg sign abs floor ceil round erf erf_inv is_finite square "
    "one_minus_square").split() + list(_ACCURACY)}
_UNARY.update({"not": "i32", "real": "c64", "imag": "c64", "conj": "c64"})
_NARY = {n: "f32" for n in (
    "add sub mul div rem max min pow atan2 nextafter complex "
    "eq ne lt le gt ge").split()}
_NARY.update({n: "i32" for n in (
    "and or xor shift_left shift_right_arithmetic shift_right_logical").split()})
_WRONG = {"neg": ["bool[8@X,4]"], "sin": ["i32[8@X,4]"], "not": ["f32[8@X,4]"],
          "real": ["f32[8@X,4]"], "sqrt": ["bool[8]"], "sign": ["u32[8@X,4]"],
          "round": ["i32[8@X,4]", "bf16[8@X,4]"], "abs": ["c64[8@X,4]", "i32[8]"],
          "is_finite": ["i32[8@X,4]", "f16[8@X,4]"], "square": ["c64[8@X,4]"],
          "conj": ["c128[4]", "f32[8@X,4]"], "erf_inv": ["f64[8@X,4]"],
          "logistic": ["f16[8@X,4]", "bf16[4]"]}


def _unary_params(name, dtype="f32"):
  if name in _ACCURACY:
    return {"accuracy": None}
  if name == "round":
    return {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN}
  if name == "conj":
    return {"input_dtype": np.dtype("complex64")}
  return {}


def _unary(f):
  for name, dtype in _UNARY.items():
    full = name in ("neg", "sin", "abs", "real")
    for mesh in (MAIN + (MALLAUTO, MNONE)) if full else (M22, MAUTO, M12):
      ops = types(mesh, (8, 4), dtype, kinds=ALL_KINDS, numpy=True)
      ops += types(mesh, (), dtype, weak=True, numpy=True)
      if full:
        ops += types(mesh, (6,), dtype) + types(mesh, (0, 4), dtype, ur=False)
        ops += types(mesh, (1, 4), dtype, ur=False)
        ops += types(mesh, (4, 2, 2), dtype, ur=mesh == M22)
        ops += types(mesh, (8,), dtype, space="<host>")
      f.add(mesh, prim(name), _unary_params(name), ops,
            limit=50 if full else 8)
    f.add(M22, prim(name), _unary_params(name), _WRONG.get(name, []))
  for y in (2, 3, -1, 0):
    for mesh in MAIN:
      f.add(mesh, prim("integer_pow"), {"y": y},
            types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
            + types(mesh, (), weak=True, numpy=True) + ["i32[8,4]"], limit=16)


def _nary_operands(mesh, dtype, full):
  a = types(mesh, (8, 4), dtype, numpy=True,
            kinds=ALL_KINDS if full else ("",))
  a += types(mesh, (), dtype, weak=True, numpy=True)
  if full:
    a += types(mesh, (1, 4), dtype, numpy=True) + types(mesh, (8, 1), dtype)
    a += types(mesh, (4,), dtype, ur=False)
    a += types(mesh, (8, 4), dtype, ur=False, weak=True)[-1:]
  return a


def _nary(f):
  exemplars = ("add", "sub", "mul", "div", "max")
  for name, dtype in _NARY.items():
    params = {"out_dtype": None} if name == "mul" else {}
    full = name in exemplars
    for mesh in MAIN if full else (M22, M12) if name != "pow" else MAIN:
      a = _nary_operands(mesh, dtype, full)
      f.add(mesh, prim(name), params, a, a,
            limit={M22: 240, M222: 110}.get(mesh, 80) if full else 18)
    if full:
      _nary_corners(f, name, params)
  _pow_and_compare_dtypes(f)


def _nary_corners(f, name, params):
  for mesh in (M22, M222):
    a = sample(types(mesh, (4, 2, 2)), 40, name)
    f.add(mesh, prim(name), params, a, a, limit=50)
  a = types(M22, (6, 3), numpy=True)
  f.add(M22, prim(name), params, a, a, limit=20)
  f.add(M22, prim(name), params, ["f32[8,4]", "f32[8@X,4]", "f32[1,4]"],
        ["f32[8,3]", "f32[4@Y,4]", "f32[0,4]", "np:f32[2,1]", "f32[8,4]"])
  a = types(M22, (0, 4), numpy=True)
  f.add(M22, prim(name), params, a, a, limit=20)
  host = types(M22, (8, 4), ur=False, tuples=False, space="<host>")
  other = types(M22, (8, 4), ur=False, tuples=False, numpy=True) + ["f32[]"]
  f.add(M22, prim(name), params, host, host + other, limit=16)
  f.add(MALLAUTO, prim(name), params, ["f32[8,4]", "np:f32[8,4]", "f32[]"],
        ["f32[8,4]", "np:f32[8,4]", "~f32[]", "f32[1,4]", "f32[4]"])
  f.add(MNONE, prim(name), params, ["f32[8,4]", "f32[]", "~f32[]"],
        ["f32[8,4]", "~f32[]", "f32[1,4]", "f32[4]", "i32[8,4]"])


def _pow_and_compare_dtypes(f):
  d = ["f32[8@X,4]", "i32[8,4]", "bool[8,4]", "c64[8,4]", "f16[8@X,4]",
       "u32[8,4]", "key<fry>[8@X,4]", "key<fry>[8,4]"]
  for name in ("add", "mul", "max", "and", "or", "shift_left", "lt", "eq", "pow",
               "rem", "complex", "atan2", "div", "nextafter"):
    params = {"out_dtype": None} if name == "mul" else {}
    f.add(M22, prim(name), params, d, d, limit=28)


def _add_any(f):
  for mesh in MAIN:
    a = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    a += types(mesh, (), weak=True, numpy=True)
    f.add(mesh, prim("add_any"), {}, cases=[(t, t) for t in a], limit=40)
    f.add(mesh, prim("add_any"), {}, a, a, limit=60)


def _select(f):
  for mesh in MAIN + (MALLAUTO,):
    which = types(mesh, (8, 4), "bool", numpy=True) + types(
        mesh, (), "bool", numpy=True, ur=False)
    case = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    same = [(w, c, c) for w in which for c in case]
    f.add(mesh, prim("select_n"), {}, cases=same, limit=160)
    f.add(mesh, prim("select_n"), {}, cases=[
        t for w in which[:1] + which[-2:] for t in itertools.product(
            [w], case, case)], limit=80)
  cases = types(M22, (8, 4), ur=False, tuples=False, numpy=True)
  f.add(M22, prim("select_n"), {}, types(M22, (8, 4), "i32", ur=False)
        + ["i32[]", "np:i32[]", "f32[]", "i32[8]"], cases, cases, cases, limit=60)
  f.add(M22, prim("select_n"), {}, ["bool[8,4]", "bool[]", "np:bool[8,4]"],
        ["f32[8@X,4]", "f32[8,4]", "~f32[]", "np:~f32[]", "i32[8,4]"],
        ["f32[8@X,4]", "f32[4,8]", "~f32[]", "np:~f32[]", "f32[8,4]"], limit=50)
  host = types(M22, (8, 4), ur=False, tuples=False, space="<host>")
  f.add(M22, prim("select_n"), {}, ["bool[]", "bool[8@X,4]", "bool<host>[8@X,4]"],
        host, host + ["f32[8@X,4]"], limit=16)
  f.add(M22, prim("select_n"), {}, types(M22, (8,), "bool", ur=False),
        types(M22, (8,), "key<fry>", ur=False), types(M22, (8,), "key<fry>", ur=False),
        limit=16)


def _clamp(f):
  for mesh in MAIN + (MNONE,):
    bound = types(mesh, (8, 4), numpy=True, tuples=False) + types(
        mesh, (), weak=True, numpy=True)
    x = types(mesh, (8, 4), numpy=True, kinds=ALL_KINDS)
    f.add(mesh, prim("clamp"), {}, sample(bound, 20, "lo"), x,
          sample(bound, 20, "hi"), limit=100)
  f.add(M22, prim("clamp"), {}, ["f32[8]", "f32[]", "i32[]", "f32[8@X,4]"],
        ["f32[8@X,4]", "f32[8,4]", "i32[8@Y,4]", "f32<host>[8@X,4]"],
        ["f32[]", "f32[4,8]", "i32[]", "f32[8,4]"], limit=40)


def _convert(f):
  for mesh in MAIN:
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    ops += types(mesh, (), weak=True, numpy=True)
    for new, weak in (("i32", False), ("f32", True), ("bf16", False)):
      f.add(mesh, prim("convert_element_type"),
            {"new_dtype": parse_dtype(new), "weak_type": weak, "sharding": None},
            ops, limit=40)
    few = sample(ops, 14, "convert")
    for spec in sample(specs(mesh, 2, kinds=ALL_KINDS) + [P("X"), P()], 24, mesh):
      f.add(mesh, prim("convert_element_type"),
            {"new_dtype": parse_dtype("f16"), "weak_type": False,
             "sharding": spec}, few, limit=9)
  for old in ("bool", "i8", "u32", "c64", "f8_e4m3fn", "key<fry>", "i4"):
    for new in ("bool", "f32", "c64", "i32"):
      f.add(M22, prim("convert_element_type"),
            {"new_dtype": parse_dtype(new), "weak_type": False, "sharding": None},
            [f"{old}[8@X,4]", f"{old}<host>[8,4@Y]"])


def _bitcast(f):
  for mesh in MAIN:
    for old, new in (("f32", "i32"), ("f32", "u8"), ("u8", "f32"), ("i8", "u32"),
                     ("u32", "f16"), ("f32", "f64"), ("bool", "i8"), ("c64", "f32")):
      ops = types(mesh, (8, 4), old, numpy=True, kinds=ALL_KINDS)
      ops += types(mesh, (8,), old, ur=False) + types(mesh, (), old, ur=False)
      ops += types(mesh, (4, 2), old, ur=False)
      f.add(mesh, prim("bitcast_convert_type"), {"new_dtype": parse_dtype(new)},
            ops, limit=16)


def _identities(f):
  for mesh in MAIN + (MALLAUTO,):
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True)
    ops += types(mesh, (), weak=True, numpy=True)
    ops += types(mesh, (8,), "key<fry>") + types(mesh, (8,), space="<host>")
    for name, params in (("copy", {}), ("name", {"name": "n"}),
                         ("stop_gradient", {}), ("optimization_barrier", {})):
      f.add(mesh, prim(name), params, ops, limit=24)
    f.add(mesh, prim("optimization_barrier"), {}, ops, ops, limit=24)
    f.add(mesh, prim("reduce_precision"),
          {"exponent_bits": 5, "mantissa_bits": 10},
          ops[:-8] + ["i32[8,4]"], limit=50)


def record(f):
  _unary(f)
  _nary(f)
  _select(f)
  _clamp(f)
  _add_any(f)
  _convert(f)
  _bitcast(f)
  _identities(f)
