# run_jax.py - the parts of run.py that JAX computes.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run one part and print its times in milliseconds as JSON.

    python run_jax.py export|network|transformer|collectives|stablehlo FOLDER

`export` writes the transformer and all arguments to the folder; the others read
them from there.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = (784, 128, 128, 128, 128, 128, 8)
BATCH = 32
BLOCK = 16 << 20  # Floats a device.


def milliseconds(call: Any) -> float:
    begin = time.perf_counter()
    jax.block_until_ready(call())
    return (time.perf_counter() - begin) * 1e3


def devices(kind: AxisType = AxisType.Explicit) -> Any:
    return jax.make_mesh((8,), ("batch",), axis_types=(kind,))


# --- The network


def loss(weights: Any, x: Any, y: Any) -> Any:
    for i, (w, b) in enumerate(weights):
        x = x @ w + b
        x = jax.nn.relu(x) if i + 1 < len(weights) else x
    return jnp.mean(jnp.sum((x - y) ** 2, axis=-1))


def loss_of_devices(weights: Any, x: Any, y: Any) -> Any:
    return jax.lax.pmean(loss(weights, x, y), "batch")


def network_arguments() -> Any:
    draw = np.random.default_rng(0).standard_normal
    weights = [
        ((draw((m, n)) / np.sqrt(m)).astype("f4"), draw(n).astype("f4"))
        for m, n in zip(SIZES, SIZES[1:])
    ]
    return weights, draw((BATCH, SIZES[0])).astype("f4"), draw((BATCH, SIZES[-1])).astype("f4")


def step_of_network() -> tuple[Any, Any]:
    mesh = devices()
    jax.set_mesh(mesh)
    weights, x, y = network_arguments()
    arguments = (
        jax.device_put(weights, P()),
        jax.device_put(x, P("batch")),
        jax.device_put(y, P("batch")),
    )
    mapped = jax.shard_map(
        loss_of_devices, in_specs=(P(), P("batch"), P("batch")), out_specs=P()
    )
    return jax.jit(jax.value_and_grad(mapped)), arguments


# --- The transformer


def transformer() -> tuple[Any, Any]:
    """The step of the corpus, four layers deep, and types of its arguments."""
    sys.path[:0] = [str(ROOT / "tools" / "dev")]
    import export_corpus as corpus

    return corpus.tf.step, corpus.big_args(4)


def filled(shapes: Any) -> Any:
    draw = np.random.default_rng(0)

    def one(leaf: Any) -> Any:
        if np.issubdtype(leaf.dtype, np.integer):
            return draw.integers(0, 10, leaf.shape).astype(leaf.dtype)
        return np.abs(draw.standard_normal(leaf.shape) * 0.1).astype(leaf.dtype)

    return jax.tree.map(one, shapes)


def step_of_transformer() -> tuple[Any, Any]:
    step, shapes = transformer()
    return jax.jit(step), jax.device_put(filled(shapes))


# --- Parts


def export(folder: pathlib.Path) -> dict[str, list[float]]:
    import shardtype

    step, shapes = transformer()
    shardtype.export(step, *shapes, mode="plain").save(str(folder / "transformer.json"))
    for name, arguments in (("transformer", filled(shapes)), ("network", network_arguments())):
        np.savez(folder / f"{name}.npz", *jax.tree.leaves(arguments))
    return {}


def timed(step: Any, arguments: Any) -> dict[str, list[float]]:
    jax.block_until_ready(step(*arguments))
    begin = time.perf_counter()
    hot = [milliseconds(lambda: step(*arguments)) for _ in range(50)]
    return {"hot": hot, "more": [(time.perf_counter() - begin) * 1e3]}


def collectives() -> dict[str, list[float]]:
    mesh = devices(AxisType.Auto)
    lax = jax.lax
    ring = [(i, (i + 1) % 8) for i in range(8)]
    spread = jax.NamedSharding(mesh, P("batch"))
    whole = jax.jit(
        lambda: jnp.arange(8 * BLOCK, dtype=jnp.float32) % 17, out_shardings=spread
    )()
    table = {
        "psum": (lambda v: lax.psum(v, "batch"), P()),
        "allGather": (lambda v: lax.all_gather(v, "batch", tiled=True), P()),
        "ppermute": (lambda v: lax.ppermute(v, "batch", ring), P("batch")),
        "psumScatter": (lambda v: lax.psum_scatter(v, "batch", tiled=True), P("batch")),
    }
    times = {}
    for name, (body, out) in table.items():
        mapped = jax.shard_map(
            body, mesh=mesh, in_specs=P("batch"), out_specs=out, check_vma=False
        )
        call = jax.jit(mapped)
        jax.block_until_ready(call(whole))
        times[name] = [milliseconds(lambda call=call: call(whole)) for _ in range(5)]
    return times


def stablehlo() -> dict[str, list[float]]:
    """The network without devices, by StableHLO's own interpreter."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo as dialect

    arguments = network_arguments()
    wanted = jax.jit(jax.value_and_grad(loss))(*arguments)
    lowered = jax.jit(jax.value_and_grad(loss)).lower(*arguments)
    module = lowered.compiler_ir("stablehlo")
    with module.context:
        dialect.register_interpreter_dialect(module.context)
        given = [ir.DenseElementsAttr.get(np.asarray(v)) for v in jax.tree.leaves(arguments)]
        begin = time.perf_counter()
        results = dialect.eval_module(module, given)
        spent = (time.perf_counter() - begin) * 1e3
        found = float(np.asarray(ir.DenseFPElementsAttr(results[0])).reshape(()))
    assert np.isclose(found, float(wanted[0]), rtol=1e-4), (found, wanted[0])
    return {"stablehlo": [spent]}


def main() -> int:
    part, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if part == "network":
        times = timed(*step_of_network())
    elif part == "transformer":
        times = timed(*step_of_transformer())
    elif part == "export":
        times = export(folder)
    else:
        times = {"collectives": collectives, "stablehlo": stablehlo}[part]()
    print(json.dumps(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
