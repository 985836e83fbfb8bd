#!/usr/bin/env python3
# corpus_numbers.py - what real JAX computes for the programs of test/corpus.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the corpus models on real JAX, on eight host devices.

    python tools/dev/corpus_numbers.py            writes test/corpus/numbers.npz
    python tools/dev/corpus_numbers.py --check    compares with it, writes nothing

Arguments follow from their position (`argument`), as in the test that reads the
file, so only results are kept: `folder/name/I` holds the elements of the I-th
result that `sample` picks.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import argparse  # noqa: E402
import sys  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from typing import Any  # noqa: E402

try:
    import jax
except ImportError:
    print("skipped: this Python has no JAX", file=sys.stderr)
    sys.exit(77)
import numpy as np  # noqa: E402
from export_corpus import (  # noqa: E402
    BIG_LAYERS,
    CORPUS,
    JAX_VERSION,
    MANUAL,
    NATIVE,
    PLAIN,
    Program,
    export,
)
from jax.sharding import AxisType, NamedSharding, PartitionSpec  # noqa: E402

FILE = CORPUS / "numbers.npz"
SAMPLES = 64
TABLES = {"programs": PLAIN, "native": NATIVE, "manual": MANUAL}
SKIPPED = f"transformer_{BIG_LAYERS}_step"  # As transformer_step, and slow.


def argument(position: int, shape: tuple[int, ...], dtype: Any, positive: bool) -> Any:
    """Small numbers that differ, exact in every float type of eight bits or more."""
    if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(np.array([1, 2], np.uint32))
    index = (np.arange(int(np.prod(shape)), dtype=np.int64) * 37 + 11 * position) % 61
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return (index % 4).astype(dtype).reshape(shape)
    return ((index + 1 if positive else index - 30) / 256).astype(dtype).reshape(shape)


def arguments(name: str, program: Program) -> tuple[list[Any], Any]:
    """The flat arguments, and their tree. Adam's second moments are no negative numbers."""
    leaves, tree = jax.tree.flatten(program.args())
    positive = "step" in name
    values = [argument(i, v.shape, v.dtype, positive) for i, v in enumerate(leaves)]
    return values, tree


def on_mesh(program: Program, values: list[Any]) -> tuple[Any, list[Any]]:
    """The program's mesh, of real devices, and the arguments laid out as it was traced."""
    axes = [axis.split("=") for axis in program.mesh.split(",")]
    sizes = [int(size.split(":")[0]) for _, size in axes]
    kinds = tuple(AxisType.Auto if ":Auto" in s else AxisType.Explicit for _, s in axes)
    mesh = jax.make_mesh(sizes, [axis for axis, _ in axes], axis_types=kinds)
    data = export(program).data
    invars = data["jaxprs"][data["entry"]["jaxpr"]]["invars"]
    placed = []
    for value, (_, type_id) in zip(values, invars, strict=True):
        entries = data["types"][type_id].get("spec", {"p": []})["p"]
        spec = PartitionSpec(*(tuple(e) if e else None for e in entries))
        placed.append(jax.device_put(value, NamedSharding(mesh, spec)))
    return mesh, placed


def results(name: str, program: Program) -> list[Any]:
    """What JAX computes, as NumPy arrays; keys as their words."""
    jax.clear_caches()
    values, tree = arguments(name, program)
    if program.specs is None:
        out = jax.jit(program.fn)(*jax.tree.unflatten(tree, values))
    else:
        mesh, values = on_mesh(program, values)
        with jax.set_mesh(mesh):
            out = jax.jit(program.fn)(*jax.tree.unflatten(tree, values))
    return [np.asarray(v) for v in jax.tree.leaves(out)]


def sample(value: Any) -> Any:
    """At most SAMPLES elements, evenly apart, the first among them."""
    flat = value.reshape(-1)
    step = max(1, len(flat) // SAMPLES)
    return flat[::step][:SAMPLES]


def all_numbers() -> Iterator[tuple[str, Any]]:
    for folder, table in TABLES.items():
        for name, program in table.items():
            if name == SKIPPED:
                continue
            print(f"{folder}/{name}", file=sys.stderr)
            for i, value in enumerate(results(name, program)):
                yield f"{folder}/{name}/{i}", sample(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    if jax.__version__ != JAX_VERSION:
        print(f"skipped: this is JAX {jax.__version__}, not {JAX_VERSION}", file=sys.stderr)
        return 77
    made = dict(all_numbers())
    if not options.check:
        np.savez_compressed(FILE, **made)
        return 0
    recorded = np.load(FILE)
    different = [
        key
        for key in sorted(set(recorded.files) | set(made))
        if key not in recorded.files
        or key not in made
        or not np.allclose(recorded[key], made[key], rtol=1e-5, atol=1e-6, equal_nan=True)
    ]
    for key in different:
        print(f"differs: {key}", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
