# test_apis.py - which call an equation comes from.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables `apis` and `imports` (docs/spec/export.md, E34 to E37)."""

from __future__ import annotations

import hashlib
import importlib
import sys

import pytest
import shardtype
from validator import validate

# One expression a line, with what is to be found of it: kind, name, the source of
# its operands, its keywords.
LINES = [
    ("jnp.dot(x, w)", "call", "jax.numpy.dot", ["x", "w"], {}),
    ("numpy.matmul(x, w, precision='high')", "call", "jax.numpy.matmul", ["x", "w"],
     {"precision": "'high'"}),
    ("tanh(x)", "call", "jax.numpy.tanh", ["x"], {}),
    ("jax.numpy.sin(x)", "call", "jax.numpy.sin", ["x"], {}),
    ("lax.transpose(x, (1, 0))", "call", "jax.lax.transpose", ["x", "(1, 0)"], {}),
    ("R(x, P(None, None))", "call", "jax.sharding.reshard", ["x", "P(None, None)"], {}),
    ("x.sum(axis=0)", "method", "sum", ["x"], {"axis": "0"}),
    ("(x + 1).reshape(2, 8)", "method", "reshape", ["x + 1", "2", "8"], {}),
    ("x @ w", "operator", "@", ["x", "w"], None),
    ("x - -w[0]", "operator", "-", ["x", "-w[0]"], None),
    ("x < w", "operator", "<", ["x", "w"], None),
    ("x[1:3]", "index", "[]", ["x", "1:3"], None),
    ("x.T", "attr", "T", ["x"], None),
    ("x.at[0].set(2.0)", "at", "set", ["x", "0", "2.0"], {}),
    ("x.at[i].get(mode='fill')", "at", "get", ["x", "i"], {"mode": "'fill'"}),
    ("jax.grad(lambda v: v.sum())(x)", "call", "jax.grad(...)", ["x"], {}),
    ("jnp.where('é' == 'é', tanh(x), w)", "call", "jax.numpy.where",
     ["'é' == 'é'", "tanh(x)", "w"], {}),
    ("jnp.dot(\n        x,\n        w,\n    )", "call", "jax.numpy.dot", ["x", "w"], {}),
]  # fmt: skip

HEAD = """
import jax
import jax.numpy as jnp
from jax import lax, numpy
from jax.numpy import tanh
from jax.sharding import PartitionSpec as P, reshard as R

"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def module(text):
        (tmp_path / "net.py").write_text(text, encoding="utf-8")
        sys.modules.pop("net", None)
        importlib.invalidate_caches()
        return importlib.import_module("net")

    yield module
    sys.modules.pop("net", None)


def cut(text, span):
    line, col, eline, ecol = span
    lines = text.encode().split(b"\n")[line - 1 : eline]
    lines[-1] = lines[-1][:ecol]
    lines[0] = lines[0][col:]
    return b"\n".join(lines).decode()


def export(fn, **options):
    import jax
    import jax.numpy as jnp

    square = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    args = (square, square, jax.ShapeDtypeStruct((2,), jnp.int32))
    data = shardtype.export(fn, *args, mode="record", **options).data
    assert validate(data) == []
    return data


@pytest.mark.parametrize("line", LINES, ids=lambda c: c[0])
def test_expressions(write, line):
    expression, kind, name, operands, keywords = line
    text = HEAD + f"def f(x, w, i):\n    return {expression}\n"
    data = export(write(text).f)
    entries = [a for a in data["apis"] if cut(text, a["span"]) == expression]
    assert len(entries) == 1, [cut(text, a["span"]) for a in data["apis"]]
    [a] = entries
    assert (a["kind"], a["name"], a["file"]) == (kind, name, "net.py")
    assert [cut(text, s) for s in a["args"]] == operands
    found = a.get("kw")
    assert (found and {k: cut(text, s) for k, s in found.items()}) == (keywords or found)
    used = [e for j in data["jaxprs"] for e in j["eqns"] if e.get("api") is not None]
    assert used and data["apis"].index(a) in {e["api"] for e in used}


def test_inside_transformations(write):
    text = HEAD + """
def f(x, w, i):
    def step(c, row):
        return jnp.tanh(c) + row, jax.nn.relu(c)
    c, ys = lax.scan(step, x[0], x)
    z = jax.vmap(lambda v: jnp.dot(v, w))(x)
    g = jax.grad(lambda v: jax.checkpoint(lambda u: jnp.cos(u))(v).sum())(x)
    z += w
    return c, ys, jax.jit(lambda v: jnp.exp(v) * 2)(z), g
"""
    data = export(write(text).f)
    by_primitive = {}
    for j in data["jaxprs"]:
        for e in j["eqns"]:
            by_primitive.setdefault(e["p"], set()).add(
                cut(text, data["apis"][e["api"]]["span"]) if "api" in e else None
            )
    assert "jnp.tanh(c)" in by_primitive["tanh"]
    assert "jnp.dot(v, w)" in by_primitive["dot_general"]
    assert "jnp.cos(u)" in by_primitive["cos"]
    assert "jnp.exp(v)" in by_primitive["exp"]
    assert {"z += w", "jnp.tanh(c) + row"} <= by_primitive["add"]
    assert "jax.nn.relu(c)" in by_primitive["custom_jvp_call"]
    named = [e for j in data["jaxprs"] for e in j["eqns"] if "api" in e]
    assert len(named) > 0.85 * sum(len(j["eqns"]) for j in data["jaxprs"])


def test_imports_and_hashes(write):
    text = HEAD + "def f(x, w, i):\n    return x @ w\n"
    data = export(write(text).f)
    assert data["imports"]["net.py"] == {
        "jax": "jax",
        "jax.lax": "lax",
        "jax.numpy": "jnp",
        "jax.numpy.tanh": "tanh",
        "jax.sharding.PartitionSpec": "P",
        "jax.sharding.reshard": "R",
    }
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert data["files"] == {"net.py": f"sha256:{digest}"}


def test_elements_of_lists_and_the_place_for_imports(write):
    text = HEAD + "def f(x, w, i):\n    return jnp.concatenate([x + 1, w], 0)\n"
    data = export(write(text).f)
    [a] = [a for a in data["apis"] if a["name"] == "jax.numpy.concatenate"]
    assert {k: [cut(text, s) for s in v] for k, v in a["items"].items()} == {"0": ["x + 1", "w"]}
    assert data["imports_end"] == {"net.py": 6}
    text = '"""Doc."""\n\nN = 3\nimport jax\ndef f(x, w, i):\n    return x @ w\n'
    assert export(write(text).f)["imports_end"] == {"net.py": 1}
    text = "def f(x, w, i):\n    return x @ w\n"
    assert export(write(text).f)["imports_end"] == {"net.py": 0}


def test_without_source_there_is_no_entry(write):
    scope: dict = {}
    exec(compile("def f(x, w, i):\n    return x @ w\n", "<made>", "exec"), scope)
    data = export(scope["f"])
    assert data["apis"] == [] and data["imports"] == {}
    assert "api" not in data["jaxprs"][0]["eqns"][0]
