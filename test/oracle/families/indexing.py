# indexing.py - slice, dynamic_slice, dynamic_update_slice, gather, scatter.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax.lax import (GatherDimensionNumbers, GatherScatterMode,
                     ScatterDimensionNumbers)

from matrix import (ALL_KINDS, M22, M222, MAIN, MALLAUTO, MNONE, sample, types)
from prims import prim


def _slice(f):
  forms = [((8, 4), (0, 0), (4, 4), None), ((8, 4), (0, 0), (3, 4), None),
           ((8, 4), (0, 1), (8, 3), None), ((8, 4), (0, 0), (8, 4), (2, 1)),
           ((8, 4), (0, 0), (8, 4), (3, 2)), ((8, 4), (1, 0), (2, 4), None),
           ((8, 4), (0, 0), (1, 1), None), ((8, 4), (4, 0), (4, 4), None),
           ((8, 4), (0, 0), (8, 4), None), ((8,), (2,), (3,), (1,)),
           ((8,), (0,), (8,), (7,)), ((), (), (), None),
           ((4, 2, 2), (0, 0, 0), (2, 2, 1), None), ((0, 4), (0, 0), (0, 2), None),
           ((8, 4), (0, 0), (9, 4), None), ((8, 4), (-1, 0), (8, 4), None),
           ((8, 4), (0, 0), (8, 4), (0, 1)), ((8, 4), (0,), (8,), None),
           ((8, 4), (5, 0), (4, 4), None)]
  for mesh in MAIN + (MALLAUTO,):
    for shape, start, limit, strides in forms:
      f.add(mesh, prim("slice"),
            {"start_indices": start, "limit_indices": limit, "strides": strides},
            types(mesh, shape, kinds=ALL_KINDS, numpy=True, weak=len(shape) < 2),
            limit=14 if mesh == M22 else 6)
  f.add(M22, prim("slice"), {"start_indices": (0,), "limit_indices": (4,),
                             "strides": None},
        ["key<fry>[8@X]", "f32<host>[8@X]", "bool[8@(X,Y)]", "key<fry>[8]{R:Y}"])


def _dynamic(f):
  forms = [((8, 4), (4, 4)), ((8, 4), (3, 4)), ((8, 4), (1, 4)), ((8, 4), (1, 1)),
           ((8, 4), (8, 4)), ((8,), (2,)), ((), ()), ((8, 4), (0, 4)),
           ((8, 4), (9, 4)), ((4, 2, 2), (2, 2, 1)), ((8, 4), (8,))]
  for mesh in MAIN + (MALLAUTO, MNONE):
    index = types(mesh, (), "i32", ur=False, numpy=True, weak=True)
    for shape, sizes in forms:
      ops = types(mesh, shape, kinds=ALL_KINDS, numpy=True)
      tail = [[i] for i in index[:1]] * len(shape)
      f.add(mesh, prim("dynamic_slice"), {"slice_sizes": sizes}, ops, *tail,
            limit=14 if mesh == M22 else 6)
    f.add(mesh, prim("dynamic_slice"), {"slice_sizes": (2,)},
          types(mesh, (8,), numpy=True, weak=True),
          types(mesh, (), "i32", numpy=True, weak=True) + ["u8[]", "f32[]", "i32[1]"],
          limit=30)
    for shape, update in (((8, 4), (4, 4)), ((8, 4), (8, 4)), ((8,), (3,)),
                          ((8, 4), (1, 4)), ((4, 2, 2), (2, 2, 2)), ((8, 4), (9, 4)),
                          ((), ()), ((8, 4), (0, 4)), ((8, 4), (4,))):
      ops = types(mesh, shape, kinds=ALL_KINDS, numpy=True)
      new = types(mesh, update, kinds=ALL_KINDS, numpy=True)
      tail = [index[:1]] * len(shape)
      f.add(mesh, prim("dynamic_update_slice"), {}, ops, new, *tail,
            limit=50 if mesh == M22 else 16)
    same = types(mesh, (8,), kinds=ALL_KINDS, numpy=True, weak=True)
    f.add(mesh, prim("dynamic_update_slice"), {}, cases=[
        (t, t, i) for t in same for i in types(
            mesh, (), "i32", numpy=True) + ["i64[]", "f32[]"]], limit=50)
  f.add(M22, prim("dynamic_update_slice"), {}, ["f32[8@X]", "~f32[8]", "f32<host>[8]"],
        ["i32[4@X]", "f32[4@X]", "f32[4]", "~f32[4]", "f32<host>[4]"], ["i32[]", "np:i32[]"])


