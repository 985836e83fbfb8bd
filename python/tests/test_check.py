# test_check.py - from Python to a verdict.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shardtype.check` and `python -m shardtype check`.

They need the program: `SHARDTYPE_PROGRAM`, PATH, or a build folder of this
repository.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax.sharding import AxisType, NamedSharding, reshard
from jax.sharding import PartitionSpec as P
from shardtype import progress, specs
from shardtype.cli import main
from shardtype.program import find

ROOT = pathlib.Path(__file__).resolve().parents[2]


def program():
    given = os.environ.get("SHARDTYPE_PROGRAM") or shutil.which("shardtype")
    built = ROOT / "build" / "bin" / "shardtype"
    return given or (str(built) if built.exists() else None)


PROGRAM = program()
needs_program = pytest.mark.skipif(
    PROGRAM is None, reason="no shardtype program: set SHARDTYPE_PROGRAM, or build it"
)
PARAMS = {"w": jax.ShapeDtypeStruct((4, 8), "float32"), "b": jax.ShapeDtypeStruct((8,), "float32")}
X = jax.ShapeDtypeStruct((8, 4), jnp.float32)


def layer(params, x):
    h = x @ params["w"]
    return reshard(h, P("data", None)) + params["b"]


def two_errors(params, x, y):
    h = x @ params["w"]
    z = reshard(y, P("data", None))
    return jnp.tanh(h), z + y


@needs_program
def test_a_well_typed_function():
    report = shardtype.check(layer, PARAMS, X, mesh="data=4,model=2", in_specs={"x": P("data")})
    assert report.ok and report.errors == [] and report.raise_for_errors() is report
    assert report.types == {
        "params/b": "f32[8]",
        "params/w": "f32[4,8]",
        "x": "f32[8@data,4]",
        "result": "f32[8@data,8]",
    }
    assert str(report).startswith("ok  layer.json: 4 equations, mesh data=4, model=2")
    assert "ok" in repr(report) and "<pre" in report._repr_html_()


@needs_program
def test_both_errors_of_an_ill_typed_function_at_once():
    y = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    given = {"x": P("data", "model"), "params/w": P("model", None), "y": P(None, "data")}
    report = shardtype.check(two_errors, PARAMS, X, y, mesh="data=4,model=2", in_specs=given)
    assert not report.ok and len(report.errors) == 2
    first, second = report.errors
    line = two_errors.__code__.co_firstlineno
    assert (first.code, first.line) == ("dot-contracting-ambiguous", line + 1)
    assert second.line == line + 3 and second.function == "two_errors"
    assert first.file.endswith("test_check.py") and str(first).startswith(first.file)
    assert any("x" in n for n in first.notes) and first.fixes
    assert "h = x @ params" in str(report)  # The source line is shown.
    with pytest.raises(shardtype.IllTyped, match="dot-contracting-ambiguous") as e:
        report.raise_for_errors()
    assert e.value.report is report
    # JAX itself refuses each of them under that mesh.
    mesh = jax.sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)

    def on(s, spec):
        return jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=NamedSharding(mesh, spec))

    with jax.sharding.use_abstract_mesh(mesh):
        with pytest.raises(Exception, match="[Cc]ontracting|ambiguous"):
            jax.jit(lambda x, w: x @ w).trace(on(X, given["x"]), on(PARAMS["w"], P("model", None)))
        with pytest.raises(Exception, match="sharded|sharding"):
            jax.jit(lambda y: reshard(y, P("data", None)) + y).trace(on(y, given["y"]))


@needs_program
@pytest.mark.parametrize(
    "in_specs",
    [
        lambda mesh: ({"w": P(None, "model"), "b": None}, P("data")),
        lambda mesh: [{"w": "P(None,model)", "b": None}, "P(data)"],
        lambda mesh: ({"w": NamedSharding(mesh, P(None, "model")), "b": P()}, P("data")),
        lambda mesh: {"**/w": P(None, "model"), "x": NamedSharding(mesh, P("data"))},
        lambda mesh: (
            {"w": jax.ShapeDtypeStruct((4, 8), "float32",
                                       sharding=NamedSharding(mesh, P(None, "model"))), "b": None},
            NamedSharding(mesh, P("data")),
        ),
    ],
    ids=["tree", "texts", "shardings", "patterns", "arrays"],
)  # fmt: skip
def test_ways_to_give_specs(in_specs):
    mesh = jax.sharding.AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit,) * 2)
    report = shardtype.check(
        lambda params, x: x @ params["w"], PARAMS, X, mesh=mesh, in_specs=in_specs(mesh)
    )
    assert report.types["params/w"] == "f32[4,8@model]"
    assert report.types["result"] == "f32[8@data,8@model]"


@needs_program
def test_arguments_that_carry_their_sharding():
    mesh = jax.make_mesh((2,), ("data",), axis_types=(AxisType.Explicit,))
    x = jax.device_put(jnp.zeros((8, 4)), NamedSharding(mesh, P("data")))
    report = shardtype.check(jnp.tanh, x, mesh=mesh)
    assert report.types["result"] == "f32[8@data,4]"


