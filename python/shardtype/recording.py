# recording.py - what is collected while a program is recorded.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recording meshes and the notes of a recording (spec 08 sections 2 to 4).

A recording mesh is an AbstractMesh with Auto axes only, so JAX enforces nothing.
Its abstract device is a `Tag`, which takes part in equality and survives every
update of the mesh: through it a sharding says who wrote it, and a mesh in which
region of `auto_axes` and `explicit_axes` it stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from shardtype import compat
from shardtype.compat import PLACEHOLDER as PLACEHOLDER

# The place of a region in the user's code, and which one there it is.
RegionKey = tuple[str, int, int, int]
# A conversion of a region: to Auto or Explicit; of which axes: None (those that
# are Explicit at that point), "all", or a tuple of names.
Conversion = tuple[str, Any]


@dataclass(frozen=True)
class Tag:
    """The abstract device of a recording mesh.

    `by` is "user" or "jax" in a sharding and None in a context or a type;
    `rel` are the conversions that lead from the program's mesh to this one;
    `inherit` are the dims of a spec that `vmap` added.
    """

    by: str | None = None
    rel: tuple[Conversion, ...] = ()
    inherit: frozenset[int] = frozenset()

    # What JAX reads from an abstract device.
    device_kind = "recording"
    num_cores = None
    platform = None

    def _repr(self) -> str:
        return f"by={self.by}, rel={self.rel}"


def tag_of(mesh: Any) -> Tag | None:
    """The tag of a recording mesh, None for every other mesh."""
    tag = getattr(mesh, "abstract_device", None)
    return tag if isinstance(tag, Tag) else None


def retag(mesh: Any, **changes: Any) -> Any:
    """The recording mesh `mesh` with fields of its tag changed."""
    tag = tag_of(mesh)
    assert tag is not None
    return mesh.update(abstract_device=replace(tag, **changes))


class NewAxes(BaseException):
    """The program needs axes that the recording mesh lacks: trace it again.

    Not an Exception, so that no handler of the user's code stops it.
    """


@dataclass
class Note:
    """Something that the file cannot say in another place (spec 08 section 3)."""

    kind: str  # "dropped", "mesh", "infer", "vma", "unbound", "spmd",
    # or what JAX would have stopped at: "carry", "branch", "result".
    api: str
    why: str
    spec: str | None = None
    traceback: Any = None
    place: tuple[str, int] | None = None  # Instead of a traceback: file, line.


