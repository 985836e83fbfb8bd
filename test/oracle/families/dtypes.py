# dtypes.py - which element types each elementwise primitive takes and gives.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from jax._src.lax import lax
import numpy as np

from families.elementwise import _ACCURACY
from matrix import M22
from prims import prim
from typetext import parse_dtype

ALL = ("bool i2 i4 i8 i16 i32 i64 u2 u4 u8 u16 u32 u64 f4_e2m1fn f8_e3m4 f8_e4m3 "
       "f8_e4m3b11fnuz f8_e4m3fn f8_e4m3fnuz f8_e5m2 f8_e5m2fnuz f8_e8m0fnu f16 "
       "bf16 f32 f64 c64 c128 key<fry> float0").split()
# One of each sort, for pairs.
SOME = "bool i4 i32 u32 f16 f32 c64 key<fry> float0".split()

UNARY = ("abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cbrt ceil "
         "clz conj cos cosh digamma erf erf_inv erfc exp exp2 expm1 floor imag "
         "is_finite lgamma log log1p log2 logistic neg not one_minus_square "
         "population_count real round rsqrt sign sin sinh sqrt square tan "
         "tanh").split()
BINARY = ("add sub mul div rem max min pow atan2 nextafter and or xor shift_left "
          "shift_right_arithmetic shift_right_logical eq ne lt le gt ge eq_to "
          "le_to lt_to complex mulhi polygamma igamma igammac igamma_grad_a "
          "zeta").split()


def params_of(name):
  if name in _ACCURACY:
    return {"accuracy": None}
  if name == "round":
    return {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN}
  if name == "conj":
    return {"input_dtype": np.dtype("complex64")}
  if name == "mul":
    return {"out_dtype": None}
  return {}


def of(dtype, shape="8"):
  return f"{dtype}[{shape}]"


def all_cases(f, name, params, cases):
  cases = [tuple(c) for c in cases]
  f.add(M22, prim(name), params, cases=cases, limit=20 * len(cases))


def _unary(f):
  for name in UNARY:
    all_cases(f, name, params_of(name), [(of(d),) for d in ALL])
  for y in (2, -2):
    all_cases(f, "integer_pow", {"y": y}, [(of(d),) for d in ALL])
  for name in ("copy", "stop_gradient", "optimization_barrier"):
    all_cases(f, name, {}, [(of(d),) for d in SOME])
  for e, m in ((5, 10), (0, 3), (1, 0), (2, -1)):
    all_cases(f, "reduce_precision", {"exponent_bits": e, "mantissa_bits": m},
              [(of(d),) for d in ALL])


def _binary(f):
  for name in BINARY:
    same = [(of(d), of(d)) for d in ALL]
    mixed = [(of(a), of(b)) for a, b in itertools.permutations(SOME, 2)]
    all_cases(f, name, params_of(name), same + mixed)
  # Not f64: without x64 JAX makes it f32, which the parameter does not tell.
  for out in ("f32", "i32", "f16", "c64"):
    all_cases(f, "mul", {"out_dtype": parse_dtype(out)},
              [(of(a), of(b)) for a, b in itertools.product(SOME, SOME)])
  all_cases(f, "add_any", {}, [(of(a), of(b)) for a, b in
                               itertools.product(SOME, SOME)])


def _several(f):
  three = [(of(a), of(b), of(c)) for a, b, c in itertools.product(
      ("bool", "i32", "f32", "c64", "key<fry>"), repeat=3)]
  same = [(of(d),) * 3 for d in ALL]
  all_cases(f, "clamp", {}, same + three)
  all_cases(f, "regularized_incomplete_beta", {}, same + three)
  all_cases(f, "polynomial", {}, same + three)
  all_cases(f, "select_n", {}, [(of(w), of(d), of(d))
                                for w in ("bool", "i32") for d in ALL])
  all_cases(f, "select_n", {}, [(of(w), of("f32"), of("f32")) for w in ALL])
  all_cases(f, "select_n", {}, three)
  all_cases(f, "select_n", {}, [(of(w), of("f32"), of("f32"), of("f32"))
                                for w in ("bool", "i32", "u4", "i64", "f32")])
  all_cases(f, "select_n", {}, [(of(w), of("f32")) for w in ("bool", "i32")])
  all_cases(f, "threefry2x32", {}, [(of(d),) * 4 for d in ALL])


def _convert(f):
  for new in "bool i4 i32 u8 f8_e4m3fn bf16 f32 f64 c64 c128".split():
    for weak in (False, True):
      all_cases(f, "convert_element_type",
                {"new_dtype": parse_dtype(new), "weak_type": weak,
                 "sharding": None}, [(of(d),) for d in ALL])
  for new in "bool i2 i4 u8 i16 f16 i32 f32 u64 f64 c64 c128 f8_e5m2".split():
    shapes = ("8", "8,2", "8,4", "8,8", "")
    all_cases(f, "bitcast_convert_type", {"new_dtype": parse_dtype(new)},
              [(of(d, s),) for d in ALL for s in shapes])
  for new in ("key<fry>", "float0"):
    for prim_name, params in (("bitcast_convert_type", {}),
                              ("convert_element_type",
                               {"weak_type": False, "sharding": None})):
      all_cases(f, prim_name, {"new_dtype": parse_dtype(new), **params},
                [(of(d, s),) for d in SOME for s in ("8", "8,2", "")])


def record(f):
  _unary(f)
  _binary(f)
  _several(f)
  _convert(f)
