# elementwise.py - unary, n-ary, selections, conversions, identities.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src.lax import lax
import numpy as np

from agreement import form
from typetext import parse_dtype

# Of these and the pairs below, primitives that are not in _MAIN take some.
_SHAPES = ((8, 8), (8,), (0, 8), (1, 8), (1,), (6, 4), (), (3,), (8, 4, 2),
           (2, 1, 4, 3), (8, 4, 2, 2), (1, 4, 2))
_ACCURACY = ("exp exp2 expm1 log log1p log2 tanh logistic sqrt rsqrt cbrt sin cos "
             "tan erfc").split()
_PLAIN = ("neg sign abs floor ceil erf erf_inv is_finite square one_minus_square "
          "acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cosh digamma "
          "lgamma sinh").split()
# Same shapes, scalars, dims of size 1, shapes that do not fit.
_PAIRS = (((8, 8), (8, 8)), ((), ()), ((8, 8), ()), ((8,), (8,)), ((1, 8), (8, 8)),
          ((1, 8), (1, 8)), ((8, 4, 2), (8, 4, 2)), ((3,), (3,)),
          ((4, 2, 2, 3), (4, 2, 2, 3)), ((8, 1, 2), (8, 4, 2)), ((8,), (4,)),
          ((6, 4), (6, 4)))
_ONE = ("add sub mul div rem max min pow atan2 nextafter complex eq ne lt le gt ge "
        "eq_to le_to lt_to polygamma igamma igammac igamma_grad_a zeta").split()
_INT = ("and or xor shift_left shift_right_arithmetic shift_right_logical "
        "mulhi").split()


# One of each rule that JAX has gets many cases; its likes, which have the same
# rule, get the same combinations without sets and fewer with them.
_MAIN = ("neg", "sin", "integer_pow", "reduce_precision", "add", "sub", "mul", "div",
         "max", "add_any", "copy", "tie")


def _one_operand(params, dtype="f32", name=""):
  if name not in _MAIN:
    return [form(params, s, dtype=dtype, share=0.1) for s in _SHAPES[::3]]
  return [form(params, s, dtype=dtype, share=1.0 if i < 3 else 0.25)
          for i, s in enumerate(_SHAPES)]


def _two(params, dtype="f32", name=""):
  if name not in _MAIN:
    return [form(params, a, b, dtype=dtype, share=0.1) for a, b in _PAIRS[::2]]
  return [form(params, a, b, dtype=dtype, share=1.0 if i in (0, 2, 3) else 0.2)
          for i, (a, b) in enumerate(_PAIRS)]


def _three(dtypes=("f32",) * 3, params=None):
  rows = [((8, 8),) * 3, ((8,),) * 3, ((),) * 3, ((), (8, 8), (8, 8)),
          ((), (8, 8), ()), ((1, 8),) * 3, ((6, 4),) * 3, ((8, 4, 2),) * 3,
          ((4, 2, 2, 3),) * 3, ((8,), (8, 8), (8, 8))]
  return [form(params or {}, *zip(row, dtypes), share=0.3 if i in (0, 3) else 0.06)
          for i, row in enumerate(rows)]


def _converting(table):
  forms = []
  for new in ("f16", "i32"):
    for i, shape in enumerate(((8, 8), (8,), (), (6, 4), (8, 4, 2), (4, 2, 2, 3))):
      forms.append(form({"new_dtype": parse_dtype(new), "weak_type": False}, shape,
                        out=("sharding", len(shape)), share=1.0 if i < 2 else 0.3))
  table["convert_element_type"] = forms
  bits = []
  for old, new in (("f32", "i32"), ("u8", "u32"), ("u32", "u8"), ("c64", "f32")):
    for shape in ((8, 8), (8,), (), (8, 4), (4, 2, 4), (2, 2, 2, 4)):
      bits.append(form({"new_dtype": parse_dtype(new)}, shape, dtype=old, share=0.4))
  table["bitcast_convert_type"] = bits


def describe():
  table = {n: _one_operand({}, name=n) for n in _PLAIN}
  table.update({n: _one_operand({"accuracy": None}, name=n) for n in _ACCURACY})
  table["round"] = _one_operand(
      {"rounding_method": lax.RoundingMethod.TO_NEAREST_EVEN})
  table["integer_pow"] = [f for y in (2, 3, -1) for f in _one_operand(
      {"y": y}, name="integer_pow")]
  for name in ("not", "clz", "population_count"):
    table[name] = _one_operand({}, "i32")
  for name in ("real", "imag"):
    table[name] = _one_operand({}, "c64")
  table["conj"] = _one_operand({"input_dtype": np.dtype("complex64")}, "c64")
  table["reduce_precision"] = _one_operand(
      {"exponent_bits": 5, "mantissa_bits": 10}, name="reduce_precision")
  for name in _ONE:
    table[name] = _two({"out_dtype": None} if name == "mul" else {}, name=name)
  for name in _INT:
    table[name] = _two({}, "i32")
  table["add_any"] = _two({}, name="add_any")
  table["tie"] = _two({}, name="tie")
  table["regularized_incomplete_beta"] = _three()
  table["polynomial"] = _three() + _two({"unroll": 2}) + _one_operand({})
  table["clamp"] = _three()
  table["select_n"] = _three(("bool", "f32", "f32")) + [
      form({}, ((8,), "i32"), (8,), (8,), (8,)), form({}, ((), "bool"), (8, 8))]
  _converting(table)
  for name, params in (("copy", {}), ("name", {"name": "n"}),
                       ("stop_gradient", {}), ("layout_constraint", {"layout": None})):
    table[name] = _one_operand(params, name=name) + [form(params, (8,), dtype="key<fry>")]
  table["optimization_barrier"] = _one_operand({}) + _two({})
  return table
