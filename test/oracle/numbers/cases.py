# cases.py - runs one equation on real JAX and keeps its inputs and results.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""README.md of test/oracle describes the file. A family calls `family.case(...)` for
each case; those of one program are one line."""

import json
import zlib

import jax
import ml_dtypes
import numpy as np

import prims

jax.config.update("jax_enable_x64", True)

EXACT = "exact"
_NARROW = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}


def seeded(*what):
  """A generator that draws the same from run to run and release to release."""
  return np.random.RandomState(zlib.crc32(repr(what).encode()))


def one(name, **params):
  """The function that binds a primitive."""
  prim = prims.prim(name)
  if name == "mul":
    params = {"out_dtype": None, **params}

  def bound(*args):
    return prim.bind(*args, **params)
  return bound


def data_of(value):
  """The bytes of an array: row-major, little-endian, integers below 8 bits one a byte
  as int8 or uint8, keys as their words."""
  if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
    value = jax.random.key_data(value)
  array = np.asarray(value)
  if array.dtype.name in _NARROW:
    array = array.astype(_NARROW[array.dtype.name])
  return np.ascontiguousarray(array).tobytes()


class Family:
  def __init__(self, name):
    self.name, self.count, self.primitives = name, 0, set()
    self.refused = {}  # Message of JAX: how often.
    self._lines = {}  # Text of a program: its primitive and cases.

  def case(self, function, args, rule=EXACT, tag=None):
    """Runs `function`, which must trace to one equation, on arrays. `rule` is how to
    compare, or a list with one for each result. What JAX refuses, or cannot compile
    for CPU, is no case. Returns the results."""
    args = [a if isinstance(a, jax.Array) else np.asarray(a) for a in args]
    try:
      closed = jax.make_jaxpr(function)(*args)
      results = jax.tree.leaves(jax.jit(function)(*args))
    except (TypeError, NotImplementedError, AssertionError,
            jax.errors.JaxRuntimeError) as err:
      message = (str(err).splitlines() or [type(err).__name__])[0][:150]
      self.refused[message] = self.refused.get(message, 0) + 1
      return None
    if len(closed.eqns) != 1 or closed.consts:
      raise AssertionError(f"{self.name}: not one equation:\n{closed}")
    text, name = str(closed), closed.eqns[0].primitive.name
    case = [[data_of(a) for a in args], [data_of(r) for r in results], rule]
    self._lines.setdefault(text, (name, []))[1].append(case + ([tag] if tag else []))
    self.primitives.add(name)
    self.count += 1
    return results

  def text(self):
    """The file: arrays are numbered as they first occur in it."""
    numbers, out = {}, ""
    for text, (name, cases) in self._lines.items():
      new, listed = [], []
      for arguments, results, *rest in cases:
        listed.append([[self._number(numbers, new, data) for data in part]
                       for part in (arguments, results)] + rest)
      line = {"p": name, "text": text, "new": new, "cases": listed}
      out += json.dumps(line, separators=(",", ":")) + "\n"
    return out

  @staticmethod
  def _number(numbers, new, data):
    if data not in numbers:
      numbers[data] = len(numbers)
      new.append(data.hex())
    return numbers[data]


def dtype(name):
  return np.dtype(getattr(ml_dtypes, name, name))
