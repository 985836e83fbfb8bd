# reshaping.py - primitives that move, join, split or repeat dims.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from agreement import form


def _broadcast():
  rows = [((8, 8), (2, 8, 8), (1, 2)), ((8,), (8, 8), (0,)), ((), (8, 8), ()),
          ((8, 4), (8, 4), (0, 1)), ((1, 8), (8, 8), (0, 1)), ((8,), (8, 4), (0,)),
          ((8, 4), (4, 8), (1, 0)), ((), (), ()), ((6,), (3, 6), (1,)),
          ((1,), (8,), (0,)), ((0, 4), (0, 4, 2), (0, 1)), ((8, 4), (8, 2, 4, 2), (0, 2)),
          ((4, 2, 2), (4, 3, 2, 2), (0, 2, 3)), ((8,), (4, 4), (0,)), ((8, 4), (8,), (0,))]
  return [form({"shape": out, "broadcast_dimensions": dims}, shape,
               out=("sharding", len(out)), share=1.0 if i < 3 else 0.3)
          for i, (shape, out, dims) in enumerate(rows)]


def _factorings(total, most):
  """All shapes of at most `most` dims of 2 or more with this product."""
  out = [(total,)]
  if most > 1:
    for first in range(2, total):
      if total % first == 0:
        out += [(first,) + rest for rest in _factorings(total // first, most - 1)]
  return out


def _reshape():
  """Every pair of factorings of 8, 12 and 16, some with dims of size 1."""
  pairs = []
  for total in (8, 12, 16):
    shapes = _factorings(total, 3)
    pairs += [p for p in itertools.product(shapes, shapes)
              if max(map(len, p)) < 3 or sum(map(len, p)) < 6]
  pairs += [((1, 8), (8,)), ((8,), (1, 8)), ((8, 1), (1, 8)), ((1, 8), (2, 4)),
            ((8, 1), (8, 1, 1)), ((2, 1, 4), (8,)), ((8,), (2, 1, 4)), ((1,), ()),
            ((), (1,)), ((), ()), ((0, 4), (0,)), ((0, 4), (4, 0)), ((0, 8), (0, 2, 4)),
            ((2, 2, 2, 2), (4, 4)), ((4, 4), (2, 2, 2, 2)), ((2, 2, 4), (2, 2, 2, 2)),
            ((8,), (3, 3)), ((6, 2), (12,)), ((3, 4), (12,)), ((1, 1, 8), (8, 1, 1))]
  given = {((8,), (2, 4)), ((2, 4), (8,)), ((16,), (4, 4)), ((4, 4), (16,)),
           ((12,), (3, 4)), ((2, 8), (8, 2)), ((8, 1), (1, 8)), ((4, 4), (2, 2, 4))}
  forms = []
  for old, new in pairs:
    params = {"new_sizes": new, "dimensions": None}
    if (old, new) in given:
      forms.append(form(params, old, out=("sharding", len(new))))
    else:
      forms.append(form({**params, "sharding": None}, old, share=0.3))
  for old, new, dims in (((4, 4), (4, 4), (1, 0)), ((4, 8), (2, 2, 8), (1, 0)),
                         ((4, 4), (16,), (1, 0)), ((4, 2), (8,), (0, 1))):
    forms.append(form({"new_sizes": new, "dimensions": dims}, old,
                      out=("sharding", len(new)), share=0.3))
  return forms


def _permuting(table):
  shapes = {2: [(8, 8), (1, 8), (6, 4)], 1: [(8,)], 0: [()], 3: [(8, 4, 2)],
            4: [(4, 2, 2, 3)]}
  rows = [(perm, shape) for rank in (2, 1, 0, 3, 4) for shape in shapes[rank]
          for perm in list(itertools.permutations(range(rank)))[::-1][:6]]
  table["transpose"] = [form({"permutation": p}, s, share=0.4) for p, s in rows]
  table["rev"] = [form({"dimensions": d}, s, share=0.4) for d, s in (
      ((0,), (8, 8)), ((1,), (8, 8)), ((0, 1), (8, 8)), ((), (8, 8)), ((0,), (1, 8)),
      ((0,), (8,)), ((0,), (3,)), ((), ()), ((1,), (8, 4, 2)), ((0, 3), (4, 2, 2, 3)),
      ((0,), (0, 8)), ((2,), (8, 8)))]
  table["squeeze"] = [form({"dimensions": d}, s, share=0.4) for d, s in (
      ((0,), (1, 8)), ((1,), (8, 1)), ((0,), (1,)), ((), (8, 8)), ((), ()),
      ((0, 1), (1, 1)), ((1,), (8, 1, 4)), ((0, 2), (1, 8, 1)), ((1, 3), (4, 1, 2, 1)),
      ((0,), (8, 1)), ((1,), (0, 1)))]


def _joining(table):
  for name, key in (("concatenate", "dimension"), ("stack", "axis")):
    forms = [form({key: d}, *[s] * n, share=0.5) for d, s, n in (
        (0, (8, 8), 2), (1, (8, 8), 2), (0, (8,), 2), (0, (8,), 1), (0, (8, 8), 1),
        (0, (8,), 3), (1, (1, 8), 2), (1, (6, 4), 2), (0, (3,), 2), (1, (8, 4, 2), 2),
        (3, (4, 2, 2, 3), 2), (0, (0, 8), 2), (2, (8, 8), 2))]
    table[name] = forms
  table["concatenate"] += [form({"dimension": d}, a, b, share=0.5) for d, a, b in (
      (0, (8, 8), (4, 8)), (1, (8, 8), (8, 3)), (0, (8,), (1,)), (0, (1, 8), (7, 8)),
      (1, (8, 4, 2), (8, 2, 2)))]
  table["stack"] += [form({"axis": 0}, (), (), share=0.5),
                     form({"axis": -1}, (8,), (8,), share=0.5)]


def _splitting(table):
  table["unstack"] = [form({"axis": a}, s, share=0.4) for a, s in (
      (0, (4, 8)), (1, (8, 4)), (0, (8,)), (0, (1, 8)), (0, (3, 8)), (1, (4, 2, 8)),
      (2, (4, 2, 3, 8)), (0, (0, 8)), (2, (8, 8)))]
  table["split"] = [form({"axis": a, "sizes": z}, s, share=0.4) for a, z, s in (
      (0, (4, 4), (8, 8)), (1, (4, 4), (8, 8)), (0, (2, 6), (8, 8)), (0, (8,), (8, 8)),
      (0, (1, 7), (8,)), (0, (4, 4), (8,)), (0, (2, 2, 4), (8,)), (0, (0, 8), (8,)),
      (1, (1, 1), (8, 2)), (0, (1, 2), (3,)), (1, (2, 2), (8, 4, 2)),
      (3, (1, 3), (4, 2, 2, 4)), (0, (4, 5), (8, 8)), (0, (1,), (1, 8)))]
  table["tile"] = [form({"reps": r}, s, share=0.4) for r, s in (
      ((1, 2), (8, 8)), ((2, 1), (8, 8)), ((1, 1), (8, 8)), ((2, 2), (1, 8)),
      ((3,), (8,)), ((1,), (8,)), ((), ()), ((0, 1), (8, 8)), ((2,), (3,)),
      ((1, 2, 1), (8, 4, 2)), ((1, 1, 1, 2), (4, 2, 2, 3)), ((2,), (8, 8)))]


def _pad(table):
  rows = [((8, 8), ((4, 4, 0), (0, 0, 0))), ((8, 8), ((0, 0, 0), (0, 0, 0))),
          ((8, 8), ((0, 1, 0), (0, 0, 0))), ((8, 8), ((0, 0, 0), (-2, -2, 0))),
          ((8, 8), ((0, 0, 1), (0, 0, 0))), ((8,), ((8, 0, 0),)), ((8,), ((-1, 1, 0),)),
          ((8,), ((-8, 0, 0),)), ((1, 8), ((7, 0, 0), (0, 0, 0))), ((3,), ((1, 0, 0),)),
          ((), ()), ((0, 8), ((2, 2, 0), (0, 0, 0))),
          ((8, 4, 2), ((0, 0, 0), (2, 2, 0), (0, 0, 0))),
          ((4, 2, 2, 3), ((0, 0, 0),) * 3 + ((1, 0, 0),)), ((8, 8), ((1, 1, 0),))]
  table["pad"] = [form({"padding_config": c}, s, (), share=0.4) for s, c in rows]


def describe():
  table = {"broadcast_in_dim": _broadcast(), "reshape": _reshape()}
  _permuting(table)
  _joining(table)
  _splitting(table)
  _pad(table)
  return table
