# test_regions.py - shard_maps in recordings, with JAX as the judge.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each program is checked from its recording, and traced by JAX itself under the
Explicit mesh: both accept it, with the same types, or neither does."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, reshard
from jax.sharding import PartitionSpec as P
from shardtype.specs import parse_mesh, parse_spec
from test_check import ROOT, needs_program

X = jax.ShapeDtypeStruct((8, 16), jnp.float32)
SPECS = ("P()", "P(X)", "P(None,Y)", "P(X,Y)", "P((X,Y))", "P(Y,X)", "P(None,X)", "P(Y)")
MESHES = ("X=4,Y=2", "X=4,Y=2:Auto", "X=4:Auto,Y=2")


def jax_says(f, mesh, spec):
    """The results' types, None if JAX refuses the program."""
    axes = parse_mesh(mesh)
    abstract = AbstractMesh(
        tuple(n for _, n, _ in axes),
        tuple(a for a, _, _ in axes),
        axis_types=tuple(getattr(AxisType, k) for _, _, k in axes),
    )
    x = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=NamedSharding(abstract, spec))
    jax.clear_caches()
    with jax.sharding.use_abstract_mesh(abstract):
        try:
            out = jax.jit(f).trace(x).jaxpr.out_avals
        except Exception:
            return None
    return [t.str_short(short_dtypes=True) for t in out]


def we_say(f, mesh, spec):
    """The same of the recording."""
    try:
        report = shardtype.check(f, X, mesh=mesh, in_specs=[spec])
    except (shardtype.ExportError, ValueError, TypeError, NameError, NotImplementedError):
        return None
    if not report.ok:
        return None
    return [t for path, t in report.types.items() if path.startswith("result")]


# The verdicts are those of JAX 0.12.
BEFORE_12 = tuple(int(n) for n in jax.__version__.split(".")[:2]) < (0, 12)
some_axes_are_compared = pytest.mark.skipif(
    BEFORE_12, reason="this JAX does not compare in_specs where a shard_map takes some axes only"
)


def names(programs, only_12, left_out=()):
    """Names of programs as parameters; JAX 0.12 alone refuses what `only_12` do."""
    marks = {n: [some_axes_are_compared] for n in only_12}
    return [pytest.param(n, marks=marks.get(n, ())) for n in programs if n not in left_out]


def agree(f, mesh="X=4,Y=2", specs=SPECS):
    explicit = {n for n, _, k in parse_mesh(mesh) if k == "Explicit"}
    differ = []
    for text in specs:
        spec = parse_spec(text)
        named = {n for e in spec if e for n in (e if isinstance(e, tuple) else (e,))}
        if not named <= explicit:
            continue
        theirs, ours = jax_says(f, mesh, spec), we_say(f, mesh, spec)
        if theirs != ours:
            differ.append((text, "jax", theirs, "here", ours))
    assert not differ


def mapped(body, out, **options):
    return lambda *args: jax.shard_map(body, out_specs=out, **options)(*args)


def swap(x, y):
    return lax.scan(lambda c, _: ((c[1], c[0]), None), (x, y), None, length=2)[0]


def branch(a):
    return lax.cond(a.sum() > 0, lambda: a, lambda: jnp.zeros(a.shape))


INFERRED = {
    "nothing decides": lambda x: mapped(lambda a: a + 1, P())(
        mapped(lambda a: jnp.ones(a.shape), P(), in_specs=P(), axis_names={"X"})(x)
    ),
    "varies": lambda x: mapped(lambda a: a * 2, P())(x),
    "elementwise": lambda x: mapped(lambda a: a * 2, P("X"))(x),
    "part of the block": lambda x: mapped(lambda a: a[:1], P("X"))(x),
    "sum": lambda x: mapped(lambda a: lax.psum(a, "X"), P(None, "Y"))(x),
    "keeps a dim": lambda x: mapped(lambda a: a.sum(0, keepdims=True), P("X"))(x),
    "names Y only": lambda x: mapped(lambda a: a * 2, P("Y"), axis_names={"Y"})(x),
    "swap": lambda x: mapped(swap, (P("X"), P("X")))(x, x),
    "two": lambda x: mapped(lambda a: a + 1, P())(mapped(lambda a: a[:1], P("X", "Y"))(x)),
    "once and again": lambda x: (lambda f: f(f(x)))(mapped(lambda a: a * 2, P("X"))),
    "in a loop": lambda x: lax.scan(
        lambda c, _: (mapped(lambda a: a * 2, P("X"))(c), None), x, None, length=2
    )[0],
    "reshard": lambda x: mapped(lambda a: lax.psum(a, "Y"), P("X"))(reshard(x, P("X", "Y"))),
    "shapes matter": lambda x: mapped(lambda a: lax.psum(a, ("X", "Y")), P())(x)[:1] + 1,
}


