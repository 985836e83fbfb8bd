# unary.py - functions of one operand, element by element.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np
from jax import lax

import arrays
from cases import EXACT, one

_MOVES = ("abs", "ceil", "floor", "is_finite", "neg", "sign")
# Largest distance of JAX from the true value in f32, in ulps, doubled (spec 09, 3).
_ULPS = {
    "acos": 2, "acosh": 8, "asin": 4, "asinh": 4, "atan": 8, "atanh": 2, "bessel_i0e": 8,
    "bessel_i1e": 8, "cbrt": 2, "cos": 2, "cosh": 46, "digamma": 58, "erf": 4, "erf_inv": 122,
    "erfc": 20, "exp": 2, "exp2": 114, "expm1": 2, "lgamma": 4, "log": 2, "log1p": 4,
    "log2": 4, "logistic": 4, "rsqrt": 2, "sin": 2, "sinh": 46, "sqrt": 0, "square": 0,
    "tan": 2, "tanh": 4, "one_minus_square": 4}
# In f64, in ulps doubled, where more than 3 or (special functions) 60.
_ULPS64 = {"bessel_i1e": 1100, "cosh": 2100, "sinh": 2100, "exp2": 520, "erf_inv": 250000}
_SPECIAL = ("bessel_i0e", "bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma")
_ACCURACY = ("cbrt", "cos", "erfc", "exp", "exp2", "expm1", "log", "log1p", "log2", "logistic",
             "rsqrt", "sin", "sqrt", "tan", "tanh")
_COMPLEX = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2",
            "expm1", "log", "log1p", "log2", "logistic", "rsqrt", "sin", "sinh", "sqrt",
            "square", "tan", "tanh", "one_minus_square")
_EXTRA = {"erf_inv": [0.25, 0.9, 0.99, 0.999, 0.9999, -0.9995], "logistic": [-80, 40, -3],
          "acosh": [1.001, 1.25, 5], "lgamma": [-1.5, -3.75, 0.01, 7, 35], "digamma": [-0.25],
          "exp": [-87, -80, 80], "exp2": [100, -120, 7], "sinh": [60, -70, 1e-4]}
_SHAPES = ((), (0,), (3,), (2, 3), (33,))


def ulps(name, kind):
  """The rule of a function for a float type."""
  allowed = _ULPS[name]
  if allowed == 0:
    return EXACT
  if kind == "float64":
    allowed = _ULPS64.get(name, 120 if name in _SPECIAL else max(6, allowed))
  elif kind != "float32":
    allowed = 114 if name == "exp2" else 3
  # Near a root, 2.5e-6 of the largest term.
  near = {"float32": 1e-6, "float64": 1e-14, "bfloat16": 1e-2, "float16": 1e-3}[kind]
  return f"ulp {allowed} abs {near:g}" if name in ("digamma", "lgamma") else f"ulp {allowed}"


def _function(name):
  params = {"accuracy": None} if name in _ACCURACY else {}
  return one(name, **params)


def _floats(family):
  for kind in arrays.FLOATS:
    for name in (*_MOVES, *sorted(_ULPS)):
      rule = EXACT if name in _MOVES else ulps(name, kind)
      function = _function(name)
      values = arrays.floats(kind, _EXTRA.get(name, ()))
      # Squares of small numbers are denormal, which JAX flushes; not in f16.
      tag = "flush" if name == "square" and kind != "float16" else None
      family.case(function, [values], rule, tag)
      scale = 0.5 if name in ("acos", "asin", "atanh", "erf_inv") else 3.0
      for shape in _SHAPES:
        values = arrays.normal(kind, shape, name, scale=scale)
        if name in ("acosh", "log", "log2", "rsqrt", "lgamma", "log1p", "sqrt", "digamma"):
          values = abs(values)
        family.case(function, [values], rule)
    for method in lax.RoundingMethod:
      family.case(one("round", rounding_method=method), [arrays.floats(kind)])
      family.case(one("round", rounding_method=method), [arrays.normal(kind, (40,), method.name)])
      halves = np.arange(-9, 10).astype(np.float32) / 2
      family.case(one("round", rounding_method=method), [halves.astype(arrays.dtype(kind))])
    for y in (-5, -3, -2, -1, 0, 1, 2, 3, 4, 7, 16):
      ulp = 0 if y in (0, 1, 2, -1) else 8
      rule = f"ulp {ulp}" if ulp else EXACT
      family.case(one("integer_pow", y=y), [arrays.floats(kind)], rule,
                  None if kind == "float16" else "flush")
      family.case(one("integer_pow", y=y), [arrays.normal(kind, (40,), y)], rule)


