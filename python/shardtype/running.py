# running.py - from a Python function to its numbers, on simulated devices.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run`, which has the `shardtype` program compute what a function computes."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from shardtype import compat, paths, specs
from shardtype import program as runner
from shardtype import trace as tracing
from shardtype.errors import ExportError, RunFailed
from shardtype.export import Exported
from shardtype.export import program as program_of
from shardtype.types import JsonObject
from shardtype.verdict import argument_specs, positional


def run(
    fn: Callable[..., Any] | Exported | str | os.PathLike[str],
    *args: Any,
    mesh: Any = None,
    in_specs: Any = None,
    options: Sequence[str] = (),
    program: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> Any:
    """Compute `fn` on `args` and `kwargs` without devices, and return NumPy arrays.

    `fn` is traced, checked and run: whole, and in every `shard_map` once for each
    device of `mesh` ("X=4,Y=2", a dict of sizes, an AbstractMesh or a Mesh). The result
    has the structure of `fn`'s. `fn` may also be an `Exported`, or the path of a
    program's file: then arguments are arrays in the order of the program's, and the
    result is the list of its results.

    `in_specs` is as in `check`. `options` are more options of `shardtype run`, such as
    `["--workers", "1"]` or `["--jax-numbers"]`; what they print is printed. Keys go in
    as JAX makes them and come out as their words. What the run warns of, such as copies
    that differ, is a Python warning.

    Raises `RunFailed` with the program's words if it has errors or its run ends in one,
    `Rejected` if JAX refuses a function with derivatives under the mesh, `ExportError`
    for other wrong uses.
    """
    executable = runner.verified(runner.find(program))
    on = None if mesh is None else specs.to_mesh(mesh)
    config: JsonObject = {} if on is None else {"mesh": specs.mesh_text(on)}
    if callable(fn):
        if on is None and in_specs is not None:
            raise ExportError('in_specs need a mesh, such as mesh="data=4"')
        mode = "plain" if on is None else "auto"
        traced = tracing.trace(fn, args, kwargs, mode=mode, mesh=on, in_specs=None)
        is_marked = traced.plain is not None
        if traced.recorder is not None and traced.recorder.infer:
            is_marked = True  # The types that a shard_map's in_specs come from are JAX's.
        if is_marked:  # Markers of derivatives have types but no numbers: JAX's own do.
            traced = tracing.trace(fn, args, kwargs, mode="native", mesh=on, in_specs=in_specs)
            config = {}
        exported = program_of(traced, include_constants=True, root=None)
        names = exported.data["entry"]["arg_paths"]
        if on is not None and not is_marked:
            config["in"] = positional(argument_specs(fn, args, kwargs, in_specs, on), names)
        found = _run(executable, exported, _leaves(fn, args, kwargs, names), config, options)
        values = _as_results(found, traced.jaxpr)
        return compat.require_jax().tree_util.tree_unflatten(traced.out_tree, values)
    if not isinstance(fn, (Exported, str, os.PathLike)):
        raise ExportError(
            "run takes a function, an Exported or the path of a program's file, "
            f"not an {type(fn).__name__}"
        )
    if in_specs is not None:
        raise ExportError(
            "in_specs are of a function's arguments; for a program give options such as "
            "[\"--in\", \"x=P('data')\"]"
        )
    return list(_run(executable, fn, [_array(a) for a in args], config, options).values())


def _leaves(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]
) -> list[Any]:
    """The arrays of the program's arguments; static ones are not among these."""
    leaves = compat.require_jax().tree_util.tree_leaves((args, kwargs))
    places = [path for _, path in paths.argument_places(fn, args, kwargs)]
    if len(places) != len(leaves):
        return [_canonical(leaf) for leaf in leaves]
    by_path = dict(zip(places, leaves, strict=True))
    return [_canonical(by_path[name]) for name in names]


def _canonical(value: Any) -> Any:
    """As JAX takes it: without its 64-bit mode, 64 bits are 32."""
    array = _array(value)
    return array.astype(compat.require_jax().dtypes.canonicalize_dtype(array.dtype), copy=False)


def _array(value: Any) -> Any:
    """As NumPy has it; keys as their words."""
    import numpy as np

    jax = compat.require_jax()
    if jax.dtypes.issubdtype(getattr(value, "dtype", None), jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if isinstance(value, (bool, int, float, complex)):
        value = jax.numpy.asarray(value)
    return np.asarray(value)


def _run(
    executable: str,
    of: Exported | str | os.PathLike[str],
    arrays: Sequence[Any],
    config: JsonObject,
    options: Sequence[str],
) -> dict[str, Any]:
    """The results by path, in their order."""
    import numpy as np

    with tempfile.TemporaryDirectory(prefix="shardtype-") as folder:

        def place(name: str) -> str:
            return os.path.join(folder, name)

        if isinstance(of, Exported):
            path = place("program.json")
            of.save(path)
        else:
            path = os.path.abspath(os.fspath(of))
        np.savez(place("in.npz"), *arrays)
        with open(place("config"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        call = ["run", path, "--config", place("config"), "-o", place("out.npz"), *options]
        if arrays:
            call += ["--inputs", place("in.npz")]
        code, printed, error = runner.run(executable, call)
        said = error.strip().replace(folder + os.sep, "")
        if code != 0:
            raise RunFailed("\n".join(filter(None, [printed.strip(), said])))
        if said:
            warnings.warn(said, stacklevel=3)
        if printed:  # What `options` ask for.
            print(printed, end="")
        with np.load(place("out.npz")) as results:
            return {name: results[name] for name in results.files}


def _as_results(found: dict[str, Any], jaxpr: Any) -> list[Any]:
    """With the dtypes of the results: NumPy's files do not say that two bytes are a
    bfloat16."""
    jax = compat.require_jax()
    out = []
    for value, aval in zip(found.values(), jaxpr.out_avals, strict=True):
        dtype = aval.dtype
        if not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) and value.dtype != dtype:
            value = value.view(dtype) if value.dtype.kind == "V" else value.astype(dtype)
        out.append(value)
    return out
