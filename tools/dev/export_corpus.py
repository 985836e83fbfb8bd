#!/usr/bin/env python3
# export_corpus.py - writes the programs of test/corpus: plain, native and manual.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Export the corpus models with real JAX.

    python tools/dev/export_corpus.py            write all
    python tools/dev/export_corpus.py --check    compare with the files, write nothing
    python tools/dev/export_corpus.py mlp_step   only this one
    python tools/dev/export_corpus.py --layers 30 -o FILE
                                                 the unrolled training step of any depth

Each program is written twice: NAME.json is the exchange format, NAME.txt what
JAX printed. JAX must be the release the recorded files were made with.
"""

from __future__ import annotations

import argparse
import functools
import pathlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "test" / "corpus"
sys.path[:0] = [str(ROOT / "python"), str(CORPUS / "models")]

import jax  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

import decode  # noqa: E402
import embedding  # noqa: E402
import lstm  # noqa: E402
import manual  # noqa: E402
import mlp  # noqa: E402
import resnet  # noqa: E402
import sharded  # noqa: E402
import shardtype  # noqa: E402
import transformer as tf  # noqa: E402

JAX_VERSION = "0.12.0.1"
FORWARD_LAYERS = 4  # 242 equations.
BIG_LAYERS = 55  # About 16,000 equations.


@dataclass
class Program:
    """`specs` is None for a plain trace, else those of a native one."""

    fn: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    specs: dict[str, Any] | list[P] | None = None
    mesh: str = sharded.MESH


def big_args(layers: int) -> tuple[Any, ...]:
    """Arguments of the unrolled training step with that many layers."""
    return tf.step_args(tf.Config(layers=layers))


PLAIN = {
    "decode_generate": Program(decode.generate, decode.generate_args),
    "embedding_accuracy": Program(embedding.accuracy, embedding.loss_args),
    "embedding_loss": Program(embedding.loss, embedding.loss_args),
    "embedding_step": Program(embedding.step, embedding.step_args),
    "lstm_loss": Program(lstm.loss, lstm.loss_args),
    "lstm_step": Program(lstm.step, lstm.step_args),
    "mlp_dropout_loss": Program(mlp.dropout_loss, mlp.dropout_args),
    "mlp_forward": Program(mlp.forward, mlp.forward_args),
    "mlp_loss": Program(mlp.loss, mlp.loss_args),
    "mlp_step": Program(mlp.step, mlp.step_args),
    "resnet_loss": Program(resnet.loss, resnet.loss_args),
    "resnet_step": Program(resnet.step, resnet.step_args),
    "transformer_4_forward": Program(
        tf.forward, lambda: tf.forward_args(tf.Config(layers=FORWARD_LAYERS))
    ),
    "transformer_55_step": Program(tf.step, lambda: big_args(BIG_LAYERS)),
    "transformer_forward": Program(tf.forward, tf.forward_args),
    "transformer_loss": Program(tf.loss, tf.forward_args),
    "transformer_remat_step": Program(tf.remat_step, tf.scan_step_args),
    "transformer_scan_forward": Program(tf.scan_forward, tf.scan_forward_args),
    "transformer_scan_loss": Program(tf.scan_loss, tf.scan_forward_args),
    "transformer_scan_step": Program(tf.scan_step, tf.scan_step_args),
    "transformer_step": Program(tf.step, tf.step_args),
}

_MLP_FORWARD_SPECS = {k: v for k, v in sharded.MLP_SPECS.items() if k != "y"}
_DATA = {"batch/0": P("data", None), "batch/1": P("data")}

NATIVE = {
    "mlp_data_parallel_step": Program(mlp.step, mlp.step_args, _DATA),
    "mlp_forward": Program(sharded.mlp_forward, mlp.forward_args, _MLP_FORWARD_SPECS),
    "mlp_loss": Program(sharded.mlp_loss, mlp.loss_args, sharded.MLP_SPECS),
    "mlp_step": Program(
        sharded.mlp_step, mlp.step_args, sharded.for_batch(sharded.MLP_SPECS, x=0, y=1)
    ),
    "resnet_step": Program(
        resnet.step, resnet.step_args, {"x": P("data", None, None, None), "y": P("data")}
    ),
    "transformer_loss": Program(
        sharded.transformer_loss, tf.forward_args, sharded.UNROLLED_SPECS
    ),
    "transformer_scan_forward": Program(
        sharded.scan_forward, tf.scan_forward_args, sharded.SCAN_SPECS
    ),
    "transformer_scan_step": Program(
        sharded.scan_step, tf.scan_step_args, sharded.for_batch(sharded.SCAN_SPECS, tokens=0)
    ),
    "transformer_step": Program(
        sharded.transformer_step,
        tf.step_args,
        sharded.for_batch(sharded.UNROLLED_SPECS, tokens=0),
    ),
}


def _manual() -> dict[str, Program]:
    """Each on Explicit and on Auto axes, forward and gradient."""
    table = {}
    for name, (fn, mesh, shapes, specs, count) in manual.PROGRAMS.items():
        auto = ",".join(axis + ":Auto" for axis in mesh.split(","))
        for suffix, traced in (("", fn), ("_gradient", manual.gradient(fn, count))):
            args = functools.partial(manual.arrays, *shapes)
            table[name + suffix] = Program(traced, args, specs, mesh)
            table[name + suffix + "_auto"] = Program(traced, args, {}, auto)
    for suffix, specs in (("", [manual.ROWS, P()]), (":Auto", {})):
        name = "flow" + suffix.lower().replace(":", "_")
        table[name] = Program(manual.flow, manual.flow_args, specs, manual.LINE + suffix)
    return table


MANUAL = _manual()


def export(program: Program) -> shardtype.Exported:
    """Trace and write one program, untouched by those before it."""
    jax.clear_caches()  # Else sub-programs traced earlier would be shared.
    args = program.args()
    if program.specs is None:
        return shardtype.export(program.fn, *args, mode="plain", root=ROOT)
    return shardtype.export(
        program.fn,
        *args,
        mode="native",
        mesh=program.mesh,
        in_specs=program.specs,
        root=ROOT,
    )


def files(names: list[str]) -> list[tuple[pathlib.Path, str]]:
    """(file, content) of the named programs, of all if none is named."""
    out = []
    for folder, table in (("programs", PLAIN), ("native", NATIVE), ("manual", MANUAL)):
        for name, program in table.items():
            if names and name not in names:
                continue
            exported = export(program)
            base = CORPUS / folder / name
            out.append((base.with_suffix(".json"), exported.to_json()))
            out.append((base.with_suffix(".txt"), exported.text + "\n"))
            print(f"{folder}/{name}: {exported.summary()}", file=sys.stderr)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--layers", type=int, help="write the unrolled step of that depth")
    parser.add_argument("-o", "--output", help="where to, with --layers")
    options = parser.parse_args()
    if jax.__version__ != JAX_VERSION:
        print(f"this is JAX {jax.__version__}; the corpus needs {JAX_VERSION}", file=sys.stderr)
        return 2
    if options.layers is not None:
        if options.output is None:
            parser.error("--layers needs -o FILE")
        export(Program(tf.step, lambda: big_args(options.layers))).save(options.output)
        return 0
    unknown = set(options.names) - set(PLAIN) - set(NATIVE) - set(MANUAL)
    if unknown:
        parser.error(f"no program named {', '.join(sorted(unknown))}")
    different = 0
    for path, text in files(options.names):
        if options.check:
            if not path.exists() or path.read_text() != text:
                print(f"differs: {path.relative_to(ROOT)}", file=sys.stderr)
                different += 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
