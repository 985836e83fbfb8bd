# test_user_code.py - what the user's code does must not look like a verdict.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Processes of their own: the code ends them, prints, goes elsewhere."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax.sharding import PartitionSpec as P
from test_check import PROGRAM, needs_program

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
NET = """
import atexit, os, sys
import jax

def twice(x):
    return x * 2

def exits(x):
    sys.exit(0)

def exits_inside(x):
    return jax.jit(lambda v: jax.lax.scan(lambda c, _: sys.exit(), v, length=2))(x)

def parses(x):
    import argparse
    argparse.ArgumentParser().parse_args(["--no-such-option"])

def interrupts(x):
    raise KeyboardInterrupt

class Odd(BaseException):
    pass

def raises(x):
    raise Odd("mine")

def arguments():
    sys.exit(0)

def __getattr__(name):
    if name == "lazy":
        sys.exit(0)
    raise AttributeError(name)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "net.py").write_text(NET)

    def call(*args, program=PROGRAM, **options):
        env = dict(os.environ, PYTHONPATH=str(pathlib.Path(shardtype.__file__).parents[1]))
        if program is not None:
            env["SHARDTYPE_PROGRAM"] = str(program)
        options = {"stdout": subprocess.PIPE, **options}
        return subprocess.run(
            [sys.executable, "-m", "shardtype", *args],
            cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True, timeout=300, **options,
        )  # fmt: skip

    return call


@pytest.mark.parametrize("verb", ["export", pytest.param("check", marks=needs_program)])
@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        ("net:exits", 2, "error: the code called sys.exit(0) at net.py:9 while it was traced"),
        ("net:exits_inside", 2, "error: the code called sys.exit(None) at net.py:12 while it was"),
        ("net:parses", 2, "error: the code called sys.exit(2) at net.py:16 while it was traced"),
        ("net:interrupts", 130, "interrupted: nothing was decided"),
        ("net:raises", 2, "Odd: mine"),
        ("net:lazy", 2, "error: the code called sys.exit(0) at net.py:32 while 'net' was imported"),
    ],
)
def test_the_end_of_the_users_code_is_no_verdict(run, verb, function, code, message):
    mesh = ("--mesh", "data=4") if verb == "check" else ()
    done = run(verb, function, "--args", "f32[8,4]", *mesh)
    assert (done.returncode, done.stdout) == (code, "") and message in done.stderr
    assert "shardtype/" not in done.stderr and "jax/_src" not in done.stderr


def test_modules_and_makers_that_end_the_process(run, tmp_path):
    (tmp_path / "script.py").write_text("import sys\ndef f(x): return x\nsys.exit('done')\n")
    done = run("export", "script:f", "--args", "f32[8]")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the code called sys.exit('done') at script.py:3 while 'script' was imported\n"
    )
    done = run("export", "net:twice", "--args-from", "net:arguments")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sys.exit(0) at net.py:28 while 'net:arguments' made the arguments" in done.stderr


@needs_program
def test_in_python():
    def exits(x):
        sys.exit(0)

    for call in (
        lambda: shardtype.check(exits, X, mesh="data=4"),
        lambda: shardtype.export(exits, X),
    ):
        with pytest.raises(shardtype.ExportError, match=r"sys.exit\(0\) at .*test_user_code.py"):
            call()
    # The replacements are undone: the next trace is one as before.
    assert shardtype.check(jnp.tanh, X, mesh="data=4").ok


@needs_program
def test_standard_output_is_the_reports(run, tmp_path):
    (tmp_path / "loud.py").write_text(
        "import atexit, os, sys, threading, time\n"
        "print('on import')\nos.system('echo from a child')\n"
        "atexit.register(lambda: print('at the end'))\n"
        "atexit.register(lambda: os.write(1, b'at the end\\n'))\n"
        "def f(x):\n    print('traced')\n    sys.stdout.flush()\n    return x\n"
        "def closes(x):\n    sys.stdout.close()\n    return x\n"
    )
    call = ("--args", "f32[8,4]", "--mesh", "data=4")
    done = run("check", "loud:f", *call, "--format", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["ok"] is True
    for line in ("on import", "from a child", "traced", "at the end"):
        assert line in done.stderr
    assert json.loads(run("export", "loud:f", *call).stdout)["format"] == "shardtype-jaxpr"
    assert run("check", "loud:closes", *call).stdout.startswith("ok  closes.json")


def test_a_module_that_goes_elsewhere(run, tmp_path):
    (tmp_path / "goes.py").write_text("import os\nos.chdir('/')\ndef f(x):\n    return x * 2\n")
    done = run("export", "goes:f", "--args", "f32[8]", "-o", "out.json")
    assert done.returncode == 0
    data = json.loads((tmp_path / "out.json").read_text())
    assert [s["file"] for s in data["sources"]] == ["goes.py"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_an_output_that_cannot_be_written(run):
    with open("/dev/full", "w") as full:
        done = run("export", "net:twice", "--args", "f32[8]", stdout=full)
    assert done.returncode == 2 and "error: cannot write: No space left" in done.stderr


@needs_program
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 0", "is not the shardtype program"),
        ('[ "$1" = --version ] && echo shardtype 0 && exit 0; kill -SEGV $$',
         "ended with signal 11"),
        ('[ "$1" = --version ] && echo shardtype 0 && exit 0; echo odd >&2; exit 9',
         "ended with code 9: odd"),
    ],
)  # fmt: skip
def test_a_program_that_is_none_or_dies(run, tmp_path, text, message):
    fake = tmp_path / "fake"
    fake.write_text(f"#!/bin/sh\n{text}\n")
    fake.chmod(0o755)
    done = run("check", "net:twice", "--args", "f32[8]", "--mesh", "data=4", program=fake)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr


# What the program refuses, in its own words.


@needs_program
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"in_specs": {"x": P(None, "model"), "w": P("data")}},
         "argument 'w': dim 0 of size 6 does not divide over 'data' of size 4; 4 or 8 would"),
        ({"in_specs": {"x": "P(data,data)"}}, "axis 'data' shards both dim 0 and dim 1"),
        ({"in_specs": {"x": P(None, None, "data")}}, "has 3 entries for a value of rank 2"),
    ],
)  # fmt: skip
def test_a_spec_that_jax_refuses_is_an_error(given, message):
    w = jax.ShapeDtypeStruct((6, 8), jnp.float32)
    report = shardtype.check(lambda x, w: x * 2, X, w, mesh="data=4,model=2", **given)
    assert not report.ok
    assert any(message in error.message for error in report.errors), str(report)


@needs_program
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"in_specs": {"x": "P(data, unreduced={'data'})"}}, "cannot overlap"),
        ({"out_specs": {"result": P("date")}}, "axis 'date' in P\\('date',\\) is not an axis of"),
        ({"out_specs": {"reslt": P()}}, "'reslt' fits nothing; there are result"),
        ({"out_specs": {"result": "P(data"}}, "cannot read spec"),
        ({"choose": {"net.py:9": P()}}, "net.py:9': no error there has a choice"),
    ],
)  # fmt: skip
def test_the_reason_of_a_refusal(given, message):
    w = jax.ShapeDtypeStruct((6, 8), jnp.float32)
    with pytest.raises(shardtype.ExportError, match=message) as e:
        shardtype.check(lambda x, w: x * 2, X, w, mesh="data=4,model=2", **given)
    assert "ended with code" not in str(e.value)
