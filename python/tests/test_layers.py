# test_layers.py - what layers of a library do is a matter of the user's call.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings inside flax's layers: their place, and the edit of the user's call, which
real JAX must accept (docs/spec/edits.md, D12)."""

from __future__ import annotations

import json
import subprocess

import jax
import pytest
import shardtype
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from test_check import PROGRAM, needs_program
from test_edits import MESH, f32, fix, i32, module, options  # noqa: F401  # A fixture.

nnx = pytest.importorskip("flax.nnx", reason="flax is not installed beside this JAX")
pytestmark = needs_program

HEAD = """
import jax
import jax.numpy as jnp
from flax import nnx

"""
INNER = [P("data", "model"), P("model", None)]  # Both contracting dims are split.

# The layer, how it is called, the argument, the specs of argument and kernel, and the
# call as the edit leaves it (None: JAX 0.12 only has it).
CASES = {
    "Linear": ("nnx.Linear(8, 16, use_bias=False, rngs=r)", "model(x)", f32(8, 8), INNER,
               "model(x, out_sharding=jax.P('data', None))"),
    "Linear with a bias": ("nnx.Linear(8, 16, rngs=r)", "model(jnp.tanh(x))", f32(8, 8),
                           [P("data", "model"), P(), P("model", None)],
                           "model(jnp.tanh(x), out_sharding=jax.P('data', None))"),
    "LinearGeneral": ("nnx.LinearGeneral((4, 8), (16,), axis=(-2, -1), use_bias=False, rngs=r)",
                      "model(\n        x,\n    )", f32(8, 4, 8),
                      [P("data", "model"), P("model", None, None)],
                      "model(\n        x, out_sharding=jax.P('data', None),\n    )"),
    "Einsum": ("nnx.Einsum('ab,bc->ac', (8, 16), rngs=r)", "model(x)", f32(8, 8), INNER, None),
    "Embed": ("nnx.Embed(32, 8, rngs=r)", "model(x)", i32(8, 4), [P("data"), P()],
              "model(x, out_sharding=jax.P('data', None, None))"),
    "attend": ("nnx.Embed(32, 8, rngs=r)", "model.attend(x)", f32(8, 8),
               [P("data", "model"), P(None, "model")],
               "model.attend(x, out_sharding=jax.P('data', None))"),
}  # fmt: skip


def text_of(layer, call):
    return HEAD + (
        f"def make():\n    r = nnx.Rngs(0)\n    return {layer}\n\n"
        "GRAPH, STATE = nnx.split(nnx.eval_shape(make))\n\n"
        f"def f(x, state):\n    model = nnx.merge(GRAPH, state)\n    return {call}\n"
    )


def native_types(fn, args, specs):
    """The types of the results under the mesh; raises as JAX does."""
    leaves, tree = jax.tree.flatten(args)
    on = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(MESH, s))
        for a, s in zip(leaves, specs, strict=True)
    ]
    with jax.sharding.use_abstract_mesh(MESH):
        out = jax.eval_shape(fn, *jax.tree.unflatten(tree, on))
    return [str(jax.typeof(o)).replace("float32", "f32") for o in jax.tree.leaves(out)]


@pytest.mark.parametrize("name", CASES)
def test_jax_accepts_the_users_call(module, name):  # noqa: F811
    layer, call, x, specs, wanted = CASES[name]
    text = text_of(layer, call)
    net = module(text)
    args = (x, net.STATE)
    with pytest.raises(Exception, match="."):
        native_types(net.f, args, specs)
    shardtype.export(net.f, *args).save("net.json")
    report = subprocess.run(
        [PROGRAM, "check", "net.json", *options(specs), "--format", "json"],
        capture_output=True, text=True,
    )  # fmt: skip
    [finding] = [d for d in json.loads(report.stdout)["diagnostics"] if d["severity"] == "error"]
    line = text[: text.index("return " + call)].count("\n") + 1
    assert (finding["source"]["file"], finding["source"]["line"]) == ("net.py", line)
    assert finding["library"]["file"].startswith("flax/nnx/")
    done = fix(*options(specs), "--write")
    assert done.returncode == 0, done.stderr
    edited = module.file.read_text()
    assert wanted is None or edited == text_of(layer, wanted)
    net = module()
    given = dict(zip(paths(net.f, args), specs, strict=True))
    report = shardtype.check(net.f, *args, mesh=MESH, in_specs=given)
    assert report.ok, f"{edited}\n{report}"
    assert [t for p, t in report.types.items() if p.startswith("result")] == native_types(
        net.f, args, specs
    )


def paths(fn, args):
    return shardtype.export(fn, *args).data["entry"]["arg_paths"]


def test_where_no_edit_is_sure_the_users_line_is_named(module):  # noqa: F811
    """The product is in a layer of a layer."""
    layer = "nnx.MultiHeadAttention(4, 32, use_bias=False, decode=False, rngs=r)"
    text = text_of(layer, "model(x)")
    net = module(text)
    args = (f32(8, 4, 32), net.STATE)
    specs = {"x": "P(data)", "**/out/kernel/**": "P(model)", "**/value/kernel/**": "P(None,model)",
             "**/query/kernel/**": "P(None,model)", "**/key/kernel/**": "P(None,model)"}  # fmt: skip
    report = shardtype.check(net.f, *args, mesh=MESH, in_specs=specs)
    [error] = report.errors
    assert (error.file, error.code) == ("net.py", "dot-contracting-ambiguous")
    assert "return model(x)" in str(report) and "note: made by LinearGeneral.__call__" in str(report)
    shardtype.export(net.f, *args).save("net.json")
    given = [part for k, v in specs.items() for part in ("--in", f"{k}={v}")]
    done = fix("--mesh", "data=4,model=2", *given, "--write")
    assert done.returncode == 1 and "no edit of the source is known" in done.stderr
    assert module.file.read_text() == text
