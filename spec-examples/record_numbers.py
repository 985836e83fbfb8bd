# record_numbers.py - what real JAX computes for the seed examples.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record_numbers.py ROWS   writes numbers.npz and numbers.json beside this file

ROWS is a folder of functions, one per seed example, whose traces are the
programs of golden/; it is kept outside this repository. numbers.json says for each
program (golden/json/NAME.json, or the text that it holds as `program`) which array of
the .npz is its I-th argument (`inI`) and its I-th result (`outI`). A value of
partial sums has one for each device (`out0_d1`). Results of the same program of the network that differ
in the last bits only are kept once.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
rows = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(rows))
sys.path.insert(0, str(HERE.parent / "python"))
import common  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402

import shardtype  # noqa: E402

P = jax.P
traced, per_device = common.jaxpr, common.per_device
captured = {}  # Printed program -> arrays.
made = {}  # Name of a program of ours -> arrays.
row = None  # Whose row runs.


def named(kind, tree):
  out = {}
  for i, v in enumerate(jax.tree.leaves(tree)):
    if jax.dtypes.issubdtype(v.dtype, jax.dtypes.prng_key):
      v = jax.random.key_data(v)
    if getattr(jax.typeof(v).sharding.spec, "unreduced", ()):
      for s in v.addressable_shards:
        out[f"{kind}{i}_d{s.device.id}"] = np.asarray(s.data)
    else:
      out[f"{kind}{i}"] = np.asarray(v)
  return out


def run(fn, args):
  results = (fn if hasattr(fn, "trace") else jax.jit(fn))(*args)
  return {**named("in", args), **named("out", results)}


def jaxpr(fn, *args):
  text = traced(fn, *args)
  captured[text] = run(fn, args)
  return text


def save(name, make, *args):
  """Prints a program that has no golden file; `make` makes it, since a region
  keeps the mesh that it was traced with first."""
  specs = [jax.typeof(v).sharding.spec for v in args]
  text = shardtype.export(make(), *args, mode="native", in_specs=specs, root=rows,
                          mesh=jax.sharding.get_abstract_mesh()).text
  made[name] = (text, run(make(), args))


def each_device(fn, spec, *args, check_vma=True):
  """What every device holds, as a program."""
  names = jax.sharding.get_abstract_mesh().axis_names

  def blocks(*a):
    return jax.tree.map(lambda t: t[None], fn(*a))

  def make():
    return jax.shard_map(blocks, in_specs=spec, out_specs=P(names),
                         check_vma=check_vma)

  count = sum(name.startswith(row + ".") for name in made)
  save(f"{row}.{count}", make, *args)
  return per_device(fn, spec, *args, check_vma=check_vma)


common.jaxpr, common.per_device = jaxpr, each_device
import a  # noqa: E402,F401
import b  # noqa: E402,F401
import c  # noqa: E402,F401

golden = {}
for path in sorted((HERE / "golden" / "jaxpr").glob("*.txt")):
  golden.setdefault(path.read_text().rstrip("\n"), []).append(path.stem)

manifest = {}
for name, (fn, _) in common.ROWS.items():
  captured.clear()
  row = name.replace("/", "_")
  fn()
  for text, arrays in captured.items():
    for program in golden.get(text.rstrip("\n"), []):
      manifest[program] = (None, arrays)
with jax.set_mesh(jax.make_mesh((4,), ("i",), (jax.sharding.AxisType.Auto,))):
  save("B08_09",
       lambda: jax.shard_map(lambda u: u.T @ u, in_specs=P("i"), out_specs=P("i")),
       np.arange(32, dtype=np.int32).reshape(8, 4))
manifest.update(made)

unique = []


def same(u, v, key):
  if u.dtype != v.dtype or u.shape != v.shape:
    return False
  if u.tobytes() == v.tobytes():
    return True
  if v.size < 2000 or not key.startswith("out"):
    return False
  return np.allclose(u, v, rtol=0, atol=2e-6 * np.nanmax(abs(u)), equal_nan=True)


def index(v, key):
  for i, u in enumerate(unique):
    if same(u, v, key):
      return i
  unique.append(v)
  return len(unique) - 1


numbers = {name: {**({"program": text} if text else {}),
                  **{k: index(v, k) for k, v in arrays.items()}}
           for name, (text, arrays) in sorted(manifest.items())}
np.savez_compressed(HERE / "numbers.npz", **{str(i): v for i, v in enumerate(unique)})
(HERE / "numbers.json").write_text(
    "{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in numbers.items())
    + "\n}\n")
print(f"{len(numbers)} programs, {len(unique)} arrays")
