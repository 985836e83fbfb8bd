#!/usr/bin/env python3
# compare.py - shardtype and JAX's own trace, timed in one run.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time shardtype against jax.jit(f).trace of the same programs.

    python tools/bench/compare.py [--build build] [--jax-python PYTHON] [--rounds N]

For each program of the corpus: the command from process start to the printed
report, the library's check alone, reading its JSON, and JAX's trace of the
function it was exported from, first time in a process and again after
jax.clear_caches(). The parts take turns in every round, so that other load on
the machine meets all of them; the table gives the fastest and the median.
Without a Python that has JAX (this one, if none is given) that part is left out
and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "test" / "corpus" / "programs"
MESH = "data=4,model=2"
NAMES = ("transformer_4_forward", "transformer_55_step")

# Run by the Python that has JAX: traces NAME and prints seconds.
TRACE = """
import sys, time
start = time.perf_counter()
sys.path[:0] = [sys.argv[1] + "/tools/dev"]
import export_corpus as corpus
import jax
program = corpus.PLAIN[sys.argv[2]]
args = program.args()
jax.jit(lambda x: x + 1).trace(jax.ShapeDtypeStruct((2,), "float32"))
def once():
    jax.clear_caches()
    fresh = lambda *a: program.fn(*a)
    begin = time.perf_counter()
    traced = jax.jit(fresh).trace(*args)
    return time.perf_counter() - begin
times = [once() for _ in range(int(sys.argv[3]))]
print(jax.__version__, *times)
"""

Times = dict[str, list[float]]


def command(binary: pathlib.Path, args: list[str]) -> float:
    """Seconds from the start of a process to its end; its report is read."""
    begin = time.perf_counter()
    done = subprocess.run([binary, *args], capture_output=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{binary} {' '.join(args)}: {done.stderr.decode()}")
    return seconds


def library(build: pathlib.Path, file: pathlib.Path, times: Times) -> None:
    """Adds the library's check and its reading of the JSON."""
    done = subprocess.run(
        [
            build / "bin" / "shardtype_bench",
            "--benchmark_filter=^program/",
            "--benchmark_format=json",
            "--benchmark_min_time=0.2",
            "--program",
            file,
            "--mesh",
            MESH,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"shardtype_bench: {done.stderr}")
    for result in json.loads(done.stdout)["benchmarks"]:
        if result.get("error_occurred"):
            sys.exit(f"{result['name']}: {result['error_message']}")
        part = result["name"].removeprefix("program/")
        times.setdefault(part, []).append(result["real_time"] * 1e-9)


def jax_trace(python: str, name: str, times: Times) -> str | None:
    """Adds traces by JAX; its version, or None: it is not there."""
    done = subprocess.run(
        [python, "-c", TRACE, str(ROOT), name, "2"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    if done.returncode:
        print(f"{python}: no trace:\n{done.stderr[-500:]}", file=sys.stderr)
        return None
    version, first, *again = done.stdout.split()
    times.setdefault("JAX trace, first", []).append(float(first))
    times.setdefault("JAX trace, again", []).extend(map(float, again))
    return version


def report(name: str, equations: int, size: int, times: Times) -> None:
    """Prints the table of one program."""
    print(f"\n{name}: {equations:,} equations, {size:,} bytes of JSON")
    print(f"{'':22}{'fastest':>12}{'median':>12}{'trace again /':>16}")
    traces = times.get("JAX trace, again")
    for part, all_of_it in times.items():
        best = min(all_of_it)
        line = f"{part:22}{best * 1e3:9.3f} ms{statistics.median(all_of_it) * 1e3:9.3f} ms"
        if traces:
            line += f"{min(traces) / best:14.1f} x"
        print(line)
    check = min(times["check"])
    print(f"check alone: {equations / check / 1e6:.1f} million equations/s")
    print(f"JSON: {size / min(times['readJson']) / 1e6:.0f} MB/s")
    if traces:
        print(f"JAX: {equations / min(traces):,.0f} equations/s")


def main() -> int:
    """Times all programs and prints the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--jax-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    binary = options.build / "bin" / "shardtype"
    for needed in (binary, options.build / "bin" / "shardtype_bench"):
        if not needed.exists():
            sys.exit(f"{needed} is missing: build with -DSHARDTYPE_BENCH=ON")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    python: str | None = options.jax_python
    for name in NAMES:
        file = PROGRAMS / f"{name}.json"
        times: Times = {}
        version = None
        for _ in range(options.rounds):
            seconds = [command(binary, ["check", str(file), "--mesh", MESH]) for _ in range(5)]
            times.setdefault("command", []).extend(seconds)
            library(options.build, file, times)
            if python:
                version = jax_trace(python, name, times)
                python = python if version else None
        text = file.read_text()
        equations = sum(len(j["eqns"]) for j in json.loads(text)["jaxprs"])
        report(name, equations, len(text), times)
        print(f"JAX {version}" if version else "no JAX here: its trace was not timed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
