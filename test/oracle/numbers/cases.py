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
    self._lines, self._arrays = {}, {}

  def _number(self, line, value):
    data = data_of(value).hex()
    if data not in self._arrays:
      self._arrays[data] = len(self._arrays)
      line["new"].append(data)
    return self._arrays[data]

  def case(self, function, args, rule=EXACT, tag=None):
    """Runs `function`, which must trace to one equation, on arrays. `rule` is how to
    compare, or a list with one for each result. What JAX refuses, or cannot compile
    for CPU, is no case. Returns the results."""
    args = [a if isinstance(a, jax.Array) else np.asarray(a) for a in args]
    try:
      closed = jax.make_jaxpr(function)(*args)
      results = jax.tree.leaves(jax.jit(function)(*args))
    except (TypeError, NotImplementedError, jax.errors.JaxRuntimeError) as err:
      message = str(err).splitlines()[0][:150]
      self.refused[message] = self.refused.get(message, 0) + 1
      return None
    if len(closed.eqns) != 1 or closed.consts:
      raise AssertionError(f"{self.name}: not one equation:\n{closed}")
    text, name = str(closed), closed.eqns[0].primitive.name
    line = self._lines.setdefault(text, {"p": name, "text": text, "new": [], "cases": []})
    case = [[self._number(line, a) for a in args],
            [self._number(line, r) for r in results], rule]
    line["cases"].append(case + ([tag] if tag else []))
    self.primitives.add(name)
    self.count += 1
    return results

  def text(self):
    return "".join(json.dumps(line, separators=(",", ":")) + "\n"
                   for line in self._lines.values())


def dtype(name):
  return np.dtype(getattr(ml_dtypes, name, name))
