# annotated_programs.py - verdicts of annotated functions and of training steps.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of annotated/ as JAX judges them under meshes and specs, and recordings of
the same functions (mode `record`), which need neither.

`annotated`: three fragments a function, in eight versions. `steps`: training steps.
`recorded`: other functions."""

import functools
import hashlib
import importlib
import json
import pathlib
import sys

import jax
from jax._src import core
from jax.sharding import NamedSharding, PartitionSpec as P
from jax.tree_util import keystr, tree_flatten_with_path

from annotated.around import as_is, composed, flat
import errors
from programs import trace
from typetext import explicit_axes, parse_mesh, parse_type, print_spec, print_type

# Frames inside jit tell stack from concatenate (errors.py).
jax.config.update("jax_traceback_filtering", "off")
HERE = pathlib.Path(__file__).resolve().parent
M22 = "data=2,model=2"
TRIPLES = 31


def _load(*modules):
  for module in modules:
    importlib.import_module(f"annotated.{module}")
  return importlib.import_module("annotated")


def _line_of(err):
  """(file under annotated/, line) of the innermost frame there, or Nones."""
  found = (None, None)
  step = err.__traceback__
  while step is not None:
    path = pathlib.Path(step.tb_frame.f_code.co_filename)
    if path.parent == HERE / "annotated" and path.stem not in ("__init__", "around"):
      found = (f"annotated/{path.name}", step.tb_lineno)
    step = step.tb_next
  return found


def _on(spec, mesh_text, swap):
  """A spec for data=2,model=2 as it can be asked for on another mesh: without axes
  that are not Explicit there; `swap`: with the two axes in each other's place."""
  keep = set(explicit_axes(parse_mesh(mesh_text)))
  other = {"data": "model", "model": "data"} if swap else {}
  def entry(e):
    names = (e,) if isinstance(e, str) else e or ()
    return tuple(n for n in (other.get(n, n) for n in names) if n in keep)
  return P(*map(entry, spec))


def _avals(arguments, mesh_text, how):
  mesh = parse_mesh(mesh_text)
  out = []
  for text, spec in arguments:
    plain = parse_type(text, parse_mesh(""))
    spec = P() if how == "whole" else _on(spec, mesh_text, how == "swap")
    spec = P(*spec, *[None] * (len(plain.shape) - len(spec)))
    out.append(plain.update(sharding=NamedSharding(mesh, spec)))
  return out


def _judge(fn, mesh_text, avals):
  """([types] or `!CLASS id`, file, line)."""
  mesh = parse_mesh(mesh_text)
  try:
    with jax.sharding.use_abstract_mesh(mesh):
      out = trace(fn, avals)
    return [print_type(a, mesh) for a in out], None, None
  except Exception as err:  # every class is a verdict
    return errors.verdict_of(err), *_line_of(err)


def _row(name, mesh_text, avals, verdict):
  mesh = parse_mesh(mesh_text)
  types, file, line = verdict
  row = {"program": name, "mesh": mesh_text,
         "in": [print_spec(a.sharding.spec, mesh) for a in avals], "verdict": types}
  if file:
    row |= {"file": file, "line": line}
  return row


#===--- Functions of three fragments -------------------------------------===#

def _triples():
  """Names of fragments by threes, each fragment about equally often."""
  names = sorted(_load("products", "structure").FRAGMENTS)
  def rank(turn):
    return lambda name: hashlib.blake2b(f"{turn} {name}".encode()).digest()
  order = sum((sorted(names, key=rank(turn)) for turn in range(3)), [])
  return [tuple(order[i:i + 3]) for i in range(0, 3 * TRIPLES, 3)]


def _functions():
  """{name: (function, parts [(fragment, fixed)], what is around each, needs sizes)}."""
  fragments = _load("products", "structure").FRAGMENTS
  out = {}
  for number, names in enumerate(_triples()):
    for bits in range(8):
      parts = [(n, bool(bits >> i & 1)) for i, n in enumerate(names)]
      name = "+".join(names) + "." + "".join(str(int(fixed)) for _, fixed in parts)
      around = jax.jit if number % 3 == 2 else as_is
      out[name] = (composed(parts, around), parts, around, any(fragments[n][2] for n in names))
  return out


PLAN = ((M22, "asked"), (M22, "whole"), (M22, "swap"), ("data=4,model=2", "asked"),
        ("data=2,model=2:Auto", "asked"), ("data=2:Auto,model=2", "asked"))


