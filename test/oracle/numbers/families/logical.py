# logical.py - reductions by and, or, xor.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import arrays
from cases import one

_SHAPES = (((7,), (0,)), ((0,), (0,)), ((2, 3), (1,)), ((2, 3), (0,)), ((2, 3, 4), (0, 2)),
           ((35,), (0,)), ((3, 4), (0, 1)), ((5,), ()))


def record(family):
  for kind in ("bool", *arrays.INTS):
    for name in ("reduce_and", "reduce_or", "reduce_xor"):
      for shape, dims in _SHAPES:
        family.case(one(name, axes=dims), [arrays.normal(kind, shape, name)])
