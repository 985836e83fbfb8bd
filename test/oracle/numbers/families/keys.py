# keys.py - keys of every implementation, and what is drawn by rejection.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
import numpy as np

from cases import one, seeded

_WORDS = {"rbg": 4, "unsafe_rbg": 4, "threefry4x32": 4, "philox2x32": 1, "philox4x32": 2}


def _keys(impl, shape, *what):
  draw = seeded("keys", impl, shape, *what)
  words = draw.randint(0, 2**32, (*shape, _WORDS[impl]), np.uint64).astype(np.uint32)
  return jax.random.wrap_key_data(words, impl=impl)


def _seeds(family, impl):
  for kind in (np.int32, np.int64):
    for seed in (0, 1, -1, 2**31 - 1, 123456789):
      family.case(lambda s: jax.random.key(s, impl=impl), [np.array(seed, kind)])
  family.case(lambda s: jax.random.key(s, impl=impl), [np.array(-2**50, np.int64)])


def _derived(family, impl):
  for shape in ((), (2, 2)):
    for count in ((), (5,), (2, 3), (0,)):
      family.case(one("random_split", shape=count), [_keys(impl, shape, count)])
    for width, count in ((8, (7,)), (16, (3, 5)), (32, ()), (32, (3, 5)), (32, (0,)), (64, (3,))):
      family.case(one("random_bits", bit_width=width, shape=count),
                  [_keys(impl, shape, width, count)])
    for data in (0, 1, 77, 2**31 - 1):
      numbers = np.full(shape, data, np.uint32)
      numbers += np.arange(numbers.size, dtype=np.uint32).reshape(shape)
      family.case(one("random_fold_in"), [_keys(impl, shape, data), numbers])
    family.case(one("random_unwrap"), [_keys(impl, shape)])
  for shape, other in (((1,), (4,)), ((2, 3), (1, 3))):
    draw = seeded("broadcast", shape, other)
    numbers = draw.randint(0, 2**32, other, np.uint64).astype(np.uint32)
    family.case(one("random_fold_in"), [_keys(impl, shape, other), numbers])


def _gamma(family):
  """Samples are equal but for the last bits of log, exp and erf_inv."""
  for kind, rule in ((np.float32, "rel 1e-5"), (np.float64, "rel 1e-11")):
    for logarithm in (True, False):
      for keys, shape in (((), (300,)), ((2,), (2, 40)), ((), ())):
        draw = seeded("gamma", kind, logarithm, shape)
        alpha = np.exp(draw.uniform(-3, 5, shape)).astype(kind)
        words = draw.randint(0, 2**32, (*keys, 2), np.uint64).astype(np.uint32)
        family.case(one("random_gamma", log_space=logarithm),
                    [jax.random.wrap_key_data(words), alpha], rule)


def record(family):
  for impl in _WORDS:
    _seeds(family, impl)
    _derived(family, impl)
  _gamma(family)
