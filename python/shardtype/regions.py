# regions.py - shard_maps while a program is recorded.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The replacements of mode `record` that are about `shard_map` (spec 08 sections 4
and 6, number 8), and what an equation says beside its parameters.

Each application is known by its place in the user's code, so that the next trace
finds it again: with the in_specs that the checker found for it, or without JAX's
check of varying axes if its body cannot be traced with that.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from shardtype import compat
from shardtype.errors import ExportError
from shardtype.hooks import context_mesh, source
from shardtype.recording import NewAxes, Recorder, RegionKey, tag_of
from shardtype.replace import Replacements
from shardtype.sources import is_users
from shardtype.specs import names_in

Dims = tuple[int | None, ...]


@dataclass(frozen=True)
class Marks:
    """What is known of one application of a shard_map.

    `number` is its number if it has no in_specs, `given` says whether a table gave
    them; `unchecked` is the index of the note that says why its body was traced
    without its check of varying axes (-1: there is none); `all_axes`: it names none,
    so it takes what vmap leaves. `levels` are the vmaps around it, innermost first:
    for each operand the dim that the vmap added, in today's count of dims, and the
    vmap's spmd_axis_name. `around` is how many vmaps that map something the call stands
    in, whether they map an operand of it or not. `size` is the number of operands that these are for, the
    last ones of the equation: what a body captures comes in front. `leaves` are the
    first of them that is an argument of the call, and how many are.
    """

    number: int | None = None
    given: bool = False
    unchecked: int | None = None
    all_axes: bool = False
    levels: tuple[tuple[Dims, tuple[Any, ...]], ...] = ()
    around: int = 0
    size: int | None = None
    leaves: tuple[int, int] | None = None

    def is_unmapped(self) -> bool:
        """Whether a vmap around it maps none of its operands, so that nobody knows
        which axes JAX takes away from it."""
        return self.around > sum(any(d is not None for d in dims) for dims, _ in self.levels)

    def aligned(self, size: int) -> Marks:
        """The same for `size` operands, of which the first ones are new."""
        extra = size - (self.size if self.size is not None else size)
        if extra < 0:  # Some are gone, nobody knows which.
            return replace(self, levels=(), size=None, leaves=None)
        levels = tuple(((None,) * extra + dims, spmd) for dims, spmd in self.levels)
        leaves = None if self.leaves is None else (self.leaves[0] + extra, self.leaves[1])
        return replace(self, levels=levels, size=size, leaves=leaves)

    def under_vmap(self, dims: Dims, spmd: tuple[Any, ...]) -> Marks:
        """The same with a vmap around it that maps these dims of the operands."""
        old = self.aligned(len(dims))
        levels = tuple((_shifted(have, dims), axes) for have, axes in old.levels)
        return replace(old, levels=(*levels, (dims, spmd)), size=len(dims))


def _shifted(dims: Dims, added: Dims) -> Dims:
    return tuple(
        d if d is None or new is None or d < new else d + 1
        for d, new in zip(dims, added, strict=True)
    )


class MarkedAxes(frozenset[Any]):
    """The axes of a shard_map with its marks.

    Equal to the plain set, and carried along wherever JAX hands the set on.
    """

    marks = Marks()

    def __sub__(self, other: Any) -> Any:
        """Without the axes that are Manual already, as releases before 0.12 have it."""
        rest = super().__sub__(other)
        return rest if rest is NotImplemented else MarkedAxes(rest).with_marks(self.marks)

    def with_marks(self, marks: Marks) -> MarkedAxes:
        """The same axes with other marks."""
        out = MarkedAxes(self)
        out.marks = marks
        return out


def marks_of(params: dict[str, Any]) -> Marks | None:
    """The marks of a shard_map equation."""
    axes = params.get("newly_manual_axes", params.get("manual_axes"))
    return axes.marks if isinstance(axes, MarkedAxes) else None


def install(recorder: Recorder, patches: Replacements) -> None:
    """Replace what builds and applies shard_maps; `patches` undoes it."""
    module, core = source("shard_map"), source("core")
    hooks = _Hooks(recorder)
    for name in ("_shard_map", "_shmap_checks", "_check_unreduced"):
        hooks.originals[name] = getattr(module, name)
        patches.attribute(module, name, getattr(hooks, name.lstrip("_")))
    hooks.shard_aval = core.shard_aval_handlers[core.ShapedArray]
    patches.item(core.shard_aval_handlers, core.ShapedArray, hooks.shard_shaped_array)
    _watch_traces(hooks, patches)
    _watch_spmd_names(hooks, patches)
    patches.at_end(hooks.restore_closures)
    patches.at_end(hooks.stop)


