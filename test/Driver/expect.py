# expect.py - runs commands and compares exit code and lines of output.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case is `$ ARGS` and the lines under it up to the next `$`.

The first is the exit code in brackets. Each other line must occur in the
output (standard output and error together), in order; `...` stands for
anything within it. `!LINE` must not occur. `$ [cat FILE |] ARGS` feeds a file.
{T} is a folder for scratch, {S} the folder of the cases.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile


def cases(path):
    current = None
    for number, line in enumerate(open(path), 1):
        line = line.rstrip("\n")
        if line.startswith("$ "):
            if current:
                yield current
            current = (number, line[2:], [])
        elif current and line and not line.startswith("# "):
            current[2].append(line)
    if current:
        yield current


def holds(line, wanted):
    pattern = ".*".join(map(re.escape, wanted.split("...")))
    return re.search(pattern, line)


def mismatch(run, wanted):
    code, rest = wanted[0], wanted[1:]
    if code != f"[{run.returncode}]":
        return f"exit code {run.returncode}, not {code}"
    lines = (run.stdout + run.stderr).decode().splitlines()
    at = 0
    for line in rest:
        if line.startswith("!"):
            if any(holds(have, line[1:]) for have in lines):
                return f"unwanted: {line[1:]}"
            continue
        while at < len(lines) and not holds(lines[at], line):
            at += 1
        if at == len(lines):
            return f"not found: {line}"
        at += 1
    return None


def main(binary, path):
    bad = 0
    here = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory() as scratch:
        for number, command, wanted in cases(path):
            words = shlex.split(
                command.replace("{T}", scratch).replace("{S}", here)
            )
            fed = b""
            if words[:1] == ["cat"]:
                fed = open(os.path.join(here, words[1]), "rb").read()
                words = words[3:]
            run = subprocess.run(
                [binary] + words, input=fed, capture_output=True, cwd=here
            )
            why = mismatch(run, wanted)
            if why:
                bad += 1
                print(f"{path}:{number}: {command}\n  {why}")
                print((run.stdout + run.stderr).decode())
    return 1 if bad else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
