#!/usr/bin/env python3
# record.py - records the verdicts of real JAX, or checks the recorded ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record.py [FAMILY ...]          write verdicts/FAMILY.jsonl (default: all)
record.py --check [FAMILY ...]  regenerate in memory, compare, exit 1 on a difference
record.py --bind [FAMILY ...]   ask again through bind inside a trace, compare

Exit 77 (the skip code of ctest) when JAX is missing or is another release.
"""

import argparse
import importlib
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WANTED = "0.12.0.1"
FAMILIES = ("elementwise", "reshaping", "contraction", "reduction", "indexing",
            "windows", "random", "sharding", "values")
SKIP = 77


def require_jax():
  try:
    import jax  # pylint: disable=import-outside-toplevel
  except ImportError as err:
    print(f"oracle: skipped, JAX can not be imported here ({err}); "
          f"the verdicts are those of JAX {WANTED}")
    sys.exit(SKIP)
  if jax.__version__ != WANTED:
    print(f"oracle: skipped, this is JAX {jax.__version__}; "
          f"the verdicts are those of JAX {WANTED}")
    sys.exit(SKIP)


def build(name, way=None):
  import recorder  # pylint: disable=import-outside-toplevel
  family = recorder.Family(name, way or recorder.by_abstract_eval)
  importlib.import_module(f"families.{name}").record(family)
  return family


def path_of(name):
  return HERE / "verdicts" / f"{name}.jsonl"


def cases_of(text):
  """{group and operands: verdict} of a file's text."""
  out = {}
  for line in text.splitlines():
    group = json.loads(line)
    head = json.dumps([group["mesh"], group["p"], group["params"]])
    for operands, verdict in group["cases"]:
      out[head + " " + json.dumps(operands)] = verdict
  return out


def differences(name, text, at_most=20):
  """Prints what differs between the recorded file and `text`; their number."""
  path = path_of(name)
  recorded = path.read_text() if path.exists() else ""
  if recorded == text:
    return 0
  old, new = cases_of(recorded), cases_of(text)
  keys = [k for k in {**old, **new} if old.get(k) != new.get(k)]
  for key in keys[:at_most]:
    print(f"{name}: {key}\n  recorded {old.get(key)}\n  JAX says {new.get(key)}")
  if not keys:
    print(f"{name}: the same verdicts, but the files differ in their text")
  return max(len(keys), 1)


def main(argv):
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument("--check", action="store_true")
  parser.add_argument("--bind", action="store_true")
  parser.add_argument("--messages", action="store_true",
                      help="print a message for every error without an id")
  parser.add_argument("families", nargs="*")
  args = parser.parse_args(argv)
  require_jax()
  sys.path.insert(0, str(HERE))
  import recorder  # pylint: disable=import-outside-toplevel
  total = wrong = 0
  for name in args.families or FAMILIES:
    start = time.monotonic()
    family = build(name, recorder.by_bind if args.bind else None)
    text = family.text()
    count, accepted = family.counts()
    total += count
    if args.check or args.bind:
      wrong += differences(name, text)
    else:
      path_of(name).write_text(text)
    print(f"{name}: {count} verdicts, {accepted} accepted, {len(text)} bytes, "
          f"{time.monotonic() - start:.1f} s")
    if args.messages:
      for (verdict, prim), message in sorted(family.messages.items()):
        if verdict.split()[1] in ("shape", "bare", "accidental"):
          print(f"  {verdict:16} {prim:24} {message}")
  print(f"oracle: {total} verdicts" + (f", {wrong} differences"
                                       if args.check or args.bind else ""))
  return 1 if wrong else 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
