# matrix.py - the types and specs that the cases are made of.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Enumeration of specs and types on a mesh, and samples that never change.

Nothing here uses a random generator: a sample takes the items whose hash
(of the seed text and the item's own text) is smallest, so it is the same in
every process and every Python release.
"""

import hashlib
import itertools

from jax.sharding import PartitionSpec
from typetext import (KINDS, TypeTextError, explicit_axes, parse_mesh,
                      parse_type)

M22 = "X=2,Y=2"
M222 = "X=2,Y=2,Z=2"
MAUTO = "X=2,Y=2:Auto"
M12 = "X=1,Y=2"
MALLAUTO = "X=2:Auto,Y=2:Auto"
MNONE = ""
MAIN = (M22, M222, MAUTO, M12)


def _digest(seed, item):
  if isinstance(item, PartitionSpec):  # its own text has sets in hash order
    item = (item.partitions, sorted(item.unreduced), sorted(item.reduced),
            item.unreduced_kind)
  return hashlib.blake2b(f"{seed}|{item}".encode(), digest_size=8).digest()


def sample(items, count, seed):
  """At most `count` of `items`, in their own order, the same ones always."""
  items = list(items)
  if len(items) <= count:
    return items
  ranked = sorted(range(len(items)), key=lambda i: _digest(seed, items[i]))
  return [items[i] for i in sorted(ranked[:count])]


def _entries(axes, tuples):
  """Every entry over these axes: none, one axis, ordered pairs, or (where
  `tuples` is a number) ordered tuples of up to so many."""
  longest = 2 if tuples is True else int(tuples)
  out = [()] + [(a,) for a in axes]
  for length in range(2, longest + 1):
    out += list(itertools.permutations(axes, length))
  return out


def partitions(mesh_text, rank, tuples=True):
  """All partitions of `rank` dims: tuples of tuples of axes, none used twice."""
  axes = explicit_axes(parse_mesh(mesh_text))
  out = []
  for combo in itertools.product(_entries(axes, tuples), repeat=rank):
    used = [a for e in combo for a in e]
    if len(used) == len(set(used)):
      out.append(combo)
  return out


def _sets(free, kinds, reduced):
  """All (kind, U, R) over the free axes; kind '' is sum, None means no U."""
  out = []
  for states in itertools.product(" UR" if reduced else " U", repeat=len(free)):
    u = tuple(a for a, s in zip(free, states) if s == "U")
    r = tuple(a for a, s in zip(free, states) if s == "R")
    out += [(k, u, r) for k in (kinds if u else (None,))]
  return out


def _axes_text(axes):
  return axes[0] if len(axes) == 1 else "(" + ",".join(axes) + ")"


def _sets_text(kind, u, r):
  items = []
  if u:
    items.append(("U_" + kind if kind else "U") + ":" + _axes_text(u))
  if r:
    items.append("R:" + _axes_text(r))
  return "{" + ", ".join(items) + "}" if items else ""


def types(mesh_text, shape, dtype="f32", ur=True, kinds=("",), tuples=True,
          numpy=False, weak=False, space="", prefix=""):
  """All types of this shape on the mesh as text, numpy and weak forms last.

  ur: with U and R sets; kinds: kinds of U ('' is sum); tuples: entries of two
  axes. Types that JAX refuses (divisibility) are left out.
  """
  mesh = parse_mesh(mesh_text)
  axes = explicit_axes(mesh)
  out = []
  if mesh_text:
    for combo in partitions(mesh_text, len(shape), tuples):
      used = {a for e in combo for a in e}
      free = [a for a in axes if a not in used]
      dims = ",".join(f"{n}@{_axes_text(e)}" if e else str(n)
                      for n, e in zip(shape, combo))
      for sets in (_sets(free, kinds, True) if ur else [(None, (), ())]):
        out.append(f"{prefix}{dtype}{space}[{dims}]{_sets_text(*sets)}")
  dims = ",".join(map(str, shape))
  plain = f"{dtype}{space}[{dims}]"
  if not mesh_text:
    return [plain] + (["~" + plain] if weak else [])
  if weak:
    out.append("~" + plain)
  if numpy:
    out.append("np:" + plain)
    if weak:
      out.append("np:~" + plain)
  return [t for t in out if _builds(t, mesh)]


def _builds(text, mesh):
  try:
    parse_type(text, mesh)
    return True
  except TypeTextError:
    return False


def specs(mesh_text, rank, ur=True, kinds=("",), tuples=True):
  """All PartitionSpecs for `rank` dims (values of sharding parameters)."""
  axes = explicit_axes(parse_mesh(mesh_text))
  out = []
  for combo in partitions(mesh_text, rank, tuples):
    used = {a for e in combo for a in e}
    free = [a for a in axes if a not in used]
    entries = [None if not e else e[0] if len(e) == 1 else e for e in combo]
    for kind, u, r in (_sets(free, kinds, True) if ur else [(None, (), ())]):
      out.append(PartitionSpec(
          *entries, unreduced=frozenset(u), reduced=frozenset(r),
          unreduced_kind=None if kind is None else KINDS[kind]))
  return out


ALL_KINDS = tuple(KINDS)
