#!/usr/bin/env python3
# roundtrip.py - a program means the same as JSON and as text.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""roundtrip.py SHARDTYPE: turns every JSON program of the corpus into text and that
back into JSON, and compares what `check` says of the three: the verdict, the mesh, the
types of arguments and results, and the kinds of all findings.

Recordings (test/corpus/record) are left out: what JAX's text does not show, which
shardings are the user's and what the derivatives are of, decides about their types.
Nor does it show which equations are a backward pass, so `cannot-tell-backward` is not
compared.
Exit code: 0 all the same, 1 not."""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("manual", "native", "programs")
# A program without a mesh is checked under one, too.
OPTIONS = {"programs": ([], ["--mesh", "data=4,model=2"])}


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


def verdict(shardtype, path, options):
    result = run(shardtype, "check", str(path), "--format", "json", *options)
    if result.returncode == 2:
        return "not read: " + result.stderr.strip()
    report = json.loads(result.stdout)
    return {
        "mesh": report["mesh"],
        "ok": report["ok"],
        "arguments": [a["type"] for a in report["arguments"]],
        "results": [r["type"] for r in report["results"]],
        "findings": sorted(
            d["code"]
            for d in report["diagnostics"]
            if d["code"] != "cannot-tell-backward"
        ),
    }


def main():
    shardtype = sys.argv[1]
    wrong = count = 0
    with tempfile.TemporaryDirectory() as folder:
        text, back = pathlib.Path(folder, "p.txt"), pathlib.Path(folder, "p.json")
        for name in FOLDERS:
            for path in sorted((ROOT / "test/corpus" / name).glob("*.json")):
                for source, kind, target in ((path, "text", text), (text, "json", back)):
                    done = run(shardtype, "convert", str(source), "--to", kind, "-o", str(target))
                    if done.returncode:
                        print(f"{path.name}: to {kind}: {done.stderr.strip()}")
                        wrong += 1
                        break
                else:
                    for options in OPTIONS.get(name, ([],)):
                        count += 1
                        want = verdict(shardtype, path, options)
                        for other in (text, back):
                            got = verdict(shardtype, other, options)
                            if got != want:
                                wrong += 1
                                what = [k for k in want if got[k] != want[k]] if isinstance(
                                    got, dict
                                ) else got
                                print(f"{path.name} as {other.suffix}: {what}")
    print(f"{count} verdicts, {wrong} differences")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