@needs_program
@pytest.mark.parametrize("name", names(INFERRED, ["nothing decides"]))
def test_in_specs_that_come_from_types(name):
    agree(INFERRED[name])


@needs_program
@pytest.mark.parametrize("mesh", MESHES[1:])
@pytest.mark.parametrize("name", ["elementwise", "names Y only"])
def test_in_specs_come_from_explicit_axes_only(name, mesh):
    agree(INFERRED[name], mesh)


@needs_program
@pytest.mark.parametrize("name", ["varies", "elementwise", "part of the block", "sum"])
def test_in_specs_from_types_under_transformations(name):
    def under(x):
        return jax.vmap(INFERRED[name])(x.reshape(8, 4, 4, out_sharding=P(None, "Y", "X")))

    agree(lambda x: jax.grad(lambda y: INFERRED[name](y).sum())(x))
    agree(lambda x: jax.jvp(INFERRED[name], (x,), (x,)))
    agree(under)


def mapped_ones(axis, **options):
    ones = reshard(jnp.ones(4), P(axis))
    return mapped(lambda a: a * 2, P(axis), in_specs=P(axis), **options)(ones)


UNDER_VMAP = {
    "over Y": lambda x: jax.vmap(mapped(lambda r: r * 2, P("Y"), in_specs=P("Y")))(x),
    "over X": lambda x: jax.vmap(mapped(lambda r: r * 2, P("X"), in_specs=P("X")))(x),
    "named X": lambda x: jax.vmap(
        mapped(lambda r: r * 2, P("X"), in_specs=P("X"), axis_names={"X"})
    )(x),
    "spmd": lambda x: jax.vmap(
        mapped(lambda r: r * 2, P("Y"), in_specs=P("Y")), spmd_axis_name="X"
    )(x),
    "dim 1": lambda x: jax.vmap(
        mapped(lambda r: r * 2, P("Y"), in_specs=P("Y")), in_axes=1, out_axes=1
    )(x),
    "sum over Y": lambda x: jax.vmap(mapped(lambda r: lax.psum(r, "Y"), P(), in_specs=P("Y")))(x),
    "sum over X": lambda x: jax.vmap(mapped(lambda r: lax.psum(r, "X"), P(), in_specs=P()))(x),
    "out over X": lambda x: jax.vmap(mapped(lambda r: r * 2, P("X"), in_specs=P()))(x),
    "twice": lambda x: jax.vmap(jax.vmap(mapped(lambda r: r * 2, P(), in_specs=P())))(x),
    "one not mapped": lambda x: jax.vmap(
        lambda r: jax.vmap(
            mapped(lambda r: r * 2, P("Y"), in_specs=P("Y")), in_axes=None, axis_size=3
        )(r)
    )(x),
    "no in_specs": lambda x: jax.vmap(mapped(lambda r: r * 2, P("Y")))(x),
    "index": lambda x: jax.vmap(
        mapped(lambda r: r * lax.axis_index("X"), P(("X", "Y")), in_specs=P("Y"))
    )(x),
    "vmap inside": lambda x: jax.vmap(
        mapped(lambda r: jax.vmap(lambda s: s * 2)(r), P("Y"), in_specs=P("Y"))
    )(x),
    "jit between": lambda x: jax.vmap(
        jax.jit(mapped(lambda r: r * 2, P("Y"), in_specs=P("Y")))
    )(x),
    "loop inside": lambda x: jax.vmap(
        mapped(
            lambda r: lax.scan(lambda c, _: (c + 1, None), r, None, length=2)[0],
            P("Y"),
            in_specs=P("Y"),
        )
    )(x),
    "branches": lambda x: jax.vmap(mapped(branch, P("Y"), in_specs=P("Y")))(x),
    "none mapped": lambda x: jax.vmap(lambda r: r[:4] + mapped_ones("X"))(x),
    "none mapped, named": lambda x: jax.vmap(
        lambda r: r[:4] + mapped_ones("X", axis_names={"X"})
    )(x),
    "none mapped, jit": lambda x: jax.vmap(lambda r: r[:4] + jax.jit(lambda: mapped_ones("X"))())(x),
    "none mapped, loop": lambda x: jax.vmap(
        lambda r: lax.scan(lambda c, _: (c + mapped_ones("Y"), None), r[:4], None, length=2)[0]
    )(x),
    "spmd alone": lambda x: jax.vmap(lambda r: r * 2, spmd_axis_name="X")(x),
    "nested": lambda x: jax.vmap(
        mapped(
            mapped(lambda r: r * 2, P(), in_specs=P(), axis_names={"X"}),
            P("Y"),
            in_specs=P("Y"),
            axis_names={"Y"},
        )
    )(x),
}


