# test_equations.py - parts of equations that few programs have.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts, Ref accesses, dropped results, frames; expected values by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax._src import compute_on
from jax.experimental import xla_metadata
from programs import make_ref
from shardtype import hooks, compat, sources
from shardtype.export import program
from shardtype.trace import trace
from validator import validate

X = jax.ShapeDtypeStruct((4, 6), jnp.float32)
I = jax.ShapeDtypeStruct((), jnp.int32)  # noqa: E741


def equations(fn: Any, *args: Any) -> list[dict[str, Any]]:
    return [e for j in shardtype.export(fn, *args).data["jaxprs"] for e in j["eqns"]]


def test_context_fields_that_are_not_default():
    def f(x):
        with xla_metadata.set_xla_metadata(group="1"):
            a = jnp.sin(x)
        with jax.threefry_partitionable(False):
            b = jnp.cos(x)
        return a, b, jnp.tan(x)

    found = {e["p"]: e.get("ctx") for e in equations(f, X)}
    assert found == {
        "sin": {"xla_metadata": {"dict": [["group", "1"]]}},
        "cos": {"threefry_partitionable": False},
        "tan": None,
    }


def test_compute_type():
    def f(x):
        with compute_on.extend_compute_type("device_host"):
            return jnp.sin(x)

    assert [e["ctx"] for e in equations(f, X)] == [{"compute_type": "device_host"}]


def transforms(fn: Any) -> list[Any]:
    return [
        (e["p"], e["derived"]["transforms"])
        for e in equations(fn, X, I, I)
        if e["p"] in ("get", "swap", "addupdate")
    ]


def test_ref_accesses_tell_how_operands_form_the_index():
    def f(x, i, k):
        ref = make_ref(x)
        first = ref[i, k]
        ref[2:4, k] = x[2:4, 0]
        second = ref[k, 1:6]
        return first, second, ref[...]

    assert transforms(f) == [
        ("get", [{"index": [{"operand": 0}, {"operand": 1}], "shape": [4, 6], "int_shape": []}]),
        (
            "swap",
            [{"index": [{"slice": [2, 2, 1]}, {"operand": 0}], "shape": [4, 6], "int_shape": []}],
        ),
        (
            "get",
            [{"index": [{"operand": 0}, {"slice": [1, 5, 1]}], "shape": [4, 6], "int_shape": []}],
        ),
        ("get", []),
    ]


def test_ref_types_and_effects():
    def f(x, i, k):
        ref = make_ref(x)
        ref[i] = x[0]
        return ref[k]

    data = shardtype.export(f, X, I, I).data
    [j] = [j for j in data["jaxprs"] if any(e["p"] == "swap" for e in j["eqns"])]
    by_name = {e["p"]: e for e in j["eqns"]}
    new = next(e for name, e in by_name.items() if name in ("new_ref", "ref"))
    [[ref, t]] = new["out"]
    assert data["types"][t]["t"] == "ref"
    assert data["types"][data["types"][t]["inner"]]["shape"] == [4, 6]
    assert by_name["swap"]["eff"] == [{"write": ref}] and by_name["get"]["eff"] == [{"read": ref}]


def test_dropped_results_have_no_id():
    from jax._src.core import DropVar

    t = trace(lambda x: jnp.split(x, 3, axis=1)[1], (X,), {}, mode="plain", mesh=None, in_specs=None)
    inner, consts = compat.inner_jaxpr(t.jaxpr)
    eqn = inner.eqns[-1]
    outs = [DropVar(v.aval) if i != 1 else v for i, v in enumerate(eqn.outvars)]
    dropped = inner.replace(eqns=[*inner.eqns[:-1], eqn.replace(outvars=outs)])
    t.jaxpr = dropped if inner is t.jaxpr else type(t.jaxpr)(dropped, consts)
    data = program(t, include_constants=False, root=None).data
    [j] = data["jaxprs"]
    ids = [i for i, _ in j["eqns"][-1]["out"]]
    assert ids == [None, 1, None] and j["outs"] == [1]
    assert validate(data) == []


def test_frames_outside_the_exporter_are_cut(monkeypatch):
    def frame(file, func):
        return SimpleNamespace(
            file_name=file, function_name=func, start_line=1, start_column=0, end_line=1,
            end_column=4,
        )  # fmt: skip

    frames = [frame("/x/model.py", "f"), frame(hooks.__file__, "canonicalize_sharding"),
              frame("/x/a.py", "h"), frame(sources.TRACER, "_run"), frame("/x/m.py", "g")]  # fmt: skip
    monkeypatch.setattr(compat, "user_frames", lambda tb: frames)
    table = sources.SourceTable("/x")
    assert table.stack(object()) == 0
    assert [f["func"] for f in table.frames] == ["f", "h"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<f at 0x7f12ab>", "<f at 0xXXXXXX>"),
        ("layer/attn and jit(f)/while/body", "layer/attn and jit(f)/while/body"),
        ("file=/x/sub/model.py:3", "file=sub/model.py:3"),
        ("'/x/sub/model.py'", "'sub/model.py'"),
        ("at /nowhere/else.py", "at else.py"),
    ],
)
def test_scrubbing(text, expected):
    assert sources.SourceTable("/x").scrub(text) == expected


def test_scalar_classes_are_dtypes():
    [e] = equations(lambda: jax.lax.empty((4,), jnp.float32))
    assert e["params"]["dtype"] == {"dtype": "float32"}


def test_large_integers_are_text():
    jax.config.update("jax_enable_x64", True)
    try:
        n = jax.ShapeDtypeStruct((3,), jnp.uint64)
        fill = {"mode": "fill", "fill_value": 2**64 - 1}
        found = equations(lambda n: n.at[jnp.array([7])].get(**fill), n)
    finally:
        jax.config.update("jax_enable_x64", False)
    [gather] = [e for e in found if e["p"] == "gather"]
    assert gather["params"]["fill_value"] == {"int": "18446744073709551615"}