@functools.cache
def _alone(name, fixed, around, mesh_text, how):
  arguments = _load().FRAGMENTS[name][1]
  return _judge(composed([(name, fixed)], around), mesh_text,
                _avals(arguments, mesh_text, how))


def _annotated_rows():
  fragments = _load("products", "structure").FRAGMENTS
  for name, (fn, parts, around, sized) in _functions().items():
    arguments = [a for n, _ in parts for a in fragments[n][1]]
    for mesh_text, how in PLAN:
      if sized and mesh_text != M22:
        continue
      avals = _avals(arguments, mesh_text, how)
      row = _row(name, mesh_text, avals, _judge(fn, mesh_text, avals))
      wrong = [v for v in (_alone(n, f, around, mesh_text, how) for n, f in parts) if v[1]]
      if wrong and (row["verdict"], row["file"], row["line"]) != wrong[0]:
        raise ValueError(f"{name}: {row} but alone {wrong[0]}")
      if len(wrong) > 1:
        row["all"] = [[v[0][1:], v[1], v[2]] for v in wrong]
      yield row


def _recorded_rows():
  for name, (fn, arguments) in _load("functions").RECORDED.items():
    for mesh_text, how in PLAN:
      if "shmap" in name and mesh_text != M22:
        continue
      avals = _avals(arguments, mesh_text, how)
      yield _row(name, mesh_text, avals, _judge(fn, mesh_text, avals))


#===--- Training steps ---------------------------------------------------===#

def _flat(step):
  """(function of leaves, [(type, specs by kind of case)]) of a step."""
  leaves, tree = tree_flatten_with_path(step.arguments)
  return flat(step.fn, tree), [(print_type(_aval(leaf), parse_mesh("")), step.spec(keystr(path), leaf))
                for path, leaf in leaves]


def _aval(leaf):
  return core.ShapedArray(leaf.shape, leaf.dtype)


def _step_rows():
  for name, step in _load("steps").STEPS.items():
    fn, arguments = _flat(step)
    for mesh_text, how in step.plan:
      avals = _avals([(t, spec(how)) for t, spec in arguments], mesh_text, how)
      yield _row(name, mesh_text, avals, _judge(fn, mesh_text, avals))


def rows(family):
  return list({"annotated": _annotated_rows, "recorded": _recorded_rows,
               "steps": _step_rows}[family]())


def verdicts(family):
  """Text of verdicts/FAMILY.jsonl.z, and (verdicts, accepted)."""
  found = rows(family)
  accepted = sum(isinstance(r["verdict"], list) for r in found)
  text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in found)
  return text, (len(found), accepted)


#===--- Recordings -------------------------------------------------------===#

def _plain(text):
  aval = parse_type(text, parse_mesh(""))
  return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _sources(family):
  """name -> (function, types, mesh to record under)."""
  if family == "annotated":
    fragments = _load("products", "structure").FRAGMENTS
    return {name: (fn, [a[0] for n, _ in parts for a in fragments[n][1]], M22 if sized else None)
            for name, (fn, parts, _, sized) in _functions().items()}
  if family == "recorded":
    return {name: (fn, [t for t, _ in arguments], M22)
            for name, (fn, arguments) in _load("functions").RECORDED.items()}
  steps = {name: _flat(step) for name, step in _load("steps").STEPS.items()}
  return {name: (fn, [t for t, _ in arguments], None) for name, (fn, arguments) in steps.items()}


def recordings(family):
  """Lines `{"program": name, "json": text}` of annotated/FAMILY.jsonl.z."""
  sys.path.insert(0, str(HERE.parent.parent / "python"))
  import shardtype  # pylint: disable=import-outside-toplevel
  lines = []
  for name, (fn, types, mesh) in _sources(family).items():
    exported = shardtype.export(fn, *map(_plain, types), mode="record", mesh=mesh, root=str(HERE))
    data = json.loads(exported.to_json())
    del data["producer"]  # Which releases made it is not compared.
    data.pop("files", None)
    text = json.dumps(data, separators=(",", ":"))
    lines.append(json.dumps({"program": name, "json": text}, separators=(",", ":")) + "\n")
  return "".join(lines)


def path_of(family):
  return HERE / "annotated" / f"{family}.jsonl.z"
