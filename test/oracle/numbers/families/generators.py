# generators.py - keys and random bits.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

import jax
import numpy as np
from jax import lax

import arrays
from cases import one, seeded

_SEEDS = (0, 1, 42, -1, 2**31 - 1, -2**31, 123456789)


def _keys(shape, *what):
  words = seeded("key", shape, *what).randint(0, 2**32, (*shape, 2), np.uint64).astype(np.uint32)
  return jax.random.wrap_key_data(words)


def _key_primitives(family):
  impl = jax.random.key_impl(jax.random.key(0))
  del impl
  for seed in _SEEDS:
    for kind in (np.int32, np.uint32, np.int64, np.uint64, np.int8, np.uint16):
      info = np.iinfo(kind)
      if info.min <= seed <= info.max:
        family.case(jax.random.key, [np.array(seed, kind)])
  for wide in (2**40 + 7, -2**50, 2**63 - 1):
    family.case(jax.random.key, [np.array(wide, np.int64)])
  for shape in ((), (3,), (2, 2), (0,)):
    for count in ((), (1,), (2,), (5,), (2, 3), (0,), (40,)):
      family.case(lambda k, n=count: jax.random.split(k, n) if not k.shape else
                  one("random_split", shape=n)(k), [_keys(shape, count)])
    for width in (8, 16, 32, 64):
      for count in ((), (1,), (2,), (7,), (3, 5), (0,), (64,)):
        family.case(one("random_bits", bit_width=width, shape=count), [_keys(shape, width, count)])
    for kind, data in itertools.product((np.uint32, np.int32), (0, 1, 77, 2**31 - 1)):
      if shape != (0,):
        family.case(one("random_fold_in"), [_keys(shape, data), np.full(shape, data, kind)])
    family.case(one("random_unwrap"), [_keys(shape)])
    family.case(one("random_clone"), [_keys(shape)])
    words = arrays.normal("uint32", (*shape, 2), "wrap")
    family.case(jax.random.wrap_key_data, [words])


def _hashes(family):
  for shape in ((), (1,), (6,), (2, 3), (0,)):
    draw = seeded("hash", shape)
    words = [draw.randint(0, 2**32, shape, np.uint64).astype(np.uint32) for _ in range(4)]
    family.case(one("threefry2x32"), words)


def _bit_generator(family):
  for algorithm in (lax.RandomAlgorithm.RNG_THREE_FRY,):
    for shape in ((), (1,), (2,), (5,), (3, 3), (0,), (4, 3), (3, 4), (5, 3), (3, 5), (2, 3, 5), (3, 3, 3),
                  (3, 2, 5), (1, 1), (7, 1)):
      for kind in ("uint32", "uint64", "uint8", "uint16"):
        for length, state in ((2, "uint64"), (4, "uint32")):
          words = seeded("state", shape, kind, length).randint(0, 2**32, (length,), np.uint64)
          function = lambda s, a=algorithm, n=shape, k=kind: lax.rng_bit_generator(
              s, n, dtype=np.dtype(k), algorithm=a)
          family.case(function, [words.astype(state)])


def record(family):
  _key_primitives(family)
  _hashes(family)
  _bit_generator(family)
