#!/usr/bin/env python3
# agreement_doc.py - the table in docs/agreement.md, from the recorded verdicts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""agreement_doc.py --compare PROGRAM --programs OTHER            write the tables
agreement_doc.py --compare PROGRAM --programs OTHER --check    exit 1 if the document has others

OTHER is oracle_programs, run on each of its families. PROGRAM is oracle_compare. It is run on the primitives that differences.txt names,
to count their differences; that there are no others is what the tests oracle.* say.
What stands outside of the tables is written by hand.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLE = ROOT / "test/oracle"
DOCUMENT = ROOT / "docs/agreement.md"
MARK = "<!-- table: tools/dev/agreement_doc.py -->"
PROGRAMS, PROGRAMS_END = "<!-- programs: tools/dev/agreement_doc.py -->", "<!-- end -->"
FAMILIES = {"programs": "functions without annotations, traced without a mesh",
            "annotated": "annotated functions, recorded",
            "steps": "training steps, recorded",
            "recorded": "other functions, recorded"}

sys.path.insert(0, str(ORACLE))
import verdictfile  # pylint: disable=wrong-import-position


def lines_of(path):
  return [l for l in path.read_text().splitlines()
          if l.strip() and not l.startswith("#")]


def reasons():
  """{primitive: its texts in differences.txt, clause first}."""
  out = {}
  for line in lines_of(ORACLE / "differences.txt"):
    _, name, _, clause, reason = [p.strip() for p in line.split(";", 4)]
    out.setdefault(name, []).append(f"`{clause}`: {reason}")
  return out


def count_differences(program, names):
  """{primitive: deliberate differences}, as oracle_compare counts them."""
  command = [program]
  for name in names:
    command += ["--primitive", name]
  files = [str(p) for p in verdictfile.paths().values()]
  text = subprocess.run(command + files, capture_output=True, text=True,
                        check=False).stdout
  rows = [line.split() for line in text.splitlines()]
  return {r[0]: int(r[4]) for r in rows if len(r) > 5 and r[0] in names}


def table(program):
  counts = {}
  for path in verdictfile.paths().values():
    verdictfile.tally(verdictfile.read(path), counts)
  why = reasons()
  missing = dict(line.split(" ", 1) for line in lines_of(ORACLE / "norules.txt"))
  differences = count_differences(program, sorted(why))
  total = [sum(c[i] for c in counts.values()) for i in (0, 1)]
  without = sum(sum(counts[n]) for n in missing if n in counts)
  out = [f"{sum(total):,} verdicts of {len(counts)} primitives: {total[0]:,} accepted, "
         f"{total[1]:,} rejected. {sum(differences.values())} differ, each explained. "
         + (f"{without:,} are of {len(missing)} primitives that have no rule yet." if
            missing else "Each primitive has a rule."), "",
         "| primitive | verdicts | accepted | rejected | differences and why |",
         "| --- | ---: | ---: | ---: | --- |"]
  for name, (yes, no) in sorted(counts.items()):
    note = ""
    if differences.get(name):
      note = f"{differences[name]}: " + "; ".join(why[name])
    if name in missing:
      note = f"no rule yet: {missing[name]}"
    out.append(f"| `{name}` | {yes + no} | {yes} | {no} | {note} |")
  return "\n".join(out) + "\n"


def percent(part, of):
  return f"{part} ({100 * part / of:.1f} %)" if of else "-"


def programs_table(program):
  """What oracle_programs says of each family, and the differences by reason."""
  out = ["| what | programs | verdicts | accepted by JAX | same verdict | same types, of those "
         "| error and class the same, of the others | several errors | all found in one run |",
         "| --- |" + " ---: |" * 8]
  for family, what in FAMILIES.items():
    text = subprocess.run([program, "--family", family], capture_output=True, text=True,
                          check=False).stdout
    total, count, accepted, agree = map(int, re.search(
        r"(\d+) verdicts of (\d+) programs, (\d+) accepted: (\d+) agree", text).groups())
    verdict, types, several, found = map(int, re.search(
        r"same verdict: (\d+), same types: (\d+), several errors: (\d+), all found: (\d+)",
        text).groups())
    out.append(f"| `{family}`: {what} | {count} | {total} | {accepted} | "
               f"{percent(verdict, total)} | {percent(types, accepted)} | "
               f"{percent(agree - types, total - accepted)} | {several or '-'} | "
               f"{percent(found, several)} |")
  return "\n".join(out) + "\n"


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--compare", required=True)
  parser.add_argument("--programs", required=True)
  parser.add_argument("--check", action="store_true")
  args = parser.parse_args()
  old = DOCUMENT.read_text()
  head, mark, _ = old.partition(MARK)
  if not mark:
    sys.exit(f"{DOCUMENT.name}: the line {MARK} is missing")
  before, mark, rest = head.partition(PROGRAMS)
  _, end, after = rest.partition(PROGRAMS_END)
  if not mark or not end:
    sys.exit(f"{DOCUMENT.name}: the lines {PROGRAMS} and {PROGRAMS_END} are missing")
  head = before + PROGRAMS + "\n\n" + programs_table(args.programs) + "\n" + PROGRAMS_END + after
  new = head + MARK + "\n\n" + table(args.compare)
  if not args.check:
    DOCUMENT.write_text(new)
    return 0
  if new != old:
    print("docs/agreement.md: the table is not that of the verdicts; run "
          "tools/dev/agreement_doc.py")
    return 1
  return 0


if __name__ == "__main__":
  sys.exit(main())
