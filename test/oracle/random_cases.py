#!/usr/bin/env python3
# random_cases.py - verdicts on random equations, to compare and throw away.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""random_cases.py SEED COUNT FILE

Writes COUNT groups of one case each in the format of verdicts/FAMILY.jsonl, for
the primitives of reshaping, contraction, reduction and sorting:

    python random_cases.py 7 25000 /tmp/cases.jsonl
    build/test/oracle/oracle_compare /tmp/cases.jsonl

Runs under any JAX that the oracle's modules can be imported in; for 0.11 compare
with `oracle_compare --jax 0.11` (meshes with Auto axes are left out there: 0.11
fails on U and R on them by accident).
"""

import functools
import json
import math
import random
import sys

import jax

import recorder
from matrix import ALL_KINDS, specs, types
from prims import prim
from typetext import parse_dtype, parse_mesh

MESHES = ["X=2,Y=2", "X=4,Y=2", "X=2,Y=3", "X=2,Y=2,Z=2", "X=1,Y=2,Z=2",
          "X=2,Y=1,Z=3"]
if not jax.__version__.startswith("0.11"):
  MESHES += ["X=2,Y=2:Auto", "X=2:Auto,Y=4", "X=2,Y=2,Z=2:Auto"]
SIZES = [1, 2, 3, 4, 6, 8, 12, 16]


@functools.cache
def all_types(mesh, shape, ur, dtype):
  return types(mesh, shape, dtype, ur=ur, kinds=ALL_KINDS, numpy=True)


@functools.cache
def all_specs(mesh, rank):
  return specs(mesh, rank, kinds=ALL_KINDS) + specs(mesh, rank, ur=False)


class Maker:
  """Makes (primitive, parameters, operands) on one mesh."""

  def __init__(self, rng, mesh):
    self.rng = rng
    self.mesh = mesh

  def often(self, share):
    return self.rng.random() < share

  def shape(self, low=0, high=3):
    return tuple(self.rng.choice(SIZES)
                 for _ in range(self.rng.randint(low, high)))

  def type(self, shape, ur=0.25, dtype="f32"):
    return self.rng.choice(all_types(self.mesh, shape, self.often(ur), dtype))

  def spec(self, rank, share):
    """A spec for a sharding parameter, or None."""
    return self.rng.choice(all_specs(self.mesh, rank)) if self.often(share) \
        else None

  def some(self, count):
    return tuple(self.rng.sample(range(count), self.rng.randint(0, count)))

  def parts(self, size):
    """Factors of a size."""
    out = []
    while size > 1 and self.often(0.7):
      out.append(self.rng.choice([d for d in range(2, size + 1)
                                  if size % d == 0]))
      size //= out[-1]
    return out + [size] if size > 1 or not out else out

  def _new_sizes(self, shape):
    way = self.rng.random()
    if way < 0.4:  # splits
      return [p for d in shape
              for p in (self.parts(d) if self.often(0.5) else [d])]
    if way < 0.8:  # merges
      out, run = [], 1
      for size in shape:
        run *= size
        if self.often(0.5):
          out, run = out + [run], 1
      return out + [run] if run != 1 or not out else out
    return self.parts(math.prod(shape))

  def reshape(self):
    shape = self.shape(1)
    new = self._new_sizes(shape)
    for _ in range(2):
      if self.often(0.2):
        new.insert(self.rng.randint(0, len(new)), 1)
    if self.often(0.2):
      shape, new = tuple(new), list(shape)
    if max(len(shape), len(new)) > 4:
      return None
    order = tuple(self.rng.sample(range(len(shape)), len(shape)))
    return "reshape", {"new_sizes": tuple(new),
                       "dimensions": order if self.often(0.1) else None,
                       "sharding": self.spec(len(new), 0.2)
                                   if len(new) < 4 else None}, [self.type(shape)]

  def broadcast_in_dim(self):
    out = self.shape()
    dims = list(self.some(len(out)))
    if self.often(0.8):
      dims.sort()
    shape = tuple(1 if self.often(0.2) else out[d] for d in dims)
    return "broadcast_in_dim", {"shape": out, "broadcast_dimensions": tuple(dims),
                                "sharding": self.spec(len(out), 0.4)}, \
        [self.type(shape)]

  def dot_general(self):
    batch = [("b", i) for i in range(self.rng.choice([0, 0, 1]))]
    contract = [("c", i) for i in range(self.rng.choice([0, 1, 1, 2]))]
    size = {d: self.rng.choice(SIZES) for d in batch + contract + ["l", "r"]}
    sides = []
    for free in ("l", "r"):
      side = batch + contract + ([free] if self.often(0.5) else [])
      self.rng.shuffle(side)
      if len(side) > 3:
        return None
      sides.append(side)
    at = lambda dims: tuple(tuple(side.index(d) for d in dims) for side in sides)
    rank = sum(map(len, sides)) - 2 * len(contract) - len(batch)
    return "dot_general", {
        "dimension_numbers": (at(contract), at(batch)), "precision": None,
        "out_sharding": self.spec(rank, 0.35),
        "preferred_element_type": parse_dtype("f32")}, \
        [self.type(tuple(size[d] for d in side)) for side in sides]

  def reduce(self):
    shape = self.shape()
    axes = self.some(len(shape))
    name = self.rng.choice(["reduce_sum", "reduce_max", "reduce_min"])
    return name, {"axes": axes,
                  "out_sharding": self.spec(len(shape) - len(axes), 0.5)}, \
        [self.type(shape, ur=0.5)]

  def reduce_plain(self):
    shape = self.shape()
    name = self.rng.choice(["reduce_prod", "reduce_and", "reduce_or",
                            "reduce_xor"])
    dtype = "f32" if name == "reduce_prod" else "bool"
    return name, {"axes": self.some(len(shape))}, [self.type(shape, dtype=dtype)]

  def along(self):
    """One operand, along one dim."""
    shape = self.shape(1)
    axis = self.rng.randrange(len(shape))
    name, params = self.rng.choice([
        ("argmax", {"axes": (axis,), "index_dtype": parse_dtype("i32")}),
        ("argmin", {"axes": (axis,), "index_dtype": parse_dtype("i32")}),
        ("top_k", {"k": self.rng.randint(0, shape[axis]), "axis": axis,
                   "is_stable": True}),
        ("unstack", {"axis": axis}),
        ("split", {"axis": axis, "sizes": self._sizes(shape[axis])})] + [
            (name, {"axis": axis, "reverse": False})
            for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")])
    return name, params, [self.type(shape)]

  def _sizes(self, total):
    sizes = []
    while total and self.often(0.8):
      sizes.append(self.rng.randint(0, total))
      total -= sizes[-1]
    return tuple(sizes + [total])

  def sort(self):
    shape = self.shape(1)
    first = self.type(shape)
    return "sort", {"dimension": self.rng.randrange(len(shape)),
                    "is_stable": True, "num_keys": 1}, \
        [first if self.often(0.6) else self.type(shape)
         for _ in range(self.rng.randint(1, 3))]

  def concatenate(self):
    shape = list(self.shape(1))
    dim = self.rng.randrange(len(shape))
    first, operands = self.type(tuple(shape)), []
    for _ in range(self.rng.randint(1, 3)):
      other = list(shape)
      if self.often(0.3):
        other[dim] = self.rng.choice(SIZES)
      same = other == shape and self.often(0.7)
      operands.append(first if same else self.type(tuple(other)))
    return "concatenate", {"dimension": dim}, operands

  def stack(self):
    shape = self.shape()
    first = self.type(shape)
    axis = self.rng.randint(-len(shape) - 1, len(shape))
    return "stack", {"axis": axis}, [
        first if self.often(0.7) else self.type(shape)
        for _ in range(self.rng.randint(1, 3))]

  def one(self):
    """One operand, dim by dim."""
    shape = self.shape()
    n = range(len(shape))
    ones = [i for i in n if shape[i] == 1]
    pick = self.rng.choice
    name, params = pick([
        ("transpose", {"permutation": tuple(self.rng.sample(n, len(shape)))}),
        ("rev", {"dimensions": self.some(len(shape))}),
        ("squeeze", {"dimensions": tuple(
            self.rng.sample(ones, self.rng.randint(0, len(ones))))}),
        ("tile", {"reps": tuple(pick([1, 1, 2, 3]) for _ in n)}),
        ("pad", {"padding_config": tuple(
            (pick([0, 0, 1, 2, -1, 4]), pick([0, 0, 1, 2, -2]), pick([0, 0, 1, 2]))
            for _ in n)})])
    operands = [self.type(shape)]
    return name, params, operands + ([self.type(())] if name == "pad" else [])

  def iota(self):
    shape = self.shape(1)
    return "iota", {"dtype": parse_dtype("i32"), "shape": shape,
                    "dimension": self.rng.randrange(len(shape)),
                    "sharding": self.spec(len(shape), 0.6)}, []


_SHARES = {"reshape": 6, "dot_general": 5, "reduce": 3, "along": 5, "one": 4}


def group(rng):
  """One group, or None if JAX refuses to build its parameters."""
  text = rng.choice(MESHES)
  mesh, maker = parse_mesh(text), Maker(rng, text)
  names = [n for n, f in vars(Maker).items()
           if n not in ("often", "shape", "type", "spec", "some", "parts")
           and not n.startswith("_") and callable(f)]
  made = getattr(maker, rng.choices(
      names, [_SHARES.get(n, 1) for n in names])[0])()
  if made is None:
    return None
  name, params, operands = made
  try:
    params = {k: recorder._on_mesh(v, mesh) for k, v in params.items()}
  except Exception:
    return None
  printed = {k: recorder._print(k, params[k], mesh) for k in sorted(params)}
  verdict, _ = recorder.judge(prim(name), operands, params, mesh)
  return {"mesh": text, "p": name, "params": printed,
          "cases": [[operands, verdict]]}


def main(seed, count, path):
  rng = random.Random(seed)
  with open(path, "w", encoding="utf-8") as out:
    done = 0
    while done < count:
      if (one := group(rng)) is not None:
        out.write(json.dumps(one, separators=(",", ":")) + "\n")
        done += 1


if __name__ == "__main__":
  main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
