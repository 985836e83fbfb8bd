# recorder.py - evaluates primitives on real JAX and collects their verdicts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A `Family` is one verdict file: groups of cases, each asked of JAX once."""

import itertools
import json

import jax
from jax._src import core, linear_util as lu
from jax._src.interpreters import partial_eval as pe
from jax.sharding import NamedSharding, PartitionSpec

import errors
from matrix import sample
from typetext import inside, parse_mesh, parse_type, print_param, print_type

# A group of more combinations is sampled before it is evaluated: so many for
# each case that is wanted, and never more than the second number.
_EVALUATE_PER_CASE, _EVALUATE_AT_MOST = 40, 2500


def by_abstract_eval(prim, avals, params):
  """The primitive's own typing, as tracing calls it."""
  out, _ = prim.abstract_eval(*avals, **params)
  return list(out) if prim.multiple_results else [out]


def by_bind(prim, avals, params):
  """The same verdict by way of `bind` inside a trace.

  Where tracing writes no equation at all (a broadcast to the same shape is its
  operand) there is nothing to type, and the primitive's own typing stands.
  """
  def fun(*args):
    out = prim.bind(*args, **params)
    return tuple(out) if prim.multiple_results else (out,)
  names = tuple(f"x{i}" for i in range(len(avals)))
  info = core.DebugInfo("oracle", "oracle", names, None)
  jaxpr, *_ = pe.trace_to_jaxpr_dynamic(
      lu.wrap_init(fun, debug_info=info), list(avals))
  if not jaxpr.eqns:
    return by_abstract_eval(prim, avals, params)
  return [v.aval for v in jaxpr.outvars]


def judge(prim, operands, params, mesh, way=by_abstract_eval, check_vma=None):
  """(result types as text or `!CLASS id`, the exception if there was one)."""
  avals = [parse_type(t, mesh) for t in operands]
  for text, aval in zip(operands, avals):
    back = print_type(aval, mesh)
    if back != text:
      raise AssertionError(f"operand {text} reads back as {back}")
  try:
    with inside(mesh, check_vma):
      out = way(prim, avals, params)
  except Exception as err:  # every class is a verdict
    return errors.verdict_of(err), err
  return [print_type(a, mesh) for a in out], None


def _choose(judged, limit, seed):
  """`limit` cases: half accepted, the rest spread evenly over the error ids.

  Where little is accepted, rejections do not fill all the room that is left,
  and no error id takes more than a quarter.
  """
  strata = {}
  for case in judged:
    key = case[1] if isinstance(case[1], str) else ""
    strata.setdefault(key, []).append(case)
  accepted = strata.pop("", [])
  of_one_id = max(3, limit // 4)
  rejected = [sample(v, of_one_id, seed) for _, v in sorted(strata.items())]
  n_rejected = sum(map(len, strata.values()))
  take_accepted = max((limit + 1) // 2, limit - n_rejected)
  kept = sample(accepted, min(take_accepted, limit), seed)
  room = min(limit - len(kept), max(len(kept), limit // 3, len(rejected)))
  rows = itertools.zip_longest(*rejected)
  kept += [c for row in rows for c in row if c is not None][:room]
  wanted = {json.dumps(c) for c in kept}
  return [c for c in judged if json.dumps(c) in wanted]


class Family:
  """Collects the groups of one file. `add` is all that a family module calls."""

  def __init__(self, name, way=by_abstract_eval):
    self.name = name
    self.way = way
    self.groups = []
    self.seen = {}
    self.messages = {}

  def add(self, mesh_text, prim, params, *operand_lists, limit=60, cases=None):
    """Judge `prim` on all tuples of the operand lists (or on `cases`).

    A PartitionSpec in params becomes a NamedSharding on the context mesh. A
    sharding that JAX refuses to build is no verdict of the primitive, and the
    group is left out.
    """
    mesh = parse_mesh(mesh_text)
    try:
      params = {k: _on_mesh(v, mesh) for k, v in params.items()}
    except Exception:
      return
    printed = {"derived" if k == "tree" else k: _print(k, params[k], mesh)
               for k in sorted(params)}
    seed = json.dumps([mesh_text, prim.name, printed])
    tuples = cases if cases is not None else itertools.product(*operand_lists)
    enough = min(_EVALUATE_AT_MOST, _EVALUATE_PER_CASE * limit)
    tuples = sample([list(t) for t in tuples], enough, seed)
    known = self.seen.setdefault(seed, set())
    judged = []
    for operands in tuples:
      if tuple(operands) in known:
        continue
      known.add(tuple(operands))
      verdict, err = judge(prim, operands, params, mesh, self.way)
      judged.append([operands, verdict])
      if err is not None:
        text = (str(err).splitlines() or [""])[0][:160]
        self.messages.setdefault((verdict, prim.name), text)
    kept = _choose(judged, limit, seed)
    if kept:
      self.groups.append({"mesh": mesh_text, "p": prim.name,
                          "params": printed, "cases": kept})

  def text(self):
    rows = [json.dumps(g, separators=(",", ":")) for g in self.groups]
    return "".join(r + "\n" for r in rows)

  def counts(self):
    """(verdicts, accepted)."""
    cases = [c for g in self.groups for c in g["cases"]]
    return len(cases), sum(isinstance(v, list) for _, v in cases)


def _on_mesh(value, mesh):
  if isinstance(value, PartitionSpec):
    return NamedSharding(mesh, value)
  if isinstance(value, tuple) and any(isinstance(v, PartitionSpec) for v in value):
    return tuple(_on_mesh(v, mesh) for v in value)
  return value


def _print(name, value, mesh):
  if name == "tree":
    return _derived(value)
  if name == "dimension_numbers" and type(value) is tuple:
    return str(tuple(tuple(list(d) for d in pair) for pair in value))
  return print_param(value, mesh)


class _Operand:
  """Stands for the k-th index operand of a Ref access."""

  def __init__(self, index):
    self.index = index


def _derived(tree):
  """How index operands form indexers: the `derived` field of an equation."""
  leaves = [_Operand(i) for i in range(tree.num_leaves)]
  transforms = jax.tree_util.tree_unflatten(tree, leaves)
  return json.dumps({"transforms": [_transform(t) for t in transforms]},
                    separators=(",", ":"))


def _transform(t):
  if type(t).__name__ != "NDIndexer":
    return {"repr": str(t)}
  return {"index": [_index(i) for i in t.indices], "shape": list(t.shape)}


def _index(i):
  if type(i).__name__ == "Slice":
    return {"slice": [_number(i.start), _number(i.size), _number(i.stride)]}
  return _number(i)


def _number(n):
  return {"operand": n.index} if isinstance(n, _Operand) else int(n)
