# programs.py - verdicts of whole programs, and their unsharded traces.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each program of zoo/ is traced natively under meshes and input specs; the
unsharded trace of the same function goes to programs/NAME.json."""

import importlib
import itertools
import json
import pathlib
import sys

import jax
from jax._src import core, linear_util as lu
from jax._src.interpreters import partial_eval as pe
from jax._src.tree_util import tree_flatten

import errors
from matrix import M12, M22, M222, MAUTO, sample, types
from typetext import parse_mesh, parse_type, print_spec, print_type

HERE = pathlib.Path(__file__).resolve().parent
# mesh -> (combinations without U and R, combinations with, verdicts kept)
_PLAN = {M22: (32, 12, 11), M222: (14, 6, 5), MAUTO: (14, 5, 4), M12: (14, 5, 4)}
MODULES = ("layers", "arrays", "structure", "promotion", "heldout")


def load():
  for module in MODULES:
    importlib.import_module(f"zoo.{module}")
  return importlib.import_module("zoo").PROGRAMS


def _line_of(err):
  """(file under zoo/, line) of the innermost frame of a program, or Nones."""
  found = (None, None)
  trace = err.__traceback__
  while trace is not None:
    path = pathlib.Path(trace.tb_frame.f_code.co_filename)
    if path.parent == HERE / "zoo" and path.stem in MODULES:
      found = (f"zoo/{path.name}", trace.tb_lineno)
    trace = trace.tb_next
  return found


def trace(fn, avals):
  """Result avals of `fn`, traced by JAX in the current mesh context."""
  def flat(*args):
    return tuple(tree_flatten(fn(*args))[0])
  names = tuple(f"x{i}" for i in range(len(avals)))
  info = core.DebugInfo("oracle", fn.__name__, names, None)
  jaxpr, *_ = pe.trace_to_jaxpr_dynamic(lu.wrap_init(flat, debug_info=info), avals)
  return [v.aval for v in jaxpr.outvars]


def _judge(name, fn, mesh_text, operands):
  mesh = parse_mesh(mesh_text)
  avals = [parse_type(t, mesh) for t in operands]
  row = {"program": name, "mesh": mesh_text,
         "in": [print_spec(a.sharding.spec, mesh) for a in avals]}
  try:
    with jax.sharding.use_abstract_mesh(mesh):
      out = trace(fn, avals)
    row["verdict"] = [print_type(a, mesh) for a in out]
  except Exception as err:  # every class is a verdict
    row["verdict"] = errors.verdict_of(err)
    row["file"], row["line"] = _line_of(err)
  return row


def _arguments(mesh_text, plain, ur):
  """All types of one argument on the mesh; `plain` is its unsharded type."""
  aval = parse_type(plain, parse_mesh(""))
  dtype = plain.partition("[")[0]
  return types(mesh_text, aval.shape, dtype, ur=ur and dtype == "f32", tuples=False)


def _rows(name, fn, arguments):
  for mesh_text, (plain, with_sets, keep) in _PLAN.items():
    seed = f"{name} {mesh_text}"
    def combos(ur, count):
      lists = [sample(_arguments(mesh_text, a, ur), 24 if ur else 99, seed)
               for a in arguments]
      return sample(itertools.islice(itertools.product(*lists), 20000), count, seed)
    cases = combos(False, plain)
    cases = [tuple(arguments)] + cases + combos(True, with_sets)
    rows = [_judge(name, fn, mesh_text, c) for c in dict.fromkeys(cases)]
    yield from _balanced(rows, keep, seed)


def _balanced(rows, keep, seed):
  """The replicated row, then accepted and rejected ones, each error id once
  before any comes twice."""
  first, rest = rows[:1], rows[1:]
  accepted = sample([r for r in rest if isinstance(r["verdict"], list)], keep, seed)
  by_id = {}
  for row in rest:
    if isinstance(row["verdict"], str):
      by_id.setdefault((row["verdict"], row["line"]), []).append(row)
  groups = [sample(g, keep, seed) for _, g in sorted(
      by_id.items(), key=lambda item: str(item[0]))]
  rejected = [r for row in itertools.zip_longest(*groups) for r in row if r]
  half = keep // 2
  take = accepted[:max(half, keep - len(rejected))]
  chosen = take + rejected[:keep - len(take)]
  return first + [r for r in rest if any(r is c for c in chosen)]


def verdicts():
  """Text of verdicts/programs.jsonl.z, and (verdicts, accepted)."""
  lines, accepted = [], 0
  for name, (fn, arguments) in load().items():
    for row in _rows(name, fn, arguments):
      accepted += isinstance(row["verdict"], list)
      lines.append(json.dumps(row, separators=(",", ":")) + "\n")
  return "".join(lines), (len(lines), accepted)


def exports(functions):
  """{program: text of its unsharded trace in the exchange format}."""
  sys.path.insert(0, str(HERE.parent.parent / "python"))
  import shardtype  # pylint: disable=import-outside-toplevel
  out = {}
  for name, (fn, arguments) in functions.items():
    args = [_plain(text) for text in arguments]
    exported = shardtype.export(fn, *args, mode="plain", root=str(HERE))
    if exported.warnings:
      raise ValueError(f"{name}: exported with warnings {exported.warnings}")
    out[name] = exported.to_json()
  return out


def _plain(text):
  aval = parse_type(text, parse_mesh(""))
  return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def write_exports(texts, folder):
  """Writes FOLDER/NAME.json and removes files of programs that are gone."""
  folder = HERE / folder
  folder.mkdir(exist_ok=True)
  for old in folder.glob("*.json"):
    if old.stem not in texts:
      old.unlink()
  for name, text in texts.items():
    (folder / f"{name}.json").write_text(text)


def export_differences(texts, folder):
  """Names whose recorded trace differs. Who wrote the file (the release of
  Python and of the exporter) is not compared."""
  def content(text):
    data = json.loads(text)
    del data["producer"]
    return data
  recorded = {p.stem: p.read_text() for p in (HERE / folder).glob("*.json")}
  names = sorted(set(recorded) | set(texts))
  return [n for n in names if n not in recorded or n not in texts
          or content(recorded[n]) != content(texts[n])]
