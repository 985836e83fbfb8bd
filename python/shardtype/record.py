# record.py - mode `record`: one trace that keeps every annotation.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tracing under a mesh that enforces nothing (spec 08 sections 1, 4 and 7).

Parts of JAX are replaced while the trace runs and put back whatever ends it.
One recording at a time: the replacements are those of the whole process.
"""

from __future__ import annotations

import contextlib
import linecache
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from shardtype import batching, compat, hooks, lenient, markers, regions
from shardtype.errors import ExportError
from shardtype.recording import NewAxes, Note, Recorder, Unmarked, whole_message
from shardtype.replace import Replacements
from shardtype.sources import is_users

# Releases on which the replacements are known to give what they should.
KNOWN_VERSIONS = ("0.10.2", "0.11.1", "0.12.0.1")
# Each attempt learns at least one axis; a program has few.
MAX_ATTEMPTS = 16
# What reads types or axis kinds while tracing.
_READS_TYPES = re.compile(
    r"typeof\(.*\.sharding|\.aval\.sharding|get_abstract_mesh\(\)|axis_types|\.sharding\.spec"
)
# A collective over an axis that is not Manual where it stands.
_UNBOUND = re.compile(r"(?:Found an )?unbound axis name: (\w+)")
_HINT = (
    "while recording, types carry no shardings and all axes are Auto; code that"
    " inspects them needs --mode native"
)
_lock = threading.Lock()
_context: Any = None
_next_key = 0


class Unsettled(ExportError):
    """The types that a shard_map without in_specs needs are not known, and without
    them the program cannot be traced."""


def unsupported() -> str | None:
    """Why this JAX cannot record, None if it can. A version that is not listed
    is tested, once in a process."""
    version = compat.require_jax().__version__
    if version in KNOWN_VERSIONS:
        return None
    if version not in _verdicts:
        from shardtype import selftest

        _verdicts[version] = selftest.failure()
    return _verdicts[version]


# What JAX says of primitives without a rule, whatever their operands are.
_NO_DERIVATIVE = re.compile(
    r"(Differentiation|Transpose) rule .*not implemented|Reverse-mode differentiation does not"
)
_verdicts: dict[str, str | None] = {}


def record(
    run: Callable[[], Any],
    axes: dict[str, int],
    *,
    markers: bool = True,
    table: dict[int, list[Any]] | None = None,
) -> tuple[Any, Recorder]:
    """Call `run`, which traces, under recording meshes until all axes are known.

    `axes` are the sizes that the user gave, `table` the in_specs of shard_maps
    without any. Returns what `run` returned, and what
    was recorded beside it. What `run` raises passes through.
    """
    sizes = {n: (s, "mesh") for n, s in axes.items()}
    first = Recorder(sizes, markers=markers, table=table or {})
    out, recorder, error = _traced(run, first)
    if error is None and recorder.bound:
        said = recorder.errors[0]  # Not every use of an axis is an equation.
        recorder.notes.append(Note("unbound", "", whole_message(said), place=place_of(said)))
    if error is None:
        if not recorder.unchecked or not recorder.marked or _fails_without_markers(run, recorder):
            return out, recorder
        error = next(iter(recorder.errors))  # A marker's fault, and not JAX's verdict.
    return _once_more(run, recorder, error)


def _attempt(run: Callable[[], Any], recorder: Recorder) -> Any:
    jax = compat.require_jax()
    with recording(recorder):
        with jax.sharding.use_abstract_mesh(recorder.mesh()), _bound_axes(recorder):
            return run()


def _bound_axes(recorder: Recorder) -> contextlib.AbstractContextManager[Any]:
    """Lets collectives name the axes of the mesh outside of regions too."""
    extend = getattr(hooks.source("core"), "extend_axis_env_nd", None)
    if not recorder.bound or extend is None:
        return contextlib.nullcontext()
    bound: contextlib.AbstractContextManager[Any] = extend(
        [(name, size) for name, (size, _) in recorder.axes.items()]
    )
    return bound


def _traced(
    run: Callable[[], Any], recorder: Recorder
) -> tuple[Any, Recorder, Exception | None]:
    """(what `run` gives, the recorder with all axes, None), or as the last what ends
    it. A region whose body fails is tried once more without its check."""
    for _ in range(MAX_ATTEMPTS):
        try:
            out = _attempt(run, recorder)
            if not recorder.missing:
                return out, recorder, None
        except NewAxes:
            pass
        except ExportError:
            raise
        except Exception as e:
            # With an axis missing, the failure may be for want of it.
            if not recorder.missing:
                unbound = _UNBOUND.match(str(e)) if isinstance(e, NameError) else None
                if unbound and not recorder.bound:
                    recorder.need([unbound[1]])
                    axes = recorder.extended().axes
                    recorder = recorder.again(axes=axes, bound=True, errors=[e])
                    continue
                if recorder.failed is None or recorder.failed[0] in recorder.unchecked:
                    return None, recorder, next(iter(recorder.errors), e)
                key, error = recorder.failed
                said = {**recorder.unchecked, key: whole_message(error)}
                recorder = recorder.again(unchecked=said, errors=[*recorder.errors, error])
                continue
        recorder = recorder.extended()
    raise ExportError(f"the program could not be settled in {MAX_ATTEMPTS} traces")


def place_of(error: Exception) -> tuple[str, int] | None:
    """(file, line) of the user's innermost frame of an exception."""
    place = None
    tb = error.__traceback__
    while tb is not None:
        if is_users(tb.tb_frame.f_code.co_filename):
            place = (tb.tb_frame.f_code.co_filename, tb.tb_lineno)
        tb = tb.tb_next
    return place


