# export.py - from a Python function to a program in the exchange format.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`export` and what it returns."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardtype import compat, paths
from shardtype.apis import ApiTable
from shardtype.arrays import ArrayTable
from shardtype.jaxprs import JaxprTable
from shardtype.recording import Recorder, Unmarked
from shardtype.sources import SourceTable
from shardtype.trace import Trace, trace
from shardtype.types import JsonObject, TypeTable, axis_name

FORMAT_VERSION = (1, 2)


@dataclass
class Exported:
    """A program ready to be written.

    `data` is the content of the file, `text` the program as JAX prints it,
    `mode` how it was traced (`record`, `plain` or `native`), `notes` what the user
    should know about that choice. `equations` counts those of all jaxprs, a shared
    one once, without `entry.plain`; `annotations` those that the user wrote (mode
    `record` only).
    """

    data: JsonObject
    text: str
    mode: str
    notes: list[str] = field(default_factory=list)
    equations: int = 0
    annotations: int = 0

    @property
    def warnings(self) -> dict[str, int]:
        """What could not be written in full, with how often it occurred."""
        return dict(self.data["producer"].get("warnings", {}))

    def to_json(self) -> str:
        """The file's content. The same program gives the same text."""
        return json.dumps(self.data, separators=(",", ":"), allow_nan=False) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file as a whole or not at all."""
        write_atomically(path, self.to_json())

    def summary(self) -> str:
        """One line that says what was exported."""
        version = self.data["producer"]["version"]
        if self.mode == "record":
            line = self._recorded() + f", JAX {version}"
        else:
            line = (
                f"exported {_count(self.equations, 'equation')}"
                f" in {_count(len(self.data['jaxprs']), 'jaxpr')}, mode {self.mode}, JAX {version}"
            )
        omitted = sum("omitted" in a for a in self.data["arrays"])
        if omitted:
            line += f", {_count(omitted, 'large constant')} left out"
        if self.warnings:
            line += ", warnings: " + ", ".join(f"{k} ({n})" for k, n in self.warnings.items())
        return line


    def _recorded(self) -> str:
        record = self.data["context"]["record"]
        axes = []
        for origin, text in (("mesh", "given"), ("found", "found in the code")):
            names = [str(a["name"]) for a in record["axes"] if a["from"] == origin]
            if names:
                axes.append(f"{', '.join(names)} {text}")
        where = f"mesh axes: {'; '.join(axes)}" if axes else "no mesh axes"
        line = (
            f"recorded {_count(self.equations, 'equation')},"
            f" {_count(self.annotations, 'annotation')} ({where})"
        )
        return line + (f", {_count(len(record['notes']), 'note')}" if record["notes"] else "")


def export(
    fn: Callable[..., Any],
    *args: Any,
    mode: str = "auto",
    mesh: Any = None,
    in_specs: Any = None,
    include_constants: bool = False,
    root: str | os.PathLike[str] | None = None,
    infer: Mapping[Any, Sequence[Any]] | None = None,
    **kwargs: Any,
) -> Exported:
    """Trace `fn` on `args` and `kwargs` and return the program.

    Arguments are arrays, `jax.ShapeDtypeStruct`s, or trees of them; nothing is
    computed. `mode`:

    - `record`: under a mesh that enforces nothing; every sharding annotation is
      kept as written. The checker puts any mesh and specs on the program later.
      `mesh` gives the sizes that code which reads them sees (else 1, or those of
      a mesh that the code itself names).
    - `native`: under `mesh`, arguments sharded as `in_specs` says; all of JAX's
      own sharding rules apply, and its first error ends the export.
    - `plain`: no mesh; shardings of the arguments are dropped. A function with
      annotations cannot be traced so.
    - `auto`: `record`, if this version of JAX is known to allow it; else `plain`,
      and `native` if the annotations do not allow that and `mesh` and `in_specs`
      are given. A note says so.

    `mesh` is "X=4,Y=2:Auto", a dict of sizes, an AbstractMesh or a Mesh.
    `in_specs` is a dict from argument paths or patterns (`params/**/w`) to specs,
    or a list with one spec, or a tree of specs, per positional argument. A spec
    is a PartitionSpec or its text. `include_constants` writes constants of more
    than 1 KiB too. `infer` gives in_specs to shard_maps without any, of which a
    recording keeps only the results: {0: [P("X"), P()]}, by their number in the file,
    one spec an operand. Source paths are relative to `root`, the working directory by
    default.

    Raises `Rejected` when JAX refuses the program in mode `native`, `NeedsMesh`
    when a mesh is missing, `ExportError` for other wrong uses. What the user's
    code or JAX raises in a plain trace passes through.
    """
    return program(
        trace(fn, args, kwargs, mode=mode, mesh=mesh, in_specs=in_specs, infer=infer),
        include_constants=include_constants,
        root=None if root is None else os.fspath(root),
    )


def program(traced: Trace, *, include_constants: bool, root: str | None) -> Exported:
    """Write a trace in the exchange format."""
    warnings: Counter[str] = Counter()
    if not compat.has_user_frames():
        warnings["this JAX does not tell source frames"] += 1
    types = TypeTable(warnings)
    sources = SourceTable(root)
    arrays = ArrayTable(include_constants, warnings)
    jaxprs = JaxprTable(types, arrays, sources, warnings, traced.recorder)
    top = jaxprs.ref(traced.jaxpr)
    jaxprs.finish()
    equations, annotations = jaxprs.equations, jaxprs.annotations
    entry = _entry(traced, top, jaxprs, sources)
    context = {
        "mesh": None if compat.is_empty_mesh(traced.mesh) else types.mesh(traced.mesh),
        "concrete_mesh": None,
        "flags": compat.flags(),
        "mode": traced.mode,
    }
    if traced.recorder is not None:
        context["record"] = _record(traced.recorder, sources)
    jaxprs.finish()
    apis = jaxprs.apis
    data = {
        "format": "shardtype-jaxpr",
        "version": list(FORMAT_VERSION),
        "producer": _producer(warnings),
        "meshes": types.meshes,
        "types": types.types,
        "sources": sources.frames,
        "stacks": sources.stacks,
        "files": sources.files(),
        **({} if apis is None else _calls(apis)),
        "arrays": arrays.arrays,
        "opaques": jaxprs.values.opaques,
        "jaxprs": jaxprs.jaxprs,
        "entry": entry,
        "context": context,
    }
    return Exported(
        data, str(traced.jaxpr), traced.mode, traced.notes, equations, annotations
    )


def _calls(apis: ApiTable) -> JsonObject:
    """The user's calls, and how their files name what they import."""
    return {"apis": apis.apis, "imports": apis.imports(), "imports_end": apis.imports_end()}


