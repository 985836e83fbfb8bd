#!/usr/bin/env python3
# fixes.py - a way out that an error offers is a way out.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""fixes.py SHARDTYPE: takes every fix that the errors of our test programs offer,
one at a time, or those that go together, with --choose, which refuses one under
which there is still an error, and with --fix-all, which writes no program that has
one.
What is refused stands in fixes_refused.txt, `FILE CODE PRIMITIVE: REASON`; a line
there that nothing needs is an error too. Exit code: 0 all as listed, 1 not."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("test/Check", "test/Cases", "spec-examples")
KNOWN = pathlib.Path(__file__).with_name("fixes_refused.txt")


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def places(program, shardtype):
    """The fixes of a program's errors: (code, primitive, what --choose is given)."""
    result = run(shardtype, "check", program, "--format", "json")
    if result.returncode != 1 or not result.stdout.startswith("{"):
        return
    for found in json.loads(result.stdout)["diagnostics"]:
        if found["severity"] != "error" or "source" not in found:
            continue
        groups = {}
        for number, fix in enumerate(found.get("fixes", [])):
            if not fix.get("spec"):
                continue  # No spec says it: another program.
            place = f"{program}:{found['source']['line']}"
            if "operand" in fix:
                place += f":in{fix['operand']}"
            groups.setdefault(fix.get("together", -number), []).append(f"{place}={fix['spec']}")
        for choices in groups.values():
            # Casts that end several branches are one choice.
            yield found["code"], found["equation"]["primitive"], list(dict.fromkeys(choices))


def main():
    shardtype = sys.argv[1]
    known = dict(line.split(": ", 1) for line in KNOWN.read_text().splitlines() if line[0] != "#")
    used, tried, grouped, written, wrong = set(), 0, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(f for d in FOLDERS for f in (ROOT / d).glob("*.jaxpr")):
            parts = re.split(r"(?m)^# -----.*\n", file.read_text())
            for number, text in enumerate(parts):
                program = f"{folder}/{file.stem}_{number}.jaxpr"
                pathlib.Path(program).write_text(text)
                for code, primitive, choices in places(program, shardtype):
                    tried += 1
                    grouped += len(choices) > 1
                    args = [a for choice in choices for a in ("--choose", choice)]
                    ran = run(shardtype, "check", program, *args, "--fix-all", "-o", f"{folder}/fixed.json")
                    written += ran.returncode == 0
                    if ran.returncode != 2 and "has other errors" not in ran.stderr:
                        continue
                    key = f"{file.relative_to(ROOT)} {code} {primitive}"
                    if key in known:
                        used.add(key)
                    else:
                        wrong.append(f"{key}, program {number}: {' '.join(c[len(folder) + 1:] for c in choices)} is no way out")
    wrong += [f"{KNOWN.name}: nothing needs '{key}'" for key in known if key not in used]
    print("\n".join(wrong + [f"{tried} fixes tried, {grouped} of several edits, {written} programs written, {len(wrong)} problems"]))
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
