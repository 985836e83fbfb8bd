#!/usr/bin/env python3
# record.py - records the numbers of real JAX on CPU, or checks the recorded ones.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record.py [FAMILY ...]          write recorded/FAMILY.jsonl.z (default: all)
record.py --check [FAMILY ...]  run the programs again, exit 1 on a difference
record.py --show FAMILY         print a recorded file (JAX is not needed)

A family is the module families/FAMILY.py with a function `record(family)`. Exit 77
(the skip code of ctest) when JAX is missing or is another release.
"""

import argparse
import importlib
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))
import verdictfile  # pylint: disable=wrong-import-position

WANTED = "0.12.0.1"
SKIP = 77


def families():
  return sorted(p.stem for p in (HERE / "families").glob("[a-z]*.py"))


def path_of(name):
  return HERE / "recorded" / (name + ".jsonl.z")


def require_jax():
  try:
    import jax  # pylint: disable=import-outside-toplevel
    version = jax.__version__
  except ImportError as err:
    version = f"not here ({err})"
  if version != WANTED:
    print(f"numbers: skipped, JAX is {version}; the numbers are those of JAX {WANTED}")
    sys.exit(SKIP)


def build(name):
  import cases  # pylint: disable=import-outside-toplevel
  family = cases.Family(name)
  importlib.import_module(f"families.{name}").record(family)
  return family


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("families", nargs="*")
  parser.add_argument("--check", action="store_true")
  parser.add_argument("--show", action="store_true")
  args = parser.parse_args()
  names = args.families or families()
  if args.show:
    for name in names:
      print(verdictfile.read(path_of(name)), end="")
    return 0
  require_jax()
  bad = 0
  for name in names:
    start = time.time()
    family = build(name)
    text = family.text()
    same = args.check and verdictfile.read(path_of(name)) == text
    if not args.check:
      verdictfile.write(path_of(name), text)
    elif not same:
      print(f"{name}: differs from what was recorded")
      bad = 1
    print(f"{name}: {family.count} cases of {len(family.primitives)} primitives, "
          f"{time.time() - start:.0f} s")
    for message, times in family.refused.items():
      print(f"  refused {times} times: {message}")
  return bad


if __name__ == "__main__":
  sys.exit(main())
