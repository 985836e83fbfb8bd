# test_programs.py - the file says what the live jaxpr says.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each program of the zoo is exported, validated and compared with JAX."""

from __future__ import annotations

import json
from typing import Any

import jax
import jax.extend
import pytest
import shardtype
from compare import Walk, count
from programs import CASES, Case
from shardtype.export import program
from shardtype.trace import trace
from validator import validate


def traced(case: Case) -> Any:
    mode = "plain" if case.mesh is None else "native"
    return trace(case.fn, case.args, {}, mode=mode, mesh=case.mesh, in_specs=case.specs)


@pytest.fixture(autouse=True)
def fresh_caches():
    jax.clear_caches()
    yield


@pytest.fixture(params=sorted(CASES))
def case(request):
    case = CASES[request.param]
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", case.x64)
    yield case
    jax.config.update("jax_enable_x64", before)


def test_file_is_valid_and_equals_the_program(case):
    t = traced(case)
    exported = program(t, include_constants=False, root=None)
    data = json.loads(exported.to_json())
    assert data == exported.data  # Only JSON values went in.
    assert validate(data) == []
    walk = Walk(data)
    walk.jaxpr(0, t.jaxpr)
    assert walk.equations == exported.equations == count(t.jaxpr)
    assert len(walk.pairs) == len(data["jaxprs"])
    assert exported.text == str(t.jaxpr)


def test_same_program_gives_same_bytes(case):
    first = program(traced(case), include_constants=True, root=None).to_json()
    jax.clear_caches()
    second = program(traced(case), include_constants=True, root=None).to_json()
    assert first == second


def test_nothing_of_the_machine_is_in_the_file(case):
    text = program(traced(case), include_constants=False, root=None).to_json()
    for word in ("/root/", "/home/", "/tmp/", "/usr/", "/work/", "site-packages"):
        assert word not in text
    assert "0x7" not in text  # An address that was not masked.


def test_sharing_is_kept():
    data = shardtype.export(CASES["shared_calls"].fn, jax.ShapeDtypeStruct((4,), "float32")).data
    top = data["jaxprs"][0]
    calls = [e["params"]["jaxpr"]["jaxpr"] for e in top["eqns"] if e["p"] == "jit"]
    assert calls[0] == calls[1] != calls[2]
    inner = [e["params"]["jaxpr"]["jaxpr"] for e in data["jaxprs"][calls[0]]["eqns"][:2]]
    assert inner == [calls[2]] * 2
    assert len(data["jaxprs"]) == 3


def test_warnings_name_what_was_not_written_in_full():
    class Odd:
        pass

    prim = jax.extend.core.Primitive("odd")
    prim.def_abstract_eval(lambda x, **_: x)
    odd = Odd()
    exported = shardtype.export(
        lambda x: prim.bind(x, thing=odd), jax.ShapeDtypeStruct((4,), "float32")
    )
    assert list(exported.warnings) == ["opaque test_programs." + Odd.__qualname__]
    [eqn] = exported.data["jaxprs"][0]["eqns"]
    opaque = exported.data["opaques"][eqn["params"]["thing"]["opaque"]]
    assert opaque["repr"].endswith("X>") and "warnings: opaque" in exported.summary()
