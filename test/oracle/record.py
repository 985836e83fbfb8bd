#!/usr/bin/env python3
# record.py - records the verdicts of real JAX, or checks the recorded ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record.py [FAMILY ...]          write verdicts/FAMILY.jsonl.z (default: all)
record.py --check [FAMILY ...]  regenerate in memory, compare, exit 1 on a difference
record.py --bind [FAMILY ...]   ask again through bind inside a trace, compare
record.py --show FAMILY         print a recorded file (JAX is not needed)

The families `matrix.NAME` are those of descriptions/NAME.py, and `regions` is that of
whole regions of shard_map (left out by --no-matrix, which leaves some tens of
thousands of verdicts); `jax-0.11.NAME` are a part of them as JAX 0.11.1 answers, and
only done where they are named. The family `programs` is that of whole programs; it
also writes programs/*.json. `annotated`, `steps` and `recorded` are annotated
functions, training steps and other functions, with recordings in
annotated/*.jsonl.z; `steps` needs optax.
Exit 77 (the skip code of ctest) when JAX is missing or is another release.
"""

import argparse
import importlib
import json
import pathlib
import sys
import time

import verdictfile

HERE = pathlib.Path(__file__).resolve().parent
WANTED = "0.12.0.1"
FAMILIES = ("elementwise", "special", "dtypes", "reshaping", "contraction",
            "reduction", "indexing", "windows", "random", "sharding", "values",
            "shapes", "linalg", "products", "opaque", "refs", "programs", "annotated",
            "steps", "recorded")
MATRIX = ("elementwise", "reshaping", "contraction", "reduction", "indexing",
          "windows", "random", "sharding", "linalg", "rare", "bodies", "manual")
ALL = FAMILIES + ("regions",) + tuple("matrix." + name for name in MATRIX)
OLDER = tuple("jax-0.11." + name for name in (
    "elementwise", "reshaping", "reduction", "indexing", "random"))
SKIP = 77


def require_jax(wanted):
  try:
    import jax  # pylint: disable=import-outside-toplevel
  except ImportError as err:
    print(f"oracle: skipped, JAX can not be imported here ({err}); "
          f"the verdicts are those of JAX {wanted}")
    sys.exit(SKIP)
  if jax.__version__ != wanted:
    print(f"oracle: skipped, this is JAX {jax.__version__}; "
          f"the verdicts are those of JAX {wanted}")
    sys.exit(SKIP)


def build(name, bind):
  """(text of the file, (verdicts, accepted), messages) of a family."""
  if name == "programs":
    import programs  # pylint: disable=import-outside-toplevel
    return *programs.verdicts(), {}
  if name in verdictfile.RECORDED:
    import annotated_programs  # pylint: disable=import-outside-toplevel
    return *annotated_programs.verdicts(name), {}
  if name == "regions":
    import regions  # pylint: disable=import-outside-toplevel
    return *regions.verdicts(), {}
  import recorder  # pylint: disable=import-outside-toplevel
  way = recorder.by_bind if bind else recorder.by_abstract_eval
  head, _, module = name.rpartition(".")
  if head:
    import agreement  # pylint: disable=import-outside-toplevel
    described = importlib.import_module("descriptions." + module)
    writer = agreement.record(described, way, older=head != "matrix")
    return writer.text(), writer.counts(), writer.messages
  family = recorder.Family(name, way)
  importlib.import_module(f"families.{name}").record(family)
  return family.text(), family.counts(), family.messages


def cases_of(text):
  """{group and operands, or program and specs: verdict} of a file's text."""
  out = {}
  if "verdict" in json.loads(text.partition("\n")[0] or "{}"):
    for line in text.splitlines():
      group = json.loads(line)
      verdict = [group.pop(k, None)
                 for k in ("verdict", "file", "line", "all", "at")]
      out[json.dumps(group)] = verdict
    return out
  for mesh, name, params, cases in verdictfile.groups(text):
    head = json.dumps([mesh, name, params])
    for operands, verdict in cases:
      out[head + " " + json.dumps(operands)] = verdict
  return out


def differences(name, text, at_most=20):
  """Prints what differs between the recorded file and `text`; their number."""
  path = verdictfile.path_of(name)
  recorded = verdictfile.read(path) if path.exists() else ""
  if recorded == text:
    return 0
  old, new = cases_of(recorded), cases_of(text)
  keys = [k for k in {**old, **new} if old.get(k) != new.get(k)]
  for key in keys[:at_most]:
    print(f"{name}: {key}\n  recorded {old.get(key)}\n  JAX says {new.get(key)}")
  if not keys:
    print(f"{name}: the same verdicts, but the files differ in their text")
  return max(len(keys), 1)


def traces(family, compare):
  """Writes or compares the exported programs; the number of differences."""
  import programs  # pylint: disable=import-outside-toplevel
  functions, folder = programs.load(), "programs"
  if family == "matrix.bodies":
    bodies = importlib.import_module("descriptions.bodies")
    functions, folder = bodies.functions(), "bodies"
  texts = programs.exports(functions)
  if not compare:
    programs.write_exports(texts, folder)
    return 0
  names = programs.export_differences(texts, folder)
  for name in names:
    print(f"{folder}/{name}.json: the recorded trace is not JAX's")
  return len(names)


def recordings(name, compare):
  """Writes or compares the recordings of a family; the number of differences."""
  import annotated_programs  # pylint: disable=import-outside-toplevel
  path, text = annotated_programs.path_of(name), annotated_programs.recordings(name)
  if not compare:
    verdictfile.write(path, text)
    return 0
  new, old = text.splitlines(), verdictfile.read(path).splitlines() if path.exists() else []
  names = [json.loads(line)["program"] for line in new if line not in set(old)]
  for program in names[:20]:
    print(f"{path.name}: the recording of {program} is not what is recorded now")
  return max(len(names), len(old) != len(new))


def can_run(name):
  if name == "steps":
    try:
      import optax  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
      print("steps: skipped, optax is not here")
      return False
  return True


def main(argv):
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument("--check", action="store_true")
  parser.add_argument("--bind", action="store_true")
  parser.add_argument("--show", action="store_true")
  parser.add_argument("--no-matrix", action="store_true")
  parser.add_argument("--messages", action="store_true",
                      help="print a message for every error without an id")
  parser.add_argument("families", nargs="*", metavar="FAMILY")
  args = parser.parse_args(argv)
  unknown = sorted(set(args.families) - set(ALL + OLDER))
  if unknown:
    parser.error(f"no family {unknown[0]}; there are {', '.join(ALL + OLDER)}")
  if args.show:
    for name in args.families:
      sys.stdout.write(verdictfile.read(verdictfile.path_of(name)))
    return 0
  older = [name for name in args.families if name in OLDER]
  if older and len(older) < len(args.families):
    parser.error("families of JAX 0.11 are done by themselves")
  require_jax("0.11.1" if older else WANTED)
  sys.path.insert(0, str(HERE))
  compare = args.check or args.bind
  total = wrong = 0
  for name in args.families or (FAMILIES if args.no_matrix else ALL):
    if not can_run(name):
      continue
    start = time.monotonic()
    text, (count, accepted), messages = build(name, args.bind)
    total += count
    if compare:
      wrong += differences(name, text)
    else:
      verdictfile.write(verdictfile.path_of(name), text)
    if name in ("programs", "matrix.bodies"):
      wrong += traces(name, compare)
    if name in verdictfile.RECORDED:
      wrong += recordings(name, compare)
    print(f"{name}: {count} verdicts, {accepted} accepted, {len(text)} bytes, "
          f"{time.monotonic() - start:.1f} s")
    if args.messages:
      for (verdict, prim), message in sorted(messages.items()):
        if verdict.split()[1] in ("shape", "bare", "accidental"):
          print(f"  {verdict:16} {prim:24} {message}")
  print(f"oracle: {total} verdicts" + (f", {wrong} differences" if compare else ""))
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
