# derived.py - facts about structured equations that readers would recompute.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `derived` field of an equation (spec 04 section 6.2)."""

from __future__ import annotations

from typing import Any

from shardtype import compat, rules
from shardtype.recording import Recorder
from shardtype.regions import marks_of
from shardtype.sources import mask_addresses
from shardtype.types import JsonObject, TypeTable, dim
from shardtype.values import ValueEncoder


def derived(
    eqn: Any, types: TypeTable, values: ValueEncoder, recorder: Recorder | None
) -> JsonObject | None:
    """The field for `eqn`, None for an equation that needs none."""
    rule = _RULES.get(eqn.primitive.name)
    out = None if rule is None else rule(eqn.params, types)
    if recorder is not None and eqn.primitive.name == "shard_map":
        out = {**(out or {}), **_recorded_shard_map(eqn, values, recorder)}
    if recorder is not None and eqn.primitive.name in ("remat2", "checkpoint"):
        answers = rules.saveable(eqn.params)
        return out if answers is None else {"saveable": answers}
    return out


def _recorded_shard_map(eqn: Any, values: ValueEncoder, recorder: Recorder) -> JsonObject:
    """What a recording had to change in a shard_map, and the vmaps around it (spec 08
    sections 3 and 6; docs/spec/export.md, E17, E18, E40)."""
    marks = marks_of(eqn.params)
    out: JsonObject = {}
    if marks is None:
        return out
    count = len(eqn.invars)
    if marks.number is not None and marks.leaves is not None and marks.size is not None:
        infer: JsonObject = {"n": marks.number}
        if marks.given:
            infer["given"] = True
        entry = recorder.infer.get(marks.number, {})
        infer["axis_names"] = values.encode(frozenset(entry.get("axis_names", ())))["set"]
        if not marks.given:
            infer["out_specs"] = [values.encode(s) for s in entry.get("flat", ())]
        first = count - marks.size + marks.leaves[0]
        infer["operands"] = list(range(first, first + marks.leaves[1]))
        out["infer"] = infer
    if marks.levels and marks.size is not None and marks.size <= count:
        captured = (None,) * (count - marks.size)
        out["vmap"] = [
            {"in": [*captured, *dims], "spmd": [str(n) for n in spmd]}
            for dims, spmd in reversed(marks.levels)
        ]
        if marks.all_axes:
            out["all_axes"] = True
    if marks.is_unmapped():
        out["unmapped"] = True
    if marks.unchecked is not None:
        out["vma"] = "off"
        if marks.unchecked >= 0:
            out["note"] = marks.unchecked
    return out


def scan_counts(params: dict[str, Any]) -> dict[str, int]:
    """How many operands and results of a scan are what."""
    if "ft_in" in params:
        consts, carry, xs = (len(c) for c in params["ft_in"].unpack())
        _, ys = (len(c) for c in params["ft_out"].unpack())
    else:  # Releases before the trees: counts, the rest follows from the body.
        body, _ = compat.inner_jaxpr(params["jaxpr"])
        consts, carry = params["num_consts"], params["num_carry"]
        xs = len(body.invars) - consts - carry
        ys = len(body.outvars) - carry
    return {"num_consts": consts, "num_carry": carry, "num_xs": xs, "num_ys": ys}


def _scan(params: dict[str, Any], types: TypeTable) -> JsonObject:
    return dict(scan_counts(params))


def _cond(params: dict[str, Any], types: TypeTable) -> JsonObject:
    return {"num_branches": len(params["branches"])}


def _while(params: dict[str, Any], types: TypeTable) -> JsonObject:
    return {"cond_nconsts": params["cond_nconsts"], "body_nconsts": params["body_nconsts"]}


def _shard_map(params: dict[str, Any], types: TypeTable) -> JsonObject | None:
    mesh = _body_mesh(params)
    return None if compat.is_empty_mesh(mesh) else {"body_mesh": types.mesh(mesh)}


def _body_mesh(params: dict[str, Any]) -> Any:
    """The mesh of a shard_map's body: the given one, newly manual axes Manual."""
    body, _ = compat.inner_jaxpr(params["jaxpr"])
    meshes = [getattr(e.ctx, "cur_abstract_mesh", None) for e in body.eqns]
    meshes += [getattr(getattr(v.aval, "sharding", None), "mesh", None) for v in body.invars]
    for mesh in meshes:
        if not compat.is_empty_mesh(mesh):
            return mesh
    mesh = getattr(params["mesh"], "abstract_mesh", params["mesh"])
    manual = params.get("newly_manual_axes", params.get("manual_axes", ()))
    kind = compat.require_jax().sharding.AxisType.Manual
    return mesh.update_axis_types({name: kind for name in manual})


class _Operand:
    """Stands for the k-th index operand of a Ref access."""

    def __init__(self, index: int) -> None:
        self.index = index


def _ref_access(params: dict[str, Any], types: TypeTable) -> JsonObject:
    """How the index operands of get, swap and addupdate form indexers.

    The tree in the parameters knows; in a file it would only be text.
    """
    tree = params["tree"]
    operands = [_Operand(i) for i in range(tree.num_leaves)]
    try:
        transforms = compat.require_jax().tree_util.tree_unflatten(tree, operands)
        return {"transforms": [_transform(t) for t in transforms]}
    except Exception:  # A transform that wants real arrays in its fields.
        return {"transforms": [{"repr": mask_addresses(str(tree))}]}


def _transform(transform: Any) -> JsonObject:
    if type(transform).__name__ != "NDIndexer":
        return {"repr": mask_addresses(repr(transform))}
    return {
        "index": [_index(i) for i in transform.indices],
        "shape": [dim(n) for n in transform.shape],
        "int_shape": [_number(n) for n in transform.int_indexer_shape],
    }


def _index(index: Any) -> Any:
    if type(index).__name__ == "Slice":
        return {"slice": [_number(index.start), _number(index.size), _number(index.stride)]}
    return _number(index)


def _number(value: Any) -> Any:
    return {"operand": value.index} if isinstance(value, _Operand) else dim(value)


_RULES = {
    "scan": _scan,
    "cond": _cond,
    "while": _while,
    "shard_map": _shard_map,
    "get": _ref_access,
    "swap": _ref_access,
    "addupdate": _ref_access,
}
