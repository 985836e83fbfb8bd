# verdictfile.py - reads and writes verdict files.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""README.md beside this describes the lines. Needs no JAX."""

import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
VERDICTS = HERE / "verdicts"
# Families of recorded programs (annotated_programs.py).
RECORDED = ("annotated", "steps", "recorded")
WHOLE = ("programs", "regions", *RECORDED)  # Whole programs, not primitives.


def paths():
  """{family: path} of all verdict files on primitives."""
  plain = {p.name.split(".")[0]: p for p in sorted(VERDICTS.glob("*.jsonl.z"))
           if p.name.split(".")[0] not in WHOLE}
  matrix = {"matrix." + p.name.split(".")[0]: p
            for p in sorted((VERDICTS / "matrix").glob("*.jsonl.z"))}
  return {**plain, **matrix}


def older_paths():
  """{family: path} of what JAX 0.11.1 answered."""
  return {"jax-0.11." + p.name.split(".")[0]: p
          for p in sorted((VERDICTS / "jax-0.11").glob("*.jsonl.z"))}


def path_of(family):
  head, _, name = family.rpartition(".")
  return VERDICTS / head / (name + ".jsonl.z")


def read(path):
  data = path.read_bytes()
  return zlib.decompress(data[8:]).decode()


def write(path, text):
  path.parent.mkdir(exist_ok=True)
  data = text.encode()
  path.write_bytes(struct.pack("<Q", len(data)) + zlib.compress(data, 9))


def _numbered(line, lists):
  """The cases of a line of the matrix: (operands, verdict)."""
  chosen = [lists[i] for i in line["in"]]
  count, place = len(chosen), -1
  for i, verdict in enumerate(line["c"]):
    place += line["n"][i] if "n" in line else 1
    if "at" in line:
      at = line["at"][i * count:(i + 1) * count]
    else:
      at, rest = [], place
      for members in reversed(chosen):
        rest, member = divmod(rest, len(members))
        at.insert(0, member)
    yield [c[m] for c, m in zip(chosen, at)], line["v"][verdict]


def groups(text):
  """(mesh, primitive, parameters, [(operands, verdict)]) of each group."""
  lists = []
  for row in text.splitlines():
    line = json.loads(row)
    if "types" in line:
      lists.append(line["types"])
      continue
    cases = line["cases"] if "cases" in line else list(_numbered(line, lists))
    yield line["mesh"], line["p"], line["params"], cases


def tally(text, counts):
  """Adds [accepted, rejected] of each primitive to `counts`."""
  for row in text.splitlines():
    line = json.loads(row)
    if "types" in line:
      continue
    if "verdict" in line:  # A whole region.
      entry = counts.setdefault("shard_map", [0, 0])
      entry[not isinstance(line["verdict"], list)] += 1
      continue
    if "cases" in line:
      accepted = [isinstance(v, list) for _, v in line["cases"]]
    else:
      table = [isinstance(v, list) for v in line["v"]]
      accepted = [table[i] for i in line["c"]]
    entry = counts.setdefault(line["p"], [0, 0])
    entry[0] += sum(accepted)
    entry[1] += len(accepted) - sum(accepted)

