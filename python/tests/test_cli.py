# test_cli.py - `python -m shardtype export`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command prints, writes and returns."""

from __future__ import annotations

import json
import os
import pathlib
import stat
import subprocess
import sys
import textwrap
from typing import NamedTuple

import pytest
from shardtype import record
from shardtype.cli import main
from shardtype.export import write_atomically
from validator import validate

MODULE = textwrap.dedent(
    """
    import jax, jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    def loss(params, x):
        return jnp.tanh(x @ params["w"]).sum()

    def make_args():
        f = jax.ShapeDtypeStruct
        return {"w": f((4, 8), jnp.float32)}, f((8, 4), jnp.float32)

    def make_keywords():
        params, x = make_args()
        return {"x": x, "params": params}

    def dot(x, w):
        return x @ w

    def annotated(x, w):
        return jax.sharding.reshard(x, P("X", None)) @ w

    def crashes(x):
        return undefined_name(x)

    def one():
        return jax.ShapeDtypeStruct((3,), jnp.int32)

    def no_arguments():
        return jnp.arange(3)

    def bad_maker():
        raise RuntimeError("no data here")

    class Model:
        @staticmethod
        def apply(x):
            return x * 2

    def needs_size(n):
        return jax.ShapeDtypeStruct((n,), jnp.int32)

    number = 3
    """
)


class Result(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.py").write_text(MODULE)
    (tmp_path / "program.json").write_text("{}")
    (tmp_path / "broken.py").write_text("import does_not_exist_anywhere\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    return tmp_path


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Runs the command in this process, in the folder, with fresh user modules."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def forget():
        for name in ("models", "models.net", "net", "broken", "syntax"):
            sys.modules.pop(name, None)

    def call(*args):
        forget()
        try:
            code = main(["export", *args])
        except SystemExit as e:  # argparse leaves this way.
            code = e.code
        return Result(code, *capsys.readouterr())

    call.folder = folder
    yield call
    forget()


def test_as_a_process_of_its_own(folder):
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[1]))

    def call(*args):
        return subprocess.run(
            [sys.executable, "-m", "shardtype", *args],
            cwd=folder, env=env, capture_output=True, text=True, timeout=300,
        )  # fmt: skip

    r = call("export", "models.net:dot", "--args", "f32[8,4] f32[4,2]")
    assert r.returncode == 0 and validate(json.loads(r.stdout)) == []
    [line] = [x for x in r.stderr.splitlines() if not x.startswith("tracing ")]
    assert line.startswith("recorded 1 equation, 0 annotations (no mesh axes)")
    assert {s["file"] for s in json.loads(r.stdout)["sources"]} == {"models/net.py"}
    r = call("export", "models.net:crashes", "--args", "f32[2]")
    assert (r.returncode, r.stdout) == (2, "") and r.stderr.count("File ") == 1
    r = call()
    assert r.returncode == 2 and "usage:" in r.stderr


def test_to_a_file(run):
    r = run("models.net:loss", "--args-from", "models.net:make_args", "-o", "out.json")
    assert (r.returncode, r.stdout) == (0, "")
    assert r.stderr.startswith("recorded 3 equations, 0 annotations (no mesh axes), JAX ")
    data = json.loads((run.folder / "out.json").read_text())
    assert validate(data) == []
    assert data["entry"]["name"] == "loss"
    assert data["entry"]["arg_paths"] == ["params/w", "x"]
    assert {s["file"] for s in data["sources"]} == {"models/net.py"}
    assert sorted(p.name for p in run.folder.iterdir() if "out" in p.name) == ["out.json"]


