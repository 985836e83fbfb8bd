# hashes.py - other generators than threefry2x32: their hash functions, keys of rbg.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
import numpy as np
from jax import lax
from jax._src.random import philox2x32, philox4x32, threefry4x32

from cases import one, seeded

_PRIMITIVES = ((philox2x32.philox2x32_p, 3), (philox4x32.philox4x32_p, 6),
               (threefry4x32.threefry4x32_p, 8))


def _hashes(family):
  for primitive, operands in _PRIMITIVES:
    for shape in ((), (1,), (5,), (2, 3), (0,)):
      draw = seeded(primitive.name, shape)
      words = [draw.randint(0, 2**32, shape, np.uint64).astype(np.uint32)
               for _ in range(operands)]
      family.case(lambda *args, p=primitive: p.bind(*args), words)
      family.case(lambda *args, p=primitive: p.bind(*args), [np.zeros_like(w) for w in words])
      family.case(lambda *args, p=primitive: p.bind(*args), [~np.zeros_like(w) for w in words])


def _keys(shape, *what):
  words = seeded("rbg", shape, *what).randint(0, 2**32, (*shape, 4), np.uint64)
  return jax.random.wrap_key_data(words.astype(np.uint32), impl="rbg")


def _rbg(family):
  for seed in (0, 42, -1):
    family.case(lambda s: jax.random.key(s, impl="rbg"), [np.array(seed, np.int32)])
    family.case(lambda s: jax.random.key(s, impl="rbg"), [np.array(seed * 2**40, np.int64)])
  for shape in ((), (3,), (2, 2), (0,)):
    for count in ((), (2,), (5,), (2, 3), (0,)):
      family.case(one("random_split", shape=count), [_keys(shape, count)])
    for data in (0, 7, 2**31 - 1):
      family.case(one("random_fold_in"), [_keys(shape, data), np.full(shape, data, np.uint32)])
    family.case(one("random_unwrap"), [_keys(shape)])
  for width in (8, 16, 32, 64):
    for count in ((), (1,), (5,), (3, 5), (0,), (64,)):
      family.case(one("random_bits", bit_width=width, shape=count), [_keys((), width, count)])


def _generator(family):
  for shape in ((), (1,), (5,), (3, 3), (0,), (2, 3, 5), (64,)):
    for kind in ("uint32", "uint64", "uint8", "uint16"):
      for length, state in ((2, "uint64"), (4, "uint32")):
        words = seeded("philox", shape, kind, length).randint(0, 2**32, (length,), np.uint64)
        function = lambda s, n=shape, k=kind: lax.rng_bit_generator(
            s, n, dtype=np.dtype(k), algorithm=lax.RandomAlgorithm.RNG_DEFAULT)
        family.case(function, [words.astype(state)])


def record(family):
  _hashes(family)
  _rbg(family)
  _generator(family)
