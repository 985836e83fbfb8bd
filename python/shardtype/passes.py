# passes.py - records until every shard_map has the in_specs of its operands.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A shard_map without in_specs takes them from types, which a recording lacks (spec 08
section 6). The checker finds them, the next recording traces the body with them; what
comes out of one such region may decide those of another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from shardtype.errors import ExportError, Rejected
from shardtype.export import Exported
from shardtype.record import Unsettled
from shardtype.types import JsonObject

_ABOUT_SHARDINGS = re.compile(
    r"[Ss]hard|[Mm]esh|PartitionSpec|_specs?\b|[Uu]nreduced|[Vv]arying|pcast|Manual|axis name"
)
# Traces with a table of in_specs, in the given mode.
Export = Callable[[str, Mapping[str, Any]], Exported]


def settled(
    export: Export, judge: Callable[[Exported], JsonObject], mode: str
) -> Exported:
    """The program with in_specs for all regions whose operands have types.

    `judge` is the checker's report on a program. In mode `auto` a program that cannot
    be settled so is exported in mode `native`, with a note.
    """
    exported = _settled(export, judge, mode)
    if mode == "auto" and _has_spmd_names(exported) and judge(exported).get("ok"):
        _ask_of_spmd_names(export)
    return exported


def _settled(
    export: Export, judge: Callable[[Exported], JsonObject], mode: str
) -> Exported:
    try:
        exported = export(mode, {})
        report: JsonObject = {}
        table: dict[str, Any] = {}
        for _ in range(1 + _regions(exported)):
            if not _regions(exported):
                return exported
            report = judge(exported)
            found = {n: s for n, s in report.get("in_specs", {}).items() if s is not None}
            if found == table:
                break
            table = found
            exported = export(mode, table)
        if mode == "auto" and _is_unsettled(report):
            return _native(export, "its shard_maps cannot be recorded for these shardings")
        return exported
    except Unsettled as e:
        if mode != "auto":
            raise
        return _native(export, str(e))
    except ExportError:
        raise
    except Exception as e:
        # JAX stops at a sharding that no recording can hold: it has the verdict.
        if mode != "auto" or not _ABOUT_SHARDINGS.search(f"{type(e).__name__}: {e}"):
            raise
        return _judged_by_jax(export, e)


def _judged_by_jax(export: Export, error: Exception) -> Exported:
    """The program in mode native; raises `Rejected` if JAX refuses it there, and
    `error` if that trace fails otherwise."""
    try:
        return _native(export, (str(error).splitlines() or [""])[0])
    except Rejected:
        raise
    except Exception:
        raise error from None


def _has_spmd_names(exported: Exported) -> bool:
    """Whether a vmap names an axis, which may not be right beside sharded operands."""
    record = exported.data.get("context", {}).get("record") or {}
    return any(note["kind"] == "spmd" for note in record.get("notes", ()))


def _ask_of_spmd_names(export: Export) -> None:
    """Raise `Rejected` where JAX refuses a vmap's spmd_axis_name for these shardings.
    What else it refuses is the checker's to find."""
    try:
        export("native", {})
    except Rejected as e:
        if "spmd_axis_name" in str(e):
            raise
    except Exception:
        return


def _native(export: Export, why: str) -> Exported:
    out = export("native", {})
    out.notes.append(f"exported in mode native: {why}")
    return out


def _regions(exported: Exported) -> int:
    """How many regions are recorded for what types decide: in_specs that the program
    does not write, the spmd_axis_name of a vmap, the axes that a vmap takes away."""
    return sum(
        "unmapped" in (derived := e.get("derived", {}))
        or "infer" in derived
        or any(vmap["spmd"] for vmap in derived.get("vmap", ()))
        for jaxpr in exported.data["jaxprs"]
        for e in jaxpr["eqns"]
        if e["p"] == "shard_map"
    )


def _is_unsettled(report: JsonObject) -> bool:
    """Whether only regions that nobody looked at keep the program from a verdict."""
    errors = [d["code"] for d in report.get("diagnostics", ()) if d["severity"] == "error"]
    return bool(errors) and set(errors) == {"region-unchecked"}
