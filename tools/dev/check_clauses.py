#!/usr/bin/env python3
# check_clauses.py - every clause has code and a test, every citation a clause.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check the numbered clauses of docs/spec against code and tests.

    python tools/dev/check_clauses.py            exit 1 and a line for each fault
    python tools/dev/check_clauses.py --list     all clauses, with who cites them

A clause is a list item of docs/spec/*.md that begins with its number,
`* `slice/shape.1`: ...`. It must be cited by a comment in lib or include, and be tested: cited in test or spec-examples, or its name (what
stands before the slash) is a row of the table in docs/spec/README.md, which
says which recorded verdicts of real JAX cover it. Such verdict files must hold
accepted cases of each primitive of the row; an error class and id that a clause
names in backquotes, as `STE gather`, must occur among their refusals. A clause
whose text begins with "Retired" only keeps its number from being used again.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = ROOT / "docs" / "spec"
sys.path.insert(0, str(ROOT / "test" / "oracle"))
import verdictfile  # noqa: E402
NAME = r"(?<![\w./-])([a-z][a-z0-9_-]*/[a-z][a-z0-9_-]*)\.([0-9]+)\b"
HEAD = re.compile(rf"[-*] `{NAME}`:? (.*)")
# `add/unreduced.1 to .3`, `select_n/shape.1, .2 and .4`.
CITE = re.compile(rf"{NAME}((?:(?:,| and| to) \.[0-9]+)*)")
MORE = re.compile(r"(,| and| to) \.([0-9]+)")
VERDICT = re.compile(r"`([A-Z]{2,5} [a-z][a-z.-]*)`")
ROW = re.compile(r"\| `([a-z0-9_-]+)` \| ((?:`[a-z]+` ?)+) \| (.*) \|")
CODE = ("lib", "include")
TESTS = ("test", "spec-examples")
SUFFIXES = (".cpp", ".h", ".def", ".jaxpr", ".test", ".py", ".txt", ".md")


@dataclass
class Clause:
    where: str
    text: str = ""
    code: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)

    @property
    def retired(self) -> bool:
        return self.text.lower().lstrip(" :.-").startswith("retired")


@dataclass
class Row:
    """Which recorded verdicts cover the clauses of one name."""

    where: str
    families: list[str]
    primitives: list[str]
    verdicts: set[str] = field(default_factory=set)


