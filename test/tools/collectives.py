#!/usr/bin/env python3
# collectives.py - how often a program's collectives run.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""collectives.py SHARDTYPE FILE [PRIMITIVE=RUNS]...: compares what `shardtype cost`
lists of FILE with these counts; reshards do not count, and what is not named must
not be there. Exit code: 0 all as said, 1 not."""
import collections
import json
import subprocess
import sys


def main():
    shardtype, program, *said = sys.argv[1:]
    out = subprocess.run([shardtype, "cost", program, "--format", "json"], stdout=subprocess.PIPE, check=True).stdout
    runs = collections.Counter()
    for found in json.loads(out)["collectives"]:
        if found["equation"]["primitive"] != "reshard":
            runs[found["equation"]["primitive"]] += found["executions"]
    want = {name: int(count) for name, count in (text.split("=") for text in said)}
    if runs == want:
        return 0
    print(f"{program}: run {dict(runs)}, not {want}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