def test_to_standard_output_and_text(run):
    r = run("models.net:dot", "--args", "f32[8,4] f32[4,2]", "--text", "out.txt")
    assert r.returncode == 0
    data = json.loads(r.stdout)
    assert r.stdout.endswith("}\n") and r.stdout.count("\n") == 1
    assert data["types"][0]["shape"] == [8, 4]
    assert (run.folder / "out.txt").read_text().startswith("{ lambda ; a:f32[8,4] b:f32[4,2]. let")


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        (["models.net:loss", "--args-from", "models.net:make_keywords"], ["params/w", "x"]),
        (["models.net:Model.apply", "--args-from", "models.net:one"], ["x"]),
        (["models/net.py:dot", "--args", "f32[2,2] f32[2,2]"], ["x", "w"]),
        (["models.net:no_arguments"], []),
    ],
)
def test_ways_to_name_things(run, args, paths):
    r = run(*args)
    assert r.returncode == 0, r.stderr
    assert json.loads(r.stdout)["entry"]["arg_paths"] == paths


def test_root(run):
    r = run("models.net:Model.apply", "--args", "f32[2]", "--root", "models")
    assert {s["file"] for s in json.loads(r.stdout)["sources"]} == {"net.py"}


def test_native(run):
    args = ["models.net:dot", "--args", "f32[8,4] f32[4,4]", "--mode", "native", "--mesh", "X=4,Y=2"]
    r = run(*args, "--in", "P(X,None)", "--in", "w=P(None,'Y')")
    assert r.returncode == 0 and ", mode native, JAX " in r.stderr
    data = json.loads(r.stdout)
    assert [t["spec"]["p"] for t in data["types"]] == [
        [["X"], None], [None, ["Y"]], [["X"], ["Y"]],
    ]  # fmt: skip
    r = run(*args, "--in", "P(X,Y)", "--in", "P(Y,X)", "-o", "no.json")
    assert r.returncode == 1 and r.stdout == ""
    assert r.stderr.startswith("error: JAX rejects the program: ShardingTypeError: ")
    assert " at models/net.py:17. This is JAX's first error only" in r.stderr
    assert "Traceback" not in r.stderr and not (run.folder / "no.json").exists()


def test_annotations_are_recorded(run):
    args = ["models.net:annotated", "--args", "f32[8,4] f32[4,2]"]
    r = run(*args)
    assert r.returncode == 0 and json.loads(r.stdout)["context"]["mode"] == "record"
    assert r.stderr.startswith("recorded 2 equations, 1 annotation (mesh axes: X found in the code)")
    r = run(*args, "--mesh", "X=4,Y=2")
    assert "(mesh axes: X, Y given), JAX " in r.stderr


def test_auto_says_which_mode(run, monkeypatch):
    monkeypatch.setattr(record, "unsupported", lambda: "JAX 9: recording is not known here")
    args = ["models.net:annotated", "--args", "f32[8,4] f32[4,2]"]
    r = run(*args)
    assert r.returncode == 2 and "give --mesh and --in to export in native mode" in r.stderr
    assert "models/net.py:20" in r.stderr and "Traceback" not in r.stderr
    r = run(*args, "--mesh", "X=4", "--in", "x=P(X,None)")
    assert r.returncode == 0
    lines = r.stderr.splitlines()
    assert lines[0] == "note: JAX 9: recording is not known here. Falling back to a native trace"
    assert lines[1].startswith("note: no plain trace (") and ", mode native, " in lines[2]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere:f"], "error: no module named 'nowhere'"),
        (["models.nowhere:f"], "error: no module named 'models.nowhere'"),
        (["models.net"], "write it as module:function"),
        (["models/net.py"], "name a function in it, as models/net.py:FUNCTION"),
        (["program.json"], "is checked by the program itself: shardtype check program.json"),
        (["models.net:one", "--mseh", "X=2"], "unknown option '--mseh': did you mean --mesh?"),
        (["models.net:one", "--zzzz"], "unknown option '--zzzz'\n"),
        (["models.net:one", "more"], "'more' is one word too many"),
        (["models.net:dot", "--args-from", "models.net:needs_size"],
         "models.net:needs_size(n): missing a required argument: 'n'; it names a function"
         " without parameters"),
        (["models.net:annotated", "--args", "f32[8,4] f32[4,2]", "--mode", "plain"],
         "at models/net.py:20\nthe function has sharding annotations, which a plain trace"
         " cannot hold: export with --mode record (the default), or --mode native"),
        (["models.net:los"], "did you mean loss?"),
        (["models.net:number"], "is an int, not a function"),
        (["nowhere.py:f"], "error: no file 'nowhere.py'"),
        (["models.net:dot"], "does not take 0 arguments: missing a required argument: 'x'"),
        (["models.net:dot", "--args", "f32[2"], "cannot read argument types"),
        (["models.net:dot", "--in", "P("], "cannot read spec"),
        (["models.net:dot", "--mesh", "X"], "cannot read mesh axis"),
        (["models.net:one", "--root", "nowhere"], "--root nowhere: no such directory"),
        (["models.net:no_arguments", "-o", "no/such/file.json"], "cannot write no/such/file.json"),
        (["models.net:no_arguments", "-o", "models"], "cannot write models"),
        (["models.net:no_arguments", "--mode", "odd"], "invalid choice"),
        ([], "usage:"),
    ],
)  # fmt: skip
def test_wrong_uses(run, args, message):
    r = run(*args)
    assert r.returncode == 2, r.stderr
    assert message in r.stderr and r.stdout == "" and "Traceback" not in r.stderr


