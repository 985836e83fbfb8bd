# arrays.py - element values that are worth a case.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import ml_dtypes
import numpy as np

from cases import dtype, seeded

FLOATS = ("float32", "float64", "bfloat16", "float16")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NARROW = ("int4", "uint4", "int2", "uint2")
F8 = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
      "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")
F4 = ("float4_e2m1fn",)
INTS = SIGNED + UNSIGNED

_COMMON = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 0.1, -0.7, 1e-3, -1e-6, 1.5, 2.5,
           -2.5, 0.49999997, 0.99999994, 1.0000001, np.pi, -np.pi / 2, 10.0, -20.0, 88.7,
           -88.0, 100.0, 1e4, -3e4, 1e10, 1e30, -1e30, 1e-20, np.inf, -np.inf, np.nan]


def limits(name):
  """(largest, smallest normal) of a float type, or (largest, least) of an integer."""
  kind = dtype(name)
  if kind.kind in "iu" or name in NARROW:
    info = ml_dtypes.iinfo(kind)
    return info.max, info.min
  info = ml_dtypes.finfo(kind)
  return float(info.max), float(info.smallest_normal)


def floats(name, extra=()):
  """Edge values of a float type, none of them denormal."""
  kind = dtype(name)
  most, least = limits(name)
  wide = [700.0, -709.0, 1e300, 1e-300] if name == "float64" else []
  values = np.array(_COMMON + [most, -most, least, -least] + wide + list(extra), np.float64)
  with np.errstate(all="ignore"):
    values = values.astype(kind)
    size = np.abs(values.astype(np.float64))
  return values[(size == 0) | (size >= least) | np.isnan(size)]


def integers(name):
  most, least = limits(name)
  bits = ml_dtypes.iinfo(dtype(name)).bits
  values = {0, 1, 2, 3, 5, 7, 8, most, most - 1, least, least + 1, 1 << (bits - 2),
            -1, -2, -3, -7, bits, bits - 1, bits + 1, 100, -100}
  return np.array(sorted(v for v in values if least <= v <= most)).astype(dtype(name)) \
      if most < 2**63 else np.array(sorted(v for v in values if 0 <= v <= most), np.uint64)


def normal(name, shape, *seed, scale=1.0):
  """Numbers about 0; integers over their range, bools."""
  draw, kind = seeded(name, shape, *seed), dtype(name)
  if name == "bool":
    return draw.randint(0, 2, shape).astype(bool)
  if name in COMPLEX:
    parts = draw.standard_normal((2, *shape)) * scale
    return (parts[0] + 1j * parts[1]).astype(kind)
  if name in INTS or name in NARROW:
    most, least = limits(name)
    most, least = min(most, 100), max(least, -100)
    return draw.randint(least, most + 1, shape).astype(np.int64).astype(kind)
  with np.errstate(all="ignore"):
    return (draw.standard_normal(shape) * scale).astype(kind)


def complexes(name, simple=False):
  """Complex edge values; with `simple`, the finite ones of moderate size."""
  part = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.25]
  if not simple:
    part += [1e10, np.inf, -np.inf, np.nan]
  with np.errstate(all="ignore"):
    out = [complex(a, b) for a in part for b in part]
  return np.array(out, np.complex128).astype(dtype(name))


def edges(name):
  if name == "bool":
    return np.array([False, True])
  if name in COMPLEX:
    return complexes(name)
  return integers(name) if name in INTS or name in NARROW else floats(name)


def pairs(values, most=None):
  """All pairs of values, as two flat arrays."""
  if most:
    values = values[:most]
  return np.repeat(values, len(values)), np.tile(values, len(values))