# (operand, indices, offset, collapsed, index map, ob, ib, slice sizes)
_GATHERS = [
    ((8, 4), (3, 1), (1,), (0,), (0,), (), (), (1, 4)),
    ((8, 4), (4, 1), (0,), (1,), (1,), (), (), (8, 1)),
    ((8, 4), (4, 2), (), (0, 1), (0, 1), (), (), (1, 1)),
    ((8, 4), (2,), (), (0, 1), (0, 1), (), (), (1, 1)),
    ((8, 4), (2, 4, 1), (2,), (0,), (0,), (), (), (1, 4)),
    ((8, 4), (3, 1), (1, 2), (), (0,), (), (), (2, 4)),
    ((8, 4), (3, 1), (1, 2), (), (0,), (), (), (8, 4)),
    ((8, 4), (3, 1), (1, 2), (), (0,), (), (), (1, 2)),
    ((8, 4), (4, 1), (0, 2), (), (1,), (), (), (8, 2)),
    ((8, 4), (8, 3, 1), (), (1,), (1,), (0,), (0,), (1, 1)),
    ((8, 4), (3, 8, 1), (), (1,), (1,), (0,), (1,), (1, 1)),
    ((8, 4), (8, 1), (), (1,), (1,), (0,), (0,), (1, 1)),
    ((8, 4, 2), (8, 2, 1), (2,), (1,), (1,), (0,), (0,), (1, 1, 2)),
    ((8,), (4, 1), (), (0,), (0,), (), (), (1,)),
    ((8,), (2, 2, 1), (), (0,), (0,), (), (), (1,)),
    ((4, 2, 2), (3, 1), (1, 2), (1,), (1,), (), (), (4, 1, 2)),
    ((8, 4), (2, 0), (1, 2), (), (), (), (), (8, 4)),
    ((8, 4), (2, 4, 1), (), (1,), (1,), (0,), (1,), (1, 1)),
]
_BAD_GATHERS = [
    ((8, 4), (3, 1), (1,), (0,), (0,), (), (), (2, 4)),
    ((8, 4), (3, 1), (1,), (0,), (0, 1), (), (), (1, 4)),
    ((8, 4), (3, 1), (1, 2), (0,), (0,), (), (), (1, 4)),
    ((8, 4), (3, 1), (1,), (0,), (2,), (), (), (1, 4)),
    ((8, 4), (3, 1), (1,), (0,), (0,), (), (), (1, 5)),
    ((8, 4), (3, 1), (3,), (0,), (0,), (), (), (1, 4)),
]


def _gather_params(form, mode=GatherScatterMode.PROMISE_IN_BOUNDS, fill=None):
  _, _, offset, collapsed, index_map, ob, ib, sizes = form
  return {"dimension_numbers": GatherDimensionNumbers(
      offset, collapsed, index_map, ob, ib), "slice_sizes": sizes,
          "unique_indices": False, "indices_are_sorted": False,
          "mode": mode, "fill_value": fill}


def _gather(f):
  p = prim("gather")
  for form in _GATHERS:
    for mesh in MAIN:
      ops = types(mesh, form[0], numpy=True, kinds=("", "max"))
      index = types(mesh, form[1], "i32", numpy=True)
      plain = types(mesh, form[0], ur=False, numpy=True)
      at = types(mesh, form[1], "i32", ur=False, numpy=True)
      f.add(mesh, p, _gather_params(form), plain, at,
            limit=32 if mesh == M22 else 10)
      f.add(mesh, p, _gather_params(form), ops, index,
            limit=16 if mesh == M22 else 7)
  for mesh in (MALLAUTO, MNONE):
    form = _GATHERS[0]
    f.add(mesh, p, _gather_params(form), types(mesh, form[0], numpy=True),
          types(mesh, form[1], "i32", numpy=True))
  for form in _BAD_GATHERS:
    f.add(M22, p, _gather_params(form), types(M22, form[0], ur=False)[:4],
          types(M22, form[1], "i32", ur=False)[:2], limit=3)
  f.add(M22, p, _gather_params(_GATHERS[0], GatherScatterMode.FILL_OR_DROP, 0.0),
        types(M22, (8, 4), numpy=True), types(M22, (3, 1), "i32", numpy=True), limit=20)
  f.add(M22, p, _gather_params(_GATHERS[0], GatherScatterMode.CLIP),
        ["f32[8,4@Y]", "key<fry>[8,4@X]", "~f32[8,4]", "f32<host>[8,4@X]", "bool[8@X,4]"],
        ["i32[3,1]", "u8[3,1]", "f32[3,1]", "np:~i32[3,1]", "i32[3]", "i32[2@X,1]"])


