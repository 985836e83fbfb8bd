# prims.py - primitives by the name they have in a printed jaxpr.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import importlib

from jax._src import (ad_checkpoint, ad_util, callback, core, custom_derivatives,
                      debugging, dispatch,
                      ffi, pjit, xla_metadata)
from jax._src.cudnn import scaled_matmul_stablehlo
from jax._src.export import shape_poly
from jax._src.lax import (ann, convolution, fft, lax, linalg, parallel, slicing, special,
                          windowed_reductions)
from jax._src.lax.control_flow import conditionals, loops
from jax._src.random import core as random_core, prng, threefry2x32
from jax._src.state import primitives as state_primitives

# A function of that name hides the module.
scaled_dot = importlib.import_module("jax._src.lax.scaled_dot")

_MODULES = (lax, special, slicing, convolution, windowed_reductions, loops, ann, prng,
            threefry2x32, pjit, dispatch, ad_util, ad_checkpoint, linalg, fft,
            scaled_dot, random_core, conditionals, shape_poly, callback, debugging,
            ffi, xla_metadata, scaled_matmul_stablehlo, state_primitives, parallel, core,
            custom_derivatives)


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
