# departures.py - where JAX on CPU departs from the definition, its way.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tag `jax`: compared with `--jax-numbers` (spec 09, what is marked [D])."""

import numpy as np

import arrays
from cases import EXACT, dtype, one


def _quotients(family):
  """A quotient by one number is a product with its reciprocal."""
  for kind in ("float32", "float64", "float16", "bfloat16"):
    for i, divisor in enumerate((3, 0.7, 10, -49, 1e-3)):
      values = arrays.normal(kind, (200,), "quotient", i)
      number = np.array(divisor, np.float64).astype(dtype(kind))
      family.case(one("div"), [values, number], EXACT, "jax")
      family.case(one("div"), [values[:6].reshape(2, 3), number], EXACT, "jax")


def _powers(family):
  for kind in arrays.FLOATS:
    values = np.array([0, 1, 7, 10, 10.5, -3, 100, -20, 0.3], np.float64).astype(dtype(kind))
    rule = {"bfloat16": "ulp 1", "float16": "ulp 1"}.get(kind, "ulp 8")
    family.case(one("exp2", accuracy=None), [values], rule, "jax")


def _poles(family):
  for kind in arrays.FLOATS:
    values = np.array([0.0, -0.0], dtype(kind))
    family.case(one("digamma"), [values], EXACT, "jax")


def _conversions(family):
  wide = np.array([1 + 2.0**-8 + 2.0**-40, 1 - 2.0**-9 - 2.0**-40, 65519.999, 2.0**-10 + 2.0**-50,
                   -1 - 2.0**-8 - 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 17.0000001])
  whole = np.array([2**40 + 2**32 + 1, 2**62 + 2**54 + 1, 257, -(2**40 + 2**32 + 1), 3], np.int64)
  for to in ("bfloat16", "float16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3"):
    function = one("convert_element_type", new_dtype=dtype(to), weak_type=False, sharding=None)
    family.case(function, [wide], EXACT, "jax")
    family.case(function, [whole], EXACT, "jax")
    family.case(function, [abs(whole).astype(np.uint64)], EXACT, "jax")
  every = np.arange(16).astype(np.uint8).view(dtype("float4_e2m1fn"))
  for to in ("int8", "uint8", "int32", "int64", "uint4"):
    function = one("convert_element_type", new_dtype=dtype(to), weak_type=False, sharding=None)
    family.case(function, [every], EXACT, "jax")


def record(family):
  _quotients(family)
  _powers(family)
  _poles(family)
  _conversions(family)
