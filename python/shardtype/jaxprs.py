# jaxprs.py - jaxprs and equations in the exchange format.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of jaxprs (spec 04 sections 1.1 to 1.3, 6.2 and 7).

A jaxpr gets its index when it is first referred to and is written when its turn
comes, so the table is in order of first use and nesting costs no recursion.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from shardtype import compat
from shardtype.apis import ApiTable
from shardtype.arrays import ArrayTable, scalar
from shardtype.batching import batch_of
from shardtype.derived import derived
from shardtype.recording import Recorder
from shardtype.rules import Rule, RulePart, ScopeVariable
from shardtype.sources import SourceTable
from shardtype.types import JsonObject, TypeTable
from shardtype.values import ValueEncoder

_CTX_DEFAULTS: tuple[tuple[str, str, Any], ...] = (
    # (attribute, our key, value that is not written)
    ("compute_type", "compute_type", None),
    ("threefry_partitionable", "threefry_partitionable", True),
    ("remove_size_one_mesh_axis", "remove_size_one_mesh_axis", False),
    ("xla_metadata", "xla_metadata", None),
)
_INPUT_EFFECTS = {"ReadEffect": "read", "WriteEffect": "write", "AccumEffect": "accum"}


class _Scope:
    """Variables of one jaxpr: each bound once, numbered on from the last jaxpr."""

    def __init__(self, first: int) -> None:
        self.next = first
        self._ids: dict[Any, int] = {}
        self.made_by: dict[int, Any] = {}  # Equations by the ids of their results.

    def bind(self, var: Any) -> int | None:
        if type(var).__name__ == "DropVar":
            return None
        index = self._ids[var] = self.next
        self.next += 1
        return index

    def lookup(self, var: Any) -> int | None:
        return self._ids.get(var)


