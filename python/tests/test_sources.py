# test_sources.py - positions in the user's code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines and columns are right, paths are relative, files are hashed."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import pathlib
import textwrap
from typing import Any

import jax
import pytest
import shardtype

X = jax.ShapeDtypeStruct((4,), "float32")

SOURCE = textwrap.dedent(
    '''
    import jax
    import jax.numpy as jnp

    def helper(v):
        return jnp.tanh(v)

    def model(x):
        é = jnp.exp(x); y = jnp.log(é)  # Columns count bytes.
        y = jax.lax.clamp(
            0.0,
            helper(y),
            1.0,
        )
        y, _ = jax.lax.scan(lambda c, _: (jnp.cos(c), None), y, None, length=2)
        return jax.jit(jnp.sqrt)(y)
    '''
).lstrip()


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "proj" / "pkg"
    folder.mkdir(parents=True)
    path = folder / "model.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("model_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return path, module


def calls(source: str) -> dict[str, tuple[int, int, int, int]]:
    """Span of each call by the last part of the called name, as Python says."""
    out = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            out[node.func.attr] = (
                node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
            )  # fmt: skip
    return out


def frames(data: dict[str, Any], primitive: str) -> list[dict[str, Any]]:
    """Frames, innermost first, of the only equation of that primitive."""
    [eqn] = [e for j in data["jaxprs"] for e in j["eqns"] if e["p"] == primitive]
    return [data["sources"][i] for i in data["stacks"][eqn["src"]]]


def span(frame: dict[str, Any]) -> tuple[int, int, int, int]:
    return frame["line"], frame["col"], frame["eline"], frame["ecol"]


def test_spans_are_those_of_the_calls(model):
    path, module = model
    data = shardtype.export(module.model, X, root=path.parents[1]).data
    spans = calls(SOURCE)
    for primitive in ("exp", "log", "clamp", "tanh", "scan", "cos"):
        assert span(frames(data, primitive)[0]) == spans[primitive], primitive


def test_stack_goes_from_the_call_to_the_exported_function(model):
    path, module = model
    data = shardtype.export(module.model, X, root=path.parents[1]).data
    stack = frames(data, "tanh")
    assert [(f["func"], f["file"]) for f in stack] == [
        ("helper", "pkg/model.py"),
        ("model", "pkg/model.py"),
    ]
    assert stack[1]["line"] == SOURCE[: SOURCE.index("helper(y)")].count("\n") + 1


def test_paths_follow_the_root(model, monkeypatch):
    path, module = model

    def names(**options):
        data = shardtype.export(module.model, X, **options).data
        assert set(data["files"]) == {f["file"] for f in data["sources"]}
        assert data["jaxprs"][0]["debug"]["src"].endswith(f"{min(data['files'])}:7")
        return set(data["files"])

    assert names(root=path.parent) == {"model.py"}
    assert names(root=str(path.parents[1])) == {"pkg/model.py"}
    monkeypatch.chdir(path.parents[1])
    assert names() == {"pkg/model.py"}
    monkeypatch.chdir("/")
    assert names() == {"model.py"}  # Outside every known folder: the bare name.
    monkeypatch.syspath_prepend(str(path.parents[1]))
    assert names() == {"pkg/model.py"}


def test_files_are_hashed(model):
    path, module = model
    data = shardtype.export(module.model, X, root=path.parent).data
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert data["files"] == {"model.py": f"sha256:{digest}"}


def test_code_without_a_file():
    space: dict[str, Any] = {}
    exec(compile("import jax\ndef f(x): return jax.numpy.sin(x)", "<string>", "exec"), space)
    data = shardtype.export(space["f"], X).data
    assert [f["file"] for f in data["sources"]] == ["<string>"]
    assert data["files"] == {}


def test_callers_of_the_exporter_are_left_out():
    def f(x):
        return jax.numpy.sin(x)

    data = shardtype.export(f, X).data
    assert {s["func"] for s in data["sources"]} == {f.__qualname__}


def test_callable_parameters_tell_where_they_are_defined():
    def mine(a):
        return a * 2

    data = shardtype.export(
        lambda x: jax.pure_callback(mine, X, x), X, root=pathlib.Path(__file__).parent
    ).data
    [eqn] = data["jaxprs"][0]["eqns"]
    value = eqn["params"]["callback"]
    assert value["callable"]["name"] in ("mine", "_FlatCallback")
    assert data["opaques"][value["opaque"]]["repr"].count("mine at 0xX") == 1
