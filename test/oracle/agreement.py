# agreement.py - the matrix of verdicts that docs/agreement.md tells of.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One description of a primitive in, its part of the matrix out.

A description (descriptions/*.py) is a list of `Form`s: parameters and operand
shapes that fit together, or just do not. Everything else is here and the same for
all primitives: which meshes, which types each operand takes, which values a
sharding parameter takes. `docs/agreement.md` says the same in words.
"""

import dataclasses
import functools
import hashlib
import itertools
import json
import math

import jax
from jax._src import core
from jax.sharding import PartitionSpec as P
import numpy as np

import recorder
from matrix import (ALL_KINDS, M12, M22, M222, MALLAUTO, MAUTO, MNONE, sample,
                    specs, types)
from typetext import UNCHECKED, explicit_axes, parse_mesh

MAUTO3 = "X=2:Auto,Y=2,Z=2"
M121 = "X=2,Y=1,Z=2"
LARGE = (M22, M222)
SMALL = (MAUTO, MAUTO3, M12, M121)
MESHES = LARGE + SMALL + (MALLAUTO, MNONE)


@dataclasses.dataclass(frozen=True)
class Form:
  """One way to bind a primitive.

  operands: (shape, dtype as the notation spells it) of each.
  out: (key, rank) of the parameter that may hold a sharding, and of the result
    it is for; without one, None. `needed`: it always holds one.
  share: how much of the usual number of drawn cases; 0.1 for a corner. The first
    form of a primitive has all combinations without sets, whatever it says here.
  """
  params: dict
  operands: tuple
  out: tuple = None
  share: float = 1.0
  needed: bool = False

  @property
  def seed(self):
    return f"{self.operands}|" + "|".join(
        f"{k}={self.params[k]}" for k in sorted(self.params))


def form(params, *operands, out=None, share=1.0, dtype="f32", needed=False):
  """Operands are shapes, or (shape, dtype)."""
  typed = tuple(o if len(o) == 2 and isinstance(o[1], str) else (o, dtype)
                for o in operands)
  return Form(params, typed, out, share, needed)


@functools.cache
def lookup(name):
  """The primitive that prints under this name."""
  import sys  # pylint: disable=import-outside-toplevel
  for module in [m for n, m in sorted(sys.modules.items()) if n.startswith("jax")]:
    for value in list(vars(module).values()):
      if isinstance(value, core.Primitive) and value.name == name:
        return value
  raise KeyError(name)


def _number(text):
  return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


class Draw:
  """Numbers that are the same in every run."""

  def __init__(self, seed):
    self.seed, self.count = seed, 0

  def below(self, n):
    self.count += 1
    return _number(f"{self.seed}|{self.count}") % n


@functools.cache
def _plain(mesh, shape, dtype):
  """Every partition without sets, and the value without a mesh."""
  out = types(mesh, shape, dtype, ur=False, tuples=3, numpy=True,
              weak=shape == () and not dtype.startswith("key"))
  return out if len(shape) < 3 else sample(out, 24, f"plain{mesh}{shape}{dtype}")


@functools.cache
def _all(mesh, shape, dtype):
  """The same with every U, R and kind; a sample of 120 for three dims and more."""
  plain = _plain(mesh, shape, dtype)
  known = set(plain)
  sets = [t for t in types(mesh, shape, dtype, kinds=ALL_KINDS,
                           tuples=3 if len(shape) < 3 else True)
          if t not in known]
  if len(shape) > 2:
    sets = sample([t for t in sets if "{" in t], 96, f"sets{mesh}{shape}{dtype}")
  return plain + sets


@functools.cache
def _placement(text):
  """(axes of each dim, sets) of a type's text."""
  body = text[text.index("[") + 1:text.index("]")]
  dims, depth, item = [], 0, ""
  for ch in body + ",":
    depth += {"(": 1, ")": -1}.get(ch, 0)
    if ch == "," and not depth:
      dims.append(item.partition("@")[2])
      item = ""
    else:
      item += ch
  return tuple(dims) if body else (), text[text.index("]") + 1:]


@functools.cache
def _by_placement(mesh, shape, dtype):
  by_all, by_sets = {}, {}
  for i, text in enumerate(_all(mesh, shape, dtype)):
    dims, sets = _placement(text)
    by_all.setdefault((dims, sets), i)
    by_sets.setdefault(sets, []).append(i)
  return by_all, by_sets


def _alike(mesh, operands, draw):
  """One combination: all operands placed as the first is, as far as shapes let."""
  first = _all(mesh, *operands[0])
  out = [draw.below(len(first))]
  dims, sets = _placement(first[out[0]])
  for shape, dtype in operands[1:]:
    by_all, by_sets = _by_placement(mesh, shape, dtype)
    same = by_all.get((dims, sets)) if len(shape) == len(operands[0][0]) else None
    choices = by_sets.get(sets) or range(len(_all(mesh, shape, dtype)))
    out.append(choices[draw.below(len(choices))] if same is None else same)
  return out


def _combinations(mesh, operands, count, seed):
  """`count` combinations with sets: half alike, a quarter alike but for one
  operand, a quarter at random."""
  lists = [_all(mesh, *o) for o in operands]
  draw, seen = Draw(seed), {}
  for step in range(count * 3):
    if len(seen) >= count:
      break
    combo = _alike(mesh, operands, draw)
    if step % 4 == 2:
      at = draw.below(len(lists))
      combo[at] = draw.below(len(lists[at]))
    elif step % 4 == 3:
      combo = [draw.below(len(l)) for l in lists]
    seen[tuple(combo)] = None
  return lists, sorted(seen)


class Writer:
  """The lines of one file (README.md, "The matrix")."""

  def __init__(self, name, way=recorder.by_abstract_eval, meshes=MESHES):
    self.name, self.way, self.meshes = name, way, meshes
    self.traced, self.many = False, (_MANY, _FEW, _ALWAYS)
    self.lines, self.lists, self.messages, self.done = [], {}, {}, set()
    self.count = self.accepted = 0

  def _list(self, texts):
    key = tuple(texts)
    if key not in self.lists:
      self.lists[key] = len(self.lists)
      self.lines.append(json.dumps({"types": texts}, separators=(",", ":")))
    return self.lists[key]

  def group(self, mesh, name, params, lists, combos=None):
    """Judges all combinations of the lists, or those of these positions."""
    abstract = parse_mesh(mesh)
    check_vma = False if mesh.endswith(UNCHECKED) else None
    try:
      params = {k: recorder._on_mesh(v, abstract) for k, v in params.items()}
    except Exception:  # JAX refuses to build the sharding
      return
    shown = {k: recorder._print(k, params[k], abstract) for k in sorted(params)}
    sizes = [len(l) for l in lists]
    everything = combos is None and not self.traced
    if combos is None:
      combos = itertools.product(*map(range, sizes))
    table, verdicts, gaps, at, last = {}, [], [], [], -1
    head = json.dumps([mesh, name, shown])
    for combo in combos:
      operands = [l[i] for l, i in zip(lists, combo)]
      case = (head, tuple(operands))
      if not everything and case in self.done:
        continue
      # Whole programs are typed for values on the mesh only.
      if self.traced and any(t.startswith(("np:", "~")) for t in operands):
        continue
      self.done.add(case)
      try:
        verdict, err = recorder.judge(None if self.traced else lookup(name),
                                      operands, params, abstract, self.way,
                                      check_vma)
      except ValueError:  # a result on another mesh: the notation has none
        everything = False
        continue
      if err is not None:
        text = (str(err).splitlines() or [""])[0][:160]
        self.messages.setdefault((verdict, name), text)
      self.accepted += err is None
      verdicts.append(table.setdefault(json.dumps(verdict), len(table)))
      place = 0
      for size, i in zip(sizes, combo):
        place = place * size + i
      gaps.append(place - last)
      at += combo
      last = place
    self.count += len(verdicts)
    if not verdicts:
      return
    line = {"mesh": mesh, "p": name, "params": shown,
            "in": [self._list(l) for l in lists],
            "v": [json.loads(t) for t in table], "c": verdicts}
    if not everything:
      line.update({"n": gaps} if math.prod(sizes) < 2**53 else {"at": at})
    self.lines.append(json.dumps(line, separators=(",", ":")))

  def text(self):
    return "".join(line + "\n" for line in self.lines)

  def counts(self):
    return self.count, self.accepted


# What JAX 0.11.1 is asked: primitives that it decided otherwise (spec 01, 6.4), and
# some more of their kind. Only on meshes that are all Explicit: on others 0.11 fails
# by accident on every U and R.
OLDER = ("reduce_max", "reduce_min", "reduce_sum", "reshape", "squeeze", "stack",
         "concatenate", "transpose", "slice", "dynamic_update_slice", "threefry2x32",
         "philox2x32", "random_fold_in", "neg", "sub", "add", "sin", "max", "real")
_OLDER_MESHES = (M22, M12)

# For a form: (combinations without sets in a primitive's first form, in others,
# drawn with sets). Up to 60 combinations, as one operand has, are always all.
_MANY, _FEW, _ALWAYS = (2600, 800, 150), (100, 100, 30), 60


def _base(w, name, f, first):
  """Without a sharding parameter, on every mesh."""
  many, few, always = w.many
  for mesh in w.meshes:
    whole, most, drawn = many if mesh in LARGE else few
    drawn = max(4, int(drawn * f.share))
    most = whole if first else max(always, int(most * f.share))
    if first and len(f.operands) == 1 and not w.traced:
      drawn = 1000  # a first form of one operand has them all
    elif first and not w.traced:
      drawn *= 4
    params = {**f.params, f.out[0]: None} if f.out else f.params
    if not f.operands:
      w.group(mesh, name, params, [])
      continue
    lists = [_plain(mesh, *o) for o in f.operands]
    seed = f"{name}{mesh}{f.seed}"
    if math.prod(map(len, lists)) <= most:
      w.group(mesh, name, params, lists)
    else:
      w.group(mesh, name, params, lists, _spread(lists, most, seed))
    if not explicit_axes(parse_mesh(mesh)):
      continue
    if len(f.operands) == 1 and len(_all(mesh, *f.operands[0])) <= drawn:
      w.group(mesh, name, params, [_all(mesh, *f.operands[0])],
              [(i,) for i in range(len(_plain(mesh, *f.operands[0])),
                                   len(_all(mesh, *f.operands[0])))])
    else:
      w.group(mesh, name, params, *_combinations(mesh, f.operands, drawn, seed))


def _spread(lists, count, seed):
  draw, seen = Draw(seed), set()
  for _ in range(count * 2):
    if len(seen) >= count:
      break
    seen.add(tuple(draw.below(len(l)) for l in lists))
  return sorted(seen)


def _with_parameter(w, name, f, more):
  """Every value of the sharding parameter up to rank 2, a sample above."""
  key, rank = f.out
  for mesh in [m for m in LARGE + SMALL if m in w.meshes]:
    large = mesh in LARGE
    plain = specs(mesh, rank, ur=False, tuples=3 if rank < 3 else True)
    if rank > 2 or not large:
      plain = sample(plain, 20 if large else 8, f"{name}{mesh}{f.seed}")
    sets = [s for s in specs(mesh, rank, kinds=ALL_KINDS, tuples=rank < 3)
            if s.unreduced or s.reduced]
    sets = sample(sets, int((40 if large else 10) * (2 if more else f.share)),
                  f"{name}{mesh}{f.seed}")
    # Auto axes never reach a primitive: every function refuses them first.
    first = explicit_axes(parse_mesh(mesh))[0]
    odd = [P(), P(first), P(*[None] * (rank + 1))]
    for spec in dict.fromkeys(plain + sets + odd):
      seed = f"{name}{mesh}{f.seed}{recorder.print_param(spec, parse_mesh(mesh))}"
      params = {**f.params, key: spec}
      if f.operands:
        count = max(2, int((12 if large else 5) * (2 if more else f.share)))
        w.group(mesh, name, params,
                *_combinations(mesh, f.operands, count, seed))
      else:
        w.group(mesh, name, params, [])


def record(module, way=recorder.by_abstract_eval, older=False):
  """The Writer of one module of descriptions, filled; older: as for JAX 0.11."""
  w = Writer(module.__name__.rpartition(".")[2], way,
             _OLDER_MESHES if older else MESHES)
  if hasattr(module, "record"):  # meshes and types of its own
    module.record(w)
    return w
  if hasattr(module, "way"):
    w.way, w.traced, w.many = module.way, True, module.COUNTS
  for name, forms in module.describe().items():
    if older and name not in OLDER:
      continue
    for i, f in enumerate(forms):
      if not f.needed:
        _base(w, name, f, i == 0)
      if f.out:
        _with_parameter(w, name, f, i == 0)
  return w