@pytest.mark.parametrize(
    ("args", "last", "place"),
    [
        (["models.net:crashes", "--args", "f32[2]"], "NameError: name 'undefined_name'", "crashes"),
        (["models.net:dot", "--args-from", "models.net:bad_maker"], "RuntimeError: no data",
         "bad_maker"),
        (["models.net:dot", "--args", "f32[8,4] f32[8,4]"], "TypeError: dot_general", "dot"),
        (["broken:f"], "ModuleNotFoundError: No module named 'does_not_exist", "<module>"),
        (["syntax:f"], "SyntaxError: invalid syntax", None),
    ],
)  # fmt: skip
def test_failures_of_the_user_show_the_users_traceback(run, args, last, place):
    r = run(*args, "-o", "no.json")
    assert r.returncode == 2 and not (run.folder / "no.json").exists()
    lines = r.stderr.splitlines()
    assert any(line.startswith(last) for line in lines), r.stderr
    if place is not None:
        assert lines[0] == "Traceback (most recent call last):"
        assert f", in {place}" in r.stderr
    for ours in ("shardtype/trace.py", "shardtype/cli.py", "jax/_src", "<frozen"):
        assert ours not in r.stderr


def test_help_is_whole_sentences(capsys):
    for args in (["--help"], ["export", "--help"], ["check", "--help"]):
        with pytest.raises(SystemExit) as e:
            main(args)
        assert e.value.code == 0
        description = capsys.readouterr().out.split("\n\n")[1]
        assert description.rstrip().endswith("."), description


def test_nothing_half_written(tmp_path, monkeypatch):
    target = tmp_path / "out.json"
    target.write_text("before")
    target.chmod(0o640)

    def fail(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as m:
        m.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            write_atomically(target, "after")
    assert target.read_text() == "before" and os.listdir(tmp_path) == ["out.json"]
    write_atomically(target, "after")
    assert target.read_text() == "after" and os.listdir(tmp_path) == ["out.json"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_links_and_devices_are_written_through(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("before")
    link.symlink_to(real)
    write_atomically(link, "after")
    assert link.is_symlink() and real.read_text() == "after"
    write_atomically("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_without_jax(tmp_path):
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "from shardtype.cli import main\n"
        "sys.exit(main(['export', 'models.net:loss']))"
    )
    env = dict(os.environ, PYTHONPATH=str(pathlib.Path(__file__).parents[1]))
    r = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert r.returncode == 2 and "pip install 'shardtype[jax]'" in r.stderr
    assert "Traceback" not in r.stderr
