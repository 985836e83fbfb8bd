#!/usr/bin/env python3
# agreement_doc.py - the table in docs/agreement.md, from the recorded verdicts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""agreement_doc.py --compare PROGRAM --programs OTHER            write the tables
agreement_doc.py --compare PROGRAM --programs OTHER --check    exit 1 if the document has others

OTHER is oracle_programs, run on each of its families. PROGRAM is oracle_compare, beside
which stand oracle_regions and oracle_numbers. They are run on the primitives that
differences.txt names, to count their differences; that there are no others is what the
tests oracle.* say.
What stands outside of the tables is written by hand.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ORACLE = ROOT / "test/oracle"
DOCUMENT = ROOT / "docs/agreement.md"
MARK = "<!-- table: tools/dev/agreement_doc.py -->"
PROGRAMS, PROGRAMS_END = "<!-- programs: tools/dev/agreement_doc.py -->", "<!-- end -->"
NUMBERS, NUMBERS_END = "<!-- numbers: tools/dev/agreement_doc.py -->", "<!-- end of numbers -->"
FAMILIES = {"programs": "functions without annotations, traced without a mesh",
            "annotated": "annotated functions, recorded",
            "steps": "training steps, recorded",
            "recorded": "other functions, recorded"}

sys.path.insert(0, str(ORACLE))
import verdictfile  # pylint: disable=wrong-import-position


def lines_of(path):
  return [l for l in path.read_text().splitlines()
          if l.strip() and not l.startswith("#")]


def entries():
  """{line of differences.txt: (family, primitive or *, its text, clause first)}."""
  out = {}
  lines = (ORACLE / "differences.txt").read_text().splitlines()
  for number, line in enumerate(lines, 1):
    if line.strip() and not line.startswith("#"):
      family, name, _, clause, reason = [p.strip() for p in line.split(";", 4)]
      out[number] = (family, name, f"`{clause}`: {reason}")
  return out


def differences(program):
  """{primitive: [(deliberate differences, why)]}, as the programs count them."""
  known, out = entries(), {}
  for family in sorted({family for family, _, _ in known.values()}):
    names = {n for f, n, _ in known.values() if f == family}
    if family == "regions":
      command = [str(pathlib.Path(program).parent / "oracle_regions")]
    else:
      command = [program, "--listed", str(verdictfile.path_of(family))]
      for name in sorted(names) if "*" not in names else ():
        command += ["--primitive", name]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    for row in [l.split() for l in text.splitlines() if l.startswith("listed ")]:
      why = known[int(row[1])][2]
      seen = out.setdefault(row[2], {})
      seen[why] = seen.get(why, 0) + int(row[3])
  return out


def table(program):
  counts = {}
  for path in [*verdictfile.paths().values(), verdictfile.path_of("regions")]:
    verdictfile.tally(verdictfile.read(path), counts)
  missing = dict(line.split(" ", 1) for line in lines_of(ORACLE / "norules.txt"))
  differ = differences(program)
  total = [sum(c[i] for c in counts.values()) for i in (0, 1)]
  without = sum(sum(counts[n]) for n in missing if n in counts)
  out = [f"{sum(total):,} verdicts of {len(counts)} primitives: {total[0]:,} accepted, "
         f"{total[1]:,} rejected. {sum(sum(d.values()) for d in differ.values()):,} differ, each explained. "
         + (f"{without:,} are of {len(missing)} primitives that have no rule yet." if
            missing else "Each primitive has a rule."), "",
         "| primitive | verdicts | accepted | rejected | differences and why |",
         "| --- | ---: | ---: | ---: | --- |"]
  for name, (yes, no) in sorted(counts.items()):
    note = "; ".join(f"{n}: {why}" for why, n in differ.get(name, {}).items())
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


def numbers_table(program):
  """What oracle_numbers, beside `program`, says of each recorded family."""
  out = ["| family | primitives | cases | agree | of them bit for bit, as they must "
         "| differ as listed |",
         "| --- |" + " ---: |" * 5]
  total = [0] * 4
  program = pathlib.Path(program).parent / "oracle_numbers"
  # The last bits of LAPACK are those of the processor; these all processors have.
  anywhere = {**os.environ, "OPENBLAS_CORETYPE": "PRESCOTT"}
  for path in sorted((ORACLE / "numbers/recorded").glob("*.jsonl.z")):
    text = subprocess.run([program, path], capture_output=True, text=True, check=False,
                          env=anywhere).stdout
    cases, names, agree, equal, listed = map(int, re.search(
        r"(\d+) cases of (\d+) primitives: (\d+) agree, (\d+) of them bit for bit, as they must, "
        r"(\d+) differ as listed", text).groups())
    total = [a + b for a, b in zip(total, (cases, agree, equal, listed))]
    out.append(f"| `{path.name.split('.')[0]}` | {names} | {cases:,} | {agree:,} | {equal:,} | "
               f"{listed} |")
  out.append("| all | | " + " | ".join(f"{n:,}" for n in total) + " |")
  reasons = [[p.strip() for p in line.split(";", 4)]
             for line in lines_of(ORACLE / "numbers/differences.txt")]
  out += ["", "Where they differ on purpose:", ""]
  out += [f"* `{name}` ({family}): {why.replace(';', ',')}." for family, name, _, _, why in reasons]
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
  before, mark, rest = before.partition(NUMBERS)
  _, end, between = rest.partition(NUMBERS_END)
  if not mark or not end:
    sys.exit(f"{DOCUMENT.name}: the lines {NUMBERS} and {NUMBERS_END} are missing")
  before += NUMBERS + "\n\n" + numbers_table(args.compare) + "\n" + NUMBERS_END + between
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