def relative(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read_clauses(faults: list[str]) -> dict[str, Clause]:
    clauses: dict[str, Clause] = {}
    for path in sorted(SPEC.glob("*.md")):
        current: Clause | None = None
        fenced = False
        for number, line in enumerate(path.read_text().splitlines(), 1):
            fenced ^= line.startswith("```")
            if fenced:
                continue
            if match := HEAD.match(line):
                name = f"{match[1]}.{match[2]}"
                where = f"{relative(path)}:{number}"
                if name in clauses:
                    faults.append(f"{where}: {name} is also at {clauses[name].where}")
                current = clauses[name] = Clause(where, match[3].strip())
            elif not line.startswith("  "):
                current = None
            elif current:
                current.text = f"{current.text} {line.strip()}".strip()
    return clauses


def citations(line: str) -> Iterator[str]:
    for match in CITE.finditer(line):
        last = int(match[2])
        yield f"{match[1]}.{last}"
        for word, digits in MORE.findall(match[3]):
            first = last + 1 if word == " to" else int(digits)
            last = int(digits)
            yield from (f"{match[1]}.{n}" for n in range(first, last + 1))


def comment(path: pathlib.Path, line: str) -> str:
    """What a line of code says in a comment; all of a line that is no code."""
    return line.partition("//")[2] if path.suffix in (".cpp", ".h", ".def") else line


def cite(clauses: dict[str, Clause], tops: tuple[str, ...], faults: list[str]) -> None:
    names = {name.partition("/")[0] for name in clauses}
    for path in sorted(p for top in tops for p in (ROOT / top).rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            where = f"{relative(path)}:{number}"
            for name in citations(comment(path, line) if tops == CODE else line):
                if name in clauses:
                    clause = clauses[name]
                    (clause.code if tops == CODE else clause.tests).append(where)
                elif tops == CODE or name.partition("/")[0] in names:
                    faults.append(f"{where}: there is no clause {name}")


def cite_documents(clauses: dict[str, Clause], faults: list[str]) -> None:
    """Documents may cite clauses, which is no test of them."""
    names = {name.partition("/")[0] for name in clauses}
    for path in sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")]):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in citations(line):
                if name not in clauses and name.partition("/")[0] in names:
                    faults.append(f"{relative(path)}:{number}: there is no clause {name}")


def read_rows(clauses: dict[str, Clause], faults: list[str]) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    table = SPEC / "README.md"
    names = {name.partition("/")[0] for name in clauses}
    recorded: dict[str, dict[str, set[str]]] = {}
    for number, line in enumerate(table.read_text().splitlines(), 1):
        if not (match := ROW.match(line)):
            continue
        where = f"{relative(table)}:{number}"
        row = Row(where, re.findall(r"[a-z]+", match[2]), re.findall(r"`([^`]+)`", match[3]))
        if match[1] in rows:
            faults.append(f"{where}: `{match[1]}` has a row already")
        if match[1] not in names:
            faults.append(f"{where}: no clause is named `{match[1]}`")
        for family in row.families:
            if family not in recorded:
                recorded[family] = read_verdicts(family)
            for primitive in row.primitives:
                verdicts = recorded[family].get(primitive, set())
                if "ok" not in verdicts:
                    faults.append(f"{where}: {family}.jsonl accepts no case of `{primitive}`")
                row.verdicts |= verdicts
        rows[match[1]] = row
    return rows


def read_verdicts(family: str) -> dict[str, set[str]]:
    """Per primitive: "ok" if a case is accepted, and the refusals that occur."""
    found: dict[str, set[str]] = defaultdict(set)
    path = verdictfile.path_of(family)
    for line in verdictfile.read(path).splitlines() if path.is_file() else ():
        group = json.loads(line)
        for _, verdict in group["cases"]:
            found[group["p"]].add(verdict[1:] if isinstance(verdict, str) else "ok")
    return found


def judge(clauses: dict[str, Clause], rows: dict[str, Row], faults: list[str]) -> None:
    for name, clause in clauses.items():
        if clause.retired:
            faults += [f"{where}: {name} is retired" for where in clause.code + clause.tests]
            continue
        if not clause.text:
            faults.append(f"{clause.where}: {name} says nothing")
        if not clause.code:
            faults.append(f"{clause.where}: no comment in lib or include cites {name}")
        row = rows.get(name.partition("/")[0])
        if not clause.tests and not row:
            faults.append(f"{clause.where}: no test cites {name}, and no verdicts cover it")
        for refusal in VERDICT.findall(clause.text) if row else ():
            if row and refusal not in row.verdicts:
                faults.append(
                    f"{clause.where}: no case of {', '.join(row.primitives)} in"
                    f" {', '.join(row.families)}.jsonl is refused with {refusal}"
                )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print clauses and citations")
    options = parser.parse_args()
    faults: list[str] = []
    clauses = read_clauses(faults)
    cite(clauses, CODE, faults)
    cite(clauses, TESTS, faults)
    cite_documents(clauses, faults)
    rows = read_rows(clauses, faults)
    judge(clauses, rows, faults)
    if options.list:
        for name, clause in clauses.items():
            row = rows.get(name.partition("/")[0])
            tests = clause.tests + ([f"{row.family}.jsonl"] if row else [])
            print(f"{name}: {', '.join(clause.code)}; tests: {', '.join(tests)}")
    for fault in faults:
        print(fault)
    print(f"{len(clauses)} clauses, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