# (operand, indices, updates, window, inserted, to operand, ob, ib)
_SCATTERS = [
    ((8, 4), (3, 1), (3, 4), (1,), (0,), (0,), (), ()),
    ((8, 4), (4, 1), (8, 4), (0,), (1,), (1,), (), ()),
    ((8, 4), (4, 2), (4,), (), (0, 1), (0, 1), (), ()),
    ((8, 4), (1,), (4,), (0,), (0,), (0,), (), ()),
    ((8, 4), (2, 4, 1), (2, 4, 4), (2,), (0,), (0,), (), ()),
    ((8, 4), (3, 1), (3, 2, 4), (1, 2), (), (0,), (), ()),
    ((8, 4), (3, 1), (3, 8, 4), (1, 2), (), (0,), (), ()),
    ((8, 4), (3, 1), (3, 1, 2), (1, 2), (), (0,), (), ()),
    ((8, 4), (8, 2, 1), (8, 2), (), (1,), (1,), (0,), (0,)),
    ((8, 4), (2, 8, 1), (2, 8), (), (1,), (1,), (0,), (1,)),
    ((8, 4), (8, 1), (8,), (), (1,), (1,), (0,), (0,)),
    ((8,), (4, 1), (4,), (), (0,), (0,), (), ()),
    ((8, 4, 2), (8, 2, 1), (8, 2, 2), (2,), (1,), (1,), (0,), (0,)),
    ((4, 2, 2), (3, 1), (3, 4, 2), (1, 2), (1,), (1,), (), ()),
]
_BAD_SCATTERS = [
    ((8, 4), (3, 1), (2, 4), (1,), (0,), (0,), (), ()),
    ((8, 4), (3, 1), (3, 5), (1,), (0,), (0,), (), ()),
    ((8, 4), (3, 1), (3, 4), (1,), (0,), (0, 1), (), ()),
    ((8, 4), (3, 1), (3, 4), (2,), (0,), (0,), (), ()),
    ((8, 4), (3, 1), (3, 4), (1,), (), (0,), (), ()),
]


def _scatter_params(form, mode=GatherScatterMode.FILL_OR_DROP):
  *_, window, inserted, to_operand, ob, ib = form
  return {"dimension_numbers": ScatterDimensionNumbers(
      window, inserted, to_operand, ob, ib), "indices_are_sorted": False,
          "unique_indices": False, "mode": mode, "update_jaxpr": None,
          "update_consts": ()}


def _scatter(f):
  for name in ("scatter", "scatter-add"):
    for form in _SCATTERS:
      for mesh in MAIN:
        plain = [types(mesh, s, d, ur=False, numpy=True, tuples=mesh != M222)
                 for s, d in zip(form[:3], ("f32", "i32", "f32"))]
        full = [types(mesh, s, d, numpy=True, kinds=("", "max"))
                for s, d in zip(form[:3], ("f32", "i32", "f32"))]
        f.add(mesh, prim(name), _scatter_params(form),
              cases=_often_unsharded(plain), limit=28 if mesh == M22 else 9)
        f.add(mesh, prim(name), _scatter_params(form),
              cases=_often_unsharded(full), limit=16 if mesh == M22 else 7)
    for form in _BAD_SCATTERS:
      f.add(M22, prim(name), _scatter_params(form),
            *[types(M22, s, d, ur=False)[:2]
              for s, d in zip(form[:3], ("f32", "i32", "f32"))], limit=3)
    f.add(M22, prim(name), _scatter_params(_SCATTERS[0], GatherScatterMode.CLIP),
          ["f32[8,4@Y]", "~f32[8,4]", "f32<host>[8,4]", "i32[8,4@Y]"],
          ["i32[3,1]", "f32[3,1]", "np:u8[3,1]", "i32[3]"],
          ["f32[3,4@Y]", "~f32[3,4]", "f32<host>[3,4]", "i32[3,4@Y]"])


def _often_unsharded(lists):
  """All pairs (operand, updates) with few indices, then few of the others."""
  operands, indices, updates = lists
  few = indices[:1] + indices[-1:]
  cases = [(a, i, u) for a in operands for i in few for u in updates]
  cases = sample(cases, 400, "pairs")
  some_a, some_u = sample(operands, 8, "a"), sample(updates, 8, "u")
  more = [(a, i, u) for a in some_a for i in indices for u in some_u]
  return list(dict.fromkeys(cases + sample(more, 300, "all")))


def record(f):
  _slice(f)
  _dynamic(f)
  _gather(f)
  _scatter(f)
