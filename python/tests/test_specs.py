# test_specs.py - meshes, specs and types as the user writes them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is accepted, what it means, what the messages say."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from shardtype import specs
from shardtype.errors import ExportError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("P()", P()),
        ("P('X', None)", P("X", None)),
        ("P(X,None)", P("X", None)),
        (' PartitionSpec( "X" ,) ', P("X")),
        ("('X', None)", P("X", None)),
        ("P((X,'Y'),None)", P(("X", "Y"), None)),
        ("P(None, unreduced={'X'})", P(None, unreduced={"X"})),
        ("P(X, reduced={Y,Z})", P("X", reduced={"Y", "Z"})),
        ("P(UNCONSTRAINED, X)", P(P.UNCONSTRAINED, "X")),
    ],
)
def test_specs(text, spec):
    assert specs.parse_spec(text) == spec


@pytest.mark.parametrize(
    "text",
    ["", "P", "P(", "P(X", "P(X,,Y)", "P(X))", "P(X) Y", "Q(X)", "P(1)", "P(x=3)",
     "P(unreduced={X}, Y)", "P(unreduced=X)", "P((X)", "P('X)", "P(X Y)", "P({X})"],
)  # fmt: skip
def test_specs_that_are_none(text):
    with pytest.raises(ExportError, match="cannot read spec"):
        specs.parse_spec(text)


def test_meshes():
    assert specs.parse_mesh("X=4, Y=2:Auto") == [("X", 4, "Explicit"), ("Y", 2, "Auto")]
    for given in ("X=4,Y=2", {"X": 4, "Y": 2}):
        mesh = specs.to_mesh(given)
        assert dict(mesh.shape) == {"X": 4, "Y": 2}
        assert [k.name for k in mesh.axis_types] == ["Explicit"] * 2
    concrete = jax.make_mesh((2,), ("a",))
    again = specs.to_mesh(concrete)
    assert again.axis_names == ("a",) and getattr(again, "abstract_device", None) is None
    assert again.axis_types == concrete.axis_types


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read mesh axis"),
        ("X", "cannot read mesh axis 'X'"),
        ("X=4,X=2", "names axis 'X' twice"),
        ("X=0", "at least 1"),
        ("X=4:auto", "cannot read mesh axis 'X=4:auto'"),
        ("X=-1", "cannot read"),
    ],
)
def test_meshes_that_are_none(text, message):
    with pytest.raises(ExportError, match=message):
        specs.parse_mesh(text)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("x", "x", True),
        ("x", "x/0", False),
        ("params/*/w", "params/0/w", True),
        ("params/*/w", "params/0/1/w", False),
        ("params/**/w", "params/0/1/w", True),
        ("params/**/w", "params/w", True),
        ("params/**", "params/a/b", True),
        ("**/kernel", "a/b/kernel", True),
        ("**", "a/b", True),
        ("params/w*/b", "params/w12/b", True),
        ("params/w.1", "params/wx1", False),
        ("**/a/**/b", "x/a/y/z/b", True),
        ("**/a/**/b", "x/y/z/b", False),
    ],
)
def test_patterns(pattern, path, expected):
    assert specs.matches(pattern, path) is expected


PLACES = ["params/0/w", "params/0/b", "x"]


def test_assign():
    by_name = specs.assign({"params/**": P("X"), "params/0/b": None, "x": "P(Y)"}, PLACES, ())
    assert by_name == [P("X"), None, P("Y")]
    by_position = specs.assign([(None, "P(X)"), ("x", "P(Y)"), (None, "P(Z)")], PLACES, ())
    assert by_position == [P("X"), P("Z"), P("Y")]
    by_tree = specs.assign(({"0": P("X")}, P("Y")), PLACES, ({"0": {"w": 1, "b": 2}}, 3))
    assert by_tree == [P("X"), P("X"), P("Y")]
    assert specs.assign(None, PLACES, ()) == [None] * 3


@pytest.mark.parametrize(
    ("in_specs", "message"),
    [
        ({"y": P()}, "no argument matches 'y': there is"),
        ({"params": P()}, "it is a tree, write 'params/\\*\\*'"),
        ({"parms/0/w": P()}, "there is params/0/w"),
        ([(None, "P()")] * 4, "more specs than arguments: there are 3"),
        ({"x": 3}, "cannot read a spec from 3"),
        (({"zz": P()}, P()), "in_specs\\[0\\] does not fit argument 0"),
        ((P(), P(), P()), "3 specs for 2 positional arguments"),
    ],
)
def test_assign_errors(in_specs, message):
    with pytest.raises(ExportError, match=message):
        specs.assign(in_specs, PLACES, ({"0": {"w": 1, "b": 2}}, 3))


def test_split_in():
    assert specs.split_in("P(X, None)") == (None, "P(X, None)")
    assert specs.split_in("P(None, unreduced={X})") == (None, "P(None, unreduced={X})")
    assert specs.split_in("params/**/w = P(X)") == ("params/**/w", " P(X)")
    for bad in ("x", "=P(X)"):
        with pytest.raises(ExportError, match="write NAME=P"):
            specs.split_in(bad)


def test_argument_types():
    got = specs.parse_args("f32[8,4] i32[], bf16[ 2 , 3 ]\nbool[1] float64[2] key<fry>[3] u4[2]")
    assert [(s.shape, s.dtype.name) for s in got] == [
        ((8, 4), "float32"), ((), "int32"), ((2, 3), "bfloat16"), ((1,), "bool"),
        ((2,), "float64"), ((3,), "key<fry>"), ((2,), "uint4"),
    ]  # fmt: skip
    assert specs.parse_args("  ") == ()
    assert specs.parse_dtype("f8_e4m3fn") == jnp.float8_e4m3fn


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f32", "cannot read argument types from 'f32'"),
        ("f32[8", "cannot read"),
        ("f32[2] ?", "from '\\?'"),
        ("f31[2]", "unknown dtype 'f31': did you mean f32"),
        ("key<zzz>[2]", "unknown key type"),
        ("f32[-1]", "cannot read"),
    ],
)
def test_argument_types_that_are_none(text, message):
    with pytest.raises(ExportError, match=message):
        specs.parse_args(text)
