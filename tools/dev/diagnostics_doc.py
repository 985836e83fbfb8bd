#!/usr/bin/env python3
# diagnostics_doc.py - the table in docs/diagnostics.md, from the .def files.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""diagnostics_doc.py            write the table into docs/diagnostics.md
diagnostics_doc.py --check    exit 1 if the document has another table

What stands above the line `<!-- table -->` is written by hand.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/diagnostics.md"
MARK = "<!-- table: tools/dev/diagnostics_doc.py -->"
KINDS = ROOT / "include/shardtype/Support/Diag"
# File, heading, and whether such findings are about the input (exit 2).
AREAS = [
    ("Rule", "Rules of primitives"),
    ("Spec", "Specs, shardings, meshes and types"),
    ("Structure", "Calls, loops and branches"),
    ("Manual", "Regions of shard_map"),
    ("Check", "The walk over a program"),
    ("Input", "Files, texts and options (exit 2)"),
]
CLASSES = {
    "STE": "ShardingTypeError", "DSE": "DuplicateSpecError", "VE": "ValueError",
    "TE": "TypeError", "NIE": "NotImplementedError", "AE": "AssertionError",
    "IE": "IndexError", "NE": "NameError", "KE": "KeyError", "JTE": "JaxprTypeError",
}
DIAG = re.compile(
    r'^DIAG\((\w+), "([\w-]+)", (\w+), "([^"]*)", "([^"]*)", "((?:[^"\\]|\\.)*)"\)',
    re.M)
ENTRY = re.compile(r'^EXPLAIN\((\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+),', re.M)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def rules():
  """{name: the rule's text} of all entries of `shardtype explain`."""
  found = {}
  for path in sorted((ROOT / "lib/Report/Explain").glob("*.def")):
    for name, strings in ENTRY.findall(path.read_text()):
      found[name] = "".join(STRING.findall(strings))
  return found


def meaning(message, rule):
  """The message with its arguments left out, or how the rule begins."""
  text = re.sub(r"\{\d+\}", "…", message)
  if re.search(r"\w{3}", text):
    return text
  return re.split(r"(?<=\.)\s", rule)[0].rstrip(".")


def table():
  explained = rules()
  lines = []
  for area, heading in AREAS:
    lines += [f"## {heading}", "", "| code | level | JAX | meaning |",
              "| --- | --- | --- | --- |"]
    for name, code, level, ident, cls, message in DIAG.findall(
        (KINDS / f"{area}.def").read_text()):
      if name not in explained:
        sys.exit(f"{name} has no entry in lib/Report/Explain")
      jax = CLASSES[cls] + (f", `{ident}`" if ident else "") if cls else ""
      lines.append(f"| `{code}` | {level.lower()} | {jax} | "
                   f"{meaning(message, explained[name])} |")
    lines.append("")
  return "\n".join(lines).rstrip() + "\n"


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--check", action="store_true")
  args = parser.parse_args()
  is_now = DOCUMENT.read_text()
  by_hand, mark, _ = is_now.partition(MARK)
  if not mark:
    sys.exit(f"{DOCUMENT}: the line {MARK} is missing")
  wanted = f"{by_hand}{MARK}\n\n{table()}"
  if not args.check:
    DOCUMENT.write_text(wanted)
  elif wanted != is_now:
    print("docs/diagnostics.md is not what tools/dev/diagnostics_doc.py writes")
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