def _record(recorder: Recorder, sources: SourceTable) -> JsonObject:
    """What a recording says of itself (spec 08 section 3)."""
    notes = []
    for n in recorder.notes:
        note: JsonObject = {"kind": n.kind, "api": n.api, "why": sources.scrub(n.why)}
        if n.spec is not None:
            note["spec"] = n.spec
        stack = sources.stack(n.traceback) if n.traceback is not None else None
        if n.place is not None:
            stack = sources.line(*n.place)
        if stack is not None:
            note["src"] = stack
        notes.append(note)
    return {
        "axes": [
            {"name": axis_name(name), "size": size, "from": origin}
            for name, (size, origin) in recorder.axes.items()
        ],
        "ad": "markers" if recorder.markers else "trace",
        "notes": notes,
    }


def _unmarked(unmarked: Unmarked, sources: SourceTable) -> JsonObject:
    """A derivative that is not a marker (spec 04 section 8.3)."""
    stack = sources.stack(unmarked.traceback) if unmarked.traceback is not None else None
    return {"src": stack, "api": unmarked.api, "why": sources.scrub(unmarked.why)}


def _producer(warnings: Counter[str]) -> JsonObject:
    from shardtype import __version__

    out: JsonObject = {
        "name": "jax",
        "version": compat.require_jax().__version__,
        "exporter": "shardtype-export",
        "exporter_version": __version__,
        "python": platform.python_version(),
    }
    if warnings:
        out["warnings"] = dict(sorted(warnings.items()))
    return out


def _entry(traced: Trace, top: int, jaxprs: JaxprTable, sources: SourceTable) -> JsonObject:
    inner, _ = compat.inner_jaxpr(traced.jaxpr)
    debug = getattr(inner, "debug_info", None)
    names = _names(getattr(debug, "arg_names", None), len(inner.invars))
    results = _names(getattr(debug, "result_paths", None), len(inner.outvars))
    out: JsonObject = {
        "jaxpr": top,
        "name": traced.name,
        "arg_names": names,
        "arg_paths": paths.argument_paths(traced.places, names),
        "result_paths": paths.result_paths(traced.out_tree, results, len(inner.outvars)),
        "in_tree": sources.scrub(str(traced.in_tree)),
        "out_tree": sources.scrub(str(traced.out_tree)),
    }
    if traced.recorder is not None and traced.recorder.unmarked:
        out["unmarked"] = [_unmarked(u, sources) for u in traced.recorder.unmarked]
    if traced.plain is not None:
        out["plain"] = jaxprs.ref(traced.plain)
    for key in ("in_shardings", "out_shardings"):
        shardings = tuple(traced.jit_params.get(key) or ())
        if any(type(s).__name__ != "UnspecifiedValue" for s in shardings):
            out[key] = jaxprs.values.encode(shardings)
    return out


def _names(names: Any, count: int) -> list[str | None]:
    """Names that JAX recorded, or none at all if they do not fit."""
    if not isinstance(names, (tuple, list)) or len(names) != count:
        return [None] * count
    return [n if isinstance(n, str) else None for n in names]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Put `text` into `path`; a failure leaves what was there before."""
    path = os.fspath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8") as f:  # A pipe or /dev/null.
            f.write(text)
        return
    target = os.path.realpath(path)  # Through a link, not over it.
    fd, temporary = tempfile.mkstemp(
        dir=os.path.dirname(target), prefix=os.path.basename(target) + ".", suffix=".tmp"
    )
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _mode(path: str) -> int:
    """Permissions of an existing file, else those a new one would get."""
    try:
        return os.stat(path).st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
