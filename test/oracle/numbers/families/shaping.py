# shaping.py - operations that only move data.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception


import arrays
from cases import one

_KINDS = ("float32", "float64", "bfloat16", "complex64", "int8", "int32", "uint64", "bool", "int4",
          "float8_e5m2")
_SOME = ("float32", "int8", "complex128")


def _draw(kind, shape, *seed):
  return arrays.normal(kind, shape, *seed)


def _unary(family):
  for kind in _KINDS:
    for shape, to, dims in (((), (3,), ()), ((3,), (2, 3), (1,)), ((3,), (3, 2), (0,)),
                            ((1, 3), (2, 3), (0, 1)), ((2, 3), (2, 4, 3), (0, 2)), ((0,), (2, 0), (1,)),
                            ((1,), (0,), (0,)), ((2, 1), (5, 2, 3), (1, 2))):
      family.case(one("broadcast_in_dim", shape=to, broadcast_dimensions=dims, sharding=None),
                  [_draw(kind, shape, to)])
    for shape, to in (((6,), (2, 3)), ((2, 3), (6,)), ((2, 3), (3, 2)), ((), (1, 1)), ((0, 3), (5, 0)),
                      ((2, 3, 4), (4, 6))):
      family.case(one("reshape", new_sizes=to, dimensions=None, sharding=None),
                  [_draw(kind, shape, to)])
    for shape, order in (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (1, 0, 2)), ((0, 2), (1, 0)),
                         ((2, 1, 3, 2), (3, 1, 0, 2)), ((9, 17), (1, 0))):
      family.case(one("transpose", permutation=order), [_draw(kind, shape, order)])
    for shape, dims in (((5,), (0,)), ((2, 3), (0,)), ((2, 3), (1,)), ((2, 3, 2), (0, 2)), ((0,), (0,)),
                        ((3,), ())):
      family.case(one("rev", dimensions=dims), [_draw(kind, shape, dims)])
    for shape, dims in (((1,), (0,)), ((2, 1, 3), (1,)), ((1, 2, 1), (0, 2)), ((1, 0), (0,))):
      family.case(one("squeeze", dimensions=dims), [_draw(kind, shape, dims)])
    for shape, reps in (((3,), (2,)), ((2, 3), (2, 1)), ((2, 3), (1, 3)), ((2,), (0,)), ((1, 2), (3, 2))):
      family.case(one("tile", reps=reps), [_draw(kind, shape, reps)])
    for name in ("copy", "stop_gradient"):
      try:
        function = one(name)
      except KeyError:
        continue
      family.case(function, [_draw(kind, (2, 3), name)])


def _several(family):
  for kind in _KINDS:
    for shapes, dim in ((((2,), (3,)), 0), (((2, 3), (2, 1)), 1), (((1, 3), (2, 3), (0, 3)), 0),
                        (((0,), (0,)), 0), (((2, 2, 2), (2, 3, 2)), 1), (((4,),), 0)):
      family.case(one("concatenate", dimension=dim),
                  [_draw(kind, s, i) for i, s in enumerate(shapes)])
    for shape, axis in (((3,), 0), ((3,), 1), ((2, 3), 1), ((), 0), ((0, 2), 2)):
      family.case(one("stack", axis=axis), [_draw(kind, shape, i) for i in range(3)])
    for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 0), 0), ((3, 2, 2), 1)):
      family.case(one("unstack", axis=axis), [_draw(kind, shape, axis)])
    for shape, sizes, axis in (((6,), (2, 4), 0), ((2, 5), (1, 0, 4), 1), ((4, 3), (4,), 0), ((0,), (0, 0), 0)):
      family.case(one("split", sizes=sizes, axis=axis), [_draw(kind, shape, sizes)])


def _pads(family):
  one_d = [((lo, hi, inside),) for lo in (-2, 0, 1, 3) for hi in (-1, 0, 2) for inside in (0, 1, 3)]
  two_d = [((1, 2, 0), (0, 1, 1)), ((-1, 0, 2), (2, -1, 0)), ((0, 0, 1), (-3, 1, 2))]
  for kind in _SOME:
    for config in one_d:
      for length in (0, 1, 4):
        grown = max(0, length + max(0, length - 1) * config[0][2]) + config[0][0] + config[0][1]
        if grown < 0:
          continue
        family.case(one("pad", padding_config=config),
                    [_draw(kind, (length,), config), _draw(kind, (), "fill")])
    for config in two_d:
      family.case(one("pad", padding_config=config),
                  [_draw(kind, (3, 4), config), _draw(kind, (), "fill")])
  for kind in _KINDS:
    family.case(one("pad", padding_config=((1, -1, 1), (2, 0, 0))),
                [_draw(kind, (3, 2), "pad"), _draw(kind, (), "fill")])


def _slices(family):
  for kind in _SOME:
    for shape, start, limit, strides in (
        ((7,), (0,), (7,), None), ((7,), (2,), (6,), (2,)), ((7,), (1,), (7,), (3,)), ((7,), (3,), (3,), None),
        ((4, 5), (1, 0), (3, 4), (1, 2)), ((4, 5), (0, 2), (4, 5), None), ((2, 3, 4), (0, 1, 0), (2, 3, 4), (1, 1, 3)),
        ((0, 2), (0, 0), (0, 1), None), ((7,), (0,), (7,), (9,))):
      family.case(one("slice", start_indices=start, limit_indices=limit, strides=strides),
                  [_draw(kind, shape, start)])


def record(family):
  _unary(family)
  _several(family)
  _pads(family)
  _slices(family)
