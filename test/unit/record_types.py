#!/usr/bin/env python3
# record_types.py - what real JAX makes of meshes, specs and types.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record_types.py            write types.jsonl beside this file
record_types.py --check    regenerate in memory, compare, exit 1 on a difference

One record a line; `TypesRecordedTest.cpp` compares ours with them. Exit 77 (the
skip code of ctest) when JAX is missing or is another release. Axes inside the
sets of a printed spec are sorted: their order in JAX differs from run to run.
"""

import itertools
import json
import pathlib
import re
import sys

WANTED = "0.12.0.1"
OUT = pathlib.Path(__file__).with_name("types.jsonl")

try:
  import jax
except ImportError as error:
  print(f"types: skipped, JAX can not be imported here ({error})")
  sys.exit(77)
if jax.__version__ != WANTED:
  print(f"types: skipped, this is JAX {jax.__version__}, not {WANTED}")
  sys.exit(77)

# pylint: disable=wrong-import-position
from jax._src import core, dtypes, mesh as mesh_lib
from jax._src.partition_spec import UnreducedKind
from jax._src.state.types import AbstractRef
from jax.sharding import (AbstractMesh, AxisType, Mesh, NamedSharding,
                          PartitionSpec as P)
import ml_dtypes
import numpy as np

# Which check refused, told by a word of its message (spec 01, 2.3 to 2.6).
REASONS = (
    ("duplicate entries", "duplicate"),
    ("Resource axis", "unknown-axis"),
    ("axes .* is not found in", "unknown-axis"),
    ("P.UNCONSTRAINED", "unconstrained"),
    ("of type `Explicit`", "axis-type"),
    ("of type .*Manual", "manual-axis-type"),
    ("cannot overlap", "overlap"),
    ("should be `None` when", "kind-without-unreduced"),
    ("Length of sharding.spec", "rank"),
    ("evenly divide", "indivisible"),
    ("cannot have common mesh axes", "manual-overlap"),
)


def verdict(make):
  """The text of `make()`, or `{"error": class, "why": check}`."""
  try:
    return make()
  except Exception as err:  # pylint: disable=broad-exception-caught
    why = [w for pattern, w in REASONS if re.search(pattern, str(err))]
    return {"error": type(err).__name__, "why": why[0] if why else None}


def canonical(text):
  """Sorts the names inside the printed sets of a spec."""
  return re.sub(r"(?<==)\{([^}]*)\}",
                lambda m: "{" + ", ".join(sorted(m[1].split(", "))) + "}", text)


def mesh_of(text):
  """`X=2,Y=2:Auto`, or the mesh without axes."""
  axes = [re.fullmatch(r"(\w+)=(\d+)(?::(\w+))?", a).groups()
          for a in text.split(",") if a]
  return AbstractMesh(tuple(int(a[1]) for a in axes),
                      tuple(a[0] for a in axes),
                      axis_types=tuple(AxisType[a[2] or "Explicit"]
                                       for a in axes))


def spec_of(entries, unreduced=(), reduced=(), kind=None):
  entries = [tuple(e) if isinstance(e, (list, tuple)) else e for e in entries]
  return P(*entries, unreduced=set(unreduced), reduced=set(reduced),
           unreduced_kind=UnreducedKind[kind] if kind else None)


def aval_of(record):
  mesh = mesh_of(record["mesh"])
  spec = spec_of(record["spec"], record.get("u", ()), record.get("r", ()),
                 record.get("k"))
  mat = record.get("mat", {})
  kind = mat.get("k")
  return core.ShapedArray(
      tuple(record["shape"]), dtype_of(record["dtype"]),
      record.get("weak", False), sharding=NamedSharding(mesh, spec),
      memory_space=getattr(core.MemorySpace, record.get("mem", "Device")),
      manual_axis_type=core.ManualAxisType(
          varying=frozenset(mat.get("v", ())),
          unreduced=frozenset(mat.get("u", ())),
          reduced=frozenset(mat.get("r", ())),
          unreduced_kind=UnreducedKind[kind] if kind else None))


KEYS = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}


def dtype_of(name):
  if name in KEYS:
    return jax.eval_shape(lambda: jax.random.key(0, impl=KEYS[name])).dtype
  if name == "float0":
    return dtypes.float0
  return np.dtype(getattr(ml_dtypes, name, name))


def printed(aval):
  return {"long": str(aval), "repr": repr(aval),
          "short": aval.str_short(short_dtypes=True),
          "axes": aval.str_short(short_dtypes=True, mesh_axis_types=True),
          "spec": canonical(str(aval.sharding.spec))}


def type_record(mesh, shape, spec, dtype="float32", **more):
  record = {"what": "type", "mesh": mesh, "shape": list(shape), "dtype": dtype,
            "spec": spec, **more}
  record["jax"] = verdict(lambda: printed(aval_of(record)))
  return record


def dtype_records():
  names = ["float0", *KEYS, *sorted(
      d.name for d in dtypes._jax_dtype_set if d != dtypes.float0
      and d.name != "StringDType128")]  # Has no sharding; ours keeps its text.
  for name in names:
    record = type_record("x=2", (4, 3), ["x"], name)
    dtype = dtype_of(name)
    if name in KEYS:
      record["bits"] = 32 * int(np.prod(dtype._impl.key_shape))
    elif name == "float0":
      record["bits"] = 0
    else:
      record["bits"] = dtypes.itemsize_bits(dtype)
    yield record


MESHES = ("", "x=2", "x=2,y=4", "x=2:Auto,y=4:Auto", "x=2,y=4:Auto",
          "x=2:Manual,y=4:Manual", "x=2:Manual,y=4", "x=2:Manual,y=4:Auto",
          "x=1,y=2,z=3")


def type_records():
  entries = (None, "x", "y", ("x", "y"), ("y", "x"))
  for mesh in MESHES:
    for pair in itertools.product(entries, repeat=2):
      yield type_record(mesh, (8, 16), list(pair))
    for shape, spec in (((), []), ((), ["x"]), ((), [None]), ((8,), [None, None]),
                        ((8,), ["x", "y"]), ((6,), ["y"]), ((0,), [["x", "y"]]),
                        ((7, 8), ["x"]), ((12,), [["x", "y"]]), ((8, 8), ["w"]),
                        ((8,), [["x", "x"]]), ((8, 0, 3), ["x", "y"])):
      yield type_record(mesh, shape, spec)
  for mesh in MESHES:
    for unreduced, reduced, kind in itertools.product(
        ([], ["x"], ["x", "y"], ["y"]), ([], ["y"], ["x"], ["w"]),
        (None, "sum", "max", "min")):
      yield type_record(mesh, (8,), [None], u=unreduced, r=reduced, k=kind)
      if kind != "sum" and "x" not in unreduced + reduced:
        yield type_record(mesh, (8, 4), ["x"], u=unreduced, r=reduced, k=kind)
  yield from manual_records()
  for mem in ("Host", "Any"):
    yield type_record("x=2,y=4", (8,), ["x"], mem=mem)
    yield type_record("x=2,y=4", (8,), ["x"], mem=mem, u=["y"])
  for shape, spec in (((), []), ((4,), ["x"])):
    yield type_record("x=2", shape, spec, weak=True)
    yield type_record("x=2", shape, spec, "int32", weak=True)


def manual_records():
  sets = ([], ["x"], ["y"], ["x", "y"])
  for mesh in ("x=2:Manual,y=4:Manual", "x=2:Manual,y=4", "x=2,y=4:Auto", ""):
    for v, u, r in itertools.product(sets, sets, sets):
      yield type_record(mesh, (8,), [None], mat={"v": v, "u": u, "r": r})
  for kind in ("sum", "max", "min"):
    yield type_record("x=2:Manual,y=4:Manual", (8,), [None],
                      mat={"v": ["y"], "u": ["x"], "k": kind})
    yield type_record("x=2:Manual,y=4", (8,), [None], u=["y"], k=kind,
                      mat={"u": ["x"], "k": "sum"})
  yield type_record("x=2:Manual,y=4", (8, 8), ["y"], mat={"v": ["x"]})


SPECS = (
    "P()", "P(None)", "P('x')", "P('x', None)", "P(None, 'x')", "P('x', 'y')",
    "P(('x', 'y'))", "P(('x', 'y'), None)", "P(('x',))", "P(())", "P([])",
    "P('')", "P(['x'])", "P(['x', 'y'], None)", "P(('x', ('y',)))", "P('x', 'x')",
    "P(P.UNCONSTRAINED)", "P(P.UNCONSTRAINED, 'y')", "P('x', P.UNCONSTRAINED)",
    "P(unreduced={'x'})", "P(reduced={'x'})", "P('x', unreduced={'y'})",
    "P('x', None, unreduced={'y'}, reduced={'z'})", "P(None, reduced={'x'})",
    "P(unreduced={'x', 'y'})", "P(unreduced={'x'}, reduced={'x'})",
    "P('x', unreduced={'x'})", "P(('y', 'x'), reduced={'x'})",
    "P(unreduced={'x'}, unreduced_kind=UnreducedKind.max)",
    "P('z', unreduced={'x', 'y'}, unreduced_kind=UnreducedKind.min)",
    "P(unreduced_kind=UnreducedKind.sum)", "P(unreduced=set())",
    "P(reduced={'x'}, unreduced_kind=UnreducedKind.max)",
    "P(unreduced=frozenset({'x'}))", "P(unreduced={None})", "P(reduced={None})",
    "P(unreduced='x')", "P(unreduced=('x',))", "P(unreduced=['x'])",
    "P(unreduced={'x'}, unreduced_kind='max')", "P(\"x'y\")", "P('x\\\\y')",
    "P(None, None, None, unreduced={'x'})", "PartitionSpec('x', None)",
    "P(unknown={'x'})", "P(unreduced={'x'}, 'y')", "P('x'", "P('x' 'y')",
    "P('x',)", "P('x',,)",
)


def spec_records():
  scope = {"P": P, "PartitionSpec": P, "UnreducedKind": UnreducedKind}
  for text in SPECS:
    yield {"what": "spec", "text": text,
           "jax": verdict(lambda t=text: canonical(repr(eval(t, scope))))}  # pylint: disable=eval-used


def mesh_records():
  for text in (*MESHES, "x=8", "my_axis=3:Auto", "A=1:Manual,B=2,C=3:Auto"):
    mesh = mesh_of(text)
    yield {"what": "mesh", "mesh": text, "kind": "abstract", "str": str(mesh),
           "repr": repr(mesh)}
  device = jax.devices()[0]
  for text in ("", "x=1", "x=1,y=1:Auto", "x=1:Auto,y=1:Auto,z=1"):
    mesh = mesh_of(text)
    concrete = (Mesh(np.full(mesh.axis_sizes, device), mesh.axis_names,
                     axis_types=mesh.axis_types)
                if text else mesh_lib.empty_concrete_mesh)
    yield {"what": "mesh", "mesh": text, "kind": "concrete",
           "str": str(concrete), "repr": repr(concrete)}
    if text:
      abstract = concrete.abstract_mesh
      yield {"what": "mesh", "mesh": text, "kind": "device",
             "device": ["cpu", "None", "cpu"], "str": str(abstract),
             "repr": repr(abstract)}


def match_records():
  """All pairs of a few types: which ones match (spec 01, 2.8)."""
  makers = [
      dict(mesh=mesh, shape=[8], dtype="float32", spec=spec)
      for mesh, spec in itertools.product(
          ("", "x=2,y=2", "x=2,y=2:Auto", "x=2:Auto,y=2:Auto",
           "a=2:Auto,b=2:Auto"), ([None], ["x"]))
      if not (spec == ["x"] and (not mesh or "a" in mesh.split("=")[0]))]
  base = dict(mesh="x=2,y=2", shape=[8], dtype="float32", spec=[None])
  manual = dict(base, mesh="x=2:Manual,y=2:Manual")
  makers += [
      dict(base, u=["x"]), dict(base, u=["x"], k="max"), dict(base, r=["x"]),
      dict(base, spec=[["x", "y"]]), dict(base, spec=[["y", "x"]]),
      dict(base, weak=True), dict(base, dtype="int32"), dict(base, shape=[4]),
      dict(base, mem="Host"), manual, dict(manual, mat={"v": ["x"]}),
      dict(manual, mesh="x=2:Manual,y=4:Manual", mat={"v": ["x"]}),
      dict(manual, mat={"u": ["x"]}), dict(manual, mat={"u": ["x"], "k": "max"}),
      dict(manual, mat={"r": ["x"]}), dict(manual, mat={"v": ["y"]})]
  avals = [aval_of(m) for m in makers]
  yield {"what": "match", "types": makers,
         "rows": ["".join("01"[core.typematch(a, b)] for b in avals)
                  for a in avals]}
  refs = [AbstractRef(a, m) for a in avals[:4] for m in (None, "vmem")]
  yield {"what": "refmatch", "types": makers[:4], "memory": [None, "vmem"],
         "str": [str(r) for r in refs],
         "short": [r.str_short(short_dtypes=True) for r in refs],
         "rows": ["".join("01"[core.typematch(a, b)] for b in refs)
                  for a in refs]}
  yield {"what": "token", "str": str(core.abstract_token.str_short())}


def main():
  lines = [json.dumps(r, separators=(",", ":")) for part in (
      dtype_records, type_records, spec_records, mesh_records, match_records)
           for r in part()]
  text = "\n".join(lines) + "\n"
  if sys.argv[1:] == ["--check"]:
    if text != OUT.read_text(encoding="utf-8"):
      print(f"types: JAX no longer says what {OUT.name} records")
      sys.exit(1)
    print(f"types: {len(lines)} records are as JAX says")
    return
  OUT.write_text(text, encoding="utf-8")
  print(f"types: {len(lines)} records written")


if __name__ == "__main__":
  main()