def _watch_traces(hooks: _Hooks, patches: Replacements) -> None:
    """Watch which dims of operands vmap adds, and which equations of a derivative
    have other operands. A release that does it otherwise is not watched."""
    traces = (
        ("interpreters.batching", "BatchTrace", hooks.batched),
        ("interpreters.partial_eval", "DynamicJaxprTrace", hooks.staged),
        ("interpreters.ad", "JVPTrace", hooks.pushed_forward),
        ("interpreters.ad", "LinearizeTrace", hooks.linearized),
    )
    for module, name, hook in traces:
        trace = getattr(source(module), name, None)
        original = getattr(trace, "process_shard_map", None)
        if original is not None:
            patches.attribute(trace, "process_shard_map", _method(hook, original))


def _watch_spmd_names(hooks: _Hooks, patches: Replacements) -> None:
    """Note each vmap with an spmd_axis_name: JAX compares it with the axes that the
    mapped dim is sharded over, which no recording knows."""
    api = source("api")
    original = getattr(api, "_mapped_axis_spec", None)
    if original is None:
        return

    def mapped_axis_spec(args: Any, in_axes: Any) -> Any:
        given = sys._getframe(1).f_locals.get("spmd_axis_name")
        if hooks.active and given and context_mesh() is not None:
            words = ", ".join(map(repr, given))
            hooks.recorder.note("spmd", "jax.vmap", f"its spmd_axis_name is {words}")
        return original(args, in_axes)

    patches.attribute(api, "_mapped_axis_spec", mapped_axis_spec)


