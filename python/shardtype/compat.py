# compat.py - the few things that differ between JAX releases.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access to JAX: imported late, private parts guarded.

Everything here works on JAX 0.10.2, 0.11.1 and 0.12.0.1. A private part that a
release lacks gives None or an empty result, never an exception.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from shardtype.errors import ExportError

# The only axis of a recording mesh without axes: an empty mesh would make JAX
# refuse annotations. It is not written to the file.
PLACEHOLDER = "shardtype_none"


def require_jax() -> ModuleType:
    """The `jax` module, or an ExportError that says how to get it."""
    try:
        return importlib.import_module("jax")
    except ModuleNotFoundError as e:
        if e.name not in ("jax", "jaxlib"):
            raise
        raise ExportError(
            "JAX is not installed here; the exporter needs it: pip install 'shardtype[jax]'"
        ) from None


def jax_dirs() -> tuple[str, ...]:
    """Directories of JAX's own code, each ending in a separator."""
    jax = require_jax()
    dirs = [os.path.dirname(str(jax.__file__)) + os.sep]
    with contextlib.suppress(ImportError):
        jaxlib = importlib.import_module("jaxlib")
        dirs.append(os.path.dirname(str(jaxlib.__file__)) + os.sep)
    return tuple(dirs)


def user_frames(traceback: Any) -> list[Any]:
    """Frames of code outside JAX and the standard library, innermost first.

    None is answered with no frames, and so is a release without the private
    function that knows them.
    """
    if traceback is None:
        return []
    try:
        from jax._src import source_info_util
    except ImportError:
        return []
    return list(source_info_util.user_frames(traceback))


def current_traceback() -> Any:
    """The traceback of this moment, as equations hold one; None if unknown."""
    try:
        from jax._src import source_info_util

        return source_info_util.current().traceback
    except (ImportError, AttributeError):
        return None


def has_user_frames() -> bool:
    """Whether this release lets us read source frames."""
    try:
        from jax._src import source_info_util
    except ImportError:
        return False
    return hasattr(source_info_util, "user_frames")


@contextlib.contextmanager
def full_tracebacks() -> Iterator[None]:
    """Let exceptions keep the frames of JAX while the block runs.

    By default JAX cuts them, and then nobody can tell an error that JAX raised
    from one that the user's code raised.
    """
    jax = require_jax()
    name = "jax_traceback_filtering"
    before = getattr(jax.config, name, None)
    if before is None:
        yield
        return
    jax.config.update(name, "off")
    try:
        yield
    finally:
        jax.config.update(name, before)


def is_spec(value: Any) -> bool:
    """Whether `value` is a PartitionSpec (whose class is not always so named)."""
    return isinstance(value, require_jax().sharding.PartitionSpec)


def partitions(spec: Any) -> tuple[Any, ...]:
    """The entries of a PartitionSpec; one with sets must not be iterated."""
    parts = getattr(spec, "partitions", None)
    return tuple(spec) if parts is None else tuple(parts)


def with_partitions(spec: Any, entries: tuple[Any, ...]) -> Any:
    """`spec` with other entries and the same sets."""
    return spec.update(partitions=entries)


def is_manual_mesh(mesh: Any) -> bool:
    """Are all of its axes Manual?"""
    return bool(mesh.axis_names) and set(mesh.manual_axes) == set(mesh.axis_names)


def is_empty_mesh(mesh: Any) -> bool:
    """Whether `mesh` is None or has no axes (that the program knows of)."""
    names = () if mesh is None else tuple(getattr(mesh, "axis_names", ()))
    if names == (PLACEHOLDER,):
        return not mesh.abstract_device.rel
    return not names


def inner_jaxpr(jaxpr: Any) -> tuple[Any, list[Any]]:
    """(the jaxpr with equations, its constants); one class or two."""
    inner = getattr(jaxpr, "jaxpr", None)
    inner = jaxpr if inner is None else inner
    return inner, list(getattr(jaxpr, "consts", None) or ())


def is_jaxpr(value: Any) -> bool:
    """Whether `value` is a Jaxpr or a ClosedJaxpr, of any release."""
    if type(value).__name__ not in ("Jaxpr", "ClosedJaxpr"):
        return False
    inner, _ = inner_jaxpr(value)
    return hasattr(inner, "eqns") and hasattr(inner, "outvars")


def flags() -> dict[str, Any]:
    """The settings that change what a program means."""
    config = require_jax().config
    names = {
        "x64": "jax_enable_x64",
        "threefry_partitionable": "jax_threefry_partitionable",
        "numpy_rank_promotion": "jax_numpy_rank_promotion",
        "remove_size_one_mesh_axis": "jax_remove_size_one_mesh_axis_from_type",
    }
    out = {}
    for ours, theirs in names.items():
        value = getattr(config, theirs, None)
        if value is not None:
            out[ours] = value
    return out
