# test_edits.py - fixes as edits of the user's source.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shardtype fix`: what it writes into a function makes JAX accept the function."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from test_check import PROGRAM, needs_program

pytestmark = needs_program
MESH = jax.sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
HEAD = """
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P, auto_axes, reshard

"""
ROWS, COLUMNS, BOTH = P("data", None), P(None, "data"), P("data", "model")
INNER = (P("data", "model"), P("model", None))  # Both contracting dims are split.


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


# What the function returns, its arguments (x, y, ...), their specs, and the
# expression as the edit leaves it.
CASES = {
    "operator": ("x @ y", (f32(8, 8), f32(8, 8)), INNER,
                 "jnp.matmul(x, y, out_sharding=P('data', None))"),
    "operator of expressions": ("(x * 2) @ (y  # c\n            + 1)", (f32(8, 8), f32(8, 8)),
                                INNER,
                                "jnp.matmul((x * 2), (y  # c\n            + 1),"
                                " out_sharding=P('data', None))"),
    "operator inside a call": ("jnp.tanh(x @ y)", (f32(8, 8), f32(8, 8)), INNER,
                               "jnp.tanh(jnp.matmul(x, y, out_sharding=P('data', None)))"),
    "two products": ("(x @ y) @ y", (f32(8, 8), f32(8, 8)), (P("data", "model"), P("model", "data")),
                     None),
    "matmul": ("jnp.matmul(x, y)", (f32(8, 8), f32(8, 8)), INNER,
               "jnp.matmul(x, y, out_sharding=P('data', None))"),
    "dot over lines": ("jnp.dot(\n        x,\n        y,  # the weights\n    )",
                       (f32(8, 8), f32(8, 8)), INNER,
                       "jnp.dot(\n        x,\n        y, out_sharding=P('data', None),"
                       "  # the weights\n    )"),
    "dot with a keyword": ("jnp.dot(x, y, precision='high')", (f32(8, 8), f32(8, 8)), INNER,
                           "jnp.dot(x, y, precision='high', out_sharding=P('data', None))"),
    "wrong out_sharding": ("jnp.dot(x, y, out_sharding=None)", (f32(8, 8), f32(8, 8)), INNER,
                           "jnp.dot(x, y, out_sharding=P('data', None))"),
    "einsum in its order": ("jnp.einsum('ab,cb->ca', x, y)", (f32(8, 8), f32(16, 8)),
                            (P("data", "model"), P(None, "model")),
                            "jnp.einsum('ab,cb->ca', x, y, out_sharding=P(None, 'data'))"),
    "einsum with a batch": ("jnp.einsum('abc,acd->bad', x, y)", (f32(4, 8, 8), f32(4, 8, 16)),
                            (P(None, "data", "model"), P(None, "model", None)),
                            "jnp.einsum('abc,acd->bad', x, y, out_sharding=P('data', None, None))"),
    "tensordot": ("jnp.tensordot(x, y, 1)", (f32(8, 8), f32(8, 8)), INNER,
                  "jnp.tensordot(x, y, 1, out_sharding=P('data', None))"),
    "dot_general": ("lax.dot_general(x, y, (((1,), (0,)), ((), ())))", (f32(8, 8), f32(8, 8)), INNER,
                    "lax.dot_general(x, y, (((1,), (0,)), ((), ())),"
                    " out_sharding=P('data', None))"),
    "sum of unequal": ("x + y", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "sum of a call": ("jnp.tanh(x) + jnp.sin(y)", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "difference": ("x - y * 2.0", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "broadcast": ("x + y", (f32(8, 8), f32(8)), (ROWS, P("data")), None),
    "jnp.add": ("jnp.add(x, y)", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "comparison": ("x < y", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "where": ("jnp.where(x > 0, x, y)", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "select": ("lax.select(x > 0, x, y)", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "maximum": ("jnp.maximum(x, y)", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "concatenate": ("jnp.concatenate([x, y + 1])", (f32(8, 8), f32(8, 8)), (COLUMNS, P(None, "model")),
                    None),
    "stack": ("jnp.stack([x, y])", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
    "index in a region": ("auto_axes(lambda x: x.at[y].get(mode='clip'),"
                          " out_sharding=P('data', None), axes='data')(x)",
                          (f32(16, 8), i32(8)), (P("data", None), P()),
                          "auto_axes(lambda x: x.at[reshard(y, P(None,))].get(mode='clip'),"
                          " out_sharding=P('data', None), axes='data')(x)"),
    "brackets in a region": ("auto_axes(lambda x: x[y], out_sharding=P('data', None),"
                             " axes='data')(x)",
                             (f32(16, 8), i32(8)), (P("data", None), P("data")),
                             "auto_axes(lambda x: x[reshard(y, P(None,))],"
                             " out_sharding=P('data', None), axes='data')(x)"),
    "take in a region": ("auto_axes(lambda x: jnp.take(x, y, axis=0),"
                         " out_sharding=P('data', None), axes='data')(x)",
                         (f32(16, 8), i32(8)), (P("data", None), P()), None),
    "products in a region": ("auto_axes(lambda x: x * y + y, out_sharding=P('data', None),"
                             " axes='data')(x)",
                             (f32(16, 8), f32(16, 8)), (P("data", None), P()), None),
    "index": ("x[y]", (f32(16, 8), i32(8)), (P("data", None), P()), None),
    "reshape": ("x.reshape(4, 2, 8)", (f32(8, 8),), (P(("model", "data"), None),), None),
    "jnp.reshape": ("jnp.reshape(x, (64,))", (f32(8, 8),), (P(None, "data"),), None),
    "scan": ("lax.scan(lambda c, v: (c, v * 2), None, x)", (f32(8, 8),), (ROWS,),
             "lax.scan(lambda c, v: (c, v * 2), None, reshard(x, P(None, None)))"),
    "scan over two": ("lax.scan(lambda c, v: (c, v[0] + v[1]), None, (y, x))",
                      (f32(8, 8), f32(8, 8)), (P(), P("data", "model")), None),
    "scan over two": ("lax.scan(lambda c, v: (c, v[0] + v[1]), None, (y, x))",
                      (f32(8, 8), f32(8, 8)), (P("data", "model"), P(None, "model")), None),
    "map": ("lax.map(lambda v: v * 2, x)", (f32(8, 8),), (ROWS,),
            "lax.map(lambda v: v * 2, reshard(x, P(None, None)))"),
    "cumsum": ("jnp.cumsum(x, axis=0)", (f32(8, 8),), (ROWS,),
               "jnp.cumsum(reshard(x, P(None, None)), axis=0)"),
    "cumsum by position": ("lax.cumsum(x + 1, 0)", (f32(8, 8),), (BOTH,),
                           "lax.cumsum(reshard(x + 1, P(None, 'model')), 0)"),
    "sort": ("jnp.sort(x)", (f32(8, 8),), (BOTH,), "jnp.sort(reshard(x, P('data', None)))"),
    "sort of two": ("lax.sort((x, y))", (f32(8, 8), f32(8, 8)), (ROWS, P()), None),
    "top_k": ("lax.top_k(x, 2)", (f32(8, 8),), (BOTH,),
              "lax.top_k(reshard(x, P('data', None)), 2)"),
    "tile": ("jnp.tile(x, (2, 1))", (f32(8, 8),), (ROWS,), None),
    "division": ("x // y", (f32(8, 8), f32(8, 8)), (ROWS, COLUMNS), None),
}  # fmt: skip


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes net.py, imports it anew; undone behind the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "net.py"

    def load(text=None):
        if text is not None:
            file.write_text(text, encoding="utf-8")
        sys.modules.pop("net", None)
        importlib.invalidate_caches()
        return importlib.import_module("net")

    load.file = file
    yield load
    sys.modules.pop("net", None)


def options(specs):
    text = ["--mesh", "data=4,model=2"]
    for spec in specs:
        text += ["--in", str(spec).replace("PartitionSpec", "P")]
    return text


def fix(*more):
    return subprocess.run(
        [PROGRAM, "fix", "net.json", *more], capture_output=True, text=True, timeout=60
    )


def native_types(fn, args, specs):
    """The types that JAX gives the results under the mesh; raises as JAX does."""
    on = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(MESH, s))
        for a, s in zip(args, specs, strict=True)
    ]
    with jax.sharding.use_abstract_mesh(MESH):
        out = jax.eval_shape(fn, *on)
    return [str(jax.typeof(o)) for o in jax.tree.leaves(out)]


@pytest.mark.parametrize("name", CASES)
def test_jax_accepts_what_is_written(module, name):
    expression, args, specs, wanted = CASES[name]
    parameters = ", ".join("xyz"[: len(args)])
    text = HEAD + f"def f({parameters}):\n    return ({expression})\n"
    fn = module(text).f
    with pytest.raises(Exception, match="."):
        native_types(fn, args, specs)
    shardtype.export(fn, *args).save("net.json")
    shown = fix(*options(specs))
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert module.file.read_text() == text
    done = fix(*options(specs), "--write")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    edited = module.file.read_text()
    # The diff is that between the two texts.
    module.file.write_text(text)
    patched = subprocess.run(
        ["patch", "-p1", "-s"], input=shown.stdout, capture_output=True, text=True
    )
    assert patched.returncode == 0, patched.stdout + shown.stdout
    assert module.file.read_text() == edited
    if wanted is not None:
        assert edited == HEAD + f"def f({parameters}):\n    return ({wanted})\n"
    fn = module().f
    report = shardtype.check(fn, *args, mesh=MESH, in_specs=list(specs))
    assert report.ok, f"{edited}\n{report}"
    assert [t for p, t in report.types.items() if p.startswith("result")] == [
        t.replace("float32", "f32").replace("int32", "i32")
        for t in native_types(fn, args, specs)
    ]


# How a file names things.

IMPORTS = {
    "import jax.numpy as jnp\n": ("x @ y", "jnp.matmul(x, y, out_sharding=P('data', None))",
                                  ["from jax.sharding import PartitionSpec as P"]),
    "import jax\n": ("x @ y", "jax.numpy.matmul(x, y, out_sharding=jax.P('data', None))", []),
    "from jax.numpy import matmul as mm\nfrom jax import P as S\n": (
        "x @ y", "mm(x, y, out_sharding=S('data', None))", []),
    "import jax.numpy as jnp\nP = 3\n": (
        "x @ y", "jnp.matmul(x, y, out_sharding=PartitionSpec('data', None))",
        ["from jax.sharding import PartitionSpec"]),
    "from jax import sharding as js, numpy as jnp\n": (
        "x @ y", "jnp.matmul(x, y, out_sharding=js.PartitionSpec('data', None))", []),
    '"""Words."""\n\nfrom __future__ import annotations\n': (
        "x @ y", "jnp.matmul(x, y, out_sharding=P('data', None))",
        ["import jax.numpy as jnp", "from jax.sharding import PartitionSpec as P"]),
    "": ("x @ y", "jnp.matmul(x, y, out_sharding=P('data', None))",
         ["import jax.numpy as jnp", "from jax.sharding import PartitionSpec as P"]),
}  # fmt: skip


@pytest.mark.parametrize("imports", IMPORTS)
def test_names_and_imports_of_the_file(module, imports):
    expression, wanted, added = IMPORTS[imports]
    body = f"\ndef f(x, y):\n    return {expression}\n"
    args = (f32(8, 8), f32(8, 8))
    shardtype.export(module(imports + body).f, *args).save("net.json")
    done = fix(*options(INNER), "--write")
    assert done.returncode == 0, done.stderr
    lines = module.file.read_text()
    assert f"return {wanted}\n" in lines
    old = (imports + body).splitlines()
    new = [line for line in lines.splitlines() if line not in old and "return" not in line]
    assert sorted(new) == sorted(added)
    assert shardtype.check(module().f, *args, mesh=MESH, in_specs=list(INNER)).ok


def run(module, body, args, specs, *more):
    """Exports and fixes a module; the finished process and the text."""
    shardtype.export(module(HEAD + body).f, *args).save("net.json")
    done = fix(*options(specs), *more)
    return done, module.file.read_text()


def test_statements_and_inner_functions(module):
    body = (
        "def layer(h, w):\n    h @= w\n    h += jnp.sin(w)\n    return h\n\n"
        "@jax.jit\ndef g(x, y):\n    return layer(x, y)\n\n"
        "def f(x, y):\n"
        "    def step(c, _):\n        return reshard(g(c, y), P('data', 'model')), None\n"
        "    return lax.scan(step, x, length=3)[0]\n"
    )
    args = (f32(8, 8), f32(8, 8))
    done, text = run(module, body, args, INNER, "--write")
    assert done.returncode == 0, done.stderr
    assert "    h = jnp.matmul(h, w, out_sharding=P('data', None))\n" in text
    assert "    h += reshard(jnp.sin(w), P('data', None))\n" in text or (
        "    h = reshard(h, P(" in text
    )
    fn = module().f
    report = shardtype.check(fn, *args, mesh=MESH, in_specs=list(INNER))
    assert report.ok, f"{text}\n{report}"
    assert list(report.types.values())[-1:] == [
        t.replace("float32", "f32") for t in native_types(fn, args, INNER)
    ]


def test_left_side_of_an_assignment(module):
    body = "def f(x, y):\n    x -= y * 2\n    return x\n"
    choose = ("--choose", "net.py:8:in0=P(None,data)")
    args = (f32(8, 8), f32(8, 8))
    done, text = run(module, body, args, (ROWS, COLUMNS), "--write", *choose)
    assert "    x = reshard(x, P(None, 'data')) - (y * 2)\n" in text, done.stderr
    assert shardtype.check(module().f, *args, mesh=MESH, in_specs=[ROWS, COLUMNS]).ok


def test_a_chosen_fix_is_the_one_that_is_written(module):
    body = "def f(x, y):\n    return x @ y\n"
    choose = ("--choose", "net.py:8=P(data,model)")
    done, text = run(module, body, (f32(8, 8), f32(8, 8)), INNER, "--write", *choose)
    assert done.returncode == 0 and "out_sharding=P('data', 'model'))" in text


def test_one_line_with_two_types(module):
    body = (
        "def f(x, y, z):\n    out = []\n    for w in (y, z):\n        out.append(x @ w)\n"
        "    return out\n"
    )
    args = (f32(8, 8), f32(8, 8), f32(8, 8))
    # The same edit twice is one.
    specs = (P("data", "model"), P("model", None), P("model", None))
    done, text = run(module, body, args, specs)
    assert done.returncode == 0 and "(runs 2 times in the program)" in done.stderr
    # Contradicting ones are not made both.
    choose = ("--choose", "eqns/0=P(data,None)", "--choose", "eqns/1=P(data,model)", "--write")
    done, text = run(module, body, args, specs, *choose)
    assert done.returncode == 1 and "another edit of the same expression" in done.stderr
    assert text.count("out_sharding") == 1


# Under transformations: the edit is one of the user's call, which knows nothing of the
# dim that vmap adds. (expression, arguments, specs, the call as the edit leaves it.)
DATA, DATA_MODEL = P("data", None, None), P("data", "model", None)
TRANSFORMED = {
    "operator": ("jax.vmap(lambda v: v @ y)(x)", (f32(8, 8, 8), f32(8, 8)),
                 (P("data", None, "model"), P("model", None)),
                 "jnp.matmul(v, y, out_sharding=P(None, None))"),
    "vector": ("jax.vmap(lambda v: v @ y)(x)", (f32(8, 8), f32(8, 8)), INNER,
               "jnp.matmul(v, y, out_sharding=P(None,))"),
    "other dims": ("jax.vmap(lambda v, w: jnp.einsum('a,ab->b', v, w), in_axes=(1, 2),"
                   " out_axes=1)(x, y)", (f32(8, 8), f32(8, 16, 8)),
                   (P("model", "data"), P("model", None, "data")),
                   "jnp.einsum('a,ab->b', v, w, out_sharding=P(None,))"),
    "turned round": ("jax.vmap(lambda v: jnp.einsum('ab,bc->ca', v, y))(x)",
                     (f32(8, 8, 8), f32(8, 16)), (P(None, "data", "model"), P("model", None)),
                     "jnp.einsum('ab,bc->ca', v, y, out_sharding=P(None, 'data'))"),
    "twice": ("jax.vmap(jax.vmap(lambda v, w: v @ w))(x, y)", (f32(4, 2, 8), f32(4, 2, 8)),
              (P("data", None, "model"), P("data", None, "model")),
              "jnp.matmul(v, w, out_sharding=P())"),
    "twice, one each": ("jax.vmap(lambda v: jax.vmap(lambda w: v @ w)(y))(x)",
                        (f32(8, 8), f32(4, 8)), (P("data", "model"), P(None, "model")),
                        "jnp.matmul(v, w, out_sharding=P())"),
    "sum": ("jax.vmap(lambda v, w: v + w)(x, y)", (f32(8, 8, 4), f32(8, 8, 4)),
            (P("data", "model", None), P("data", None, "model")), None),
    "sum with a closed-over array": ("jax.vmap(lambda v: v + y)(x)", (f32(8, 8, 4), f32(8, 4)),
                                     (P("data", "model", None), P(None, "model")), None),
    "where": ("jax.vmap(lambda v, w: jnp.where(v > 0, v, w))(x, y)", (f32(8, 8, 4), f32(8, 8, 4)),
              (P("data", "model", None), P("data", None, "model")), None),
    "gather": ("jax.vmap(lambda v: y[v])(x)", (i32(4, 8), f32(16, 8)), (P(None, "data"), P()),
               "y.at[v].get(out_sharding=P('data', None))"),
    "reshape": ("jax.vmap(lambda v: v.reshape(4, 2, 8))(x)", (f32(3, 8, 8),),
                (P(None, ("model", "data"), None),), None),
    "jit": ("jax.vmap(jax.jit(lambda v: v @ y))(x)", (f32(8, 8), f32(8, 8)), INNER,
            "jnp.matmul(v, y, out_sharding=P(None,))"),
    "scan": ("jax.vmap(lambda v: lax.scan(lambda c, w: (c, w @ y), 0.0, v)[1])(x)",
             (f32(8, 3, 8), f32(8, 8)), (P("data", None, "model"), P("model", None)),
             "(c, jnp.matmul(w, y, out_sharding=P(None,)))"),
    "three arrays": ("jnp.einsum('ab,bc,cd->ad', x, y, z)", (f32(8, 8), f32(8, 8), f32(8, 8)),
                     (P("data", "model"), P("model", None), P()),
                     "jnp.einsum('ab,bc,cd->ad', x, y, z, out_sharding=P('data', None))"),
    "three arrays, two errors": ("jnp.einsum('ab,bc,cd->ad', x, y, z)",
                                 (f32(8, 8), f32(8, 8), f32(8, 8)),
                                 (P("data", "model"), P("model", "data"), P("data", "model")),
                                 None),
    "a gradient": ("jax.grad(lambda v: (v @ y).sum())(x)", (f32(8, 8), f32(8, 8)), INNER,
                   "jnp.matmul(v, y, out_sharding=P('data', None))"),
    "jvp": ("jax.jvp(lambda v: v @ y, (x,), (x,))", (f32(8, 8), f32(8, 8)), INNER,
            "jnp.matmul(v, y, out_sharding=P('data', None))"),
    "gradients by example": ("jax.vmap(jax.grad(lambda v, w: (v @ w).sum(), 1), (0, None))(x, y)",
                             (f32(8, 8), f32(8, 8)), INNER, None),
    "remat": ("jax.checkpoint(lambda v: v @ y)(x)", (f32(8, 8), f32(8, 8)), INNER,
              "jnp.matmul(v, y, out_sharding=P('data', None))"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMED)
def test_jax_accepts_what_is_written_under_transformations(module, name):
    expression, args, specs, wanted = TRANSFORMED[name]
    parameters = ", ".join("xyz"[: len(args)])
    text = HEAD + f"def f({parameters}):\n    return ({expression})\n"
    fn = module(text).f
    with pytest.raises(Exception, match="."):
        native_types(fn, args, specs)
    shardtype.export(fn, *args).save("net.json")
    done = fix(*options(specs), "--write")
    assert done.returncode == 0, done.stdout + done.stderr
    edited = module.file.read_text()
    assert wanted is None or wanted in edited, edited
    fn = module().f
    report = shardtype.check(fn, *args, mesh=MESH, in_specs=list(specs))
    assert report.ok, f"{edited}\n{report}"
    assert [t for p, t in report.types.items() if p.startswith("result")] == [
        t.replace("float32", "f32").replace("int32", "i32")
        for t in native_types(fn, args, specs)
    ], edited


def test_a_derivative_without_a_marker(module):
    """What jvp makes of the user's forward call is mended there."""
    body = (
        "def f(x, y):\n    seen = jax.new_ref(jnp.zeros(()))\n    def g(v):\n"
        "        seen[...] = 1.0\n        return (v @ y).sum()\n    return jax.grad(g)(x)\n"
    )
    args = (f32(8, 8), f32(8, 8))
    exported = shardtype.export(module(HEAD + body).f, *args)
    assert [u["api"] for u in exported.data["entry"]["unmarked"]] == ["grad"]
    exported.save("net.json")
    done = fix(*options(INNER), "--write")
    assert "jnp.matmul(v, y, out_sharding=P('data', None))" in module.file.read_text(), done.stderr
    assert native_types(module().f, args, INNER)


@pytest.mark.parametrize(
    ("body", "more"),
    [
        # JAX gives the dim of vmap the axes that the operands have there.
        ("def f(x, y):\n    return jax.vmap(lambda v: v @ y)(x)\n",
         ("--choose", "net.py:8=P((data,model),None)")),
        # Of another result of the first product the type of the whole is not known.
        ("def f(x, y):\n    return jnp.einsum('ab,bc->ca', x, y) if x.ndim == 9 else"
         " jnp.linalg.multi_dot([x, y, y])\n", ()),
    ],
    ids=["the dim of vmap", "part of another function"],
)  # fmt: skip
def test_no_edit_where_it_is_not_sure(module, body, more):
    done, text = run(module, body, (f32(8, 8), f32(8, 8)), INNER, *more, "--write")
    assert done.returncode == 1 and "no edit of the source is known" in done.stderr
    assert text == HEAD + body


def test_nothing_is_written_into_another_file(module):
    body = "def f(x, y):\n    return x @ y\n"
    args = (f32(8, 8), f32(8, 8))
    shardtype.export(module(HEAD + body).f, *args).save("net.json")
    module.file.write_text("# One line more.\n" + HEAD + body)
    done = fix(*options(INNER), "--write")
    assert done.returncode == 2 and "has changed since the program was exported" in done.stderr
    assert module.file.read_text() == "# One line more.\n" + HEAD + body
    report = subprocess.run(
        [PROGRAM, "check", "net.json", *options(INNER), "--format", "json"],
        capture_output=True, text=True,
    )  # fmt: skip
    edit = json.loads(report.stdout)["diagnostics"][0]["fixes"][0]["edit"]
    assert edit == {"text": "jnp.matmul(..., out_sharding=P('data', None))"}


def test_an_unwritable_file_stays_whole(module, monkeypatch):
    body = "def f(x, y):\n    return x @ y\n"
    shardtype.export(module(HEAD + body).f, f32(8, 8), f32(8, 8)).save("net.json")
    done = subprocess.run(
        ["sh", "-c", f'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh", PROGRAM, "fix", "net.json",
         *options(INNER), "--write"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "cannot write" in done.stderr
    assert module.file.read_text() == HEAD + body
    assert sorted(p.name for p in module.file.parent.glob("*net.py*")) == ["net.py"]


def test_bytes_and_line_ends_are_kept(module):
    text = HEAD + "é = 'é'\ndef f(x, y):\n    return 'é' and (x @ y)  # é"
    raw = text.replace("\n", "\r\n").encode()
    module.file.write_bytes(raw)
    shardtype.export(module().f, f32(8, 8), f32(8, 8)).save("net.json")
    shown = fix(*options(INNER))
    assert "No newline at end of file" in shown.stdout
    assert fix(*options(INNER), "--write").returncode == 0
    assert module.file.read_bytes() == raw.replace(
        b"x @ y", b"jnp.matmul(x, y, out_sharding=P('data', None))"
    )


def test_edits_in_a_report(module):
    args = (f32(8, 8), f32(8, 8))
    fn = module(HEAD + "def f(x, y):\n    return x @ y\n").f
    report = shardtype.check(fn, *args, mesh=MESH, in_specs=list(INNER))
    [first, *_] = report.errors[0].fixes
    assert first["edit"] == {
        "text": "jnp.matmul(x, y, out_sharding=P('data', None))",
        "file": "net.py",
        "span": [8, 11, 8, 16],
    }
    assert "jnp.matmul(x, y, out_sharding=P('data', 'model'))" in str(report)