class JaxprTable:
    """Writes jaxprs, sharing tables with the rest of the program."""

    def __init__(
        self,
        types: TypeTable,
        arrays: ArrayTable,
        sources: SourceTable,
        warnings: Counter[str],
        recorder: Recorder | None = None,
    ) -> None:
        self.jaxprs: list[JsonObject] = []
        self.values = ValueEncoder(
            types, arrays, sources, self.ref, warnings, recorder is not None
        )
        self._recorder = recorder
        self.apis = ApiTable() if recorder is not None else None
        self._types = types
        self._arrays = arrays
        self._sources = sources
        self._warnings = warnings
        self._queue: list[tuple[Any, list[Any]]] = []
        self._by_id: dict[tuple[int, ...], int] = {}
        self._next_var = 0

    def ref(self, jaxpr: Any) -> int:
        """Index of a jaxpr; the same object always gets the same one."""
        return self._refer(*compat.inner_jaxpr(jaxpr))

    def _refer(self, inner: Any, consts: list[Any]) -> int:
        key = (id(inner), *(id(c) for c in consts))
        index = self._by_id.get(key)
        if index is None:
            index = self._by_id[key] = len(self._queue)
            self._queue.append((inner, consts))
        return index

    def finish(self) -> None:
        """Write all jaxprs referred to so far and those they refer to."""
        while len(self.jaxprs) < len(self._queue):
            self.jaxprs.append(self._jaxpr(*self._queue[len(self.jaxprs)]))

    @property
    def equations(self) -> int:
        """Equations in all jaxprs, a shared one counted once."""
        return sum(len(j["eqns"]) for j in self.jaxprs)

    @property
    def annotations(self) -> int:
        """Shardings that the user wrote, and shard_maps, and what was dropped."""
        names = [e["p"] for j in self.jaxprs for e in j["eqns"]]
        dropped = [n for n in self._recorder.notes if n.kind == "dropped"] if self._recorder else []
        return self.values.annotations + names.count("shard_map") + len(dropped)

    def _jaxpr(self, jaxpr: Any, consts: list[Any]) -> JsonObject:
        scope = _Scope(self._next_var)
        mesh = _usual_mesh(jaxpr)
        out: JsonObject = {}
        if jaxpr.constvars:
            # An open jaxpr (JAX 0.10) gets its constants from elsewhere.
            known = consts or [None] * len(jaxpr.constvars)
            out["consts"] = [None if c is None else self._arrays.add(c) for c in known]
        out["constvars"] = [self._binder(scope, v) for v in jaxpr.constvars]
        for binder, var, value in zip(out["constvars"], jaxpr.constvars, consts):
            self._add_own_sharding(binder, var.aval, value)
        out["invars"] = [self._binder(scope, v) for v in jaxpr.invars]
        if not compat.is_empty_mesh(mesh):
            out["mesh"] = self._types.mesh(mesh)
        out["eqns"] = [self._eqn(scope, e, mesh) for e in jaxpr.eqns]
        out["outs"] = [self._atom(scope, a) for a in jaxpr.outvars]
        out["effects"] = self._effects(scope, jaxpr.effects)
        out["debug"] = self._debug(getattr(jaxpr, "debug_info", None))
        if getattr(jaxpr, "is_high", False):
            out["high"] = True
        self._next_var = scope.next
        return out

    def _add_own_sharding(self, binder: list[int | None], aval: Any, value: Any) -> None:
        """While recording, types have no specs; a closed-over array has one."""
        sharding: Any = getattr(value, "sharding", None)
        spec = getattr(sharding, "spec", None)
        if self._recorder is None or spec is None or not hasattr(aval, "shape"):
            return
        if any(compat.partitions(spec)) and not compat.is_empty_mesh(sharding.mesh):
            binder[1] = self._types.closed_over(aval, self._recorder.mesh(), sharding)

    def _binder(self, scope: _Scope, var: Any) -> list[int | None]:
        return [scope.bind(var), self._types.type(var.aval)]

    def _atom(self, scope: _Scope, atom: Any) -> Any:
        if type(atom).__name__ == "Literal":
            return self._literal(atom)
        index = scope.lookup(atom)
        if index is None:
            # A library may build such a jaxpr. A fresh id keeps the file whole
            # and lets the reader report the undefined variable.
            self._warnings["undefined variable"] += 1
            index = scope.bind(atom)
        return index

    def _literal(self, atom: Any) -> JsonObject:
        aval = atom.aval
        type_index = self._types.type(aval)
        if getattr(aval, "shape", ()):
            index = self._arrays.add(atom.val)
            return {"lit": {"array": index}, "t": type_index}
        return {"lit": scalar(atom.val, aval.dtype), "t": type_index}

    def _eqn(self, scope: _Scope, eqn: Any, usual_mesh: Any) -> JsonObject:
        values = self.values
        out: JsonObject = {
            "p": eqn.primitive.name,
            "in": [self._atom(scope, a) for a in eqn.invars],
            "params": {k: values.encode(eqn.params[k]) for k in sorted(eqn.params)},
            "out": [self._binder(scope, v) for v in eqn.outvars],
        }
        ctx = self._context(getattr(eqn, "ctx", None), usual_mesh)
        if ctx:
            out["ctx"] = ctx
        effects = self._effects(scope, eqn.effects)
        if effects:
            out["eff"] = effects
        self._add_source(out, getattr(eqn, "source_info", None))
        extra = derived(eqn, self._types, self.values, self._recorder)
        rule = self._recorder.rules.get(id(eqn)) if self._recorder else None
        if self._recorder is not None and self._recorder.batches:
            batch = batch_of(self._recorder, eqn, scope.made_by)
            if batch is not None:
                extra = {**(extra or {}), "batch": batch}
            scope.made_by.update((id(v), eqn) for v in eqn.outvars)
        if rule is not None:
            extra = {**(extra or {}), **self._rule(scope, rule)}
        if extra:
            out["derived"] = extra
        return out

    def _rule(self, scope: _Scope, rule: Rule) -> JsonObject:
        """The custom rule of a call inside a function that is differentiated."""
        out: JsonObject = {"perturbed": list(rule.perturbed)}
        if rule.missing is not None:
            out["no_rule"] = self._sources.scrub(rule.missing)
        elif rule.jvp is not None:
            jvp, consts = self._rule_part(scope, rule.jvp)
            out["rule"] = {"jvp": jvp, "consts": consts, "out_zeros": rule.out_zeros}
        elif rule.fwd is not None and rule.bwd is not None:
            fwd, fwd_consts = self._rule_part(scope, rule.fwd)
            bwd, bwd_consts = self._rule_part(scope, rule.bwd)
            out["rule"] = {
                "fwd": fwd,
                "fwd_consts": fwd_consts,
                "nres": rule.residuals,
                "res_from": rule.res_from,
                "bwd": bwd,
                "bwd_consts": bwd_consts,
                "bwd_zeros": rule.bwd_zeros,
            }
        return out

    def _rule_part(self, scope: _Scope, part: RulePart) -> tuple[int, list[Any]]:
        """A jaxpr of a rule; its constants as atoms of the call's scope, null
        where the jaxpr itself has the array."""
        inner, _ = compat.inner_jaxpr(part.jaxpr)
        arrays = [None if isinstance(c, ScopeVariable) else c for c in part.consts]
        atoms = [
            self._atom(scope, c.var) if isinstance(c, ScopeVariable) else None for c in part.consts
        ]
        return self._refer(inner, arrays), atoms

    def _add_source(self, out: JsonObject, info: Any) -> None:
        stack = self._sources.stack(getattr(info, "traceback", None))
        if stack is not None:
            out["src"] = stack
            api = None if self.apis is None else self._sources.innermost(stack, self.apis.add)
            if api is not None:
                out["api"] = api
        names = str(getattr(info, "name_stack", "") or "")
        if names:
            out["ns"] = names

    def _context(self, ctx: Any, usual_mesh: Any) -> JsonObject:
        """What an equation's context has that the reader would not assume."""
        out: JsonObject = {}
        if ctx is None:
            return out
        mesh = getattr(ctx, "cur_abstract_mesh", None)
        if mesh is not None and mesh != usual_mesh:
            if not (compat.is_empty_mesh(mesh) and compat.is_empty_mesh(usual_mesh)):
                out["mesh"] = self._types.mesh(mesh)
        for attribute, key, default in _CTX_DEFAULTS:
            value = getattr(ctx, attribute, default)
            if value != default and value is not None:
                out[key] = self.values.encode(value)
        axes = getattr(ctx, "no_collectives", None)
        if axes:
            out["no_collectives"] = self.values.encode(axes)["set"]
        layout = getattr(ctx, "cur_layout_mode", None)
        if layout is not None and layout.name != "AUTO":
            out["layout_mode"] = layout.name
        return out

    def _effects(self, scope: _Scope, effects: Any) -> list[JsonObject]:
        out = [self._effect(scope, e) for e in effects or ()]
        return sorted(out, key=json.dumps)

    def _effect(self, scope: _Scope, effect: Any) -> JsonObject:
        name = type(effect).__name__
        if name == "NamedAxisEffect":
            return {"axis": effect.name}
        if name in _INPUT_EFFECTS:
            index = scope.lookup(effect.input)
            if index is not None:
                return {_INPUT_EFFECTS[name]: index}
            self._warnings["effect on an unknown input"] += 1
        out = {"opaque": self._sources.scrub(repr(effect)), "class": _qualified(effect)}
        if hasattr(effect, "input"):
            # The print of such an effect holds the address of its variable.
            out["opaque"] = name
        return out

    def _debug(self, info: Any) -> JsonObject | None:
        if info is None:
            return None
        names = getattr(info, "arg_names", None)
        results = getattr(info, "result_paths", None)
        src = getattr(info, "func_src_info", None)
        return {
            "for": getattr(info, "traced_for", None),
            "src": self._function_source(src) if isinstance(src, str) else None,
            "args": list(names) if isinstance(names, (tuple, list)) else None,
            "results": list(results) if isinstance(results, (tuple, list)) else None,
        }

    def _function_source(self, text: str) -> str:
        """JAX's "name at /some/where/file.py:10" with the file as we name it."""
        name, at, place = text.rpartition(" at ")
        file, colon, line = place.rpartition(":")
        if not at or not colon or not line.isdigit():
            return self._sources.scrub(text)
        return f"{name}{at}{self._sources.relative(file)}{colon}{line}"


def _qualified(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _usual_mesh(jaxpr: Any) -> Any:
    """The context mesh of most equations, written once for all of them.

    Without equations: that of the inputs' types, so that the mesh of a program
    which only passes its inputs on is known too.
    """
    meshes: dict[Any, int] = {}
    for e in jaxpr.eqns:
        mesh = getattr(getattr(e, "ctx", None), "cur_abstract_mesh", None)
        meshes[mesh] = meshes.get(mesh, 0) + 1
    if meshes:
        return max(meshes, key=lambda m: meshes[m])
    for v in (*jaxpr.constvars, *jaxpr.invars):
        mesh = getattr(getattr(v.aval, "sharding", None), "mesh", None)
        if not compat.is_empty_mesh(mesh):
            return mesh
    return None