def _complexes(family):
  for kind in arrays.COMPLEX:
    for name in _COMPLEX:
      for shape in ((), (0,), (24,)):
        family.case(_function(name), [arrays.normal(kind, shape, name)], "modulus 64"
                    if name in ("exp2", "tan", "atanh") else "modulus 16")
    for name in ("neg", "real", "imag"):
      family.case(one(name), [arrays.complexes(kind)])
      family.case(one(name), [arrays.normal(kind, (2, 3), name)])
    part = np.dtype(kind).type(0).real.dtype
    family.case(one("conj", input_dtype=np.dtype(kind)), [arrays.complexes(kind)])
    family.case(one("conj", input_dtype=part), [arrays.floats(part.name)])
    for name in ("abs", "sign"):
      family.case(one(name), [arrays.complexes(kind, simple=True)], "modulus 16")
      family.case(one(name), [arrays.normal(kind, (30,), name)], "modulus 16")
    for y in (-2, -1, 0, 1, 2, 3, 6):
      family.case(one("integer_pow", y=y), [arrays.normal(kind, (30,), y)], "modulus 32")


def _integers(family):
  for kind in (*arrays.INTS, *arrays.NARROW):
    signed = kind.startswith("int")
    names = ["neg", "sign", "not", "square", "one_minus_square"]
    names += ["population_count", "clz"] if kind not in arrays.NARROW else []
    names += ["abs"] if signed else []
    for name in names:
      for values in (arrays.edges(kind), arrays.normal(kind, (2, 5), name),
                     arrays.normal(kind, (), name), arrays.normal(kind, (0, 3), name)):
        family.case(one(name), [values])
    for y in (0, 1, 2, 3, 5):
      family.case(one("integer_pow", y=y), [arrays.edges(kind)])
  for shape in ((2,), (), (0,), (3, 2)):
    family.case(one("not"), [arrays.normal("bool", shape)])


def _denormals(family):
  """JAX flushes denormals: the comparison is made with that switched on."""
  for kind in ("float32", "float64"):
    _, least = arrays.limits(kind)
    tiny = np.array([0.5, -0.5, 0.25, 1, -1, 2.0**-20, 3, 0, -0.0], kind) * least
    for name in ("neg", "abs", "sign", "floor", "ceil", "sqrt", "is_finite", "square"):
      family.case(_function(name), [tiny], EXACT, "flush")
    family.case(one("round", rounding_method=lax.RoundingMethod(1)), [tiny], EXACT, "flush")
    for name in ("log", "exp", "cos", "rsqrt"):
      family.case(_function(name), [tiny], ulps(name, kind), "flush")


def _narrow_floats(family):
  for kind in arrays.F8:
    if kind == "float8_e8m0fnu":
      continue
    every = np.arange(256).astype(np.uint8).view(arrays.dtype(kind))
    for name in ("neg", "abs", "floor", "exp", "sqrt", "is_finite", "sign"):
      family.case(_function(name), [every], EXACT if name != "exp" else "ulp 1")


def record(family):
  _floats(family)
  _complexes(family)
  _integers(family)
  _denormals(family)
  _narrow_floats(family)