def whole_message(error: Exception) -> str:
    """All that JAX says, but where to read more."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line and not line.startswith("See http")]
    return f"{type(error).__name__}: " + "\n".join(kept)


@dataclass
class Unmarked:
    """A derivative that was traced as JAX traces it, and why."""

    api: str
    why: str
    traceback: Any = None


@dataclass
class Batch:
    """One operation under `vmap`: the dims that vmap added to its operands and its
    results, by the ids of their variables, which `made` keeps alive."""

    operands: dict[int, tuple[int, ...]]
    results: dict[int, tuple[int, ...]]
    made: list[Any]


@dataclass
class Recorder:
    """One recording.

    `axes` are (size, "mesh" or "found") by name; `missing` those that the trace
    asked for and the recording mesh lacks; `infer` the real parameters of
    shard_maps without in_specs, by number, and `numbers` these by place; `rules` the
    custom derivative rules of equations, by id; `marked` counts the derivatives;
    `unchecked` are the places of shard_maps whose bodies cannot follow JAX's
    varying-axes rules, with what JAX says of them, `vma` is false if none is to follow
    them; `failed` is the place of the one that ended the trace, with the exception,
    and `errors` are those of earlier attempts; `bound`: collectives may name every axis,
    wherever they stand;
    `table` has in_specs for entries of `infer`, one an operand, as the checker found
    them; `batches` what ran under vmap, by the id of its first result.
    """

    axes: dict[str, tuple[int, str]]
    vma: bool = True
    markers: bool = True
    notes: list[Note] = field(default_factory=list)
    unmarked: list[Unmarked] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    infer: dict[int, dict[str, Any]] = field(default_factory=dict)
    numbers: dict[RegionKey, int] = field(default_factory=dict)
    unchecked: dict[RegionKey, str] = field(default_factory=dict)
    failed: tuple[RegionKey, Exception] | None = None
    errors: list[Exception] = field(default_factory=list)
    bound: bool = False
    rules: dict[int, Any] = field(default_factory=dict)
    marked: int = 0
    sizes_read: bool = False
    table: dict[int, list[Any]] = field(default_factory=dict)
    batches: dict[int, Batch] = field(default_factory=dict)
    _met: dict[tuple[str, int, int], int] = field(default_factory=dict)
    _notes_of: dict[RegionKey, int] = field(default_factory=dict)

    def mesh(self) -> Any:
        """The mesh to trace under; one unnamed axis if the program has none."""
        jax = compat.require_jax()
        axes = self.axes or {PLACEHOLDER: (1, "found")}
        return jax.sharding.AbstractMesh(
            tuple(size for size, _ in axes.values()),
            tuple(axes),
            axis_types=(jax.sharding.AxisType.Auto,) * len(axes),
            abstract_device=Tag(),
        )

    def note(self, kind: str, api: str, why: str, spec: Any = None) -> None:
        """Remember a note with the user's place."""
        text = None if spec is None else str(spec)
        self.notes.append(Note(kind, api, why, text, compat.current_traceback()))

    def learn(self, mesh: Any, api: str) -> None:
        """Learn the axes of a mesh that the program brings along."""
        for name in tuple(getattr(mesh, "axis_names", ())):
            size = int(mesh.shape[name])
            known = self.axes.get(name)
            if known is None:
                self.missing.setdefault(name, size)
            elif known[0] != size and tag_of(mesh) is None:
                why = f"axis {name} has size {size} there and {known[0]} in the recording"
                self.note("mesh", api, why)

    def need(self, names: Any) -> list[str]:
        """Those of `names` that the recording mesh lacks, remembered."""
        lacking = [n for n in names if n not in self.axes]
        for name in lacking:
            self.missing.setdefault(name, 1)
        return lacking

    def place_of_region(self, place: tuple[str, int, int]) -> RegionKey:
        """The key of the next application of a shard_map at a place."""
        met = self._met[place] = self._met.get(place, -1) + 1
        return (*place, met)

    def number_of(self, key: RegionKey) -> int:
        """The number of a shard_map without in_specs."""
        return self.numbers.setdefault(key, len(self.numbers))

    def note_unchecked(self, key: RegionKey) -> int:
        """The index of the note on a region that is traced without its check; -1: it
        is only one of all."""
        if key not in self.unchecked:
            return -1
        if key not in self._notes_of:
            self._notes_of[key] = len(self.notes)
            self.note("vma", "shard_map", self.unchecked[key])
        return self._notes_of[key]

    def note_refused(self, kind: str, why: str) -> None:
        """Remember what JAX would have stopped at here."""
        self.note(kind, "", why)

    def unsettled(self) -> bool:
        """Whether some shard_map's body was traced with whole operands."""
        return any(n not in self.table for n in self.infer)

    def extended(self) -> Recorder:
        """A fresh recorder with the missing axes, for the next attempt."""
        axes = dict(self.axes)
        axes.update({name: (size, "found") for name, size in self.missing.items()})
        return self.again(axes=axes)

    def again(self, **changes: Any) -> Recorder:
        """A fresh recorder for another attempt at the same program."""
        kept = {
            "axes": dict(self.axes),
            "vma": self.vma,
            "markers": self.markers,
            "table": self.table,
            "unchecked": dict(self.unchecked),
            "errors": list(self.errors),
            "bound": self.bound,
        }
        return Recorder(**{**kept, **changes})

