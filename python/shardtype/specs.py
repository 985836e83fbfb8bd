# specs.py - meshes, specs and argument types as the user writes them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Readers for `X=4,Y=2:Auto`, `P('X', None)`, `f32[8,4]`, and path patterns."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shardtype import compat
from shardtype.errors import ExportError

_DTYPES = {
    "bool": "bool",
    **{f"i{n}": f"int{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (2, 4, 8, 16, 32, 64)},
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    "bf16": "bfloat16",
    "c64": "complex64",
    "c128": "complex128",
    "f8_e4m3fn": "float8_e4m3fn",
    "f8_e5m2": "float8_e5m2",
}


# Meshes.


def to_mesh(mesh: Any) -> Any:
    """An AbstractMesh without a device for any way of naming a mesh."""
    jax = compat.require_jax()
    kind = jax.sharding.AxisType
    if isinstance(mesh, str):
        axes = parse_mesh(mesh)
    elif isinstance(mesh, Mapping):
        axes = parse_mesh(",".join(f"{n}={s}" for n, s in mesh.items()))
    elif hasattr(mesh, "axis_names"):
        kinds = getattr(mesh, "axis_types", None) or (kind.Explicit,) * len(mesh.axis_names)
        sizes = tuple(mesh.shape[n] for n in mesh.axis_names)
        if sizes:
            parse_mesh(",".join(f"{n}={s}" for n, s in zip(mesh.axis_names, sizes, strict=True)))
        return jax.sharding.AbstractMesh(sizes, tuple(mesh.axis_names), axis_types=kinds)
    else:
        raise ExportError(f"cannot read a mesh from {mesh!r}: write it as 'X=4,Y=2'")
    return jax.sharding.AbstractMesh(
        tuple(size for _, size, _ in axes),
        tuple(name for name, _, _ in axes),
        axis_types=tuple(getattr(kind, k) for _, _, k in axes),
    )


_MOST_DEVICES = 2**31 - 1  # Along an axis.


def parse_mesh(text: str) -> list[tuple[str, int, str]]:
    """(name, size, kind) of each axis of `X=4,Y=2:Auto`."""
    out: list[tuple[str, int, str]] = []
    for part in text.split(","):
        m = re.fullmatch(r"\s*(\w+)\s*=\s*(\d+)\s*(?::\s*(Auto|Explicit|Manual)\s*)?", part)
        if m is None:
            raise ExportError(
                f"cannot read mesh axis '{part}' of '{text}': write NAME=SIZE or"
                " NAME=SIZE:Auto, separated by commas"
            )
        if any(name == m[1] for name, _, _ in out):
            raise ExportError(f"mesh '{text}' names axis '{m[1]}' twice")
        if int(m[2]) < 1:
            raise ExportError(f"mesh axis '{m[1]}' has size {m[2]}: it must be at least 1")
        if int(m[2]) > _MOST_DEVICES:
            raise ExportError(f"mesh axis '{m[1]}' has size {m[2]}, more than {_MOST_DEVICES}")
        out.append((m[1], int(m[2]), m[3] or "Explicit"))
    return out


# Specs.

_TOKEN = re.compile(r"\s*('[^']*'|\"[^\"]*\"|[A-Za-z_]\w*|[(){}\[\],=])")


class _SpecReader:
    """Reads one PartitionSpec; quotes around names may be left out."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        position = 0
        while text[position:].strip():
            m = _TOKEN.match(text, position)
            if m is None:
                raise self._error()
            self._tokens.append(m[1])
            position = m.end()
        self._next = 0

    def read(self) -> Any:
        if self._peek() in ("P", "PartitionSpec"):
            self._next += 1
        self._expect("(")
        entries: list[Any] = []
        sets: dict[str, Any] = {}
        while self._peek() != ")":
            if self._peek(1) == "=":
                self._keyword(sets)
            elif sets:
                raise self._error()
            else:
                entries.append(self._entry())
            if self._peek() != ")":
                self._expect(",")
        self._next += 1
        if self._next != len(self._tokens):
            raise self._error()
        try:
            return compat.require_jax().sharding.PartitionSpec(*entries, **sets)
        except ValueError as e:  # An axis in two roles, a kind that there is not.
            raise ExportError(f"spec '{self._text}': {e}") from None

    def _keyword(self, sets: dict[str, Any]) -> None:
        key = self._take()
        self._expect("=")
        if key in ("unreduced", "reduced"):
            self._expect("{")
            sets[key] = set(self._names("}"))
        elif key == "unreduced_kind":
            sets[key] = self._name()
        else:
            raise self._error()

    def _entry(self) -> Any:
        if self._peek() == "(":
            self._next += 1
            return tuple(self._names(")"))
        if self._peek() in ("None", "UNCONSTRAINED"):
            spec = compat.require_jax().sharding.PartitionSpec
            return spec.UNCONSTRAINED if self._take() == "UNCONSTRAINED" else None
        return self._name()

    def _names(self, close: str) -> list[str]:
        names: list[str] = []
        while self._peek() != close:
            names.append(self._name())
            if self._peek() != close:
                self._expect(",")
        self._next += 1
        return names

    def _name(self) -> str:
        token = self._take()
        if not re.match(r"['\"A-Za-z_]", token):
            raise self._error()
        return token.strip("'\"")

    def _peek(self, ahead: int = 0) -> str:
        i = self._next + ahead
        return self._tokens[i] if i < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _expect(self, token: str) -> None:
        if self._take() != token:
            raise self._error()

    def _error(self) -> ExportError:
        return ExportError(
            f"cannot read spec '{self._text}': write it as P('X', None), P(('X','Y')),"
            " P(None, unreduced={'X'})"
        )


def parse_spec(text: str) -> Any:
    """A PartitionSpec from its text."""
    return _SpecReader(text).read()


def to_spec(spec: Any) -> Any:
    """A PartitionSpec from itself, a sharding, its text, or None."""
    if spec is None or compat.is_spec(spec):
        return spec
    if isinstance(spec, str):
        return parse_spec(spec)
    if hasattr(spec, "spec"):
        return spec.spec
    if hasattr(spec, "sharding"):
        return carried_spec(spec)
    raise ExportError(f"cannot read a spec from {spec!r}: give a PartitionSpec or its text")


def carried_spec(value: Any) -> Any:
    """The spec that an array or a ShapeDtypeStruct carries, None if it has none."""
    return getattr(getattr(value, "sharding", None), "spec", None)


def names_in(spec: Any) -> list[Any]:
    """All axis names in a spec: its entries, then its sets."""
    out: list[Any] = []
    for entry in compat.partitions(spec):
        if entry is not None and type(entry).__name__ != "UnconstrainedSingleton":
            out += entry if isinstance(entry, tuple) else (entry,)
    for names in (getattr(spec, "unreduced", None), getattr(spec, "reduced", None)):
        out += sorted(names or (), key=str)
    return out


def check_axes(spec: Any, mesh: Any, where: str, logical: Collection[str] = ()) -> None:
    """Every axis of a spec must be one of the mesh, or a logical name."""
    known = [str(n) for n in (*mesh.axis_names, *logical)]
    for name in names_in(spec):
        if name not in mesh.axis_names and name not in logical:
            near = difflib.get_close_matches(str(name), known, 3, 0.4)
            hint = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise ExportError(
                f"{where}: {spec} names the axis '{name}', which the mesh"
                f" {mesh_text(mesh)} lacks; {hint}"
            )


def mesh_text(mesh: Any) -> str:
    """`X=4,Y=2:Auto` for a mesh."""
    kinds = getattr(mesh, "axis_types", None) or ()
    parts = []
    for i, name in enumerate(mesh.axis_names):
        kind = kinds[i].name if i < len(kinds) else "Explicit"
        parts.append(f"{name}={mesh.shape[name]}" + ("" if kind == "Explicit" else f":{kind}"))
    return ",".join(parts)


def spec_text(spec: Any) -> str:
    """A spec as the checker reads it; None is P()."""
    if spec is None:
        return "P()"
    parts = []
    for entry in compat.partitions(spec):
        if entry is None:
            parts.append("None")
        elif type(entry).__name__ == "UnconstrainedSingleton":
            parts.append("UNCONSTRAINED")
        elif isinstance(entry, tuple):
            parts.append("(" + ", ".join(repr(str(n)) for n in entry) + ")")
        else:
            parts.append(repr(str(entry)))
    for key in ("unreduced", "reduced"):
        names = getattr(spec, key, None)
        if names:
            parts.append(f"{key}={{{', '.join(sorted(repr(str(n)) for n in names))}}}")
    kind = getattr(spec, "unreduced_kind", None)
    kind = kind if kind is None or isinstance(kind, str) else kind.name.lower()
    if kind not in (None, "sum"):
        parts.append(f"unreduced_kind='{kind}'")
    return f"P({', '.join(parts)})"


def check_divides(shape: Sequence[Any], spec: Any, mesh: Any) -> None:
    """Every dim must split evenly over its axes (as JAX demands of a type)."""
    partitions = getattr(spec, "partitions", None)
    entries = tuple(spec) if partitions is None else tuple(partitions)
    for i, entry in enumerate(entries):
        if entry is None or not isinstance(entry, (str, tuple)):
            continue
        names = entry if isinstance(entry, tuple) else (entry,)
        parts = math.prod(mesh.shape[n] for n in names)
        if isinstance(shape[i], int) and shape[i] % parts:
            raise ExportError(
                f"dim {i} has size {shape[i]}, which does not split into {parts}"
                f" parts over {', '.join(names)}"
            )


def infer_table(table: Any) -> dict[int, list[Any]]:
    """Specs by the number of a shard_map, from a table or a report that has one.

    Numbers may be text, as in JSON; those that are not known are left out. Raises
    `ExportError` for anything else.
    """
    if isinstance(table, Mapping) and isinstance(table.get("in_specs"), Mapping):
        table = table["in_specs"]
    if table is not None and not isinstance(table, Mapping):
        raise ExportError('a table of in_specs is written as {"0": ["P(X)"]}')
    out: dict[int, list[Any]] = {}
    for number, given in (table or {}).items():
        if given is None:
            continue
        if not str(number).isdigit() or not isinstance(given, (list, tuple)):
            raise ExportError(
                f"cannot read '{number}' of the in_specs table: write it as"
                ' {"0": ["P(X)"]}'
            )
        out[int(number)] = [to_spec(s) for s in given]
    return out


# Which spec for which argument?


def split_in(text: str) -> tuple[str | None, str]:
    """(name or pattern, spec) of one `--in`; no name: by position."""
    if re.match(r"\s*(P|PartitionSpec)?\s*\(", text):
        return None, text
    name, equals, spec = text.partition("=")
    if not equals or not name.strip():
        raise ExportError(f"cannot read '--in {text}': write NAME=P(...) or P(...)")
    return name.strip(), spec


def assign(in_specs: Any, places: list[str], args: tuple[Any, ...]) -> list[Any]:
    """A spec, or None, for each argument leaf. Later entries win.

    `in_specs`: a dict from paths or patterns to specs; a list of (pattern or
    None, spec) pairs, where None means the next leaf by position; a sequence
    with a spec, or a tree of specs, for each positional argument; or one spec for all.
    """
    out: list[Any] = [None] * len(places)
    if in_specs is None:
        return out
    if isinstance(in_specs, dict):
        in_specs = list(in_specs.items())
    elif not _is_pairs(in_specs):
        return _by_tree(in_specs, out, args)
    position = 0
    for name, spec in in_specs:
        if name is not None and not isinstance(name, str):
            raise ExportError(
                f"in_specs has the key {name!r}: keys are paths of arguments, such as"
                f" {places[0] if places else 'x'!r}"
            )
        if name is None:
            if position >= len(places):
                raise ExportError(
                    f"more specs than arguments: there are {len(places)} ({', '.join(places[:8])})"
                )
            out[position] = to_spec(spec)
            position += 1
            continue
        hits = [i for i, path in enumerate(places) if matches(name, path)]
        if not hits:
            raise ExportError(no_match(name, places))
        for i in hits:
            out[i] = to_spec(spec)
    return out


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(v, tuple) and len(v) == 2 and (v[0] is None or isinstance(v[0], str))
        for v in value
    )


def _by_tree(in_specs: Any, out: list[Any], args: tuple[Any, ...]) -> list[Any]:
    """Specs as trees that are a prefix of each positional argument's tree."""
    tree_util = compat.require_jax().tree_util
    if isinstance(in_specs, str) or compat.is_spec(in_specs):
        in_specs = (in_specs,) * len(args)  # One for all, as JAX has it.
    if not isinstance(in_specs, (tuple, list)):
        raise ExportError(f"cannot read specs from {in_specs!r}")
    if len(in_specs) != len(args):
        some = f"{len(in_specs)} spec" + "s" * (len(in_specs) != 1)
        few = "; write None for an argument that has none" * (len(in_specs) < len(args))
        raise ExportError(f"{some} for {len(args)} positional arguments{few}")

    def is_spec(v: Any) -> bool:
        return v is None or isinstance(v, str) or compat.is_spec(v) or hasattr(v, "sharding")

    position = 0
    for i, (spec, arg) in enumerate(zip(in_specs, args, strict=False)):
        try:
            filled = tree_util.tree_map(
                lambda s, sub: [to_spec(s)] * len(tree_util.tree_leaves(sub)),
                spec,
                arg,
                is_leaf=is_spec,
            )
        except ValueError as e:
            first = str(e).splitlines()[0]
            raise ExportError(
                f"in_specs[{i}] does not fit argument {i} ({first}): give a spec such as"
                " P('X', None), or a tree of specs like the argument"
            ) from e
        found = tree_util.tree_leaves(filled, is_leaf=is_spec)
        out[position : position + len(found)] = found
        position += len(tree_util.tree_leaves(arg))
    return out


def matches(pattern: str, path: str) -> bool:
    """`*` stands for one part of a path, `**` for any number of parts."""
    return _match(pattern.split("/"), path.split("/"))


def _match(pattern: list[str], parts: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_match(pattern[1:], parts[i:]) for i in range(len(parts) + 1))
    if not parts:
        return False
    glob = re.escape(pattern[0]).replace(r"\*", ".*")
    return bool(re.fullmatch(glob, parts[0])) and _match(pattern[1:], parts[1:])


def no_match(name: str, places: list[str]) -> str:
    """The message for a pattern without a match."""
    message = f"no argument matches '{name}'"
    if any(p.startswith(name + "/") for p in places):
        return message + f": it is a tree, write '{name}/**' for all of it"
    near = difflib.get_close_matches(name, places, 3, 0.4) or places[:8]
    return message + (f": there is {', '.join(near)}" if near else ": there are none")


# Argument types.


def parse_args(text: str) -> tuple[Any, ...]:
    """ShapeDtypeStructs of `f32[8,4] i32[8] key<fry>[]`."""
    out = []
    position = 0
    while text[position:].strip(" ,\t\n"):
        m = re.compile(r"[\s,]*([a-z]\w*(?:<\w+>)?)\s*\[([\d\s,]*)\]").match(text, position)
        if m is None:
            raise ExportError(
                f"cannot read argument types from '{text[position:].strip()}':"
                " write them as 'f32[8,4] i32[8]'"
            )
        shape = tuple(int(n) for n in m[2].replace(" ", "").split(",") if n)
        out.append(compat.require_jax().ShapeDtypeStruct(shape, parse_dtype(m[1])))
        position = m.end()
    return tuple(out)


def parse_dtype(name: str) -> Any:
    """A dtype from its short or long name."""
    jax = compat.require_jax()
    if name.startswith("key<"):
        tags = {"key<fry>": "threefry2x32", "key<rbg>": "rbg", "key<urbg>": "unsafe_rbg"}
        if name not in tags:
            raise ExportError(f"unknown key type '{name}': use {', '.join(tags)}")
        return jax.eval_shape(lambda: jax.random.key(0, impl=tags[name])).dtype
    try:
        return jax.numpy.dtype(_DTYPES.get(name, name))
    except TypeError:
        near = difflib.get_close_matches(name, [*_DTYPES, *_DTYPES.values()], 3)
        hint = f": did you mean {', '.join(near)}?" if near else ""
        raise ExportError(f"unknown dtype '{name}'{hint}") from None