@needs_program
def test_results_choices_and_static_arguments():
    fn = jax.jit(lambda x, n: x * n, static_argnums=1)
    report = shardtype.check(fn, X, 3, mesh="data=4", in_specs={"x": P("data")})
    assert report.types["result"] == "f32[8@data,4]"
    report = shardtype.check(
        jnp.tanh, X, mesh="data=4", in_specs=["P(data)"], out_specs={"result": P(None, "data")}
    )
    assert len(report.errors) == 1
    given = {"x": P(None, "data"), "params/w": P("data")}
    line = layer.__code__.co_firstlineno + 1
    place = f"python/tests/test_check.py:{line}"
    report = shardtype.check(
        layer, PARAMS, X, mesh="data=4", in_specs=given, choose={place: P("data", None)}, root=ROOT
    )
    # A choice counts as written: what it mends is no error any more.
    assert report.errors == [] and "mended by" in " ".join(report.findings[0].notes)
    [assumed] = [f["spec"] for f in report.findings[0].fixes if f["assumed"]]
    assert assumed == "P('data', None)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data"), "NAME=SIZE"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs={"y": P()}),
         "no argument matches 'y': there is"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs={"params": P()}),
         "it is a tree, write 'params/\\*\\*'"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs={"x": P("date")}),
         "names the axis 'date', which the mesh data=4 lacks; did you mean data"),
        (lambda: shardtype.check(layer, PARAMS, "x", mesh="data=4"),
         "argument 'x' is a str, which has no shape: give an array"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", program="/no/such"),
         "'/no/such' is not a program"),
        (lambda: shardtype.check(3, mesh="data=4"), "is not a function"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=99999999999999999999"),
         "mesh axis 'data' has size 99999999999999999999, more than"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh={"data": -2}), "cannot read mesh axis"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh={"a b": 2}), "cannot read mesh axis 'a b"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh={}), "write NAME=SIZE"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh=4), "cannot read a mesh from 4"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs={0: P()}),
         "keys are paths of arguments, such as 'params/b'"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs=[None, ["data"]]),
         "give a spec such as"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", in_specs={"x": 3}),
         "give a PartitionSpec or its text"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", out_specs=[P()]),
         "out_specs is a dict such as {'result': P\\(\\)}, not"),
        (lambda: shardtype.check(layer, PARAMS, X, mesh="data=4", choose=["a"]),
         "choose is a dict such as"),
        (lambda: shardtype.check(layer, PARAMS, jax.ShapeDtypeStruct((-8, 4), "f4"), mesh="d=4"),
         "argument 'x' has the shape \\(-8, 4\\): no dim is negative"),
    ],
)  # fmt: skip
def test_wrong_uses(call, message):
    if PROGRAM is None and "program" not in message:
        pytest.skip("no shardtype program")
    with pytest.raises(shardtype.ExportError, match=message):
        call()


def test_failures_of_the_user_pass_through():
    if PROGRAM is None:
        pytest.skip("no shardtype program")
    with pytest.raises(KeyError, match="mine"):
        shardtype.check(lambda x: {}["mine"], X, mesh="data=4")