@needs_program
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("name", names(UNDER_VMAP, ["named X"], left_out=["nested"]))
def test_regions_under_vmap(name, mesh):
    agree(UNDER_VMAP[name], mesh)


def largest(x):
    return mapped(lambda a: lax.pmax(a, "X"), P(), in_specs=P("X"))(x)


NO_RULE = {
    "grad": lambda x: jax.grad(lambda y: largest(y).sum())(x),
    "jvp": lambda x: jax.jvp(largest, (x,), (x,)),
    "linearize": lambda x: jax.linearize(largest, x)[1](x),
    "not of it": lambda x: jax.grad(lambda y: (y * largest(x)[0, 0]).sum())(x),
    "while": lambda x: jax.grad(
        lambda y: lax.while_loop(lambda c: c.sum() < 9, lambda c: c * 2, y).sum()
    )(x),
}


@needs_program
@pytest.mark.parametrize("name", NO_RULE)
def test_what_has_no_derivative_is_refused(name):
    agree(NO_RULE[name], specs=["P()", "P(X)"])


def carry(a):
    return lax.scan(lambda c, _: (c + a.sum(), None), jnp.zeros(()), None, length=2)[0][None]


def until(a):
    return lax.while_loop(lambda c: c[0] < 9.0, lambda c: c + a.sum(), jnp.zeros(1))



def constant(a):
    return lax.scan(lambda c, _: (jnp.zeros(a.shape), None), a, None, length=2)[0]


REFUSED = {
    "carry-mismatch": (mapped(carry, P("X"), in_specs=P("X")), 1),
    "while": (mapped(until, P("X"), in_specs=P("X")), 1),
    "constant": (mapped(constant, P("X"), in_specs=P("X")), 1),
    "branch-mismatch": (mapped(branch, P("X"), in_specs=P("X")), 1),
    "output-varies": (mapped(lambda a: a, P(), in_specs=P("X")), 1),
}


@needs_program
@pytest.mark.parametrize("name", REFUSED)
def test_bodies_that_jax_refuses_are_found_by_the_checker(name):
    f, count = REFUSED[name]
    code = {"while": "carry-mismatch", "constant": "carry-mismatch"}.get(name, name)
    assert jax_says(f, "X=4,Y=2", P("X")) is None
    report = shardtype.check(f, X, mesh="X=4,Y=2", in_specs=["P(X)"])
    assert [e.code for e in report.errors] == [code] * count
    assert report.errors[0].line and report.errors[0].fixes


@needs_program
def test_every_region_is_looked_at(tmp_path):
    def f(x):
        one = REFUSED["carry-mismatch"][0](x)
        two = mapped(lambda a: lax.psum(a, "X"), P(), in_specs=P("X"))(x)
        return one, two, REFUSED["output-varies"][0](x)

    report = shardtype.check(f, X, mesh="X=4,Y=2", in_specs=["P(X)"])
    assert [e.code for e in report.errors] == ["carry-mismatch", "output-varies"]


@needs_program
def test_what_jax_says_of_a_region_is_told_in_full():
    def cast(a):
        return lax.pcast(a, "X", to="varying")

    def f(x):
        one = mapped(cast, P("X"), in_specs=P("X"))(x)
        return one, REFUSED["output-varies"][0](x), REFUSED["carry-mismatch"][0](x)

    report = shardtype.check(f, X, mesh="X=4,Y=2", in_specs=["P(X)"])
    assert sorted(e.code for e in report.errors) == [
        "carry-mismatch", "output-varies", "region-refused",
    ]  # fmt: skip
    [refused] = [e for e in report.errors if e.code == "region-refused"]
    assert refused.line and "pcast" in refused.message + " ".join(refused.notes)


PROGRAM_TEXT = """
    import jax
    from jax import lax
    from jax.sharding import PartitionSpec as P
    def varies(x): return jax.shard_map(lambda a: a * 2, out_specs=P())(x)
    def fine(x): return jax.shard_map(lambda a: a * 2, out_specs=P("X"))(x)
"""


