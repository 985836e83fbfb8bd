#!/usr/bin/env python3
# run.py - running programs here and in JAX, timed in one run.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time `shardtype run` and its library beside JAX on 8 host devices.

    python tools/bench/run.py [--build build] [--jax-python PYTHON] [--rounds N]

Both compute the same functions: the training step of a network 784-128x5-8 on 8
devices, the step of a transformer of 4 layers, and four collectives on 64 MB a
device. "cold" is from the start of a process to its results; arrays are read
from a file, and JAX compiles. "hot" is again in the same process, made ready
before. The two take turns in every round, so that other load on the machine
meets both; the table gives the fastest. The network without devices is also
evaluated by the reference interpreter of StableHLO. Without a Python that has
JAX its column is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MLP = ROOT / "spec-examples" / "golden" / "json" / "B65-71.value_and_grad.json"
COLLECTIVES = ("psum", "allGather", "ppermute", "psumScatter")
# What the project asks for, in milliseconds.
TARGETS = {
    "network, cold": 20,
    "network, hot": 1.1,
    "transformer, cold": 40,
    "transformer, hot": 14,
    "psum": 35,
    "allGather": 60,
    "ppermute": 1,
    "psumScatter": 24,
}

Times = dict[str, list[float]]  # Milliseconds.


def add(times: Times, name: str, *values: float) -> None:
    times.setdefault(name, []).extend(values)


def done(command: list[str], **more: str) -> str:
    """The output of a command that must succeed."""
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **more}
    )
    if ran.returncode:
        sys.exit(f"{' '.join(command)}: {ran.stderr[-1000:]}")
    return ran.stdout


class Ours:
    """The command and the benchmarks of a build."""

    def __init__(self, build: pathlib.Path, work: pathlib.Path) -> None:
        self.program = build / "bin" / "shardtype"
        self.bench = build / "bin" / "shardtype_bench_run"
        self.work = work
        self.counters: dict[str, dict[str, float]] = {}
        for needed in (self.program, self.bench):
            if not needed.exists():
                sys.exit(f"{needed} is missing: build with -DSHARDTYPE_BENCH=ON")

    def cold(self, times: Times) -> None:
        for name, file in (("network", MLP), ("transformer", self.work / "transformer.json")):
            if not file.exists():
                continue
            arrays = self.work / f"{name}.npz"
            given = ["--inputs", str(arrays)] if arrays.exists() else ["--random", "0"]
            command = [str(self.program), "run", str(file), *given]
            command += ["-o", str(self.work / "out.npz")]
            begin = time.perf_counter()
            done(command)
            add(times, f"{name}, cold", (time.perf_counter() - begin) * 1e3)

    def hot(self, times: Times) -> None:
        command = [str(self.bench), "--benchmark_format=json", "--benchmark_min_time=0.5"]
        transformer = self.work / "transformer.json"
        if transformer.exists():
            command += ["--program", str(transformer)]
        for row in json.loads(done(command))["benchmarks"]:
            if row.get("error_occurred"):
                sys.exit(f"{row['name']}: {row['error_message']}")
            name = row["name"].removesuffix("/real_time")
            to_ms = {"ns": 1e-6, "us": 1e-3, "ms": 1.0}[row["time_unit"]]
            name = {
                "runFile/mlp8_value_and_grad": "network, hot",
                "program/transformer": "transformer, hot",
            }.get(name, name)
            add(times, name, row["real_time"] * to_ms)
            keep = self.counters.setdefault(name, {})
            for counter in ("memory", "flop/s", "items_per_second"):
                if counter in row:
                    keep[counter] = max(keep.get(counter, 0.0), row[counter])


def jax_part(python: str, part: str, work: pathlib.Path) -> dict[str, list[float]]:
    """Runs one part of run_jax.py; what it printed."""
    text = done(
        [python, str(ROOT / "tools" / "bench" / "run_jax.py"), part, str(work)],
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=8",
        PYTHONPATH=str(ROOT / "python"),
    )
    return json.loads(text.splitlines()[-1])


def report(times: Times, jax: Times, counters: dict[str, dict[str, float]]) -> None:
    """Prints the table, and what follows from it."""
    print("| what, ms | JAX | target | shardtype |")
    print("| --- | --- | --- | --- |")
    for name, target in TARGETS.items():
        if name not in times:
            continue
        theirs = f"{min(jax[name]):.3g}" if name in jax else ""
        memory = counters.get(name, {}).get("memory")
        more = f", memory {memory:.2f} of operand and result" if memory else ""
        print(f"| {name} | {theirs} | {target} | {min(times[name]):.3g}{more} |")
    if "stablehlo" in jax:
        ratio = min(jax["stablehlo"]) / min(times["network, hot"])
        print(
            f"| network, reference interpreter of StableHLO | {min(jax['stablehlo']):.0f} | "
            f"1,000 times ours | {ratio:,.0f} times |"
        )
    rate = counters["dispatch/1000"]["items_per_second"]
    print(f"| an equation on a device | | 0.001 | {1e3 / rate:.2g} |")
    for size in (256, 1024):
        own, blas = (counters[f"{name}/{size}"]["flop/s"] for name in ("matmul", "cblas"))
        print(f"| product {size}x{size}, of CBLAS alone | | 80 % | {own / blas:.0%} |")


def main() -> int:
    """Times all parts and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--jax-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    python = options.jax_python
    has_jax = subprocess.run([python, "-c", "import jax"], capture_output=True, check=False)
    times: Times = {}
    jax: Times = {}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if has_jax.returncode == 0:
            jax_part(python, "export", work)
        else:
            print("no JAX here: its column and the transformer are left out")
        ours = Ours(options.build, work)
        for _ in range(options.rounds):
            for _ in range(5):
                ours.cold(times)
            ours.hot(times)
            if has_jax.returncode:
                continue
            for name in ("network", "transformer"):
                begin = time.perf_counter()
                parts = jax_part(python, name, work)
                add(jax, f"{name}, cold", (time.perf_counter() - begin) * 1e3 - parts["more"][0])
                add(jax, f"{name}, hot", *parts["hot"])
            for name, values in jax_part(python, "collectives", work).items():
                add(jax, name, *values)
        if has_jax.returncode == 0:
            for name, values in jax_part(python, "stablehlo", work).items():
                add(jax, name, *values)
    report(times, jax, ours.counters)
    return 0


if __name__ == "__main__":
    sys.exit(main())
