#!/usr/bin/env python3
# record_numpy.py - records how NumPy prints and saves arrays.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes numpy.jsonl: one array a line, as the bytes of its .npy file, with
what `str` and `repr` give. `--check` compares instead; 77: no NumPy here."""
import base64
import io
import json
import pathlib
import sys

try:
  import ml_dtypes
  import numpy as np
except ImportError as e:
  print(f"skipped: {e}")
  sys.exit(77)

FILE = pathlib.Path(__file__).with_name("numpy.jsonl")
FLOATS = (np.float16, np.float32, np.float64)
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32,
        np.uint64)
OTHERS = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
          "float4_e2m1fn", "int4", "uint4", "int2", "uint2")
SHAPES = ((), (1,), (3,), (2, 3), (1, 1, 4), (0,), (0, 3), (2, 0), (40,),
          (3, 25), (2, 2, 2, 2))
# Only the corners of these show.
LARGE = ((1001,), (40, 30), (3, 400), (11, 10, 10), (2000, 1), (8, 1, 7, 20))


def floats(rng):
  yield np.array([0.0, -0.0, 1.0])
  yield np.array([1.5, np.nan, -np.inf, np.inf])
  yield np.array([np.nan, np.nan])
  yield np.array([np.inf, 1e-3, 1e3])
  yield np.array([1e-5, 1.0])
  yield np.array([1e-4, 0.5])
  yield np.array([9.99e5, 1e3, 1001.0])
  yield np.array([999.0, 1.0, 0.25])
  yield np.array([1e6, 1e7])
  yield np.array([123456.789, 1.0, 0.001])
  yield np.array([1e8, 1.0, -1e8])
  yield np.array([99999999.0, 12345678.9])
  yield np.array([1 / 3, 2 / 3, 100 / 3])
  yield np.array([1e300, 1e-300, 5e-324])
  yield np.array([3.4e38, 1e-45])
  yield np.array([0.1, 0.20000001, 0.3])
  yield np.array([2.0**k for k in range(-14, 16)])
  yield np.array([2.0**k for k in range(-24, -10)])
  yield np.array([0.5, 0.25, 0.125, 0.0625])
  yield np.array([-1.0, -22.5, 333.25])
  yield np.array([1.000000005, 1.000000015, 0.123456785])
  for scale in (1e-3, 1.0, 10.0, 1e4):
    yield rng.standard_normal(7) * scale
  for size in (1, 30):
    yield 10.0**rng.uniform(-6, 6, size)


def arrays():
  rng = np.random.default_rng(3)
  for dtype in FLOATS:
    with np.errstate(over="ignore", invalid="ignore"):
      for x in floats(rng):
        yield x.astype(dtype)
        yield x.astype(dtype)[0]
        yield x.astype(dtype)[-1]
      for shape in SHAPES + (LARGE if dtype == np.float16 else ()):
        yield rng.standard_normal(shape).astype(dtype)
  for dtype in (np.complex64, np.complex128):
    for x in floats(rng):
      z = np.empty(len(x), dtype)
      with np.errstate(over="ignore", invalid="ignore"):
        z.real = x
        z.imag = x[::-1]
      yield z
      yield z[0]
      yield z[-1]
    yield np.array([0, 1j, -1j, 1, complex(-0.0, 2), complex(3, -0.0)], dtype)
    for shape in ((), (2, 3), (0, 2), (30,)):
      yield (rng.standard_normal(shape) * (1 + 2j)).astype(dtype)
  for dtype in INTS:
    info = np.iinfo(dtype)
    yield np.array([info.min, info.max, 0, 7], dtype)
    for shape in SHAPES + (LARGE if dtype == np.int8 else ()):
      yield rng.integers(0, 100, shape).astype(dtype)
  for shape in ((), (1,), (2, 3), (0, 2), (30,), (1200,)):
    yield np.asarray(rng.integers(0, 2, shape).astype(bool))
  for name in OTHERS:
    dtype = getattr(ml_dtypes, name)
    for shape in ((), (5,), (2, 3), (0, 4)):
      low = 0 if "uint" in name or "e8m0" in name else -2
      yield np.asarray(rng.integers(low, 2, shape)).astype(dtype)
  for x in ([0.1, 1e10, 1e-10, 3.14159, 100.0, 123456.0],
            [np.nan, np.inf, -np.inf, -0.0, 0.0]):
    yield np.array(x, ml_dtypes.bfloat16)
    yield np.array(x, ml_dtypes.float8_e5m2)
  yield np.zeros((2,), [("float0", "V")])
  yield np.asfortranarray(rng.integers(0, 9, (3, 4)).astype(np.int32))
  yield np.asfortranarray(rng.standard_normal((2, 3, 2)))
  yield np.array([1, -2, 300], ">i4")
  yield np.array([1.5, -2e10], ">f8")
  yield np.array([1 + 2j], ">c16")


def line(x):
  x = np.asarray(x)
  file = io.BytesIO()
  np.save(file, x)
  native = x.astype(x.dtype.newbyteorder("=")) if x.dtype.kind in "ifc" else x
  name = "float0" if x.dtype.names else native.dtype.name
  return json.dumps({
      "dtype": name,
      "npy": base64.b64encode(file.getvalue()).decode(),
      "str": str(native),
      "repr": repr(native)
  })


def main():
  text = "".join(line(x) + "\n" for x in arrays())
  if sys.argv[1:] == ["--check"]:
    if FILE.read_text() != text:
      sys.exit(f"{FILE.name} differs; NumPy {np.__version__}")
    return
  FILE.write_text(text)


if __name__ == "__main__":
  main()
