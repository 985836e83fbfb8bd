# batching.py - which dims of an equation's values vmap has added.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`derived.batch` of a recording (docs/spec/export.md, E39): an edit of the user's
call says nothing of the dims that only `vmap` knows of."""

from __future__ import annotations

from typing import Any

from shardtype.hooks import source
from shardtype.recording import Batch, Recorder
from shardtype.replace import Replacements
from shardtype.types import JsonObject


def install(recorder: Recorder, patches: Replacements) -> None:
    """Watch what vmap makes; `patches` undoes it. A release in which that is done
    otherwise is not watched: then no edit is offered under vmap."""
    module = source("interpreters.batching")
    trace = getattr(module, "BatchTrace", None)
    tracer = getattr(module, "BatchTracer", None)
    original = getattr(trace, "process_primitive", None)
    if tracer is None or original is None:
        return

    def process_primitive(self: Any, primitive: Any, tracers: Any, *rest: Any) -> Any:
        out = original(self, primitive, tracers, *rest)
        results = list(out) if primitive.multiple_results else [out]
        _note(recorder, tracer, list(tracers), results)
        return out

    patches.attribute(trace, "process_primitive", process_primitive)


def _note(
    recorder: Recorder, tracer: type, operands: list[Any], results: list[Any]
) -> None:
    made = [_placed(tracer, r) for r in results]
    given = {id(v): dims for v, dims in (_placed(tracer, o) for o in operands) if v is not None}
    entry = Batch(given, {id(v): dims for v, dims in made if v is not None}, made)
    for var, _ in made:
        if var is not None:
            recorder.batches[id(var)] = entry


def _placed(tracer: type, value: Any) -> tuple[Any, tuple[int, ...]]:
    """(the variable behind a value, the dims of it that the value has not). No
    variable: it is a constant, or not known."""
    if not isinstance(value, tracer):
        var = getattr(value, "val", None)
        return (var if type(var).__name__ == "Var" else None), ()
    var, outer = _placed(tracer, value.val)  # type: ignore[attr-defined]
    dim = value.batch_dim  # type: ignore[attr-defined]
    if var is None or dim is None:
        return var, outer
    if not isinstance(dim, int):
        return None, ()
    own = [d for d in range(len(getattr(var.aval, "shape", ()))) if d not in outer]
    return (var, (*outer, own[dim])) if dim < len(own) else (None, ())


def batch_of(recorder: Recorder, eqn: Any, made_by: dict[int, Any]) -> JsonObject | None:
    """The entry of an equation; None: nothing is known of it. A function that JAX
    wrote out in place of a call has variables of its own between what it was given
    and what it gave; `made_by` are the equations in front of it, by their results."""
    used = [v for v in eqn.outvars if type(v).__name__ != "DropVar"]
    known = recorder.batches.get(id(used[0])) if used else None
    if known is None or any(recorder.batches.get(id(v)) is not known for v in used):
        return None
    return {
        "in": [_listed(_through(known, a, made_by)) for a in eqn.invars],
        "out": [_listed(known.results.get(id(v))) for v in eqn.outvars],
    }


def _listed(dims: tuple[int, ...] | None) -> list[int] | None:
    return None if dims is None else list(dims)


def _through(
    known: Batch, var: Any, made_by: dict[int, Any]
) -> tuple[int, ...] | None:
    """The dims that vmap added to a variable, from what the operation was given."""
    for _ in range(16):
        if id(var) in known.operands:
            break
        eqn = made_by.get(id(var))
        if eqn is None or not eqn.invars:
            return None
        if eqn.primitive.name == "broadcast_in_dim":
            dims = _through(known, eqn.invars[0], made_by)
            to = eqn.params["broadcast_dimensions"]
            return None if dims is None else tuple(int(to[d]) for d in dims)
        if eqn.primitive.name == "transpose":
            dims = _through(known, eqn.invars[0], made_by)
            order = [int(d) for d in eqn.params["permutation"]]
            return None if dims is None else tuple(order.index(d) for d in dims)
        if eqn.primitive.name != "convert_element_type":
            return None
        var = eqn.invars[0]
    return known.operands.get(id(var))