@needs_program
def test_the_command_line_does_both_passes(tmp_path):
    (tmp_path / "m.py").write_text(textwrap.dedent(PROGRAM_TEXT))
    call = [sys.executable, "-m", "shardtype"]
    options = ["--args", "f32[8,16]", "--mesh", "X=4,Y=2"]
    given = ["--in", "P(X,None)"]

    def run(*words):
        env = {"PYTHONPATH": str(ROOT / "python")}
        import os

        return subprocess.run(
            [*call, *words], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, **env}
        )

    bad = run("check", "m.py:varies", *options, *given)
    assert bad.returncode == 1 and "error[output-varies]" in bad.stdout
    good = run("check", "m.py:fine", *options, *given)
    assert good.returncode == 0 and good.stdout.startswith("ok") and "f32[8@X,16]" in good.stdout
    # By hand: a recording, its report, a second recording with that.
    first = run("export", "m.py:varies", *options, "-o", "one.json")
    assert first.returncode == 0
    program = [str(shardtype.program.find()), "check", "one.json", "--mesh", "X=4,Y=2", *given]
    asked = subprocess.run(
        [*program, "--format", "json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert asked.returncode == 2 and json.loads(asked.stdout)["in_specs"] == {
        "0": ["P('X', None)"]
    }
    (tmp_path / "table.json").write_text(asked.stdout)
    run("export", "m.py:varies", *options, "--infer", "table.json", "-o", "one.json")
    again = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 1 and "output-varies" in again.stdout


def sized(x):
    return x * lax.axis_size("X")


def constrained(x):
    body = lambda a: lax.with_sharding_constraint(a, P(("X", "Y"), None))  # noqa: E731
    return mapped(body, P("X"), in_specs=P("X"), axis_names={"X"})(x)


OUTSIDE = {
    "collective": (lambda x: lax.psum(x, "X"), "unbound-axis"),
    "index": (lambda x: x * lax.axis_index("X"), "unbound-axis"),
    "size": (sized, "unbound-axis"),
    "other axis": (
        mapped(lambda a: lax.psum(a, "Y"), P("X"), in_specs=P("X"), axis_names={"X"}),
        "unbound-axis",
    ),
    "constraint": (constrained, "constraint-auto-only"),
}


@needs_program
@pytest.mark.parametrize("name", OUTSIDE)
def test_axes_that_are_not_manual_where_they_are_named(name):
    f, code = OUTSIDE[name]
    assert jax_says(f, "X=4,Y=2", P("X")) is None
    report = shardtype.check(f, X, mesh="X=4,Y=2", in_specs=["P(X)"], mode="record")
    assert [e.code for e in report.errors] == [code] and report.errors[0].line
    assert "rel=" not in str(report) and "by=" not in str(report)


@needs_program
def test_what_no_recording_can_hold_is_judged_by_jax():
    def f(x):
        body = lambda a: jnp.cos(lax.pcast(a.sum(), "X", to="unreduced"))  # noqa: E731
        return mapped(body, P(unreduced={"X"}), in_specs=P("X"))(x)

    says = "unreduced rule for cos is not" if BEFORE_12 else "cos is a non-linear operation"
    with pytest.raises(shardtype.Rejected, match=says):
        shardtype.check(f, X, mesh="X=4,Y=2", in_specs=["P(X)"])


@needs_program
@pytest.mark.parametrize("transform", ["hessian", "jacfwd", "jacrev"])
def test_a_line_that_derivatives_repeat_is_reported_once(transform):
    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w), 0)

    def f(w, x):
        inner = (lambda v: loss(v, x).sum()) if transform == "hessian" else lambda v: loss(v, x)
        return getattr(jax, transform)(inner)(w)

    w = jax.ShapeDtypeStruct((16, 8), jnp.float32)
    report = shardtype.check(f, w, X, mesh="X=4,Y=2", in_specs=["P(Y)", "P(X,Y)"])
    assert [e.code for e in report.errors] == ["dot-contracting-ambiguous"]
    assert any("derivatives of this line" in n for n in report.errors[0].notes)


@needs_program
def test_specs_and_levels_of_check():
    def add(a, b):
        return a + b

    mesh = "X=4,Y=2"
    with pytest.raises(shardtype.ExportError, match="1 spec for 2 positional arguments; write None"):
        shardtype.check(add, X, X, mesh=mesh, in_specs=(P("X"),))
    both = shardtype.check(add, X, X, mesh=mesh, in_specs=P("X"))
    assert both.types == {p: "f32[8@X,16]" for p in ("a", "b", "result")}
    bad = shardtype.check(add, X, X, mesh=mesh, in_specs=[None, P("X", None, None)])
    assert "is from in_specs of 'b'" in str(bad) and "in_specs of 'b'" in bad.errors[0].notes[0]
    differ = {"mesh": mesh, "in_specs": [P("X"), P(None, "X")]}
    code = shardtype.check(add, X, X, **differ).errors[0].code
    assert shardtype.check(add, X, X, allow=[code], **differ).ok
    assert shardtype.check(add, X, X, warn=code, **differ).warnings[0].code == code
    with pytest.raises(shardtype.ExportError, match="no diagnostic has the code"):
        shardtype.check(add, X, X, deny=["nothing"], **differ)
