# prims.py - primitives by the name they have in a printed jaxpr.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src import ad_checkpoint, ad_util, core, dispatch, pjit
from jax._src.lax import (ann, convolution, lax, parallel, slicing, special,
                          windowed_reductions)
from jax._src.lax.control_flow import loops
from jax._src.random import prng, threefry2x32

_MODULES = (lax, special, slicing, convolution, windowed_reductions, loops, ann, prng,
            threefry2x32, pjit, dispatch, ad_util, ad_checkpoint, parallel, core)


def _collect():
  table = {}
  for module in _MODULES:
    for value in vars(module).values():
      if isinstance(value, core.Primitive):
        table.setdefault(value.name, value)
  return table


_TABLE = _collect()


def is_known(name):
  return name in _TABLE


def prim(name):
  return _TABLE[name]