def test_the_program_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.delenv("SHARDTYPE_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    with pytest.raises(shardtype.ExportError, match="put it on PATH"):
        find()
    fake = tmp_path / "shardtype"
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    assert find() == str(fake)
    installed = tmp_path / "bin" / "shardtype"
    installed.parent.mkdir()
    installed.write_text("#!/bin/sh\n")
    installed.chmod(0o755)
    assert find() == str(installed)


@pytest.mark.parametrize(
    "text",
    ["P()", "P('a', None)", "P(('a', 'b'), None)", "P(None, unreduced={'a'}, reduced={'b'})"],
)
def test_specs_are_written_as_they_are_read(text):
    assert specs.spec_text(specs.parse_spec(text)) == text


# The command.

MODULE = """
import time
import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P, reshard

def layer(w, x):
    h = x @ w
    return reshard(h, P("data", None))

def slow(x):
    time.sleep(0.3)
    return x

def crashes(x):
    return x.nothing

def arguments():
    return {"w": jax.ShapeDtypeStruct((4, 8), jnp.float32),
            "x": jax.ShapeDtypeStruct((8, 4), jnp.float32)}
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    (tmp_path / "net.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def call(*args):
        sys.modules.pop("net", None)
        capsys.readouterr()
        try:
            code = main(["check", *args])
        except SystemExit as e:  # From argparse.
            code = e.code
        out = capsys.readouterr()
        return code, out.out, out.err

    yield call
    sys.modules.pop("net", None)


LAYER = ("net:layer", "--args-from", "net:arguments", "--mesh", "data=4,model=2")


@needs_program
def test_the_command(run):
    code, out, err = run(*LAYER, "--in", "x=P(data,None)")
    assert code == 0 and err == ""
    assert out.startswith("ok  layer.json: 2 equations, mesh data=4, model=2")
    code, out, err = run(*LAYER, "--in", "x=P(data,model)", "--in", "w=P(model,None)")
    assert "is the argument x, P('data', 'model') from --in" in out
    assert code == 1 and "--> net.py:7:9 in layer" in out and "h = x @ w" in out
    code, out, err = run(*LAYER, "--format", "json", "--in", "x=P(data)")
    assert code == 0 and json.loads(out)["results"][0]["type"] == "f32[8@data,8]"


@needs_program
def test_the_command_with_a_config(run, tmp_path):
    (tmp_path / "mesh.json").write_text('{"mesh": "data=4", "in": {"x": "P(None, data)"}}')
    call = ("net:layer", "--args-from", "net:arguments", "--config", "mesh.json")
    code, out, _ = run(*call, "--format", "json", "--in", "x=P(data)")  # The later one wins.
    assert code == 0 and json.loads(out)["arguments"][1]["type"] == "f32[8@data,4]"
    (tmp_path / "mesh.json").write_text("[")
    code, _, err = run(*call)
    assert code == 2 and "mesh.json is not JSON" in err


@needs_program
def test_logical_names(run, tmp_path):
    config = {"mesh": "data=4,model=2", "logical": [["batch", "data"], ["wide", ["model"]]]}
    (tmp_path / "rules.json").write_text(json.dumps(config))
    call = ("net:layer", "--args-from", "net:arguments", "--config", "rules.json")
    code, out, _ = run(*call, "--format", "json", "--in", "x=P(batch)", "--in", "w=P(None,wide)")
    types = {a["path"]: a["type"] for a in json.loads(out)["arguments"]}
    assert code == 0 and types == {"x": "f32[8@data,4]", "w": "f32[4,8@model]"}
    code, _, err = run(*call, "--in", "x=P(bath)")
    assert code == 2 and "names the axis 'bath'" in err and "did you mean batch" in err


@needs_program
def test_logical_names_in_python():
    w = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    rules = [("embed", ("data", "model")), ("mlp", "data"), ("seq", None)]
    given = {"mesh": "data=2,model=2", "logical": rules}
    report = shardtype.check(jnp.tanh, w, in_specs=[P("embed", "seq")], **given)
    assert report.types["result"] == "f32[8@(data,model),8]" and report.findings == []
    # Case C51: a rule whose axis is taken.
    report = shardtype.check(jnp.tanh, w, in_specs=[P("embed", "mlp")], **given)
    [warning] = report.warnings
    assert report.ok and warning.code == "logical-axis-conflict"
    assert "the rule of 'mlp' for dim 1 wants axis 'data', which another dim has" in str(warning)
    for bad, message in (([("embed",)], "write \\('batch', 'data'\\)"), ([("a", 3)], "is a rule")):
        with pytest.raises(shardtype.ExportError, match=message):
            shardtype.check(jnp.tanh, w, mesh="data=2", logical=bad)


@needs_program
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("net:layer", "--args", "f32[4,8] f32[8,4]"), "error: a mesh is missing: write --mesh"),
        ((*LAYER, "--in", "y=P(data)"), "error: no argument matches 'y': there is w, x"),
        ((*LAYER, "--in", "x=P(date)"), "names the axis 'date'"),
        (("net:layer", "--args", "f32[8]", "--mesh", "data=4"), "does not take 1 arguments"),
        (("net:layer", "--mesh", "data=0"), "it must be at least 1"),
        ((*LAYER, "--chose", "net.py:1=P()"), "unknown option '--chose': did you mean --choose?"),
        (("net.py", "--mesh", "data=4"), "name a function in it, as net.py:FUNCTION"),
        ((*LAYER, "--constraints", "odd"), "constraints"),
        ((*LAYER, "--program", "/no/such"), "is not a program"),
        ((*LAYER, "--config", "nowhere.json"), "cannot read nowhere.json"),
    ],
)
def test_wrong_uses_of_the_command(run, args, message):
    code, out, err = run(*args)
    assert code == 2 and out == "" and message in err and "Traceback" not in err


@needs_program
def test_user_code_that_fails(run):
    code, out, err = run("net:crashes", "--args", "f32[8]", "--mesh", "data=4")
    assert code == 2 and out == "" and err.count("File ") == 1 and "no attribute nothing" in err


@needs_program
def test_progress(run, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    code, out, err = run("net:slow", "--args", "f32[8]", "--mesh", "data=4")
    assert code == 0 and err.startswith("tracing net:slow ...\ntracing net:slow: 0.")
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    assert run("net:slow", "--args", "f32[8]", "--mesh", "data=4")[2] == ""


@needs_program
def test_as_a_process_of_its_own(run, tmp_path):
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[1]))
    r = subprocess.run(
        [sys.executable, "-m", "shardtype", "check", *LAYER, "--in", "x=P(data,None)"],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert r.returncode == 0 and r.stdout.startswith("ok  layer.json"), r.stderr
