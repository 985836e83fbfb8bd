# manual.py - what the body of a shard_map may hold: operations, collectives, casts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All primitives of the other descriptions, on operands that vary, are unreduced
or reduced over Manual axes; and the collectives and casts over such axes."""

import functools
import importlib
import itertools
import re

from jax.sharding import AxisType

from agreement import Draw, form
from matrix import sample
from typetext import TypeTextError, parse_mesh, parse_type, print_type

# One to three Manual axes; beside Explicit and Auto ones; one of size 4, of size 1;
# without checks.
MESHES = ("i=2:Manual", "i=2:Manual,j=2:Manual", "i=2:Manual,j=2:Manual,k=2:Manual",
          "i=2:Manual,j=2", "j=2,i=2:Manual", "i=2:Manual,j=2:Auto",
          "i=2:Manual,j=2:Manual,k=2", "j=4:Manual,i=2:Manual", "i=1:Manual,j=2:Manual",
          "i=2:Manual,j=2:Manual unchecked", "i=2:Manual,j=2 unchecked")
OTHERS = ("elementwise", "reshaping", "contraction", "reduction", "indexing",
          "windows", "random", "sharding", "linalg", "rare")
FORMS = 4  # of a primitive
OPERANDS = 12  # combinations of a form on a mesh
COLLECTED = 40  # the same of a collective


def _names(axes):
  return axes[0] if len(axes) == 1 else "(" + ",".join(axes) + ")"


def _text(mesh, shape, dtype, states):
  """The type whose axes are in these states: V, U, R, none, or on a dim."""
  dims = [str(n) for n in shape]
  for axis, state in zip(mesh.axis_names, states):
    if isinstance(state, int):
      dims[state] += "@" + axis
  sets = []
  for letter in ("V", "U", "U_max", "U_min", "R"):
    axes = [a for a, s in zip(mesh.axis_names, states) if s == letter]
    sets += [f"{letter}:{_names(axes)}"] if axes else []
  return f"{dtype}[{','.join(dims)}]" + ("{" + ", ".join(sets) + "}" if sets else "")


def _builds(text, mesh):
  """False for types that JAX refuses, and for those that have no text."""
  try:
    return print_type(parse_type(text, mesh), mesh) == text
  except (TypeTextError, ValueError):
    return False


@functools.cache
def _types(mesh_text, shape, dtype):
  """{states: type}, the value without a mesh last."""
  mesh = parse_mesh(mesh_text)
  choices = []
  for kind in mesh.axis_types:
    if kind == AxisType.Manual:
      choices.append((None, "V", "U", "R"))
    elif kind == AxisType.Explicit:
      choices.append((None, *range(len(shape)), "U", "R"))
    else:
      choices.append((None,))
  every = list(itertools.product(*choices))
  for kind in ("U_max", "U_min"):
    every += [tuple(kind if s == "U" else s for s in states)
              for states in itertools.product(*choices) if "U" in states]
  out = {states: _text(mesh, shape, dtype, states) for states in every}
  out = {s: t for s, t in out.items() if _builds(t, mesh)}
  out["no mesh"] = f"np:{dtype}[{','.join(map(str, shape))}]"
  return out


def _mild(states):
  return [i for i, s in enumerate(states)
          if not {"U", "U_max", "U_min", "R"} & set(s)]


def _combinations(mesh_text, operands, count, seed):
  """`count` combinations: half of all with V only; half with all operands in
  one state, a quarter with one in another, a quarter at random."""
  tables = [_types(mesh_text, *o) for o in operands]
  lists = [list(t.values()) for t in tables]
  if len(lists) == 1:
    return lists, sample([(i,) for i in range(len(lists[0]))], count, seed)
  states = [list(t) for t in tables]
  every = [range(len(s)) for s in states]
  mild = [_mild(s) for s in states]
  draw, seen = Draw(seed), {}

  def pick(choices):
    return choices[draw.below(len(choices))]

  for step in range(count * 3):
    if len(seen) >= count:
      break
    allowed = mild if step % 2 else every
    first = pick(allowed[0])
    combo = [first] + [
        s.index(states[0][first]) if states[0][first] in s else pick(a)
        for s, a in zip(states[1:], allowed[1:])]
    if step // 2 % 4 == 2:
      at = draw.below(len(combo))
      combo[at] = pick(allowed[at])
    elif step // 2 % 4 == 3:
      combo = [pick(a) for a in allowed]
    seen[tuple(combo)] = None
  return lists, sorted(seen)


def _group(w, mesh, name, f, count):
  params = {**f.params, f.out[0]: None} if f.out else f.params
  if not f.operands:
    w.group(mesh, name, params, [])
    return
  lists, combos = _combinations(mesh, f.operands, count, f"{name}{mesh}{f.seed}")
  w.group(mesh, name, params, lists, combos)


# Collectives and casts.

_CASTS = ("pvary", "preduced", "vary_unreduced_cast", "reduced_vary_cast",
          "psum_invariant", "unreduced_psum", "unreduced_pmax", "unreduced_pmin")
_SHAPES = ((4, 2), (8, 3), (6,))


def _groups_of(size):
  """axis_index_groups: none, halves, singles."""
  half = size // 2
  return [None] + ([(tuple(range(half)), tuple(range(half, size))),
                    tuple((i,) for i in range(size))] if size > 1 else [])


def _sums(axes, size, shapes):
  for s in shapes:
    for name in _CASTS:
      yield name, form({"axes": axes}, s)
    for name in ("psum", "pmax", "pmin"):
      for groups in _groups_of(size):
        yield name, form({"axes": axes, "axis_index_groups": groups}, s)
  # Dims that are summed as well.
  for more in ((*axes, 0), (1,), (*axes, len(shapes[0]))):
    for name in ("psum", "pmax", "pmin"):
      yield name, form({"axes": more, "axis_index_groups": None}, shapes[0])
    yield "psum_invariant", form({"axes": more}, shapes[0])


def _moves(axes, size, shapes):
  ring = tuple((i, (i + 1) % size) for i in range(size))
  for s in shapes:
    for perm in (ring, ((0, 0),), ((0, size),), ((0, 0), (0, 0))):
      yield "ppermute", form({"axis_name": axes, "perm": perm}, s)
    for source in (0, size):
      yield "pbroadcast", form({"axis_name": axes, "source": source}, s)
    yield "pbroadcast_dynamic", form({"axis_name": axes}, s, ((), "i32"))


def _grouped(name, base, shape):
  """`name` with each of its axis_index_groups."""
  for groups in _groups_of(base["axis_size"]):
    size = base["axis_size"] if groups is None else len(groups[0])
    yield name, form(
        {**base, "axis_size": size, "axis_index_groups": groups}, shape)


def _gathers(axes, size, shapes):
  for s, tiled in itertools.product(shapes, (True, False)):
    for dim in range(len(s) + (not tiled)):
      base = {"all_gather_dimension": dim, "axis_name": axes, "axis_size": size,
              "tiled": tiled}
      yield from _grouped("all_gather", base, s)
      for name in ("all_gather_invariant", "all_gather_reduced"):
        yield name, form(base, s)
    for dim in range(len(s)):
      base = {"scatter_dimension": dim, "axis_name": axes, "axis_size": size,
              "tiled": tiled}
      yield from _grouped("reduce_scatter", base, s)
      yield "unreduced_reduce_scatter", form(base, s)


def _exchanges(axes, size, shapes):
  for s in shapes:
    for split, concat in itertools.product(range(len(s)), repeat=2):
      for groups in _groups_of(size):
        yield "all_to_all", form(
            {"axis_index_groups": groups, "axis_name": axes, "concat_axis": concat,
             "split_axis": split, "tiled": True}, s)
  counts = [((size,), "i32")] * 4
  for out, some in (((6, 2), counts), ((6, 3), counts),
                    ((6, 2), counts[:3] + [((size,), "f32")])):
    yield "ragged_all_to_all", form(
        {"axis_name": axes, "axis_index_groups": None}, (4, 2), out, *some)


def _collectives(w, mesh_text):
  mesh = parse_mesh(mesh_text)
  names = mesh.axis_names
  runs = [(a,) for a in (*names, "q")] + list(itertools.permutations(names[:3], 2))
  runs += [names] if len(names) == 3 else []
  for axes in runs:
    size = 1
    for a in axes:
      size *= mesh.shape.get(a, 1)
    shapes = _SHAPES if len(axes) == 1 else _SHAPES[:1]
    for make in (_sums, _moves, _gathers, _exchanges):
      for name, f in make(axes, size, shapes):
        count = COLLECTED if f.operands[0][0] == _SHAPES[0] else COLLECTED // 4
        _group(w, mesh_text, name, f, count)
    if len(axes) == 1:
      _group(w, mesh_text, "axis_index", form({"axis_name": axes[0]}), 1)
  if mesh_text == MESHES[1]:  # An axis that is named twice.
    for name, f in _sums(("i", "i"), 4, _SHAPES[:1]):
      _group(w, mesh_text, name, f, COLLECTED // 4)


def _forms():
  """{primitive: its forms}, without those that need a sharding."""
  out = {}
  for module in OTHERS:
    for name, forms in importlib.import_module("descriptions." + module).describe().items():
      fit = [f for f in forms if not f.needed]
      # What some parameters print has addresses in it.
      texts = [re.sub(r" at 0x[0-9a-f]+", "", str(f)) for f in fit]
      kept = set(sample(texts[1:], FORMS - 1, name))
      out.setdefault(name, []).extend(
          f for i, f in enumerate(fit) if i == 0 or texts[i] in kept)
  params = {"computation": None, "jaxpr": None, "dimensions": (0,)}
  out["reduce"] = [form(params, (8, 4), ()), form(params, (8,), (8,), (), ())]
  return out


def record(w):
  for mesh in MESHES:
    _collectives(w, mesh)
  for name, forms in _forms().items():
    for f, mesh in itertools.product(forms, MESHES):
      _group(w, mesh, name, f, OPERANDS)