def _once_more(
    run: Callable[[], Any], first: Recorder, error: Exception
) -> tuple[Any, Recorder]:
    """Further tries of a program that failed: without markers, if it has
    derivatives, and with all shard_map bodies unchecked, if it has such."""
    line = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if first.vma and first.sizes_read:
        out, recorder = _try(run, first.again(vma=False, unchecked={}))
        if out is not None and (not first.marked or _fails_without_markers(run, first)):
            recorder.notes.append(Note("vma", "shard_map", whole_message(error)))
            return out, recorder
    if first.markers and first.marked:
        out, recorder = _try(run, first.again(markers=False, unchecked={}))
        if out is not None:
            recorder.unmarked.append(Unmarked("all", f"with markers, tracing fails: {line}"))
            return out, recorder
    if first.unsettled():
        raise Unsettled(
            "a shard_map has no in_specs, and the program cannot be traced before the types"
            f" of its operands are known ({line}): give in_specs, or use --mode native"
        ) from error
    _explain(error)
    raise error


def _fails_without_markers(run: Callable[[], Any], first: Recorder) -> bool:
    """Whether JAX refuses the program, and not a marker in it."""
    _, recorder, error = _traced(run, first.again(markers=False, unchecked={}))
    return error is not None or bool(recorder.unchecked)


def _try(run: Callable[[], Any], recorder: Recorder) -> tuple[Any, Recorder]:
    """What `run` gives, None if it fails, and the recorder with all axes. What the
    first tries did not come to may name further axes."""
    out, recorder, error = _traced(run, recorder)
    return (None if error is not None else out), recorder


def without_markers(run: Callable[[], Any], recorder: Recorder) -> Any:
    """The jaxpr of the same program with its derivatives traced by JAX, None if it has
    none. Raises what JAX says of an operation that has no derivative at all."""
    plain = recorder.again(markers=False, numbers=dict(recorder.numbers))
    out, _, error = _traced(run, plain)
    if error is not None and _NO_DERIVATIVE.match(str(error)):
        raise error
    return None if error is not None else out.jaxpr


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """The replacements, and a setting that keeps what is traced under them away
    from what is traced without."""
    if not _lock.acquire(blocking=False):
        raise ExportError("another export is recording: one at a time in a process")
    try:
        with Replacements() as patches, _own_caches():
            hooks.install(recorder, patches)
            regions.install(recorder, patches)
            lenient.install(recorder, patches)
            batching.install(recorder, patches)
            if recorder.markers:
                markers.install(recorder, patches)
            yield
    finally:
        _lock.release()


@contextlib.contextmanager
def _own_caches() -> Iterator[None]:
    """Share no cached trace with anything outside the block."""
    global _context, _next_key
    jax = compat.require_jax()
    make = getattr(jax, "make_user_context", None)
    if make is None:
        jax.clear_caches()
        try:
            yield
        finally:
            jax.clear_caches()
        return
    if _context is None:
        _context = make(None)
    _next_key += 1
    with _context(f"shardtype recording {_next_key}"):
        yield


def _explain(error: Exception) -> None:
    """Say what recording has to do with a failure of the user's code."""
    place = place_of(error)
    line = linecache.getline(*place) if place else ""
    if isinstance(error, AssertionError) or _READS_TYPES.search(line):
        if hasattr(error, "add_note") and _HINT not in getattr(error, "__notes__", ()):
            error.add_note(_HINT)
