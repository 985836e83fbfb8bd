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

from shardtype import batching, compat, hooks, markers
from shardtype.errors import ExportError
from shardtype.recording import NewAxes, Note, Recorder, Unmarked
from shardtype.replace import Replacements

# Releases on which the replacements are known to give what they should.
KNOWN_VERSIONS = ("0.10.2", "0.11.1", "0.12.0.1")
# Each attempt learns at least one axis; a program has few.
MAX_ATTEMPTS = 16
# What reads types or axis kinds while tracing.
_READS_TYPES = re.compile(
    r"typeof\(.*\.sharding|\.aval\.sharding|get_abstract_mesh\(\)|axis_types|\.sharding\.spec"
)
_HINT = (
    "while recording, types carry no shardings and all axes are Auto; code that"
    " inspects them needs --mode native"
)
_lock = threading.Lock()
_context: Any = None
_next_key = 0


class RecordingUnknown(ExportError):
    """Recording is not known to work on this version of JAX."""


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
    recorder = Recorder(sizes, markers=markers, table=table or {})
    for _ in range(MAX_ATTEMPTS):
        try:
            out = _attempt(run, recorder)
            if not recorder.missing:
                return out, recorder
        except NewAxes:
            pass
        except ExportError:
            raise
        except Exception as e:
            # With an axis missing, the failure may be for want of it.
            if not recorder.missing:
                return _once_more(run, recorder, e)
        recorder = recorder.extended()
    raise ExportError(f"the program names new mesh axes in each of {MAX_ATTEMPTS} traces")


def _attempt(run: Callable[[], Any], recorder: Recorder) -> Any:
    jax = compat.require_jax()
    with recording(recorder):
        with jax.sharding.use_abstract_mesh(recorder.mesh()):
            return run()


def _once_more(
    run: Callable[[], Any], first: Recorder, error: Exception
) -> tuple[Any, Recorder]:
    """Further tries of a program that failed: without markers, if it has
    derivatives, and with shard_map bodies unchecked, if it has such."""
    line = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if first.vma and first.sizes_read:
        recorder = Recorder(
            dict(first.axes), vma=False, markers=first.markers, table=first.table
        )
        out, recorder = _try(run, recorder)
        if out is not None and (not first.marked or _fails_without_markers(run, first)):
            recorder.notes.append(Note("vma", "shard_map", line))
            return out, recorder
    if first.markers and first.marked:
        recorder = Recorder(dict(first.axes), vma=first.vma, markers=False, table=first.table)
        out, recorder = _try(run, recorder)
        if out is not None:
            recorder.unmarked.append(Unmarked("all", f"with markers, tracing fails: {line}"))
            return out, recorder
    _explain(error)
    raise error


def _fails_without_markers(run: Callable[[], Any], first: Recorder) -> bool:
    """Whether JAX refuses the program, and not a marker in it."""
    recorder = Recorder(dict(first.axes), vma=first.vma, markers=False, table=first.table)
    return _try(run, recorder)[0] is None


def _try(run: Callable[[], Any], recorder: Recorder) -> tuple[Any, Recorder]:
    """What `run` gives, None if it fails, and the recorder with all axes. What the
    first tries did not come to may name further axes."""
    for _ in range(MAX_ATTEMPTS):
        try:
            out = _attempt(run, recorder)
        except ExportError:
            raise
        except (Exception, NewAxes):
            if not recorder.missing:
                return None, recorder
        else:
            if not recorder.missing:
                return out, recorder
        recorder = recorder.extended()
    return None, recorder


def without_markers(run: Callable[[], Any], recorder: Recorder) -> Any:
    """The jaxpr of the same program with its derivatives traced by JAX."""
    again = Recorder(dict(recorder.axes), vma=recorder.vma, markers=False, table=recorder.table)
    out, again = _try(run, again)
    return None if out is None else out.jaxpr


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """The replacements, and a setting that keeps what is traced under them away
    from what is traced without."""
    if not _lock.acquire(blocking=False):
        raise ExportError("another export is recording: one at a time in a process")
    try:
        with Replacements() as patches, _own_caches():
            hooks.install(recorder, patches)
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
    place = None
    tb = error.__traceback__
    skip = compat.jax_dirs()
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        if not file.startswith(skip):
            place = (file, tb.tb_lineno)
        tb = tb.tb_next
    line = linecache.getline(*place) if place else ""
    if isinstance(error, AssertionError) or _READS_TYPES.search(line):
        if hasattr(error, "add_note") and _HINT not in getattr(error, "__notes__", ()):
            error.add_note(_HINT)