def _method(hook: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """`original` with the axes that `hook` makes of the marked ones."""

    def process_shard_map(self: Any, prim: Any, fun: Any, tracers: Any, *rest: Any, **kw: Any) -> Any:
        key = "newly_manual_axes" if "newly_manual_axes" in kw else "manual_axes"
        axes = kw.get(key)
        if isinstance(axes, MarkedAxes):
            kw[key] = axes.with_marks(hook(self, list(tracers), axes.marks))
        return original(self, prim, fun, tracers, *rest, **kw)

    return process_shard_map


class _Hooks:
    """The replacements of one recording."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.active = True
        self.originals: dict[str, Callable[..., Any]] = {}
        self.shard_aval: Callable[..., Any] | None = None
        self._closures: list[tuple[FrameType, dict[str, Any]]] = []
        self._tangents: list[Any] = []

    def stop(self) -> None:
        """From now on every hook answers as the original does."""
        self.active = False

    # Building and applying one.

    def shard_map(self, f: Any, **kw: Any) -> Any:
        """A shard_map built while recording: looked at when it is applied."""
        original = self.originals["_shard_map"]
        if not self.active or not callable(f):
            return original(f, **kw)

        @functools.wraps(f)
        def mapped(*args: Any) -> Any:
            if not self.active or context_mesh() is None:
                return original(f, **kw)(*args)
            return self._apply(f, dict(kw), args)

        return mapped

    def _apply(self, f: Any, kw: dict[str, Any], args: tuple[Any, ...]) -> Any:
        recorder = self.recorder
        key = recorder.place_of_region(_users_place())
        axes = _axes_of(kw)
        marks = Marks(all_axes=not axes, around=_vmaps_around(sys._getframe(1)))
        if kw["in_specs"] is source("shard_map").Infer:
            f, marks = self._without_in_specs(f, kw, args, key, marks)
        checks = kw["check_vma"] and not (marks.number is not None and not marks.given)
        if checks and (not recorder.vma or key in recorder.unchecked):
            marks = replace(marks, unchecked=recorder.note_unchecked(key))
            kw["check_vma"] = False
        if not axes and kw["mesh"] is not None and tag_of(kw["mesh"]) is None:
            axes = frozenset(kw["mesh"].axis_names)
        kw["axis_names"] = MarkedAxes(axes).with_marks(marks)
        try:
            return self.originals["_shard_map"](f, **kw)(*args)
        except ExportError:
            raise
        except Exception as e:
            if checks and recorder.failed is None:
                recorder.failed = (key, e)
            raise

    def _without_in_specs(
        self, f: Any, kw: dict[str, Any], args: tuple[Any, ...], key: RegionKey, marks: Marks
    ) -> tuple[Any, Marks]:
        """Changes `kw` to in_specs from the table; without such the body is traced
        with whole operands, which only shows what there is."""
        jax = compat.require_jax()
        recorder = self.recorder
        number = recorder.number_of(key)
        leaves, tree = jax.tree_util.tree_flatten(args)
        marks = replace(marks, number=number, size=len(leaves), leaves=(0, len(leaves)))
        recorder.infer[number] = entry = {"axis_names": _axes_of(kw)}
        specs = recorder.table.get(number)
        if specs is not None:
            if len(leaves) != len(specs):
                raise ExportError(
                    f"the table has {len(specs)} specs for a shard_map with"
                    f" {len(leaves)} operands"
                )
            recorder.need(n for s in specs for n in names_in(s))
            if recorder.missing:
                raise NewAxes
            taken = _axes_of(kw) or context_mesh().axis_names
            taken = frozenset(taken) - frozenset(context_mesh().manual_axes)
            kept = [_only(s, taken) for s in specs]
            kw["in_specs"] = jax.tree_util.tree_unflatten(tree, kept)
            return f, replace(marks, given=True)
        recorder.note("infer", "shard_map", "in_specs come from the operands' types")
        recorder.need(n for s in _specs(kw["out_specs"]) for n in names_in(s))
        f = _noting_out_specs(f, kw["out_specs"], entry)
        none = jax.sharding.PartitionSpec()
        kw["check_vma"] = False
        kw["in_specs"] = none
        kw["out_specs"] = jax.tree_util.tree_map(
            lambda s: none, kw["out_specs"], is_leaf=compat.is_spec
        )
        return f, marks

    def shmap_checks(
        self, mesh: Any, axis_names: Any, in_specs: Any, out_specs: Any, smap: bool
    ) -> Any:
        """The mesh and the axes of a shard_map: the recording mesh's."""
        original = self.originals["_shmap_checks"]
        context = context_mesh()
        if not self.active or context is None:
            return original(mesh, axis_names, in_specs, out_specs, smap)
        self.recorder.sizes_read = True
        if mesh is not None and tag_of(mesh) is None:
            self.recorder.learn(mesh, "shard_map")
        self.recorder.need(axis_names)
        self.recorder.need(n for s in _specs(in_specs, out_specs) for n in names_in(s))
        if self.recorder.missing:
            raise NewAxes
        marks = axis_names.marks if isinstance(axis_names, MarkedAxes) else None
        if marks is None:
            marks = self._prebuilt(in_specs, not axis_names)
        if not axis_names and mesh is not None and tag_of(mesh) is None:
            axis_names = frozenset(mesh.axis_names)
        found = original(None, axis_names, in_specs, out_specs, smap)
        axes = frozenset(found[1]) - frozenset(context.manual_axes)
        return context, MarkedAxes(axes).with_marks(marks)

    def _prebuilt(self, in_specs: Any, all_axes: bool) -> Marks:
        """A shard_map that was built before the recording: JAX keeps the mesh
        and the axes of a call in its closure, so they are put back at the end."""
        if in_specs is source("shard_map").Infer:
            raise ExportError(
                "a shard_map without in_specs was built before the export:"
                " build it inside the exported function, or give in_specs"
            )
        frame = sys._getframe(2)
        marks = Marks(all_axes=all_axes, around=_vmaps_around(frame.f_back))
        if not {"mesh", "axis_names"} <= set(frame.f_code.co_freevars):
            return marks
        values = {n: frame.f_locals[n] for n in ("mesh", "axis_names")}
        if not self.recorder.vma and frame.f_locals.get("check_vma"):
            values["check_vma"] = True
            set_variables(frame, {"check_vma": False})
            marks = replace(marks, unchecked=-1)
        self._closures.append((frame, values))
        return marks

    def restore_closures(self) -> None:
        """Undo what calls of shard_maps left in their closures."""
        while self._closures:
            set_variables(*self._closures.pop())

    # Types.

    def check_unreduced(self, error_type: Any, mesh: Any, manual_axes: Any, specs: Any) -> None:
        """Unreduced and reduced in specs of a shard_map, refused on Auto axes."""
        if not self.active or tag_of(mesh) is None:
            self.originals["_check_unreduced"](error_type, mesh, manual_axes, specs)

    def shard_shaped_array(
        self, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any, aval: Any
    ) -> Any:
        """The type of a body's argument: unreduced and reduced axes are those of
        the spec, since the operand's are not known."""
        original = self.shard_aval
        assert original is not None
        if not self.active or tag_of(mesh) is None:
            return original(mesh, manual_axes, check_vma, spec, aval)
        jax = compat.require_jax()
        entries = compat.partitions(spec)
        plain = original(
            mesh, manual_axes, check_vma, jax.sharding.PartitionSpec(*entries), aval
        )
        unreduced, reduced = frozenset(spec.unreduced or ()), frozenset(spec.reduced or ())
        if not check_vma or not (unreduced or reduced):
            return plain
        mat = plain.manual_axis_type
        fields = {"varying": mat.varying, "unreduced": unreduced, "reduced": reduced}
        kind = getattr(spec, "unreduced_kind", None)
        if kind is not None:
            fields["unreduced_kind"] = kind
        return plain.update(manual_axis_type=type(mat)(**fields))

    # What transformations do to operands.

    def batched(self, trace: Any, tracers: list[Any], marks: Marks) -> Marks:
        """vmap adds a dim to some operands."""
        tracer = source("interpreters.batching").BatchTracer

        def dim(value: Any) -> int | None:
            own = isinstance(value, tracer) and value._trace.tag is trace.tag
            found = value.batch_dim if own else None
            return found if isinstance(found, int) else None

        spmd = trace.axis_data.spmd_name or ()
        return marks.under_vmap(tuple(dim(t) for t in tracers), tuple(spmd))

    def staged(self, trace: Any, tracers: list[Any], marks: Marks) -> Marks:
        """The equation is written; the linear part of a derivative has operands of
        its own."""
        if any(trace is t for t in self._tangents):
            return replace(marks, levels=(), size=None, leaves=None)
        return marks.aligned(len(tracers))

    def pushed_forward(self, trace: Any, tracers: list[Any], marks: Marks) -> Marks:
        """Tangents stand behind the operands, each as its primal."""
        zero = source("interpreters.ad").Zero
        old = marks.aligned(len(tracers))
        moved = [
            i for i, t in enumerate(tracers)
            if not isinstance(trace.to_primal_tangent_pair(t)[1], zero)
        ]  # fmt: skip
        levels = tuple(
            ((*dims, *(dims[i] for i in moved)), spmd) for dims, spmd in old.levels
        )
        return replace(old, levels=levels, size=len(tracers) + len(moved))

    def linearized(self, trace: Any, tracers: list[Any], marks: Marks) -> Marks:
        """Linear equations go to a trace of their own."""
        self._tangents.append(trace.tangent_trace)
        return marks.aligned(len(tracers))


def _noting_out_specs(f: Callable[..., Any], out_specs: Any, entry: dict[str, Any]) -> Any:
    """`f`, noting the spec of each result when it is traced."""
    tree_util = compat.require_jax().tree_util

    @functools.wraps(f)
    def traced(*args: Any) -> Any:
        out = f(*args)
        flat = tree_util.tree_map(
            lambda s, part: [s] * len(tree_util.tree_leaves(part)),
            out_specs,
            out,
            is_leaf=compat.is_spec,
        )
        entry["flat"] = tree_util.tree_leaves(flat, is_leaf=compat.is_spec)
        return out

    return traced


# Frames.


def set_variables(frame: FrameType, values: dict[str, Any]) -> None:
    """Set variables, also closed-over ones, of a frame."""
    for name, value in values.items():
        frame.f_locals[name] = value
        if sys.version_info < (3, 13):  # Later, f_locals writes through.
            import ctypes

            # Each access of f_locals reads the frame again: one at a time.
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


def _vmaps_around(frame: FrameType | None) -> int:
    """How many vmaps that map something the body or the program around a frame is in.
    Those of jacfwd and jacrev map what they make, which is not sharded."""
    count = 0
    while frame is not None:
        code = frame.f_code
        ours = code.co_filename.startswith(compat.jax_dirs())
        if ours and code.co_name == "wrapped" and code.co_filename.endswith("shard_map.py"):
            break  # In the body of another one, which is under these vmaps itself.
        if ours and code.co_name == "vmap_f" and not _is_of_jacobian(frame):
            count += any(d is not None for d in frame.f_locals.get("in_axes_flat", ()))
        frame = frame.f_back
    return count


def _is_of_jacobian(vmap: FrameType) -> bool:
    caller = vmap.f_back
    while caller is not None and caller.f_code.co_filename.endswith("traceback_util.py"):
        caller = caller.f_back
    return caller is not None and caller.f_code.co_name == "jacfun"


def _users_place() -> tuple[str, int, int]:
    """(file, line, instruction) of the innermost frame that is neither JAX's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return ("", 0, 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti)


# Small questions.


def _specs(*trees: Any) -> list[Any]:
    leaves = compat.require_jax().tree_util.tree_leaves(trees, is_leaf=compat.is_spec)
    return [s for s in leaves if compat.is_spec(s)]


def _axes_of(kw: dict[str, Any]) -> Any:
    """The axes that a shard_map names."""
    axes = kw["axis_names"]
    return axes if isinstance(axes, (set, frozenset)) else frozenset(axes)


def _only(spec: Any, axes: frozenset[Any]) -> Any:
    """A spec without the axes that stay as they are."""
    entries: list[Any] = []
    for entry in compat.partitions(spec):
        names = entry if isinstance(entry, tuple) else (entry,) if entry is not None else ()
        kept = tuple(n for n in names if n in axes)
        entries.append(kept if len(kept) > 1 else kept[0] if kept else None)
    out = compat.with_partitions(spec, tuple(entries))
    sets = {k: set(getattr(spec, k, None) or ()) & axes for k in ("unreduced", "reduced")}
    kind = getattr(spec, "unreduced_kind", None)
    if kind is not None and not sets["unreduced"]:
        return out.update(**sets, unreduced_kind=None)
    return out.update(**sets) if any(getattr(spec, k, None) for k in sets) else out
